"""How a row of a run is keyed, and what every table of a run's rows has in common.

The engine numbers what it makes within its run: L1, O1, D1. A row's key is its run's id and that number in one integer,
run × 10⁹ + number. So a key is known before the row is written, a replay gives the same keys, links need no look-up,
and all rows of a run lie next to each other in their table.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import models

KEYS_PER_RUN: Final = 1_000_000_000


def key_of(run_id: int, number: int) -> int:
    """The primary key of a run's row with that number."""
    return run_id * KEYS_PER_RUN + number


def number_of(key: int) -> int:
    """The number within its run of the row with that key."""
    return key % KEYS_PER_RUN


def in_run(run_id: int) -> dict[str, Any]:
    """The filter for all rows of a run, by the range of their keys: needs no index but the primary one."""
    return {"pk__gte": key_of(run_id, 0), "pk__lt": key_of(run_id + 1, 0)}


class RunRow(models.Model):
    """A row the engine owns: written by the runner alone, rebuilt by replay, never edited by hand."""

    prefix = ""

    # Of the automatic kind only because SQLite then keeps the table in its order, with no index beside it.
    id = models.BigAutoField(primary_key=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.label} of run {self.run_number}"

    @property
    def number(self) -> int:
        """Its ordinal within the run."""
        return number_of(self.pk)

    @property
    def run_number(self) -> int:
        """The id of its run."""
        return self.pk // KEYS_PER_RUN

    @property
    def label(self) -> str:
        """Its name within the run, as players see it: L12."""
        return f"{self.prefix}{self.number}"


def link(to: str, related_name: str = "+", *, null: bool = False, index: bool = False) -> Any:
    """A foreign key between rows of one run.

    One writer writes both ends in one transaction and `verify_run` checks them, so the database is spared the checking
    and every index that no page asks for.
    """
    return models.ForeignKey(
        to,
        on_delete=models.CASCADE,
        related_name=related_name,
        null=null,
        blank=null,
        db_index=index,
        db_constraint=False,
    )


def run_link() -> Any:
    """The run a row belongs to; indexed through the tables' own indexes, which begin with it."""
    return models.ForeignKey(
        "simulation.Run", on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
