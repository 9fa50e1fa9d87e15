"""A scenario: every number of a run, as frozen and validated data. The defaults are the scenario named `paper`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from marketplace.economy.economy import firm_names
from marketplace.economy.rules import Demand, EconomyRules, FirmRules, RoleRules, Rules
from simulation.engine.decision import in_words

MOST_FIRMS = 600


class ScenarioError(ValueError):
    """A scenario that cannot be: `problems` names each bad value and says what is allowed."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Festival(Rules):
    """Days, first to last, on which consumers want `strength` times as much (RULES.md section 7)."""

    name: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_ -]+$")] = "spring_break"
    first_day: Annotated[int, Field(ge=0, le=3650)] = 40
    last_day: Annotated[int, Field(ge=0, le=3650)] = 53
    strength: Annotated[float, Field(ge=0, le=100)] = 3.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.last_day < self.first_day:
            raise ValueError(f"last_day {self.last_day} is before first_day {self.first_day}")
        return self


class Scenario(EconomyRules):
    """The rules of trade, and the time, chance and demand around them. Immutable: a run keeps its own copy."""

    name: Annotated[str, Field(min_length=1, max_length=60)] = "paper"
    days: Annotated[int, Field(ge=1, le=3650)] = 90
    evaluated: str = Field("roaster_A", description="its bankruptcy ends the run; empty: no firm's does")
    festival: Festival | None = Festival()
    demand_sigma: Demand = 0.5
    demand_ceiling_kg: Demand = 130.0
    reference_demand_kg: Annotated[float, Field(gt=0, le=1_000_000)] = 80.0
    loyalty_low: Annotated[float, Field(ge=0, le=100)] = 0.85
    loyalty_high: Annotated[float, Field(ge=0, le=100)] = 1.15

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        problems = [*self._firm_problems(), *self._item_problems()]
        if self.loyalty_low > self.loyalty_high:
            problems.append(f"loyalty_low {self.loyalty_low} is above loyalty_high {self.loyalty_high}")
        if self.loss + self.delay > 1:
            problems.append(f"loss {self.loss} and delay {self.delay} together exceed 1")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _firm_problems(self) -> list[str]:
        names = [name for name, _ in firm_names(self)]
        problems = []
        if not names:
            problems.append("roles seat no firm at all")
        if len(names) > MOST_FIRMS:
            problems.append(f"roles seat {len(names)} firms; at most {MOST_FIRMS} are allowed")
        if names and self.evaluated and self.evaluated not in names:
            problems.append(f"evaluated firm {self.evaluated} does not exist; the firms are {_some(names)}")
        problems += [
            f"firms.{name} does not exist; the firms are {_some(names)}" for name in self.firms if name not in names
        ]
        return problems

    def _item_problems(self) -> list[str]:
        problems = []
        greens = [item.roasting.green_item for item in self.items.values() if item.roasting]
        for name, item in self.items.items():
            if item.roasting and item.roasting.green_item not in self.items:
                problems.append(f"items.{name}.roasting.green_item {item.roasting.green_item} is not an item")
        problems += [f"items: {green} is roasted into two items" for green in set(greens) if greens.count(green) > 1]
        owners: list[tuple[str, RoleRules | FirmRules]] = [*self.roles.items(), *self.firms.items()]
        for where, owner in owners:
            for name in [*(owner.stock or {}), *(owner.prices or {})]:
                if name not in self.items:
                    problems.append(f"{where}: {name} is not an item; the items are {_some(list(self.items))}")
        return problems

    def festival_factor(self, day: int) -> float:
        """How many times the usual consumers want on a day."""
        festival = self.festival
        return festival.strength if festival and festival.first_day <= day <= festival.last_day else 1.0


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, … ({len(names)} in all)"


def scenario_from(values: Mapping[str, Any]) -> Scenario:
    """The paper's scenario with some values replaced; nested tables are merged, so a file names only what differs.

    `opex` on the top level is short for every role's. Raises ScenarioError naming each unknown key and bad value.
    """
    values = dict(values)
    opex = values.pop("opex", None)
    merged = _merge(Scenario().model_dump(mode="json"), values)
    if opex is not None and isinstance(merged.get("roles"), dict):
        for role in merged["roles"].values():
            if isinstance(role, dict):
                role["opex"] = opex
    try:
        return Scenario.model_validate(merged)
    except ValidationError as error:
        raise ScenarioError(problems_of(error)) from None


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        if key not in ("stock", "prices") and isinstance(value, Mapping) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def problems_of(error: ValidationError) -> list[str]:
    """A validation error in plain sentences, each naming the value by its path."""
    problems = []
    for detail in error.errors(include_url=False):
        path = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            problems.append(f"{path}: unknown key")
        elif path:
            problems.append(f"{path}: {message[0].lower()}{message[1:]} (got {_short(detail['input'])})")
        else:
            problems.append(message)
    return problems


def _short(value: Any) -> str:
    text = in_words(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def scenario_from_file(path: Path, settings: list[str]) -> Scenario:
    """The scenario of a TOML file, or of the paper when `path` is the empty path, with `key=value` settings on top."""
    values: dict[str, Any] = {}
    if path != Path():
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ScenarioError([f"{path}: {error.strerror}"]) from None
        except (ValueError, RecursionError) as error:
            raise ScenarioError([f"{path}: not TOML: {error}"]) from None
    for setting in settings:
        values = _merge(values, parse_setting(setting))
    return scenario_from(values)


def parse_setting(setting: str) -> dict[str, Any]:
    """`late_fee=0.002` or `roles.roaster.opex=40` as nested values; the right-hand side is TOML, or else plain text."""
    key, equals, text = setting.partition("=")
    path = key.strip().split(".")
    if not equals or not all(re.fullmatch(r"[A-Za-z0-9_]+", part) for part in path):
        raise ScenarioError([f"{_short(setting)}: a setting is written key=value, as late_fee=0.002"])
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or more digits or brackets than Python reads
        value = text.strip()
    for part in reversed(path[1:]):
        value = {part: value}
    return {path[0]: value}
