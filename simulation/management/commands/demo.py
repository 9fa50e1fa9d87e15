"""Makes the demonstration run of a new installation: 90 days of scripts, slow enough to watch."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from simulation import control
from simulation.engine.scenario import scenario_from
from simulation.models import Run

PACE_SECONDS = 1.0


class Command(BaseCommand):
    help = "Start the demonstration run, if there is no run yet."

    def handle(self, **options: Any) -> None:
        if Run.objects.exists():
            return
        run = control.create_run(
            name="Demonstration", scenario=scenario_from({}), seed=0, players={}, pace_seconds=PACE_SECONDS
        )
        control.start_run(run.pk)
        self.stdout.write(f"Started the demonstration, run {run.pk}: {run.days} days, about one a second.")
