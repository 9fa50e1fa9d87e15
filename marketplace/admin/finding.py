"""What a reader types to find a row: L12, 7:L12, run 7 L12, turn 40, 12, or a key in full."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from marketplace.rows import KEYS_PER_RUN, RunRow, number_of

LARGEST_KEY: Final = 2**63 - 1
LARGEST_RUN: Final = LARGEST_KEY // KEYS_PER_RUN - 1
"""The last run whose keys, and those of the run after it, fit a column of 64 bits."""

LABEL = re.compile(r"(?:(?:run\s*)?(?P<run>\d{1,10})\s*[:\s]\s*)?(?P<prefix>[a-z]+)\s*(?P<number>\d{1,9})", re.A | re.I)
RUN = re.compile(r"run\s*(\d{1,10})", re.A | re.I)
DIGITS = re.compile(r"\d{1,19}", re.A)


class Label(NamedTuple):
    """A row as it was named: `run_id` is None where only its ordinal within a run was given."""

    model: type[RunRow]
    number: int
    run_id: int | None

    @property
    def name(self) -> str:
        """Its name within the run."""
        return f"{self.model.prefix}{self.number}"


@cache
def models_by_prefix() -> dict[str, type[RunRow]]:
    """Every kind of row that has labels, by what its labels begin with."""
    return {model.prefix.strip().lower(): model for model in RunRow.__subclasses__() if model.prefix}


def read_label(text: str) -> Label | None:
    """The row that a text names by its label; None where it is none."""
    found = LABEL.fullmatch(text.strip()) if len(text) < 50 else None
    model = models_by_prefix().get(found["prefix"].lower()) if found else None
    if found is None or model is None:
        return None
    run_id = int(found["run"]) if found["run"] else None
    return None if run_id and run_id > LARGEST_RUN else Label(model, int(found["number"]), run_id or None)


def read_run(text: str) -> int | None:
    """The run that "run 7" names; None where the text is something else."""
    found = RUN.fullmatch(text.strip())
    run_id = int(found[1]) if found else 0
    return run_id if 1 <= run_id <= LARGEST_RUN else None


def read_number(text: str, model: type[RunRow]) -> Label | None:
    """A bare number as a row of that kind: a key in full when it is large enough to hold a run, else an ordinal."""
    text = text.strip()
    number = int(text) if DIGITS.fullmatch(text) else None
    if number is None or number // KEYS_PER_RUN > LARGEST_RUN:
        return None
    return Label(model, number_of(number), number // KEYS_PER_RUN or None)
