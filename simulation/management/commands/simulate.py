"""Plays a run of scripts in this process, saves it, and prints its figures of merit."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from simulation import control, runner
from simulation.engine.scenario import ScenarioError, scenario_from_file
from simulation.engine.world import World
from simulation.lease import holder_name
from simulation.models import Run
from simulation.players.registry import PlayersError
from simulation.report import figures_of, table_of
from simulation.store import OtherRules

SECONDS_BETWEEN_COMMITS = 0.25


class Command(BaseCommand):
    help = "Play a run of scripted firms, save it, and print net income, revenue and activity of each firm."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="days to play (default: the scenario's, 90)")
        parser.add_argument("--seed", type=int, default=0, help="seed of all chance (default: 0)")
        parser.add_argument(
            "--player",
            action="append",
            default=[],
            metavar="FIRM=KIND",
            help="who plays a firm, as roaster_A=passive; may be given again",
        )
        parser.add_argument("--scenario", type=Path, default=Path(), metavar="FILE", help="scenario as TOML")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            dest="parameters",
            metavar="KEY=VALUE",
            help="a scenario parameter, as late_fee=0.002; may be given again",
        )
        parser.add_argument("--name", help="what to call the run")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        parser.add_argument("--resume", type=int, metavar="ID", help="go on with a run that was interrupted")

    def handle(self, **options: Any) -> None:
        try:
            run = self._new_run(options) if options["resume"] is None else self._old_run(options["resume"])
        except (ScenarioError, PlayersError) as error:
            raise CommandError("\n".join(error.problems)) from None
        except control.NotPossible as error:
            raise CommandError(str(error)) from None
        run = self._play(run)
        if options["json"]:
            self.stdout.write(json.dumps(figures_of(run)))
        else:
            self.stdout.write(
                f"Run {run.pk}, {run.name}: {run.status} on day {run.day} of {run.days}.\n{table_of(run)}"
            )

    def _new_run(self, options: dict[str, Any]) -> Run:
        settings = list(options["parameters"])
        if options["days"] is not None:
            settings.append(f"days={options['days']}")
        scenario = scenario_from_file(options["scenario"], settings)
        players = dict(pair.partition("=")[::2] for pair in options["player"])
        name = options["name"] or f"{scenario.name}, seed {options['seed']}"
        return control.create_run(name=name[:80], scenario=scenario, seed=options["seed"], players=players)

    def _old_run(self, run_id: int) -> Run:
        run = Run.objects.filter(pk=run_id).first()
        if run is None:
            raise CommandError(f"there is no run {run_id}")
        return run

    def _hold(self, run: Run, holder: str) -> Run:
        """Starts or resumes the run in this process's hands."""
        if run.status == Run.Status.DRAFT:
            return control.start_run(run.pk, holder)
        if run.status in (Run.Status.PAUSED, Run.Status.FAILED):
            return control.resume_run(run.pk, holder)
        if run.is_over:
            raise CommandError(f"run {run.pk} is {run.status}; there is nothing left to play")
        leased = runner.take_lease(run.pk, holder)
        if leased is None:
            raise CommandError(f"run {run.pk} is being played by another process; try again in half a minute")
        return leased

    def _play(self, run: Run) -> Run:
        holder = holder_name()
        leased = self._hold(run, holder)
        try:
            return self._play_to_the_end(leased, holder)
        except KeyboardInterrupt:
            control.pause_run(run.pk, "interrupted at the keyboard")
            self.stderr.write(f"\nInterrupted. Go on with: python manage.py simulate --resume {run.pk}")
            sys.exit(130)
        except OtherRules as error:
            raise CommandError(str(error)) from None
        except runner.LeaseLost as error:
            raise CommandError(f"stopped playing: {error}") from None

    def _play_to_the_end(self, run: Run, holder: str) -> Run:
        game = runner.load_game(run)
        with tqdm(total=run.days, unit="day", initial=run.day, desc=f"run {run.pk}", disable=None, leave=False) as bar:

            def show_day(world: World) -> None:
                if world.day != bar.n:
                    bar.update(world.day - bar.n)

            return runner.play(
                game,
                holder,
                seconds=float("inf"),
                commit_every=SECONDS_BETWEEN_COMMITS,
                on_step=show_day,
            )
