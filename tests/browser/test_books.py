"""From a number on a firm's statements to the decision behind it, and the whole tape, in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, hint
from tests.rows import LittleRun
from tests.small_runs import add_event, add_events, make_run

pytestmark = pytest.mark.browser


def test_a_number_leads_to_its_transfers_there_to_those_of_others_and_on_to_the_turn(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    LittleRun()
    visitor.goto(f"{site.address}/runs/7/?tab=books&day=1")
    row = visitor.get_by_role("row", name="revenue").first
    row.get_by_role("link").last.click()
    expect(visitor.locator("#ledger-title")).to_have_text("Ledger: revenue")
    expect(visitor.locator("#ledger-title")).to_be_focused()
    expect(visitor.locator("#ledger-title")).to_be_in_viewport()
    expect(visitor.locator(".books-answer")).to_have_text("92.00 USD in 1 transfer from Day 0 to Day 1")
    expect(visitor).to_have_url(re.compile("account=revenue&within=start"))
    address = visitor.url
    visitor.locator("#books-firm").select_option("retailer_A")
    expect(visitor.locator(".books-answer")).to_have_text("72.00 USD in 1 transfer from Day 0 to Day 1")
    visitor.locator("#ledger-account").select_option("equity")
    expect(visitor.locator(".books-answer")).to_contain_text("1,935.20 USD in 5 transfers")
    expect(visitor).to_have_url(re.compile("firm=retailer_A"))
    visitor.goto(address)
    visitor.get_by_role("link", name="T10").click()
    expect(visitor.get_by_role("heading", name="From transfer T10 to its cause")).to_be_visible()
    visitor.get_by_role("link", name="Turn 4").click()
    expect(visitor).to_have_url(f"{site.address}/runs/7/turns/4/")
    expect(visitor.get_by_text("Nobody else has asked.").first).to_be_visible()
    assert complaints == []


def test_the_tape_is_searched_and_a_line_leads_to_its_turn(site: Site, visitor: Page, complaints: list[str]) -> None:
    LittleRun()
    visitor.goto(f"{site.address}/runs/7/?tab=tape")
    rows = visitor.locator(".tape-row")
    expect(rows).to_have_count(3)
    field = visitor.locator("#whole-tape-text")
    field.fill("writes m1")
    field.press("Enter")
    expect(rows).to_have_count(1)
    expect(field).to_be_focused()
    expect(visitor).to_have_url(re.compile("text=writes"))
    visitor.reload()
    expect(field).to_have_value("writes m1")
    rows.get_by_role("link", name="turn 3").click()
    expect(visitor).to_have_url(f"{site.address}/runs/7/turns/3/")
    assert complaints == []


def test_new_events_come_in_on_top_and_old_ones_go_where_there_is_a_gap(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    run = make_run()
    add_events(run, 60)
    visitor.goto(f"{site.address}/runs/{run.pk}/?tab=tape")
    expect(visitor.locator("#run")).to_have_attribute("data-connected", "true")
    first, rows = visitor.locator(".tape-row").first, visitor.locator(".tape-row")
    expect(first).to_have_attribute("data-key", "60")
    add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg")
    hint(run)
    expect(first).to_have_attribute("data-key", "61")
    expect(rows).to_have_count(51)
    add_events(run, 80)
    hint(run)
    expect(first).to_have_attribute("data-key", "141")
    expect(rows).to_have_count(50)
    assert complaints == []
