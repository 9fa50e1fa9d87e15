"""Who may move a run, what a lost lease leaves behind, and how a run ends."""

from __future__ import annotations

import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from simulation import announce, control, runner, tasks
from simulation.engine.scenario import scenario_from
from simulation.lease import holder_name, is_dead, this_place
from simulation.models import Run, Turn
from simulation.players.registry import PlayersError
from simulation.store import differences

pytestmark = pytest.mark.django_db


def new_run(days: int = 5, **options: float) -> Run:
    """A run of scripts, not started."""
    return control.create_run(
        name="test", scenario=scenario_from({"days": days}), seed=2, players={}, pace_seconds=options.get("pace", 0)
    )


def test_a_started_run_is_played_to_its_end_and_is_identical_to_its_decisions() -> None:
    run = new_run()
    control.start_run(run.pk)
    assert runner.advance(run.pk, seconds=60) is None
    run.refresh_from_db()
    assert (run.status, run.day, run.lease_owner) == (Run.Status.FINISHED, 4, "")
    assert differences(run) == []


def test_a_run_played_in_many_small_tasks_equals_one_played_at_once() -> None:
    in_pieces, at_once = new_run(), new_run()
    control.start_run(in_pieces.pk)
    while runner.advance(in_pieces.pk, seconds=0) is not None:
        pass
    control.start_run(at_once.pk)
    runner.advance(at_once.pk, seconds=60)
    columns = ("tool", "arguments", "result", "minute")
    rows = [list(Turn.objects.filter(run=run).order_by("pk").values_list(*columns)) for run in (in_pieces, at_once)]
    assert rows[0] == rows[1]


def test_a_worker_that_has_forgotten_the_run_goes_on_as_one_that_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts remember what they saw: a replay must give them their memory back."""
    run, undisturbed = new_run(days=12), new_run(days=12)
    control.start_run(run.pk)
    while runner.advance(run.pk, seconds=0) is not None:
        monkeypatch.setattr(runner, "shelf", runner.Shelf())
    control.start_run(undisturbed.pk)
    runner.advance(undisturbed.pk, seconds=60)
    columns = ("tool", "arguments", "result")
    rows = [list(Turn.objects.filter(run=one).order_by("pk").values_list(*columns)) for one in (run, undisturbed)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("status", [Run.Status.DRAFT, Run.Status.PAUSED, Run.Status.FINISHED, Run.Status.STOPPED])
def test_a_run_that_is_not_running_is_left_alone(status: str) -> None:
    run = new_run()
    Run.objects.filter(pk=run.pk).update(status=status)
    assert runner.advance(run.pk, seconds=60) is None
    run.refresh_from_db()
    assert (run.status, run.step) == (status, 0)


def test_a_run_that_does_not_exist_is_left_alone() -> None:
    assert runner.advance(404, seconds=1) is None


def test_a_leased_run_is_taken_by_nobody_else_until_the_lease_expires() -> None:
    run = new_run()
    control.start_run(run.pk, "first")
    assert runner.take_lease(run.pk, "second") is None
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert runner.take_lease(run.pk, "second") is not None


def test_a_lease_of_a_process_that_is_gone_is_free_at_once() -> None:
    run = new_run()
    process = subprocess.Popen(["true"])
    process.wait()
    control.start_run(run.pk, f"{this_place()}/{process.pid}/1")
    assert runner.take_lease(run.pk, "second") is not None


@pytest.mark.parametrize(
    "holder",
    ["", "elsewhere/1/1", "me", f"{this_place()}/1/1", f"{this_place()}/x/1", holder_name()],
    ids=["empty", "of_elsewhere", "unreadable", "alive", "no_number", "own"],
)
def test_a_holder_that_may_be_alive_is_not_called_dead(holder: str) -> None:
    assert not is_dead(holder)


def test_a_holder_that_lost_its_lease_writes_nothing() -> None:
    run = new_run()
    game = runner.load_game(control.start_run(run.pk, "first"))
    game.play_step()
    Run.objects.filter(pk=run.pk).update(lease_owner="second")
    with pytest.raises(runner.LeaseLost, match="held by second"):
        runner.commit(game, "first", release=False)
    assert not Turn.objects.filter(run=run).exists()


def test_pausing_takes_the_run_from_its_worker_and_resuming_goes_on_where_it_was() -> None:
    run = new_run()
    game = runner.load_game(control.start_run(run.pk, "worker"))
    game.play_step()
    runner.commit(game, "worker", release=False)
    game.play_step()
    control.pause_run(run.pk)
    with pytest.raises(runner.LeaseLost):
        runner.commit(game, "worker", release=False)
    control.resume_run(run.pk)
    runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert differences(run) == []


def test_a_paced_run_plays_one_day_and_is_not_due_again_at_once() -> None:
    run = new_run(pace=30)
    control.start_run(run.pk)
    assert runner.advance(run.pk, seconds=60) == 30
    run.refresh_from_db()
    assert run.day == 1
    again = runner.advance(run.pk, seconds=60)
    assert again is not None
    assert 0 < again <= 30
    run.refresh_from_db()
    assert run.day == 1


def test_a_run_of_other_rules_fails_with_words_and_keeps_its_books() -> None:
    run = new_run()
    control.start_run(run.pk)
    Run.objects.filter(pk=run.pk).update(rules_version="0.9")
    assert runner.advance(run.pk, seconds=60) is None
    run.refresh_from_db()
    assert run.status == Run.Status.FAILED
    assert "begun under version 0.9 of the rules" in run.status_reason


def test_a_player_that_breaks_fails_the_run_and_a_person_can_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def decide(self, view: object) -> None:
            raise RuntimeError("no idea")

    run = new_run()
    control.start_run(run.pk)
    with monkeypatch.context() as broken:
        broken.setattr(runner, "scripts_for", lambda _, players: dict.fromkeys(players, Broken()))
        runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    assert (run.status, run.status_reason) == (Run.Status.FAILED, "RuntimeError: no idea")
    control.resume_run(run.pk)
    runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED


def test_a_run_ends_when_its_evaluated_firm_goes_bankrupt() -> None:
    scenario = scenario_from({"days": 30, "firms": {"roaster_A": {"cash": 50}}})
    run = control.create_run(name="poor", scenario=scenario, seed=0, players={"roaster_A": "passive"})
    control.start_run(run.pk)
    runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    # 50 − 30 on day 0, −10 on day 1.
    assert (run.status, run.status_reason) == (Run.Status.STOPPED, "roaster_A went bankrupt on day 1")
    assert differences(run) == []


@pytest.mark.parametrize(
    ("status", "verb", "words"),
    [
        (Run.Status.FINISHED, control.start_run, "is finished; only a run that is draft can be started"),
        (Run.Status.FINISHED, control.cancel_run, "is finished; only a run that is"),
        (Run.Status.DRAFT, control.pause_run, "is draft; only a run that is running or waiting can be paused"),
        (Run.Status.RUNNING, control.resume_run, "is running; only a run that is paused or failed can go on"),
    ],
)
def test_a_verb_out_of_place_is_refused_with_words(status: str, verb: object, words: str) -> None:
    run = new_run()
    Run.objects.filter(pk=run.pk).update(status=status)
    with pytest.raises(control.NotPossible, match=words):
        verb(run.pk)  # type: ignore[operator]
    run.refresh_from_db()
    assert run.status == status


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": 2**60}, "seed 1152921504606846976 is out of range"),
        ({"pace_seconds": -1}, "pace -1 is out of range"),
        ({"pace_seconds": float("nan")}, "pace nan is out of range"),
    ],
)
def test_a_run_that_cannot_be_is_refused_by_name(arguments: dict[str, float], words: str) -> None:
    values = {"name": "x", "scenario": scenario_from({}), "seed": 0, "players": {}, **arguments}
    with pytest.raises(control.NotPossible, match=words):
        control.create_run(**values)  # type: ignore[arg-type]
    assert not Run.objects.exists()


def test_players_that_do_not_fit_are_refused_before_anything_is_written() -> None:
    with pytest.raises(PlayersError):
        control.create_run(name="x", scenario=scenario_from({}), seed=0, players={"roaster_Z": "passive"})
    assert not Run.objects.exists()


def test_the_sweep_calls_workers_for_idle_runs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    idle, held, resting, waiting = new_run(), new_run(), new_run(pace=60), new_run()
    for run in (idle, held, resting):
        control.start_run(run.pk)
    runner.take_lease(held.pk, "worker")
    Run.objects.filter(pk=resting.pk).update(not_before=timezone.now() + timedelta(seconds=50))
    called: list[int] = []
    monkeypatch.setattr(announce, "ring", called.append)
    tasks.sweep()
    assert called == [idle.pk]
    assert waiting.status == Run.Status.DRAFT
