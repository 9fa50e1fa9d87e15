"""Telling others after a commit: a hint to the sockets, a doorbell for the workers. Both may be lost without harm.

Sockets read what they lack from the event log, and the sweep finds every run that should be moving.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from celery import Task
from channels.layers import get_channel_layer
from django.db import transaction

from simulation.models import Ask, Run

log = logging.getLogger(__name__)

RUNS_GROUP = "runs"
# Beyond this a message would wait in a worker's memory for long; the sweep calls instead.
LONGEST_DELAY_SECONDS = 30
SEND_SECONDS = 5
FLUSH_SECONDS = 1


def group_of(run_id: int) -> str:
    """The channel group of those who watch a run."""
    return f"run-{run_id}"


def room_of(study_id: int) -> str:
    """The channel group of those in the waiting room of a study."""
    return f"room-{study_id}"


def room(study_id: int) -> None:
    """After commit: hints that somebody has come into a study's waiting room or gone, or that a game begins."""
    transaction.on_commit(partial(hints.send, room_of(study_id), {"type": "room.hint"}), robust=True)


def progress(run: Run, *, is_news: bool = True) -> None:
    """After commit: hints at how far the run's events go now, and at its status; to the list of runs only at news."""
    hint = {"type": "run.hint", "event": run.events, "status": run.status}
    transaction.on_commit(partial(hints.send, group_of(run.pk), hint), robust=True)
    if is_news:
        transaction.on_commit(partial(hints.send, RUNS_GROUP, {"type": "runs.hint", "run": run.pk}), robust=True)


class Hints:
    """Sends hints from a loop in a thread of its own: whoever commits does not wait for Redis, or connect anew.

    Of several hints to a group that wait only the newest goes out.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sending: Future[None] | None = None

    def send(self, group: str, message: dict[str, Any]) -> None:
        """Has a hint sent soon."""
        with self._lock:
            self._waiting[group] = message
            if self._sending is None:
                self._sending = asyncio.run_coroutine_threadsafe(self._send_all(), self._running_loop())

    def flush(self) -> None:
        """Waits, not for long, until all are sent: before the process ends."""
        with suppress(TimeoutError):
            if sending := self._sending:
                sending.result(FLUSH_SECONDS)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="hints", daemon=True).start()
            atexit.register(self.flush)
        return self._loop

    def _next(self) -> tuple[str, dict[str, Any]] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popitem()
            self._sending = None
            return None

    async def _send_all(self) -> None:
        while hint := self._next():
            await _send(*hint)


async def _send(group: str, message: dict[str, Any]) -> None:
    try:
        if layer := get_channel_layer():
            await asyncio.wait_for(layer.group_send(group, message), SEND_SECONDS)
    except Exception as error:  # noqa: BLE001 - a lost hint is no news: sockets also look by themselves
        log.debug("no hint to %s: %s", group, error)


hints = Hints()


def ring(run_id: int, *, delay_seconds: float = 0) -> None:
    """After commit: asks a worker to move a run. A long delay is left to the sweep."""
    if delay_seconds <= LONGEST_DELAY_SECONDS:
        transaction.on_commit(partial(_ring, run_id, delay_seconds), robust=True)


def ring_asks(asks: Sequence[Ask], *, delay_seconds: float = 0) -> None:
    """After commit: asks a worker to put turns of one step to their models. A long delay is left to the sweep."""
    if asks and delay_seconds <= LONGEST_DELAY_SECONDS:
        transaction.on_commit(partial(_ring_asks, asks, delay_seconds), robust=True)


def ring_seat(seat_id: int) -> None:
    """After commit: asks a worker to answer a seat's turn by its script or its queue of actions."""
    transaction.on_commit(partial(_ring_seat, seat_id), robust=True)


def _ring_seat(seat_id: int) -> None:
    from simulation.tasks import seat_turn

    _call(seat_turn, seat_id)


class _Here(threading.local):
    """What this thread, if it asks models itself, was rung for."""

    asks: list[Ask] | None = None


_here = _Here()


@contextmanager
def rung_here() -> Iterator[list[Ask]]:
    """In a worker that asks models: the turns rung for within the block are its own to ask next, without a message."""
    asks: list[Ask] = []
    _here.asks = asks
    try:
        yield asks
    finally:
        _here.asks = None


def _ring_asks(asks: Sequence[Ask], delay_seconds: float) -> None:
    from simulation.tasks import llm_ask

    if _here.asks is not None and not delay_seconds:
        _here.asks += asks
        return
    _call(llm_ask, [ask.pk for ask in asks], delay_seconds)


def _ring(run_id: int, delay_seconds: float) -> None:
    from simulation.tasks import advance

    _call(advance, run_id, delay_seconds)


def _call(task: Task, about: int | list[int], delay_seconds: float = 0) -> None:
    """Puts a task into its queue, for a minute; without Redis it is left to the sweep."""
    try:
        task.apply_async((about,), countdown=delay_seconds or None, expires=delay_seconds + 60)
    except task.OperationalError as error:
        log.warning("no worker told of %s %s (the sweep will find it): %s", task.name, about, error)
