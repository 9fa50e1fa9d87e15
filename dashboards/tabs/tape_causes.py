"""What brought an event of the tape about: a turn, where a firm decided it, or a rule of the environment.

Found for a page of lines at once, in three queries whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboards.tape import EventRow
from marketplace.models import Batch, Deal
from marketplace.rows import in_run, key_of, number_of
from simulation.models import Turn

# Kind → the tool of the turn that did it, and the data that its call or its result names.
DONE_BY: Final = {
    "listing_posted": ("post_listing", "listing"),
    "offer_made": ("make_offer", "offer"),
    "offer_withdrawn": ("withdraw_offer", "offer"),
    "offer_rejected": ("accept_offer", ""),
    "deal_made": ("accept_offer", "deal"),
    "message_sent": ("send_message", "message"),
    "invoice_paid": ("pay_invoice", "invoice"),
    "shipment_returned": ("return_shipment", "invoice"),
    "price_set": ("set_retail_price", "item"),
}
# What happens to goods goes back to the turn in which they were sold or put to work.
BY_DEAL: Final = frozenset(("shipment_delivered", "shipment_lost", "shipment_delayed", "shipment_turned_back"))
BY_BATCH: Final = frozenset(("batch_started", "batch_landed"))

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
    """The cause of each event, by its key. Three queries at most, one a kind of cause."""
    deals = turns_of_rows(Deal, run_id, [label(row, "deal") for row in rows if row.kind in BY_DEAL])
    batches = turns_of_rows(Batch, run_id, [label(row, "batch") for row in rows if row.kind in BY_BATCH])
    turns = turns_at(run_id, [row for row in rows if row.kind in DONE_BY])
    found = {}
    for row in rows:
        turn = deals.get(label(row, "deal")) if row.kind in BY_DEAL else None
        turn = turn or (batches.get(label(row, "batch")) if row.kind in BY_BATCH else None)
        turn = turn or turn_that_did(row, turns)
        found[row.pk] = Cause(turn) if turn else Cause(rule=RULES.get(row.kind, ""))
    return found


def label(row: EventRow, name: str) -> str:
    """What an event names, as D3; empty where it names nothing."""
    value = row.data.get(name)
    return value if isinstance(value, str) else ""


def turns_of_rows(model: type[Deal] | type[Batch], run_id: int, labels: Iterable[str]) -> dict[str, int]:
    """Label → number of the turn that made the row. One query, none without labels."""
    numbers = {text: int(text[1:]) for text in labels if text[1:].isascii() and text[1:].isdecimal()}
    if not numbers:
        return {}
    keys = [key_of(run_id, number) for number in numbers.values()]
    made: Mapping[Any, Any] = dict(model._default_manager.filter(pk__in=keys).values_list("pk", "turn_id"))
    return {
        text: number_of(made[key_of(run_id, number)])
        for text, number in numbers.items()
        if key_of(run_id, number) in made
    }


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
    naming = [number for number, text in there if f'"{label(row, name)}"' in text] if name else []
    return next(iter(naming or [number for number, _ in there]), None)
