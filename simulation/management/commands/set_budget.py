"""Changes what a run may spend on models, as when a budget has paused it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from simulation.control import NotPossible, check_models, set_limits
from simulation.engine.scenario import problems_of
from simulation.models import Run
from simulation.players.llm.settings import Limits, ModelSettings


class Command(BaseCommand):
    help = "Set the budgets of a run, in USD; a run that a budget paused goes on when it is resumed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, metavar="ID", help="the run's number")
        parser.add_argument("--run", type=float, dest="budget_usd", metavar="USD", help="for the whole run")
        parser.add_argument("--day", type=float, dest="day_budget_usd", metavar="USD", help="for each simulated day")

    def handle(self, **options: Any) -> None:
        changes = {name: options[name] for name in ("budget_usd", "day_budget_usd") if options[name] is not None}
        if not changes:
            raise CommandError("name at least one budget: --run USD or --day USD")
        run = Run.objects.filter(pk=options["id"]).first()
        if run is None:
            raise CommandError(f"there is no run {options['id']}")
        try:
            limits = Limits.model_validate({**run.limits, **changes})
            models = {firm: ModelSettings.model_validate(settings) for firm, settings in run.model_settings.items()}
            check_models(run.players, models, limits)
            set_limits(run.pk, limits)
        except ValidationError as error:
            raise CommandError("; ".join(problems_of(error))) from None
        except NotPossible as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"run {run.pk}: {limits.budget_usd} USD in all, {limits.day_budget_usd} USD a day")
