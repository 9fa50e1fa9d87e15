"""The run's page as an instrument: its tabs, its days, whose eyes it has, and what it does without a network."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from dashboards.tabs import TABS
from simulation.models import Run
from tests.browser.conftest import DRAWN, Site, expect_to_fit, hint, open_run
from tests.rows import LittleRun
from tests.small_runs import add_event, end_day, make_run

pytestmark = pytest.mark.browser

DAYS = 6
# Lets the page's stopwatch stand still, and then move on only when it is told.
STOPWATCH = """ms => {
    window.stood = (window.stood ?? performance.now()) + ms;
    performance.now = () => window.stood;
}"""


def played(days: int = DAYS, **fields: Any) -> Run:
    """A run of ten days with some evenings: on day N farmer_A has −10 × N, and everybody deals once."""
    run = make_run(days=10, **fields)
    for day in range(days):
        add_event(run, "deal_made", "farmer_A", "roaster_A", day=day, item="green_coffee_kg", quantity_kg=day + 1)
        add_event(run, "price_set", "retailer_A", day=day, item="roasted_coffee_kg", price=20)
        end_day(run, day, {"farmer_A": -10.0 * day, "roaster_A": 5.0 * day})
    return run


def figure(page: Page, name: str = "net_income") -> Locator:
    return page.locator(f'[data-figure="{name}"]')


def income(page: Page, firm: str) -> Locator:
    return page.locator(f'.card[data-firm="{firm}"] .amount')


def test_a_day_of_the_past_is_shown_everywhere_and_stays_while_others_pass_and_in_the_address(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    run = played()
    open_run(site, visitor, run)
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * DAYS))
    visitor.locator("#day").focus()
    for _ in range(3):
        visitor.keyboard.press("ArrowLeft")
    for _ in range(2):  # the page opens it afresh at the second time
        expect(visitor.locator("#day-text")).to_have_text("Day 2 · its evening")
        expect(visitor.locator(".run-time strong")).to_have_text("Day 2 · Wed 19:00")
        expect(visitor.locator(".run-time")).to_contain_text("the run is at Day 5")
        expect(income(visitor, "farmer_A")).to_have_text("−20.00")
        expect(visitor.locator('.card[data-firm="farmer_A"] .card-last')).to_contain_text("Day 2 · Wed")
        expect(figure(visitor)).to_have_attribute("data-points", str(6 * 3))
        expect(visitor.locator(".line").first).to_contain_text("Day 2 is over")
        expect(visitor).to_have_url(re.compile(r"[?&]day=2\b"))
        visitor.reload()
    expect(visitor.locator("#run")).to_have_attribute("data-connected", "true")
    end_day(run, DAYS, {"farmer_A": -77.0})
    hint(run)
    expect(visitor.locator("#run")).to_have_attribute("data-seq", str(run.events))
    expect(visitor.locator(".run-time")).to_contain_text(f"the run is at Day {DAYS}")
    expect(income(visitor, "farmer_A")).to_have_text("−20.00")
    expect(visitor.locator(".line").first).to_contain_text("Day 2 is over")
    visitor.locator("#live").click()
    expect(income(visitor, "farmer_A")).to_have_text("−77.00")
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * (DAYS + 1)))
    expect(visitor.locator(".line").first).to_contain_text(f"Day {DAYS} is over")
    expect(visitor).not_to_have_url(re.compile(r"[?&]day="))
    assert complaints == []


def test_days_are_played_to_the_present(site: Site, visitor: Page, complaints: list[str]) -> None:
    open_run(site, visitor, played(status="finished"))
    visitor.evaluate(STOPWATCH, 0)
    visitor.locator("#speed").select_option("2 days/s")
    visitor.get_by_role("button", name="Play the days").click()
    expect(visitor.locator("#day-text")).to_have_text("Day 0 · its evening")
    visitor.evaluate(STOPWATCH, 1000)
    expect(visitor.locator("#day-text")).to_have_text("Day 2 · its evening")
    visitor.get_by_role("button", name="Pause the player").click()
    visitor.locator("#speed").select_option("20 days/s")
    visitor.evaluate(STOPWATCH, 1000)
    visitor.get_by_role("button", name="Play the days").click()
    expect(visitor.locator("#day-text")).to_have_text("Day 2 · its evening")
    visitor.evaluate(STOPWATCH, 1000)
    expect(visitor.locator("#live")).to_have_attribute("aria-pressed", "true")
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * DAYS))
    assert complaints == []


def test_nothing_moves_while_days_pass_and_a_pause_leaves_the_header_as_high_as_it_was(
    site: Site, visitor: Page
) -> None:
    open_run(site, visitor, played())
    visitor.wait_for_function(DRAWN)
    places = ("#tabs", "#day", "#day-on", "#live", "#panel", '[data-figure="cash"]', ".card:last-of-type .card-last")

    def boxes() -> list[Any]:
        return [visitor.locator(place).bounding_box() for place in places]

    before = boxes()
    for key, day in (("ArrowLeft", 4), ("ArrowLeft", 3), ("Home", 0), ("End", 5)):
        visitor.locator("#day").press(key)
        for name in ("net_income", "cash"):
            expect(figure(visitor, name)).to_have_attribute("data-points", str(6 * (day + 1)))
        expect(visitor.locator(".line").first).to_contain_text(f"Day {day} is over")
        assert boxes() == before, key

    running = header_heights(visitor)
    visitor.get_by_role("button", name="Pause", exact=True).click()
    expect(visitor.locator(".run-now")).to_contain_text("Paused")
    assert header_heights(visitor) == running


def header_heights(page: Page) -> list[int]:
    """How high the header is in windows of several widths."""
    heights = []
    for width in (360, 390, 650, 900, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        heights.append(page.evaluate("document.getElementById('run-header').offsetHeight"))
    return heights


def test_a_firm_sees_its_own_books_and_nobody_elses(site: Site, visitor: Page, complaints: list[str]) -> None:
    open_run(site, visitor, played())
    visitor.locator("#knower").select_option("As farmer_A knew it")
    expect(income(visitor, "farmer_A")).to_have_text("−50.00")
    expect(income(visitor, "roaster_A")).to_have_text("–")
    expect(figure(visitor)).to_have_attribute("data-points", str(DAYS))
    expect(visitor.locator(".line").filter(has_text="retailer_A")).to_have_count(0)
    expect(visitor.locator(".line").filter(has_text="farmer_A")).not_to_have_count(0)
    expect(visitor).to_have_url(re.compile(r"[?&]as=farmer_A\b"))
    expect(visitor.locator(".card h2 a[href]")).to_have_text(["farmer_A"])
    expect(visitor.locator("a[data-books]")).to_have_attribute("href", re.compile(r"days\.csv\?day=&as=farmer_A$"))
    visitor.reload()
    expect(income(visitor, "roaster_A")).to_have_text("–")
    expect(figure(visitor)).to_have_attribute("data-points", str(DAYS))
    visitor.locator("#knower").select_option("As it was")
    expect(income(visitor, "roaster_A")).to_have_text("25.00")
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * DAYS))
    assert complaints == []


def test_every_tab_opens_by_keyboard_and_back_leads_back(site: Site, visitor: Page, complaints: list[str]) -> None:
    run = LittleRun().run
    open_run(site, visitor, run)
    tabs = visitor.get_by_role("tab")
    names = [name.strip() for name in tabs.all_inner_texts()]
    assert names == ["Overview", "Market", "Messages", "Behaviour", "Firm", "Tape"]
    tabs.first.focus()
    for place in range(1, len(names)):
        visitor.keyboard.press("ArrowRight")
        expect(tabs.nth(place)).to_be_focused()
        expect(tabs.nth(place)).to_have_attribute("aria-selected", "true")
        expect(visitor.locator("#panel > *").first).to_be_attached()
        expect(visitor.locator(".tab-failed")).to_have_count(0)
    visitor.go_back()
    expect(tabs.nth(len(names) - 2)).to_have_attribute("aria-selected", "true")
    visitor.keyboard.press("Home")
    assert complaints == []


def test_the_theme_is_chosen_and_kept_and_charts_are_drawn_in_its_colours(site: Site, visitor: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    visitor.emulate_media(color_scheme="light")
    open_run(site, visitor, played())
    light = visitor.evaluate(background)
    line = figure(visitor).locator(".scatterlayer .trace path.js-line").last
    expect(line).to_have_css("stroke", "rgb(164, 80, 28)")  # the evaluated firm, roaster_A, drawn last
    visitor.emulate_media(color_scheme="dark")
    expect(line).to_have_css("stroke", "rgb(235, 139, 71)")
    assert visitor.evaluate(background) != light
    visitor.get_by_role("button", name="Theme").click()  # from the system's to light
    expect(line).to_have_css("stroke", "rgb(164, 80, 28)")
    assert visitor.evaluate(background) == light
    visitor.goto(f"{site.address}/")
    assert visitor.evaluate(background) == light


def test_all_charts_show_the_day_that_is_pointed_at_and_give_their_numbers_up_to_the_day(
    site: Site, visitor: Page
) -> None:
    open_run(site, visitor, played())
    for name in ("net_income", "cash"):
        expect(figure(visitor, name)).to_have_attribute("data-points", str(6 * DAYS))
    expect(figure(visitor, "cash").locator(".hover-line")).to_be_hidden()
    figure(visitor).scroll_into_view_if_needed()
    box = figure(visitor).locator(".plot-canvas").bounding_box()
    assert box
    visitor.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    visitor.mouse.move(box["x"] + box["width"] / 3 + 4, box["y"] + box["height"] / 2)
    expect(figure(visitor, "cash").locator(".hover-line")).to_be_visible()
    visitor.mouse.move(0, 0)
    expect(figure(visitor, "cash").locator(".hover-line")).to_be_hidden()

    visitor.locator("#day").press("Home")
    visitor.locator("#day").press("ArrowRight")
    chart = figure(visitor)
    expect(chart).to_have_attribute("data-points", str(6 * 2))
    chart.get_by_role("button", name="Numbers").click()
    expect(chart.locator("tbody tr")).to_have_count(2)
    with visitor.expect_download() as waited:
        chart.get_by_role("link", name="CSV").click()
    rows = waited.value.path().read_text().splitlines()
    assert rows[0].startswith("Day,")
    assert [row.split(",")[0] for row in rows[1:]] == ["0", "1"]
    with visitor.expect_download() as waited:
        chart.get_by_role("button", name="PNG").click()
    assert waited.value.path().read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_page_that_nobody_sees_or_that_has_no_network_catches_up_afterwards(site: Site, visitor: Page) -> None:
    run = played(days=1)
    open_run(site, visitor, run)
    expect(figure(visitor)).to_have_attribute("data-points", "6")
    hide = "hidden => Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true })"
    visitor.evaluate(hide, True)
    end_day(run, 1, {"farmer_A": -55.0})
    hint(run)
    expect(visitor.locator("#run")).to_have_attribute("data-seq", str(run.events))
    assert figure(visitor).get_attribute("data-points") == "6"
    visitor.evaluate(hide, False)
    visitor.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * 2))

    visitor.context.set_offline(True)
    expect(visitor.locator("#offline")).to_contain_text("Reconnecting… what you see is from")
    visitor.get_by_role("tab", name="Tape").click()
    expect(visitor.locator(".tab-failed")).to_contain_text("The server does not answer.")
    end_day(run, 2, {"farmer_A": -99.0})
    visitor.context.set_offline(False)
    expect(visitor.locator("#run")).to_have_attribute("data-connected", "true")
    expect(visitor.locator("#offline")).to_be_hidden()
    expect(income(visitor, "farmer_A")).to_have_text("−99.00")
    expect(visitor.locator(".tab-failed")).to_have_count(0)
    visitor.get_by_role("tab", name="Overview").click()
    expect(figure(visitor)).to_have_attribute("data-points", str(6 * 3))


def test_of_a_run_of_one_day_its_only_evening_is_a_point(site: Site, visitor: Page) -> None:
    run = make_run(days=1)
    end_day(run, 0, {"farmer_A": -10.0})
    open_run(site, visitor, run)
    expect(figure(visitor).locator(".point").first).to_be_visible()
    expect(figure(visitor).locator(".xtick")).to_have_text(["0"])


def test_a_wide_window_has_the_tape_beside_every_other_tab_and_a_narrow_one_a_single_column_with_everything_in_it(
    site: Site, visitor: Page
) -> None:
    open_run(site, visitor, LittleRun().run)
    rail = visitor.locator(".run-columns > .tape")
    for tab in TABS:
        visitor.locator(f"#tab-{tab}").click()
        expect(visitor.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        expect(visitor.locator("#panel > *").first).to_be_attached()
        expect(visitor.locator(".tab-failed")).to_have_count(0)
        visitor.wait_for_function(DRAWN)
        expect(rail).to_be_visible(visible=tab != "tape")
        expect_to_fit(visitor, 1000, 390)
        expect(rail).to_be_hidden()
        visitor.set_viewport_size({"width": 1280, "height": 844})


def test_a_run_is_deleted_only_when_its_name_is_typed_and_an_open_page_of_it_says_that_it_is_gone(
    site: Site, visitor: Page
) -> None:
    run = played(status="finished", name="Of no more use")
    other = visitor.context.new_page()
    for page in (visitor, other):
        open_run(site, page, run)
    visitor.get_by_role("link", name="Delete…").click()
    visitor.get_by_label("The run’s name or number").fill("another")
    visitor.get_by_role("button", name="Delete the run for good").click()
    expect(visitor.get_by_text("That is neither the name of this run nor its number")).to_be_visible()
    visitor.get_by_label("The run’s name or number").fill("Of no more use")
    visitor.get_by_role("button", name="Delete the run for good").click()
    expect(visitor.locator(".notices")).to_contain_text(re.compile(r"Of no more use, is deleted: .*18 events"))
    assert not Run.objects.exists()
    other.get_by_role("tab", name="Market").click()
    expect(other.locator(".tab-failed")).to_have_text("This run is no longer there.")


def test_a_preset_fills_in_the_form_and_a_person_may_take_a_seat(site: Site, visitor: Page) -> None:
    visitor.goto(f"{site.address}/runs/new/")
    visitor.get_by_label("Days").fill("7")
    visitor.get_by_role("button", name="You against scripts").click()
    expect(visitor.get_by_label("roaster_A")).to_have_value("human")
    expect(visitor.get_by_label("roaster_B")).to_have_value("heuristic_roaster")
    visitor.get_by_role("button", name="The paper’s settings").click()
    expect(visitor.get_by_label("Days")).to_have_value("90")
    expect(visitor.get_by_label("roaster_A")).to_have_value("heuristic_roaster")


def test_the_list_is_filtered_while_one_types_and_the_address_says_so(site: Site, visitor: Page) -> None:
    make_run(name="First trial")
    make_run(name="Second trial", status="finished")
    visitor.goto(f"{site.address}/")
    rows = visitor.locator(".runs tbody tr")
    expect(rows).to_have_count(2)
    visitor.get_by_label("Name or number").fill("second")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Second trial")
    expect(visitor).to_have_url(re.compile(r"[?&]q=second\b"))
    visitor.get_by_label("Status").select_option("Running")
    expect(visitor.get_by_text("No run matches")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_label("Status")).to_have_value("running")
    expect(visitor.get_by_text("No run matches")).to_be_visible()
