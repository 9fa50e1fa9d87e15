"""Conversations, and what a run's page tells of its models, in a browser."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from simulation import control, runner
from simulation.engine.scenario import scenario_from
from simulation.players.llm.settings import Limits
from tests.browser.conftest import Site, expect_to_fit, hint, open_run
from tests.small_runs import add_event
from tests.talk_rows import add_ask, add_call, add_turn, make_model_run, play_day

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e<b>bold</b>"


def test_money_waiting_and_alarms_are_told_live(site: Site, visitor: Page, complaints: list[str]) -> None:
    run = make_model_run(days=90, limits=Limits(budget_usd=3))
    open_run(site, visitor, run)
    header = visitor.locator("#run-header")
    expect(header.locator('[data-slot="spent"]')).to_have_text("0.00 of 3.00 USD")
    for day in range(2):
        play_day(run, day, cost_micros=1_000_000, at_seconds=600 * (day + 1))
    turn = add_turn(run, day=2, tool="post_listing", result='{"ok": true, "listing_id": "L7"}')
    add_call(add_ask(run, turn, flags=["no tool call"]), cost_micros=500_000, at_seconds=1300)
    add_event(run, "listing_posted", "roaster_A", day=2, listing="L7")
    hint(run)
    expect(header.locator('[data-slot="spent"]')).to_have_text("2.50 of 3.00 USD")
    expect(header.locator('[data-slot="budget"]')).to_have_js_property("value", 83.3)
    expect(header.locator('[data-slot="warning"]')).to_have_text("at this rate the budget lasts until Day 3 of 90")
    expect(header.locator('[data-slot="left"]')).to_have_text(re.compile(r"ends about Mon,? 2 Nov,? \d\d:\d\d"))
    expect(visitor.locator('[data-firm="roaster_A"] .card-alarms')).to_have_text("no tool call 1")
    visitor.locator(".line-clock[href]").click()
    expect(visitor.get_by_role("heading", level=1)).to_contain_text(f"Turn {turn.number}")
    assert complaints == []


def test_who_is_waited_for_and_what_trouble_there_is_are_told(site: Site, visitor: Page) -> None:
    run = make_model_run()
    add_ask(run, trouble=HOSTILE, not_before=timezone.now() + timedelta(minutes=5))
    open_run(site, visitor, run)
    header = visitor.locator("#run-header")
    expect(header.locator('[data-slot="waiting"]')).to_have_text(
        re.compile(r"waiting for roaster_A \(openai/gpt-5.5\), 0:\d\d")
    )
    expect(header.locator('[data-slot="trouble"]')).to_contain_text(f"{HOSTILE} Asked again at ")
    assert header.locator("img, b").count() == 0


def test_a_pause_counts_down_to_the_next_try(site: Site, visitor: Page) -> None:
    again = timezone.now() + timedelta(minutes=5)
    run = make_model_run(status="paused", paused_by="provider", status_reason="Overloaded", resume_at=again)
    open_run(site, visitor, run)
    expect(visitor.locator('[data-slot="again"]')).to_have_text(re.compile(r"It tries again at [\d:]+, in 4:\d\d\."))
    expect(visitor.get_by_role("button", name="Resume")).to_be_visible()


def test_days_are_turned_with_the_arrow_keys(site: Site, visitor: Page) -> None:
    run = make_model_run()
    for day in range(3):
        play_day(run, day)
    visitor.goto(f"{site.address}/runs/{run.pk}/firms/roaster_A/")
    heading = visitor.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Day 2")
    visitor.keyboard.press("ArrowLeft")
    expect(heading).to_contain_text("Day 1")
    visitor.get_by_label("Day", exact=True).first.fill("0")
    visitor.keyboard.press("ArrowRight")  # in a field it moves the caret
    visitor.keyboard.press("Enter")
    expect(heading).to_contain_text("Day 0")


def test_what_a_script_was_given_is_fetched_when_it_is_opened(site: Site, visitor: Page, complaints: list[str]) -> None:
    run = control.create_run(name="scripts", scenario=scenario_from({"days": 2}), seed=3, players={})
    control.start_run(run.pk, holder="test")
    game = runner.load_game(run)
    while not game.world.ended:
        game.play_step()
    runner.commit(game, "test", release=True)
    visitor.goto(f"{site.address}/runs/{run.pk}/firms/farmer_A/0/")
    first = visitor.locator(".turn").first
    first.get_by_text("What it was given").click()
    expect(first.get_by_text("Observation: woken by a new day")).to_be_visible()
    assert complaints == []


def test_nothing_is_wider_than_the_page(site: Site, visitor: Page) -> None:
    run = make_model_run(name="N" * 80)
    ask = add_ask(run, add_turn(run, rationale="w" * 3000, arguments='{"x": "' + "y" * 3000 + '"}'))
    call = add_call(ask, error="z" * 500, raw='{"a": "' + "r" * 3000 + '"}')
    for address in ("", "firms/roaster_A/", "turns/1/", f"calls/{call.pk}/", "spend/"):
        visitor.goto(f"{site.address}/runs/{run.pk}/{address}")
        expect_to_fit(visitor, 390, 1360)
