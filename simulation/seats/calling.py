"""Calling whoever is to answer the turns that wait: a model, a stand-in, a queue of actions, or the one at the seat."""

from __future__ import annotations

import json
from contextlib import suppress

from django.db import transaction
from django.utils import timezone

from simulation import announce, asking
from simulation.engine.decision import WAIT, Decision
from simulation.engine.world import NEW_DAY
from simulation.models import Ask, Run, Seat
from simulation.players.registry import kinds_for
from simulation.seats import clocks, verbs
from simulation.seats.seating import has_seats
from simulation.seats.substitute import stand_in_decision
from simulation.seats.turns import asks_of


def call_players(run: Run) -> None:
    """After commit: calls for an answer to every waiting turn of a run that moves. Safe to call at any time."""
    asks = list(asking.waiting_asks(run).select_related("firm"))
    seats = {seat.firm_id: seat for seat in run.seats.select_related("firm")} if has_seats(run) else {}
    to_models = [ask for ask in asks if ask.firm_id not in seats or seats[ask.firm_id].driver == Seat.Driver.MODEL]
    asking.call_models(run, to_models)
    waiting = {ask.firm_id for ask in asks}
    now = timezone.now()
    for seat in seats.values():
        clocks.settle(seat, run, now, has_turn=seat.firm_id in waiting)
        if seat.firm_id in waiting and answers_itself(seat):
            announce.ring_seat(seat.pk)


def call_again(run_id: int) -> None:
    """Calls for the answers a run waits for once more: the first call may have been lost."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.is_moving:
            call_players(run)


def answers_itself(seat: Seat) -> bool:
    """Whether a script or a queue of actions decides the seat's next turn."""
    if seat.driver == Seat.Driver.SCRIPT:
        return True
    return seat.driver == Seat.Driver.OWNER and bool(seat.queue) and not seat.queue_stopped


def answer_by_itself(seat_id: int) -> None:
    """Answers a seat's waiting turn with its script's decision or the next action of its queue, if it has one."""
    seat = Seat.objects.select_related("run", "firm").filter(pk=seat_id).first()
    ask = verbs.open_turn(seat) if seat else None
    if seat is None or ask is None or not answers_itself(seat):
        return
    with suppress(verbs.SeatError):  # answered by another, handed back or paused meanwhile
        if seat.driver == Seat.Driver.SCRIPT:
            _answer_by_script(seat, ask)
        else:
            _answer_by_queue(seat, ask)


def _answer_by_script(seat: Seat, ask: Ask) -> None:
    script = kinds_for(seat.firm.role)[0]
    verbs.answer(seat, ask.firm_turn, stand_in_decision(seat, ask, script), by=script)


def _answer_by_queue(seat: Seat, ask: Ask) -> None:
    """Takes the next action out of the queue in the same transaction in which it becomes the turn's answer."""
    with transaction.atomic():
        Run.objects.select_for_update().only("pk").get(pk=seat.run_id)
        seat.refresh_from_db(fields=["driver", "queue", "queue_stopped", "wants_rationale"])
        if not answers_itself(seat):
            return
        seat.queue_stopped = why_to_stop(ask, seat)
        if seat.queue_stopped:
            seat.save(update_fields=["queue_stopped"])
            announce.progress(seat.run, is_news=False)
            return
        action, *seat.queue = seat.queue
        seat.save(update_fields=["queue"])
        verbs.answer(seat, ask.firm_turn, Decision(**action))


def why_to_stop(ask: Ask, seat: Seat) -> str:
    """Why the queue is not to go on by itself; empty: it goes on.

    Its firm was woken, its last action was refused, or its next one lacks a reason that is asked for by now. A new day
    with no other news is no reason to stop where the action before it was to wait for that day.
    """
    if seat.wants_rationale and not seat.queue[0]["rationale"].strip():
        return "the next action has no reason, and by now every action needs one"
    given = json.loads(ask.given)
    result, observation = given["result"], given["observation"]
    if result is not None and not result["ok"]:
        return f"the last action was refused: {result['error']}"[:200]
    if observation is None or (observation["woken_by"] == [NEW_DAY] and _was_waiting(seat)):
        return ""
    return f"you were woken by {', '.join(observation['woken_by'])}"[:200]


def _was_waiting(seat: Seat) -> bool:
    last = asks_of(seat.firm_id).filter(answered_at__isnull=False).order_by("-pk").values("tool").first()
    return last is not None and last["tool"] == WAIT.tool
