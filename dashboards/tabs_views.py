"""The parts of the run's page that its script fetches: a tab's tables, its figures, and the numbers behind a figure."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.alarms import alarms_on
from dashboards.asked import firm_asked, number_asked, number_in
from dashboards.figure_rows import rows_behind
from dashboards.figures import Figure
from dashboards.kept_answers import KeptAnswers
from dashboards.sheets import csv_response
from dashboards.snapshot import firms_of
from dashboards.tabs import TABS, behaviour
from dashboards.tabs.alarms_of_play import alarms_of
from dashboards.tabs.behaviour_rows import Rows, firms_looked_at
from dashboards.tabs.look import Look, Tab
from dashboards.words import number_text, sendable
from marketplace.models import Firm
from simulation.models import Run

ALL_DAYS: Final = -1
MOST_ROWS_SHOWN: Final = 1000

kept_answers: Final = KeptAnswers()


@require_safe
@staff_only
def fragment(request: HttpRequest, run_id: int, tab: str) -> HttpResponse:
    """A tab's tables as they stood on a day, and the places of its charts."""
    wanted = tab_asked(tab)
    look = look_of(run_id, request.GET)
    return render(request, f"dashboards/tabs/{wanted.name}.html", fragment_context(wanted, look))


@require_safe
@staff_only
def figures_json(request: HttpRequest, run_id: int, tab: str) -> HttpResponse:
    """A tab's figures: the days after a number, or all."""
    wanted, look = tab_asked(tab), look_of(run_id, request.GET)
    key = (wanted.name, *standing_of(look.run), request.GET.urlencode())
    text = kept_answers.get(key, lambda: json.dumps(wanted.figures(look), separators=(",", ":")))
    return HttpResponse(text, content_type="application/json")


@require_safe
@staff_only
def alarms(request: HttpRequest, run_id: int) -> HttpResponse:
    """How many alarms the tab Behaviour has, and what the cards of a past day say, whichever tab is open.

    Pages that are told of the same evening, be they hundreds, share the answer of the first.
    """
    look = look_of(run_id, request.GET)
    run = look.run
    key = ("alarms", run.pk, run.created_at, run.status, run.day, request.GET.urlencode())
    text = kept_answers.get(key, lambda: json.dumps(alarms_at(look)))
    return HttpResponse(text, content_type="application/json")


def alarms_at(look: Look) -> dict[str, Any]:
    """The number of alarms, and the words of each card where the page cannot know them: those of now it has."""
    count = len(alarms_of(behaviour.play_of(look, Rows(look, look.until))))
    return {"count": count, "firms": {} if look.is_live else alarms_on(look.run, firms_looked_at(look), look.until)}


def standing_of(run: Run) -> tuple[Hashable, ...]:
    """Where a run stands: while this is the same, so is all that its tables hold."""
    return (run.pk, run.created_at, run.status, run.step, run.turns, run.events)


@require_safe
@staff_only
def figure_csv(request: HttpRequest, run_id: int, tab: str, figure: str) -> HttpResponse:
    """The numbers behind a figure, for a spreadsheet."""
    found, look = figure_asked(request, run_id, tab, figure)
    rows = rows_behind(found, number_in(request.GET, "from"), look.until)
    return csv_response(rows, f"coffeebench-run-{run_id}-{figure}-day-{look.until}.csv")


@require_safe
@staff_only
def figure_table(request: HttpRequest, run_id: int, tab: str, figure: str) -> HttpResponse:
    """The numbers behind a figure, as a table; of a long one the last rows."""
    found, look = figure_asked(request, run_id, tab, figure)
    headings, *rows = rows_behind(found, number_in(request.GET, "from"), look.until)
    context = {
        "title": found["layout"].get("title", {}).get("text", ""),
        "headings": headings,
        "rows": [[cell_of(value) for value in row] for row in rows[-MOST_ROWS_SHOWN:]],
        "left_out": max(0, len(rows) - MOST_ROWS_SHOWN),
    }
    return render(request, "dashboards/_numbers.html", context)


class Cell(NamedTuple):
    """A cell of a table as it is written."""

    text: str
    is_number: bool


def cell_of(value: Any) -> Cell:
    """A value as pages write it: counts and kg grouped, amounts to the cent, a dash for none."""
    if value is None:
        return Cell("–", is_number=True)
    if isinstance(value, float):
        return Cell(number_text(value, 2), is_number=True)
    if isinstance(value, int):
        return Cell(number_text(value), is_number=True)
    return Cell(sendable(str(value)), is_number=False)


def fragment_context(tab: Tab, look: Look) -> dict[str, Any]:
    """What a tab's template gets."""
    return {"look": look, "run": look.run, "tab": tab, **tab.context(look)}


def tab_asked(name: str) -> Tab:
    """The tab of a name."""
    if name not in TABS:
        raise Http404
    return TABS[name]


def figure_asked(request: HttpRequest, run_id: int, tab: str, name: str) -> tuple[Figure, Look]:
    """One figure of a tab, and the look at it."""
    look = look_of(run_id, request.GET)
    figures = tab_asked(tab).figures(look)
    if name not in figures:
        raise Http404
    return figures[name], look


def look_of(run_id: int, asked: QueryDict) -> Look:
    """The look at a run that an address asks for. Two queries."""
    run = get_object_or_404(Run, pk=run_id)
    return look_at(run, firms_of(run), asked)


def look_at(run: Run, firms: list[Firm], asked: QueryDict) -> Look:
    """The look that an address asks for: a day beyond the run's own is the run as it stands."""
    day = number_asked(asked, "day")
    after = number_asked(asked, "after")
    return Look(
        run=run,
        firms=firms,
        until=run.day if day is None else min(day, run.day),
        after=ALL_DAYS if after is None else after,
        knower=firm_asked(asked.get("as", ""), firms),
        asked=asked,
        is_live=day is None or day > run.day,
    )
