"""The workers' tasks. Each takes ids, is short, and may be run late, twice or on another machine."""

from __future__ import annotations

import time
from contextlib import suppress

from celery import shared_task
from django.utils import timezone

from simulation import announce, asking, control, runner
from simulation.lease import is_free
from simulation.models import Run
from simulation.seats import absence, calling

SECONDS_PER_TASK = 2.0


@shared_task(name="simulation.advance")
def advance(run_id: int) -> None:
    """Plays a run on for a while and asks to be called again while it is not over."""
    again = runner.advance(run_id, seconds=SECONDS_PER_TASK)
    if again is not None:
        announce.ring(run_id, delay_seconds=again)


@shared_task(name="simulation.llm_ask")
def llm_ask(ask_ids: list[int]) -> None:
    """Puts waiting turns of a step to their models, all at once. Who stores a step's last answer moves the run on.

    While its time lasts, a task that did so goes on with the turns that this opened.
    """
    began, asks = time.monotonic(), asking.asks_of(ask_ids)
    while (run_id := asking.ask_models(asks)) is not None:
        with announce.rung_here() as asks:
            advance(run_id)
        if time.monotonic() - began > SECONDS_PER_TASK:
            announce.ring_asks(asks)
            return


@shared_task(name="simulation.seat_turn")
def seat_turn(seat_id: int) -> None:
    """Answers the turn of a seat whose script or queue of actions decides."""
    calling.answer_by_itself(seat_id)


@shared_task(name="simulation.sweep")
def sweep() -> None:
    """Finds every run that should be moving and is not: its doorbell was lost, or its worker died.

    A run that waits for answers is left where it is, but everybody who owes one is called again.
    """
    now = timezone.now()
    for run in Run.objects.filter(status=Run.Status.RUNNING).defer("scenario"):
        if not is_free(run, now):
            continue
        if asking.waiting_asks(run).exists():
            calling.call_again(run.pk)
        else:
            announce.ring(run.pk)
    absence.apply_rules(now)
    for run_id in Run.objects.filter(status=Run.Status.PAUSED, resume_at__lte=now).values_list("pk", flat=True):
        with suppress(control.NotPossible):
            control.resume_run(run_id)
