"""The waiting room: how many are there, and the sign of life of every page of a participant outside the game."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboards.study.access import with_participant
from simulation.seats.clocks import GONE_AFTER
from simulation.studies import verbs
from simulation.studies.models import Participant, Study


@require_POST
@with_participant
def here(request: HttpRequest, participant: Participant, token: str) -> HttpResponse:
    """The page is open. Answers with the stage, so that the page goes where its participant went, and the counts."""
    return JsonResponse(stands(verbs.arrive(participant)))


def stands(participant: Participant) -> dict[str, Any]:
    """The participant's stage, and their table in numbers."""
    return {"stage": participant.stage, "room": room_of(participant)}


def room_of(participant: Participant) -> dict[str, Any]:
    """The participant's table in numbers alone: who the others are is nobody's business here."""
    table, study = participant.table, participant.study
    others = list(table.participants.exclude(pk=participant.pk)) if table else []
    return {
        "places": len(study.persons),
        "taken": len(others) + bool(table),
        "here": sum(is_here(one) for one in others) + 1,
        "by_researcher": study.start == Study.Start.RESEARCHER,
    }


def is_here(participant: Participant) -> bool:
    """Whether a participant's page outside the game has lately given a sign of life."""
    return participant.last_seen_at is not None and timezone.now() - participant.last_seen_at <= GONE_AFTER
