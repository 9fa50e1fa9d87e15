"""The console as a desk: forms, keys pressed too soon, notes, pauses, help, a narrow screen, no socket."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from simulation import control
from simulation.engine.decision import Decision
from simulation.seats import verbs
from tests.browser.conftest import Site, in_thread
from tests.browser.playing import FIRM, Console, Held, console, kept_site, quiet_run, table, turns_of
from tests.seat_play import seat_of, seated_run

__all__ = ["console", "kept_site", "table"]  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The pieces of the desk arrive only after a later look at the state.
HOLD_PIECES = """
const real = fetch;
let goOn = () => {};
window.fetch = async (...request) => {
  const answer = await real(...request);
  if (request[0].endsWith("/parts/")) await new Promise((resolve) => (goOn = resolve));
  if (request[0].endsWith("/state/")) setTimeout(goOn, 50);
  return answer;
};
"""
# What a narrow header cuts of a wait for many that has lasted long.
TELL_A_LONG_WAIT = """() => {
  const [names, time] = ["turn", "waited"].map((slot) => document.querySelector(`#head [data-slot=${slot}]`));
  [names.textContent, time.textContent] = ["waiting for retailer_A, retailer_B, roaster_B and 3 more", "· 12:34:56"];
  const isCut = (one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth;
  return { names: isCut(names), time: isCut(time) };
}"""
NO_SOCKET = (
    "window.WebSocket = class { constructor() { setTimeout(() => this.onclose?.({ code: 1006 })); } close() {} };"
)


def test_the_form_says_what_an_action_will_cost_and_bring_and_a_slip_keeps_it(
    console: Callable[..., Console],
) -> None:
    run = quiet_run()
    person = console(run)
    page, cost = person.page, person.page.locator("#cost")
    page.keyboard.press("g")
    expect(cost).to_contain_text("at most 50 kg of green a day, all kinds together")
    page.locator("#roast-green_item_id").select_option("green_coffee_kg")
    page.locator("#roast-qty_kg").fill("50")
    expect(cost).to_contain_text("42 kg roasted coffee lands")  # of 42.5 it is the even one, as the rules round
    page.locator("#roast-green_item_id").select_option("green_specialty_kg")
    page.locator("#roast-qty_kg").fill("48")
    expect(cost).to_have_text(
        "Costs 30 min (then it is 09:30); 240.00 USD of labour; 39 kg roasted specialty lands Day 1 09:00"
    )
    expect(page.locator("#send")).to_contain_text("Roast 48 kg ◆ green specialty")
    page.keyboard.press("Escape")
    page.keyboard.press("6")
    expect(cost).to_contain_text("Costs no time")
    expect(cost).to_contain_text("20 slots of today are left unused")

    person.open("post_listing")
    page.locator("#post_listing-qty").fill("30")
    page.locator("#post_listing-asking_price").fill("9,50")
    page.keyboard.press("Control+Enter")
    wrong = page.locator("#form-post_listing .field-wrong")
    expect(wrong).to_have_count(2)
    expect(wrong.last).to_contain_text("write it with a point, as 9.50")
    expect(page.locator("#post_listing-qty")).to_have_value("30")
    assert turns_of(run, FIRM) == []
    person.act("post_listing", item_id="roasted_coffee_kg", asking_price="9.50")
    (sent,) = turns_of(run, FIRM)
    assert sent.arguments["payment_terms_days"] == 30
    person.sent = [Decision("post_listing", {"item_id": "roasted_coffee_kg", "qty": 30, "asking_price": 9.5})]


def test_a_press_that_comes_too_soon_is_told_or_queued_and_what_was_typed_stays(
    console: Callable[..., Console],
) -> None:
    person = console(in_thread(lambda: seated_run(FIRM)))
    page = person.page
    early = Held(page)
    person.send("view_listings")
    expect(page.locator(".head-turn")).to_contain_text("sending")
    person.open("post_listing")
    page.locator("#post_listing-qty").fill("30")
    person.press("Control+Enter")
    expect(page.locator("#not-taken")).to_contain_text("Listings is still being sent; nothing else was")
    person.press("Escape", "w")
    expect(page.locator("#sure")).to_be_hidden()
    early.wait_for()
    early.let_go()
    person.until_turn(2)
    expect(page.locator("#post_listing-qty")).to_have_value("30")

    early = Held(page, "**/queue/add/")
    for tool in ("view_trial_balance", "view_deals", "view_deals"):
        person.open(tool)
        person.press("Control+Shift+Enter")
    expect(page.locator("#not-taken")).to_contain_text("Deals is being added to the queue already")
    early.wait_for()
    early.let_go()
    expect(page.locator("#queue li")).to_have_count(2)
    expect(page.locator("#queue li").first).to_contain_text("Look at your books")

    person.press("Escape", ",", "Enter")
    # What one may want to change, not what is optional.
    expect(page.locator("#make_offer-offered_price")).to_be_focused()
    expect(page.locator("#make_offer-offered_price")).to_have_value("3.20")


def test_without_a_socket_the_page_looks_by_itself_and_says_so(page: Page, console: Callable[..., Console]) -> None:
    page.add_init_script(NO_SOCKET)
    page.add_init_script(f"{{ {HOLD_PIECES} }}")  # a slow server
    person = console(quiet_run())
    expect(page.locator("#offline")).to_contain_text("Meanwhile the page looks by itself")
    person.act("view_listings")


def test_the_help_names_every_key_and_a_narrow_screen_has_tabs(page: Page, console: Callable[..., Console]) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    console(quiet_run("retailer_A"), "retailer_A")
    page.keyboard.press("?")
    expect(page.locator("#briefing")).to_contain_text("End the run with the highest net income you can.")
    expect(page.locator("#keys")).to_contain_text("Set a shelf price")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="You know").click()
    expect(page.locator("#know")).to_be_visible()
    expect(page.locator("#do-column")).to_be_hidden()
    page.keyboard.press("s")
    expect(page.locator("#form-set_retail_price")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(TELL_A_LONG_WAIT) == {"names": True, "time": False}


def test_notes_silence_and_ones_own_pause_outlast_a_reload_and_the_researchers_deeds_are_seen_at_once(
    table: Site, console: Callable[..., Console]
) -> None:
    run = quiet_run()
    page = console(run).page
    page.keyboard.press("n")
    page.keyboard.type("Sell before day 40.")
    expect(page.locator("#notes-state")).to_have_text("Saved")
    page.keyboard.press("Escape")
    page.locator("#sound").click()
    page.locator("#do-column").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#group-Trade")).to_be_focused()
    page.locator("#pause").click()
    expect(page.locator("#own-pause")).to_contain_text("You have paused the game.")
    expect(page.locator("#do-column")).to_be_hidden()
    expect(page.locator("#go-on")).to_be_focused()
    page.reload()
    expect(page.locator("#go-on")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#do-column")).to_be_focused()
    expect(page.locator("#sound")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("n")
    expect(page.locator("#notes-text")).to_have_value("Sell before day 40.")
    page.keyboard.press("Escape")

    in_thread(lambda: verbs.nudge(seat_of(run, FIRM), "The others wait for you."))
    expect(page.locator("#nudge")).to_contain_text("The others wait for you.")
    page.get_by_role("button", name="Got it").click()
    expect(page.locator("#nudge")).to_be_hidden()
    in_thread(lambda: control.pause_run(run.pk, "lunch"))
    expect(page.locator("#status")).to_contain_text("The researcher has paused the run")
    expect(page).to_have_title("Paused · Roaster A")
    in_thread(lambda: control.resume_run(run.pk))
    expect(page).to_have_title("● Your turn · Roaster A")
    table.kill("worker")  # so that the script, which would soon be at the end, does not play on
    in_thread(lambda: verbs.hand_over(seat_of(run, FIRM), "script"))
    expect(page.locator("#stand-in")).to_contain_text("A script has played Roaster A since")
    expect(page).to_have_title("A stand-in plays · Roaster A")
    in_thread(lambda: verbs.hand_back(seat_of(run, FIRM)))
    expect(page.locator("#stand-in")).to_be_hidden()
