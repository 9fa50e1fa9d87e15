"""The link of a seat, which is the token of a program that plays there."""

from __future__ import annotations

from simulation.links import Links
from simulation.models import Seat

_links = Links(
    lambda key: Seat.objects.select_related("run", "firm").filter(pk=key).first(),
    salt="coffeebench.seat",
    what="seat",
    deleted="The run of this seat has been deleted.",
)


def token_of(seat: Seat) -> str:
    """The seat's key as it stands in its address: unguessable, and the same until the link is reissued."""
    return _links.token_of(seat)


def path_of(seat: Seat) -> str:
    """Where on this site the seat's pages are."""
    return f"/seat/{token_of(seat)}/"


def seat_of(token: str) -> Seat:
    """The seat that a key opens, with its run and firm. Raises LinkError."""
    return _links.row_of(token)
