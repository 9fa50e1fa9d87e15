"""The workers' tasks. Each takes ids, is short, and may be run late, twice or on another machine."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from simulation import announce, runner
from simulation.models import Run

SECONDS_PER_TASK = 2.0
# Beyond this a message would wait in a worker's memory for long; the sweep calls such runs instead.
LONGEST_DELAY_SECONDS = 30


@shared_task(name="simulation.advance")
def advance(run_id: int) -> None:
    """Plays a run on for a while and asks to be called again while it is not over."""
    again = runner.advance(run_id, seconds=SECONDS_PER_TASK)
    if again is not None and again <= LONGEST_DELAY_SECONDS:
        announce.ring(run_id, delay_seconds=again)


@shared_task(name="simulation.sweep")
def sweep() -> None:
    """Finds every run that should be moving and is not: its doorbell was lost, or its worker died."""
    now = timezone.now()
    for run in Run.objects.filter(status=Run.Status.RUNNING).defer("scenario"):
        if runner.is_free(run, now):
            announce.ring(run.pk)
