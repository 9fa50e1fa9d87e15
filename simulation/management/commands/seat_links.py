"""Prints the links of a run's seats, makes new ones, or makes them void."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from simulation.models import Run, Seat
from simulation.seats import verbs
from simulation.seats.listing import lines_of_seats


class Command(BaseCommand):
    help = "Print who plays a run's seats, and each one's link or, for a program, its token. They are keys: keep them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, metavar="RUN", help="the run's number")
        parser.add_argument("--reissue", metavar="FIRM", help="make a new link for this firm, and every older one void")
        parser.add_argument("--revoke", metavar="FIRM", help="make this firm's link void")
        parser.add_argument(
            "--host", default="", help="where the site is, as http://127.0.0.1:8000 (default: from HOST, PORT)"
        )

    def handle(self, **options: Any) -> None:
        run = Run.objects.filter(pk=options["id"]).first()
        if run is None:
            raise CommandError(f"there is no run {options['id']}")
        if not run.seats.exists():
            raise CommandError(f"run {run.pk} has no seats: scripts and models play it")
        for option, change in (("reissue", verbs.reissue), ("revoke", verbs.revoke)):
            if options[option]:
                change(seat_at(run, options[option]))
        self.stdout.write("\n".join([f"Run {run.pk}, {run.name}:", *lines_of_seats(run, options["host"])]))


def seat_at(run: Run, firm: str) -> Seat:
    """The seat of a firm. Raises CommandError with those there are."""
    seats = {seat.firm.name: seat for seat in run.seats.select_related("run", "firm")}
    if firm not in seats:
        raise CommandError(f"{firm} has no seat in run {run.pk}; those with one are {', '.join(seats)}")
    return seats[firm]
