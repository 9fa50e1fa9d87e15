"""Times the engine, the saving of runs and the asking of models, on a fresh SQLite database of its own."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from coffeebench_site.redis_server import prepare_redis_server
from simulation import control, runner
from simulation.engine.scenario import Scenario, scenario_from
from simulation.engine.world import World
from simulation.lease import holder_name
from simulation.management.commands.simulate import SECONDS_BETWEEN_COMMITS
from simulation.players.registry import default_players, scripts_for
from simulation.recorded import save_replay
from simulation.traces import load_trace, replay_trace

ROUNDS = 3
TRACE = Path("tests/traces/calm-90.json.gz")


class Timed(NamedTuple):
    """How many decisions a piece of work took, and in what wall time."""

    decisions: int
    seconds: float


class Command(BaseCommand):
    help = "Replay calm-90 and play 90 and 365 days of scripts, in memory and saved to SQLite; the best of some rounds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each is done, from 1; else {ROUNDS}")
        parser.add_argument("--models", action="store_true", help="instead: how much longer than six models' answers")
        parser.add_argument("--days", type=int, default=5, help="with --models: days of each run")
        parser.add_argument("--latency-ms", type=int, default=200, help="with --models: how long each model thinks")
        parser.add_argument("--in-this-database", action="store_true", help="do not make a fresh database first")

    def handle(self, **options: Any) -> None:
        if options["rounds"] < 1:
            raise CommandError(f"--rounds must be 1 or more, not {options['rounds']}")
        if not options["in_this_database"]:
            self._in_a_fresh_database(options)
            return
        if options["models"]:
            self._time_models(options["days"], options["rounds"], options["latency_ms"])
            return
        results = {name: measure(memory, saved, options["rounds"]) for name, (memory, saved) in cases().items()}
        if options["json"]:
            self.stdout.write(json.dumps(results))
            return
        noise = noise_percent()
        self.stdout.write(
            f"{'':12}{'decisions':>11}{'memory, s':>11}{'saved, s':>11}{'decisions/s':>13}{'saved/s':>11}"
        )
        for name, result in results.items():
            count, memory_s, saved_s = result["decisions"], result["memory_s"], result["saved_s"]
            self.stdout.write(
                f"{name:12}{count:11,}{memory_s:11.3f}{saved_s:11.3f}{count / memory_s:13,.0f}{count / saved_s:11,.0f}"
            )
        self.stdout.write(
            f"Best of {options['rounds']}. "
            f"The same work took up to {noise:.0f} % longer at other times on this machine just now."
        )

    def _time_models(self, days: int, count: int, latency_ms: int) -> None:
        from tests.soak.overhead import rounds_of

        self.stdout.write(f"{'wall time':14}{'s':>8}{'steps':>8}{'calls':>8}{'/ slowest seen':>16}{'/ latency':>11}")
        rounds = []
        for each in rounds_of(days, count, latency_ms / 1000):
            rounds.append(each)
            self.stdout.write(
                f"{f'{days} days':14}{each.wall_seconds:8.1f}{each.steps:8,}{each.calls:8,}"
                f"{each.of_seen:16.3f}{each.of_latency:11.3f}"
            )
        seen, latency = sorted(each.of_seen for each in rounds), sorted(each.of_latency for each in rounds)
        self.stdout.write(
            f"By the steps' slowest answers, as the worker saw them: {seen[0]:.3f} to {seen[-1]:.3f}, "
            f"by {latency_ms} ms a step: {latency[0]:.3f} to {latency[-1]:.3f}. "
            f"The same work took up to {noise_percent():.0f} % longer at other times on this machine just now."
        )

    def _in_a_fresh_database(self, options: dict[str, Any]) -> None:
        """Runs itself again on an empty SQLite file, so that neither old rows nor another database count."""
        with tempfile.TemporaryDirectory(prefix="coffeebench-bench-") as folder:
            variables = {
                **os.environ,
                "VAR_DIR": folder,
                "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
                "REDIS_URL": prepare_redis_server(Path(folder) / "redis").address,
            }
            manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
            again = ["bench", "--in-this-database", *(f"--{name}" for name in ("json", "models") if options[name])]
            again += [f"--{name.replace('_', '-')}={options[name]}" for name in ("rounds", "days", "latency_ms")]
            for arguments in (["migrate", "--verbosity", "0"], again):
                if subprocess.run([*manage, *arguments], env=variables).returncode:
                    raise CommandError(f"`manage.py {arguments[0]}` failed; see above")


def cases() -> dict[str, tuple[Callable[[], Timed], Callable[[], Timed]]]:
    """Name → what to time in memory, and what to time with every row saved."""
    return {
        "replay_90": (replay_in_memory, replay_saved),
        "play_90": (lambda: play_in_memory(90), lambda: play_saved(90)),
        "play_365": (lambda: play_in_memory(365), lambda: play_saved(365)),
    }


def measure(memory: Callable[[], Timed], saved: Callable[[], Timed], count: int) -> dict[str, Any]:
    """The best of some rounds of each."""
    in_memory = best(memory, count)
    with_rows = best(saved, count)
    return {"decisions": in_memory.decisions, "memory_s": in_memory.seconds, "saved_s": with_rows.seconds}


def best(work: Callable[[], Timed], count: int) -> Timed:
    """The shortest of some rounds, each begun without the garbage of the one before."""
    rounds = []
    for _ in range(count):
        gc.collect()
        rounds.append(work())
    return min(rounds, key=lambda timed: timed.seconds)


def replay_in_memory() -> Timed:
    """The recorded decisions of calm-90 applied."""
    replay = replay_trace(load_trace(settings.BASE_DIR / TRACE))
    return Timed(len(replay.outcomes), replay.seconds)


def replay_saved() -> Timed:
    """The same, and every row of it written."""
    replay = replay_trace(load_trace(settings.BASE_DIR / TRACE))
    began = time.perf_counter()
    save_replay(replay)
    return Timed(len(replay.outcomes), replay.seconds + time.perf_counter() - began)


def play_in_memory(days: int) -> Timed:
    """A run of scripts."""
    scenario = scenario_of_days(days)
    world, players = World(scenario, 0), scripts_for(scenario, default_players(scenario))
    began = time.perf_counter()
    while step := world.open_step():
        world.apply({name: players[name].decide(world.view(name)) for name in step.firms})
    return Timed(world.turns, time.perf_counter() - began)


def play_saved(days: int) -> Timed:
    """The same as `simulate` plays it, committed as it goes."""
    run = control.create_run(name="bench", scenario=scenario_of_days(days), seed=0, players={})
    began = time.perf_counter()
    holder = holder_name()
    game = runner.load_game(control.start_run(run.pk, holder))
    runner.play(game, holder, seconds=float("inf"), commit_every=SECONDS_BETWEEN_COMMITS)
    return Timed(game.world.turns, time.perf_counter() - began)


def scenario_of_days(days: int) -> Scenario:
    """The paper's scenario over that many days."""
    return scenario_from({"days": days})


def noise_percent() -> float:
    """How much longer a fixed piece of arithmetic takes at its slowest than at its fastest, over a second or so."""
    times = []
    for _ in range(20):
        began = time.perf_counter()
        sum(range(1_000_000))
        times.append(time.perf_counter() - began)
    return 100 * (max(times) / min(times) - 1)
