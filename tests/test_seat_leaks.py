"""Everything that a seat can reach, compared with the true world at each step: nothing of others or of chance.

The world is rebuilt from the decisions, and every number in it that the firm was not given by the engine is a secret.
What the seat's pages, sockets and HTTP answers show is searched for secrets, as numbers written in whatever way and as
words. A number of fewer than four digits would be found by chance, so the scenario's own are made long.
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from coffeebench_site.asgi import application
from dashboards.seat import urls as seat_urls
from dashboards.seat_api import urls as api_urls
from marketplace.economy import ledger, statements
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from simulation import control
from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario, scenario_from
from simulation.engine.world import World
from simulation.models import Ask, Run, Seat, Turn
from simulation.seats import door, verbs
from simulation.seats.links import token_of
from simulation.store import rebuild
from tests.seat_play import move, policies_of, seat_of, seated_run
from tests.waiting import PATIENCE_SECONDS

LEAST_DIGITS = 4
DAYS = 3
PEOPLE, PROGRAM = ("roaster_A", "farmer_A"), "retailer_B"
SECRET_WORDS = "zanzibar monsoon"
HEADERS = [(b"host", b"localhost"), (b"origin", b"http://localhost")]

SCENARIO = scenario_from(
    {
        "days": DAYS,
        "delay": 0.08317,
        "loss": 0.02963,
        "spoilage": 0.006173,
        "demand_sigma": 0.5413,
        "demand_ceiling_kg": 131.73,
        "reference_demand_kg": 80.617,
        "loyalty_low": 0.84719,
        "loyalty_high": 1.15397,
        "festival": {"first_day": 1, "last_day": 2, "strength": 3.1417},
        "items": {
            "roasted_coffee_kg": {"consumers": {"base_demand_kg": 61.739, "floor_kg": 2.1371}},
            "roasted_specialty_kg": {"consumers": {"base_demand_kg": 31.847, "floor_kg": 1.0937}},
        },
        "firms": {
            name: {"cash": round(15_000 + 7.13 * number, 2), "opex": round(20 + 0.9173 * number, 4)}
            for number, name in enumerate(
                ("farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B"), 1
            )
        },
    }
)

# Numbers as tokens.

NUMBER = re.compile(r"(?<![\w.,])[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(?![\w])")
NOISE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+\d\d:\d\d)?"  # moments of the wall clock, which are the seat's own
    r'|<svg.*?</svg>|csrf(?:middleware)?[-_]?token[^>]*>|nonce="[^"]*"',
    re.DOTALL | re.IGNORECASE,
)


def canonical(number: Decimal) -> str:
    """A number without signs, separators and needless noughts."""
    return format(abs(number).normalize(), "f")


def digits_of(token: str) -> int:
    """How many digits of a token say something."""
    return len(token.replace(".", "").strip("0"))


@cache
def forms_of(value: float) -> frozenset[str]:
    """The ways in which a value could be written, as tokens: to several decimals, in micro-dollars, as a percentage."""
    exact = Decimal(str(value))
    values = (exact, exact * 100, Decimal(round(exact * 1_000_000)))
    tokens = {canonical(round(one, places)) for one in values for places in range(7)}
    return frozenset(token for token in tokens if digits_of(token) >= LEAST_DIGITS)


@cache
def tokens_in(text: str) -> set[str]:
    """The numbers of a text, long enough to be told apart."""
    found = (canonical(Decimal(match.replace(",", ""))) for match in NUMBER.findall(NOISE.sub(" ", text)))
    return {token for token in found if digits_of(token) >= LEAST_DIGITS}


def all_forms(values: Iterable[float]) -> set[str]:
    """The tokens of many values."""
    return {token for value in values for token in forms_of(value)}


# What is secret, and what is not.


def secrets_of(world: World, name: str) -> set[str]:
    """The numbers that only other firms or the environment know."""
    numbers = [
        *_of_the_environment(world),
        *(n for firm in world.economy.firms if firm.name != name for n in _of(firm)),
    ]
    numbers += _of_others_trade(world, name)
    return all_forms(numbers)


def _of_the_environment(world: World) -> Iterator[float]:
    scenario, chance = world.scenario, world.chance
    yield from (scenario.delay, scenario.loss, scenario.spoilage, scenario.demand_sigma)
    yield from (scenario.demand_ceiling_kg, scenario.reference_demand_kg, scenario.loyalty_low, scenario.loyalty_high)
    assert scenario.festival
    yield scenario.festival.strength
    for item in scenario.items.values():
        if item.consumers:
            yield from (item.consumers.base_demand_kg, item.consumers.floor_kg)
    for noise in chance.noise.values():
        yield from noise
    yield from chance.loyalty.values()
    yield from future_draws(world)


def future_draws(world: World) -> list[float]:
    """What chance will say next."""
    stream = random.Random()
    stream.setstate(world.chance.draw.__self__.getstate())  # type: ignore[attr-defined]
    return [stream.random() for _ in range(100)]


def _of(firm: Firm) -> Iterator[float]:
    """A firm's books, stock and prices."""
    for account in ledger.ACCOUNTS:
        yield usd(firm.balances[account])
    yield from (usd(statements.net_income(firm.balances)), usd(statements.equity(firm.balances)), usd(firm.opex_micros))
    yield from map(usd, firm.shelf.values())
    for holding in firm.holdings.values():
        yield from (holding.quantity_kg, usd(holding.cost_micros))


def _of_others_trade(world: World, name: str) -> Iterator[float]:
    for deal in world.economy.deals:
        if name not in (deal.seller.name, deal.buyer.name):
            yield from (usd(deal.total_micros), usd(deal.price_micros))
    for offer in world.economy.offers:
        if name not in (offer.bidder.name, offer.listing.seller.name):
            yield usd(offer.price_micros)


def known_to(world: World, seat: Seat) -> set[str]:
    """The numbers that the engine gave the firm or told everybody, that it sent itself, and its own books."""
    texts = list(Ask.objects.filter(firm_id=seat.firm_id).values_list("given", flat=True))
    for turn in Turn.objects.filter(firm_id=seat.firm_id):
        texts += [turn.arguments, turn.result, turn.rationale]
    texts.append(json.dumps(door.rules(seat)))
    tokens = {token for text in texts for token in tokens_in(text)}
    own = world.seats[seat.firm.name].firm
    return tokens | all_forms(float(token) for token in tokens) | all_forms(_of(own))


def secret_words(world: World, name: str) -> set[str]:
    """Ids and letters of others' trade."""
    economy = world.economy
    words = {deal.id for deal in economy.deals if name not in (deal.seller.name, deal.buyer.name)}
    words |= {one.id for one in economy.offers if name not in (one.bidder.name, one.listing.seller.name)}
    letters = [one for one in economy.messages if name not in (one.sender.name, one.recipient.name)]
    return words | {one.id for one in letters} | {word for one in letters for word in (one.title, one.body)}


def leaks(world: World, seat: Seat, texts: dict[str, str]) -> list[str]:
    """Where a secret shows."""
    name = seat.firm.name
    numbers, words = secrets_of(world, name) - known_to(world, seat), secret_words(world, name)
    words -= set(re.findall(r"\w+", json.dumps(door.rules(seat))))  # the tools' descriptions name an O7 of their own
    found = []
    for where, text in texts.items():
        plain = html.unescape(text).replace(token_of(seat), "")
        found += [f"{where}: {token}" for token in tokens_in(plain) & numbers]
        found += [
            f"{where}: {word}" for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", NOISE.sub(" ", plain))
        ]
    return found


# Everything that a seat can reach.

LINK = re.compile(r"""(?:href|src|action|hx-get|data-[\w-]+)=["'](/[^"'#]*)""")


def crawl(client: Client, seat: Seat) -> dict[str, str]:
    """All that the addresses of a seat answer: those of the resolver, and those that its pages lead to."""
    token, day = token_of(seat), seat.run.day
    todo = [address for pattern in seat_urls.urlpatterns for address in addresses_of(str(pattern.name), token, day)]
    texts: dict[str, str] = {}
    while todo:
        address = todo.pop()
        if address in texts or address.startswith("/static/"):
            continue
        response = client.get(address)
        assert response.status_code < 500, address
        texts[address] = all_of(response)
        todo += [html.unescape(link) for link in LINK.findall(texts[address])]
    return texts


def addresses_of(name: str, token: str, day: int) -> list[str]:
    """The addresses of one pattern."""
    if name == "day":
        return [reverse("dashboards:seat:day", args=[token, number]) for number in range(max(0, day - 1), day + 2)]
    if name == "queue":
        return [reverse("dashboards:seat:queue", args=[token, "start"])]
    return [reverse(f"dashboards:seat:{name}", args=[token])]


def crawl_api(client: Client, seat: Seat) -> dict[str, str]:
    """All that a program can read."""
    headers = {"Authorization": f"Bearer {token_of(seat)}"}
    texts = {}
    for name in {pattern.name for pattern in api_urls.urlpatterns if pattern.name}:
        address = reverse(f"dashboards:seat_api:{name}", args=[1] if name == "answer" else [])
        response = client.get(address, headers=headers)
        texts[address] = all_of(response)
    return texts


def all_of(response: Any) -> str:
    """What a response says, its headers too; how long it is happens to be a number as well."""
    headers = {name: value for name, value in response.headers.items() if name != "Content-Length"}
    return str(response.content.decode()) + json.dumps(headers)


def heard_on_the_socket(seat: Seat) -> dict[str, str]:
    """What a seat's socket says when it opens."""

    async def hear() -> str:
        address = f"/ws/seat/{token_of(seat)}/"
        socket = WebsocketCommunicator(application, address, headers=HEADERS)
        await socket.connect(timeout=PATIENCE_SECONDS)
        text: str = await socket.receive_from(timeout=PATIENCE_SECONDS)
        await socket.disconnect(timeout=PATIENCE_SECONDS)
        return text

    return {"socket": async_to_sync(hear)()}


def play_step(run: Run, answering: Any) -> None:
    """Answers every open turn, a person's through the verbs; farmer_A's first with a letter to one of the others."""
    for seat in Seat.objects.select_related("run", "firm").filter(run=run):
        turn = verbs.open_turn(seat)
        if turn is None:
            continue
        decision = answering(seat, turn)
        if seat.firm.name == "farmer_A" and turn.firm_turn == 1:
            letter = {"recipient": "retailer_A", "title": SECRET_WORDS, "body": f"{SECRET_WORDS}: 7,741.93 USD a kg"}
            decision = Decision("send_message", letter)
        verbs.answer(seat, turn.firm_turn, decision)
    move(run)


def table(scenario: Scenario = SCENARIO) -> Run:
    """A run with two people and a program among scripts."""
    run = seated_run(*PEOPLE, players={PROGRAM: "remote"}, scenario=scenario)
    for firm in PEOPLE:
        verbs.take(seat_of(run, firm))
    return run


@pytest.mark.django_db(transaction=True)
def test_nothing_that_only_others_or_chance_know_reaches_a_seat_at_any_step(client: Client) -> None:
    run = table()
    answering = policies_of(run)
    steps = pages = 0
    while True:
        world, _ = rebuild(run)
        for firm in PEOPLE:
            seat = seat_of(run, firm)
            texts = {**crawl(client, seat), **heard_on_the_socket(seat)}
            assert leaks(world, seat, texts) == [], f"at step {run.step}, day {run.day}, {firm}"
            pages += len(texts)
        program = seat_of(run, PROGRAM)
        assert leaks(world, program, crawl_api(client, program)) == [], f"at step {run.step}, {PROGRAM}"
        if run.status != Run.Status.RUNNING:
            break
        steps += 1
        play_step(run, answering)
    assert run.status == Run.Status.FINISHED
    print(f"{steps} steps, {pages} pages and sockets")
    assert steps > 20


@pytest.mark.django_db(transaction=True)
def test_the_letter_is_read_by_its_reader_and_by_nobody_else(client: Client) -> None:
    """Words are searched for as numbers are."""
    run = table()
    play_step(run, policies_of(run))
    world, _ = rebuild(run)
    assert SECRET_WORDS in secret_words(world, "roaster_A")
    assert SECRET_WORDS not in secret_words(world, "farmer_A")
    assert SECRET_WORDS in "".join(crawl(client, seat_of(run, "farmer_A")).values())
    assert SECRET_WORDS not in "".join(crawl(client, seat_of(run, "roaster_A")).values())


PLANTS: dict[str, Any] = {
    "a rival's cash": lambda world: f"{usd(world.seats['roaster_B'].firm.balances[ledger.CASH]):,.2f}",
    "a rival's cash in micro-dollars": lambda world: str(world.seats["roaster_B"].firm.balances[ledger.CASH]),
    "a rival's equity": lambda world: f"{usd(statements.equity(world.seats['roaster_B'].firm.balances)):.1f}",
    "the odds of a loss": lambda world: "2.963 %",
    "the strength of the festival": lambda world: "3.1417",
    "loyalty": lambda world: f"{world.chance.loyalty['retailer_A']:.4f}",
    "tomorrow's noise": lambda world: f"{world.chance.noise['roasted_coffee_kg'][world.day + 1]:.6f}",
    "the next draw": lambda world: f"{future_draws(world)[0]:.5f}",
    "others' deal": lambda world: next(one.id for one in world.economy.deals if one.buyer.name != "roaster_A"),
    "others' letter": lambda world: SECRET_WORDS,
}


@pytest.mark.django_db(transaction=True)
def test_the_detector_finds_what_is_planted_and_nothing_else(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = table()
    answering = policies_of(run)
    for _ in range(30):
        play_step(run, answering)
    world, _ = rebuild(run)
    seat = seat_of(run, "roaster_A")
    state = door.state
    assert leaks(world, seat, crawl(client, seat)) == []
    for what, plant in PLANTS.items():
        planted = plant(world)
        monkeypatch.setattr(door, "state", lambda seat, planted=planted: {**state(seat), "label": planted})
        texts = {"state": client.get(reverse("dashboards:seat:state", args=[token_of(seat)])).content.decode()}
        assert leaks(world, seat, texts), f"{what} was not found: {planted}"


# Where a seat's key does not fit.

STAFF_PAGES = [
    "/",
    "/runs/new/",
    "/runs/{run}/",
    "/runs/{run}/tape/",
    "/runs/{run}/days.csv",
    "/runs/{run}/firms/roaster_B/",
    "/runs/{run}/turns/1/",
    "/runs/{run}/tabs/books/",
    "/studies/",
    "/admin/",
    "/admin/simulation/seat/",
]


@pytest.mark.django_db
@pytest.mark.parametrize("address", STAFF_PAGES)
def test_a_seats_key_opens_no_page_of_the_staff(client: Client, address: str) -> None:
    run = seated_run("roaster_A")
    token = token_of(seat_of(run, "roaster_A"))
    client.get(f"/seat/{token}/")
    client.cookies["sessionid"] = token
    response = client.get(address.format(run=run.pk), {"token": token}, headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


@pytest.mark.django_db
def test_a_seats_key_cannot_pause_or_delete_its_run(client: Client) -> None:
    run = seated_run("roaster_A")
    token = token_of(seat_of(run, "roaster_A"))
    for verb in ("pause", "cancel", "delete", "step"):
        client.post(f"/runs/{run.pk}/{verb}/", headers={"Authorization": f"Bearer {token}"})
    run.refresh_from_db()
    assert run.status == Run.Status.RUNNING


@pytest.mark.django_db
def test_one_seat_does_not_lead_to_another(client: Client) -> None:
    run = seated_run("roaster_A", "farmer_A")
    other = seated_run("roaster_A")
    keys = {token_of(seat) for seat in Seat.objects.exclude(run=run, firm__name="roaster_A")}
    assert len(keys) == 2
    verbs.take(seat_of(run, "roaster_A"))
    text = "".join(crawl(client, seat_of(run, "roaster_A")).values())
    assert not any(key in text for key in keys)
    assert f"run-{run.pk}" not in text
    assert other.name not in text or other.name == "seats"


@pytest.mark.django_db(transaction=True)
def test_a_seats_key_opens_no_socket_of_the_staff_and_no_other_seat() -> None:
    run = seated_run("roaster_A")
    token = token_of(seat_of(run, "roaster_A"))

    async def close_code(address: str) -> int:
        headers = [*HEADERS, (b"authorization", f"Bearer {token}".encode())]
        socket = WebsocketCommunicator(application, address, headers=headers)
        await socket.connect(timeout=PATIENCE_SECONDS)
        message = await socket.receive_output(timeout=PATIENCE_SECONDS)
        return int(message.get("code", 0))

    assert async_to_sync(close_code)(f"/ws/runs/{run.pk}/") == 4401
    assert async_to_sync(close_code)("/ws/runs/") == 4401
    assert async_to_sync(close_code)(f"/ws/seat/{token[:-6]}AAAAAA/") == 4400
    verbs.revoke(seat_of(run, "roaster_A"))
    assert async_to_sync(close_code)(f"/ws/seat/{token}/") == 4410


@pytest.mark.django_db
def test_staff_who_open_a_seat_see_what_its_player_sees(client: Client) -> None:
    """A signed-in researcher's seat page is made from the same door."""
    run = seated_run("roaster_A")
    control.pause_run(run.pk, "OpenRouter 402")
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    assert "OpenRouter" not in client.get(f"/seat/{token_of(seat_of(run, 'roaster_A'))}/").content.decode()
