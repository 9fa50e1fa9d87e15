"""Keeping a replayed trace in the tables, as a run whose every decision was recorded elsewhere."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from simulation import runner
from simulation.engine.world import RULES_VERSION
from simulation.models import Run
from simulation.store import Decided, Projection
from simulation.traces import Replay

RECORDED = "recorded"


def save_replay(replay: Replay) -> Run:
    """Writes every row of a replay that has come to its end, in one transaction."""
    world, scenario = replay.world, replay.world.scenario
    players = dict.fromkeys(world.seats, RECORDED)
    with transaction.atomic():
        run = Run.objects.create(
            name=f"trace {replay.trace.name}"[:80],
            scenario=scenario.model_dump(mode="json"),
            seed=world.seed,
            days=scenario.days,
            evaluated=scenario.evaluated,
            rules_version=RULES_VERSION,
            players=players,
            status=Run.Status.RUNNING,
            started_at=timezone.now(),
        )
        Projection(run.pk, world, players).save([Decided(outcome, RECORDED) for outcome in replay.outcomes])
        runner.note_progress(run, world)
        runner.end_run(run, world)
        run.save()
    return run
