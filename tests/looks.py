"""Looks at a run, as the endpoints of its page hand them to a tab."""

from __future__ import annotations

from django.http import QueryDict

from dashboards.tabs.look import Look
from marketplace.models import Firm
from simulation.models import Run


def look(run: Run, query: str = "", day: int | None = None, knower: str = "", after: int = -1) -> Look:
    """A look at a run: live, or at a day; as it was, or as the firm that is named knew it."""
    firms = list(Firm.objects.filter(run=run).order_by("pk"))
    known = next((firm for firm in firms if firm.name == knower), None)
    until = run.day if day is None else day
    return Look(run, firms, until, after, known, QueryDict(query), is_live=day is None)
