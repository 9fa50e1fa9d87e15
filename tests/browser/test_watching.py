"""A run watched in a browser from the form to its end, through a reload and a crash of the web process."""

from functools import partial

import pytest
from playwright.sync_api import Page, expect

from marketplace.rows import number_of
from simulation import control
from simulation.models import DayEnd, Event, Run
from tests.browser.conftest import BROKEN_LINE, Site, in_thread
from tests.waiting import eventually

pytestmark = pytest.mark.browser

DAYS = 60


def points(page: Page) -> int:
    """How many points the first chart has drawn."""
    return int(page.locator('[data-figure="net_income"]').get_attribute("data-points") or 0)


def seen(page: Page) -> int:
    """The number of the last event that the page shows."""
    return int(page.locator("#run").get_attribute("data-seq") or 0)


def numbers_on(page: Page) -> list[int]:
    """The numbers of the lines of the tape, from the top."""
    lines = page.locator("#tape-lines .line")
    return [int(number) for number in lines.evaluate_all("lines => lines.map((line) => line.dataset.number)")]


def show_all(page: Page) -> None:
    """Page the tape back to its first line."""
    while page.locator("#tape-earlier button").is_visible():
        count = len(numbers_on(page))
        page.locator("#tape-earlier button").click()
        eventually(partial(has_more_than, page, count))


def has_more_than(page: Page, count: int) -> bool:
    """Whether the tape has more lines than some."""
    return len(numbers_on(page)) > count


def move_on(page: Page) -> None:
    """Wait until the chart and the tape have moved."""
    drawn, last = points(page), seen(page)
    eventually(lambda: points(page) > drawn and seen(page) > last)


def test_a_run_is_watched_to_its_end_through_reload_and_crash(site: Site, visitor: Page, complaints: list[str]) -> None:
    site.start_worker()
    visitor.goto(f"{site.address}/")
    visitor.get_by_role("link", name="New run", exact=True).first.click()
    visitor.get_by_label("Name").fill("Watched")
    visitor.get_by_label("Days").fill(str(DAYS))
    visitor.get_by_label("Pace").select_option("One day a second")  # so that it lasts until all has been looked at
    visitor.get_by_role("button", name="Start the run").click()
    expect(visitor.locator("h1")).to_have_text("Watched")
    run = Run.objects.get()
    root = visitor.locator("#run")
    expect(root).to_have_attribute("data-connected", "true")
    move_on(visitor)

    visitor.get_by_role("button", name="Pause").click()
    expect(visitor.locator(".run-now")).to_contain_text("Paused")
    visitor.get_by_role("button", name="Resume").click()
    expect(visitor.locator(".run-now")).to_contain_text("Running")
    move_on(visitor)

    visitor.reload()
    expect(root).to_have_attribute("data-connected", "true")
    move_on(visitor)
    assert complaints == []

    site.kill("web")
    expect(root).to_have_attribute("data-connected", "false")
    expect(visitor.locator("#offline")).to_contain_text("Reconnecting… what you see is from")
    missed_from = seen(visitor)
    eventually(lambda: Run.objects.get().events > missed_from + 10)
    site.start_web()
    expect(root).to_have_attribute("data-connected", "true")
    expect(visitor.locator("#offline")).to_be_hidden()

    in_thread(lambda: control.set_pace(run.pk, 0))
    expect(visitor.locator(".run-now")).to_contain_text("Finished")
    run.refresh_from_db()
    expect(root).to_have_attribute("data-seq", str(run.events))
    eventually(lambda: points(visitor) == DayEnd.objects.count() == 6 * DAYS)

    show_all(visitor)
    stored = [number_of(pk) for pk in Event.objects.order_by("-pk").values_list("pk", flat=True)]
    assert stored == list(range(run.events, 0, -1))
    assert numbers_on(visitor) == stored
    assert [text for text in complaints if not BROKEN_LINE.search(text)] == []
