"""In what state a run is, and the verbs that change it: checked and written under the run's lock, told after commit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from marketplace.rows import in_run
from simulation import announce
from simulation.lease import LEASE
from simulation.models import Ask, Run
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.seats import clocks

SLOWEST_PACE_SECONDS = 3600


class NotPossible(Exception):
    """The run is not in a state for that; says in which it is."""


def _change(
    run_id: int,
    verb: str,
    allowed: tuple[Run.Status, ...],
    status: Run.Status,
    reason: str = "",
    holder: str | None = None,
    by: Run.PausedBy | None = None,
    resume_at: datetime | None = None,
) -> Run:
    """Moves a run from one of some states to another. Its lease is taken from whoever is playing it.

    A run that is to move is leased to `holder` at once, or a worker is called if that is empty.
    """
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.status not in allowed:
            raise NotPossible(f"Run {run_id} is {run.status}; only a run that is {' or '.join(allowed)} can {verb}.")
        run.status, run.status_reason, run.status_since = status, reason, timezone.now()
        run.paused_by, run.resume_at, run.stop_after_day = by or "", resume_at, None
        run.lease_owner, run.lease_until, run.not_before = holder or "", None, None
        if holder:
            run.lease_until = run.status_since + LEASE
        if status == Run.Status.RUNNING and run.started_at is None:
            run.started_at = run.status_since
        run.ended_at = run.status_since if run.is_over else None
        run.save()
        clocks.settle_run(run, run.status_since)
        announce.progress(run)
        if holder == "":
            announce.ring(run_id)
    return run


def start_run(run_id: int, holder: str = "") -> Run:
    """Lets a new run begin, played by `holder`, or by a worker if that is empty."""
    return _change(run_id, "be started", (Run.Status.DRAFT,), Run.Status.RUNNING, holder=holder)


def pause_run(
    run_id: int,
    reason: str = "paused by a person",
    *,
    by: Run.PausedBy = Run.PausedBy.PERSON,
    resume_at: datetime | None = None,
) -> Run:
    """Stops a run where its last commit left it; it can go on, by itself at `resume_at` if that is given."""
    moving = (Run.Status.RUNNING, Run.Status.WAITING)
    return _change(run_id, "be paused", moving, Run.Status.PAUSED, reason, by=by, resume_at=resume_at)


def resume_run(run_id: int, holder: str = "") -> Run:
    """Lets a paused run go on, or one that failed be tried again; `holder` as for `start_run`.

    Whatever trouble its models had is forgotten: they are asked again at once.
    """
    with transaction.atomic():
        run = _change(run_id, "go on", (Run.Status.PAUSED, Run.Status.FAILED), Run.Status.RUNNING, holder=holder)
        _forget_trouble(run_id)
    return run


def _forget_trouble(run_id: int) -> None:
    """Lets models be asked again at once; a worker that is asking one counts its attempts itself."""
    waiting = Ask.objects.filter(**in_run(run_id), answered_at__isnull=True)
    waiting.update(trouble_since=None, not_before=None)
    waiting.filter(lease_owner="").update(attempts=0)


def step_day(run_id: int) -> Run:
    """Lets a new or a paused run go on for the rest of its day and no further; trouble is forgotten as on resuming."""
    with transaction.atomic():
        run = _change(run_id, "be stepped", (Run.Status.DRAFT, Run.Status.PAUSED), Run.Status.RUNNING, holder="")
        _forget_trouble(run_id)
        run.stop_after_day = run.day
        run.save(update_fields=["stop_after_day"])
    return run


def cancel_run(run_id: int) -> Run:
    """Ends a run for good where its last commit left it; its books stay."""
    living = (Run.Status.DRAFT, Run.Status.RUNNING, Run.Status.WAITING, Run.Status.PAUSED, Run.Status.FAILED)
    return _change(run_id, "be cancelled", living, Run.Status.STOPPED, "cancelled")


def set_limits(run_id: int, limits: Limits) -> Run:
    """Changes what a run may spend on models, and how long it waits for a provider; it stays in its state."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.is_over:
            raise NotPossible(f"Run {run_id} is {run.status}; it spends nothing any more.")
        run.limits = limits.model_dump(mode="json")
        run.save(update_fields=["limits"])
        announce.progress(run)
    return run


def set_firm_budgets(run_id: int, budgets_usd: Mapping[str, float | None]) -> Run:
    """Changes what some firms' models may spend, None for no budget of their own; the run stays in its state."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.is_over:
            raise NotPossible(f"Run {run_id} is {run.status}; it spends nothing any more.")
        for firm, budget_usd in budgets_usd.items():
            if firm not in run.model_settings:
                raise NotPossible(
                    f"No model plays {firm} in run {run_id}; one does for {', '.join(run.model_settings)}."
                )
            changed = {**run.model_settings[firm], "budget_usd": budget_usd}
            run.model_settings[firm] = ModelSettings.model_validate(changed).model_dump(mode="json")
        run.save(update_fields=["model_settings"])
        announce.progress(run)
    return run


def set_pace(run_id: int, pace_seconds: float) -> Run:
    """Changes how many wall seconds a simulated day takes at least."""
    if not 0 <= pace_seconds <= SLOWEST_PACE_SECONDS:
        raise NotPossible(
            f"Pace {pace_seconds} is out of range: 0 to {SLOWEST_PACE_SECONDS} seconds a day are allowed."
        )
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.is_over:
            raise NotPossible(f"Run {run_id} is {run.status}; its pace no longer matters.")
        run.pace_seconds, run.not_before = pace_seconds, None
        run.save(update_fields=["pace_seconds", "not_before"])
        announce.progress(run)
        if run.status == Run.Status.RUNNING:
            announce.ring(run_id)
    return run
