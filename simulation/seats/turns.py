"""The turns put to a seat's firm, found by the range of its run's keys: their table has no other index."""

from __future__ import annotations

from django.db.models import QuerySet

from marketplace.rows import KEYS_PER_RUN, in_run
from simulation.models import Ask


def asks_of(firm_id: int) -> QuerySet[Ask]:
    """Every turn that was put to a firm. A search by the firm alone would read the whole table of all runs."""
    return Ask.objects.filter(firm_id=firm_id, **in_run(firm_id // KEYS_PER_RUN))
