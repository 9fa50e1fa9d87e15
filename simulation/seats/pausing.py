"""A person's own pause: where nobody else is kept waiting by it, and being away has no consequence anyhow.

The run rests meanwhile, so the clocks book the time as paused, and no model is asked.
"""

from __future__ import annotations

from django.db import transaction

from simulation import status
from simulation.models import Run, Seat
from simulation.seats.verbs import SeatError

REASON = "paused by the one who plays"


def may_pause(seat: Seat) -> bool:
    """Whether the seat's person may stop the run: they sit at the table alone, and their study waits for the absent."""
    is_theirs = seat.taken_at is not None and seat.driver == Seat.Driver.OWNER and seat.absence == Seat.Absence.WAIT
    return is_theirs and not Seat.objects.filter(run_id=seat.run_id).exclude(pk=seat.pk).exists()


def is_paused(seat: Seat) -> bool:
    """Whether the run rests because the seat's person has stopped it."""
    return seat.run.status == Run.Status.PAUSED and seat.run.paused_by == Run.PausedBy.PLAYER


def pause(seat: Seat) -> None:
    """Stops the run until its person goes on, or the researcher lets it. Raises SeatError."""
    if not may_pause(seat):
        raise SeatError("This game is not yours alone to pause.")
    try:
        status.pause_run(seat.run_id, REASON, by=Run.PausedBy.PLAYER)
    except status.NotPossible:
        raise SeatError("The game does not move just now, so there is nothing to pause.") from None


def go_on(seat: Seat) -> None:
    """Lets the run go on that its person has stopped. Raises SeatError for one that somebody else did."""
    with transaction.atomic():
        seat.run = Run.objects.select_for_update().get(pk=seat.run_id)
        if not is_paused(seat):
            raise SeatError("You have not paused the game.")
        status.resume_run(seat.run_id)
