"""Plays a run of scripts, or an experiment of several, in this process, saves them, and prints figures of merit."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from tqdm import tqdm

from simulation import control, runner
from simulation.engine.scenario import ScenarioError, scenario_from_file
from simulation.engine.world import World
from simulation.experiments import (
    Experiment,
    ExperimentError,
    create_run_of,
    load_experiment,
    start_experiment,
    summary_of,
)
from simulation.interrupt import Interrupted, interrupts_noted
from simulation.lease import holder_name
from simulation.models import Run
from simulation.players.registry import SEATED, PlayersError
from simulation.report import figures_of, table_of
from simulation.seats.listing import lines_of_seats
from simulation.seats.seating import has_seats
from simulation.store import OtherRules

SECONDS_BETWEEN_COMMITS = 0.25
# What a file of an experiment says itself, with what each option is if nobody has given it.
SAID_BY_THE_FILE: dict[str, Any] = {
    "days": None,
    "player": [],
    "scenario": Path(),
    "parameters": [],
    "name": None,
    "resume": None,
}
SEATS_NEED_THE_SITE = (
    "{firms} would wait here for ever for its player: people and remote programs play on the site (make run); "
    "give --start to begin the run there and print the links of its seats"
)


def _refuse_seats_here(players: Mapping[str, str], options: dict[str, Any]) -> None:
    seated = [firm for firm, kind in players.items() if kind in SEATED]
    if seated and not options["start"]:
        raise CommandError(SEATS_NEED_THE_SITE.format(firms=", ".join(seated)))


def _told_of_started(runs: Iterable[Run]) -> str:
    lines = []
    for run in runs:
        lines += [f"Run {run.pk}, {run.name}: started; the site shows it.", *lines_of_seats(run)]
    return "\n".join(lines)


class Command(BaseCommand):
    help = "Play a run of scripted firms, save it, and print net income, revenue and activity of each firm."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="days to play (default: the scenario's, 90)")
        parser.add_argument(
            "--seed",
            type=int,
            nargs="+",
            action="extend",
            metavar="N",
            help="seed of all chance (default: 0); several with --config (default: the file's)",
        )
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
        parser.add_argument("--config", type=Path, metavar="FILE", help="an experiment as TOML: a run for each seed")
        parser.add_argument(
            "--start",
            action="store_true",
            help="let the site's workers play the runs, and print the links of their seats",
        )

    def handle(self, **options: Any) -> None:
        if options["config"] is not None:
            self._experiment(options)
            return
        if options["start"] and options["resume"] is not None:
            raise CommandError("a run that is on the site is resumed on its page: --start is for new ones")
        try:
            if options["start"]:
                self._start(options)
                return
            run = self._new_run(options) if options["resume"] is None else self._old_run(options["resume"])
        except (ScenarioError, PlayersError) as error:
            raise CommandError("\n".join(error.problems)) from None
        except control.NotPossible as error:
            raise CommandError(str(error)) from None
        run = self._play(run)
        if options["json"]:
            self.stdout.write(json.dumps(figures_of(run)))
        else:
            self._tell(run)

    def _new_run(self, options: dict[str, Any]) -> Run:
        settings = list(options["parameters"])
        if options["days"] is not None:
            settings.append(f"days={options['days']}")
        scenario = scenario_from_file(options["scenario"], settings)
        players = dict(pair.partition("=")[::2] for pair in options["player"])
        _refuse_seats_here(players, options)
        seeds = options["seed"] or [0]
        if len(seeds) > 1:
            raise CommandError("several seeds go with --config")
        name = options["name"] or f"{scenario.name}, seed {seeds[0]}"
        return control.create_run(name=name[:80], scenario=scenario, seed=seeds[0], players=players)

    def _start(self, options: dict[str, Any]) -> None:
        """Makes a run and starts it, for the site's workers to play."""
        with transaction.atomic():
            run = control.start_run(self._new_run(options).pk)
        self.stdout.write(json.dumps({"run": run.pk}) if options["json"] else _told_of_started([run]))

    def _experiment(self, options: dict[str, Any]) -> None:
        """Plays an experiment seed by seed, or has the workers play it: always where models play, as only they can."""
        experiment = self._loaded(options)
        _refuse_seats_here(experiment.players, options)
        try:
            if options["start"] or experiment.models:
                runs = start_experiment(experiment)
                told = _told_of_started(runs)
            else:
                runs = [self._play_seed(experiment, seed, quiet=options["json"]) for seed in experiment.seeds]
                told = summary_of(runs)
        except PlayersError as error:
            raise CommandError("\n".join(error.problems)) from None
        except control.NotPossible as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps({"runs": [figures_of(run) for run in runs]}) if options["json"] else told)

    def _loaded(self, options: dict[str, Any]) -> Experiment:
        given = [f"--{name}" for name, usual in SAID_BY_THE_FILE.items() if options[name] != usual]
        if given:
            raise CommandError(f"with --config the file says that: {', '.join(given).replace('parameters', 'set')}")
        try:
            experiment = load_experiment(options["config"])
        except ExperimentError as error:
            raise CommandError("\n".join(f"{options['config']}: {problem}" for problem in error.problems)) from None
        try:
            return experiment.with_seeds(options["seed"] or experiment.seeds)
        except ExperimentError as error:
            raise CommandError("\n".join(error.problems)) from None

    def _play_seed(self, experiment: Experiment, seed: int, *, quiet: bool) -> Run:
        run = self._play(create_run_of(experiment, seed))
        if not quiet:
            self._tell(run)
            self.stdout.write("")
        return run

    def _tell(self, run: Run) -> None:
        self.stdout.write(f"Run {run.pk}, {run.name}: {run.status} on day {run.day} of {run.days}.\n{table_of(run)}")

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
        if run.model_settings:
            raise CommandError(f"models play in run {run.pk}; they need the workers of the site: resume it on its page")
        if has_seats(run):
            raise CommandError(f"run {run.pk} is played at seats, and goes on only on the site: resume it on its page")
        leased = self._hold(run, holder)
        try:
            with interrupts_noted() as obey_interrupt:
                return self._play_to_the_end(leased, holder, obey_interrupt)
        except Interrupted:
            control.pause_run(run.pk, "interrupted at the keyboard")
            self.stderr.write(f"\nInterrupted. Go on with: python manage.py simulate --resume {run.pk}")
            sys.exit(130)
        except OtherRules as error:
            raise CommandError(str(error)) from None
        except runner.LeaseLost as error:
            raise CommandError(f"stopped playing: {error}") from None

    def _play_to_the_end(self, run: Run, holder: str, obey_interrupt: Callable[[], None]) -> Run:
        game = runner.load_game(run)
        with tqdm(total=run.days, unit="day", initial=run.day, desc=f"run {run.pk}", disable=None, leave=False) as bar:

            def show_day(world: World) -> None:
                obey_interrupt()
                if world.day != bar.n:
                    bar.update(world.day - bar.n)

            return runner.play(
                game,
                holder,
                seconds=float("inf"),
                commit_every=SECONDS_BETWEEN_COMMITS,
                on_step=show_day,
            )
