"""The socket of a seat: tells its page where the seat stands whenever that has changed, and hears its signs of life.

A hint on the channel layer says that the run has moved; it carries the run's own numbers, so it never goes to the page.
On a hint, and by itself every few seconds, the socket reads the door's state and sends it if it is another.

    page                          server
    /ws/seat/<token>/      ──►
                           ◄──    {"type": "state", "state": {…}}
    {"beat": true}         ──►    every ten seconds; true where the person did something meanwhile
                           ◄──    {"type": "idle"}      nothing new; the line is alive

It closes with 4410 for a link that is void by now, 4400 for one that never opened a seat.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import Any, Final

from channels.db import database_sync_to_async

from dashboards.consumers import TidyConsumer
from dashboards.seat import desk
from dashboards.seat.views import give_sign
from simulation import announce
from simulation.links import LinkError
from simulation.seats import links

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 7.0
LEAST_BEAT_SECONDS: Final = 4.0
NO_SEAT, VOID, OUR_FAULT = 4400, 4410, 4500


class SeatConsumer(TidyConsumer):
    """Follows one seat for one page."""

    async def connect(self) -> None:
        """Accept in any case: a browser hears why it is refused only on an open socket."""
        self.token: str = self.scope["url_route"]["kwargs"]["token"]
        self.bell = asyncio.Event()
        self.told = ""
        self.last_beat = 0.0
        await self.accept()
        try:
            run_id = await database_sync_to_async(run_of)(self.token)
        except LinkError as error:
            await self.close(VOID if error.is_void else NO_SEAT)
            return
        self.group = announce.group_of(run_id)
        await self.channel_layer.group_add(self.group, self.channel_name)
        self.tasks.append(asyncio.create_task(self.follow()))

    async def run_hint(self, message: dict[str, Any]) -> None:
        """The run has moved. Ten hints while the state is read are one."""
        self.bell.set()

    async def follow(self) -> None:
        """Send the state when it has changed, for as long as the socket is open."""
        try:
            while True:
                self.bell.clear()
                await self.tell()
                await self.wait_for_bell()
        except LinkError as error:
            await self.close(VOID if error.is_void else NO_SEAT)
        except Exception:
            logger.exception("the socket of a seat broke")
            await self.close(OUR_FAULT)

    async def tell(self) -> None:
        """Send the state if the page has another."""
        state = await database_sync_to_async(state_of)(self.token)
        text = json.dumps(state)
        if text != self.told:
            self.told = text
            await self.send(json.dumps({"type": "state", "state": desk.stamped(state)}))

    async def wait_for_bell(self) -> None:
        """Wait for a hint; after some seconds say that the line is alive and look anyway."""
        try:
            await asyncio.wait_for(self.bell.wait(), LOOK_SECONDS)
        except TimeoutError:
            await self.send('{"type": "idle"}')

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A sign of life; all else that a page may say is ignored, and so is a flood of them."""
        with suppress(ValueError, TypeError, KeyError, RecursionError, LinkError):
            is_active = json.loads(text_data or "")["beat"]
            now = time.monotonic()
            if isinstance(is_active, bool) and now - self.last_beat >= LEAST_BEAT_SECONDS:
                self.last_beat = now
                await database_sync_to_async(sign_of_life)(self.token, is_active)


def run_of(token: str) -> int:
    """The run of the seat that a link opens. Raises LinkError."""
    return links.seat_of(token).run_id


def state_of(token: str) -> dict[str, Any]:
    """Where the seat stands, looked up afresh: its link may be void by now. Raises LinkError."""
    return desk.page_state(links.seat_of(token))


def sign_of_life(token: str, is_active: bool) -> None:
    """Tells the clocks. Raises LinkError."""
    give_sign(links.seat_of(token), is_active=is_active)
