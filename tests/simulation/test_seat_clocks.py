"""Human time: spells without gaps, cut at the right second whoever looks when, and no model's latency among them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from simulation import control, runner
from simulation.engine.decision import WAIT
from simulation.engine.scenario import scenario_from
from simulation.models import Run, Seat, Spell
from simulation.seats import clocks, verbs
from tests.seat_play import answer_open_turn, move, play, seat_of, seated_run

pytestmark = pytest.mark.django_db

LASTS = {"days": 4, "evaluated": ""}
"""A run that no bankruptcy ends."""
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after somebody sat down."""
    return START + timedelta(seconds=seconds)


def taken(*firms: str) -> Seat:
    """The seat of roaster_A, taken at START with its turn open."""
    seat = seat_of(seated_run(*(firms or ("roaster_A",))), "roaster_A")
    Seat.objects.filter(pk=seat.pk).update(taken_at=START, last_seen_at=START, last_active_at=START)
    seat = seat_of(seat.run, "roaster_A")
    clocks.settle(seat, seat.run, START, has_turn=True)
    return seat


def spells(seat: Seat) -> list[tuple[str, float, float | None]]:
    """State, first second, last second of each spell."""
    return [
        (
            one.state,
            (one.began_at - START).total_seconds(),
            (one.ended_at - START).total_seconds() if one.ended_at else None,
        )
        for one in seat.spells.order_by("pk")
    ]


def beats(seat: Seat, until: int, *, active_until: int, every: int = 10) -> None:
    """Signs of life of a page, whose person did something before each one up to `active_until`."""
    for second in range(every, until + 1, every):
        clocks.beat(seat, at(second), is_active=second <= active_until)


def test_nobodys_time_is_counted_before_the_seat_is_taken() -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    clocks.beat(seat, START, is_active=True)
    assert spells(seat) == []
    verbs.take(seat)
    assert [state for state, *_ in spells(seat)] == ["active"]


def test_taking_a_seat_twice_changes_nothing() -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    verbs.take(seat)
    first = seat.taken_at
    verbs.take(seat)
    assert (seat_of(seat.run, "roaster_A").taken_at, len(spells(seat))) == (first, 1)


def test_a_person_at_work_is_active_in_one_spell() -> None:
    seat = taken()
    beats(seat, 120, active_until=120)
    assert spells(seat) == [("active", 0, None)]
    assert clocks.seconds_by_state(seat, at(130))["active"] == 130


def test_a_person_who_does_nothing_is_idle_from_the_sixtieth_second() -> None:
    seat = taken()
    beats(seat, 100, active_until=20)
    assert spells(seat) == [("active", 0, 80), ("idle", 80, None)]


def test_a_silent_page_is_disconnected_from_the_twenty_fifth_second_whoever_looks_when() -> None:
    seat = taken()
    beats(seat, 30, active_until=30)
    assert clocks.seconds_by_state(seat, at(50))["active"] == 50
    spent = clocks.seconds_by_state(seat, at(100))
    assert (spent["active"], spent["disconnected"]) == (55, 45)
    clocks.settle(seat, seat.run, at(100), has_turn=True)
    assert spells(seat) == [("active", 0, 55), ("disconnected", 55, None)]


def test_idle_and_then_disconnected_are_both_cut_where_they_began() -> None:
    """The last activity is at 10, the last beat at 60: idle from 70, gone from 85."""
    seat = taken()
    beats(seat, 60, active_until=10)
    clocks.settle(seat, seat.run, at(500), has_turn=True)
    assert spells(seat) == [("active", 0, 70), ("idle", 70, 85), ("disconnected", 85, None)]


def test_coming_back_ends_the_absence_at_that_second() -> None:
    seat = taken()
    clocks.beat(seat, at(200), is_active=False)
    clocks.beat(seat, at(203), is_active=True)
    assert spells(seat) == [
        ("active", 0, 25),
        ("disconnected", 25, 200),
        ("idle", 200, 203),
        ("active", 203, None),
    ]


def test_while_others_decide_the_person_waits_however_long_it_takes() -> None:
    """The other one takes an hour, and the person's page is silent: neither is charged as idle or disconnected."""
    seat = taken("roaster_A", "farmer_A")
    clocks.settle(seat, seat.run, at(20), has_turn=False)
    spent = clocks.seconds_by_state(seat, at(3620))
    assert (spent["active"], spent["waiting"], spent["idle"], spent["disconnected"]) == (20, 3600, 0, 0)
    clocks.beat(seat, at(3610), is_active=True)  # before the answer is stored, the turn is still theirs
    assert seat.spells.filter(state="waiting").count() == 1


def test_a_beat_that_comes_after_the_answer_does_not_take_the_time_back_from_waiting() -> None:
    run = seated_run("roaster_A", "farmer_A")
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    verbs.answer(seat, 1, WAIT)
    clocks.beat(seat, seat.run.status_since + timedelta(seconds=30), is_active=True)
    assert [state for state, *_ in spells(seat)] == ["active", "waiting"]


def test_the_turns_of_a_stand_in_are_waiting_time() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    assert [state for state, *_ in spells(seat)] == ["active", "waiting"]
    verbs.hand_back(seat)
    assert [state for state, *_ in spells(seat)] == ["active", "waiting", "active"]


def test_a_paused_run_pauses_the_clock_and_going_on_starts_it() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    control.pause_run(run.pk)
    assert [state for state, *_ in spells(seat)] == ["active", "paused"]
    control.resume_run(run.pk)
    assert [state for state, *_ in spells(seat)] == ["active", "paused", "active"]


def is_gapless(seat: Seat) -> bool:
    """Whether each spell begins where the one before it ended, the first when the seat was taken, one at most open."""
    all_spells = list(Spell.objects.filter(seat=seat).order_by("pk"))
    follows = all(before.ended_at == after.began_at for before, after in pairwise(all_spells))
    return follows and all_spells[0].began_at == seat_of(seat.run, seat.firm.name).taken_at


def test_the_spells_of_a_whole_run_have_no_gaps_and_add_up_to_the_wall_time() -> None:
    run = seated_run("roaster_A", "retailer_A", days=2)
    seats = [seat_of(run, firm) for firm in ("roaster_A", "retailer_A")]
    for seat in seats:
        verbs.take(seat)
    play(run, turns=6)
    control.pause_run(run.pk)
    control.resume_run(run.pk)
    move(run)
    verbs.hand_over(seats[0], Seat.Driver.SCRIPT)
    verbs.hand_back(seats[0])
    play(run)
    assert run.status == Run.Status.FINISHED
    for seat in seats:
        assert is_gapless(seat)
        last = Spell.objects.filter(seat=seat).latest("pk")
        assert last.ended_at is not None, "the run is over, and so is everybody's time"
        taken_at = seat_of(run, seat.firm.name).taken_at
        assert taken_at is not None
        much_later = last.ended_at + timedelta(hours=5)
        total = sum(clocks.seconds_by_state(seat, much_later).values())
        assert total == pytest.approx((last.ended_at - taken_at).total_seconds(), abs=1e-6)


def test_a_run_that_fails_or_is_cancelled_ends_everybodys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, failed = seated_run("roaster_A"), seated_run("roaster_A")
    for run in (cancelled, failed):
        verbs.take(seat_of(run, "roaster_A"))
    control.cancel_run(cancelled.pk)
    verbs.answer(seat_of(failed, "roaster_A"), 1, WAIT)
    Run.objects.filter(pk=failed.pk).update(rules_version="0.9")
    monkeypatch.setattr(runner, "shelf", runner.Shelf())
    assert move(failed).status == Run.Status.FAILED
    assert not Spell.objects.filter(ended_at=None).exists()


def test_the_time_in_which_a_run_had_failed_is_a_pause_once_it_goes_on() -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    verbs.take(seat)
    Run.objects.filter(pk=seat.run_id).update(lease_owner="a worker")
    runner.fail_run(seat.run_id, "a worker", "it broke")
    control.resume_run(seat.run_id)
    assert [state for state, *_ in spells(seat)] == ["active", "paused", "active"]
    assert is_gapless(seat)


def test_whoever_comes_late_to_the_lock_turns_no_clock_back() -> None:
    """An answer is stored at 30 by a process that had to wait for a beat of 33, and the run is paused at 31."""
    seat = taken()
    clocks.beat(seat, at(33), is_active=True)
    clocks.settle(seat, seat.run, at(30), has_turn=False)
    clocks.beat(seat, at(32), is_active=True)
    seat.run.status = Run.Status.PAUSED
    clocks.settle(seat, seat.run, at(31), has_turn=False)
    assert all(ended is None or ended >= began for _, began, ended in spells(seat))
    assert is_gapless(seat)
    assert sum(clocks.seconds_by_state(seat, at(40)).values()) == 40


def test_a_bankrupt_firm_s_person_waits_for_nobody() -> None:
    """The run goes on without them, for hours maybe."""
    run = seated_run("roaster_A", "farmer_A", scenario=scenario_from({"firms": {"roaster_A": {"cash": 30.0}}, **LASTS}))
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    play(run, lambda seat, turn: WAIT, turns=2)
    assert (run.status, seat_of(run, "roaster_A").firm.bankrupt_day) == (Run.Status.RUNNING, 1)
    assert not seat.spells.filter(ended_at=None).exists()
    clocks.beat(seat_of(run, "roaster_A"), seat.run.status_since + timedelta(hours=1), is_active=True)
    assert not seat.spells.filter(ended_at=None).exists()


def test_a_spell_says_on_which_day_of_the_run_it_began() -> None:
    run = seated_run("roaster_A")
    verbs.take(seat_of(run, "roaster_A"))
    answer_open_turn(run, "roaster_A")
    days = list(Spell.objects.order_by("pk").values_list("state", "day"))
    assert days == [("active", 0), ("waiting", 0), ("active", 1)]


def test_a_turn_that_opens_gives_its_person_a_minute_before_they_count_as_idle() -> None:
    seat = taken()
    clocks.settle(seat, seat.run, at(10), has_turn=False)
    Seat.objects.filter(pk=seat.pk).update(last_seen_at=at(198))
    seat.refresh_from_db()
    clocks.settle(seat, seat.run, at(200), has_turn=True)
    for second in range(210, 281, 10):
        clocks.beat(seat, at(second), is_active=False)
    assert spells(seat)[-2:] == [("active", 200, 260), ("idle", 260, None)]
