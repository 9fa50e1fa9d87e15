"""Who may open a seat's pages: whoever holds its link, while it is valid."""

from __future__ import annotations

from dashboards.keyed import opened_by
from simulation.seats.links import seat_of

with_seat = opened_by(seat_of, template="seat/no_seat.html", script="console")
"""Gives a view the seat that the link in its address opens."""


def firm_title(name: str) -> str:
    """Roaster A for roaster_A."""
    role, _, letters = name.rpartition("_")
    return f"{role.capitalize()} {letters}" if role else name
