"""A scenario as the lines of settings that make it out of the paper's, as `roles.roaster.opex = 40`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from simulation.engine.scenario import Scenario, ScenarioError, scenario_from_file

LONGEST_LINE: Final = 300
# Tables that a setting replaces as wholes: what is in them is not told apart.
WHOLE: Final = ("stock", "prices")


def lines_of(scenario: Scenario) -> list[str] | None:
    """The lines, without the days, which have a field of their own; None if no short lines make this very scenario."""
    lines = list(changes(Scenario().model_dump(mode="json"), scenario.model_dump(mode="json")))
    try:
        again = scenario_from_file(Path(), [*lines, f"days = {scenario.days}"])
    except ScenarioError:
        return None
    return lines if again == scenario and max(map(len, lines), default=0) <= LONGEST_LINE else None


def changes(base: Mapping[str, Any], values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """A line for each value that differs, as deep as it differs."""
    for name, value in values.items():
        if base.get(name) == value or (not path and name == "days"):
            continue
        if name not in WHOLE and isinstance(value, Mapping) and isinstance(base.get(name), Mapping):
            yield from changes(base[name], value, f"{path}{name}.")
        else:
            yield f"{path}{name} = {toml(value)}"


def toml(value: Any) -> str:
    """A value as TOML writes it on one line; it has no word for nothing, so what is nothing is left out of a table."""
    if isinstance(value, Mapping):
        pairs = [f"{json.dumps(name)} = {toml(each)}" for name, each in value.items() if each is not None]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
