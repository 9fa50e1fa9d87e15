"""The sockets of staff, which only read, and what those of seats share with them.

A hint on the channel layer says that a run has moved; it may be lost, so it is never the news itself. Each socket reads
what its browser lacks from the event log, from the browser's own last number on, and looks by itself every few seconds.

    browser                                  server
    /ws/runs/7/?since=4180          ──►
                                    ◄──      {"type": "page", "since": 4180, "last": 4211, "lines": […], …}
    {"have": 4211}                  ──►      only now may the next page follow: a slow browser sets the pace
                                    ◄──      {"type": "idle"}      nothing new for some seconds; the line is alive
                                    ◄──      {"type": "reload"}    too far behind: open the page afresh

It closes with 4401 for visitors who are not (or no longer) staff, 4404 for a run that is not there, 4400 for nonsense.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine, Hashable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User

from dashboards.access import may_watch
from dashboards.feed import Page, read_page
from dashboards.shared_reads import SharedReads
from simulation.models import Run

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 7.0
ACCESS_SECONDS: Final = 60.0
NONSENSE, NOT_STAFF, NO_SUCH_RUN, OUR_FAULT = 4400, 4401, 4404, 4500

pages: SharedReads[Page | None] = SharedReads()


class TidyConsumer(AsyncWebsocketConsumer):
    """A socket with work beside it and a group of hints, both of which end with it."""

    group = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tasks: list[asyncio.Task[None]] = []

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message as Channels does, without first visiting the database's thread to close old connections.

        Whatever uses one here does so through `database_sync_to_async`, which closes them itself; with two hundred
        sockets those visits were nearly half of what a hint cost.
        """
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        """Leave nothing behind. Not called when the process dies, so nothing may depend on it."""
        for task in self.tasks:
            task.cancel()
        if self.group:
            await self.channel_layer.group_discard(self.group, self.channel_name)


class StaffConsumer(TidyConsumer):
    """A socket that opens for staff only, and closes by itself when its user no longer is."""

    async def connect(self) -> None:
        """Accept in any case: a browser hears why it is refused only on an open socket."""
        await self.accept()
        if not may_watch(self.scope["user"]):
            await self.close(NOT_STAFF)
        elif await self.is_welcome():
            await self.channel_layer.group_add(self.group, self.channel_name)
            self.start(self.watch_access())
            await self.begin()

    async def is_welcome(self) -> bool:
        """Set `group`, or close and return False."""
        raise NotImplementedError

    async def begin(self) -> None:
        """What to do once hints are on their way: only from now on nothing can be missed."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work beside the socket for as long as it is open."""
        self.tasks.append(asyncio.create_task(self.or_close(work)))

    async def or_close(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work; if it breaks, log why and close: the page will open another socket."""
        try:
            await work
        except Run.DoesNotExist:
            await self.close(NO_SUCH_RUN)
        except Exception:
            logger.exception("a socket of %s broke", self.scope["path"])
            await self.close(OUR_FAULT)

    async def watch_access(self) -> None:
        """Close when the user logs out or loses their rights, within a minute."""
        while True:
            await asyncio.sleep(ACCESS_SECONDS)
            if not await database_sync_to_async(is_still_staff)(self.scope):
                await self.close(NOT_STAFF)
                return


def is_still_staff(scope: dict[str, Any]) -> bool:
    """Whether a socket's user is still logged in, and still staff."""
    session, user = scope["session"], scope["user"]
    is_staff = User.objects.filter(pk=user.pk, is_active=True, is_staff=True).exists()
    return is_staff and session.exists(session.session_key)


class RunConsumer(StaffConsumer):
    """Follows one run."""

    async def is_welcome(self) -> bool:
        """Whether the run is there and `since` a number."""
        self.run_id: int = self.scope["url_route"]["kwargs"]["run_id"]
        since = since_of(self.scope)
        if since is None:
            await self.close(NONSENSE)
            return False
        if not await database_sync_to_async(Run.objects.filter(pk=self.run_id).exists)():
            await self.close(NO_SUCH_RUN)
            return False
        self.group = f"run-{self.run_id}"
        self.sent = self.have = since
        self.told_state = ""
        # The first look is the socket's own: one that is shared may have begun before hints were on their way here.
        self.hint: Hashable = self.channel_name
        self.may_be_news = True
        self.bell = asyncio.Event()
        return True

    async def begin(self) -> None:
        """Start to follow; the first page is what was missed before the socket opened."""
        self.start(self.follow())

    async def run_hint(self, message: dict[str, Any]) -> None:
        """The run has moved. Ten hints while a page is under way are one."""
        self.hint = (message.get("event"), message.get("status"))
        self.may_be_news = True
        self.bell.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The browser has everything up to a number; all else it may say is ignored."""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            have = json.loads(text_data or "")["have"]
            if isinstance(have, int) and have <= self.sent:
                self.have = have
                self.bell.set()

    async def follow(self) -> None:
        """Send what is missing, page by page, for as long as the socket is open."""
        while True:
            await self.tell_news()
            await self.wait_for_bell()

    async def tell_news(self) -> None:
        """Look for news, unless the browser has yet to acknowledge the last page or nothing suggests any."""
        while self.may_be_news and self.have >= self.sent:
            self.may_be_news = False
            page = await self.next_page()
            if page:
                self.sent, self.told_state, self.may_be_news = page.last, page.state, page.more
                await self.send(page.text)

    async def next_page(self) -> Page | None:
        """The next page. Sockets that heard the same hint, or none, at the same place share one read."""
        hint, self.hint = self.hint, None
        arguments = (self.run_id, self.sent, self.told_state)
        return await pages.read((hint, *arguments), read_page, *arguments)

    async def wait_for_bell(self) -> None:
        """Wait for a hint or an acknowledgement; after some seconds say that the line is alive and look anyway."""
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self.bell.wait()
        except TimeoutError:
            self.may_be_news = True
            await self.send('{"type": "idle"}')
        self.bell.clear()


def since_of(scope: dict[str, Any]) -> int | None:
    """The number after `?since=`, 0 without one, None for nonsense."""
    text = parse_qs(scope["query_string"].decode("latin-1")).get("since", ["0"])[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


class RunsConsumer(StaffConsumer):
    """Says that the list of runs has changed; the page fetches its rows again."""

    group = "runs"

    async def is_welcome(self) -> bool:
        """All staff see all runs."""
        return True

    async def runs_hint(self, message: dict[str, Any]) -> None:
        """Pass the hint on."""
        await self.send('{"type": "runs"}')


class NowhereConsumer(AsyncWebsocketConsumer):
    """Any other address."""

    async def connect(self) -> None:
        """Refuse."""
        await self.close()
