"""The pages of the monitor. Each is fetched whole once, and then its live part alone every few seconds."""

from __future__ import annotations

from typing import Any, Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.monitor.people import SORTS, counts_of, people_of
from dashboards.monitor.seen import Seen, seats_with_last_turn, seen_of
from dashboards.state import state_of
from simulation.models import Run, Seat
from simulation.studies.models import Study

PEOPLE_PER_PAGE: Final = 100


@require_safe
@staff_only
def run_seats(request: HttpRequest, run_id: int) -> HttpResponse:
    """The seats of a run; `part=live` asks for its live part alone, `part=strip` for that of the run's own page."""
    run = get_object_or_404(Run, pk=run_id)
    context = seats_context(request, run)
    part = {"live": "monitor/_seats.html", "strip": "monitor/_strip.html"}.get(request.GET.get("part", ""))
    return render(request, part or "monitor/run_seats.html", context)


@require_safe
@staff_only
def one_seat(request: HttpRequest, run_id: int, seat_id: int) -> HttpResponse:
    """One seat of a run; `part=live` asks for its live part alone."""
    run = get_object_or_404(Run, pk=run_id)
    get_object_or_404(Seat, pk=seat_id, run=run)
    context = {**seats_context(request, run, seat_id=seat_id), "is_one": True}
    is_part = request.GET.get("part") == "live"
    return render(request, "monitor/_seats.html" if is_part else "monitor/run_seats.html", context)


def seats_context(request: HttpRequest, run: Run, *, seat_id: int | None = None) -> dict[str, Any]:
    """What the seats of a run, or one of them, are shown by. The links are for staff alone."""
    now = timezone.now()
    seats = seats_with_last_turn().filter(run=run).order_by("pk")
    seen = seen_of(seats.filter(pk=seat_id) if seat_id else seats, now)
    return {
        "run": run,
        "state": state_of(run),
        "now": now,
        "seats": seen,
        "untaken": untaken(seen),
        "site": request.build_absolute_uri("/").rstrip("/"),
        "absences": Seat.Absence.choices,
    }


def untaken(seats: list[Seen]) -> list[Seen]:
    """The seats whose links somebody has yet to be given, or to open."""
    return [seen for seen in seats if seen.seat.taken_at is None and not seen.run.is_over and not seen.is_void]


@require_safe
@staff_only
def study_monitor(request: HttpRequest, study_id: int) -> HttpResponse:
    """All participants of a study; `part=live` asks for its live part alone."""
    study = get_object_or_404(Study, pk=study_id)
    now = timezone.now()
    people = people_of(study, now)
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else "stuck"
    context = {
        "study": study,
        "now": now,
        "counts": counts_of(people),
        "page": Paginator(sorted(people, key=SORTS[sort][1]), PEOPLE_PER_PAGE).get_page(request.GET.get("page")),
        "sort": sort,
        "sorts": [(name, words) for name, (words, _) in SORTS.items()],
    }
    is_part = request.GET.get("part") == "live"
    return render(request, "monitor/_people.html" if is_part else "monitor/study.html", context)
