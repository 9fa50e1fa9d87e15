"""People at the player's console in real browsers: whole days by keyboard, two at a table, and whatever can go wrong.

Whatever happens to page, line or site, the turns that are stored are those that were sent, each once.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from simulation import tasks
from simulation.engine.decision import Decision
from simulation.models import Run, Turn
from simulation.players.registry import make_player
from simulation.seats import verbs
from simulation.store import scenario_of
from tests.browser.conftest import Site, in_thread
from tests.browser.playing import (
    FIRM,
    SEED,
    Console,
    Held,
    Reader,
    address_of,
    complaints_of,
    console,
    is_same_page,
    kept_site,
    outcomes,
    played_inside,
    quiet_run,
    table,
    turns_of,
)
from tests.seat_play import answer_open_turn, ledger, seat_of, seated_run

__all__ = ["console", "kept_site", "table"]  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# Whole days.


def test_a_person_plays_ten_days_with_the_keyboard_alone(console: Callable[..., Console]) -> None:
    run = in_thread(lambda: seated_run(FIRM, days=10, seed=SEED))
    person = console(run)
    reader = Reader(person, run, FIRM)
    sell_with_few_keys(person)
    while not person.is_over:
        view = reader.view()
        if view.observation and "a new day" in view.observation["woken_by"]:
            play_morning(person, reader, view.day, view.observation)
        person.act("wait_for_next_day")
    expect(person.page.get_by_role("heading", name="Your net income")).to_be_visible()
    expect(person.page.locator("#comparison")).to_contain_text("HeuristicRoaster")
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    made = Turn.objects.filter(run=run, firm__name=FIRM)
    for tool in ("accept_offer", "pay_invoice", "post_listing", "roast", "make_offer", "send_message", "view_listings"):
        assert made.filter(tool=tool, accepted=True).exists(), tool
    assert set(made.values_list("decided_by", flat=True)) == {"human"}
    # What was left untouched is sent as the tool's default.
    stored = {turn.tool: turn.arguments for turn in turns_of(run, FIRM)}
    assert stored["post_listing"]["payment_terms_days"] == 30
    assert (stored["view_payables"]["limit"], stored["view_payables"]["only_overdue"]) == (20, False)
    assert "ref_offer_id" not in stored["send_message"]


def sell_with_few_keys(person: Console) -> None:
    """On the first morning: lists what is in stock, is woken by an offer the same day, and accepts it."""
    person.press("l", "r", "Tab")  # the letter finds the item in the list of choices
    person.page.keyboard.type("30")
    person.press("Tab")
    person.page.keyboard.type("9.50")
    expect(person.page.locator("#send")).to_contain_text("List 30 kg roasted coffee at 9.50")
    person.press("Enter")
    person.sent.append(Decision("post_listing", {"item_id": "roasted_coffee_kg", "qty": 30, "asking_price": 9.5}))
    person.until_turn(2)
    person.act("wait_for_next_day")
    person.press(",")
    row = person.page.locator("#know .row-act:focus")
    expect(row).to_have_text("Accept 15 kg at 9.50")
    sale = json.loads(row.get_attribute("data-arguments") or "")
    person.press("Enter")
    person.sent.append(Decision("accept_offer", sale))
    person.until_turn(4)


def play_morning(person: Console, reader: Reader, day: int, seen: dict[str, Any]) -> None:
    """Accepts what was offered first, pays, roasts, lists, and now and then buys and writes."""
    for offer in seen["offers_to_you"][:1]:
        person.act_from_row("accept_offer", offer_id=offer["offer_id"])
    if day % 4 == 1:
        person.act("view_payables")
        for invoice in (reader.result() or {})["invoices"]:
            person.act_from_row("pay_invoice", invoice_id=invoice["invoice_id"])
    stock = {item: one["on_hand"] for item, one in seen["stock"]["items"].items()}
    if green_kg := stock.get("green_coffee_kg"):
        person.act("roast", green_item_id="green_coffee_kg", qty_kg=min(green_kg, 50))
    if (roasted_kg := stock.get("roasted_coffee_kg")) and not seen["your_open_listings"]:
        person.act("post_listing", item_id="roasted_coffee_kg", qty=roasted_kg, asking_price=8.82)
    if day % 4 == 0:
        buy(person)
    if day == 1:
        person.act("send_message", recipient="farmer_A", title="Beans?", body="I need 30 kg a day & <more>.")


def buy(person: Console) -> None:
    """Looks at the green coffee of others and bids as asked, from the first row."""
    person.act("view_listings", item_id="green_coffee_kg", only_others=True)
    turn = person.turn
    assert turn is not None
    bid = person.go_to_row("make_offer")
    person.press("Enter", "Control+Enter")
    person.sent.append(Decision("make_offer", {**bid, "message": ""}))
    person.until_turn(turn + 1)


def test_a_script_that_reads_and_fills_the_page_makes_the_books_it_makes_inside(
    table: Site, console: Callable[..., Console]
) -> None:
    run = in_thread(lambda: seated_run(FIRM, days=3, seed=SEED))
    hands = console(run)
    eyes, script = Reader(hands, run, FIRM), make_player("heuristic_roaster", scenario_of(run), FIRM)
    while not hands.is_over:
        tool, arguments, _ = script.decide(eyes.view())
        hands.act(tool, **arguments)
    inside = in_thread(lambda: played_inside(days=3, seed=SEED))
    assert outcomes(run) == outcomes(inside)
    assert ledger(run) == ledger(inside)


# Two at a table.


def test_two_people_see_whom_they_wait_for_and_an_offer_of_one_wakes_the_other(
    console: Callable[..., Console], browser: Browser
) -> None:
    run = quiet_run(FIRM, "retailer_A")
    elsewhere = browser.new_context()
    roaster, retailer = console(run), console(run, "retailer_A", elsewhere.new_page())
    expect(roaster.page).to_have_title("● Your turn · Roaster A")
    roaster.send("post_listing", item_id="roasted_coffee_kg", qty=30, asking_price=8.82)
    roaster.expect_turn_text(re.compile(r"waiting for retailer_A"))
    expect(roaster.page).to_have_title("Waiting · Roaster A")
    expect(roaster.page.locator("#send")).to_be_disabled()
    expect(roaster.page.locator("#did .pending")).to_contain_text("List 30 kg")
    # So long that its own key is not what brings the next turn.
    expect(roaster.page.locator('#head [data-slot="waited"]')).to_have_text(re.compile(r"· 0:(0[2-9]|[1-5]\d)"))
    retailer.expect_turn_text("your turn")
    retailer.send("view_listings")
    for person in (roaster, retailer):
        person.until_turn(2)
    expect(roaster.page).to_have_title("● Your turn · Roaster A")
    expect(roaster.page.locator("#did .call")).to_have_count(1)
    roaster.send("wait_for_next_day")
    roaster.expect_turn_text(re.compile(r"waiting for retailer_A"))
    expect(roaster.page).to_have_title(re.compile("^Waiting"))

    bid = retailer.go_to_row("make_offer")
    retailer.press("Enter", "Control+Enter")
    retailer.sent.append(Decision("make_offer", {**bid, "message": ""}))
    roaster.until_turn(3)
    expect(roaster.page.locator("#know .woken")).to_have_text(re.compile(r"Woken: .*offer O1 .*retailer_A"))
    expect(roaster.page).to_have_title(re.compile("^● Your turn"))
    sale = roaster.go_to_row("accept_offer", offer_id="O1")
    roaster.press("Enter")
    roaster.sent.append(Decision("accept_offer", sale))
    retailer.until_turn(3)
    expect(retailer.page.locator("#know .woken")).to_have_text(re.compile(r"Woken: .*O1"))
    retailer.send("wait_for_next_day")
    roaster.until_turn(4)
    assert is_same_page(roaster)
    assert is_same_page(retailer)
    assert Turn.objects.get(run=run, tool="accept_offer").accepted
    elsewhere.close()


# What a person may do to a page.


def test_a_reload_and_the_back_button_keep_what_was_typed_and_send_nothing(console: Callable[..., Console]) -> None:
    run = quiet_run()
    person = console(run)
    page, letter = person.page, {"recipient": "farmer_A", "title": "Beans?", "body": "Two\nlines"}
    person.fill("send_message", **letter)
    page.locator("#rationale").fill("Before prices rise")
    page.reload()
    expect(page.locator("#form-send_message textarea")).to_have_value("Two\nlines")
    expect(page.locator("#rationale")).to_have_value("Before prices rise")
    page.goto(f"{person.address}briefing/")
    page.go_back()
    expect(page.locator("#form-send_message textarea")).to_have_value("Two\nlines")
    person.until_turn(1)
    person.press("Escape", "w")
    expect(page.locator("#sure")).to_contain_text("You have not sent what you typed under Write a message")
    person.press("Escape")
    assert person.posted == 0
    person.open("send_message")
    person.press("Control+Enter")
    person.sent.append(Decision("send_message", letter, "Before prices rise"))
    person.until_turn(2)
    expect(page.locator("#form-send_message textarea")).to_have_value("")
    page.go_forward()
    page.go_back()
    person.until_turn(2)
    page.reload()
    person.until_turn(2)
    assert person.posted == 1


def test_a_key_held_down_and_a_double_click_are_one_action(console: Callable[..., Console]) -> None:
    run = quiet_run()
    person = console(run)
    page = person.page

    def hold_enter(until: int) -> None:
        for _ in range(5):
            page.keyboard.down("Enter")
        person.until_turn(until)
        for _ in range(5):
            page.keyboard.down("Enter")
        page.keyboard.up("Enter")

    person.fill("view_messages", limit=5)
    page.locator("#form-view_messages [name='arg.limit']").focus()
    hold_enter(2)
    person.press("Escape", ".")  # to the button that does the same again
    assert page.evaluate("document.activeElement.ariaLabel") == "The same again: Look at messages"
    hold_enter(3)
    person.sent += [Decision("view_messages", {"limit": 5})] * 2

    person.open("view_deals")
    page.locator("#send").dblclick()
    person.until_turn(4)
    page.locator("#send").click()
    person.until_turn(5)
    box = page.locator("#send").bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down(click_count=2)  # the second of two, and the next turn has come already
    page.mouse.up(click_count=2)
    person.sent += [Decision("view_deals", {})] * 2

    late = Held(page)
    person.press("Escape", "w", "w")
    late.wait_for()
    late.let_go()
    person.sent.append(Decision("wait_for_next_day", {}))
    person.until_turn(6)
    assert person.posted == len(person.sent) == 5


def test_two_tabs_cannot_act_twice_in_one_turn_and_the_later_one_keeps_its_form(
    console: Callable[..., Console], page: Page
) -> None:
    run = quiet_run()
    person = console(run)
    other = Console(page.context.new_page(), person.address)
    complaints = complaints_of(other.page)
    other.until_turn(1)
    late = Held(other.page)
    other.send("send_message", recipient="farmer_A", title="Beans?", body="How much?")
    late.wait_for()
    person.act("view_offers")
    late.let_go()
    expect(other.page.locator("#form-problem")).to_have_text(
        "Turn 1 is decided already, with view_offers; your turn is number 2."
    )
    other.until_turn(2)
    expect(other.page.locator("#form-send_message textarea")).to_have_value("How much?")

    late = Held(other.page)
    other.send("view_deals")
    late.wait_for()
    person.act("view_deals")
    late.let_go()
    for tab in (person, other):
        tab.until_turn(3)
    expect(other.page.locator("#form-problem")).to_be_hidden()
    assert (person.posted, other.posted) == (2, 2)

    # A tab that does not hear of what the first one does.
    other.page.evaluate("window.WebSocket = class { close() {} }; dispatchEvent(new Event('offline'))")
    other.page.route("**/state/", lambda route: route.abort())
    person.act("view_payables")
    other.fill("send_message", recipient="", title="A title")
    other.press("Control+Enter")
    expect(other.page.get_by_text("Recipient is needed")).to_be_visible()
    other.fill("send_message", recipient="farmer_A", body="Hello")
    other.press("Control+Enter")
    expect(other.page.locator("#form-problem")).to_contain_text("Turn 3 is decided already, with view_payables")
    expect(other.page.locator("#send_message-title")).to_have_value("A title")
    assert complaints == []


# What may happen to the line and to the site.


def test_an_action_whose_request_or_answer_is_lost_is_done_once(table: Site, console: Callable[..., Console]) -> None:
    run = quiet_run()
    person = console(run)
    page, sending = person.page, person.page.locator("#sending")
    page.context.set_offline(True)
    person.send("view_listings")
    expect(sending).to_contain_text("No answer yet")
    page.context.set_offline(False)
    person.until_turn(2)

    lost = Held(page, answers=True)
    person.send("view_offers")
    lost.wait_for()
    lost.let_go()
    person.until_turn(3)
    expect(sending).to_be_hidden()

    lost = Held(page, answers=True)
    person.send("view_deals")
    lost.wait_for()
    page.unroute("**/act/")
    page.reload()
    person.until_turn(4)

    early = Held(page)
    person.send("view_payables")
    early.wait_for()
    page.unroute("**/act/")
    page.reload()
    person.until_turn(5)

    expect(page.locator("#did .call")).to_have_count(4)
    assert person.posted > len(person.sent) == 4


def test_what_others_did_while_the_page_was_cut_off_is_on_it_afterwards(console: Callable[..., Console]) -> None:
    run = quiet_run(FIRM, "farmer_A")
    person = console(run)
    offline = person.page.locator("#offline")
    letter = Decision("send_message", {"recipient": FIRM, "title": "Beans", "body": "Cheap today."})
    in_thread(lambda: answer_open_turn(run, "farmer_A", Decision("view_deals", {})))
    person.send("wait_for_next_day")
    person.expect_turn_text(re.compile("waiting for farmer_A"))
    person.page.context.set_offline(True)
    expect(offline).to_contain_text("Reconnecting…")
    in_thread(lambda: answer_open_turn(run, "farmer_A", letter))
    person.page.context.set_offline(False)
    person.until_turn(2)
    expect(person.page.locator("#know .woken")).to_have_text(re.compile("Woken: message M1 from farmer_A"))
    expect(offline).to_be_hidden()
    assert is_same_page(person)


def test_a_void_link_shuts_the_open_page_and_the_new_one_goes_on_at_the_same_moment(
    table: Site, console: Callable[..., Console]
) -> None:
    run = quiet_run()
    person = console(run)
    person.act("view_listings")
    in_thread(lambda: verbs.revoke(seat_of(run, FIRM)))
    expect(person.page.locator("#offline")).to_contain_text("This link is no longer valid")
    expect(person.page.locator("#offline")).to_contain_text("Ask the researcher for the new one")
    expect(person.page.locator("#send")).to_be_disabled()
    person.press("Escape", "w")
    person.open("view_deals")
    person.press("Control+Enter")
    assert person.posted == 1
    person.fill("send_message", title="Beans?")
    in_thread(lambda: verbs.reissue(seat_of(run, FIRM)))
    assert person.page.request.get(person.address).status == 410
    again = Console(person.page, address_of(table, run, FIRM))
    assert again.address != person.address
    again.until_turn(2)
    expect(again.page.locator("#send_message-title")).to_have_value("Beans?")
    again.act("view_offers")
    person.sent += again.sent


def test_a_site_that_is_killed_in_the_middle_of_a_turn_goes_on_where_it_was(
    table: Site, console: Callable[..., Console]
) -> None:
    run = in_thread(lambda: seated_run(FIRM, days=3, seed=SEED))
    person = console(run)
    person.act("view_listings")

    # While the person thinks, and types on.
    person.fill("send_message", recipient="farmer_A", title="Beans?")
    for name in ("web", "worker"):
        table.kill(name)
    expect(person.page.locator("#offline")).to_contain_text("Reconnecting…")
    person.page.locator("#form-send_message textarea").focus()
    person.page.keyboard.type("Are you there?")
    person.press("Control+Enter")
    person.sent.append(Decision("send_message", {"recipient": "farmer_A", "title": "Beans?", "body": "Are you there?"}))
    expect(person.page.locator("#sending")).to_contain_text("never done twice")
    person.press("Control+Enter")  # an impatient person
    table.start_web()
    table.start_worker()
    person.until_turn(3)
    expect(person.page.locator("#sending")).to_be_hidden()
    expect(person.page.locator("#offline")).to_be_hidden()

    # While a worker has the action in its hands.
    table.processes["worker"].send_signal(signal.SIGSTOP)
    person.send("view_offers")
    person.expect_turn_text(re.compile("the table moves on…"))
    for name in ("web", "worker"):
        table.kill(name)
    table.start_web()
    table.start_worker()
    in_thread(tasks.sweep)  # which beat does every ten seconds
    person.until_turn(4)
    assert is_same_page(person)


# The queue.


def test_queued_actions_run_one_by_one_each_at_its_half_hour_until_one_is_refused(
    console: Callable[..., Console],
) -> None:
    run = quiet_run()
    person = console(run)
    looks = ["view_listings", "view_offers", "view_deals", "view_payables", "view_messages"]
    for tool in looks:
        person.queue(tool)
    expect(person.page.locator("#queue li").first).to_contain_text("Look at listings")
    assert not Turn.objects.filter(run=run, firm__name=FIRM).exists()
    person.press("Escape", "q")
    person.until_turn(6)
    expect(person.page.locator("#queue li")).to_have_count(0)
    made = Turn.objects.filter(run=run, firm__name=FIRM).order_by("pk").values_list("tool", "minute")
    assert list(made) == [(tool, 540 + 30 * number) for number, tool in enumerate(looks)]

    roast = {"green_item_id": "green_coffee_kg", "qty_kg": 48}
    person.queue("view_market_aggregate")
    person.queue("roast", **roast)
    person.queue("view_offers")
    expect(person.page.locator("#queue")).to_contain_text("Roast 48 kg")
    person.press("Escape", "q")
    person.until_turn(8)
    expect(person.page.locator("#queue .queue-state")).to_have_text(
        re.compile("The last action was refused: .*green_coffee_kg")
    )
    expect(person.page.locator("#queue li")).to_have_count(1)
    person.page.get_by_role("button", name="Remove: Look at offers").click()
    expect(person.page.locator("#queue li")).to_have_count(0)
    person.sent += [*(Decision(tool, {}) for tool in [*looks, "view_market_aggregate"]), Decision("roast", roast)]
    assert person.posted == 0


def test_a_message_from_another_firm_stops_the_queue(console: Callable[..., Console]) -> None:
    run = quiet_run(FIRM, "farmer_A")
    person = console(run)
    for tool in ("view_listings", "view_offers", "view_deals"):
        person.queue(tool)
    person.press("Escape", "q")
    person.expect_turn_text(re.compile("waiting for farmer_A"))
    letter = Decision("send_message", {"recipient": FIRM, "title": "Beans", "body": "Cheap today."})
    in_thread(lambda: answer_open_turn(run, "farmer_A", letter))
    person.until_turn(2)
    expect(person.page.locator("#queue .queue-state")).to_have_text("You were woken by message M1 from farmer_A")
    expect(person.page.locator("#queue li")).to_have_count(2)
    person.sent.append(Decision("view_listings", {}))
