"""The economy of an experiment: what the published files' names mean in our scenario, and our own names beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from marketplace.economy.rules import ROLES
from simulation.engine.scenario import Scenario, ScenarioError, scenario_from
from simulation.experiments.document import Document, Keys

COMMODITY = "items.roasted_coffee_kg"
SPECIALTY = "items.roasted_specialty_kg"
NO_TABLE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Meaning(NamedTuple):
    """What a published name sets in the scenario, given one number or, if it may be a table, one by name; and why."""

    places: tuple[str, ...]
    why: str
    by_name: Mapping[str, tuple[str, ...]] = NO_TABLE


def _of_recipe(value: str) -> Mapping[str, tuple[str, ...]]:
    """A recipe is called by what goes in, as the tool `roast` does, or by what comes out, as our catalogue does."""
    commodity, specialty = (f"{COMMODITY}.roasting.{value}",), (f"{SPECIALTY}.roasting.{value}",)
    return {
        "green_coffee_kg": commodity,
        "roasted_coffee_kg": commodity,
        "green_specialty_kg": specialty,
        "roasted_specialty_kg": specialty,
    }


def _only_commodity(value: str) -> tuple[str, ...]:
    return (f"{COMMODITY}.roasting.{value}",)


_BASE_DEMAND = (f"{COMMODITY}.consumers.base_demand_kg", "reference_demand_kg")
_RESERVATION = {
    "roasted_coffee_kg": (f"{COMMODITY}.consumers.reservation_price",),
    "roasted_specialty_kg": (f"{SPECIALTY}.consumers.reservation_price",),
}
_OPEX: Mapping[str, tuple[str, ...]] = {role: (f"roles.{role}.opex",) for role in ROLES}
_RECIPE = "the published number is of the commodity's recipe; a table can name both"

# The numbers in brackets are those of the paper, which an absent name leaves as they are.
ECONOMY: Mapping[str, Meaning] = {
    "demand_base": Meaning(
        _BASE_DEMAND,
        "kg a day (80): the base demand of the items that have none of their own, which is the commodity, and the "
        "yardstick by which other items' ceilings are scaled (RULES.md section 7); specialty keeps its 15",
        {"roasted_coffee_kg": _BASE_DEMAND, "roasted_specialty_kg": (f"{SPECIALTY}.consumers.base_demand_kg",)},
    ),
    "demand_hi": Meaning(("demand_ceiling_kg",), "kg a day (130): the commodity's ceiling, scaled for other items"),
    "demand_sigma": Meaning(("demand_sigma",), "kg (0.5): the noise of each item's day, one number for all"),
    "p_res": Meaning(
        (*_RESERVATION["roasted_coffee_kg"], *_RESERVATION["roasted_specialty_kg"]),
        "USD a kg (30 and 80): one number is the reservation price of everything that consumers buy",
        _RESERVATION,
    ),
    "inventory_spoilage_per_day": Meaning(("spoilage",), "fraction (0.005) of every item held"),
    "late_fee_per_day": Meaning(("late_fee",), "fraction (0.001) of what is overdue"),
    "opex": Meaning(
        tuple(place for places in _OPEX.values() for place in places),
        "USD a day (25, 30, 50): one number is every role's, which takes the difference between them away",
        _OPEX,
    ),
    "roast_cost_per_kg": Meaning(_only_commodity("labour"), f"USD a kg of green (3): {_RECIPE}", _of_recipe("labour")),
    "roast_yield": Meaning(
        _only_commodity("output_per_input"), f"kg out a kg in (0.85): {_RECIPE}", _of_recipe("output_per_input")
    ),
    "roast_lag_days": Meaning(_only_commodity("lag_days"), f"mornings (1): {_RECIPE}", _of_recipe("lag_days")),
    "roast_daily_cap_green_kg": Meaning(("roast_daily_cap_kg",), "kg of green a day (50), shared by all recipes"),
    "return_window_days": Meaning(("return_window_days",), "days since the invoice (14)"),
    "farmer_delivery_extra_days": Meaning(
        ("roles.farmer.delivery_extra_days",), "days (0) on top of the usual one, for what farmers ship"
    ),
    "delivery_delay_prob": Meaning(("delay",), "chance (0.07) of a shipment to come a day later"),
    "delivery_loss_prob": Meaning(("loss",), "chance (0.015) of a shipment to be lost"),
}


class Change(NamedTuple):
    """A value of the scenario that differs from the paper's, and where the text says so."""

    target: Keys
    value: Any
    source: Keys


def scenario_of(document: Document) -> Scenario | None:
    """The scenario of an experiment without an evaluated firm, or None with complaints if there cannot be one."""
    changes = [*_days(document), *_published(document), *_our_own(document)]
    values = _folded(document, changes)
    try:
        return scenario_from({**values, "evaluated": ""})
    except ScenarioError as error:
        for problem in error.problems:
            _place(document, changes, problem)
        return None


def evaluated_of(document: Document, firms: Iterable[str]) -> str:
    """`run.main_agent`, or whom RULES.md section 1 has unless a file says otherwise; an empty name: nobody."""
    names = list(firms)
    usual = Scenario().evaluated
    named = document.section("run").get("main_agent", usual if usual in names else "")
    if named in ("", *names):
        return str(named)
    document.unknown(("run", "main_agent"), "firm", names[:8], said=str(named))
    return ""


def _days(document: Document) -> Iterator[Change]:
    run = document.section("run")
    if "max_days" in run:
        yield Change(("days",), _whole(run["max_days"]), ("run", "max_days"))


def _published(document: Document) -> Iterator[Change]:
    """The changes of the section `economy`."""
    for key, value in document.section("economy", ECONOMY).items():
        meaning, source = ECONOMY[key], ("economy", key)
        if not isinstance(value, dict):
            yield from _changes(meaning.places, value, source)
        elif not meaning.by_name:
            document.complain(source, "takes one number, not a table")
        else:
            for name, inner in value.items():
                if name in meaning.by_name:
                    yield from _changes(meaning.by_name[name], inner, (*source, name))
                else:
                    document.unknown((*source, name), "name", meaning.by_name)


def _changes(places: Iterable[str], value: Any, source: Keys) -> Iterator[Change]:
    for place in places:
        yield Change(tuple(place.split(".")), _whole(value), source)


def _whole(value: Any) -> Any:
    """14.0 as 14: the published names do not tell whole numbers from others, and where it is a price 14 will do."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


ELSEWHERE = {"days": "run.max_days", "evaluated": "run.main_agent"}


def _our_own(document: Document) -> Iterator[Change]:
    """The changes of the section `scenario`, whose names are those of our scenario files."""
    for key, value in document.section("scenario").items():
        source = ("scenario", key)
        if key in ELSEWHERE:
            document.complain(source, f"{ELSEWHERE[key]} says that")
        elif key == "opex":  # short for every role's, as in our scenario files
            yield from _changes(ECONOMY["opex"].places, value, source)
        else:
            for path, leaf in _leaves((key,), value):
                yield Change(path, leaf, ("scenario", *path))


def _leaves(path: Keys, value: Any) -> Iterator[tuple[Keys, Any]]:
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, dict) and value:
            waiting += [((*path, key), inner) for key, inner in value.items()]
        else:
            yield path, value


def _folded(document: Document, changes: Iterable[Change]) -> dict[str, Any]:
    """The changes as nested tables. A place that is set twice is a fault: the file would mean only one of them."""
    values: dict[str, Any] = {}
    done: list[Change] = []
    for change in changes:
        clash = next((old for old in done if _clash(old, change)), None)
        if clash:
            document.complain(change.source, f"{'.'.join(clash.source)} says that already")
            continue
        table = values
        for key in change.target[:-1]:
            table = table.setdefault(key, {})
        table.setdefault(change.target[-1], change.value)
        done.append(change)
    return values


def _clash(one: Change, other: Change) -> bool:
    """Whether two changes cannot both be made. A table that is empty so far may be filled by another."""
    if one.target == other.target or not _overlap(one.target, other.target):
        return one.target == other.target
    outer = min(one, other, key=lambda change: len(change.target))
    return not isinstance(outer.value, dict)


def _overlap(one: Keys, other: Keys) -> bool:
    """Whether one place is the other or lies in it."""
    return one[: len(other)] == other[: len(one)]


def _place(document: Document, changes: Sequence[Change], problem: str) -> None:
    """Complains of a problem of the scenario where the text has caused it."""
    path, has_path, words = problem.partition(": ")
    target = tuple(path.split("."))
    cause = _cause_at(target, changes) if has_path else _cause_named_in(problem, changes)
    section = "scenario" if document.says("scenario") else "economy"
    if cause is not None:
        document.complain(cause.source, words or problem)
    elif has_path and section == "scenario":
        document.complain((section, *target), words)
    else:
        document.complain((section,), problem)


def _cause_at(target: Keys, changes: Iterable[Change]) -> Change | None:
    """The change of a place, or the nearest to it."""
    near = (change for change in changes if _overlap(change.target, target))
    return max(near, key=lambda change: len(change.target), default=None)


def _cause_named_in(problem: str, changes: Iterable[Change]) -> Change | None:
    """Of values that do not go together the first that the text has set."""
    words = problem.split()
    return next((change for change in changes if change.target[-1] in words), None)
