"""Who may open a seat's pages: whoever holds its link, while it is valid."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from dashboards.keyed import View, opened_by
from simulation.links import LinkError
from simulation.models import Seat
from simulation.players.registry import REMOTE
from simulation.seats.links import seat_of

NOT_TAKEN: Final = "Nobody has taken this seat yet. Open its link and take it first."


def persons_seat(token: str) -> Seat:
    """The seat that a link opens for a person. Raises LinkError, also where a program is to play."""
    seat = seat_of(token)
    if seat.firm.player == REMOTE:
        raise LinkError(f"A program plays {seat.firm.name}, over HTTP, with this key as its token (docs/remote.md).")
    return seat


with_seat = opened_by(persons_seat, template="seat/no_seat.html", script="console")
"""Gives a view the seat that the link in its address opens."""


def at_the_desk(view: View) -> View:
    """Gives a view a seat that somebody has taken: at another nothing is done, for no time of it is counted."""

    @with_seat
    @wraps(view)
    def seated(request: HttpRequest, seat: Seat, token: str, **kwargs: Any) -> HttpResponseBase:
        if seat.taken_at is None:
            return JsonResponse({"error": NOT_TAKEN}, status=409)
        return view(request, seat, token=token, **kwargs)

    return seated


def firm_title(name: str) -> str:
    """Roaster A for roaster_A."""
    role, _, letters = name.rpartition("_")
    return f"{role.capitalize()} {letters}" if role else name
