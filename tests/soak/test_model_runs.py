"""Runs of language models whose workers, Redis or provider fail under them, again and again."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.db.models import Count

from coffeebench_site.redis_server import answers, find_redis_server, unused_port
from simulation.models import Ask, Call, Run, Turn
from simulation.store import differences
from tests.model_server.running import RunningServer, running_model_server
from tests.soak.model_runs import new_run
from tests.soak.programs import BEAT, ENGINE, LLM, start, start_web
from tests.soak.test_worker_kills import decisions_of, undisturbed
from tests.waiting import eventually

KILLS = int(os.environ.get("SOAK_KILLS", "20"))
RUNS = int(os.environ.get("SOAK_RUNS", "20"))
DAYS = int(os.environ.get("SOAK_DAYS", "90"))

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]


class Site:
    """The web process, both workers, the beat and a Redis of their own; each can be killed and started again."""

    def __init__(self, variables: dict[str, str], folder: Path) -> None:
        self.folder, self.port, self.web_port = folder, unused_port(), unused_port()
        self.variables = {**variables, "REDIS_URL": f"redis://127.0.0.1:{self.port}/0"}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("redis", "web", "engine", "llm", "beat"):
            self.start(name)

    def start(self, name: str) -> None:
        """Starts one of them."""
        if name == "redis":
            command = [find_redis_server(), "--port", str(self.port), "--appendonly", "yes", "--dir", self.folder]
            self.processes[name] = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
            eventually(lambda: answers(self.variables["REDIS_URL"]), 10)
            return
        if name == "web":
            self.processes[name] = start_web(self.web_port, variables=self.variables)
            return
        arguments = {"engine": ENGINE, "llm": LLM, "beat": BEAT}[name]
        self.processes[name] = start(*arguments, variables=self.variables)

    def kill(self, name: str) -> None:
        """As the kernel does when memory is short."""
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def tend(self) -> None:
        """Starts again what has ended by itself, as the supervisor does: a Redis that dies can take a worker along."""
        for name, process in list(self.processes.items()):
            if process.poll() is not None:
                self.start(name)

    def answers(self) -> bool:
        """Whether the web process serves pages, and sees the database and Redis."""
        try:
            with urlopen(f"http://127.0.0.1:{self.web_port}/healthz", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """All of them, at once."""
        for name in self.processes:
            self.kill(name)


@pytest.fixture
def site(site_variables: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    site = Site(site_variables, tmp_path)
    yield site
    site.stop()


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_model_server({"faults": [{"kind": "latency", "seconds": [0.01, 0.1]}]}) as server:
        yield server


def is_over(run: Run, site: Site) -> bool:
    """Whether the run has ended; a failed one is told at once."""
    site.tend()
    run.refresh_from_db()
    assert run.status in (Run.Status.RUNNING, Run.Status.FINISHED), run.status_reason
    return run.is_over


def check(run: Run, seed: int, days: int) -> None:
    """The books are those of the same policies without a network, and every turn was answered once."""
    assert differences(run) == []
    assert decisions_of(run) == decisions_of(undisturbed(seed, days))
    answered = Ask.objects.filter(run=run, answered_at__isnull=False).count()
    assert answered == Turn.objects.filter(run=run).count() == run.turns
    used = Call.objects.filter(run=run, outcome="used").values("ask").annotate(count=Count("pk"))
    assert set(used.values_list("count", flat=True)) == {1}


def test_kills_of_any_process_cost_a_model_run_nothing_but_time(site: Site, server: RunningServer) -> None:
    chance, seed = random.Random(11), 5
    began = time.monotonic()
    run = new_run(server, seed, DAYS)
    plan = ["llm"] * KILLS + [name for name in ("engine", "redis", "web") for _ in range(math.ceil(KILLS / 4))]
    chance.shuffle(plan)
    killed: list[str] = []
    for name in plan:
        turns = run.turns
        eventually(lambda turns=turns: is_over(run, site) or run.turns > turns, 120)  # type: ignore[misc]
        if run.is_over:
            break
        time.sleep(chance.uniform(0, 1))
        site.kill(name)
        site.start(name)
        killed.append(name)
    eventually(lambda: is_over(run, site), 1200)
    eventually(site.answers, 60)
    check(run, seed, DAYS)
    outcomes = Counter(Call.objects.filter(run=run).values_list("outcome", flat=True))
    paid_again = sum(entry["status"] == 200 and entry["repeat"] > 0 for entry in server.log())
    print(f"{dict(Counter(killed))} killed, {run.turns} turns in {time.monotonic() - began:.0f} s")
    print(f"calls {dict(outcomes)}, answers the provider gave again {paid_again}")
    # At most those in flight when the worker that asks, or the Redis that calls it, was killed: six firms.
    assert paid_again <= 6 * sum(name in ("llm", "redis") for name in killed)


def test_many_model_runs_at_once_end_with_their_books_right(site: Site, server: RunningServer) -> None:
    days = max(3, DAYS // 10)
    began = time.monotonic()
    runs = [new_run(server, seed, days) for seed in range(RUNS)]
    eventually(lambda: all([is_over(run, site) for run in runs]), 3000)  # noqa: C419 - each is read anew
    print(f"{RUNS} runs of {days} days in {time.monotonic() - began:.0f} s")
    for seed, run in enumerate(runs):
        check(run, seed, days)
