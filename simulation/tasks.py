"""The workers' tasks. Each takes ids, is short, and may be run late, twice or on another machine."""

from __future__ import annotations

from contextlib import suppress

from celery import shared_task
from django.utils import timezone

from simulation import announce, asking, control, runner
from simulation.lease import is_free
from simulation.models import Run

SECONDS_PER_TASK = 2.0


@shared_task(name="simulation.advance")
def advance(run_id: int) -> None:
    """Plays a run on for a while and asks to be called again while it is not over."""
    again = runner.advance(run_id, seconds=SECONDS_PER_TASK)
    if again is not None:
        announce.ring(run_id, delay_seconds=again)


@shared_task(name="simulation.llm_ask")
def llm_ask(ask_id: int) -> None:
    """Puts one turn to one model. Whoever stores the last answer of a step moves the run on."""
    run_id = asking.ask_model(ask_id)
    if run_id is not None:
        advance(run_id)


@shared_task(name="simulation.sweep")
def sweep() -> None:
    """Finds every run that should be moving and is not: its doorbell was lost, or its worker died."""
    now = timezone.now()
    for run in Run.objects.filter(status=Run.Status.RUNNING).defer("scenario"):
        if is_free(run, now):
            announce.ring(run.pk)
    for run_id in Run.objects.filter(status=Run.Status.PAUSED, resume_at__lte=now).values_list("pk", flat=True):
        with suppress(control.NotPossible):
            control.resume_run(run_id)
