"""The socket of the waiting room: what it tells its page and when."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from coffeebench_site.asgi import application
from dashboards import keyed_socket
from simulation.studies import links, verbs
from simulation.studies.models import Participant
from tests.study_plans import Stage, again, invited, small_study, walk_to
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def hints_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets never look by themselves: what comes was brought by a hint."""
    monkeypatch.setattr(keyed_socket, "LOOK_SECONDS", 1000.0)


@pytest.fixture
def two(transactional_db: None) -> list[Participant]:
    """The first in the waiting room, the second still reads."""
    ada, bo = invited(small_study(persons=["roaster_A", "roaster_B"]), "ada", "bo")
    return [walk_to(ada, Stage.WAITING), walk_to(bo, Stage.BRIEFING)]


async def in_the_room(participant: Participant) -> WebsocketCommunicator:
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    socket = WebsocketCommunicator(application, f"/ws/study/{links.token_of(participant)}/", headers=headers)
    connected, _ = await socket.connect(timeout=PATIENCE_SECONDS)
    assert connected
    return socket


async def next_state(socket: WebsocketCommunicator) -> dict[str, Any]:
    return dict(json.loads(await socket.receive_from(timeout=PATIENCE_SECONDS))["state"])


async def test_who_comes_is_told_in_numbers_alone_and_so_is_the_beginning(two: list[Participant]) -> None:
    socket = await in_the_room(two[0])
    room = {"places": 2, "taken": 1, "here": 1, "by_researcher": False}
    assert await next_state(socket) == {"stage": "waiting", "room": room}
    await sync_to_async(walk_to)(two[1], Stage.GAME)
    state = await next_state(socket)
    while state["stage"] == "waiting":
        state = await next_state(socket)
    assert (state["stage"], state["room"]["taken"]) == ("game", 2)
    await socket.disconnect(timeout=PATIENCE_SECONDS)


async def test_a_sign_of_life_shows_the_page_as_open_to_the_others(transactional_db: None) -> None:
    study = await sync_to_async(small_study)(persons=["roaster_A", "roaster_B"], start="researcher")
    ada, bo = await sync_to_async(invited)(study, "ada", "bo")
    ada, bo = [await sync_to_async(walk_to)(one, Stage.WAITING) for one in (ada, bo)]
    socket, other = await in_the_room(ada), await in_the_room(bo)
    assert (await next_state(socket))["room"]["here"] == 1
    await other.send_to('{"beat": true}')
    assert (await next_state(socket))["room"]["here"] == 2
    for one in (socket, other):
        await one.disconnect(timeout=PATIENCE_SECONDS)


async def test_whose_place_was_freed_gets_one_anew_while_they_look(two: list[Participant]) -> None:
    socket = await in_the_room(two[0])
    await next_state(socket)
    await sync_to_async(verbs.free_place)(two[0])
    assert (await next_state(socket))["room"]["taken"] == 0
    await socket.send_to('{"beat": true}')
    assert (await next_state(socket))["room"]["taken"] == 1
    assert (await sync_to_async(again)(two[0])).table_id is not None
    await socket.disconnect(timeout=PATIENCE_SECONDS)


async def test_a_link_that_is_made_void_closes_the_room(two: list[Participant]) -> None:
    socket = await in_the_room(two[0])
    await next_state(socket)
    await sync_to_async(verbs.revoke)(two[0])
    assert (await socket.receive_output(timeout=PATIENCE_SECONDS))["code"] == keyed_socket.VOID
