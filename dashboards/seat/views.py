"""The pages of a seat. Opening one changes nothing; what changes something is a POST, and one verb."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST, require_safe

from dashboards.seat import desk, ending
from dashboards.seat.access import at_the_desk, firm_title, with_seat
from dashboards.seat.away import away_text
from dashboards.seat.forms import ARGUMENT, Filled, read_form
from dashboards.seat.rules import rules_of
from simulation.engine.decision import Decision
from simulation.models import Seat
from simulation.seats import clocks, door, pausing, verbs
from simulation.seats import comparison as compare

LONGEST_NUMBER = 9


@require_safe
@with_seat
@ensure_csrf_cookie
def seat_page(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """The welcome page until somebody has taken the seat, then the console, and after the last day how it ended."""
    context = {"token": token, "title": firm_title(seat.firm.name)}
    if seat.is_over:
        return render(request, "seat/ending.html", {**context, **ending.ending_of(seat)})
    if seat.taken_at is None:
        away = away_text(seat.absence, seat.absence_minutes)
        return render(request, "seat/welcome.html", {**context, "state": door.state(seat), "away": away})
    on_desk = desk.desk_of(seat)
    more = {"rules": rules_of(seat), "notes": seat.notes, "start": _told(on_desk)}
    return render(request, "seat/console.html", {**context, **on_desk, **more})


@require_POST
@with_seat
def take(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """Somebody sits down. Only this button does it: the preview of a link in a chat must not."""
    verbs.take(seat)
    return HttpResponseRedirect(reverse("dashboards:seat:page", args=[token]))


@require_GET
@with_seat
@ensure_csrf_cookie
def briefing(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """The briefing as a page of its own, to be printed or kept open."""
    context = {"token": token, "title": firm_title(seat.firm.name), "rules": rules_of(seat)}
    return render(request, "seat/briefing.html", context)


@require_GET
@with_seat
def state(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """Where the seat stands, for a page whose socket is lost."""
    return JsonResponse(desk.stamped(desk.page_state(seat)))


@require_GET
@with_seat
def parts(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """The parts of the console that change, as they are now."""
    on_desk = desk.desk_of(seat)
    context = {**on_desk, "token": token}
    pieces = {name: render_to_string(f"seat/_{name}.html", context, request) for name in ("know", "did", "queue")}
    return JsonResponse({**_told(on_desk), "pieces": pieces})


def _told(on_desk: dict[str, Any]) -> dict[str, Any]:
    """What the page's script is told beside the parts."""
    return {
        "state": desk.stamped(on_desk["state"]),
        "known": on_desk["known"],
        "last": on_desk["last"],
        "cash": on_desk["cash"],
        "woken_by": on_desk["woken_by"],
        "age": on_desk["seen"]["age"] if on_desk["seen"] else "",
    }


@require_GET
@with_seat
def day(request: HttpRequest, seat: Seat, token: str, day: int) -> HttpResponse:
    """What the firm did on an earlier day."""
    turns = door.history(seat, day=day, limit=100)
    done = [desk.done_of(turn, seat.firm.name) for turn in turns]
    return render(request, "seat/_calls.html", {"done": done, "is_past": True})


@require_POST
@at_the_desk
def act(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """One action for the turn whose number comes with it. The same once more is answered as the first time.

    What is wrong with a form, or why it came too late, is an answer like any other: the page shows it and keeps the
    form. Nothing was done then.
    """
    number = _number(request.POST.get("turn", ""))
    filled = _filled(request, seat)
    if filled.problems:
        return JsonResponse({"problems": filled.problems})
    try:
        receipt = verbs.answer(seat, number, _decision(request, filled))
    except verbs.SeatError as error:
        return JsonResponse({"error": str(error), "state": desk.stamped(desk.page_state(seat))})
    return JsonResponse({"is_taken": True, **receipt._asdict(), "now": timezone.now().isoformat()})


@require_POST
@at_the_desk
def queue(request: HttpRequest, seat: Seat, token: str, change: str) -> HttpResponse:
    """Changes the actions to come: add, remove, sooner, start, stop."""
    try:
        if change == "add":
            filled = _filled(request, seat)
            if filled.problems:
                return JsonResponse({"problems": filled.problems})
            verbs.change_queue(seat, lambda actions: [*actions, _decision(request, filled)._asdict()])
        elif change in ("remove", "sooner"):
            place, tool = _number(request.POST.get("from_end", "")), request.POST.get("tool", "")
            verbs.change_queue(seat, lambda actions: _moved(actions, place, tool, is_removed=change == "remove"))
        elif change == "start":
            verbs.go_on_with_queue(seat)
        elif change == "stop":
            verbs.stop_queue(seat)
        else:
            raise Http404
    except verbs.SeatError as error:
        return JsonResponse({"error": str(error)})
    return JsonResponse({"state": desk.stamped(desk.page_state(seat))})


def _moved(actions: list[dict[str, Any]], from_end: int, tool: str, *, is_removed: bool) -> list[dict[str, Any]]:
    """The actions without one of them, or with it one place sooner. Its place is counted from the end, which stays."""
    place = len(actions) - from_end
    if not 0 <= place < len(actions) or actions[place]["tool"] != tool:
        raise verbs.SeatError("The queue has moved on meanwhile; nothing was changed.")
    action = actions.pop(place)
    if not is_removed:
        actions.insert(max(0, place - 1), action)
    return actions


@require_POST
@at_the_desk
def notes(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """Keeps the person's notes."""
    try:
        verbs.write_notes(seat, request.POST.get("notes", "").replace("\r\n", "\n"))
    except verbs.SeatError as error:
        return JsonResponse({"error": str(error)})
    return JsonResponse({"is_saved": True})


@require_POST
@at_the_desk
def beat(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """A sign of life from a page whose socket is lost."""
    give_sign(seat, is_active=request.POST.get("active") == "true")
    return JsonResponse({})


def give_sign(seat: Seat, *, is_active: bool) -> None:
    """Tells the clocks that the page is there, and whether its person did something since the last sign."""
    clocks.beat(seat, timezone.now(), is_active=is_active)


@require_POST
@at_the_desk
def pause(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """The person stops their own clock, with `is_on`, or lets it go on; where that is not theirs to do, it says why."""
    try:
        (pausing.pause if request.POST.get("is_on") == "true" else pausing.go_on)(seat)
    except verbs.SeatError as error:
        return JsonResponse({"error": str(error)})
    seat.run.refresh_from_db()
    return JsonResponse({"state": desk.stamped(desk.page_state(seat))})


@require_POST
@at_the_desk
def back(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """The person is back from an absence that had somebody stand in."""
    with suppress(verbs.SeatError):
        verbs.take_back(seat)
    return HttpResponseRedirect(reverse("dashboards:seat:page", args=[token]))


@require_GET
@with_seat
def comparison(request: HttpRequest, seat: Seat, token: str) -> HttpResponse:
    """How the scripts would have done in this seat, once the run is over; playing them takes a moment."""
    if not seat.is_over:
        raise Http404
    try:
        context = ending.comparison_of(seat, compare.scripts_in_the_seat(seat))
    except compare.NotCompared as error:
        context = {"why_not": str(error)}
    return render(request, "seat/_comparison.html", context)


def _filled(request: HttpRequest, seat: Seat) -> Filled:
    """The form that was sent, read and checked; a tool that the firm does not have is a problem of the whole form."""
    tool = request.POST.get("tool", "")
    form = rules_of(seat).forms.get(tool)
    if form is None:
        return Filled({}, {"tool": "There is no such action."})
    posted = {name: value for name, value in request.POST.items() if name.startswith(ARGUMENT)}
    filled = read_form(form, seat.firm.role, {name: str(value) for name, value in posted.items()})
    if seat.wants_rationale and not request.POST.get("rationale", "").strip():
        filled.problems["rationale"] = "This study asks for a reason for every action."
    return filled


def _decision(request: HttpRequest, filled: Filled) -> Decision:
    return Decision(request.POST["tool"], filled.arguments, request.POST.get("rationale", "").strip())


def _number(text: str) -> int:
    """A turn's number or a place in the queue; of nonsense 0, which is neither."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else 0
