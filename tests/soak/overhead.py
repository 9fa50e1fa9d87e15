"""How much longer runs of six models take than their models think: what `manage.py bench --models` measures.

Redis, workers and beat are started as the site starts them, and the tests' model server, whose models all answer after
the same time. A run's wall time is compared with the sum over its steps of each step's slowest answer: as the worker
saw it, and as if every step's had taken just the models' latency.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import F, Max

from coffeebench_site.environment import read_environment
from coffeebench_site.programs import Programs, redis_program
from coffeebench_site.redis_server import answers, prepare_redis_server
from coffeebench_site.service import Program, die_with_parent
from simulation.models import Call, Run
from tests.model_server.running import RunningServer, running_model_server
from tests.soak.model_runs import new_run
from tests.waiting import eventually

LONGEST_ROUND_SECONDS = 3600


class Round(NamedTuple):
    """A run's wall time, its steps that asked a model, their calls, and the sum of the steps' slowest answers."""

    steps: int
    calls: int
    wall_seconds: float
    slowest_seconds: float
    latency_seconds: float

    @property
    def of_seen(self) -> float:
        """Wall time by the sum of the slowest answers, as the worker saw them."""
        return self.wall_seconds / self.slowest_seconds

    @property
    def of_latency(self) -> float:
        """Wall time by the time that the models themselves took."""
        return self.wall_seconds / (self.steps * self.latency_seconds)


def rounds_of(days: int, rounds: int, latency_seconds: float) -> Iterator[Round]:
    """Some runs one after the other, each measured; on the database and with the Redis of the settings, both empty."""
    with site() as server:
        play(server, "warm-up", 1)  # a worker imports litellm at its first call
        server.configure(faults=[{"kind": "latency", "seconds": latency_seconds}])
        for number in range(1, rounds + 1):
            yield round_of(play(server, f"round-{number}", days), latency_seconds)


@contextmanager
def site() -> Iterator[RunningServer]:
    """The site's background programs, and a model server."""
    redis_server = prepare_redis_server(Path(settings.VAR_DIR) / "redis", known_address=settings.REDIS_URL)
    programs = Programs(read_environment(), redis_server.address, listener=-1)
    with ExitStack() as stack:
        stack.enter_context(running(redis_program(redis_server)))
        eventually(lambda: answers(redis_server.address), 10)
        for program in (programs.engine(), programs.llm(), programs.beat()):
            stack.enter_context(running(program))
        yield stack.enter_context(running_model_server())


@contextmanager
def running(program: Program) -> Iterator[None]:
    """A program of the site, until the block ends."""
    process = subprocess.Popen(
        program.command,
        cwd=program.folder,
        env=program.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def play(server: RunningServer, name: str, days: int) -> Run:
    """A run from its start to its end."""
    run = new_run(server, 0, days, name)

    def is_over() -> bool:
        run.refresh_from_db()
        assert run.status in (Run.Status.RUNNING, Run.Status.FINISHED), run.status_reason
        return run.is_over

    eventually(is_over, LONGEST_ROUND_SECONDS)
    return run


def round_of(run: Run, latency_seconds: float) -> Round:
    """What a finished run's rows say of its time."""
    assert run.started_at is not None
    assert run.ended_at is not None
    slowest = Call.objects.filter(run=run).order_by().values(step=F("ask__step")).annotate(most=Max("latency_ms"))
    return Round(
        steps=len(slowest),
        calls=Call.objects.filter(run=run).count(),
        wall_seconds=(run.ended_at - run.started_at).total_seconds(),
        slowest_seconds=sum(step["most"] for step in slowest) / 1000,
        latency_seconds=latency_seconds,
    )
