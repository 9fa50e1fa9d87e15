"""The world: one run's economy moved through time, one step at a time (RULES.md sections 3 and 9).

    world = World(scenario, seed)
    while step := world.open_step():                    # moves the clock until some firms are due
        views = {name: world.view(name) for name in step.firms}
        world.apply({name: decide(view) for name, view in views.items()})

A step is a bucket of section 3: its firms decide on the same state, then their decisions are applied in order. The
same scenario, seed and decisions give the same world, and nothing else is needed to rebuild one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from marketplace.economy import ledger, statements
from marketplace.economy.bankruptcy import declare_bankrupt
from marketplace.economy.credit import accrue_late_fees
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from marketplace.economy.production import PRODUCE, ROAST, land_due_batches
from marketplace.economy.retail import spoil_stock
from marketplace.economy.shipments import settle_due_shipments
from simulation.engine import tools
from simulation.engine.activity import Activity
from simulation.engine.clock import CLOSING_MINUTE, MINUTES_PER_CALL, MINUTES_PER_DAY, OPENING_MINUTE, WakeQueue
from simulation.engine.decision import WAIT, Decision, readable
from simulation.engine.demand import Chance, sell_in_the_evening
from simulation.engine.observation import Since, View, observe
from simulation.engine.scenario import Scenario
from simulation.engine.tools import Result

RULES_VERSION: Final = "1"
"""Changed whenever the same decisions could lead elsewhere; a run goes on only under the version it began with."""

FINISHED, STOPPED = "finished", "stopped"
NEW_DAY = "a new day"
NOTHING_SHOWN = Since()


class Step(NamedTuple):
    """A bucket: who acts at this minute, in the order in which their decisions will be applied."""

    number: int
    minute: int
    firms: tuple[str, ...]


class Outcome(NamedTuple):
    """One applied decision and what the firm was answered. `turn` counts the run's decisions from 1."""

    turn: int
    step: int
    minute: int
    firm: str
    decision: Decision
    result: Result


class DayEnd(NamedTuple):
    """A firm's position after an evening; amounts in micro-dollars, net income and revenue since the run began."""

    day: int
    seat: int
    sheet: statements.BalanceSheet
    net_income: int
    revenue: int
    stock_kg: dict[str, int]
    committed_kg: int
    prices: dict[str, float]


@dataclass(slots=True)
class Seat:
    """What the world keeps for a firm's player: what woke it, what its last call gave, what it has been shown."""

    firm: Firm
    turns: int = 0
    activity: Activity = field(default_factory=Activity)
    reasons: list[str] = field(default_factory=list)
    due_reasons: list[str] = field(default_factory=list)
    result: Result | None = None
    since: Since = NOTHING_SHOWN
    shown: Since = NOTHING_SHOWN


class World:
    """One run in progress."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.queue = WakeQueue()
        self.economy = Economy(scenario, self._wake)
        self.seats = {firm.name: Seat(firm) for firm in self.economy.firms}
        self.retailers = [firm for firm in self.economy.firms if firm.role == "retailer"]
        self.chance = Chance(scenario, seed, [firm.name for firm in self.retailers])
        self.day_ends: list[DayEnd] = []
        self.steps = 0
        self.turns = 0
        self.ended: str | None = None
        self._step: Step | None = None
        self._last_bucket = False
        self._open_morning(0)

    @property
    def day(self) -> int:
        """The day the clock stands on."""
        return self.economy.day

    @property
    def minute(self) -> int:
        """The minute the clock stands on."""
        return self.economy.minute

    def open_step(self) -> Step | None:
        """Moves the clock to the next minute at which a live firm is due. None when the run has ended.

        Asking again before the step is applied gives the same step.
        """
        while self._step is None and self.ended is None:
            if self._last_bucket:
                self._end(STOPPED)
            elif self.queue.next_minute() is None:
                self._pass_the_night()
            else:
                self._open_bucket()
        return self._step

    def view(self, firm_name: str) -> View:
        """What a firm of the open step is given to decide on. Looking changes nothing."""
        assert self._step is not None
        seat = self.seats[firm_name]
        firm = seat.firm
        observation = None
        if seat.due_reasons:
            observation = observe(self.economy, self.scenario, firm, seat.due_reasons, seat.since)
        return View(firm.name, firm.role, self.minute, seat.result, observation)

    def apply(self, decisions: Mapping[str, Decision]) -> list[Outcome]:
        """Applies one decision of each firm of the open step, in the step's order; returns what each was answered."""
        step = self._step
        if step is None:
            raise ValueError("no step is open")
        if decisions.keys() != set(step.firms):
            raise ValueError(f"step {step.number} takes decisions of {step.firms}, not of {tuple(decisions)}")
        outcomes = [self._apply(step, self.seats[name], readable(decisions[name])) for name in step.firms]
        self._step = None
        self.steps += 1
        return outcomes

    def _apply(self, step: Step, seat: Seat, decision: Decision) -> Outcome:
        firm = seat.firm
        self.turns += 1
        seat.turns += 1
        self.economy.turn = self.turns
        if decision.tool:
            result = tools.call(self.economy, firm, decision.tool, decision.arguments)
            waits = decision.tool == WAIT.tool
            self._count(seat, decision, result, waits=waits)
        else:
            result, waits = {"ok": True, "waiting": True}, True
            seat.activity.turns_without_call += 1
        self.economy.turn = 0
        if waits and result["ok"]:
            self.queue.park(firm.seat)
        else:
            self.queue.make_busy(firm.seat, step.minute + MINUTES_PER_CALL)
        seat.result = result
        return Outcome(self.turns, step.number, step.minute, firm.name, decision, result)

    def _count(self, seat: Seat, decision: Decision, result: Result, *, waits: bool) -> None:
        activity = seat.activity
        activity.count_call(decision.tool, accepted=result["ok"], waits=waits)
        if "message_id" in result and decision.tool == "send_message":
            recipient = decision.arguments["recipient"]
            activity.messages_to[recipient] = activity.messages_to.get(recipient, 0) + 1

    def _wake(self, firm: Firm, reason: str) -> None:
        if firm.is_live:
            self.seats[firm.name].reasons.append(reason)
            self.queue.wake(firm.seat, self.minute)

    def _open_bucket(self) -> None:
        """Takes the next bucket; those who cannot pay drop out of it, the others are due."""
        minute = self.queue.next_minute()
        assert minute is not None
        self.economy.minute = minute
        due = [self.economy.firms[seat - 1] for seat in self.queue.open_bucket()]
        bankrupt = [firm for firm in due if firm.cash_micros < 0]
        for firm in bankrupt:
            declare_bankrupt(self.economy, firm)
            self.queue.park(firm.seat)
            self._last_bucket |= firm.name == self.scenario.evaluated
        acting = [firm.name for firm in due if firm.is_live]
        for name in acting:
            self._show(self.seats[name])
        if acting:
            self._step = Step(self.steps + 1, minute, tuple(acting))

    def _show(self, seat: Seat) -> None:
        """Fixes what a due firm will see, and where its next observation will begin."""
        seat.due_reasons, seat.reasons = seat.reasons, []
        if seat.due_reasons:
            seat.since, seat.shown = seat.shown, Since(len(seat.firm.deals), self.day)

    def _open_morning(self, day: int) -> None:
        """09:00: costs, production, roasts, shipments, then everybody is woken (section 3)."""
        economy = self.economy
        economy.minute = day * MINUTES_PER_DAY + OPENING_MINUTE
        live = [firm for firm in economy.firms if firm.is_live]
        for firm in live:
            firm.made_today_kg.clear()
            firm.roasted_today_kg = 0
            economy.post(firm, ledger.RENT_AND_UTILITIES, ledger.CASH, firm.opex_micros, "daily operating cost")
        land_due_batches(economy, day, PRODUCE)
        land_due_batches(economy, day, ROAST)
        settle_due_shipments(economy, day, self.chance.draw)
        for firm in live:
            self.seats[firm.name].reasons.append(NEW_DAY)
        self.queue.open_morning([firm.seat for firm in live], economy.minute)

    def _pass_the_night(self) -> None:
        """19:00, and the next morning; after the last evening what would arrive then is settled and the run ends."""
        day = self.day
        self._close_day(day)
        if day + 1 < self.scenario.days:
            self._open_morning(day + 1)
        else:
            settle_due_shipments(self.economy, day + 1, self.chance.draw)
            self._end(FINISHED)

    def _close_day(self, day: int) -> None:
        economy = self.economy
        economy.minute = day * MINUTES_PER_DAY + CLOSING_MINUTE
        sell_in_the_evening(economy, self.scenario, self.chance, self.retailers, day)
        for seat in self.seats.values():
            if seat.firm.is_live:
                spoil_stock(economy, seat.firm)
                seat.activity.end_day()
        accrue_late_fees(economy)
        for firm in economy.firms:
            firm.closing_balances.append(dict(firm.balances))
            self.day_ends.append(position_of(firm, day))
        economy.tell("day_ended", None, firms=self.figures())

    def _end(self, how: str) -> None:
        self.ended = how
        self.economy.tell("run_ended", None, status=how, firms=self.figures())

    def figures(self) -> dict[str, dict[str, Any]]:
        """Where each firm stands now, in USD and kg, for the tape."""
        return {firm.name: _figures_of(firm) for firm in self.economy.firms}


def position_of(firm: Firm, day: int) -> DayEnd:
    """A firm's position now, as a day's end keeps it."""
    balances = firm.balances
    return DayEnd(
        day,
        firm.seat,
        statements.balance_sheet(balances),
        statements.net_income(balances),
        -balances[ledger.REVENUE],
        {item: holding.quantity_kg for item, holding in firm.holdings.items() if holding.quantity_kg},
        firm.committed_kg,
        {item: usd(price) for item, price in firm.shelf.items()},
    )


def _figures_of(firm: Firm) -> dict[str, Any]:
    position = position_of(firm, 0)
    return {
        "cash": usd(position.sheet.cash),
        "net_income": usd(firm.score_micros),
        "equity": usd(position.sheet.equity),
        "revenue": usd(position.revenue),
        "inventory": usd(position.sheet.inventory),
        "receivables": usd(position.sheet.receivables),
        "payables": usd(position.sheet.payables),
        "stock_kg": position.stock_kg,
        "committed_kg": position.committed_kg,
        "bankrupt_day": firm.bankrupt_day,
    }
