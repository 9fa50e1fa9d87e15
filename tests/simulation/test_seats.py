"""People at the table: their turns wait, are answered once, and make the books that the same decisions make inside."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from simulation import control, tasks
from simulation.engine.decision import WAIT, Decision
from simulation.engine.scenario import scenario_from
from simulation.models import Ask, Run, Seat, Turn
from simulation.players.registry import PlayersError
from simulation.seats import verbs
from simulation.store import differences
from tests.seat_play import answer_open_turn, decisions, ledger, move, play, policies_of, seat_of, seated_run

pytestmark = pytest.mark.django_db

LOOK = Decision("view_listings", {}, "What is on the market?")
ALL_FIRMS = ("farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B")


def test_every_firm_that_is_played_from_outside_gets_a_seat_and_no_other() -> None:
    run = seated_run("roaster_A", players={"farmer_B": "remote"})
    assert [seat.firm.name for seat in run.seats.order_by("firm")] == ["farmer_B", "roaster_A"]
    assert not Seat.objects.exclude(run=run).exists()


def test_a_run_of_scripts_has_no_seats() -> None:
    run = seated_run()
    assert (run.status, run.seats.count()) == (Run.Status.FINISHED, 0)


def test_a_persons_turn_waits_and_the_run_says_for_whom() -> None:
    run = seated_run("roaster_A")
    assert (run.status, run.waiting_for, run.day) == (Run.Status.RUNNING, ["roaster_A"], 0)
    turn = verbs.open_turn(seat_of(run, "roaster_A"))
    assert turn is not None
    assert (turn.firm_turn, turn.answered_at) == (1, None)
    assert not Turn.objects.filter(run=run).exists()


def test_a_firms_turns_are_numbered_among_its_own() -> None:
    run = play(seated_run("roaster_A", "farmer_A", days=2))
    for firm in ("roaster_A", "farmer_A"):
        numbers = list(Ask.objects.filter(run=run, firm__name=firm).order_by("pk").values_list("firm_turn", flat=True))
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) == Turn.objects.filter(run=run, firm__name=firm).count()


def test_an_answer_moves_the_run_to_the_firms_next_turn_with_the_result() -> None:
    run = seated_run("roaster_A")
    answer_open_turn(run, "roaster_A", LOOK)
    made = Turn.objects.get(run=run, firm__name="roaster_A")
    assert (made.tool, made.rationale, made.decided_by) == ("view_listings", LOOK.rationale, "human")
    turn = verbs.open_turn(seat_of(run, "roaster_A"))
    assert turn is not None
    assert (turn.firm_turn, turn.minute) == (2, made.minute + 30)


def test_the_same_answer_again_is_answered_as_the_first_time() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    sent = Decision("view_messages", {"with_firm": "farmer_A", "limit": 3})
    swapped = Decision("view_messages", {"limit": 3, "with_firm": "farmer_A"}, "and why")
    assert verbs.answer(seat, 1, sent) == verbs.Receipt(1, is_repeat=False)
    assert verbs.answer(seat, 1, swapped) == verbs.Receipt(1, is_repeat=True)
    move(run)
    assert verbs.answer(seat, 1, sent).is_repeat
    assert Turn.objects.filter(run=run, firm__name="roaster_A").count() == 1


def test_what_json_can_barely_hold_is_a_repeat_too() -> None:
    """NaN differs from itself, but the same text was sent twice."""
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    odd = Decision("pay_invoice", {"invoice_id": float("nan")})
    assert [verbs.answer(seat, 1, odd).is_repeat for _ in range(2)] == [False, True]


def test_another_answer_to_a_decided_turn_is_refused_and_changes_nothing() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.answer(seat, 1, LOOK)
    with pytest.raises(verbs.AlreadyDecided, match="Turn 1 is decided already, with view_listings"):
        verbs.answer(seat, 1, WAIT)
    move(run)
    with pytest.raises(verbs.AlreadyDecided, match="your turn is number 2"):
        verbs.answer(seat, 1, WAIT)
    assert Ask.objects.get(firm_id=seat.firm_id, firm_turn=1).tool == "view_listings"


@pytest.mark.parametrize("number", [0, 2, -1, 10**6])
def test_a_turn_that_is_not_there_is_refused_with_the_one_that_is(number: int) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    with pytest.raises(verbs.NoSuchTurn, match=rf"There is no turn {number} at this seat; your turn is number 1\."):
        verbs.answer(seat, number, WAIT)


def test_a_study_that_wants_reasons_takes_no_answer_without_one() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.set_rules(seat, absence=Seat.Absence.WAIT, absence_minutes=10, wants_rationale=True)
    with pytest.raises(verbs.SeatError, match="asks for a reason for every action"):
        verbs.answer(seat, 1, WAIT._replace(rationale="  "))
    assert not verbs.answer(seat, 1, WAIT._replace(rationale="Nothing to do.")).is_repeat


def test_the_last_answer_of_a_step_moves_the_run_and_none_before_it() -> None:
    run = seated_run("roaster_A", "farmer_A", "retailer_B")
    assert run.waiting_for == ["farmer_A", "roaster_A", "retailer_B"]
    for firm in ("retailer_B", "farmer_A"):
        answer_open_turn(run, firm, LOOK if firm != "farmer_A" else WAIT)
        assert run.step == 0
        assert verbs.open_turn(seat_of(run, firm)) is None
    answer_open_turn(run, "roaster_A")
    assert run.step > 0
    assert differences(run) == []


def test_ninety_days_played_at_the_seats_give_the_books_of_the_same_scripts_inside() -> None:
    by_people = play(seated_run("roaster_A", days=90))
    by_scripts = seated_run(days=90)
    assert by_people.status == by_scripts.status == Run.Status.FINISHED
    assert decisions(by_people) == decisions(by_scripts)
    assert ledger(by_people) == ledger(by_scripts)
    assert differences(by_people) == []
    by = Turn.objects.filter(run=by_people, firm__name="roaster_A").values_list("decided_by", flat=True)
    assert set(by) == {"human"}


def test_people_at_all_six_firms_give_the_books_of_six_scripts() -> None:
    by_people = play(seated_run(*ALL_FIRMS, days=12))
    by_scripts = seated_run(days=12)
    assert decisions(by_people) == decisions(by_scripts)
    assert differences(by_people) == []


def test_a_firm_played_by_a_program_is_remote_in_every_table() -> None:
    run = play(seated_run("roaster_B", kind="remote", days=2))
    assert run.players["roaster_B"] == run.player_labels()["roaster_B"] == "remote"
    assert seat_of(run, "roaster_B").firm.player == "remote"
    assert set(Turn.objects.filter(run=run, firm__name="roaster_B").values_list("decided_by", flat=True)) == {"remote"}


def test_while_a_run_rests_its_turns_wait_and_nothing_is_taken() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    control.pause_run(run.pk, "OpenRouter: 402 insufficient credits")
    with pytest.raises(verbs.SeatError, match="The run is paused; your turn waits") as refused:
        verbs.answer(seat, 1, LOOK)
    assert "OpenRouter" not in str(refused.value)
    control.resume_run(run.pk)
    move(run)
    assert not verbs.answer(seat, 1, LOOK).is_repeat
    assert differences(play(move(run))) == []


def test_an_answer_given_just_before_a_pause_is_kept_and_counts_when_the_run_goes_on() -> None:
    run = seated_run("roaster_A")
    verbs.answer(seat_of(run, "roaster_A"), 1, LOOK)
    control.pause_run(run.pk)
    move(run)
    assert run.step == 0
    control.resume_run(run.pk)
    move(run)
    assert Turn.objects.get(run=run, firm__name="roaster_A").tool == "view_listings"


def test_a_paced_run_is_paced_by_days_and_not_by_turns() -> None:
    run = seated_run("roaster_A", pace_seconds=30)
    for _ in range(3):
        answer_open_turn(run, "roaster_A", LOOK)
    turn = verbs.open_turn(seat_of(run, "roaster_A"))
    assert turn is not None
    assert (turn.firm_turn, run.day) == (4, 0)


def test_a_cancelled_run_takes_no_more_answers() -> None:
    run = seated_run("roaster_A")
    control.cancel_run(run.pk)
    with pytest.raises(verbs.SeatError, match="The run is stopped"):
        verbs.answer(seat_of(run, "roaster_A"), 1, WAIT)


def test_the_sweep_calls_again_whoever_owes_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from simulation import announce

    queued, by_script, by_person = (seated_run("roaster_A", seed=seed) for seed in range(3))
    Seat.objects.filter(run=queued).update(queue=[WAIT._asdict()])
    Seat.objects.filter(run=by_script).update(driver=Seat.Driver.SCRIPT)
    answered = seated_run("roaster_A")
    verbs.answer(seat_of(answered, "roaster_A"), 1, WAIT)
    seats: list[int] = []
    runs: list[int] = []
    monkeypatch.setattr(announce, "ring_seat", seats.append)
    monkeypatch.setattr(announce, "ring", lambda run_id, **delay: runs.append(run_id))
    tasks.sweep()
    assert sorted(seats) == sorted([seat_of(queued, "roaster_A").pk, seat_of(by_script, "roaster_A").pk])
    assert runs == [answered.pk]
    assert by_person.waiting_for == ["roaster_A"]


def test_a_kind_of_seat_fits_every_role_and_misspelt_ones_are_refused() -> None:
    assert seated_run(*ALL_FIRMS).seats.count() == 6
    with pytest.raises(PlayersError, match="there is no kind of player 'humans'"):
        control.create_run(name="x", scenario=scenario_from({}), seed=0, players={"roaster_A": "humans"})
    with pytest.raises(control.NotPossible, match="information 'all' is none of parity, assisted"):
        control.create_run(name="x", scenario=scenario_from({}), seed=0, players={}, information="all")


@pytest.mark.django_db(transaction=True)
def test_of_two_different_answers_at_the_same_moment_one_is_taken_and_the_other_told() -> None:
    """Two tabs, two threads, two connections: the lock of the run lets one in after the other."""
    run = seated_run("roaster_A")
    gate = threading.Barrier(2)
    outcomes: list[str] = []

    def send(decision: Decision) -> None:
        try:
            seat = seat_of(run, "roaster_A")
            gate.wait(20)
            verbs.answer(seat, 1, decision)
            outcomes.append("taken")
        except verbs.AlreadyDecided:
            outcomes.append("told")
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=[decision]) for decision in (LOOK, WAIT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["taken", "told"]
    move(run)
    assert Turn.objects.filter(run=run, firm__name="roaster_A").count() == 1


def test_other_policies_at_the_seat_give_other_books() -> None:
    """The comparison above would be worth nothing if the books did not depend on what the seat answers."""
    run = seated_run("roaster_A", days=12)
    play(run, policies_of(run, {"roaster_A": "passive"}))
    assert decisions(run) != decisions(seated_run(days=12))
    assert differences(run) == []
