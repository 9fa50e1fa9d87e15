"""Recorded runs of the published benchmark replay to the cent (tests/traces/README.md), and balance all the way."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulation.engine.decision import Decision
from simulation.engine.world import World
from simulation.players.heuristic_roaster import HeuristicRoaster
from simulation.traces import Trace, load_trace, replay_trace
from tests.engine.checks import Auditor

FOLDER = Path(__file__).parent.parent / "traces"
NAMES = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def recorded(name: str) -> Trace:
    """A recorded run by name."""
    return load_trace(FOLDER / f"{name}.json.gz")


def test_no_trace_is_missing() -> None:
    assert len(NAMES) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_replays_to_the_cent(name: str) -> None:
    assert replay_trace(recorded(name)).difference is None


@pytest.mark.parametrize("name", NAMES)
def test_the_books_balance_exactly_after_every_step_of_a_recorded_run(name: str) -> None:
    trace = recorded(name)
    world = World(trace.scenario(), trace.seed)
    auditor = Auditor(world.economy)
    decisions = iter(trace.decisions)
    while step := world.open_step():
        auditor.check()
        world.apply({firm: Decision(*next(decisions)[2:4]) for firm in step.firms})
        auditor.check()
    auditor.check()
    assert next(decisions, None) is None


def test_both_heuristic_roasters_make_the_very_decisions_recorded() -> None:
    trace = recorded("heuristic-90")
    world = World(trace.scenario(), trace.seed)
    players = {name: HeuristicRoaster() for name in ("roaster_A", "roaster_B")}
    decisions = iter(trace.decisions)
    made, expected = [], []
    while step := world.open_step():
        chosen = {}
        for firm in step.firms:
            _, _, tool, arguments, *_ = next(decisions)
            chosen[firm] = Decision(tool, arguments)
            if firm in players:
                made.append((step.minute, firm, players[firm].decide(world.view(firm))))
                expected.append((step.minute, firm, chosen[firm]))
        world.apply(chosen)
    assert made == expected
    assert len(made) > 1_000


def test_passive_roasters_lose_what_the_paper_says_they_lose() -> None:
    world = replay_trace(recorded("passive-90")).world
    scores = {firm.name: firm.score_micros for firm in world.economy.firms}
    assert scores == {
        "farmer_A": -2_292_000_000,
        "farmer_B": -2_292_000_000,
        "roaster_A": -2_764_680_000,
        "roaster_B": -2_764_680_000,
        "retailer_A": -4_300_000_000,
        "retailer_B": -4_300_000_000,
    }


Change = Callable[[dict[str, Any]], Any]
# A change of the record of the first week, and the beginning of what the replay says of it.
TAMPERED: list[tuple[str, Change, str]] = [
    ("a minute", lambda t: t["decisions"][6].__setitem__(0, 541), "decision 7: recorded for"),
    ("a firm", lambda t: t["decisions"][0].__setitem__(1, "roaster_A"), "decision 1: recorded for roaster_A"),
    ("an answer", lambda t: t["decisions"][0].__setitem__(4, flipped(t["decisions"][0][4])), "decision 1"),
    ("an id", lambda t: first_made(t).__setitem__(5, {"listing": "L99"}), "decision"),
    ("one decision less", lambda t: t["decisions"].pop(), "the record ends after"),
    ("one decision more", lambda t: t["decisions"].append(t["decisions"][-1]), "the run ended after"),
    ("an outcome", lambda t: t["shipments"][0].__setitem__(2, "lost"), "shipment 1"),
    ("a shipment's day", lambda t: t["shipments"][0].__setitem__(0, 5), "shipment 1"),
    ("an invoice", lambda t: t["shipments"][0].__setitem__(3, "I99"), "shipment 1"),
    ("one shipment less", lambda t: t["shipments"].pop(), "number of shipments"),
    ("cash", lambda t: add(t["day_ends"][2]["firms"]["farmer_B"], "cash", 0.02), "day 2: farmer_B cash"),
    ("stock", lambda t: t["day_ends"][0]["firms"]["farmer_A"]["inventory"].popitem(), "day 0: farmer_A inventory"),
    (
        "its value",
        lambda t: add(t["day_ends"][0]["firms"]["farmer_A"], "inventory_value", -0.02),
        "day 0: farmer_A inven",
    ),
    (
        "work",
        lambda t: add(t["day_ends"][0]["firms"]["farmer_A"], "in_flight_value", 0.02),
        "day 0: farmer_A in-flight",
    ),
    ("a claim", lambda t: add(t["day_ends"][6]["firms"]["farmer_A"], "receivable", 0.02), "day 6: farmer_A receivable"),
    ("a debt", lambda t: add(t["day_ends"][6]["firms"]["roaster_A"], "payable", 0.02), "day 6: roaster_A payable"),
    ("a price", lambda t: t["day_ends"][0]["firms"]["retailer_A"]["prices"].popitem(), "day 0: retailer_A prices"),
    ("a sale", lambda t: t["day_ends"][0]["sales"].pop(), "day 0: consumer sales"),
    ("one evening less", lambda t: t["day_ends"].pop(), "number of days"),
    ("net income", lambda t: add(t["result"]["roaster_A"], "net_income", 0.02), "roaster_A at the end: net income"),
    ("revenue", lambda t: add(t["result"]["roaster_A"], "revenue", 0.02), "roaster_A at the end: revenue"),
    ("cost", lambda t: add(t["result"]["roaster_A"], "cogs", 0.02), "roaster_A at the end: cost of goods sold"),
    (
        "spoilage",
        lambda t: add(t["result"]["farmer_A"]["opex"], "spoilage_expense", 1),
        "farmer_A at the end: spoilage",
    ),
    ("interest", lambda t: add(t["result"]["farmer_A"], "interest_net", 0.02), "farmer_A at the end: net interest"),
    ("an end", lambda t: t["result"]["farmer_A"].__setitem__("bankrupt_day", 3), "farmer_A at the end: bankrupt day"),
    ("loyalty", lambda t: add(t["loyalty"], "retailer_A", 1e-9), "loyalty"),
    ("noise", lambda t: t["demand_noise_first5"]["roasted_coffee_kg"].__setitem__(4, 0.0), "demand noise of roasted"),
]


def flipped(answer: str) -> str:
    """The other answer."""
    return "error" if answer == "ok" else "ok"


def first_made(trace: dict[str, Any]) -> list[Any]:
    """The first decision that made a listing."""
    return next(decision for decision in trace["decisions"] if "listing" in decision[5])


def add(values: dict[str, float], name: str, amount: float) -> None:
    """Moves a figure."""
    values[name] += amount


def first_week() -> dict[str, Any]:
    """The first week's record as plain data, to be tampered with."""
    with gzip.open(FOLDER / "first-week.json.gz") as file:
        record: dict[str, Any] = json.load(file)
    return record


@pytest.mark.parametrize(("what", "change", "words"), TAMPERED, ids=[row[0] for row in TAMPERED])
def test_a_record_that_differs_anywhere_is_found_out(what: str, change: Change, words: str) -> None:
    record = first_week()
    change(record)
    difference = replay_trace(Trace.model_validate(record)).difference
    assert difference is not None
    assert difference.startswith(words)


def test_a_cent_of_difference_is_forgiven_since_the_record_was_kept_in_floats() -> None:
    record = first_week()
    record["day_ends"][0]["firms"]["farmer_A"]["cash"] += 0.01
    assert replay_trace(Trace.model_validate(record)).difference is None
