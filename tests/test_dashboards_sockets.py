"""The sockets: who gets in, and that a browser gets every event once, whatever is lost or late."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client

from coffeebench_site.asgi import application
from dashboards import consumers, shared_reads
from dashboards.feed import EVENTS_PER_PAGE, FAR_BEHIND, read_page
from dashboards.shared_reads import SharedReads
from simulation.models import Run
from tests.small_runs import add_event, add_events, end_day, make_run
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def hints_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets never look by themselves, unless a test wants it: what comes was brought by a hint."""
    monkeypatch.setattr(consumers, "POLL_SECONDS", 1000.0)


@pytest.fixture
def cookie(transactional_db: None, client: Client) -> bytes:
    """The cookie of somebody signed in as staff."""
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    return f"sessionid={client.cookies['sessionid'].value}".encode()


@pytest.fixture
def run(transactional_db: None) -> Run:
    return make_run()


def socket_to(path: str, cookie: bytes = b"", origin: bytes = b"http://localhost") -> WebsocketCommunicator:
    return WebsocketCommunicator(
        application, path, headers=[(b"host", b"localhost"), (b"origin", origin), (b"cookie", cookie)]
    )


@asynccontextmanager
async def watching(path: str, cookie: bytes) -> AsyncIterator[WebsocketCommunicator]:
    socket = socket_to(path, cookie)
    connected, _ = await socket.connect(timeout=PATIENCE_SECONDS)
    assert connected
    yield socket
    await socket.disconnect(timeout=PATIENCE_SECONDS)


async def message_of(socket: WebsocketCommunicator) -> dict[str, Any]:
    return dict(json.loads(await socket.receive_from(timeout=PATIENCE_SECONDS)))


async def page_of(socket: WebsocketCommunicator) -> dict[str, Any]:
    """The next page, acknowledged as a browser would."""
    message = await message_of(socket)
    while message["type"] == "idle":
        message = await message_of(socket)
    assert message["type"] == "page"
    await socket.send_to(json.dumps({"have": message["last"]}))
    return message


def numbers(page: dict[str, Any]) -> list[int]:
    return [line["number"] for line in page["lines"]]


async def hint(run: Run) -> None:
    message = {"type": "run.hint", "event": run.events, "status": run.status}
    await get_channel_layer().group_send(f"run-{run.pk}", message)


async def close_code(socket: WebsocketCommunicator) -> int:
    await socket.connect(timeout=PATIENCE_SECONDS)
    message = await socket.receive_output(timeout=PATIENCE_SECONDS)
    assert message["type"] == "websocket.close"
    return int(message["code"])


# Who gets in


async def test_strangers_and_users_who_are_not_staff_are_shown_out(run: Run, client: Client) -> None:
    await sync_to_async(client.force_login)(await User.objects.acreate(username="player"))
    cookie = f"sessionid={client.cookies['sessionid'].value}".encode()
    for path in (f"/ws/runs/{run.pk}/", "/ws/runs/"):
        assert await close_code(socket_to(path)) == consumers.NOT_STAFF
        assert await close_code(socket_to(path, cookie)) == consumers.NOT_STAFF


async def test_a_page_of_another_site_cannot_open_a_socket(run: Run, cookie: bytes) -> None:
    connected, _ = await socket_to(f"/ws/runs/{run.pk}/", cookie, b"http://evil.example").connect(
        timeout=PATIENCE_SECONDS
    )
    assert not connected


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/ws/runs/999/", consumers.NO_SUCH_RUN),
        ("/ws/runs/{}/?since=x", consumers.NONSENSE),
        ("/ws/runs/{}/?since=-1", consumers.NONSENSE),
        ("/ws/runs/{}/?since=9999999999", consumers.NONSENSE),
        ("/ws/runs/{}/?since=%00", consumers.NONSENSE),
        ("/ws/runs/{}/?since=%D9%A3", consumers.NONSENSE),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_reason(run: Run, cookie: bytes, path: str, code: int) -> None:
    assert await close_code(socket_to(path.format(run.pk), cookie)) == code


@pytest.mark.parametrize("path", ["/ws/", "/ws/runs/99999999999999999999/", "/elsewhere/"])
async def test_other_addresses_are_refused(cookie: bytes, path: str) -> None:
    connected, _ = await socket_to(path, cookie).connect(timeout=PATIENCE_SECONDS)
    assert not connected


async def test_logging_out_closes_open_sockets(
    run: Run, cookie: bytes, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "ACCESS_SECONDS", 0.1)
    socket = socket_to(f"/ws/runs/{run.pk}/", cookie)
    await socket.connect(timeout=PATIENCE_SECONDS)
    await message_of(socket)
    await sync_to_async(client.logout)()
    assert (await socket.receive_output(timeout=PATIENCE_SECONDS))["code"] == consumers.NOT_STAFF


# What a browser gets


async def test_a_new_socket_gets_what_follows_the_page_it_belongs_to(run: Run, cookie: bytes) -> None:
    await sync_to_async(add_events)(run, 7)
    async with watching(f"/ws/runs/{run.pk}/?since=4", cookie) as socket:
        page = await page_of(socket)
    assert numbers(page) == [5, 6, 7]
    assert (page["since"], page["last"], page["state"]["events"]) == (4, 7, 7)
    assert page["standings"]["farmer_A"]["cash"] == "15,000"


async def test_a_hint_brings_what_is_new_and_only_that(run: Run, cookie: bytes) -> None:
    async with watching(f"/ws/runs/{run.pk}/?since=0", cookie) as socket:
        assert numbers(await page_of(socket)) == []
        for expected in ([1, 2], [3, 4, 5]):
            await sync_to_async(add_events)(run, len(expected))
            await hint(run)
            assert numbers(await page_of(socket)) == expected


async def test_a_lost_hint_costs_some_seconds_and_no_event(
    run: Run, cookie: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "POLL_SECONDS", 0.1)
    async with watching(f"/ws/runs/{run.pk}/?since=0", cookie) as socket:
        await page_of(socket)
        await sync_to_async(add_events)(run, 3)
        assert numbers(await page_of(socket)) == [1, 2, 3]


async def test_a_change_of_status_is_told_without_an_event(run: Run, cookie: bytes) -> None:
    async with watching(f"/ws/runs/{run.pk}/", cookie) as socket:
        assert (await page_of(socket))["state"]["status"] == "running"
        run.status, run.status_reason = "paused", "paused by a person"
        await run.asave()
        await hint(run)
        page = await page_of(socket)
    assert (page["lines"], page["state"]["status"], page["state"]["reason"]) == ([], "paused", "paused by a person")


async def test_an_evening_carries_a_point_for_every_chart_and_what_cards_show(run: Run, cookie: bytes) -> None:
    await sync_to_async(end_day)(run, 0, {"farmer_A": -25.0}, receivables=90.4)
    async with watching(f"/ws/runs/{run.pk}/", cookie) as socket:
        (evening,) = (await page_of(socket))["evenings"]
    assert evening["day"] == 0
    assert evening["firms"]["farmer_A"] == {
        "points": {"net_income": -25.0, "cash": 14_975.0, "equity": 14_975.0, "inventory": 0.0},
        "books": {
            "net_income": -25.0,
            "cash": 14_975.0,
            "receivables": 90.4,
            "payables": 0.0,
            "plain_kg": 0,
            "specialty_kg": 0,
        },
    }


async def test_much_comes_in_pages_each_after_the_last_was_acknowledged(run: Run, cookie: bytes) -> None:
    await sync_to_async(add_events)(run, 2 * EVENTS_PER_PAGE + 10)
    async with watching(f"/ws/runs/{run.pk}/?since=0", cookie) as socket:
        first = await message_of(socket)
        assert numbers(first) == list(range(1, EVENTS_PER_PAGE + 1))
        await hint(run)
        assert await socket.receive_nothing(timeout=0.3)  # a slow browser is not flooded
        await socket.send_to(json.dumps({"have": EVENTS_PER_PAGE}))
        seen = numbers(await page_of(socket)) + numbers(await page_of(socket))
    assert seen == list(range(EVENTS_PER_PAGE + 1, 2 * EVENTS_PER_PAGE + 11))
    assert first["standings"] == {}  # only the last page says how firms stand now


@pytest.mark.parametrize(("behind", "kind"), [(FAR_BEHIND, "page"), (FAR_BEHIND + 1, "reload")])
async def test_whoever_is_far_behind_opens_the_page_afresh(run: Run, cookie: bytes, behind: int, kind: str) -> None:
    await sync_to_async(add_events)(run, behind)
    async with watching(f"/ws/runs/{run.pk}/?since=0", cookie) as socket:
        assert (await message_of(socket))["type"] == kind


async def test_whoever_is_ahead_of_the_run_opens_the_page_afresh(run: Run, cookie: bytes) -> None:
    async with watching(f"/ws/runs/{run.pk}/?since=5", cookie) as socket:
        assert await message_of(socket) == {"type": "reload"}


async def test_a_quiet_line_says_that_it_is_alive(run: Run, cookie: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "POLL_SECONDS", 0.1)
    async with watching(f"/ws/runs/{run.pk}/", cookie) as socket:
        await page_of(socket)
        assert await message_of(socket) == {"type": "idle"}


@pytest.mark.parametrize(
    "nonsense",
    ["x", "[]", "{}", "null", '{"have": "1"}', '{"have": 1e308}', '{"have": NaN}', '{"have": 99}', "[" * 100_000],
)
async def test_whatever_a_browser_says_is_no_error_and_moves_nothing(run: Run, cookie: bytes, nonsense: str) -> None:
    await sync_to_async(add_events)(run, EVENTS_PER_PAGE + 1)
    async with watching(f"/ws/runs/{run.pk}/", cookie) as socket:
        await message_of(socket)
        await socket.send_to(text_data=nonsense)
        await socket.send_to(bytes_data=b"\xff\x00")
        assert await socket.receive_nothing(timeout=0.2)
        await socket.send_to(json.dumps({"have": EVENTS_PER_PAGE}))
        assert numbers(await page_of(socket)) == [EVENTS_PER_PAGE + 1]


async def test_a_run_that_goes_away_closes_its_sockets(run: Run, cookie: bytes) -> None:
    socket = socket_to(f"/ws/runs/{run.pk}/", cookie)
    await socket.connect(timeout=PATIENCE_SECONDS)
    await page_of(socket)
    pk = run.pk
    await Run.objects.filter(pk=pk).adelete()
    run.pk = pk
    await hint(run)
    assert (await socket.receive_output(timeout=PATIENCE_SECONDS))["code"] == consumers.NO_SUCH_RUN


async def test_many_sockets_end_at_the_same_event_with_one_read(
    run: Run, cookie: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def counted(*arguments: Any) -> Any:
        reads.append(1)
        return read_page(*arguments)

    monkeypatch.setattr(consumers, "read_page", counted)
    monkeypatch.setattr(consumers, "pages", SharedReads())
    monkeypatch.setattr(shared_reads, "SHARED_SECONDS", 1000.0)  # however long the hint takes to reach them all
    sockets = [socket_to(f"/ws/runs/{run.pk}/", cookie) for _ in range(20)]
    for socket in sockets:
        await socket.connect(timeout=PATIENCE_SECONDS)
        await page_of(socket)
    reads.clear()
    await sync_to_async(add_events)(run, 5)
    await hint(run)
    for socket in sockets:
        assert numbers(await page_of(socket)) == [1, 2, 3, 4, 5]
    assert len(reads) == 1
    for socket in sockets:
        await socket.disconnect(timeout=PATIENCE_SECONDS)


async def test_the_list_hears_that_a_run_has_moved(cookie: bytes) -> None:
    async with watching("/ws/runs/", cookie) as socket:
        await get_channel_layer().group_send("runs", {"type": "runs.hint", "run": 1})
        assert await message_of(socket) == {"type": "runs"}


async def test_a_mention_by_the_runner_reaches_the_socket(run: Run, cookie: bytes) -> None:
    from simulation import announce

    async with watching(f"/ws/runs/{run.pk}/", cookie) as socket:
        await page_of(socket)
        await sync_to_async(add_event)(run, "day_ended")
        await sync_to_async(announce.progress, thread_sensitive=False)(run)
        assert numbers(await page_of(socket)) == [1]


# The read behind them


def query_count(read: Callable[[], Any]) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        read()
    return len(queries)


async def test_a_read_costs_three_queries_and_one_when_nothing_is_new(run: Run) -> None:
    await sync_to_async(add_events)(run, 3)
    page = await sync_to_async(read_page)(run.pk, 0, "")
    assert page
    assert await sync_to_async(query_count)(lambda: read_page(run.pk, 0, "")) == 3
    assert await sync_to_async(query_count)(lambda: read_page(run.pk, 3, page.state)) == 1


async def test_a_shared_read_outlives_the_one_who_asked_first() -> None:
    shared: SharedReads[int] = SharedReads()
    answers: list[int] = []

    def slow() -> int:
        answers.append(1)
        return len(answers)

    first = asyncio.create_task(shared.read("question", slow))
    second = asyncio.create_task(shared.read("question", slow))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1
    await asyncio.sleep(0.1)
    assert await shared.read("question", slow) == 2  # later, the answer is a new one
