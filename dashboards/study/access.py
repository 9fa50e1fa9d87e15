"""Who may open a participant's pages: whoever holds their link, while it is valid. No login, no address kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from simulation.seats.links import LinkError
from simulation.studies import links

GONE, NOT_FOUND = 410, 404

View = Callable[..., HttpResponseBase]


def with_participant(view: View) -> View:
    """Gives a view the participant whom the link in its address opens; of any other link it says why it opens none."""

    @never_cache
    @wraps(view)
    def opened(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponseBase:
        try:
            participant = links.participant_of(token)
        except LinkError as error:
            response: HttpResponseBase = refusal(request, error)
        else:
            response = view(request, participant, token=token, **kwargs)
        # The link is a key: no cache may hold what it opens, no other site and no index may be told of it.
        response.headers["Cache-Control"] = "no-store, private"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return opened


def refusal(request: HttpRequest, error: LinkError) -> HttpResponse:
    """A page, or for the waiting room's own requests a line, that says why a link opens nothing and what to do."""
    status = GONE if error.is_void else NOT_FOUND
    if request.headers.get("X-Requested-With") == "room":
        return JsonResponse({"error": str(error)}, status=status)
    return render(request, "study/no_study.html", {"reason": str(error), "is_void": error.is_void}, status=status)
