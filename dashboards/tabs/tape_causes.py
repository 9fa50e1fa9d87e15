"""What brought an event of the tape about: a turn, where a firm decided it, or a rule of the environment.

Found for a page of lines at once, in four queries at most whatever its length.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboards.tape import EventRow
from marketplace.models import Batch, Deal, Listing
from marketplace.rows import in_run, key_of, number_of
from simulation.models import Turn

# Kind → the tool of the turn that did it, and the data that its call or its result names.
DONE_BY: Final = {
    "listing_posted": ("post_listing", "listing"),
    "offer_made": ("make_offer", "offer"),
    "offer_withdrawn": ("withdraw_offer", "offer"),
    "deal_made": ("accept_offer", "deal"),
    "message_sent": ("send_message", "message"),
    "invoice_paid": ("pay_invoice", "invoice"),
    "shipment_returned": ("return_shipment", "invoice"),
    "price_set": ("set_retail_price", "item"),
}
# What happens to goods goes back to the turn in which they were sold or put to work.
BY_DEAL: Final = frozenset(("shipment_delivered", "shipment_lost", "shipment_delayed", "shipment_turned_back"))
BY_BATCH: Final = frozenset(("batch_started", "batch_landed"))
# Offers are turned down when their listing is sold out, by the turn in which its seller accepted another.
BY_LISTING: Final = frozenset(("offer_rejected",))

RULES: Final = {
    "spoiled": "8",
    "consumer_sale": "7",
    "bankrupt": "9",
    "invoice_written_off": "9",
    "offer_rejected": "12.4",
    "offer_withdrawn": "12.4",
    "day_ended": "3",
    "run_ended": "3",
}
"""Kind → the section of RULES.md by which it happens, where no firm decided it."""


class Cause(NamedTuple):
    """The number of a turn, or else the section of RULES.md; neither where nothing is known."""

    turn: int = 0
    rule: str = ""


def causes_of(run_id: int, rows: Sequence[EventRow]) -> dict[int, Cause]:
    """The cause of each event, by its key. Four queries at most, one a kind of cause."""
    deals = turns_of_rows(Deal, run_id, [label(row, "deal") for row in rows if row.kind in BY_DEAL])
    batches = turns_of_rows(Batch, run_id, [label(row, "batch") for row in rows if row.kind in BY_BATCH])
    sold_out = turns_that_sold_out(run_id, [row for row in rows if row.kind in BY_LISTING])
    turns = turns_at(run_id, [row for row in rows if row.kind in DONE_BY])
    found = {}
    for row in rows:
        turn = deals.get(label(row, "deal")) if row.kind in BY_DEAL else None
        turn = turn or (batches.get(label(row, "batch")) if row.kind in BY_BATCH else None)
        turn = turn or (sold_out.get((label(row, "listing"), row.minute)) if row.kind in BY_LISTING else None)
        turn = turn or turn_that_did(row, turns)
        found[row.pk] = Cause(turn) if turn else Cause(rule=RULES.get(row.kind, ""))
    return found


def label(row: EventRow, name: str) -> str:
    """What an event names, as D3; empty where it names nothing."""
    value = row.data.get(name)
    return value if isinstance(value, str) else ""


def turns_of_rows(model: type[Deal] | type[Batch], run_id: int, labels: Iterable[str]) -> dict[str, int]:
    """Label → number of the turn that made the row. One query, none without labels."""
    keys = keys_of(run_id, labels)
    if not keys:
        return {}
    made: Mapping[Any, Any] = dict(model._default_manager.filter(pk__in=keys.values()).values_list("pk", "turn_id"))
    return {text: number_of(made[key]) for text, key in keys.items() if key in made}


def keys_of(run_id: int, labels: Iterable[str]) -> dict[str, int]:
    """The key of the row of each label; labels that are none are left out."""
    numbers = ((text, text[1:]) for text in labels)
    return {text: key_of(run_id, int(digits)) for text, digits in numbers if digits.isascii() and digits.isdecimal()}


def turns_that_sold_out(run_id: int, rows: Sequence[EventRow]) -> dict[tuple[str, int], int]:
    """(Listing, minute) → number of the turn that sold the last of it. One query, none without rows."""
    keys = keys_of(run_id, [label(row, "listing") for row in rows])
    if not keys:
        return {}
    deals = Deal.objects.filter(
        **in_run(run_id), offer__listing__in=keys.values(), minute__in={row.minute for row in rows}
    )
    values = deals.order_by("pk").values_list("offer__listing_id", "minute", "turn_id")
    return {(f"{Listing.prefix}{number_of(listing)}", minute): number_of(turn) for listing, minute, turn in values}


Turns = dict[tuple[int, int, str], list[tuple[int, str]]]
"""(Firm, minute, tool) → the turns, each with its number and all it says, latest first."""


def turns_at(run_id: int, rows: Sequence[EventRow]) -> Turns:
    """The turns of the firms and minutes of some events that did what those events tell. One query."""
    if not rows:
        return {}
    turns = Turn.objects.filter(
        **in_run(run_id),
        firm__in={row.firm_id for row in rows if row.firm_id},
        day__in={row.day for row in rows},
        minute__in={row.minute for row in rows},
        tool__in={DONE_BY[row.kind][0] for row in rows},
        accepted=True,
    )
    found: Turns = {}
    values = turns.order_by("-pk").values_list("pk", "firm_id", "minute", "tool", "arguments", "result")
    for key, firm, minute, tool, arguments, result in values:
        found.setdefault((firm, minute, tool), []).append((number_of(key), arguments + result))
    return found


def turn_that_did(row: EventRow, turns: Turns) -> int | None:
    """The number of the turn that did what an event tells: the one that names it, where several were of one minute."""
    tool, name = DONE_BY.get(row.kind, ("", ""))
    there = turns.get((row.firm_id or 0, row.minute, tool), [])
    named = f'"{label(row, name)}"'
    marks = (named, f"{named}:{json.dumps(row.data.get('price'))}")  # a shop may price an item twice in a minute
    number, _ = max(there, key=lambda turn: sum(mark in turn[1] for mark in marks), default=(None, ""))
    return number
