"""One look at a run: up to which day, and through whose eyes. All that a tab of the run's page is given.

A tab's template is a fragment that the page's script puts in place, and after that keeps up to date:

    <div class="figure" data-figure="b2b_prices">      the place of a chart; `wide` as a second class: all columns wide.
                                                       `data-from="12"`: its sums begin on day 12; `data-whole`: it
                                                       is not cut at the day that is shown. `style="--height: 420px"`.
    <form data-asks>, <a data-asks href="…">           its fields, or the address's parameters, become the page's own;
                                                       fragment and figures are fetched again. Make the address with
                                                       {% asks before=120 %} of the library `asks`.
    <tbody data-live="rows" id="deals">                while the run is watched live, rows (children with `data-key`)
                                                       that are new are put on top, or wait there: "12 new"
    <div data-live="replace" id="totals">              … its content is replaced
    data-alarms="3"                                    anywhere: a count beside the tab's name

Whatever has an `id` keeps its focus, its place of scrolling and whether it is open when another day is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Q
from django.http import QueryDict

from dashboards.figures import Figure
from marketplace.models import Firm
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Run


@dataclass(frozen=True)
class Look:
    """What is asked of a tab.

    `until` is the last day that tables show. Figures hold every day after `after` (−1: all of them) and the page cuts
    them itself. `knower` is the firm as which the run is seen, None for how it was; a tab then shows that firm's own
    rows and what is public (RULES.md section 11). `asked` holds the tab's own parameters, unchecked. `is_live` says
    that no day was asked for: tables show the run as it stands now.
    """

    run: Run
    firms: Sequence[Firm]
    until: int
    after: int
    knower: Firm | None
    asked: QueryDict
    is_live: bool = True

    @cached_property
    def names(self) -> dict[int, str]:
        """Every firm of the run by its key, in seating order."""
        return {firm.pk: firm.name for firm in self.firms}

    @property
    def end_minute(self) -> int:
        """The first minute after the last day that tables show."""
        return (self.until + 1) * MINUTES_PER_DAY

    def of_knower(self, *fields: str) -> Q:
        """Only rows that name the firm as which the run is seen in one of these fields; all rows for how it was."""
        condition = Q()
        if self.knower is not None:
            for field in fields:
                condition |= Q(**{field: self.knower.pk})
        return condition


class Tab(NamedTuple):
    """A tab of the run's page: what its template `dashboards/tabs/<name>.html` needs, and its figures by name.

    A trace of a figure names itself in `meta.key`, the same in every answer, so that the page can append to it, and
    either gives the day of each of its points in `meta.days` (every array of that length in the trace is then cut and
    extended with it; "x" stands for the trace's own x); or, where it sums over days, its increments in `meta.sums` as
    `[day, index, value]`, and in `meta.into` the array they are added up in (`link.value`, `x`, `y`, or `z` with
    `meta.columns` columns). A trace with neither, or with `meta.whole`, is drawn as it is, whichever day is shown.
    `meta.reference` makes a line thin and grey; it is no data that fills an empty chart.

    Colours of the two themes are in `meta.light` and `meta.dark`: one colour for line and marker, or a list of one for
    each point's marker, or an object from places in the trace to what stands there ({"node.color": […]}).
    `layout.meta.axis` is "days" where x is days (`figures.layout` says so): such charts share a hover line.
    `layout.meta.labels` writes a name at each line's end, `meta.label` or else the trace's name.
    The table and the CSV behind a figure are made of the same: `meta.labels` names the index of a sum, [label, …], and
    `meta.titles` those columns (or those of customdata), `meta.value` the amounts of a sum or a heat map's cell;
    `layout.xaxis.title.text` and `yaxis.title.text` head the others, and `layout.meta.unit` follows the name of a line.
    """

    name: str
    title: str
    context: Callable[[Look], dict[str, Any]]
    figures: Callable[[Look], dict[str, Figure]]
