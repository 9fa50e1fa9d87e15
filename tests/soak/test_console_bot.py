"""A script that plays the player's real page for a whole run: it reads what is shown, and fills and sends real forms.

Its turns, results and ledger are those of the same script inside, however often the site is killed under it.
"""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from simulation.models import Run
from simulation.players.registry import make_player
from simulation.store import differences, scenario_of
from tests.browser.conftest import Site, in_thread, running_site
from tests.browser.playing import Console, Reader, address_of, complaints_of, outcomes, played_inside
from tests.seat_play import ledger, seated_run

DAYS = int(os.environ.get("SOAK_CONSOLE_DAYS") or os.environ.get("SOAK_DAYS", "90"))
KILLS = int(os.environ.get("SOAK_KILLS", "10"))
FIRM, SEED = "roaster_A", 11

# From the key that sends an action to the next turn's observation on the page, in milliseconds.
WATCH = """addEventListener('keydown', () => { window.pressedAt = performance.now(); }, true);
new MutationObserver(() => { window.shownAt = performance.now(); }).observe(
    document, {attributes: true, subtree: true, attributeFilter: ['data-turn']});"""

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def site(page: Page, transactional_db: None) -> Iterator[Site]:
    """Daphne, a worker and the beat, on the tests' database and Redis."""
    with running_site() as site:
        site.start_worker()
        site.start_beat()
        yield site


class Crashes:
    """Kills and starts again what the bot plays on, some time into an action, until so many kills are used up."""

    def __init__(self, site: Site, kills: int) -> None:
        self.site, self.left = site, kills
        self.chance = random.Random(5)
        self.thread: threading.Thread | None = None

    def begin(self) -> None:
        """Perhaps lets something crash while the next action is under way."""
        if self.left and self.chance.random() < 0.2:
            self.left -= 1
            names = self.chance.choice([["web"], ["worker"], ["web", "worker"]])
            self.thread = threading.Thread(target=self._crash, args=(names, self.chance.uniform(0, 0.6)))
            self.thread.start()

    def _crash(self, names: list[str], delay_seconds: float) -> None:
        time.sleep(delay_seconds)
        for name in names:
            self.site.kill(name)
        for name in names:
            self.site.start_web() if name == "web" else self.site.start_worker()

    def end(self) -> None:
        """Waits until all is up again."""
        if self.thread:
            self.thread.join()
            self.thread = None


def play(site: Site, page: Page, run: Run, crashes: Crashes | None = None) -> list[tuple[str, float]]:
    """Plays the firm's run on its page to the end; returns each call with the milliseconds to the next observation."""
    page.add_init_script(WATCH)
    hands = Console(page, address_of(site, run, FIRM))
    hands.take_seat()
    hands.until_turn(1)
    eyes, script = Reader(hands, run, FIRM), make_player("heuristic_roaster", scenario_of(run), FIRM)
    waits: list[tuple[str, float]] = []
    while not hands.is_over:
        view = eyes.view()
        tool, arguments, _ = script.decide(view)
        if crashes and view.day < run.days - 1:  # the page that shows how it ended is loaded once
            crashes.begin()
        hands.act(tool, **arguments)
        if crashes:
            crashes.end()
        if not hands.is_over:
            waits.append((tool, page.evaluate("window.shownAt - window.pressedAt")))
    return waits


def assert_as_inside(run: Run) -> None:
    """The run went as the same script, asked inside, makes it go."""
    inside = in_thread(lambda: played_inside(days=run.days, seed=SEED))
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert differences(run) == []
    assert outcomes(run) == outcomes(inside)
    assert ledger(run) == ledger(inside)


def test_a_bot_on_the_real_pages_makes_the_books_of_the_same_policy_inside(site: Site, page: Page) -> None:
    complaints = complaints_of(page)
    run = in_thread(lambda: seated_run(FIRM, days=DAYS, seed=SEED))
    began = time.monotonic()
    waits = play(site, page, run)
    seconds = time.monotonic() - began
    assert_as_inside(run)
    assert complaints == []
    print(f"{DAYS} days on the page, {len(waits) + 1} actions, in {seconds:.0f} s")
    within_day = [lasted for tool, lasted in waits if tool != "wait_for_next_day"]
    for name, lasted in (("all", [lasted for _, lasted in waits]), ("within a day", within_day)):
        centiles = statistics.quantiles(lasted, n=100)
        print(f"action to observation, {name}: median {centiles[49]:.0f} ms, p95 {centiles[94]:.0f} ms")


def test_kills_of_the_site_lose_none_of_the_bots_actions_and_double_none(site: Site, page: Page) -> None:
    complaints = complaints_of(page)
    run = in_thread(lambda: seated_run(FIRM, days=max(3, DAYS // 10), seed=SEED))
    crashes = Crashes(site, KILLS)
    play(site, page, run, crashes)
    assert_as_inside(run)
    assert complaints == []
    print(f"{KILLS - crashes.left} kills")
    assert crashes.left < KILLS or KILLS == 0
