"""Deleting a run with all its rows, some thousand at a time, so that nobody else's write waits for long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.apps import apps
from django.db import models, transaction
from django.utils import timezone

from marketplace.rows import RunRow, in_run
from simulation import announce
from simulation.models import Call, ChatMessage, ChatSummary, Run
from simulation.status import NotPossible

ROWS_AT_ONCE: Final = 5000
RESTING: Final = (Run.Status.DRAFT, Run.Status.PAUSED, Run.Status.FINISHED, Run.Status.STOPPED, Run.Status.FAILED)


def delete_run(run_id: int) -> dict[str, int]:
    """Deletes a run that does not move; this cannot be undone. Returns how many rows of each kind went.

    Raises NotPossible for a run that moves. Until the last row is gone the run is there, stopped, so that a deletion
    that was cut short can be seen and repeated.
    """
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.status not in RESTING:
            raise NotPossible(f"Run {run_id} is {run.status}; pause or cancel it before it is deleted.")
        run.status, run.status_reason, run.status_since = Run.Status.STOPPED, "being deleted", timezone.now()
        run.resume_at, run.lease_owner, run.lease_until = None, "", None
        run.save()
    counts = {str(rows.model._meta.verbose_name_plural): _delete(rows) for rows in _rows_of(run)}
    with transaction.atomic():
        announce.progress(run)
        _forget(run)
        Run.objects.filter(pk=run.pk)._raw_delete("default")
    return {kind: count for kind, count in counts.items() if count}


def _rows_of(run: Run) -> Iterator[models.QuerySet[Any]]:
    """Everything that belongs to a run, in an order in which nothing is left pointing to what is gone."""
    for model in (ChatMessage, ChatSummary, Call):
        yield model.objects.filter(run=run)
    yield run.seats.all()
    tables = [model for model in apps.get_models() if issubclass(model, RunRow)]
    # Seats, calls and talk are gone; of what is left, the tables of one run's rows carry no constraints among them.
    yield from (model._default_manager.filter(**in_run(run.pk)) for model in tables)


def _forget(run: Run) -> None:
    """Empties what points to a run and outlives it, such as the table of a study."""
    for relation in Run._meta.related_objects:
        if relation.on_delete is models.SET_NULL:
            name = relation.field.name
            relation.related_model._default_manager.filter(**{name: run}).update(**{name: None})


def _delete(rows: models.QuerySet[Any]) -> int:
    """Deletes rows in short transactions. Returns how many there were."""
    count = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        with transaction.atomic():
            chunk = rows.filter(pk__gte=keys[0], pk__lte=keys[-1])
            if issubclass(rows.model, RunRow):
                chunk._raw_delete(chunk.db)  # Django itself would look for rows that point here
            else:
                chunk.delete()
        count += len(keys)
    return count
