"""The socket of the waiting room: how many are there, and that the game begins."""

from __future__ import annotations

from typing import Any

from dashboards.keyed_socket import KeyedConsumer
from dashboards.study.room import stands
from simulation import announce
from simulation.studies import links, verbs


class RoomConsumer(KeyedConsumer):
    """Follows one participant's stage and table for their page."""

    def group_of(self, token: str) -> str:
        """The hints are the study's."""
        return announce.room_of(links.participant_of(token).study_id)

    def state_of(self, token: str) -> dict[str, Any]:
        """The participant's stage and the counts."""
        return stands(links.participant_of(token))

    def sign_of_life(self, token: str, is_active: bool) -> None:
        """Keeps the participant a place."""
        verbs.arrive(links.participant_of(token))

    async def room_hint(self, message: dict[str, Any]) -> None:
        """Somebody has come or gone, or a game begins."""
        await self.hint()
