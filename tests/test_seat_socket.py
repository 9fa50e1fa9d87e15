"""The socket of a seat: who gets in, what it tells its page and when, and that nothing else goes through it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator

from coffeebench_site.asgi import application
from dashboards import keyed_socket
from dashboards.seat.consumer import SeatConsumer
from simulation import control
from simulation.engine.decision import Decision
from simulation.models import Run, Seat
from simulation.seats import links, verbs
from tests.seat_play import move, seat_of, seated_run
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]

LOOK = Decision("view_listings", {})


@pytest.fixture(autouse=True)
def hints_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets never look by themselves, unless a test wants it: what comes was brought by a hint."""
    monkeypatch.setattr(keyed_socket, "LOOK_SECONDS", 1000.0)


@pytest.fixture
def run(transactional_db: None) -> Run:
    return seated_run("roaster_A", "retailer_A")


@pytest.fixture
def seat(run: Run) -> Seat:
    verbs.take(seat_of(run, "roaster_A"))
    return seat_of(run, "roaster_A")


def socket_to(token: str, origin: bytes = b"http://localhost") -> WebsocketCommunicator:
    return WebsocketCommunicator(
        application, f"/ws/seat/{token}/", headers=[(b"host", b"localhost"), (b"origin", origin)]
    )


@asynccontextmanager
async def at_the_seat(seat: Seat) -> AsyncIterator[WebsocketCommunicator]:
    socket = socket_to(links.token_of(seat))
    connected, _ = await socket.connect(timeout=PATIENCE_SECONDS)
    assert connected
    yield socket
    await socket.disconnect(timeout=PATIENCE_SECONDS)


async def state_of(socket: WebsocketCommunicator) -> dict[str, Any]:
    """The next state that is told."""
    while True:
        message = json.loads(await socket.receive_from(timeout=PATIENCE_SECONDS))
        if message["type"] == "state":
            return dict(message["state"])


async def hint(run: Run) -> None:
    message = {"type": "run.hint", "event": 4711, "status": run.status}
    await get_channel_layer().group_send(f"run-{run.pk}", message)


async def close_code(socket: WebsocketCommunicator) -> int:
    message = await socket.receive_output(timeout=PATIENCE_SECONDS)
    while message["type"] != "websocket.close":
        message = await socket.receive_output(timeout=PATIENCE_SECONDS)
    return int(message["code"])


async def test_a_new_page_is_told_where_its_seat_stands(seat: Seat) -> None:
    async with at_the_seat(seat) as socket:
        state = await state_of(socket)
    assert (state["firm"], state["status"], state["turn"]) == ("roaster_A", "your_turn", 1)


async def test_an_answer_and_the_next_turn_are_told_without_being_asked_for(seat: Seat, run: Run) -> None:
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        await sync_to_async(verbs.answer)(seat, 1, LOOK)
        waiting = await state_of(socket)
        assert (waiting["status"], waiting["waiting_for"]) == ("waiting", ["retailer_A"])
        await sync_to_async(verbs.answer)(await sync_to_async(seat_of)(run, "retailer_A"), 1, LOOK)
        await sync_to_async(move)(run)
        state = waiting
        while state["status"] == "waiting":
            state = await state_of(socket)
    assert (state["status"], state["turn"], state["time"]["clock"]) == ("your_turn", 2, "09:30")


async def test_a_hint_that_is_no_news_to_the_seat_says_nothing_and_never_shows_the_runs_own_numbers(
    seat: Seat, run: Run
) -> None:
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        for _ in range(3):
            await hint(run)
        assert await socket.receive_nothing(timeout=0.5)


async def test_a_lost_hint_costs_some_seconds(seat: Seat, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_socket, "LOOK_SECONDS", 0.1)
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        await Run.objects.filter(pk=run.pk).aupdate(status="paused", paused_by="person", status_reason="why not")
        state = await state_of(socket)
    assert (state["status"], state["turn"]) == ("paused", 1)
    assert "why not" not in json.dumps(state)


async def test_a_quiet_line_says_that_it_is_alive(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_socket, "LOOK_SECONDS", 0.1)
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        assert json.loads(await socket.receive_from(timeout=PATIENCE_SECONDS)) == {"type": "idle"}


async def test_a_live_panel_of_an_assisted_seat_that_changes_is_news(transactional_db: None) -> None:
    run = await sync_to_async(seated_run)("roaster_A", "farmer_A", information="assisted")
    seat = await sync_to_async(seat_of)(run, "roaster_A")
    await sync_to_async(verbs.answer)(seat, 1, Decision("wait_for_next_day", {}))
    async with at_the_seat(seat) as socket:
        before = await state_of(socket)
        listing = Decision("post_listing", {"item_id": "green_coffee_kg", "qty": 5, "asking_price": 3})
        await sync_to_async(verbs.answer)(await sync_to_async(seat_of)(run, "farmer_A"), 1, listing)
        await sync_to_async(move)(run)
        state = before
        while state["panels_mark"] == before["panels_mark"]:
            state = await state_of(socket)
    assert state["turn"] is None, "it still waits, and sees the market move"


async def test_signs_of_life_reach_the_clocks_but_not_a_flood_of_them(
    seat: Seat, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bool] = []
    monkeypatch.setattr(keyed_socket, "LEAST_BEAT_SECONDS", 60.0)
    monkeypatch.setattr(SeatConsumer, "sign_of_life", lambda socket, token, is_active: heard.append(is_active))
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        for _ in range(5):
            await socket.send_to('{"beat": true}')
        await hint(run)
        assert await socket.receive_nothing(timeout=0.5)
    assert heard == [True]


async def test_a_sign_of_life_is_written_down(seat: Seat, run: Run) -> None:
    before = seat.last_seen_at
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        await socket.send_to('{"beat": false}')
        assert await socket.receive_nothing(timeout=0.5)
    after = await sync_to_async(seat_of)(run, "roaster_A")
    assert after.last_seen_at != before
    assert after.last_active_at == seat.last_active_at, "the page was there, its person did nothing"


@pytest.mark.parametrize("nonsense", ["x", "[]", "{}", "null", '{"beat": 1}', '{"tool": "roast"}', "[" * 100_000])
async def test_whatever_else_a_page_says_is_no_error_and_does_nothing(seat: Seat, run: Run, nonsense: str) -> None:
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        await socket.send_to(text_data=nonsense)
        await socket.send_to(bytes_data=b"\xff\x00")
        assert await socket.receive_nothing(timeout=0.2)
    assert (await sync_to_async(seat_of)(run, "roaster_A")).last_seen_at == seat.last_seen_at


async def test_a_link_that_opens_no_seat_opens_no_socket(seat: Seat) -> None:
    socket = socket_to("1.1~nonsense")
    await socket.connect(timeout=PATIENCE_SECONDS)
    assert await close_code(socket) == keyed_socket.NOTHING
    await sync_to_async(verbs.revoke)(seat)
    socket = socket_to(links.token_of(seat))
    await socket.connect(timeout=PATIENCE_SECONDS)
    assert await close_code(socket) == keyed_socket.VOID


async def test_a_link_that_is_made_void_closes_its_open_sockets(seat: Seat) -> None:
    socket = socket_to(links.token_of(seat))
    await socket.connect(timeout=PATIENCE_SECONDS)
    await state_of(socket)
    await sync_to_async(verbs.reissue)(seat)
    assert await close_code(socket) == keyed_socket.VOID


async def test_a_page_of_another_site_cannot_open_a_socket(seat: Seat) -> None:
    connected, _ = await socket_to(links.token_of(seat), b"http://evil.example").connect(timeout=PATIENCE_SECONDS)
    assert not connected


async def test_the_end_of_the_run_is_told(seat: Seat, run: Run) -> None:
    async with at_the_seat(seat) as socket:
        await state_of(socket)
        await sync_to_async(control.cancel_run)(run.pk)
        state = await state_of(socket)
    assert (state["is_over"], state["status_text"]) == (True, "The researcher has ended the run.")
