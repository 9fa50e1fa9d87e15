"""Wall time on the monitor's pages, and the strip of seats on the page of a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template

from dashboards.monitor.pages import seats_context
from simulation.models import Run
from simulation.seats.seating import has_seats

register = template.Library()


@register.filter
def span(seconds: float) -> str:
    """A stretch of wall time to the second: 2:05, 1:02:05, 2 d 04:10."""
    minutes, rest = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@register.filter
def after(moment: datetime, earlier: datetime) -> str:
    """How long after a moment another is: 2:05."""
    return span((moment - earlier).total_seconds())


@register.inclusion_tag("monitor/_on_run.html", takes_context=True)
def seats_strip(context: dict[str, Any], run: Run) -> dict[str, Any]:
    """Who sits at a run's table, and the links that are still to be given out. No query where nobody sits."""
    if not has_seats(run):
        return {}
    return seats_context(context["request"], run)
