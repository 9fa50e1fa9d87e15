"""Letting a run go on for one day."""

from __future__ import annotations

import pytest

from simulation import announce, control, runner
from simulation.engine.scenario import scenario_from
from simulation.models import Run
from simulation.seats import verbs
from simulation.store import differences
from tests.seat_play import answer_open_turn, move, seat_of, seated_run

pytestmark = pytest.mark.django_db


def new_run(**players: str) -> Run:
    """A run of five days, not started."""
    return control.create_run(name="step", scenario=scenario_from({"days": 5}), seed=3, players=players)


def test_a_new_run_stepped_plays_its_first_day_and_rests() -> None:
    run = new_run()
    control.step_day(run.pk)
    assert runner.advance(run.pk, seconds=60) is None
    run.refresh_from_db()
    assert (run.status, run.paused_by, run.day, run.status_reason) == ("paused", "person", 1, "stepped to day 1")
    assert run.stop_after_day is None


def test_stepping_to_the_end_gives_the_run_that_was_never_stopped() -> None:
    run, at_once = new_run(), new_run()
    for _ in range(5):
        control.step_day(run.pk)
        move(run)
    control.start_run(at_once.pk)
    move(at_once)
    assert (run.status, run.turns, run.events) == ("finished", at_once.turns, at_once.events)
    assert differences(run) == []


def test_a_worker_is_called_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(announce, "ring", called.append)
    run = new_run()
    control.step_day(run.pk)
    assert called == [run.pk]


def test_a_run_with_a_person_takes_its_day_whatever_the_number_of_their_turns() -> None:
    run = seated_run("roaster_A")
    control.pause_run(run.pk)
    control.step_day(run.pk)
    move(run)
    from simulation.engine.decision import Decision

    for _ in range(3):
        answer_open_turn(run, "roaster_A", Decision("view_listings", {}))
        assert (run.status, run.day) == (Run.Status.RUNNING, 0)
    while run.status == Run.Status.RUNNING:  # it may be woken before the night
        answer_open_turn(run, "roaster_A")
    assert (run.status, run.day) == (Run.Status.PAUSED, 1)
    assert verbs.open_turn(seat_of(run, "roaster_A")) is not None, "the morning's turn is there, and waits"


def test_who_pauses_and_resumes_within_the_day_has_let_go_of_the_step() -> None:
    run = seated_run("roaster_A")
    control.pause_run(run.pk)
    control.step_day(run.pk)
    control.pause_run(run.pk)
    control.resume_run(run.pk)
    move(run)
    while run.day == 0:
        answer_open_turn(run, "roaster_A")
    assert run.status == Run.Status.RUNNING


@pytest.mark.parametrize("status", [Run.Status.RUNNING, Run.Status.FINISHED, Run.Status.STOPPED, Run.Status.FAILED])
def test_only_a_run_that_rests_can_be_stepped(status: str) -> None:
    run = new_run()
    Run.objects.filter(pk=run.pk).update(status=status)
    with pytest.raises(control.NotPossible, match="only a run that is draft or paused can be stepped"):
        control.step_day(run.pk)
