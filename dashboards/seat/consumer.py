"""The socket of a seat: the door's state, and the signs of life by which the clocks count."""

from __future__ import annotations

from typing import Any

from dashboards.keyed_socket import KeyedConsumer
from dashboards.seat import desk
from dashboards.seat.access import persons_seat
from dashboards.seat.views import give_sign
from simulation import announce


class SeatConsumer(KeyedConsumer):
    """Follows one seat for one page."""

    def group_of(self, token: str) -> str:
        """The hints are the run's; they carry its own numbers."""
        return announce.group_of(persons_seat(token).run_id)

    def state_of(self, token: str) -> dict[str, Any]:
        """Where the seat stands."""
        return desk.page_state(persons_seat(token))

    def sign_of_life(self, token: str, is_active: bool) -> None:
        """Tells the clocks."""
        give_sign(persons_seat(token), is_active=is_active)

    def as_sent(self, state: dict[str, Any]) -> dict[str, Any]:
        """With the server's time."""
        return desk.stamped(state)

    async def run_hint(self, message: dict[str, Any]) -> None:
        """The run has moved."""
        await self.hint()
