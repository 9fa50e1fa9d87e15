"""Changes what a run may spend on models, as when a budget has paused it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from simulation.budgets import change_budgets
from simulation.control import NotPossible
from simulation.models import Run


def firm_budget(text: str) -> tuple[str, float]:
    """A firm and its budget in USD, as roaster_A=25."""
    firm, _, budget_usd = text.partition("=")
    try:
        return firm, float(budget_usd)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a firm and an amount, as roaster_A=25") from None


class Command(BaseCommand):
    help = "Set the budgets of a run, in USD; a run that a budget paused goes on when it is resumed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, metavar="ID", help="the run's number")
        parser.add_argument("--run", type=float, dest="budget_usd", metavar="USD", help="for the whole run")
        parser.add_argument("--day", type=float, dest="day_budget_usd", metavar="USD", help="for each simulated day")
        parser.add_argument(
            "--firm",
            type=firm_budget,
            action="append",
            default=[],
            metavar="FIRM=USD",
            help="for one firm, as roaster_A=25; may be given again",
        )

    def handle(self, **options: Any) -> None:
        names = ("budget_usd", "day_budget_usd")
        changes = {name: options[name] for name in names if options[name] is not None}
        if not changes and not options["firm"]:
            raise CommandError("name at least one budget: --run USD, --day USD or --firm FIRM=USD")
        try:
            run = change_budgets(options["id"], run_budgets=changes, firm_budgets=dict(options["firm"]))
        except Run.DoesNotExist:
            raise CommandError(f"there is no run {options['id']}") from None
        except NotPossible as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"run {run.pk}: {'; '.join(budgets_of(run)) or 'no budget'}")


def budgets_of(run: Run) -> list[str]:
    """The budgets of a run, in words."""
    own = {firm: settings.get("budget_usd") for firm, settings in run.model_settings.items()}
    budgets = {"in all": run.limits.get("budget_usd"), "a day": run.limits.get("day_budget_usd"), **own}
    return [f"{amount:,.2f} USD {what}" for what, amount in budgets.items() if amount is not None]
