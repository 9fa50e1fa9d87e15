"""Seats as the runner keeps them: made with the run, and shown what an assisted player gets for free."""

from __future__ import annotations

from marketplace.rows import key_of
from simulation.engine.panels import panels_of
from simulation.engine.world import World
from simulation.models import Run, Seat
from simulation.players.registry import SEATED
from simulation.store import json_text


def has_seats(run: Run) -> bool:
    """Whether anybody outside plays in it."""
    return any(kind in SEATED for kind in run.players.values())


def make_seats(run: Run) -> None:
    """A seat for every firm that a person or a remote program plays. Wants the run's transaction."""
    Seat.objects.bulk_create(
        Seat(run=run, firm_id=key_of(run.pk, number))
        for number, kind in enumerate(run.players.values(), 1)
        if kind in SEATED
    )


def show_panels(run: Run, world: World) -> None:
    """Brings the panels of assisted seats up to date. Wants the run's transaction."""
    if run.information != Run.Information.ASSISTED or not has_seats(run):
        return
    for seat in run.seats.select_related("firm"):
        panels = json_text(panels_of(world.economy, world.seats[seat.firm.name].firm))
        Seat.objects.filter(pk=seat.pk).exclude(panels=panels).update(panels=panels)
