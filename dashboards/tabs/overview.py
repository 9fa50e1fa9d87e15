"""The tab Overview of a run's page: how the firms' books went, day by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboards.books import evenings_of, last_event, shown_firms, since_day
from dashboards.figures import MEASURES, Figure
from dashboards.tabs.look import Look, Tab
from dashboards.tabs.overview_figures import figures_of
from marketplace.models import Firm


def context(look: Look) -> dict[str, Any]:
    """The names of the charts."""
    return {"measures": MEASURES}


def figures(look: Look) -> dict[str, Figure]:
    """A chart for each measure of the books; a firm knows only its own. Two queries."""
    firms = known_firms(look)
    evenings = evenings_of(look.run, firms, last_event(look.run))
    return figures_of(look.run, firms, since_day(evenings, look.after))


def known_firms(look: Look) -> Sequence[Firm]:
    """The firms whose books are seen."""
    return [look.knower] if look.knower else shown_firms(look.firms, look.run.evaluated)


TAB = Tab("overview", "Overview", context, figures)
