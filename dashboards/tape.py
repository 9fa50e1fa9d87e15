"""The tape: events as sentences, and the queries that fetch stretches of it.

The words are made here, once, for the page that is rendered and for the socket that goes on where it ends. What firms
wrote stays plain text in its own field; template and script put it on the page as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from dashboards.words import days_text, item_text, number_text, sendable, usd_text, weekday_of
from marketplace.models import Firm
from marketplace.rows import key_of, number_of
from simulation.engine.clock import clock_text
from simulation.models import Event

LINES_PER_PAGE: Final = 200


class Group(NamedTuple):
    """Kinds of events that a reader looks at together."""

    title: str
    kinds: tuple[str, ...]


GROUPS: Final = {
    "trade": Group(
        "Trade", ("listing_posted", "offer_made", "offer_withdrawn", "offer_rejected", "deal_made", "shipment_returned")
    ),
    "messages": Group("Messages", ("message_sent",)),
    "goods": Group(
        "Shipments and batches",
        (
            "shipment_delivered",
            "shipment_lost",
            "shipment_delayed",
            "shipment_turned_back",
            "batch_started",
            "batch_landed",
            "spoiled",
        ),
    ),
    "money": Group("Debts", ("invoice_paid", "invoice_written_off", "bankrupt")),
    "shops": Group("Shops", ("price_set", "consumer_sale")),
    "days": Group("Days", ("day_ended", "run_ended")),
}
GROUP_OF: Final = {kind: name for name, group in GROUPS.items() for kind in group.kinds}

# What a firm does by a call of its own, and not what happens to it.
ACTIONS: Final = frozenset(
    (
        "listing_posted",
        "offer_made",
        "offer_withdrawn",
        "deal_made",
        "shipment_returned",
        "message_sent",
        "invoice_paid",
        "price_set",
        "batch_started",
    )
)

SENTENCES: Final = {
    "listing_posted": "lists {quantity_kg} kg {item} at {price} USD/kg, {terms_days} to pay ({listing})",
    "offer_made": "offers {price} USD/kg for {quantity_kg} kg {item}, {terms_days} to pay ({offer} on {listing})",
    "offer_withdrawn": "withdraws {offer} on {listing}",
    "offer_rejected": "turns down {offer} on {listing}",
    "deal_made": "sells {quantity_kg} kg {item} at {price} USD/kg: {total} USD, {terms_days} to pay ({deal})",
    "shipment_delivered": "delivers {quantity_kg} kg {item} ({deal}); {invoice} of {total} USD is due Day {due_day}",
    "shipment_lost": "loses {quantity_kg} kg {item} on the way ({deal})",
    "shipment_delayed": "is a day late with {quantity_kg} kg {item} ({deal})",
    "shipment_turned_back": "has {quantity_kg} kg {item} turned back on the way ({deal})",
    "shipment_returned": "returns {quantity_kg} kg {item} for {credit} USD ({deal}, {invoice})",
    "invoice_paid": "pays {amount} USD ({invoice}, due Day {due_day})",
    "invoice_written_off": "writes off {amount} USD ({invoice})",
    "message_sent": "writes {message}: {title}",
    "price_set": "sells {item} at {price} USD/kg from now on",
    "price_set to 0": "takes {item} off the shelf",
    "batch_started": "produces {quantity_kg} kg {item} for {cost} USD, ready Day {due_day} ({batch})",
    "batch_started from input": (
        "roasts {input_kg} kg {input_item} into {quantity_kg} kg {item} for {cost} USD, ready Day {due_day} ({batch})"
    ),
    "batch_landed": "has {quantity_kg} kg {item} ready ({batch})",
    "consumer_sale": "sells {quantity_kg} kg {item} to consumers at {price} USD/kg",
    "spoiled": "loses {quantity_kg} kg {item} to spoilage, {cost} USD at cost",
    "bankrupt": "is bankrupt, with {cash} USD in cash",
    "day_ended": "Day {day} is over",
    "run_ended": "The run is over: {status}",
}
# The field of an event that holds what a firm wrote at length.
BODIES: Final = {"offer_made": "message", "message_sent": "body", "shipment_returned": "reason"}
# What comes with its event. A letter must be read first, which the tab Messages knows; a return's reason is never told.
TOLD_BODIES: Final = ("offer_made",)


@dataclass(frozen=True, slots=True)
class Line:
    """One event as people read it: who, to whom, and a sentence; `body` is what a firm wrote at length."""

    number: int
    kind: str
    group: str
    day: int
    weekday: str
    clock: str
    firm: str
    other: str
    text: str
    body: str
    is_action: bool


# What every firm is told: notices are public, evenings pass for all, and a bankruptcy is told the next morning.
PUBLIC_KINDS: Final = ("listing_posted", "day_ended", "run_ended")


def told_to(knower: Firm | None, until: int) -> Q:
    """The events that a firm was told of by the evening of a day (RULES.md section 11); all for how it was."""
    if knower is None:
        return Q()
    return Q(firm=knower) | Q(other=knower) | Q(kind__in=PUBLIC_KINDS) | Q(kind="bankrupt", day__lt=until)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines a reader wants: a group of kinds, a firm on either side, what a firm was told of; empty for all."""

    group: str = ""
    firm_key: int = 0
    told: Q = field(default_factory=Q)

    def apply(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Only the events that match."""
        events = events.filter(self.told)
        if self.group:
            events = events.filter(kind__in=GROUPS[self.group].kinds)
        if self.firm_key:
            events = events.filter(Q(firm_id=self.firm_key) | Q(other_id=self.firm_key))
        return events


class EventRow(NamedTuple):
    """The columns of an event that a line is made of."""

    pk: int
    minute: int
    day: int
    kind: str
    firm_id: int | None
    other_id: int | None
    data: dict[str, Any]


def rows_of(events: QuerySet[Event]) -> list[EventRow]:
    """The rows of a query, without the cost of model objects."""
    return [EventRow(*row) for row in events.values_list(*EventRow._fields)]


def rows_after(run_id: int, since: int, last: int, limit: int) -> list[EventRow]:
    """At most `limit` events that follow number `since`, up to number `last`, oldest first. One query."""
    events = Event.objects.filter(pk__gt=key_of(run_id, since), pk__lte=key_of(run_id, last))
    return rows_of(events.order_by("pk")[:limit])


def rows_before(run_id: int, before: int, only: Filter, limit: int = LINES_PER_PAGE) -> list[EventRow]:
    """The newest `limit` events with a number below `before` that match, newest first. One query."""
    events = Event.objects.filter(pk__gt=key_of(run_id, 0), pk__lt=key_of(run_id, before))
    return rows_of(only.apply(events).order_by("-pk")[:limit])


def lines_of(rows: Iterable[EventRow], names: Mapping[int, str], knower: Firm | None = None) -> list[Line]:
    """The lines of some events, in their order; `names` maps a firm's key to its name."""
    return [line_of(row, names, knower) for row in rows]


def line_of(row: EventRow, names: Mapping[int, str], knower: Firm | None = None) -> Line:
    """The line of one event, as it was or as one firm was told it."""
    return Line(
        number=number_of(row.pk),
        kind=row.kind,
        group=GROUP_OF.get(row.kind, ""),
        day=row.day,
        weekday=weekday_of(row.minute),
        clock=clock_text(row.minute),
        firm=names.get(row.firm_id or 0, ""),
        other=names.get(row.other_id or 0, ""),
        text=sendable(sentence(row)),
        body=body_of(row, knower),
        is_action=row.kind in ACTIONS,
    )


def body_of(row: EventRow, knower: Firm | None = None) -> str:
    """What a firm wrote at length; nothing where the firm as which one looks was not told it with the event."""
    if knower is not None and row.firm_id != knower.pk and row.kind not in TOLD_BODIES:
        return ""
    return sendable(str(row.data.get(BODIES.get(row.kind, ""), "")))


def sentence(row: EventRow) -> str:
    """What happened, in words; an event of a kind nobody described yet says its kind."""
    template = SENTENCES.get(sentence_key(row), row.kind.replace("_", " "))
    return template.format_map(Spoken({"day": row.day, **row.data}))


def sentence_key(row: EventRow) -> str:
    """Which sentence an event gets: two kinds have a second one."""
    if row.kind == "price_set" and not row.data.get("price"):
        return "price_set to 0"
    if row.kind == "batch_started" and row.data.get("input_kg"):
        return "batch_started from input"
    return row.kind


class Spoken(dict[str, Any]):
    """An event's data with each value as it is said; a missing one is a question mark, not an error."""

    def __getitem__(self, key: str) -> str:
        value = self.get(key)
        return "?" if value is None else spoken(key, value)


def spoken(key: str, value: Any) -> str:
    """A value in words, by what its name says it is."""
    if key in ("item", "input_item"):
        return item_text(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if key == "terms_days":
        return days_text(int(value))
    if key in ("price", "total", "amount", "credit", "cost", "cash"):
        return usd_text(value)
    return number_text(value)


def last_actions(lines: Sequence[Line]) -> dict[str, Line]:
    """Each firm's newest action among lines that run from newest to oldest."""
    found: dict[str, Line] = {}
    for line in lines:
        if line.is_action:
            found.setdefault(line.firm, line)
    return found
