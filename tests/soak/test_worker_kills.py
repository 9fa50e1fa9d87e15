"""A worker that is killed in the middle of runs, again and again, costs them nothing but time."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from simulation import control
from simulation.engine.scenario import scenario_from
from simulation.lease import holder_name
from simulation.models import Run, Turn
from simulation.runner import load_game, play
from simulation.store import differences
from tests.soak.programs import BEAT, ENGINE, program
from tests.waiting import eventually

KILLS = int(os.environ.get("SOAK_KILLS", "10"))
PACE_SECONDS = 0.1
DAYS = 90


def new_run(seed: int, pace_seconds: float, days: int = DAYS) -> Run:
    """A run of scripts, not started."""
    scenario = scenario_from({"days": days})
    return control.create_run(name="soak", scenario=scenario, seed=seed, players={}, pace_seconds=pace_seconds)


def decisions_of(run: Run) -> list[tuple[int, str, str, str]]:
    """What was decided and answered, in order."""
    turns = Turn.objects.filter(run=run).order_by("pk")
    return list(turns.values_list("minute", "tool", "arguments", "result"))


def undisturbed(seed: int, days: int = DAYS) -> Run:
    """The same run played here in one go."""
    run, holder = new_run(seed, 0, days), holder_name()
    return play(load_game(control.start_run(run.pk, holder)), holder, seconds=float("inf"), commit_every=1.0)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_runs_whose_worker_is_killed_end_as_if_it_had_not_been(site_variables: dict[str, str]) -> None:
    chance = random.Random(7)
    runs = [new_run(seed, PACE_SECONDS) for seed in range(3)]
    for run in runs:
        control.start_run(run.pk)
    kills = 0
    with program(*BEAT, variables=site_variables):
        while Run.objects.filter(status=Run.Status.RUNNING).exists():
            with program(*ENGINE, variables=site_variables) as worker:
                turns = Turn.objects.count()
                eventually(lambda turns=turns: Turn.objects.count() > turns or not running(), 60)  # type: ignore[misc]
                if kills < KILLS:
                    time.sleep(chance.uniform(0, 1.0))
                    worker.send_signal(signal.SIGKILL)
                    kills += 1
                else:
                    eventually(lambda: not running(), 300)
    print(f"{kills} kills")
    assert kills >= min(KILLS, 1)
    for seed, run in enumerate(runs):
        run.refresh_from_db()
        assert (run.status, run.day) == (Run.Status.FINISHED, DAYS - 1)
        assert differences(run) == []
        assert decisions_of(run) == decisions_of(undisturbed(seed))


def running() -> bool:
    """Whether any run still moves."""
    return Run.objects.filter(status=Run.Status.RUNNING).exists()
