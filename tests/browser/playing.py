"""A person at the player's console: a page played with the keyboard alone, and read as it shows itself.

`Console` is the hands, `Reader` the eyes: it turns what stands on the page back into what a script is shown, so that a
script can play through the page and find out whether the page leaves anything out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from dashboards import words
from dashboards.seat.catalogue import way_of
from dashboards.seat.show import HEADERS, TITLES
from marketplace.economy.economy import MINUTES_PER_DAY
from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import scenario_from
from simulation.models import Run, Turn
from simulation.players.registry import default_players
from simulation.seats.links import token_of
from simulation.store import differences, scenario_of
from tests.browser.conftest import BROKEN_LINE, PATIENCE_MS, Site, hear_complaints, in_thread
from tests.seat_play import seat_of, seated_run
from tests.waiting import eventually

FIRM = "roaster_A"
SEED = 3
MOST_STEPS = 120

# Where the form of a tool has which field, what stands in it, and of a choice what can be chosen.
FIELDS = """form => [...form.querySelectorAll('[name]')].map(input => ({
    name: input.name.slice(4), type: input.type, value: input.type === 'checkbox' ? input.checked : input.value,
    choices: [...(input.options ?? [])].map(option => option.value)}))"""

FOCUSED = """() => { const {act, arguments: given} = document.activeElement.dataset;
    return act ? {tool: act, arguments: JSON.parse(given)} : null; }"""

# Tables and facts as a reader of the screen has them. What can be done from a row is no part of them.
LAID_OUT = """call => {
    const text = element => element.textContent.trim();
    const title = place => place.querySelector('h4')?.firstChild.textContent.trim() ?? '';
    return {
        head: text(call.querySelector('.call-head time')),
        error: call.querySelector('.call-error bdi')?.textContent ?? null,
        line: call.querySelector('.call-result, summary')?.textContent ?? '',
        facts: [...call.querySelectorAll('.facts dl > div')].map(fact => [...fact.children].map(text)),
        tables: [...call.querySelectorAll('.rows')].map(table => [title(table), {
            headers: [...table.querySelectorAll('thead th:not(:has(.unseen))')].map(text),
            rows: [...table.querySelectorAll('tbody tr:not(.acts-row)')].map(
                row => [...row.querySelectorAll('td:not(.acts)')].map(text))}])}; }"""


def address_of(site: Site, run: Run, firm: str = "roaster_A") -> str:
    """The link of a firm's seat."""
    return f"{site.address}/seat/{token_of(seat_of(run, firm))}/"


def complaints_of(page: Page) -> list[str]:
    """What the browser will complain of: errors, warnings, violations of the policy, but no lost connection."""
    found: list[str] = []

    def note(text: str) -> None:
        if not BROKEN_LINE.search(text):
            found.append(text)

    hear_complaints(page, note)
    return found


def turns_of(run: Run, firm: str) -> list[Decision]:
    """What a firm decided, as it is stored, in order."""
    turns = Turn.objects.filter(run=run, firm__name=firm).order_by("pk")
    return [Decision(turn.tool, json.loads(turn.arguments), turn.rationale) for turn in turns]


def said_of(decisions: Iterable[Decision], sent: Iterable[Decision]) -> list[Decision]:
    """Stored decisions without the arguments that whoever sent them left untouched."""
    cut = [
        decision._replace(arguments={name: decision.arguments.get(name) for name in one.arguments})
        for decision, one in zip(decisions, sent, strict=False)
    ]
    return [*cut, *list(decisions)[len(cut) :]]


class Console:
    """The console of a seat in a page. It counts what it sends."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.sent: list[Decision] = []
        self.posted = 0
        page.on("request", self._count)
        page.goto(address)

    def _count(self, request: Request) -> None:
        self.posted += request.url.endswith("/act/")

    # What it shows.

    @property
    def turn(self) -> int | None:
        """The number of the open turn that is on the page."""
        return int(self.page.locator("#content").get_attribute("data-turn") or 0) or None

    @property
    def minute(self) -> int:
        """The simulated time in the header."""
        text = self.page.locator('#head [data-slot="moment"]').inner_text()
        found = re.fullmatch(r"Day (\d+) · \w+ (\d\d):(\d\d)", text)
        assert found, text
        day, hours, minutes = map(int, found.groups())
        return day * MINUTES_PER_DAY + hours * 60 + minutes

    @property
    def is_over(self) -> bool:
        """Whether the page shows how it ended."""
        return self.page.locator(".ending").count() > 0

    def until_turn(self, number: int) -> None:
        """Wait for a turn to be on the page and open for an action, or for the run's end."""
        open_turn = f'body:not(.not-my-turn) #content[data-turn="{number}"]'
        self.page.locator(f"{open_turn}, .ending").wait_for(state="attached", timeout=PATIENCE_MS)

    def expect_turn_text(self, text: str | re.Pattern[str]) -> None:
        """Wait for what the header says of whose turn it is."""
        expect(self.page.locator('#head [data-slot="turn"]')).to_have_text(text)

    # What the hands do.

    def press(self, *keys: str) -> None:
        """One key after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def take_seat(self) -> None:
        """Enter, on the welcome page."""
        expect(self.page.get_by_role("button", name="Take the seat")).to_be_focused()
        self.press("Enter")
        self.page.locator("body.seat-console #content[data-shown]").wait_for(state="attached")

    def open(self, tool: str) -> None:
        """A tool's form, by its key."""
        self.press("Escape", way_of(tool).key)
        expect(self.page.locator(f"#form-{tool}")).to_be_visible()

    def fill(self, tool: str, **arguments: Any) -> None:
        """Fills a tool's form field by field; what is not named stays untouched."""
        self.open(tool)
        form = self.page.locator(f"#form-{tool}")
        fields = form.evaluate(FIELDS)
        unknown = arguments.keys() - {field["name"] for field in fields}
        assert not unknown, f"the form of {tool} does not ask for {unknown}"
        for field in fields:
            if field["name"] in arguments:
                self._put(field, arguments[field["name"]])
            self.press("Tab")
        stands = {field["name"]: field["value"] for field in form.evaluate(FIELDS)}
        for name, value in arguments.items():
            assert stands[name] == (value if isinstance(value, bool) else str(value)), f"{name} has {stands[name]!r}"

    def _put(self, field: dict[str, Any], value: Any) -> None:
        """A value into the field that has the focus."""
        if field["type"] == "checkbox":
            if field["value"] != value:
                self.press("Space")
        elif field["choices"]:
            self.press("Home", *["ArrowDown"] * field["choices"].index(value))
        else:
            self.press("Control+a")
            self.page.keyboard.type(str(value))

    def send(self, tool: str, **arguments: Any) -> None:
        """Sends an action, and does not wait for what comes of it."""
        if tool == WAIT.tool:
            self.press("Escape", "w")
        else:
            self.fill(tool, **arguments)
            self.press("Control+Enter")
        self.sent.append(Decision(tool, arguments))

    def act(self, tool: str, **arguments: Any) -> None:
        """Sends an action and waits for the firm's next turn."""
        turn = self.turn
        assert turn is not None, "it is not this seat's turn"
        self.send(tool, **arguments)
        self.until_turn(turn + 1)

    def queue(self, tool: str, **arguments: Any) -> None:
        """Adds an action to those to come."""
        before = self.page.locator("#queue li").count()
        self.fill(tool, **arguments)
        self.press("Control+Shift+Enter")
        expect(self.page.locator("#queue li")).to_have_count(before + 1)

    def go_to_row(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Walks with the arrows to the button of a row that calls a tool, and tells what it would send."""
        self.press("Escape", ",")
        for _ in range(MOST_STEPS):
            focused = self.page.evaluate(FOCUSED)
            if focused and focused["tool"] == tool and arguments.items() <= focused["arguments"].items():
                return dict(focused["arguments"])
            self.press("ArrowDown")
        raise AssertionError(f"no row offers {tool} {arguments or ''}")

    def act_from_row(self, tool: str, **arguments: Any) -> None:
        """Presses a row's button, which sends its call, and waits for the next turn."""
        turn = self.turn
        assert turn is not None, "it is not this seat's turn"
        call = self.go_to_row(tool, **arguments)
        self.press("Enter")
        self.sent.append(Decision(tool, call))
        self.until_turn(turn + 1)


class Reader:
    """Reads a console back into what its firm was given, from the words on the page."""

    def __init__(self, console: Console, run: Run, firm: str) -> None:
        self.console, self.firm, self.role = console, firm, firm.partition("_")[0]
        self.items = {words.item_text(item): item for item in scenario_of(run).items}
        self.keys = {header: key for key, header in reversed(HEADERS.items())}
        self.titles = {title: key for key, title in TITLES.items()}

    def view(self) -> View:
        """What the open turn gives: the result of the last call, and the observation if the firm was woken."""
        page = self.console.page
        observation = None
        if page.locator("#know .woken").count():
            observation = json.loads(page.locator("#know details.raw pre").text_content() or "")
        return View(self.firm, self.role, self.console.minute, self.result(), observation)

    def result(self) -> dict[str, Any] | None:
        """The result of the newest call of the day."""
        newest = self.console.page.locator("#did > .calls > li.call").first
        if not newest.count():
            return None
        told = newest.evaluate(LAID_OUT)
        if told["error"] is not None:
            return {"ok": False, "error": told["error"]}
        result: dict[str, Any] = {"ok": True, **{self._key(name): self._value(text) for name, text in told["facts"]}}
        for title, table in told["tables"]:
            result[self.titles.get(title, title)] = self._rows(title, table)
        if not told["facts"] and not told["tables"]:
            result.update(self._line(told["line"]))
        return result

    def _rows(self, title: str, table: dict[str, Any]) -> Any:
        keys = [self._key(header) for header in table["headers"]]
        rows = [dict(zip(keys, map(self._value, row), strict=True)) for row in table["rows"]]
        return {row.pop("item_id"): row for row in rows} if title == TITLES["stock"] else rows

    def _line(self, text: str) -> dict[str, Any]:
        """A short result, told in one line: `listing L12`."""
        found = re.match(r"listing (L\d+)", text)
        return {"listing_id": found[1]} if found else {}

    def _key(self, header: str) -> str:
        return {"kg": "qty"}.get(header) or self.keys.get(header) or header.lower().replace(" ", "_")

    def _value(self, text: str) -> Any:
        if text in self.items:
            return self.items[text]
        number = text.replace(",", "").replace(words.MINUS, "-")
        if re.fullmatch(r"-?\d+", number):
            return int(number)
        return float(number) if re.fullmatch(r"-?\d+\.\d+", number) else text


class Held:
    """Holds back a page's requests to send an action: on their way to the server, or their answers on the way back."""

    def __init__(self, page: Page, address: str = "**/act/", *, answers: bool = False) -> None:
        self.page, self.address, self.answers = page, address, answers
        self.routes: list[Route] = []
        page.route(address, self._hold)

    def _hold(self, route: Route) -> None:
        if self.answers:
            route.fetch()
        self.routes.append(route)

    def wait_for(self, count: int = 1) -> None:
        """Wait until so many are held."""
        while len(self.routes) < count:
            self.page.wait_for_timeout(20)

    def let_go(self) -> None:
        """Sends the requests on after all, and holds no more. An answer that was held is lost: the page gets none."""
        for route in self.routes:
            if self.answers:
                route.abort()
            else:
                route.continue_()
        self.page.unroute(self.address, self._hold)


def played_inside(*, days: int, seed: int) -> Run:
    """The same scenario and seed with scripts at every firm, played to its end."""
    run = seated_run(days=days, seed=seed)
    eventually(lambda: Run.objects.get(pk=run.pk).is_over)  # a worker may have it
    return Run.objects.get(pk=run.pk)


def outcomes(run: Run) -> list[tuple[Any, ...]]:
    """Who called what, when, and what came of it."""
    rows = Turn.objects.filter(run=run).order_by("pk")
    return list(rows.values_list("firm__name", "minute", "tool", "result"))


@pytest.fixture(scope="module")
def kept_site(whole_site: Site) -> Iterator[Site]:
    """The site, whose worker goes on from one test to the next: to start it takes longer than most of them."""
    yield whole_site
    if "worker" in whole_site.processes:
        whole_site.kill("worker")


@pytest.fixture
def table(kept_site: Site, transactional_db: None) -> Site:
    """The site with its web process and its worker."""
    if "web" not in kept_site.processes:
        kept_site.start_web()
    if "worker" not in kept_site.processes:
        kept_site.start_worker()
    return kept_site


@pytest.fixture
def console(table: Site, page: Page) -> Iterator[Callable[..., Console]]:
    """Sits down at a firm of a run; at the end checks the stored turns, the books and the browser's words."""
    seated: list[tuple[Run, str, Console]] = []
    complaints: list[list[str]] = []

    def sit_down(run: Run, firm: str = FIRM, page: Page = page) -> Console:
        complaints.append(complaints_of(page))
        console = Console(page, address_of(table, run, firm))
        console.take_seat()
        console.until_turn(1)
        page.evaluate("window.isTheSamePage = true")
        seated.append((run, firm, console))
        return console

    yield sit_down
    for run, firm, one in seated:
        assert_played(run, firm, one.sent)
    assert complaints == [[] for _ in complaints]


def assert_played(run: Run, firm: str, sent: list[Decision]) -> None:
    """The stored turns are those that were sent, none lost, none doubled, and the books follow from them."""
    run.refresh_from_db()
    stored = turns_of(run, firm)
    assert said_of(stored, sent) == sent
    assert differences(run) == []


def is_same_page(console: Console) -> bool:
    """Whether it was not loaded again since its person sat down."""
    return bool(console.page.evaluate("window.isTheSamePage === true"))


def quiet_run(*firms: str, **options: Any) -> Run:
    """A run in which nobody but the people does anything."""
    others = [name for name in default_players(scenario_from({})) if name not in (firms or (FIRM,))]
    return in_thread(lambda: seated_run(*(firms or (FIRM,)), players=dict.fromkeys(others, "passive"), **options))
