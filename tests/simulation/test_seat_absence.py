"""People who are away: the declared rule is applied, on time and to nobody else, and the tables say who decided."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from simulation import asking, control
from simulation.engine.decision import WAIT, Decision
from simulation.models import Ask, Call, ChatMessage, Run, Seat, Turn
from simulation.players.llm.settings import ModelSettings
from simulation.seats import absence, calling, verbs
from simulation.store import differences
from tests.model_server.running import RunningServer, running_model_server
from tests.seat_play import answer_open_turn, move, seat_of, seated_run

pytestmark = pytest.mark.django_db

LOOK = Decision("view_listings", {})


def away(rule: str, minutes: int = 10, run: Run | None = None, **values: object) -> Seat:
    """The seat of roaster_A with a rule for absence, its turn open."""
    seat = seat_of(run or seated_run("roaster_A"), "roaster_A")
    verbs.set_rules(seat, absence=rule, absence_minutes=minutes, wants_rationale=False)
    Seat.objects.filter(pk=seat.pk).update(**values)
    return seat_of(seat.run, "roaster_A")


def after(seat: Seat, **delta: float) -> Seat:
    """The seat after the rules were applied so long after the turn was opened, and the run moved on."""
    turn = verbs.open_turn(seat)
    assert turn is not None
    absence.apply_rules(turn.created_at + timedelta(**delta))
    move(seat.run)
    return seat_of(seat.run, "roaster_A")


def decided_by(run: Run) -> list[str]:
    """Who decided each turn of roaster_A."""
    return list(
        Turn.objects.filter(run=run, firm__name="roaster_A").order_by("pk").values_list("decided_by", flat=True)
    )


def test_without_a_rule_everybody_waits_for_ever() -> None:
    seat = after(away("wait"), days=30)
    assert decided_by(seat.run) == []


def test_after_its_minutes_a_silent_firm_waits_for_the_next_day() -> None:
    seat = after(away("default"), minutes=10)
    assert decided_by(seat.run) == [], "ten minutes are allowed"
    seat = after(seat, minutes=10, seconds=1)
    assert decided_by(seat.run) == ["timeout"]
    assert Turn.objects.get(run=seat.run, firm=seat.firm).tool == "wait_for_next_day"
    assert seat.driver == Seat.Driver.OWNER, "the person may go on at the next turn"


def test_activity_starts_the_minutes_afresh() -> None:
    seat = away("default")
    turn = verbs.open_turn(seat)
    assert turn is not None
    Seat.objects.filter(pk=seat.pk).update(last_active_at=turn.created_at + timedelta(minutes=6))
    assert decided_by(after(seat, minutes=15).run) == []
    assert decided_by(after(seat, minutes=16, seconds=1).run) == ["timeout"]


def test_a_page_that_is_open_without_anybody_at_it_is_no_activity() -> None:
    seat = away("default")
    turn = verbs.open_turn(seat)
    assert turn is not None
    Seat.objects.filter(pk=seat.pk).update(last_seen_at=turn.created_at + timedelta(minutes=10))
    assert decided_by(after(seat, minutes=11).run) == ["timeout"]


def test_an_extension_holds_the_rule_off_and_then_the_minutes_begin() -> None:
    seat = away("default", minutes=5)
    verbs.extend(seat, 60)
    assert decided_by(after(seat, minutes=59).run) == []
    assert decided_by(after(seat, minutes=64).run) == []
    assert decided_by(after(seat, minutes=66).run) == ["timeout"]


def test_a_pause_of_the_run_is_nobodys_absence() -> None:
    seat = away("default")
    control.pause_run(seat.run_id)
    assert decided_by(after(seat, hours=5).run) == []
    control.resume_run(seat.run_id)
    absence.apply_rules(timezone.now() + timedelta(minutes=9))
    assert decided_by(seat.run) == []


def test_who_waits_for_others_is_not_away() -> None:
    run = seated_run("roaster_A", "farmer_A")
    seat = away("default", run=run)
    verbs.answer(seat, 1, LOOK)
    absence.apply_rules(timezone.now() + timedelta(days=1))
    move(run)
    assert decided_by(run) == []


def test_a_script_takes_over_plays_on_and_the_person_may_take_the_seat_back() -> None:
    seat = after(away("script"), minutes=11)
    run = seat.run
    assert (seat.driver, decided_by(run)) == (Seat.Driver.SCRIPT, [])
    with pytest.raises(verbs.SeatError, match="A script plays this seat just now"):
        verbs.answer(seat, 1, WAIT)
    for _ in range(3):
        calling.answer_by_itself(seat.pk)
        move(run)
    verbs.take_back(seat_of(run, "roaster_A"))
    calling.answer_by_itself(seat.pk)
    answer_open_turn(run, "roaster_A", LOOK)
    assert decided_by(run) == [*["heuristic_roaster"] * 3, "human"]
    assert differences(run) == []


def test_a_stand_in_plays_as_the_script_does_from_the_first_turn_on() -> None:
    """Made anew for each turn, it must know what it saw at the turns before."""
    run = seated_run("roaster_A", days=8)
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    while run.status == Run.Status.RUNNING:
        calling.answer_by_itself(seat.pk)
        move(run)
    by_script = seated_run(days=8)
    columns = ("firm__name", "minute", "tool", "arguments", "result")
    rows = [list(Turn.objects.filter(run=each).order_by("pk").values_list(*columns)) for each in (run, by_script)]
    assert rows[0] == rows[1]
    assert set(decided_by(run)) == {"heuristic_roaster"}
    assert differences(run) == []


@pytest.mark.parametrize("role", ["farmer", "roaster", "retailer"])
def test_a_script_of_any_role_can_take_over_in_the_middle_of_a_day(role: str) -> None:
    firm = f"{role}_A"
    run = seated_run(firm, days=4)
    answer_open_turn(run, firm, LOOK)
    answer_open_turn(run, firm, Decision("view_deals", {}))
    seat = seat_of(run, firm)
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    while run.status == Run.Status.RUNNING:
        calling.answer_by_itself(seat.pk)
        move(run)
    assert run.status == Run.Status.FINISHED
    assert differences(run) == []


def test_what_the_researcher_handed_over_only_the_researcher_hands_back() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    with pytest.raises(verbs.SeatError, match="only the researcher can hand it back"):
        verbs.take_back(seat)
    verbs.hand_back(seat)
    assert not verbs.answer(seat, 1, WAIT).is_repeat


def test_the_researchers_stand_in_stays_where_the_rule_for_absence_would_bring_the_same() -> None:
    seat = away("script")
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    with pytest.raises(verbs.SeatError, match="only the researcher can hand it back"):
        verbs.take_back(seat)


def test_a_stand_in_that_absence_brought_can_be_ended_whatever_the_rule_is_by_then() -> None:
    seat = after(away("script"), minutes=11)
    verbs.set_rules(seat, absence="wait", absence_minutes=10, wants_rationale=False)
    verbs.take_back(seat)
    assert seat_of(seat.run, "roaster_A").driver == Seat.Driver.OWNER


def test_nobody_stands_in_where_nothing_is_left_to_play() -> None:
    run = seated_run("roaster_A")
    control.cancel_run(run.pk)
    with pytest.raises(verbs.SeatError, match="Nothing is left to play"):
        verbs.hand_over(seat_of(run, "roaster_A"), Seat.Driver.SCRIPT)


def test_a_script_that_is_late_does_not_answer_for_who_has_the_seat_back() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    verbs.hand_back(seat)
    with pytest.raises(verbs.SeatError, match="handed back meanwhile"):
        verbs.answer(seat, 1, WAIT, by="heuristic_roaster")


def test_a_run_decided_by_several_is_identical_to_its_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    run = seated_run("roaster_A", days=4)
    answer_open_turn(run, "roaster_A", LOOK)
    seat = after(away("default", run=run), minutes=11)
    verbs.hand_over(seat, Seat.Driver.SCRIPT)
    calling.answer_by_itself(seat.pk)
    move(run)
    verbs.hand_back(seat)
    while run.status == Run.Status.RUNNING:
        answer_open_turn(run, "roaster_A")
    assert set(decided_by(run)) == {"human", "timeout", "heuristic_roaster"}
    call_command("verify_run", run.pk)
    assert f"run {run.pk}: identical" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"absence": "script", "absence_minutes": 0}, "0 minutes of absence: 1 to 10,080 are allowed"),
        ({"absence": "sleep", "absence_minutes": 5}, "'sleep' is none of wait, default, script, model"),
        ({"absence": "model", "absence_minutes": 5}, "No language model is named to stand in for roaster_A"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(values: dict[str, object], words: str) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    with pytest.raises(verbs.SeatError, match=words):
        verbs.set_rules(seat, wants_rationale=False, **values)  # type: ignore[arg-type]


def test_a_seat_without_a_model_is_not_handed_to_one() -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    with pytest.raises(verbs.SeatError, match="No language model is named to stand in"):
        verbs.hand_over(seat, Seat.Driver.MODEL)


# A language model as the stand-in.


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One model server for the module."""
    with running_model_server() as running:
        yield running


def with_model(server: RunningServer, days: int = 2, **more: Any) -> Run:
    """A run with a person at roaster_A, for whom a model can stand in."""
    model = ModelSettings(model="openai/policy-heuristic_roaster", base_url=server.api_base, **more)
    return seated_run("roaster_A", days=days, models={"roaster_A": model})


def ask_model(run: Run, turns: int) -> None:
    """Has the model answer some turns."""
    for _ in range(turns):
        turn = verbs.open_turn(seat_of(run, "roaster_A"))
        assert turn is not None
        asking.ask_models(asking.asks_of([turn.pk]))
        move(run)


def test_a_model_takes_over_is_handed_back_and_takes_over_again(server: RunningServer) -> None:
    run = with_model(server)
    assert run.players["roaster_A"] == "human"
    answer_open_turn(run, "roaster_A", LOOK)
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.MODEL)
    ask_model(run, 2)
    verbs.hand_back(seat)
    answer_open_turn(run, "roaster_A", Decision("view_deals", {}))
    answer_open_turn(run, "roaster_A", Decision("view_payables", {}))
    verbs.hand_over(seat, Seat.Driver.MODEL)
    ask_model(run, 2)
    assert decided_by(run) == ["human", "model", "model", "human", "human", "model", "model"]
    assert differences(run) == []


def test_a_model_that_takes_over_is_told_where_the_firm_stands_and_its_calls_keep_their_own_results(
    server: RunningServer,
) -> None:
    run = with_model(server)
    answer_open_turn(run, "roaster_A", LOOK)
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.MODEL)
    ask_model(run, 1)
    verbs.hand_back(seat)
    answer_open_turn(run, "roaster_A", Decision("view_payables", {}))
    verbs.hand_over(seat, Seat.Driver.MODEL)
    ask_model(run, 1)
    messages = [json.loads(one) for one in ChatMessage.objects.order_by("number").values_list("content", flat=True)]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user", "assistant"]
    opening = json.loads(messages[0]["content"])
    assert opening["cash"] == 14_970, "the rent of the first morning is paid"
    assert "listings" in opening["last_result_of_the_other_player"]
    assert "another player has played your firm until now, 09:30" in opening["note"]
    own_call = Turn.objects.filter(run=run, decided_by="model").order_by("pk")[0]
    assert json.loads(messages[2]["content"]) == json.loads(own_call.result)
    assert "invoices" in json.loads(messages[3]["content"])["last_result_of_the_other_player"]


def test_a_persons_turn_is_never_put_to_the_model_that_could_stand_in(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = with_model(server)
    called: list[int] = []
    monkeypatch.setattr("simulation.announce.ring_asks", lambda asks, **delay: called.extend(ask.pk for ask in asks))
    calling.call_players(run)
    assert called == []
    verbs.hand_over(seat_of(run, "roaster_A"), Seat.Driver.MODEL)
    assert called == [Ask.objects.get(run=run).pk]


@pytest.mark.parametrize("moment", ["before it is asked", "between reading and claiming", "while it thinks"])
def test_a_model_decides_nothing_any_more_once_the_seat_is_handed_back(server: RunningServer, moment: str) -> None:
    """Whoever is back and looks at the open turn must not have it taken away, nor be marked as played by a model."""
    run = with_model(server, prices={"input": 1, "output": 1})
    seat = seat_of(run, "roaster_A")
    verbs.hand_over(seat, Seat.Driver.MODEL)
    keys = [ask.pk for ask in asking.waiting_asks(run)]
    if moment == "before it is asked":
        verbs.hand_back(seat)
        assert asking.asks_of(keys) == []
    exchanges = asking.exchanges_of(asking.asks_of(keys))
    if moment == "between reading and claiming":
        verbs.hand_back(seat)
        assert asking.claim(exchanges) == []
    if moment == "while it thinks":
        [exchange] = asking.claim(exchanges)
        thinking = asking.send(exchange)
        verbs.hand_back(seat)
        assert not asking.receive(exchange, thinking)
        assert Call.objects.get(run=run).outcome == "unused"
    answer_open_turn(run, "roaster_A", LOOK)
    assert decided_by(run) == ["human"]
    costs = [call.cost_micros for call in Call.objects.filter(run=run)]
    assert asking.spent_micros(run) == sum(cost or 0 for cost in costs), "no call is under way any more"


def test_the_cost_of_a_call_that_came_too_late_counts_once(server: RunningServer) -> None:
    run = with_model(server, prices={"input": 1, "output": 1})
    verbs.hand_over(seat_of(run, "roaster_A"), Seat.Driver.MODEL)
    [exchange] = asking.claim(asking.exchanges_of(list(asking.waiting_asks(run).select_related("run", "firm"))))
    thinking = asking.send(exchange)
    verbs.hand_back(seat_of(run, "roaster_A"))
    verbs.answer(seat_of(run, "roaster_A"), 1, LOOK)
    assert not asking.receive(exchange, thinking)
    assert asking.spent_micros(run) == Call.objects.get(run=run).cost_micros
