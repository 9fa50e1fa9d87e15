"""Who may open a seat's pages: whoever holds its link, while it is valid. No login, no session, no address kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from simulation.seats import links

GONE, NOT_FOUND = 410, 404

SeatView = Callable[..., HttpResponseBase]


def with_seat(view: SeatView) -> SeatView:
    """Gives a view the seat that the link in its address opens; of any other link it says why it opens none."""

    @never_cache
    @wraps(view)
    def opened(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponseBase:
        try:
            seat = links.seat_of(token)
        except links.LinkError as error:
            response: HttpResponseBase = refusal(request, error)
        else:
            response = view(request, seat, token=token, **kwargs)
        # A seat's link is a key: no cache may hold what it opens, no other site may be told of it.
        response.headers["Cache-Control"] = "no-store, private"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return opened


def refusal(request: HttpRequest, error: links.LinkError) -> HttpResponse:
    """A page, or for the console's own requests a line, that says why a link opens nothing and what to do."""
    status = GONE if error.is_void else NOT_FOUND
    if request.headers.get("X-Requested-With") == "console":
        return JsonResponse({"error": str(error)}, status=status)
    return render(request, "seat/no_seat.html", {"reason": str(error), "is_void": error.is_void}, status=status)


def firm_title(name: str) -> str:
    """Roaster A for roaster_A."""
    role, _, letters = name.rpartition("_")
    return f"{role.capitalize()} {letters}" if role else name
