"""A run's page and the parts that it fetches later."""

from __future__ import annotations

from typing import Any, Final

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.books import days_table, evenings_of, last_event, sheet_of, shown_firms
from dashboards.colours import style_of
from dashboards.figures import MEASURES
from dashboards.forms import PACES
from dashboards.sheets import csv_response
from dashboards.snapshot import firms_of, snapshot_of
from dashboards.tape import GROUPS, LINES_PER_PAGE, Filter, Line, lines_of, rows_before
from marketplace.models import Firm
from simulation.models import Run

BUTTONS: Final = (("start", "Start"), ("pause", "Pause"), ("resume", "Resume"))


@require_safe
@staff_only
def run_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """The page, as the run stands now; its script goes on from there."""
    snapshot = snapshot_of(get_object_or_404(Run, pk=run_id))
    context = {
        "snapshot": snapshot,
        "state": snapshot.state,
        "measures": MEASURES,
        "groups": GROUPS,
        "buttons": BUTTONS,
        "paces": paces_for(snapshot.run.pace_seconds),
        **tape_context(snapshot.run, snapshot.lines, snapshot.run.events),
    }
    return render(request, "dashboards/run.html", context)


@require_safe
@staff_only
def tape(request: HttpRequest, run_id: int) -> HttpResponse:
    """Lines before a number that match a filter, newest first; without a number the newest of all."""
    run = get_object_or_404(Run, pk=run_id)
    firms = firms_of(run)
    before = whole_number(request.GET.get("before", "")) or run.events + 1
    only = Filter(group_asked(request.GET.get("group", "")), firm_asked(request.GET.get("firm", ""), firms))
    lines = lines_of(rows_before(run.pk, before, only), {firm.pk: firm.name for firm in firms})
    return render(request, "dashboards/_tape_lines.html", tape_context(run, lines, before - 1))


def paces_for(current: float) -> list[tuple[float, str]]:
    """The paces to choose from, and the run's own if it is another."""
    paces = [(float(seconds), title) for seconds, title in PACES]
    return paces if current in dict(paces) else [*paces, (current, f"{current:g} seconds a day")]


def tape_context(run: Run, lines: list[Line], upto: int) -> dict[str, Any]:
    """What the template of a stretch of the tape needs: it is complete up to a number, and may go on before another."""
    return {
        "run": run,
        "lines": [(line, style_of(line.firm), style_of(line.other)) for line in lines],
        "upto": upto,
        "earlier": lines[-1].number if len(lines) == LINES_PER_PAGE else 0,
    }


def whole_number(text: str) -> int:
    """A number from an address, 0 for none."""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadRequest("before is not a number of at most nine digits")
    return int(text)


def group_asked(name: str) -> str:
    """The name of a group of events."""
    if name and name not in GROUPS:
        raise BadRequest(f"group is none of {', '.join(GROUPS)}")
    return name


def firm_asked(name: str, firms: list[Firm]) -> int:
    """The key of the firm with a name, 0 for none asked."""
    if not name:
        return 0
    for firm in firms:
        if firm.name == name:
            return firm.pk
    raise BadRequest("no firm of this run has that name")


@require_safe
@staff_only
def days(request: HttpRequest, run_id: int, measure: str) -> HttpResponse:
    """The table behind a chart."""
    if measure not in MEASURES:
        raise Http404
    run = get_object_or_404(Run, pk=run_id)
    firms = shown_firms(firms_of(run), run.evaluated)
    names = [firm.name for firm in firms]
    table = days_table(evenings_of(run, firms, last_event(run)), names, MEASURES[measure].column)
    return render(request, "dashboards/_days.html", {"names": names, "table": table, "measure": MEASURES[measure]})


@require_safe
@staff_only
def days_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """The books of every firm at each day's end, for a spreadsheet."""
    run = get_object_or_404(Run, pk=run_id)
    rows = sheet_of(evenings_of(run, firms_of(run), last_event(run)))
    return csv_response(rows, f"coffeebench-run-{run.pk}-days.csv")
