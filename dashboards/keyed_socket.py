"""Sockets that a link opens: each tells its page where something stands whenever that has changed.

A hint on the channel layer says that something has moved; it never goes to the page itself. On a hint, and by itself
every few seconds, the socket reads what its link opens and sends it if it is another.

    page                          server
                           ◄──    {"type": "state", "state": {…}}
    {"beat": true}         ──►    every ten seconds; true where the person did something meanwhile
                           ◄──    {"type": "idle"}      nothing new; the line is alive

It closes with 4410 for a link that is void by now, 4400 for one that never opened anything.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import Any, Final

from channels.db import database_sync_to_async

from dashboards.consumers import OUR_FAULT, TidyConsumer
from simulation.links import LinkError

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 7.0
LEAST_BEAT_SECONDS: Final = 4.0
NOTHING, VOID = 4400, 4410

Told = dict[str, Any]


class KeyedConsumer(TidyConsumer):
    """Follows what one link opens, for one page."""

    def group_of(self, token: str) -> str:
        """The group of the hints. Raises LinkError."""
        raise NotImplementedError

    def state_of(self, token: str) -> Told:
        """Where it stands, looked up afresh: the link may be void by now. Raises LinkError."""
        raise NotImplementedError

    def sign_of_life(self, token: str, is_active: bool) -> None:
        """The page is there. Raises LinkError."""
        raise NotImplementedError

    def as_sent(self, state: Told) -> Told:
        """A state as the page gets it, with what is no news in itself."""
        return state

    async def connect(self) -> None:
        """Accept in any case: a browser hears why it is refused only on an open socket."""
        self.token: str = self.scope["url_route"]["kwargs"]["token"]
        self.bell = asyncio.Event()
        self.told = ""
        self.last_beat = 0.0
        await self.accept()
        try:
            self.group = await database_sync_to_async(self.group_of)(self.token)
        except LinkError as error:
            await self.refuse(error)
            return
        await self.channel_layer.group_add(self.group, self.channel_name)
        self.tasks.append(asyncio.create_task(self.follow()))

    async def refuse(self, error: LinkError) -> None:
        """Close, and say by the code why."""
        await self.close(VOID if error.is_void else NOTHING)

    async def hint(self) -> None:
        """Something has moved. Ten hints while the state is read are one."""
        self.bell.set()

    async def follow(self) -> None:
        """Send the state when it has changed, for as long as the socket is open."""
        try:
            while True:
                self.bell.clear()
                await self.tell()
                await self.wait_for_bell()
        except LinkError as error:
            await self.refuse(error)
        except Exception:
            logger.exception("a socket of %s broke", type(self).__name__)
            await self.close(OUR_FAULT)

    async def tell(self) -> None:
        """Send the state if the page has another."""
        state = await database_sync_to_async(self.state_of)(self.token)
        text = json.dumps(state)
        if text != self.told:
            self.told = text
            await self.send(json.dumps({"type": "state", "state": self.as_sent(state)}))

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
                await database_sync_to_async(self.sign_of_life)(self.token, is_active)
