"""What a run's page does in a browser, with events written by the test."""

import re

import pytest
from playwright.sync_api import Page, expect

from simulation.models import Run
from tests.browser.conftest import Site, expect_to_fit, hint, open_run
from tests.small_runs import add_event, add_events, end_day, make_run

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e<b>bold</b>"


def show(page: Page, run: Run) -> None:
    """Tell the page of what was just written and wait until it shows it."""
    hint(run)
    expect(page.locator("#run")).to_have_attribute("data-seq", str(run.events))


def test_what_firms_write_arrives_as_text_and_an_open_message_stays_where_it_is(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    run = make_run(name=HOSTILE[:80], status_reason=HOSTILE)
    open_run(site, visitor, run)
    add_event(run, "message_sent", "farmer_A", "roaster_A", message="M1", title=HOSTILE, body=HOSTILE * 50)
    show(visitor, run)
    line = visitor.locator(".line").first
    expect(line.locator(".line-text")).to_have_text(f"writes M1: {HOSTILE}")
    line.get_by_text("read").click()
    expect(line.locator(".line-body p")).to_have_text(HOSTILE * 50)
    assert visitor.locator("#run img, #run b").count() == 0
    add_event(run, "day_ended")
    show(visitor, run)
    expect(visitor.locator("#tape-new")).to_have_text("1 new")
    visitor.locator(".line details summary").click()  # closed again: what waited comes in
    expect(line).to_have_attribute("data-number", "2")
    assert complaints == []


COUNT_JUMPS = """() => {
    window.jumps = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.jumps += entry.value;
    }).observe({ type: "layout-shift" });
}"""


def test_nothing_jumps_when_new_lines_slide_in_beside_the_charts_or_on_the_tape(site: Site, visitor: Page) -> None:
    run = make_run()
    add_events(run, 100)
    for tab, newest in (("overview", ".line[data-number='{}']"), ("tape", ".tape-row[data-key='{}']")):
        open_run(site, visitor, run, f"?tab={tab}")
        visitor.evaluate(COUNT_JUMPS)
        for _ in range(2):
            add_events(run, 5)
            end_day(run, run.day + 1, {})
            show(visitor, run)
            expect(visitor.locator(newest.format(run.events))).to_be_visible()
        assert visitor.evaluate("window.jumps") < 0.01, tab


def test_new_lines_wait_while_somebody_reads_further_down(site: Site, visitor: Page) -> None:
    run = make_run()
    add_events(run, 100)
    open_run(site, visitor, run)
    box, button = visitor.locator("#tape"), visitor.locator("#tape-new")
    box.evaluate("box => { box.scrollTop = 300; }")
    first = visitor.locator(".line").first
    for _ in range(3):
        add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg")
    show(visitor, run)
    expect(button).to_have_text("3 new")
    expect(first).to_have_attribute("data-number", "100")
    button.click()
    expect(first).to_have_attribute("data-number", "103")
    expect(button).to_be_hidden()


def test_a_filter_goes_for_old_lines_and_for_new_ones(site: Site, visitor: Page) -> None:
    run = make_run()
    add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg")
    add_event(run, "message_sent", "farmer_B", "roaster_A", message="M1", title="Hello", body="x")
    open_run(site, visitor, run)
    visitor.get_by_label("Kind").select_option("Messages")
    expect(visitor.locator(".line")).to_have_count(1)
    add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg")
    add_event(run, "message_sent", "roaster_B", "retailer_A", message="M2", title="Hello", body="x")
    show(visitor, run)
    numbers = visitor.locator(".line").evaluate_all("lines => lines.map((line) => line.dataset.number)")
    assert numbers == ["4", "2"]
    visitor.get_by_label("Firm", exact=True).select_option("farmer_B")
    expect(visitor.locator(".line")).to_have_count(1)
    expect(visitor.locator(".line")).to_have_attribute("data-number", "2")


def test_many_events_missed_are_caught_up_in_pages_and_a_page_far_behind_opens_itself_afresh(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    run = make_run()
    open_run(site, visitor, run)
    add_events(run, 1800)
    show(visitor, run)
    expect(visitor.locator(".line").first).to_have_attribute("data-number", "1800")
    visitor.evaluate("window.isTheSamePage = true")
    assert complaints == []
    add_events(run, 5001)
    hint(run)
    visitor.wait_for_function("() => !window.isTheSamePage")
    expect(visitor.locator("#run")).to_have_attribute("data-seq", "6801")
    expect(visitor.locator(".line").first).to_have_attribute("data-number", "6801")


def test_cards_and_charts_follow_the_evenings(site: Site, visitor: Page) -> None:
    run = make_run()
    open_run(site, visitor, run)
    income, cash = (visitor.locator(f'[data-figure="{name}"]') for name in ("net_income", "cash"))
    expect(income.locator(".plot-empty")).to_have_text("The first evening’s books will draw the first points.")
    expect(income.locator(".plot-empty")).to_be_visible()
    end_day(run, 0, {"farmer_A": -25.0}, receivables=90.0)
    end_day(run, 1, {"farmer_A": -1234.5})
    show(visitor, run)
    card = visitor.locator('.card[data-firm="farmer_A"]')
    expect(card.locator(".amount")).to_have_text("−1,234.50")
    expect(income).to_have_attribute("data-points", "12")
    expect(income.locator(".plot-empty")).to_be_hidden()
    expect(cash.locator(".figure-title")).to_have_text("Cash by firm at each day’s end, USD")
    cash.get_by_role("button", name="Numbers").click()
    expect(cash.locator("tbody tr").last).to_contain_text("13,765.50")


def test_a_verb_that_comes_too_late_says_why_and_a_run_is_cancelled_only_after_being_asked(
    site: Site, visitor: Page
) -> None:
    run = make_run()
    open_run(site, visitor, run)
    Run.objects.update(status="finished")
    visitor.get_by_role("button", name="Pause").click()
    expect(visitor.locator("#alarm")).to_contain_text("is finished")
    Run.objects.update(status="running")
    visitor.reload()
    visitor.get_by_role("button", name="Cancel…").click()
    visitor.get_by_role("button", name="Let it run").click()
    run.refresh_from_db()
    assert run.status == "running"
    visitor.get_by_role("button", name="Cancel…").click()
    visitor.get_by_role("button", name="Cancel the run").click()
    expect(visitor.locator(".run-now")).to_contain_text("Stopped")
    expect(visitor.locator(".run-verbs button:visible")).to_have_count(0)
    expect(visitor.get_by_role("link", name="Clone")).to_be_focused()


def test_nothing_is_wider_than_the_window(site: Site, visitor: Page) -> None:
    run = make_run(name="An unusually long name of a run without any sense, 0123456789012345678901234567890")
    add_event(run, "message_sent", "farmer_A", "roaster_A", message="M1", title="x" * 80, body="y" * 10_000)
    end_day(run, 0, {"farmer_A": -1_234_567.89})
    for path in ("/", "/runs/new/", f"/runs/{run.pk}/"):
        visitor.goto(site.address + path)
        expect_to_fit(visitor, 320, 390, 768, 1024, 1440)


def test_every_control_is_reached_by_the_keyboard(site: Site, visitor: Page) -> None:
    open_run(site, visitor, make_run())
    reached = set()
    for _ in range(60):
        visitor.keyboard.press("Tab")
        reached.add(visitor.evaluate("document.activeElement.id || document.activeElement.innerText"))
    for name in (
        "Pause",
        "pace",
        "cancel",
        "tab-overview",
        "day",
        "knower",
        "PNG",
        "CSV",
        "Numbers",
        "tape-group",
        "tape",
    ):
        assert any(re.match(name, text) for text in reached), (name, reached)
