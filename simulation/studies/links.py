"""The link of a participant, the same from consent to code."""

from __future__ import annotations

from simulation.links import Links
from simulation.studies.models import Participant

_links = Links(
    lambda key: Participant.objects.select_related("study").filter(pk=key).first(),
    salt="coffeebench.study",
    what="study",
    deleted="The study of this link has been deleted.",
)


def token_of(participant: Participant) -> str:
    """The participant's key as it stands in their address: unguessable, the same until the link is reissued."""
    return _links.token_of(participant)


def participant_of(token: str) -> Participant:
    """The participant that a key opens, with their study. Raises LinkError."""
    return _links.row_of(token)


def path_of(participant: Participant) -> str:
    """Where on this site the participant's way goes on."""
    return f"/study/{token_of(participant)}/"
