"""What a person may do to a run from its page: each a POST that calls one verb of `simulation.control`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboards.access import staff_only
from dashboards.forms import PACES
from dashboards.live import live_state_of
from simulation import control
from simulation.models import Run

VERBS: Final[dict[str, Callable[[int], Run]]] = {
    "start": control.start_run,
    "pause": control.pause_run,
    "resume": control.resume_run,
    "step": control.step_day,
    "cancel": control.cancel_run,
}


@require_POST
@staff_only
def verb(request: HttpRequest, run_id: int, verb: str) -> HttpResponse:
    """Start, pause, resume, step or cancel a run."""
    if verb not in VERBS:
        raise Http404
    return answer(request, run_id, VERBS[verb])


@require_POST
@staff_only
def pace(request: HttpRequest, run_id: int) -> HttpResponse:
    """Change how fast a run's days pass."""
    wanted = request.POST.get("pace", "")
    if wanted not in dict(PACES):
        raise BadRequest(f"pace is none of {', '.join(dict(PACES))}")
    return answer(request, run_id, lambda run_id: control.set_pace(run_id, float(wanted)))


def answer(request: HttpRequest, run_id: int, deed: Callable[[int], Run]) -> HttpResponse:
    """Do it, and tell the page how the run stands now, or why not.

    A page without scripts gets the whole page again instead.
    """
    try:
        run = deed(run_id)
    except Run.DoesNotExist:
        raise Http404 from None
    except control.NotPossible as refusal:
        return refused(request, run_id, str(refusal))
    if not request.headers.get("HX-Request"):
        return redirect("dashboards:run", run_id)
    return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"run-state": live_state_of(run)})})


def refused(request: HttpRequest, run_id: int, reason: str) -> HttpResponse:
    """Say why not."""
    if request.headers.get("HX-Request"):
        return HttpResponse(reason, status=409, content_type="text/plain; charset=utf-8")
    messages.error(request, reason)
    return redirect("dashboards:run", run_id)
