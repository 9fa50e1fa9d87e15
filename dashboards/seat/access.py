"""Who may open a seat's pages: whoever holds its link, while it is valid."""

from __future__ import annotations

from dashboards.keyed import opened_by
from simulation.links import LinkError
from simulation.models import Seat
from simulation.players.registry import REMOTE
from simulation.seats.links import seat_of


def persons_seat(token: str) -> Seat:
    """The seat that a link opens for a person. Raises LinkError, also where a program is to play."""
    seat = seat_of(token)
    if seat.firm.player == REMOTE:
        raise LinkError(f"A program plays {seat.firm.name}, over HTTP, with this key as its token (docs/remote.md).")
    return seat


with_seat = opened_by(persons_seat, template="seat/no_seat.html", script="console")
"""Gives a view the seat that the link in its address opens."""


def firm_title(name: str) -> str:
    """Roaster A for roaster_A."""
    role, _, letters = name.rpartition("_")
    return f"{role.capitalize()} {letters}" if role else name
