"""Replays recorded runs of the published benchmark and compares every number of the record."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from simulation.recorded import save_replay
from simulation.traces import Replay, TraceError, load_trace, replay_trace


class Command(BaseCommand):
    help = "Replay recorded runs; a line per trace, exit 1 and the first difference where one does not agree."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="+", type=Path, metavar="FILE", help="a trace, as tests/traces/calm-90.json.gz"
        )
        parser.add_argument("--save", action="store_true", help="also keep the runs in the tables")

    def handle(self, files: list[Path], *, save: bool, **options: Any) -> None:
        failed = 0
        for path in files:
            try:
                replay = replay_trace(load_trace(path))
            except TraceError as error:
                self.stderr.write(str(error))
                failed += 1
                continue
            failed += replay.difference is not None
            self.stdout.write(self._line(replay, save=save))
        if failed:
            raise CommandError(f"{failed} of {len(files)} traces do not agree", returncode=1)

    def _line(self, replay: Replay, *, save: bool) -> str:
        name = replay.trace.name
        if replay.difference:
            return f"{name}: {replay.difference}"
        line = f"{name}: ok, {len(replay.outcomes)} decisions in {replay.seconds:.2f} s"
        return f"{line}, saved as run {save_replay(replay).pk}" if save else line
