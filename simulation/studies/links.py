"""The link of a participant: a key that only this site can make; a new one makes the old void."""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

from simulation.seats.links import LinkError
from simulation.studies.models import Participant


def _signer() -> Signer:
    return Signer(sep="~", salt="coffeebench.study")


def token_of(participant: Participant) -> str:
    """The participant's key as it stands in their address: unguessable, the same until the link is reissued."""
    return _signer().sign(f"{participant.pk}.{participant.link_number}")


def participant_of(token: str) -> Participant:
    """The participant that a key opens, with their study. Raises LinkError."""
    try:
        participant_id, _, link_number = _signer().unsign(token).partition(".")
    except BadSignature:
        raise LinkError("This link opens no study. Copy it again, whole, from where you got it.") from None
    participant = Participant.objects.select_related("study").filter(pk=int(participant_id)).first()
    if participant is None:
        raise LinkError("The study of this link has been deleted.", is_void=True)
    if participant.is_revoked or participant.link_number != int(link_number):
        raise LinkError("This link is no longer valid. Ask the researcher for the new one.", is_void=True)
    return participant


def path_of(participant: Participant) -> str:
    """Where on this site the participant's way goes on."""
    return f"/study/{token_of(participant)}/"
