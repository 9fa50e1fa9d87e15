"""The HTTP seat of programs: its token, its answers and refusals, and waiting for a turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from dashboards.seat_api import waiting
from simulation import control
from simulation.engine import tools
from simulation.engine.decision import WAIT
from simulation.engine.scenario import scenario_from
from simulation.models import Run, Seat, Turn
from simulation.players import briefing
from simulation.seats import door, verbs
from simulation.seats.links import token_of
from simulation.store import differences
from tests.seat_play import move, play, seat_of, seated_run

pytestmark = pytest.mark.django_db

LOOK = {"tool": "view_listings", "arguments": {}, "rationale": "What is on the market?"}


class Program:
    """A program at roaster_A's seat."""

    def __init__(self, run: Run, client: Client, firm: str = "roaster_A") -> None:
        self.run, self.client, self.firm = run, client, firm
        self.headers = {"Authorization": f"Bearer {token_of(self.seat)}"}

    @property
    def seat(self) -> Seat:
        return seat_of(self.run, self.firm)

    def get(self, path: str = "", **query: Any) -> tuple[int, Any]:
        response = self.client.get(f"/api/seat/{path}", query, headers=self.headers)
        return response.status_code, response.json()

    def post(self, number: int, body: Any, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes | str) else json.dumps(body)
        response = self.client.post(
            f"/api/seat/turn/{number}/", content, content_type="application/json", headers={**self.headers, **headers}
        )
        return response.status_code, response.json()


@pytest.fixture
def program(client: Client) -> Program:
    """A program whose first turn is open."""
    return Program(seated_run("roaster_A", kind="remote"), client)


def test_a_program_reads_its_turn_as_a_model_gets_it_and_answers_it(program: Program) -> None:
    status, state = program.get()
    assert (status, state["status"], state["turn"], state["firm"]) == (200, "your_turn", 1, "roaster_A")
    status, turn = program.get("turn/")
    assert (status, turn) == (200, json.loads(json.dumps(door.turn_given(program.seat))))
    assert turn["observation"]["cash"] == 14_970
    assert program.post(1, LOOK) == (200, {"turn": 1, "repeat": False})
    move(program.run)
    assert program.get("turn/")[1]["result"]["ok"]
    made = Turn.objects.get(run=program.run, firm=program.seat.firm)
    assert (made.tool, made.rationale, made.decided_by) == ("view_listings", LOOK["rationale"], "remote")


def test_a_repeat_is_answered_as_the_first_time_and_another_decision_refused(program: Program) -> None:
    program.post(1, LOOK)
    assert program.post(1, LOOK) == (200, {"turn": 1, "repeat": True})
    status, refused = program.post(1, {"tool": "wait_for_next_day"})
    assert (status, refused["error"], refused["turn"]) == (409, "already_decided", None)
    move(program.run)
    assert program.post(1, LOOK) == (200, {"turn": 1, "repeat": True})
    assert program.post(1, {"tool": "wait_for_next_day"})[1]["turn"] == 2
    assert Turn.objects.filter(run=program.run, firm=program.seat.firm).count() == 1


def test_a_turn_that_is_not_there_is_answered_with_the_one_that_is(program: Program) -> None:
    status, refused = program.post(7, LOOK)
    assert (status, refused["error"], refused["turn"]) == (404, "no_such_turn", 1)
    assert "your turn is number 1" in refused["message"]


def test_while_it_is_not_its_turn_there_is_none_to_read(client: Client) -> None:
    program = Program(seated_run("roaster_A", players={"farmer_A": "human"}, kind="remote"), client)
    program.post(1, LOOK)
    status, refused = program.get("turn/")
    assert (status, refused["error"], refused["turn"], refused["status"]) == (404, "no_turn", None, "waiting")
    assert program.get()[1]["waiting_for"] == ["farmer_A"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b"[" * 50_000, "it is nested too deep"),
        (b'{"tool": "wait_for_next_day", "arguments": {"qty": NaN}}', "NaN is no number of JSON"),
        (b'{"tool": "wait_for_next_day", "arguments": {"qty": 1e400}}', "1e400 is no number of JSON"),
        (b'{"tool": "view_deals", "tool": "view_offers"}', "a key stands twice"),
        (b'{"tool": "roast", "arguments": {"qty_kg": 1, "qty_kg": 50}}', "a key stands twice"),
        ([], "it must be an object"),
        ("null", "it must be an object"),
        ({}, "tool must be the name of a tool"),
        ({"tool": ""}, "tool must be the name of a tool"),
        ({"tool": 3}, "tool must be the name of a tool"),
        ({"tool": "a\nb"}, "tool must be the name of a tool"),
        ({"tool": "x" * 61}, "tool must be the name of a tool"),
        ({"tool": "roast", "arguments": []}, "arguments must be an object"),
        ({"tool": "roast", "arguments": None}, "arguments must be an object"),
        ({"tool": "roast", "arguments": {"a": {"b": {"c": {"d": 1}}}}}, "nested more than 3 deep"),
        ({"tool": "roast", "arguments": {str(n): n for n in range(41)}}, "41 values exceed the 40 allowed"),
        ({"tool": "roast", "arguments": {"qty": 10**30}}, "too many digits"),
        ({"tool": "roast", "rationale": 7}, "rationale must be a text"),
        ({"tool": "roast", "rationale": "x" * 20_001}, "rationale must be a text of at most 20,000 characters"),
        ({"tool": "roast", "args": {}}, "unknown key 'args'; allowed are tool, arguments, rationale"),
    ],
)
def test_a_malformed_body_is_refused_by_name_and_costs_no_turn(program: Program, body: Any, what: str) -> None:
    status, refused = program.post(1, body)
    assert (status, refused["error"]) == (400, "malformed")
    assert what in refused["message"]
    move(program.run)
    assert program.get()[1]["turn"] == 1
    assert not Turn.objects.filter(run=program.run, firm=program.seat.firm).exists()


def test_a_body_that_is_too_large_is_refused(program: Program) -> None:
    body = json.dumps({"tool": "roast", "rationale": "x" * 100_000})
    status, refused = program.post(1, body)
    assert (status, refused["error"]) == (413, "too_large")


def test_a_call_that_the_rules_refuse_takes_its_time_as_a_models_does(program: Program) -> None:
    for number, call in enumerate(({"tool": "rob_bank"}, {"tool": "pay_invoice", "arguments": {"invoice_id": 1}}), 1):
        assert program.post(number, call)[0] == 200
        move(program.run)
    turn = program.get("turn/")[1]
    assert (turn["turn"], turn["time"]["clock"], turn["result"]["ok"]) == (3, "10:00", False)


def test_a_refusal_says_what_is_so(program: Program) -> None:
    """A turn of a cancelled run waits for nothing, and who plays the seat themselves has nothing to take back."""
    response = program.client.post("/api/seat/take-back/", headers=program.headers)
    assert (response.status_code, "Nobody stands in" in response.json()["message"]) == (409, True)
    control.cancel_run(program.run.pk)
    status, refused = program.post(1, LOOK)
    assert (status, refused["error"], refused["message"]) == (409, "not_now", "The run is stopped; nothing was sent.")


def test_while_the_run_rests_nothing_is_taken(program: Program) -> None:
    control.pause_run(program.run.pk, "OpenRouter: 402")
    status, refused = program.post(1, LOOK)
    assert (status, refused["error"], refused["turn"]) == (409, "not_now", 1)
    assert "paused" in refused["message"]
    status, state = program.get()
    assert (state["status"], "OpenRouter" in json.dumps(state)) == ("paused", False)
    control.resume_run(program.run.pk)
    move(program.run)
    assert program.post(1, LOOK)[0] == 200


def test_a_study_that_wants_reasons_refuses_an_answer_without_one(program: Program) -> None:
    verbs.set_rules(program.seat, absence="wait", absence_minutes=10, wants_rationale=True)
    assert program.post(1, {"tool": "view_listings"})[1]["error"] == "no_rationale"
    assert "asks for one with every call" in program.get("tools/")[1]["briefing"]
    assert program.post(1, LOOK)[0] == 200


def test_a_program_that_was_away_takes_its_seat_back(program: Program) -> None:
    verbs.set_rules(program.seat, absence="script", absence_minutes=1, wants_rationale=False)
    verbs.hand_over(program.seat, "script", may_take_back=True)
    status, refused = program.post(1, LOOK)
    assert (status, refused["error"]) == (409, "not_now")
    state = program.get(wait=60)[1]  # it would last, were there nothing that the program may do
    assert (state["status"], state["driver"], state["may_take_back"]) == ("stand_in", "script", True)
    response = program.client.post("/api/seat/take-back/", headers=program.headers)
    assert (response.status_code, response.json()["driver"]) == (200, "owner")
    assert program.client.post("/api/seat/take-back/", headers=program.headers).status_code == 409
    assert program.post(1, LOOK)[0] == 200


def test_the_tools_come_with_the_briefing_that_a_model_gets_but_for_how_to_answer(program: Program) -> None:
    status, told = program.get("tools/")
    scenario = scenario_from({"days": 3})
    prompt = briefing.system_prompt(scenario, "roaster_A", briefing.Objective(), memory_tools=False)
    assert status == 200
    assert told["briefing"].partition("\n\n## How you answer\n")[0] == prompt.partition("\n\n## How you answer\n")[0]
    assert "POST /api/seat/turn/NUMBER/" in told["briefing"]
    assert told["tools"] == tools.schemas_for("roaster_A", "roaster", scenario, list(program.run.players))


def test_the_past_is_read_page_by_page(client: Client) -> None:
    program = Program(play(seated_run("roaster_A", kind="remote", days=9)), client)
    seen: list[int] = []
    before: int | None = 10**9
    while before:
        page = program.get("history/", before=before)[1]
        seen += [turn["turn"] for turn in page["turns"]]
        before = page["before"]
    assert seen == list(range(len(seen), 0, -1))
    assert len(seen) == Turn.objects.filter(run=program.run, firm=program.seat.firm).count() > door.HISTORY_PAGE
    assert program.get()[1]["status"] == "finished"
    assert differences(program.run) == []


# Who is let in.

PATHS = ["", "turn/", "tools/", "history/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("header", "error"),
    [
        (None, "no_token"),
        ("Bearer", "no_token"),
        ("Basic cm9zYTpyb3Nh", "no_token"),
        ("Bearer nonsense", "unknown_token"),
        ("Bearer 1.1~AAAA", "unknown_token"),
    ],
)
def test_without_a_token_that_opens_a_seat_there_is_nothing(
    program: Program, path: str, header: str | None, error: str
) -> None:
    headers = {"Authorization": header} if header else {}
    response = program.client.get(f"/api/seat/{path}", headers=headers)
    assert (response.status_code, response.json()["error"]) == (401, error)
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_token_in_the_address_or_a_cookie_opens_nothing(program: Program) -> None:
    token = token_of(program.seat)
    program.client.cookies["token"] = program.client.cookies["Authorization"] = token
    for query in ({"token": token}, {"access_token": token}, {"Authorization": f"Bearer {token}"}):
        assert program.client.get("/api/seat/", query).status_code == 401
    assert program.client.get(f"/api/seat/{token}/").status_code == 404


def test_staff_who_are_signed_in_need_the_token_too(program: Program) -> None:
    program.client.force_login(User.objects.create_user("rosa", is_staff=True))
    assert program.client.get("/api/seat/").status_code == 401
    assert program.client.post("/api/seat/turn/1/", "{}", content_type="application/json").status_code == 401


def test_a_revoked_and_a_reissued_token_are_void(program: Program) -> None:
    verbs.revoke(program.seat)
    assert (program.get()[0], program.get()[1]["error"]) == (401, "void_token")
    verbs.reissue(program.seat)
    assert program.post(1, LOOK)[0] == 401
    assert Program(program.run, program.client).post(1, LOOK)[0] == 200


def test_the_seat_of_a_person_is_played_at_a_browser_only(client: Client) -> None:
    program = Program(seated_run("roaster_A"), client)
    for status, refused in (program.get(), program.get("turn/"), program.post(1, LOOK)):
        assert (status, refused["error"]) == (403, "not_a_program")
    assert program.seat.taken_at is None


def test_a_program_answers_for_its_own_seat_only(client: Client) -> None:
    run = seated_run("roaster_A", "farmer_A", kind="remote")
    roaster, farmer = Program(run, client), Program(run, client, "farmer_A")
    assert roaster.get()[1]["firm"] == "roaster_A"
    assert farmer.get()[1]["firm"] == "farmer_A"
    farmer.post(1, LOOK)
    assert roaster.get()[1]["turn"] == 1


def test_no_csrf_token_is_asked_for() -> None:
    program = Program(seated_run("roaster_A", kind="remote"), Client(enforce_csrf_checks=True))
    assert program.post(1, LOOK)[0] == 200


@pytest.mark.parametrize(("method", "path", "allowed"), [("post", "", "GET"), ("put", "turn/1/", "POST")])
def test_another_method_is_refused_with_the_one_that_works(
    program: Program, method: str, path: str, allowed: str
) -> None:
    response = getattr(program.client, method)(f"/api/seat/{path}", headers=program.headers)
    assert (response.status_code, response["Allow"]) == (405, allowed)


@pytest.mark.parametrize("path", ["nothing/", "turn/x/", "turn/1", "turn/1234567890/"])
def test_another_address_is_refused_in_json(program: Program, path: str) -> None:
    assert program.get(path)[0] == 404


@pytest.mark.parametrize("query", [{"wait": "-1"}, {"wait": "x"}, {"after": "1.5"}, {"after": "9" * 30}])
def test_a_query_that_is_no_number_is_refused_by_name(program: Program, query: dict[str, str]) -> None:
    status, refused = program.get(**query)
    assert (status, refused["error"]) == (400, "malformed")
    assert next(iter(query)) in refused["message"]


def test_no_cache_keeps_an_answer(program: Program) -> None:
    for headers in (program.headers, {}):
        response = program.client.get("/api/seat/", headers=headers)
        assert "no-store" in response["Cache-Control"]


def test_a_programs_requests_are_its_sign_of_life(program: Program) -> None:
    assert program.seat.taken_at is None
    program.get()
    assert program.seat.taken_at is not None
    assert program.seat.last_seen_at is not None


# Waiting.


def test_a_turn_that_is_open_is_told_at_once(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_wait", lambda bell, seconds: pytest.fail("it was waited for"))
    assert program.get(wait=60)[1]["turn"] == 1
    assert program.get(wait=60, after=0)[1]["turn"] == 1


def test_a_wait_ends_after_its_seconds_with_the_state_as_it_is(program: Program) -> None:
    assert program.get(wait=1, after=1)[1]["turn"] == 1


def test_a_run_that_is_over_keeps_nobody_waiting(program: Program) -> None:
    control.cancel_run(program.run.pk)
    state = program.get(wait=60, after=10**9)[1]
    assert (state["is_over"], state["status"]) == (True, "stopped")


def test_requests_that_wait_beside_each_other_are_few(program: Program) -> None:
    waiting._waiting[program.seat.pk] = waiting.MOST_WAITING
    try:
        response = program.client.get("/api/seat/", {"wait": 60, "after": 1}, headers=program.headers)
    finally:
        del waiting._waiting[program.seat.pk]
    assert (response.status_code, response.json()["error"], response["Retry-After"]) == (429, "too_many", "1")
    assert program.get(wait=60)[0] == 200, "whoever need not wait is answered"


async def waits_for_its_second_turn() -> tuple[Seat, asyncio.Future[Any]]:
    """A program at a seat, which has its first turn and asks for the next; and its request, which the site holds."""
    run = await sync_to_async(seated_run)("roaster_A", kind="remote")
    seat = await sync_to_async(seat_of)(run, "roaster_A")
    return seat, await held_request(seat, after=1)


async def held_request(seat: Seat, *, after: int) -> asyncio.Future[Any]:
    """A program's request for a turn after that number, once the site holds it."""
    headers = {"Authorization": f"Bearer {token_of(seat)}"}
    request = asyncio.ensure_future(AsyncClient().get("/api/seat/", {"wait": 60, "after": after}, headers=headers))
    while not waiting._waiting[seat.pk]:
        assert not request.done(), "it was answered at once"
        await asyncio.sleep(0.01)
    return request


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_wait_ends_as_soon_as_the_next_turn_is_open() -> None:
    seat, request = await waits_for_its_second_turn()
    await sync_to_async(verbs.answer)(seat, 1, WAIT)
    await sync_to_async(move)(seat.run)
    response = await request
    assert response.json()["turn"] == 2
    assert not waiting._waiting


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("stop", "go_on"),
    [
        (lambda seat: verbs.hand_over(seat, "script"), verbs.hand_back),
        (lambda seat: control.pause_run(seat.run_id), lambda seat: control.resume_run(seat.run_id)),
    ],
    ids=["stand-in", "pause"],
)
async def test_an_open_turn_that_is_not_the_programs_to_answer_is_waited_for(
    stop: Callable[[Seat], object], go_on: Callable[[Seat], object]
) -> None:
    run = await sync_to_async(seated_run)("roaster_A", kind="remote")
    seat = await sync_to_async(seat_of)(run, "roaster_A")
    await sync_to_async(stop)(seat)
    request = await held_request(seat, after=0)
    await sync_to_async(go_on)(seat)
    state = (await request).json()
    assert (state["status"], state["turn"]) == ("your_turn", 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_whoever_waits_is_told_that_the_seat_may_be_taken_back() -> None:
    seat, request = await waits_for_its_second_turn()
    await sync_to_async(verbs.set_rules)(seat, absence="script", absence_minutes=1, wants_rationale=False)
    await sync_to_async(verbs.hand_over)(seat, "script", may_take_back=True)
    state = (await request).json()
    assert (state["status"], state["may_take_back"]) == ("stand_in", True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_token_revoked_in_the_middle_of_a_wait_ends_it() -> None:
    seat, request = await waits_for_its_second_turn()
    await sync_to_async(verbs.revoke)(seat)
    response = await request
    assert (response.status_code, response.json()["error"]) == (401, "void_token")
