"""Actions queued at a seat: they run one by one, each at its cost, and stop where a person would look up."""

from __future__ import annotations

from typing import Any

import pytest

from simulation import control
from simulation.engine.decision import WAIT, Decision
from simulation.models import Run, Seat, Turn
from simulation.seats import calling, verbs
from simulation.store import differences
from tests.seat_play import answer_open_turn, move, seat_of, seated_run

pytestmark = pytest.mark.django_db

LOOKS = [Decision(tool, {}, f"reason {number}") for number, tool in enumerate(("view_listings", "view_offers"), 1)]
REFUSED = Decision("pay_invoice", {"invoice_id": "I99"})


def run_queue(run: Run, firm: str = "roaster_A", *, times: int = 20) -> Seat:
    """Does what the workers do when the doorbell of a seat rings, until nothing more comes of it."""
    for _ in range(times):
        turn = verbs.open_turn(seat_of(run, firm))
        calling.answer_by_itself(seat_of(run, firm).pk)
        move(run)
        if verbs.open_turn(seat_of(run, firm)) == turn:
            break
    return seat_of(run, firm)


def queue(run: Run, actions: list[Decision], firm: str = "roaster_A") -> Seat:
    """Queues actions; the first of them answers the turn that is open, and the run goes on."""
    verbs.set_queue(seat_of(run, firm), actions)
    move(run)
    return seat_of(run, firm)


def made(run: Run, firm: str = "roaster_A") -> list[tuple[Any, ...]]:
    """The firm's turns."""
    return list(Turn.objects.filter(run=run, firm__name=firm).order_by("pk").values_list("tool", "minute", "rationale"))


def test_queued_actions_run_one_by_one_at_thirty_minutes_each() -> None:
    run = seated_run("roaster_A")
    queue(run, LOOKS)
    seat = run_queue(run)
    assert made(run) == [("view_listings", 540, "reason 1"), ("view_offers", 570, "reason 2")]
    assert (seat.queue, seat.queue_stopped) == ([], "")
    turn = verbs.open_turn(seat)
    assert turn is not None
    assert turn.firm_turn == 3
    assert set(Turn.objects.filter(run=run, firm=seat.firm).values_list("decided_by", flat=True)) == {"human"}


def test_a_queue_goes_on_over_the_night_that_it_waited_for() -> None:
    """Scripts list at once, but nothing wakes a roaster that waits on day 0 but the morning."""
    run = seated_run(
        "roaster_A", players=dict.fromkeys(["farmer_A", "farmer_B", "retailer_A", "retailer_B"], "passive")
    )
    queue(run, [WAIT, LOOKS[0]])
    run_queue(run)
    assert [(tool, minute) for tool, minute, _ in made(run)] == [
        ("wait_for_next_day", 540),
        ("view_listings", 1440 + 540),
    ]


def test_a_refused_action_stops_the_queue_with_what_was_wrong() -> None:
    run = seated_run("roaster_A")
    queue(run, [REFUSED, *LOOKS])
    seat = run_queue(run)
    assert [tool for tool, *_ in made(run)] == ["pay_invoice"]
    assert seat.queue_stopped.startswith("the last action was refused: ")
    assert [action["tool"] for action in seat.queue] == ["view_listings", "view_offers"]


def letter_to(recipient: str) -> Decision:
    """A letter, which wakes whoever gets it."""
    return Decision("send_message", {"recipient": recipient, "title": "Offer?", "body": "Are you buying?"})


def test_an_event_that_wakes_the_firm_stops_the_queue() -> None:
    run = seated_run("roaster_A", "farmer_A")
    queue(run, [LOOKS[0], LOOKS[1], LOOKS[0]])
    answer_open_turn(run, "farmer_A", letter_to("roaster_A"))
    answer_open_turn(run, "farmer_A")
    seat = run_queue(run)
    assert seat.queue_stopped == "you were woken by message M1 from farmer_A"
    assert [tool for tool, *_ in made(run)] == ["view_listings"]
    assert len(seat.queue) == 2


def test_a_stopped_queue_goes_on_when_its_person_says_so_even_at_the_turn_that_stopped_it() -> None:
    run = seated_run("roaster_A")
    queue(run, [REFUSED, *LOOKS])
    verbs.go_on_with_queue(run_queue(run))
    move(run)
    run_queue(run)
    assert [tool for tool, *_ in made(run)] == ["pay_invoice", "view_listings", "view_offers"]


def test_a_person_may_stop_the_queue_and_answer_in_its_place() -> None:
    run = seated_run("roaster_A")
    seat = queue(run, [*LOOKS, LOOKS[0]])
    verbs.stop_queue(seat)
    assert run_queue(run).queue_stopped == "stopped by you"
    answer_open_turn(run, "roaster_A", Decision("view_deals", {}))
    run_queue(run)
    assert [tool for tool, *_ in made(run)] == ["view_listings", "view_deals"]
    assert len(seat_of(run, "roaster_A").queue) == 2


def test_a_queue_rests_with_its_run_and_loses_no_action() -> None:
    run = seated_run("roaster_A")
    queue(run, [*LOOKS, LOOKS[0]])
    control.pause_run(run.pk)
    assert len(run_queue(run).queue) == 2
    control.resume_run(run.pk)
    move(run)
    assert run_queue(run).queue == []
    assert len(made(run)) == 3
    assert differences(run) == []


def test_a_doorbell_that_rings_twice_takes_one_action() -> None:
    run = seated_run("roaster_A")
    seat = queue(run, [*LOOKS, LOOKS[0]])
    calling.answer_by_itself(seat.pk)
    calling.answer_by_itself(seat.pk)
    assert len(seat_of(run, "roaster_A").queue) == 1
    move(run)
    assert len(made(run)) == 2


def test_a_doorbell_of_a_seat_that_is_gone_is_no_error() -> None:
    calling.answer_by_itself(404)


def test_while_a_script_stands_in_the_queue_waits_for_its_person() -> None:
    run = seated_run("roaster_A", days=2)
    seat = queue(run, [*LOOKS, LOOKS[0]])
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    calling.answer_by_itself(seat.pk)
    move(run)
    assert len(seat_of(run, "roaster_A").queue) == 2
    by = Turn.objects.filter(run=run, firm=seat.firm).order_by("pk").values_list("decided_by", flat=True)
    assert list(by) == ["human", "heuristic_roaster"]


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([LOOKS[0], Decision("rob_bank", {})], "Action 2: there is no tool 'rob_bank'"),
        ([Decision("set_price", {})], "there is no tool 'set_price'"),
        (LOOKS * 21, "42 actions are too many for the queue: at most 40 are allowed"),
    ],
)
def test_what_can_never_work_is_not_queued(actions: list[Decision], words: str) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    with pytest.raises(verbs.SeatError, match=words):
        verbs.set_queue(seat, actions)
    assert seat_of(seat.run, "roaster_A").queue == []


def test_a_study_that_wants_reasons_queues_no_action_without_one() -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    verbs.set_rules(seat, absence=Seat.Absence.WAIT, absence_minutes=10, wants_rationale=True)
    with pytest.raises(verbs.SeatError, match="Action 1, wait_for_next_day: this study asks for a reason"):
        verbs.set_queue(seat, [WAIT])


def test_a_queue_whose_reasons_are_asked_for_later_stops_and_says_so() -> None:
    """It would be refused for ever and seem to run."""
    run = seated_run("roaster_A")
    seat = queue(run, [LOOKS[0], *[Decision("view_deals", {})] * 2])
    verbs.set_rules(seat, absence=Seat.Absence.WAIT, absence_minutes=10, wants_rationale=True)
    seat = run_queue(run)
    assert seat.queue_stopped == "the next action has no reason, and by now every action needs one"
    assert len(seat.queue) == 2
