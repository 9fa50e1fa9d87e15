"""Where engine state and tables meet: what rows a world has, how they are saved, and how a world is read back.

A projection is saved when a step is open or the run has ended, never in between, so that the rows stored after n steps
are exactly those of a world rebuilt from the decisions of n steps and moved to its next step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from django.db import models
from pydantic_core import to_json

from marketplace import models as trade
from marketplace.economy import ledger, statements
from marketplace.economy.credit import Invoice
from marketplace.economy.economy import MINUTES_PER_DAY, Event
from marketplace.economy.firm import Firm
from marketplace.economy.ledger import Transfer
from marketplace.economy.mail import Message
from marketplace.economy.money import usd
from marketplace.economy.production import Batch
from marketplace.economy.retail import ConsumerSale
from marketplace.economy.trading import Deal, Listing, Offer
from marketplace.rows import KEYS_PER_RUN, in_run
from simulation import models as play
from simulation.bulk import Row, insert_rows, rows_as_stored, upsert_rows
from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario
from simulation.engine.world import RULES_VERSION, DayEnd, Outcome, World


class OtherRules(Exception):
    """A run begun under another version of the rules, which this version cannot replay."""


def json_text(value: Any) -> str:
    """JSON as the tables keep it."""
    return to_json(value).decode()


def decision_text(arguments: dict[str, Any]) -> str:
    """A player's arguments to the letter, in ASCII: whatever was sent, NaN and lone surrogates too, reads back."""
    return json.dumps(arguments)


class Decided(NamedTuple):
    """An applied decision, and who made it."""

    outcome: Outcome
    by: str


class RunRows:
    """Makes the rows of one run. Columns come in the order of the model's fields."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.base = run_id * KEYS_PER_RUN

    def key(self, number: int) -> int | None:
        """The key of the row with that number; none for 0, which stands for nothing."""
        return self.base + number if number else None

    def firm(self, firm: Firm, world: World, player: str) -> Row:
        """A firm as it stands."""
        activity, balances = world.seats[firm.name].activity, firm.balances
        return (
            self.base + firm.seat,
            self.run_id,
            firm.name,
            firm.role,
            player,
            balances[ledger.CASH],
            statements.equity(balances),
            statements.opening_equity(balances),
            firm.score_micros,
            -balances[ledger.REVENUE],
            json_text({item: held.quantity_kg for item, held in firm.holdings.items() if held.quantity_kg}),
            json_text({item: usd(price_micros) for item, price_micros in firm.shelf.items()}),
            activity.calls,
            activity.refused_calls,
            activity.idle_days,
            activity.messages_sent,
            firm.bankrupt_day,
        )

    def listing(self, one: Listing) -> Row:
        """A listing as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.seller.seat,
            one.item,
            one.quantity_kg,
            one.remaining_kg,
            one.price_micros,
            one.terms_days,
            one.minute,
            base + one.turn,
            one.status,
            one.closed_minute,
        )

    def offer(self, one: Offer) -> Row:
        """An offer as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.listing.number,
            base + one.bidder.seat,
            one.quantity_kg,
            one.price_micros,
            one.terms_days,
            one.message,
            one.minute,
            base + one.turn,
            one.status,
            one.closed_minute,
        )

    def deal(self, one: Deal) -> Row:
        """A deal as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.offer.number,
            base + one.seller.seat,
            base + one.buyer.seat,
            one.item,
            one.quantity_kg,
            one.price_micros,
            one.total_micros,
            one.cost_micros,
            one.terms_days,
            one.minute,
            one.due_day,
            base + one.turn,
            one.status,
            one.delays,
            one.settled_minute,
        )

    def invoice(self, one: Invoice) -> Row:
        """An invoice as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.issuer.seat,
            base + one.debtor.seat,
            base + one.deal.number if one.deal else None,
            one.principal_micros,
            one.issued_day,
            one.due_day,
            self.key(one.turn),
            one.fees_micros,
            one.credited_micros,
            one.paid_micros,
            one.returned_kg,
            one.returned_cost_micros,
            one.status,
            one.settled_minute,
        )

    def message(self, one: Message) -> Row:
        """A message as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.sender.seat,
            base + one.recipient.seat,
            one.title,
            one.body,
            self.key(one.listing),
            self.key(one.offer),
            one.minute,
            base + one.turn,
            one.read_minute,
        )

    def batch(self, one: Batch) -> Row:
        """A batch as it stands."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.firm.seat,
            one.kind,
            one.input_item,
            one.input_kg,
            one.item,
            one.quantity_kg,
            one.cost_micros,
            one.minute,
            one.due_day,
            base + one.turn,
            one.status,
            one.settled_minute,
        )

    def sale(self, one: ConsumerSale) -> Row:
        """A shop's evening sales of an item."""
        base = self.base
        return (
            base + one.number,
            self.run_id,
            base + one.shop.seat,
            one.day,
            one.item,
            one.quantity_kg,
            one.price_micros,
            one.revenue_micros,
            one.cost_micros,
        )

    def transfer(self, number: int, one: Transfer) -> Row:
        """A row of the ledger."""
        base = self.base
        return (
            base + number,
            self.run_id,
            base + one.seat,
            one.minute // MINUTES_PER_DAY,
            one.minute,
            one.debit,
            one.credit,
            one.amount_micros,
            one.reason,
            one.item,
            one.quantity_kg,
            base + one.deal if one.deal else None,
            base + one.invoice if one.invoice else None,
            base + one.batch if one.batch else None,
            base + one.turn if one.turn else None,
        )

    def event(self, number: int, one: Event) -> Row:
        """A line of the tape."""
        return (
            self.base + number,
            self.run_id,
            one.minute,
            one.minute // MINUTES_PER_DAY,
            one.kind,
            self.key(one.seat),
            self.key(one.other_seat),
            json_text(one.data),
        )

    def day_end(self, number: int, one: DayEnd) -> Row:
        """A firm's books after an evening."""
        return (
            self.base + number,
            self.run_id,
            self.base + one.seat,
            one.day,
            *one.sheet,
            one.net_income,
            one.revenue,
            json_text(one.stock_kg),
            json_text(one.prices),
        )

    def turn(self, decided: Decided, seat: int) -> Row:
        """A decision and what came of it."""
        outcome, decision = decided.outcome, decided.outcome.decision
        return (
            self.base + outcome.turn,
            self.run_id,
            self.base + seat,
            outcome.step,
            outcome.minute,
            outcome.minute // MINUTES_PER_DAY,
            decision.tool,
            decision_text(decision.arguments),
            decision.rationale,
            outcome.result["ok"],
            json_text(outcome.result),
            decided.by,
        )


class Kind(NamedTuple):
    """A kind of thing that changes after it is made, its table, and how its row is made."""

    model: type[models.Model]
    row: Callable[[RunRows, Any], Row]


CHANGING: dict[type, Kind] = {
    Listing: Kind(trade.Listing, RunRows.listing),
    Offer: Kind(trade.Offer, RunRows.offer),
    Deal: Kind(trade.Deal, RunRows.deal),
    Invoice: Kind(trade.Invoice, RunRows.invoice),
    Message: Kind(trade.Message, RunRows.message),
    Batch: Kind(trade.Batch, RunRows.batch),
    ConsumerSale: Kind(trade.ConsumerSale, RunRows.sale),
}


class Projection:
    """Keeps the tables of one run in step with its world. `save` wants a transaction around it."""

    def __init__(self, run_id: int, world: World, players: dict[str, str]) -> None:
        self.rows = RunRows(run_id)
        self.world = world
        self.players = players
        self.transfers = self.events = self.day_ends = 0

    def skip_saved(self) -> None:
        """Counts all there is as saved: for a world that was rebuilt from its stored decisions."""
        economy = self.world.economy
        economy.changed.clear()
        self.transfers, self.events, self.day_ends = (
            len(economy.transfers),
            len(economy.events),
            len(self.world.day_ends),
        )

    def save(self, decided: list[Decided]) -> None:
        """Writes what has come since the last time, and the decisions that brought it."""
        for model, rows in self._changed_rows():
            upsert_rows(model, rows)
        upsert_rows(trade.Firm, self._firm_rows())
        for model, rows in self._new_rows(decided):
            insert_rows(model, rows)
        self.skip_saved()

    def _firm_rows(self) -> list[Row]:
        world = self.world
        return [self.rows.firm(firm, world, self.players[firm.name]) for firm in world.economy.firms]

    def _changed_rows(self) -> Iterator[tuple[type[models.Model], list[Row]]]:
        by_kind: dict[type, list[Row]] = {kind: [] for kind in CHANGING}
        for one in self.world.economy.changed:
            by_kind[type(one)].append(CHANGING[type(one)].row(self.rows, one))
        for kind, rows in by_kind.items():
            yield CHANGING[kind].model, rows

    def _new_rows(self, decided: list[Decided]) -> Iterator[tuple[type[models.Model], list[Row]]]:
        rows, world, economy = self.rows, self.world, self.world.economy
        seat_of = {firm.name: firm.seat for firm in economy.firms}
        yield play.Turn, [rows.turn(one, seat_of[one.outcome.firm]) for one in decided]
        transfers = economy.transfers[self.transfers :]
        yield trade.Transfer, [rows.transfer(number, one) for number, one in enumerate(transfers, self.transfers + 1)]
        day_ends = world.day_ends[self.day_ends :]
        yield play.DayEnd, [rows.day_end(number, one) for number, one in enumerate(day_ends, self.day_ends + 1)]
        events = economy.events[self.events :]
        yield play.Event, [rows.event(number, one) for number, one in enumerate(events, self.events + 1)]

    def all_rows(self, decided: list[Decided]) -> Iterator[tuple[type[models.Model], list[Row]]]:
        """Every row the tables should hold of a world of which nothing was saved yet."""
        yield trade.Firm, self._firm_rows()
        yield from self._changed_rows()
        yield from self._new_rows(decided)


def scenario_of(run: play.Run) -> Scenario:
    """The frozen scenario of a run. Raises OtherRules where this version plays by others."""
    if run.rules_version != RULES_VERSION:
        raise OtherRules(
            f"run {run.pk} was begun under version {run.rules_version} of the rules; this is version {RULES_VERSION}. "
            "Its tables can be read as they stood, but it cannot be replayed or go on."
        )
    return Scenario.model_validate(run.scenario)


def rebuild(run: play.Run, on_step: Callable[[World], None] = lambda world: None) -> tuple[World, list[Decided]]:
    """The world of a run as of its last saved step, from scenario, seed and decisions alone, with those decisions.

    `on_step` is called at each open step before its decisions are applied.
    """
    world = World(scenario_of(run), run.seed)
    names = {run.pk * KEYS_PER_RUN + firm.seat: firm.name for firm in world.economy.firms}
    decided: list[Decided] = []
    turns = play.Turn.objects.filter(**in_run(run.pk)).order_by("pk")
    values = turns.values_list("step", "firm_id", "tool", "arguments", "rationale", "decided_by")
    for _, group in groupby(values, key=lambda value: value[0]):
        decisions: dict[str, Decision] = {}
        by: dict[str, str] = {}
        for _, firm_id, tool, arguments, rationale, decided_by in group:
            name = names[firm_id]
            decisions[name], by[name] = Decision(tool, json.loads(arguments), rationale), decided_by
        world.open_step()
        on_step(world)
        decided += [Decided(outcome, by[outcome.firm]) for outcome in world.apply(decisions)]
    world.open_step()
    return world, decided


def differences(run: play.Run) -> list[str]:
    """Every way in which the stored rows of a run differ from a world rebuilt from its decisions; empty: identical."""
    try:
        world, decided = rebuild(run)
    except (ValueError, KeyError) as error:
        return [f"the stored decisions do not fit the run: {error}"]
    found = []
    expected = {"step": world.steps, "turns": world.turns, "events": len(world.economy.events), "day": world.day}
    expected["minute"] = world.minute
    found += [f"run: {key} is {getattr(run, key)}, rebuilt {value}" for key, value in expected.items()
              if getattr(run, key) != value]  # fmt: skip
    if world.ended and run.status not in (world.ended, run.Status.STOPPED):
        found.append(f"run: status is {run.status}, rebuilt {world.ended}")
    for model, rows in Projection(run.pk, world, run.player_labels()).all_rows(decided):
        found += _table_differences(run.pk, model, rows)
    return found


def _table_differences(run_id: int, model: type[models.Model], rows: list[Row]) -> Iterator[str]:
    fields = [field.attname for field in model._meta.concrete_fields]
    stored = {
        row[0]: row for row in model._default_manager.filter(**in_run(run_id)).values_list(*fields).iterator(5000)
    }
    name = model._meta.model_name
    for row in rows_as_stored(model, rows):
        found = stored.pop(row[0], None)
        if found is None:
            yield f"{name} {row[0] % KEYS_PER_RUN}: missing"
        elif tuple(found) != row:
            yield from (
                f"{name} {row[0] % KEYS_PER_RUN}: {field} is {was!r}, rebuilt {now!r}"
                for field, was, now in zip(fields, found, row, strict=True)
                if was != now
            )
    for key in stored:
        yield f"{name} {key % KEYS_PER_RUN}: does not belong to this run's decisions"
