"""A run's page and the parts that it fetches later."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.asked import choice_asked, firm_asked, number_in
from dashboards.books import evenings_of, last_event, sheet_of
from dashboards.cards_seen import cards_seen
from dashboards.colours import style_of
from dashboards.figures import Figure
from dashboards.forms import PACES
from dashboards.sheets import csv_response
from dashboards.snapshot import Snapshot, firms_of, snapshot_of
from dashboards.tabs import TABS, overview
from dashboards.tabs.look import Look
from dashboards.tabs.overview_figures import figures_of
from dashboards.tabs.parts import modules, tab_parts
from dashboards.tabs_views import fragment_context, look_at, look_of
from dashboards.tape import (
    GROUPS,
    LINES_PER_PAGE,
    PUBLIC_KINDS,
    TOLD_BODIES,
    Filter,
    Line,
    lines_of,
    rows_before,
    told_to,
)
from marketplace.rows import in_run, number_of
from simulation.models import Event, Run

SPEEDS: Final = (1, 2, 5, 10, 20)
BUTTONS: Final = (("start", "Start"), ("pause", "Pause"), ("resume", "Resume"), ("step", "Step a day"))


@require_safe
@staff_only
def run_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """The page, as the run stands now and as its address asks to look at it; its script goes on from there."""
    snapshot = snapshot_of(get_object_or_404(Run, pk=run_id))
    look = look_at(snapshot.run, snapshot.firms, request.GET)
    tab = TABS.get(request.GET.get("tab", ""), next(iter(TABS.values())))
    parts = [part._asdict() for part in tab_parts()]
    lines = snapshot.lines if look.is_live and not look.knower else lines_seen(look, look.run.events + 1)
    context = {
        "snapshot": snapshot,
        "cards": cards_seen(snapshot, look, lines),
        "for_script": {**snapshot.for_script, "tabs": parts, "publicKinds": PUBLIC_KINDS, "toldBodies": TOLD_BODIES},
        "state": snapshot.state,
        "groups": GROUPS,
        "buttons": BUTTONS,
        "speeds": SPEEDS,
        "paces": paces_for(snapshot.run.pace_seconds),
        "tabs": tab_parts(),
        "modules": modules(),
        **tape_context(snapshot.run, lines, snapshot.run.events),
        **fragment_context(tab, look),
    }
    if tab is overview.TAB:
        context["for_script"]["figures"] = overview_in(snapshot, look)
    elif request.GET.keys() <= {"tab", "day"}:
        context["figures_address"] = reverse("dashboards:tab_figures", args=[run_id, tab.name])
    return render(request, "dashboards/run.html", context)


def overview_in(snapshot: Snapshot, look: Look) -> dict[str, Figure]:
    """The charts of the first tab, which need nothing but what the page has read already."""
    firms = [card.firm for card in snapshot.cards] if look.knower is None else [look.knower]
    return figures_of(snapshot.run, firms, snapshot.evenings)


@require_safe
@staff_only
def tape(request: HttpRequest, run_id: int) -> HttpResponse:
    """Lines before a number, or up to the evening of a day, that match a filter, newest first; else the newest."""
    run = get_object_or_404(Run, pk=run_id)
    firms = firms_of(run)
    look = look_at(run, firms, request.GET)
    before = number_in(request.GET, "before") or end_of(look)
    firm = firm_asked(request.GET.get("firm", ""), firms)
    lines = lines_seen(look, before, choice_asked(request.GET, "group", GROUPS), firm.pk if firm else 0)
    context = {"look": look, **tape_context(run, lines, before - 1)}
    return render(request, "dashboards/_tape_lines.html", context)


def lines_seen(look: Look, before: int, group: str = "", firm_key: int = 0) -> list[Line]:
    """The newest lines before a number, up to the day that is shown, as they were or as a firm was told them."""
    told = told_to(look.knower, look.until)
    if not look.is_live:
        told &= Q(day__lte=look.until)
    rows = rows_before(look.run.pk, before, Filter(group, firm_key, told))
    return lines_of(rows, look.names, look.knower)


def end_of(look: Look) -> int:
    """The number of the first event after what a look shows. One query at most."""
    if look.is_live:
        return look.run.events + 1
    later = Event.objects.filter(**in_run(look.run.pk), day__gt=look.until).order_by("pk")
    key = later.values_list("pk", flat=True).first()
    return number_of(key) if key else look.run.events + 1


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


@require_safe
@staff_only
def days_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """The books at each day's end up to the one that is shown: of every firm, or of the one as which one looks."""
    look = look_of(run_id, request.GET)
    firms = [look.knower] if look.knower else look.firms
    evenings = evenings_of(look.run, firms, last_event(look.run))
    rows = sheet_of(evening for evening in evenings if look.is_live or evening.day <= look.until)
    return csv_response(rows, f"coffeebench-run-{run_id}-days.csv")
