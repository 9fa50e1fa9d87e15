"""The player's console in a browser: played by keyboard alone, and through everything that goes wrong at a desk."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from simulation import control
from simulation.models import Ask, Run, Turn
from simulation.seats import verbs
from tests.browser.conftest import Site, in_thread
from tests.browser.playing import address_of
from tests.seat_play import seat_of, seated_run
from tests.waiting import eventually

pytestmark = pytest.mark.browser

SECONDS = 45  # a worker that has just been started on a busy machine takes its time
MILLISECONDS = 1000 * SECONDS
ARRIVED = "was => { const now = document.querySelector('#content')?.dataset.turn; return now && now !== was; }"
# An action arrives, and its answer does not.
LOSE_ANSWERS = """
const real = fetch;
window.fetch = async (...request) => {
  const answer = await real(...request);
  if (request[0].endsWith("/act/")) throw new TypeError("the network went away");
  return answer;
};
"""
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


@pytest.fixture
def table(site: Site) -> Site:
    """A site whose worker moves runs."""
    site.start_worker()
    return site


def new_run(*firms: str, **options: Any) -> Run:
    """A run with people, at their first turns."""
    return in_thread(lambda: seated_run(*firms, **options))


def sit_down(page: Page, address: str) -> None:
    """Opens the link, takes the seat if nobody has, and waits until the console hears the server."""
    page.goto(address)
    button = page.get_by_role("button", name=re.compile("Take the seat"))
    if button.count():
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator("body[data-connected=true]")).to_be_visible(timeout=MILLISECONDS)


def turn_on(page: Page) -> str:
    return page.locator("#content").get_attribute("data-turn") or ""


def wait_for_turn(page: Page, before: str) -> str:
    """Waits for the turn after the one of that number; returns its number."""
    page.wait_for_function(ARRIVED, arg=before, timeout=MILLISECONDS)
    return turn_on(page)


def press(page: Page, key: str) -> str:
    """A key that acts: waits for the next turn."""
    before = turn_on(page)
    page.keyboard.press(key)
    return wait_for_turn(page, before)


def turns_of(run: Run, firm: str = "roaster_A") -> list[tuple[str, bool]]:
    return list(Turn.objects.filter(run=run, firm__name=firm).order_by("pk").values_list("tool", "accepted"))


def test_a_person_plays_some_days_by_keyboard_alone(table: Site, page: Page, complaints: list[str]) -> None:
    run = new_run("roaster_A", days=3, seed=3)
    sit_down(page, address_of(table, run))
    page.keyboard.press("i")
    press(page, "Control+Enter")
    page.keyboard.press("l")
    page.keyboard.type("roasted coffee")  # finds the item in the list of choices
    page.keyboard.press("Tab")
    page.keyboard.type("30")
    page.keyboard.press("Tab")
    page.keyboard.type("9.50")
    expect(page.locator("#send")).to_contain_text("List 30 kg roasted coffee at 9.50")
    press(page, "Enter")
    press(page, "w")  # woken by an offer on the listing
    page.keyboard.press(",")
    expect(page.locator("#know .row-act:focus")).to_have_text("Accept 15 kg at 9.50")
    press(page, "Enter")
    while page.locator("#content[data-turn]").count():
        before = turn_on(page)
        page.keyboard.press("w")
        page.wait_for_function(f"was => document.querySelector('.ending') || ({ARRIVED})(was)", arg=before)
    expect(page.locator(".ending-head")).to_contain_text("Your net income", timeout=MILLISECONDS)
    expect(page.locator("#comparison")).to_contain_text("HeuristicRoaster", timeout=MILLISECONDS)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    tools = [tool for tool, _ in turns_of(run)]
    assert tools[:4] == ["view_listings", "post_listing", "wait_for_next_day", "accept_offer"]
    assert set(tools[4:]) == {"wait_for_next_day"}
    assert complaints == []


def test_untouched_fields_send_the_tools_defaults_and_a_slip_keeps_the_form(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    page.keyboard.press("l")
    page.locator("#post_listing-qty").fill("30")
    page.locator("#post_listing-asking_price").fill("9,50")
    page.keyboard.press("Control+Enter")
    wrong = page.locator("#form-post_listing .field-wrong")
    expect(wrong).to_have_count(2)
    expect(wrong.last).to_contain_text("write it with a point, as 9.50")
    expect(page.locator("#post_listing-qty")).to_have_value("30")
    assert turns_of(run) == []
    page.locator("#post_listing-asking_price").fill("9.50")
    page.locator("#post_listing-item_id").select_option("roasted_coffee_kg")
    press(page, "Control+Enter")
    sent = json.loads(Ask.objects.get(run=run, firm_turn=1).arguments)
    assert sent["payment_terms_days"] == 30
    assert turns_of(run) == [("post_listing", True)]


def test_the_form_says_what_an_action_will_cost_and_bring(site: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(site, run))
    cost = page.locator("#cost")
    page.keyboard.press("g")
    expect(cost).to_contain_text("at most 50 kg of green a day, all kinds together")
    page.locator("#roast-green_item_id").select_option("green_specialty_kg")
    page.locator("#roast-qty_kg").fill("48")
    expect(cost).to_have_text(
        "Costs 30 min (then it is 09:30); 240.00 USD of labour; about 39 kg roasted specialty lands Day 1 09:00"
    )
    expect(page.locator("#send")).to_contain_text("Roast 48 kg ◆ green specialty")
    page.keyboard.press("Escape")
    page.keyboard.press("6")
    expect(cost).to_contain_text("Costs no time")
    expect(cost).to_contain_text("20 slots of today are left unused")


def test_two_tabs_cannot_act_twice_and_the_later_one_keeps_its_form(
    site: Site, page: Page, context: BrowserContext
) -> None:
    run = new_run("roaster_A", "farmer_A")
    sit_down(page, address_of(site, run))
    other = context.new_page()
    sit_down(other, address_of(site, run))
    other.route("**/ws/**", lambda route: route.abort())
    other.evaluate("window.WebSocket = class { close() {} }; dispatchEvent(new Event('offline'))")
    other.route("**/state/", lambda route: route.abort())  # it does not hear of what the first tab does
    page.keyboard.press("i")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#did .pending")).to_contain_text("Look at listings", timeout=MILLISECONDS)
    other.keyboard.press("m")
    other.locator("#send_message-title").fill("A title")
    other.keyboard.press("Control+Enter")
    expect(other.get_by_text("Recipient is needed")).to_be_visible(timeout=MILLISECONDS)
    other.locator("#send_message-recipient").select_option("farmer_A")
    other.locator("#send_message-body").fill("Hello")
    other.keyboard.press("Control+Enter")
    expect(other.locator("#form-problem")).to_contain_text("Turn 1 is decided already, with view_listings")
    expect(other.locator("#send_message-title")).to_have_value("A title")
    assert Ask.objects.get(run=run, firm__name="roaster_A").tool == "view_listings"


def test_a_double_click_is_one_action(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    page.keyboard.press("d")
    before = turn_on(page)
    page.locator("#send").dblclick()
    wait_for_turn(page, before)
    page.wait_for_timeout(500)
    assert turns_of(run) == [("view_deals", True)]


def test_a_press_that_comes_too_soon_is_told_or_queued_and_what_was_typed_stays(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    held: list[Route] = []
    page.route("**/act/", lambda route: held.append(route), times=1)
    page.keyboard.press("i")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".head-turn")).to_contain_text("sending")
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    page.locator("#post_listing-qty").fill("30")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#not-taken")).to_contain_text("Listings is still being sent; nothing else was")
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(page.locator("#sure")).to_be_hidden()
    let_go(page, held)
    wait_for_turn(page, "1")
    expect(page.locator("#post_listing-qty")).to_have_value("30")
    assert turns_of(run) == [("view_listings", True)]

    page.route("**/queue/add/", lambda route: held.append(route), times=1)
    for key in ("t", "d", "d"):
        page.keyboard.press("Escape")
        page.keyboard.press(key)
        page.keyboard.press("Control+Shift+Enter")
    expect(page.locator("#not-taken")).to_contain_text("Deals is being added to the queue already")
    let_go(page, held)
    expect(page.locator("#queue li")).to_have_count(2)
    expect(page.locator("#queue li").first).to_contain_text("Look at your books")

    page.keyboard.press("Escape")
    page.keyboard.press(",")
    page.keyboard.press("Enter")
    # What one may want to change, not what is optional.
    expect(page.locator("#make_offer-offered_price")).to_be_focused()
    expect(page.locator("#make_offer-offered_price")).to_have_value("3.20")


def let_go(page: Page, held: list[Route]) -> None:
    """Lets the request that is held go on, once this process has heard of it: only while it waits for a page."""
    for _ in range(1000):
        if held:
            return held.pop().continue_()
        page.wait_for_timeout(20)
    pytest.fail("no request was made that could be held")


def test_a_reload_and_the_back_button_lose_nothing_that_was_typed(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    page.keyboard.press("g")
    page.locator("#roast-qty_kg").fill("48")
    page.locator("#rationale").fill("Before prices rise")
    page.reload()
    expect(page.locator("#roast-qty_kg")).to_have_value("48")
    expect(page.locator("#rationale")).to_have_value("Before prices rise")
    page.goto(f"{address_of(table, run)}briefing/")
    page.go_back()
    expect(page.locator("#roast-qty_kg")).to_have_value("48")
    expect(page.locator("body[data-connected=true]")).to_be_visible(timeout=MILLISECONDS)
    page.locator("#do-column").focus()
    page.keyboard.press("w")
    expect(page.locator("#sure")).to_contain_text("You have not sent what you typed under Roast")
    page.keyboard.press("Escape")
    assert turns_of(run) == []


def test_an_action_sent_while_the_server_is_down_arrives_once_when_it_is_back(site: Site, page: Page) -> None:
    run = new_run("roaster_A", "farmer_A")
    sit_down(page, address_of(site, run))
    page.keyboard.press("i")
    site.kill("web")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#sending")).to_contain_text("never done twice", timeout=MILLISECONDS)
    expect(page.locator("#offline")).to_contain_text("Reconnecting")
    page.keyboard.press("Control+Enter")  # an impatient person
    site.start_web()
    expect(page.locator("#did .pending")).to_contain_text("Look at listings", timeout=30_000)
    expect(page.locator("#sending")).to_be_hidden()
    expect(page.locator("#offline")).to_be_hidden(timeout=30_000)
    assert list(Ask.objects.filter(run=run, firm__name="roaster_A").values_list("tool", "firm_turn")) == [
        ("view_listings", 1)
    ]


def test_an_action_whose_answer_was_lost_with_the_page_is_asked_about_again(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    page.evaluate(f"() => {{ {LOSE_ANSWERS} }}")
    page.keyboard.press("i")
    page.keyboard.press("Control+Enter")
    eventually(lambda: bool(turns_of(run)), SECONDS)
    page.reload()
    expect(page.locator("#did .call")).to_have_count(1, timeout=MILLISECONDS)
    expect(page.locator("body[data-connected=true]")).to_be_visible(timeout=MILLISECONDS)
    page.wait_for_timeout(500)
    assert turns_of(run) == [("view_listings", True)]


def test_of_two_people_each_sees_who_is_waited_for_and_is_woken_without_a_reload(
    table: Site, page: Page, browser: Browser
) -> None:
    run = new_run("roaster_A", "retailer_A")
    sit_down(page, address_of(table, run))
    with browser.new_context() as elsewhere:
        other = elsewhere.new_page()
        sit_down(other, address_of(table, run, "retailer_A"))
        expect(page).to_have_title("● Your turn · Roaster A")
        page.keyboard.press("i")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".head-turn")).to_contain_text("waiting for retailer_A")
        expect(page).to_have_title("Waiting · Roaster A")
        expect(page.locator("#send")).to_be_disabled()
        page.wait_for_timeout(2_000)  # so long that its own key is not what brings the next turn
        other.keyboard.press("w")
        expect(page).to_have_title("● Your turn · Roaster A", timeout=MILLISECONDS)
        expect(page.locator("#did .call")).to_have_count(1)


def test_queued_actions_run_one_by_one_and_stop_at_a_refusal(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(table, run))
    for key in ("i", "d", "g", "t"):
        page.keyboard.press(key)
        if key == "g":
            page.locator("#roast-green_item_id").select_option("green_coffee_kg")
            page.locator("#roast-qty_kg").fill("48")
        page.keyboard.press("Control+Shift+Enter")
        deed = {"i": "Look at listings", "d": "Look at deals", "g": "Roast 48 kg", "t": "Look at your books"}[key]
        expect(page.locator("#queue")).to_contain_text(deed)
        page.keyboard.press("Escape")
        page.locator("#do-column").focus()
    page.keyboard.press("q")
    expect(page.locator("#queue")).to_contain_text("The last action was refused", timeout=MILLISECONDS)
    assert turns_of(run) == [("view_listings", True), ("view_deals", True), ("roast", False)]
    expect(page.locator("#queue li")).to_have_count(1)
    page.get_by_role("button", name="Remove: Look at your books").click()
    expect(page.locator("#queue li")).to_have_count(0)


def test_ones_own_pause_and_what_the_researcher_does_are_seen_at_once(site: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(site, run))
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
    in_thread(lambda: verbs.nudge(seat_of(run, "roaster_A"), "The others wait for you."))
    expect(page.locator("#nudge")).to_contain_text("The others wait for you.")
    page.get_by_role("button", name="Got it").click()
    expect(page.locator("#nudge")).to_be_hidden()
    in_thread(lambda: control.pause_run(run.pk, "lunch"))
    expect(page.locator("#status")).to_contain_text("The researcher has paused the run")
    expect(page).to_have_title("Paused · Roaster A")
    in_thread(lambda: control.resume_run(run.pk))
    expect(page).to_have_title("● Your turn · Roaster A")
    in_thread(lambda: verbs.hand_over(seat_of(run, "roaster_A"), "script"))
    expect(page.locator("#stand-in")).to_contain_text("A script has played Roaster A since")
    expect(page).to_have_title("A stand-in plays · Roaster A")
    in_thread(lambda: verbs.hand_back(seat_of(run, "roaster_A")))
    expect(page.locator("#stand-in")).to_be_hidden()
    in_thread(lambda: verbs.revoke(seat_of(run, "roaster_A")))
    expect(page.locator("#offline")).to_contain_text("Ask the researcher for the new one", timeout=MILLISECONDS)
    expect(page.locator("#send")).to_be_disabled()


def test_without_a_socket_the_page_looks_by_itself_and_says_so(table: Site, page: Page) -> None:
    run = new_run("roaster_A")
    page.add_init_script(NO_SOCKET)
    page.add_init_script(f"{{ {HOLD_PIECES} }}")  # a slow server
    page.goto(address_of(table, run))
    page.get_by_role("button", name="Take the seat").click()
    expect(page.locator("#offline")).to_contain_text("Meanwhile the page looks by itself", timeout=MILLISECONDS)
    page.keyboard.press("i")
    press(page, "Control+Enter")
    assert turns_of(run) == [("view_listings", True)]


def test_notes_save_themselves_and_the_sound_stays_off(site: Site, page: Page) -> None:
    run = new_run("roaster_A")
    sit_down(page, address_of(site, run))
    page.keyboard.press("n")
    page.keyboard.type("Sell before day 40.")
    expect(page.locator("#notes-state")).to_have_text("Saved", timeout=MILLISECONDS)
    page.keyboard.press("Escape")
    page.locator("#sound").click()
    page.reload()
    expect(page.locator("#sound")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("n")
    expect(page.locator("#notes-text")).to_have_value("Sell before day 40.")


def test_the_help_names_every_key_and_a_narrow_screen_has_tabs(site: Site, page: Page) -> None:
    run = new_run("retailer_A")
    page.set_viewport_size({"width": 390, "height": 800})
    sit_down(page, address_of(site, run, "retailer_A"))
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
