"""What may be done at a seat and to one: checked and written under the run's lock, told after commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from marketplace.rows import in_run
from simulation import announce
from simulation.engine.decision import Decision, printable, readable
from simulation.engine.tools import tools_of
from simulation.models import Ask, Run, Seat
from simulation.seats import clocks
from simulation.seats.turns import asks_of

MOST_QUEUED = 40
MOST_NOTES = 50_000
NOT_STARTED = "not started yet"
TIMEOUT = "timeout"
"""Who decided, where the rule for absence did."""


class SeatError(Exception):
    """Something a seat cannot do now; says why and what to do instead. Nothing has changed."""


class NoSuchTurn(SeatError):
    """The turn that was answered is not the seat's open one."""


class AlreadyDecided(NoSuchTurn):
    """The turn has another answer already, from another tab, the queue, or whoever stood in."""


class Receipt(NamedTuple):
    """That an answer is stored; `is_repeat` when it was stored before and this is the same once more."""

    turn: int
    is_repeat: bool


def open_turn(seat: Seat) -> Ask | None:
    """The turn that waits for this seat's answer."""
    last = asks_of(seat.firm_id).order_by("-pk").first()
    return last if last is not None and last.answered_at is None else None


def take(seat: Seat) -> None:
    """Somebody sits down: from now on the seat's time is counted. Doing it again changes nothing."""
    now = timezone.now()
    with transaction.atomic():
        _lock(seat)
        if seat.taken_at is None:
            seat.taken_at = seat.last_seen_at = seat.last_active_at = now
            seat.save(update_fields=["taken_at", "last_seen_at", "last_active_at"])
        clocks.settle(seat, seat.run, now, has_turn=open_turn(seat) is not None)
        _tell(seat)


def answer(seat: Seat, number: int, decision: Decision, *, by: str = "") -> Receipt:
    """Stores the decision for the seat's turn of that number, once, and lets the run go on.

    The same decision again is answered as the first time. Raises AlreadyDecided for another one, NoSuchTurn for a
    turn that is not open, SeatError when the run does not move. `by` names who decided if not the seat's own player.
    """
    decision = readable(decision)
    arguments = json.dumps(decision.arguments)
    now = timezone.now()
    with transaction.atomic():
        run = _lock(seat)
        ask = asks_of(seat.firm_id).filter(firm_turn=number).first()
        if ask is None:
            raise NoSuchTurn(f"There is no turn {number} at this seat; {_where(seat)}.")
        if ask.answered_at:
            if ask.tool == decision.tool and _same(ask.arguments, arguments):
                return Receipt(number, is_repeat=True)
            raise AlreadyDecided(f"Turn {number} is decided already, with {ask.tool or 'no call'}; {_where(seat)}.")
        if not run.is_moving:
            waits = "" if run.status == Run.Status.STOPPED else "your turn waits, and "
            raise SeatError(f"The run is {run.get_status_display().lower()}; {waits}nothing was sent.")
        _check_who_decides(seat, decision, by)
        ask.tool, ask.arguments, ask.rationale = decision.tool, arguments, decision.rationale
        ask.decided_by, ask.answered_at = by, now
        ask.lease_owner, ask.lease_until = "", None
        ask.save()
        clocks.settle(seat, run, now, has_turn=False)
        others = Ask.objects.filter(**in_run(run.pk), step=ask.step, answered_at__isnull=True)
        if not others.exists():
            # A paced run is not due before its next day.
            early = (run.not_before - now).total_seconds() if run.not_before else 0
            announce.ring(run.pk, delay_seconds=max(0, early))
        _tell(seat)
    return Receipt(number, is_repeat=False)


def _same(stored: str, sent: str) -> bool:
    """Whether two texts hold the same arguments, in whatever order."""
    return stored == sent or bool(json.loads(stored) == json.loads(sent))


def _check_who_decides(seat: Seat, decision: Decision, by: str) -> None:
    is_owner = by in ("", TIMEOUT)
    if is_owner and seat.driver != Seat.Driver.OWNER:
        raise SeatError(f"A {seat.driver} plays this seat just now; nothing was sent.")
    if not is_owner and seat.driver == Seat.Driver.OWNER:
        raise SeatError("The seat was handed back meanwhile; its player decides.")
    if not by and seat.wants_rationale and not decision.rationale.strip():
        raise SeatError("This study asks for a reason for every action; nothing was sent.")


def _where(seat: Seat) -> str:
    turn = open_turn(seat)
    return f"your turn is number {turn.firm_turn}" if turn else "it is not your turn now"


# The queue of actions to come.


def set_queue(seat: Seat, actions: list[Decision]) -> None:
    """Replaces the actions to come, and lets them go on. Raises SeatError naming an action that can never work."""
    with transaction.atomic():
        _change(seat, queue=queueable(seat, actions), queue_stopped=NOT_STARTED if actions else "")
        go_on_with_queue(seat)


def queueable(seat: Seat, actions: list[Decision]) -> list[dict[str, Any]]:
    """The actions as the queue keeps them. Raises SeatError naming one that can never work."""
    if len(actions) > MOST_QUEUED:
        raise SeatError(f"{len(actions)} actions are too many for the queue: at most {MOST_QUEUED} are allowed.")
    known = tools_of(seat.firm.role)
    queue: list[dict[str, Any]] = []
    for place, action in enumerate(map(readable, actions), 1):
        if action.tool not in known:
            raise SeatError(f"Action {place}: there is no tool {action.tool!r}; the tools are {', '.join(known)}.")
        if seat.wants_rationale and not action.rationale.strip():
            raise SeatError(f"Action {place}, {action.tool}: this study asks for a reason for every action.")
        queue.append(action._asdict())
    return queue


def change_queue(seat: Seat, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Changes the actions to come, as they stand when nobody else can take one of them; whether they run stays so.

    A queue that was empty waits to be started. Raises SeatError as `set_queue` does, and what `change` raises.
    """
    with transaction.atomic():
        _lock(seat)
        stopped = seat.queue_stopped if seat.queue else NOT_STARTED
        actions = [Decision(**action) for action in change(list(seat.queue))]
        _change(seat, queue=queueable(seat, actions), queue_stopped=stopped if actions else "")


def stop_queue(seat: Seat) -> None:
    """Lets the actions to come wait, at the person's wish."""
    if seat.queue:
        _change(seat, queue_stopped="stopped by you")


def go_on_with_queue(seat: Seat) -> None:
    """Lets the actions to come run, again after something stopped them.

    The first one answers a turn that is open: whoever lets them go on has seen what woke the firm or was refused.
    """
    with transaction.atomic():
        run = _lock(seat)
        turn = open_turn(seat)
        if turn and seat.queue and run.is_moving and seat.driver == Seat.Driver.OWNER:
            action, *seat.queue = seat.queue
            seat.save(update_fields=["queue"])
            answer(seat, turn.firm_turn, Decision(**action))
        _change(seat, queue_stopped="")


def write_notes(seat: Seat, text: str) -> None:
    """Keeps the person's own notes. Raises SeatError where they are too long."""
    if len(text) > MOST_NOTES:
        raise SeatError(f"The notes have {len(text):,} characters; {MOST_NOTES:,} are allowed. The last ones are kept.")
    Seat.objects.filter(pk=seat.pk).update(notes=printable_notes(text))


def printable_notes(text: str) -> str:
    """Notes that any table can hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


# The researcher's.


def hand_over(seat: Seat, driver: str, *, may_take_back: bool = False) -> None:
    """Lets the role's script, or the language model named for the seat, play it until it is handed back.

    `may_take_back` where the person's absence brings it: once they are back, they may end it themselves.
    """
    if driver not in (Seat.Driver.SCRIPT, Seat.Driver.MODEL):
        raise SeatError(f"A seat can be handed over to a script or a model, not to {driver!r}.")
    if driver == Seat.Driver.MODEL and seat.firm.name not in seat.run.model_settings:
        raise SeatError(f"No language model is named to stand in for {seat.firm.name}; hand it over to the script.")
    if seat.is_over:
        raise SeatError("Nothing is left to play at this seat.")
    _let_play(seat, driver, may_take_back=may_take_back)


def hand_back(seat: Seat) -> None:
    """Gives the seat back to whoever holds its link: at once, a model that is thinking comes too late."""
    _let_play(seat, Seat.Driver.OWNER, may_take_back=False)


def _let_play(seat: Seat, driver: str, *, may_take_back: bool) -> None:
    with transaction.atomic():
        _lock(seat)
        if driver != seat.driver:
            asks_of(seat.firm_id).filter(answered_at__isnull=True).update(lease_owner="", lease_until=None)
        _change(seat, driver=driver, driver_since=timezone.now(), may_take_back=may_take_back)


def take_back(seat: Seat) -> None:
    """The person is back and plays on. Raises SeatError where the researcher handed the seat over."""
    if seat.driver == Seat.Driver.OWNER:
        raise SeatError("Nobody stands in at this seat; whoever holds its link plays.")
    if not seat.may_take_back:
        raise SeatError("The researcher has handed this seat over; only the researcher can hand it back.")
    hand_back(seat)


def nudge(seat: Seat, text: str) -> None:
    """Shows a line on the seat's page, and sounds its bell."""
    _change(seat, nudge=printable(text)[:200], nudged_at=timezone.now())


def extend(seat: Seat, minutes: int) -> None:
    """Lets absence have no consequence for some minutes from now."""
    if not 1 <= minutes <= 10_080:
        raise SeatError(f"{minutes} minutes cannot be given: 1 to 10,080 (a week) are allowed.")
    _change(seat, extended_until=timezone.now() + timedelta(minutes=minutes))


def revoke(seat: Seat) -> None:
    """Makes the seat's link void; its player can do nothing until another is issued."""
    _change(seat, is_revoked=True)


def reissue(seat: Seat) -> None:
    """Makes every link given out void; `links.token_of` gives the new one. The seat stands where it stood."""
    _change(seat, link_number=seat.link_number + 1, is_revoked=False)


def set_rules(seat: Seat, *, absence: str, absence_minutes: int, wants_rationale: bool, label: str = "") -> None:
    """Declares what happens when the person is away, and whether every action needs a reason."""
    if absence not in Seat.Absence:
        raise SeatError(f"The rule for absence {absence!r} is none of {', '.join(Seat.Absence)}.")
    if not 1 <= absence_minutes <= 10_080:
        raise SeatError(f"{absence_minutes} minutes of absence: 1 to 10,080 are allowed.")
    if absence == Seat.Absence.MODEL and seat.firm.name not in seat.run.model_settings:
        raise SeatError(f"No language model is named to stand in for {seat.firm.name}.")
    _change(
        seat,
        absence=absence,
        absence_minutes=absence_minutes,
        wants_rationale=wants_rationale,
        label=printable(label)[:80],
    )


def _lock(seat: Seat) -> Run:
    """Takes the run's lock and reads the seat again; whatever else the caller knows may be old."""
    run = Run.objects.select_for_update().get(pk=seat.run_id)
    seat.refresh_from_db()
    seat.run = run
    return run


def _change(seat: Seat, **values: Any) -> None:
    """Writes some fields under the run's lock, and calls whoever may now answer."""
    from simulation.seats import calling

    with transaction.atomic():
        run = _lock(seat)
        clocks.settle(seat, run, timezone.now(), has_turn=open_turn(seat) is not None)
        for name, value in values.items():
            setattr(seat, name, value)
        seat.save(update_fields=list(values))
        if run.is_moving:
            calling.call_players(run)
        _tell(seat)


def _tell(seat: Seat) -> None:
    announce.progress(seat.run, is_news=False)
