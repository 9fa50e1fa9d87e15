"""Human time: what the wall minutes at a seat went into, as spells of one state each that follow without gaps.

The server's clock counts. While a turn is open, a person who has given no sign for a minute is idle, and one whose page
has gone silent is disconnected; while others decide, the person waits, and no model's latency is charged to them. A
spell's end is worked out from the last signs of life, so it does not matter when anybody looks. A seat's time is over
with its run, or with its firm's bankruptcy.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db import transaction

from simulation.models import Run, Seat, Spell
from simulation.seats.turns import asks_of

IDLE_AFTER = timedelta(seconds=60)
GONE_AFTER = timedelta(seconds=25)
State = Spell.State
OWN_TURN = (State.ACTIVE, State.IDLE, State.DISCONNECTED)


class Stretch(NamedTuple):
    """Some wall time at a seat in one state; `is_open` when it goes on."""

    state: str
    day: int
    began_at: datetime
    ended_at: datetime
    is_open: bool


def settle(seat: Seat, run: Run, now: datetime, *, has_turn: bool) -> datetime:
    """Brings a seat's spells up to now. `has_turn` says whether it has the turn from now on.

    To be called whenever that, the run's status or the signs of life change: until then the old ones are taken to
    have held. Only seats that somebody has taken have spells. Returns up to when they are: not now where somebody
    who waited longer for the run's lock, or has another clock, came first and wrote down more.
    """
    if seat.taken_at is None:
        return now
    last = seat.spells.order_by("-pk").first()
    if last:
        now = max(now, last.ended_at or last.began_at)
    if last and last.ended_at is None:
        _pass_time(seat, last, now)
    _enter_state(seat, run, now, has_turn)
    return now


def _enter_state(seat: Seat, run: Run, now: datetime, has_turn: bool) -> None:
    """Begins another spell where the seat's state is another from now on; spells are up to now."""
    if run.is_over or seat.firm.bankrupt_day is not None:
        seat.spells.filter(ended_at=None).update(ended_at=now)
        return
    last = seat.spells.order_by("-pk").first()
    if last and last.ended_at is not None and last.ended_at < now:  # the run had failed, and goes on
        last = Spell.objects.create(seat=seat, state=State.PAUSED, day=last.day, began_at=last.ended_at, ended_at=now)
    is_new_turn = last is None or last.ended_at is not None or last.state not in OWN_TURN
    state = _state_now(seat, run, now, has_turn, now if is_new_turn else _began_active(last))
    if last is None or last.ended_at is not None or last.state != state:
        seat.spells.filter(ended_at=None).update(ended_at=now)
        Spell.objects.create(seat=seat, state=state, day=run.day, began_at=now)


def settle_run(run: Run, now: datetime) -> None:
    """Settles every seat of a run whose status has changed; a turn that was open stays so."""
    for seat in run.seats.select_related("run", "firm"):
        settle(seat, run, now, has_turn=_has_turn(seat))


def beat(seat: Seat, now: datetime, *, is_active: bool) -> None:
    """A sign of life from the seat's page; `is_active` when its person did something since the last one."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=seat.run_id)
        seat.refresh_from_db(fields=["taken_at", "driver", "last_seen_at", "last_active_at"])
        has_turn = _has_turn(seat)
        now = settle(seat, run, now, has_turn=has_turn)
        seat.last_seen_at = now
        seat.last_active_at = now if is_active else seat.last_active_at
        seat.save(update_fields=["last_seen_at", "last_active_at"])
        if seat.taken_at is not None:  # what is past stays as the old signs had it
            _enter_state(seat, run, now, has_turn)


def is_present(seat: Seat, now: datetime) -> bool:
    """Whether the seat's page has lately given a sign of life."""
    return seat.last_seen_at is not None and now - seat.last_seen_at <= GONE_AFTER


def seconds_by_state(seat: Seat, now: datetime) -> dict[str, float]:
    """How long the seat has been in each state, in seconds; the open spell counts up to now."""
    spent = {state.value: 0.0 for state in State}
    for stretch in stretches(seat, now):
        spent[stretch.state] += (stretch.ended_at - stretch.began_at).total_seconds()
    return spent


def stretches(seat: Seat, now: datetime) -> Iterator[Stretch]:
    """The seat's time from its first spell up to now, without gaps; read as it is walked through."""
    over = seat.spells.filter(ended_at__isnull=False).values_list("state", "day", "began_at", "ended_at")
    for state, day, began, ended in over.iterator():
        assert ended is not None
        yield Stretch(state, day, began, ended, is_open=False)
    for spell in seat.spells.filter(ended_at=None):
        for state, began, ended in _parts(seat, spell, now):
            yield Stretch(state, spell.day, began, ended, is_open=ended == now)


def _has_turn(seat: Seat) -> bool:
    last = asks_of(seat.firm_id).order_by("-pk").values("answered_at").first()
    return last is not None and last["answered_at"] is None


def _began_active(spell: Spell | None) -> datetime | None:
    """Since when a spell has been active: a turn that opens gives its person a minute, whatever they did before."""
    return spell.began_at if spell is not None and spell.state == State.ACTIVE else None


def _state_now(seat: Seat, run: Run, now: datetime, has_turn: bool, active_from: datetime | None) -> str:
    if not run.is_moving:
        return State.PAUSED
    if not has_turn or seat.driver != Seat.Driver.OWNER:
        return State.WAITING
    return _liveliness(seat, now, active_from)


def _liveliness(seat: Seat, at: datetime, active_from: datetime | None) -> str:
    if seat.last_seen_at is None or at - seat.last_seen_at > GONE_AFTER:
        return State.DISCONNECTED
    active_at = _last_active(seat, active_from)
    return State.IDLE if active_at is None or at - active_at > IDLE_AFTER else State.ACTIVE


def _last_active(seat: Seat, active_from: datetime | None) -> datetime | None:
    return max((moment for moment in (seat.last_active_at, active_from) if moment is not None), default=None)


def _parts(seat: Seat, spell: Spell, until: datetime) -> Iterator[tuple[str, datetime, datetime]]:
    """An open spell cut where the signs of life ended; one in which nothing more can end is whole."""
    if spell.state not in (State.ACTIVE, State.IDLE):
        yield spell.state, spell.began_at, until
        return
    active_from = _began_active(spell)
    active_at = _last_active(seat, active_from)
    cuts = [spell.began_at]
    if active_at:
        cuts.append(active_at + IDLE_AFTER)
    if seat.last_seen_at:
        cuts.append(seat.last_seen_at + GONE_AFTER)
    edges = [*sorted(cut for cut in cuts if spell.began_at <= cut < until), until]
    for began, ended in pairwise(edges):
        if began < ended:
            yield _liveliness(seat, began + (ended - began) / 2, active_from), began, ended


def _pass_time(seat: Seat, spell: Spell, now: datetime) -> None:
    """Writes down how an open spell went on by itself: from active to idle to disconnected."""
    parts = list(_parts(seat, spell, now))
    for state, began, _ in parts:
        if state != spell.state:
            spell.ended_at = began
            spell.save(update_fields=["ended_at"])
            spell = Spell.objects.create(seat=seat, state=state, day=spell.day, began_at=began)
