"""Recorded runs of the published benchmark, replayed and compared (`tests/traces/README.md` describes the format)."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from marketplace.economy import ledger, statements
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario, ScenarioError, problems_of, scenario_from
from simulation.engine.world import DayEnd, Outcome, Step, World

TOLERANCE_USD = 0.01 + 1e-9


class TraceError(ValueError):
    """A file that holds no trace; says what is wrong with it."""


class Difference(Exception):
    """The first place where a replay leaves the record."""


class FirmDay(BaseModel):
    """A firm's books after an evening, in USD and kg."""

    cash: float
    inventory: dict[str, int]
    inventory_value: float
    in_flight_value: float
    receivable: float
    payable: float
    prices: dict[str, float]


class TraceDay(BaseModel):
    """One evening: every firm's books, and (shop, item, kg, price) of what consumers bought."""

    day: int
    firms: dict[str, FirmDay]
    sales: list[tuple[str, str, int, float]]


class TraceResult(BaseModel):
    """A firm's books at the end of the run, in USD."""

    net_income: float
    equity_change: float
    revenue: float
    cogs: float
    opex: dict[str, float]
    interest_net: float
    cash: float
    inventory_value: float
    receivable: float
    payable: float
    equity: float
    bankrupt_day: int | None


class Trace(BaseModel):
    """One recorded run."""

    model_config = ConfigDict(extra="allow")

    format: Literal["coffeebench-trace/1"]
    name: str
    seed: int
    days: int
    economy: dict[str, float] = {}
    initial_cash: dict[str, float] = {}
    evaluated: str | None = None
    decisions: list[tuple[int, str, str, dict[str, Any], Literal["ok", "error"], dict[str, str]]]
    shipments: list[list[Any]]
    day_ends: list[TraceDay]
    result: dict[str, TraceResult]
    loyalty: dict[str, float]
    demand_noise_first5: dict[str, list[float]]

    def scenario(self) -> Scenario:
        """The scenario the run was recorded under. A trace without an evaluated firm ends on its last day."""
        return scenario_from(
            {
                **self.economy,
                "name": self.name,
                "days": self.days,
                "evaluated": self.evaluated or "",
                "firms": {name: {"cash": cash} for name, cash in self.initial_cash.items()},
            }
        )


class Replay(NamedTuple):
    """A trace played through the engine; `difference` is None when it agrees with the record everywhere."""

    trace: Trace
    world: World
    outcomes: list[Outcome]
    seconds: float
    difference: str | None


def load_trace(path: Path) -> Trace:
    """Reads a trace, gzipped or not. Raises TraceError saying what is wrong with the file."""
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        return Trace.model_validate(json.loads(text))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    except (EOFError, zlib.error, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise TraceError(f"{path}: not a gzipped JSON file: {error}") from None
    except ValidationError as error:
        raise TraceError(f"{path}: not a trace: {'; '.join(problems_of(error)[:3])}") from None


def replay_trace(trace: Trace) -> Replay:
    """Plays the recorded decisions and compares everything the record says. Only the playing is timed."""
    try:
        world = World(trace.scenario(), trace.seed)
    except ScenarioError as error:
        raise TraceError(f"{trace.name}: {error}") from None
    outcomes: list[Outcome] = []
    difference = None
    began = time.perf_counter()
    try:
        _play(trace, world, outcomes)
    except Difference as found:
        difference = str(found)
    seconds = time.perf_counter() - began
    if difference is None:
        try:
            _compare(trace, world, outcomes)
        except Difference as found:
            difference = str(found)
    return Replay(trace, world, outcomes, seconds, difference)


def _play(trace: Trace, world: World, outcomes: list[Outcome]) -> None:
    records = trace.decisions
    while step := world.open_step():
        first = len(outcomes)
        decisions: dict[str, Decision] = {}
        for place, firm in enumerate(step.firms, first):
            if place >= len(records):
                raise Difference(f"the record ends after {len(records)} decisions, but {_asked(step, firm)}")
            minute, recorded_firm, tool, arguments = records[place][:4]
            if recorded_firm != firm or minute != step.minute:
                raise Difference(
                    f"decision {place + 1}: recorded for {recorded_firm} at minute {minute}, but {_asked(step, firm)}"
                )
            decisions[firm] = Decision(tool, arguments)
        outcomes += world.apply(decisions)


def _asked(step: Step, firm: str) -> str:
    return f"{firm} is asked at minute {step.minute}"


def _compare(trace: Trace, world: World, outcomes: list[Outcome]) -> None:
    if len(outcomes) != len(trace.decisions):
        raise Difference(f"the run ended after {len(outcomes)} of {len(trace.decisions)} decisions")
    _compare_answers(trace, outcomes)
    _expect("loyalty", world.chance.loyalty, trace.loyalty)
    for item, noise in trace.demand_noise_first5.items():
        _expect(f"demand noise of {item}", world.chance.noise[item][:5], noise)
    _compare_shipments(trace, world)
    _compare_days(trace, world)
    for name, result in trace.result.items():
        _compare_result(world.economy.firm_named[name], result)


def _compare_answers(trace: Trace, outcomes: list[Outcome]) -> None:
    for number, (outcome, record) in enumerate(zip(outcomes, trace.decisions, strict=True), 1):
        what = f"decision {number} ({outcome.firm} {outcome.decision.tool} at minute {outcome.minute})"
        _expect(what, "ok" if outcome.result["ok"] else f"error ({outcome.result['error']})", record[4], prefix=True)
        for kind, made in record[5].items():
            _expect(f"{what}: {kind}", outcome.result.get(f"{kind}_id"), made)


def _expect(what: str, found: Any, recorded: Any, *, prefix: bool = False) -> None:
    if not (found.startswith(recorded) if prefix else found == recorded):
        raise Difference(f"{what}: got {found}, recorded {recorded}")


def _compare_shipments(trace: Trace, world: World) -> None:
    found = list(shipments_of(world))
    for place, (ours, theirs) in enumerate(zip(found, trace.shipments, strict=False), 1):
        _expect(f"shipment {place}", ours, theirs)
    _expect("number of shipments settled", len(found), len(trace.shipments))


def shipments_of(world: World) -> Iterator[list[Any]]:
    """[day, deal, outcome(, invoice)] of every settlement in order; those after the last evening fall on day `days`."""
    evening_passed = False
    for event in world.economy.events:
        evening_passed = event.kind == "day_ended" or (evening_passed and event.kind.startswith("shipment_"))
        outcome = event.kind.removeprefix("shipment_")
        if outcome in ("delivered", "delayed", "lost"):
            day = event.minute // 1440 + (evening_passed and event.minute % 1440 >= 19 * 60)
            invoice = [event.data["invoice"]] if outcome == "delivered" else []
            yield [day, event.data["deal"], outcome, *invoice]


def _compare_days(trace: Trace, world: World) -> None:
    firms = world.economy.firms
    _expect("number of days", len(world.day_ends), len(trace.day_ends) * len(firms))
    sales: dict[int, list[tuple[str, str, int, float]]] = {}
    for sale in world.economy.sales:
        sales.setdefault(sale.day, []).append((sale.shop.name, sale.item, sale.quantity_kg, usd(sale.price_micros)))
    for recorded in trace.day_ends:
        found = sales.get(recorded.day, [])
        _expect(f"day {recorded.day}: consumer sales", sorted(found), sorted(recorded.sales))
        for firm in firms:
            if firm.bankrupt_day is None or recorded.day < firm.bankrupt_day:
                day_end = world.day_ends[recorded.day * len(firms) + firm.seat - 1]
                _compare_firm_day(firm.name, day_end, recorded.firms[firm.name])


def _compare_firm_day(name: str, found: DayEnd, recorded: FirmDay) -> None:
    what, sheet = f"day {found.day}: {name}", found.sheet
    _expect(f"{what} inventory", found.stock_kg, recorded.inventory)
    _expect(f"{what} prices", found.prices, recorded.prices)
    _expect_usd(f"{what} cash", sheet.cash, recorded.cash)
    _expect_usd(f"{what} inventory value", sheet.inventory, recorded.inventory_value)
    in_flight_micros = sheet.work_in_progress + sheet.goods_in_transit
    _expect_usd(f"{what} in-flight value", in_flight_micros, recorded.in_flight_value)
    _expect_usd(f"{what} receivable", sheet.receivables, recorded.receivable)
    _expect_usd(f"{what} payable", sheet.payables, recorded.payable)


def _expect_usd(what: str, found_micros: int, recorded: float) -> None:
    if abs(usd(found_micros) - recorded) > TOLERANCE_USD:
        raise Difference(f"{what}: got {usd(found_micros)} USD, recorded {recorded} USD")


def _compare_result(firm: Firm, recorded: TraceResult) -> None:
    """A bankrupt firm's own debts stay on its books here and are gone from the record: those two are not compared."""
    income = statements.income_statement(firm.balances)
    sheet = statements.balance_sheet(firm.balances)
    what = f"{firm.name} at the end:"
    _expect(f"{what} bankrupt day", firm.bankrupt_day, recorded.bankrupt_day)
    amounts = {
        "net income": (income.net_income, recorded.net_income),
        "score": (firm.score_micros, recorded.equity_change),
        "revenue": (income.revenue, recorded.revenue),
        "cost of goods sold": (income.cost_of_goods_sold, recorded.cogs),
        "rent and utilities": (income.rent_and_utilities, recorded.opex["rent_utilities_expense"]),
        "spoilage": (income.spoilage, recorded.opex["spoilage_expense"]),
        "other operating expense": (income.other_operating, recorded.opex["other_operating_expense"]),
        "net interest": (income.interest_expense - income.interest_revenue, recorded.interest_net),
        "cash": (sheet.cash, recorded.cash),
        "inventory value": (firm.balances[ledger.INVENTORY], recorded.inventory_value),
        "receivable": (sheet.receivables, recorded.receivable),
    }
    if firm.bankrupt_day is None:
        amounts |= {"payable": (sheet.payables, recorded.payable), "equity": (sheet.equity, recorded.equity)}
    for name, (found_micros, recorded_usd) in amounts.items():
        _expect_usd(f"{what} {name}", found_micros, recorded_usd)
