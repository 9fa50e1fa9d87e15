"""What is done about people who are away: the rule that their seat declares, once it has been silent for long."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from simulation.engine.decision import WAIT
from simulation.models import Ask, Run, Seat
from simulation.seats import verbs


def apply_rules(now: datetime) -> None:
    """Applies the rule of every seat whose person has let an open turn lie for longer than allowed."""
    waiting = Seat.objects.filter(run__status=Run.Status.RUNNING, driver=Seat.Driver.OWNER)
    due = waiting.exclude(absence=Seat.Absence.WAIT).exclude(Q(extended_until__gt=now))
    for seat in due.select_related("run", "firm"):
        if turn_left_lying(seat, now):
            with suppress(verbs.SeatError), transaction.atomic():
                Run.objects.select_for_update().only("pk").get(pk=seat.run_id)
                seat.refresh_from_db()
                turn = turn_left_lying(seat, now)  # its person may have come back while the lock was waited for
                if turn:
                    apply_rule(seat, turn)


def turn_left_lying(seat: Seat, now: datetime) -> Ask | None:
    """The turn that a seat's person has let lie for longer than its rule allows."""
    turn = verbs.open_turn(seat)
    if turn is None or seat.driver != Seat.Driver.OWNER:
        return None
    return turn if now - silent_since(seat, turn) > timedelta(minutes=seat.absence_minutes) else None


def silent_since(seat: Seat, turn: Ask) -> datetime:
    """Since when an open turn has seen no sign of its person, nor had a reason for there being none."""
    moments = (turn.created_at, seat.last_active_at, seat.extended_until, seat.driver_since, seat.run.status_since)
    return max(moment for moment in moments if moment is not None)


def apply_rule(seat: Seat, turn: Ask) -> None:
    """Waits for the next day in the person's place, or hands the seat over."""
    if seat.absence == Seat.Absence.DEFAULT:
        verbs.answer(seat, turn.firm_turn, WAIT, by=verbs.TIMEOUT)
    else:
        verbs.hand_over(seat, seat.absence, may_take_back=True)
