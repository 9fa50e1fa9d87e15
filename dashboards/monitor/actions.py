"""What a researcher does at a seat: each a POST that calls one verb of `simulation.seats`, or of the study it is in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from dashboards.access import staff_only
from dashboards.monitor.seen import participant_of
from simulation.models import Seat
from simulation.seats import verbs
from simulation.studies import verbs as study_verbs

Deed = Callable[[Seat, QueryDict], str]


@require_POST
@staff_only
def verb(request: HttpRequest, run_id: int, seat_id: int, verb: str) -> HttpResponse:
    """Does it, and says what was done, or why not. A page without scripts gets the seats' page instead."""
    seats = Seat.objects.select_related("run", "firm", "participant", "practice_participant")
    seat = get_object_or_404(seats, pk=seat_id, run_id=run_id)
    if verb not in DEEDS:
        raise Http404
    is_part = request.headers.get("HX-Request") == "true"
    try:
        words = DEEDS[verb](seat, request.POST)
    except (verbs.SeatError, study_verbs.StudyError) as refusal:
        if is_part:
            return HttpResponse(str(refusal), status=409, content_type="text/plain; charset=utf-8")
        messages.error(request, str(refusal))
    else:
        if is_part:
            return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"monitor-done": {"words": words}})})
        messages.success(request, words)
    return redirect("dashboards:monitor:seats", run_id)


def nudge(seat: Seat, sent: QueryDict) -> str:
    """Shows a line at the seat."""
    text = sent.get("text", "").strip()
    if not text:
        raise verbs.SeatError("Write what the seat is to be told.")
    verbs.nudge(seat, text)
    return f"{who(seat)} is told: {seat.nudge}"


def extend(seat: Seat, sent: QueryDict) -> str:
    """Gives time."""
    minutes = minutes_in(sent, "minutes")
    verbs.extend(seat, minutes)
    return f"The rule for absence rests for {minutes} min at the seat of {who(seat)}."


def hand_over(seat: Seat, sent: QueryDict) -> str:
    """Lets a script or a model play."""
    verbs.hand_over(seat, sent.get("driver", "")[:20])
    return f"A {seat.driver} plays for {who(seat)} until the seat is handed back."


def hand_back(seat: Seat, sent: QueryDict) -> str:
    """Gives the seat back."""
    verbs.hand_back(seat)
    return f"{who(seat)} plays again."


def revoke(seat: Seat, sent: QueryDict) -> str:
    """Makes the link void; of a participant, that of their study too."""
    participant = participant_of(seat)
    if participant:
        study_verbs.revoke(participant)
    else:
        verbs.revoke(seat)
    return f"The link of {who(seat)} is void."


def reissue(seat: Seat, sent: QueryDict) -> str:
    """Makes a new link; of a participant, that of their study too."""
    participant = participant_of(seat)
    if participant:
        study_verbs.reissue(participant)
    else:
        verbs.reissue(seat)
    return f"{who(seat)} has a new link; every old one is void."


def set_rules(seat: Seat, sent: QueryDict) -> str:
    """Declares the rule for absence, whether reasons are wanted, and what the player is called.

    In a study the label is the participant's, and stays.
    """
    verbs.set_rules(
        seat,
        absence=sent.get("absence", "")[:20],
        absence_minutes=minutes_in(sent, "absence_minutes"),
        wants_rationale=sent.get("wants_rationale") == "on",
        label=seat.label if participant_of(seat) else sent.get("label", "").strip(),
    )
    return f"The rules at the seat of {who(seat)} are changed."


def minutes_in(sent: QueryDict, name: str) -> int:
    """A number of minutes as it was typed."""
    typed = sent.get(name, "").strip()
    if not (typed.isascii() and typed.isdigit() and len(typed) <= 6):
        raise verbs.SeatError("Whole minutes, please, as 10.")
    return int(typed)


def who(seat: Seat) -> str:
    """Whose seat it is, in words for the researcher."""
    return f"{seat.label} ({seat.firm.name})" if seat.label else str(seat.firm.name)


DEEDS: Final[dict[str, Deed]] = {
    "nudge": nudge,
    "extend": extend,
    "hand-over": hand_over,
    "hand-back": hand_back,
    "revoke": revoke,
    "reissue": reissue,
    "rules": set_rules,
}
