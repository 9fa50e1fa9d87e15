"""Rebuilds stored runs from scenario, seed and decisions, and compares every projected row."""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from simulation.models import Run
from simulation.store import OtherRules, differences

DIFFERENCES_SHOWN = 20


class Command(BaseCommand):
    help = "Rebuild stored runs from their decisions; says identical, or lists differences and exits 1."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="+", type=int, metavar="ID", help="a run's number")

    def handle(self, ids: list[int], **options: Any) -> None:
        identical = [self._verify(run_id) for run_id in ids]
        if not all(identical):
            raise CommandError("not every run is identical to its decisions", returncode=1)

    def _verify(self, run_id: int) -> bool:
        try:
            with transaction.atomic():  # nobody moves the run while it is compared
                run = Run.objects.select_for_update().get(pk=run_id)
                found = differences(run)
        except Run.DoesNotExist:
            self.stdout.write(f"run {run_id}: there is no such run")
            return False
        except OtherRules as error:
            self.stdout.write(f"run {run_id}: {error}")
            return False
        if not found:
            self.stdout.write(f"run {run_id}: identical, {run.turns} decisions to day {run.day}")
            return True
        self.stdout.write(f"run {run_id}: {len(found)} differences")
        for difference in islice(found, DIFFERENCES_SHOWN):
            self.stdout.write(f"  {difference}")
        return False
