"""The link of a seat: a key that only this site can make. Nothing secret is stored; a new one makes the old void."""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

from simulation.models import Seat


class LinkError(Exception):
    """A link that opens no seat; says why. `is_void` tells one that used to from one that never did."""

    def __init__(self, reason: str, *, is_void: bool = False) -> None:
        super().__init__(reason)
        self.is_void = is_void


def _signer() -> Signer:
    return Signer(sep="~", salt="coffeebench.seat")


def token_of(seat: Seat) -> str:
    """The seat's key as it stands in its address: unguessable, and the same until the link is reissued."""
    return _signer().sign(f"{seat.pk}.{seat.link_number}")


def seat_of(token: str) -> Seat:
    """The seat that a key opens, with its run and firm. Raises LinkError."""
    try:
        seat_id, _, link_number = _signer().unsign(token).partition(".")
    except (BadSignature, UnicodeEncodeError):
        raise LinkError("This link opens no seat. Copy it again, whole, from where you got it.") from None
    seat = Seat.objects.select_related("run", "firm").filter(pk=int(seat_id)).first()
    if seat is None:
        raise LinkError("The run of this seat has been deleted.", is_void=True)
    if seat.is_revoked or seat.link_number != int(link_number):
        raise LinkError("This link is no longer valid. Ask the researcher for the new one.", is_void=True)
    return seat
