"""Waiting for the next turn without asking all the time, and without a thread that does nothing else."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from dashboards.seat_api.access import Answer, Refused, program_seat
from simulation.announce import group_of
from simulation.seats import door

log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS: Final = 60
LOOK_EVERY_SECONDS: Final = 1.0
MOST_WAITING: Final = 4

_waiting: Counter[int] = Counter()


async def next_state(token: str, *, after: int, wait_seconds: float) -> Answer:
    """The seat's state: at once if a turn newer than `after` is its own or the run is over, else when that comes.

    Whoever may take the seat back is told within a second. A hint on the channel layer wakes it; hints may be lost, so
    it also looks by itself. Raises Refused.
    """
    began = time.monotonic()
    run_id, seat_id, state = await sync_to_async(_look)(token)
    if is_news(state, after) or wait_seconds <= 0:
        return state
    async with _one_of_few(seat_id), _hints(run_id) as bell:
        while not is_news(state, after) and (left := began + _patience(state, wait_seconds) - time.monotonic()) > 0:
            await _wait(bell, min(left, LOOK_EVERY_SECONDS))
            _, _, state = await sync_to_async(_look)(token)
    return state


def is_news(state: Answer, after: int) -> bool:
    """Whether there is something to decide that the program has not seen, or nothing will ever be again."""
    return bool(state["is_over"] or (state["status"] == "your_turn" and state["turn"] > after))


def _patience(state: Answer, wait_seconds: float) -> float:
    """How long a state that is no news is kept from the program."""
    return min(wait_seconds, LOOK_EVERY_SECONDS) if state["may_take_back"] else wait_seconds


def _look(token: str) -> tuple[int, int, Answer]:
    """Where the seat stands now, looked up afresh: its token may have been revoked meanwhile."""
    seat = program_seat(token)
    return seat.run_id, seat.pk, door.state(seat)


async def _wait(bell: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(bell.wait(), seconds)
    except TimeoutError:
        return
    bell.clear()


@asynccontextmanager
async def _one_of_few(seat_id: int) -> AsyncIterator[None]:
    if _waiting[seat_id] >= MOST_WAITING:
        refused = Refused(429, "too_many", f"{MOST_WAITING} requests wait at this seat already; one is enough.")
        refused.headers["Retry-After"] = "1"
        raise refused
    _waiting[seat_id] += 1
    try:
        yield
    finally:
        _waiting[seat_id] -= 1
        if not _waiting[seat_id]:
            del _waiting[seat_id]


@asynccontextmanager
async def _hints(run_id: int) -> AsyncIterator[asyncio.Event]:
    """A bell that rings when the run may have moved; a silent one where the channel layer does not answer."""
    bell = asyncio.Event()
    listening = asyncio.create_task(_listen(run_id, bell))
    try:
        yield bell
    finally:
        listening.cancel()


async def _listen(run_id: int, bell: asyncio.Event) -> None:
    layer: Any = get_channel_layer()
    try:
        channel = await layer.new_channel()
        await layer.group_add(group_of(run_id), channel)
        try:
            while True:
                await layer.receive(channel)
                bell.set()
        finally:
            await layer.group_discard(group_of(run_id), channel)
    except (OSError, RuntimeError) as error:
        log.debug("no hints of run %s: %s", run_id, error)
