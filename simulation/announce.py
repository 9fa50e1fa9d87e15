"""Telling others after a commit: a hint to the sockets, a doorbell for the workers. Both may be lost without harm.

Sockets read what they lack from the event log, and the sweep finds every run that should be moving.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from simulation.models import Run

log = logging.getLogger(__name__)

RUNS_GROUP = "runs"
# Beyond this a message would wait in a worker's memory for long; the sweep calls instead.
LONGEST_DELAY_SECONDS = 30


def group_of(run_id: int) -> str:
    """The channel group of those who watch a run."""
    return f"run-{run_id}"


def progress(run: Run, *, is_news: bool = True) -> None:
    """After commit: hints at how far the run's events go now, and at its status; to the list of runs only at news."""
    hint = {"type": "run.hint", "event": run.events, "status": run.status}
    transaction.on_commit(partial(_send, group_of(run.pk), hint), robust=True)
    if is_news:
        transaction.on_commit(partial(_send, RUNS_GROUP, {"type": "runs.hint", "run": run.pk}), robust=True)


def _send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group, message)
    except Exception as error:  # noqa: BLE001 - a lost hint is no news: sockets also look by themselves
        log.debug("no hint to %s: %s", group, error)


def ring(run_id: int, *, delay_seconds: float = 0) -> None:
    """After commit: asks a worker to move a run. A long delay is left to the sweep."""
    if delay_seconds <= LONGEST_DELAY_SECONDS:
        transaction.on_commit(partial(_ring, run_id, delay_seconds), robust=True)


def ring_ask(ask_id: int, *, delay_seconds: float = 0) -> None:
    """After commit: asks a worker to put a turn to its model. A long delay is left to the sweep."""
    if delay_seconds <= LONGEST_DELAY_SECONDS:
        transaction.on_commit(partial(_ring_ask, ask_id, delay_seconds), robust=True)


def _ring_ask(ask_id: int, delay_seconds: float) -> None:
    from simulation.tasks import llm_ask

    try:
        llm_ask.apply_async((ask_id,), countdown=delay_seconds or None, expires=delay_seconds + 60)
    except llm_ask.OperationalError as error:
        log.warning("no worker told of turn %s (the sweep will find it): %s", ask_id, error)


def _ring(run_id: int, delay_seconds: float) -> None:
    from simulation.tasks import advance

    try:
        advance.apply_async((run_id,), countdown=delay_seconds or None, expires=delay_seconds + 60)
    except advance.OperationalError as error:
        log.warning("no worker told of run %s (the sweep will find it): %s", run_id, error)
