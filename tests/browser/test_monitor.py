"""The monitor in a real browser: the link of a new run, help at a seat, a list that keeps still under the pointer."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from simulation.models import Run, Seat
from simulation.seats import clocks, links, verbs
from simulation.studies.models import Study
from tests.browser.conftest import Site, in_thread
from tests.seat_play import answer_open_turn, move, seat_of, seated_run
from tests.study_plans import Stage, invited, small_study, walk_to

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_link_of_a_new_run_is_at_hand_until_its_seat_is_taken(
    site: Site, visitor: Page, context: BrowserContext, complaints: list[str]
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.goto(f"{site.address}/runs/new/")
    visitor.get_by_label("Name").fill("Table")
    visitor.get_by_label("roaster_A").select_option("human")
    visitor.get_by_role("button", name="Start the run").click()
    notice = visitor.locator("#seats-strip")
    expect(notice).to_contain_text("roaster_A is played by a person: give them this link")
    visitor.wait_for_load_state()  # its script is there
    notice.get_by_role("button", name="Copy link").click()
    expect(notice.get_by_role("button", name="Copied")).to_be_visible()
    link = visitor.evaluate("navigator.clipboard.readText()")
    seat = in_thread(lambda: Seat.objects.get())
    assert link == f"{site.address}/seat/{links.token_of(seat)}/"

    player = context.browser.new_page() if context.browser else pytest.fail("no browser")
    player.goto(link)
    player.get_by_role("button", name="Take the seat").click()
    visitor.mouse.move(2, 2)  # away from the button, under which nothing would move
    expect(visitor.locator(".strip-links li")).to_have_count(0)
    visitor.get_by_role("link", name="Seats 1").click()
    expect(visitor.locator(".seat-card")).to_contain_text("here")
    player.close()
    assert complaints == []


def test_a_seat_is_helped_and_what_is_being_typed_is_left_alone(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    run = in_thread(lambda: seated_run("roaster_A", "farmer_A"))
    seat = in_thread(lambda: seat_of(run, "roaster_A"))
    visitor.goto(f"{site.address}/runs/{run.pk}/seats/")
    card = visitor.get_by_role("article", name="Seat of roaster_A")
    expect(card).to_contain_text("has the turn")
    line = card.get_by_label("What roaster_A is told")
    line.fill("Are you")
    in_thread(lambda: answer_open_turn(run, "farmer_A"))
    other = visitor.get_by_role("article", name="Seat of farmer_A")
    expect(other).to_contain_text("waits for roaster_A")  # so the page was brought up to date
    expect(line).to_have_value("Are you")
    line.press("End")
    line.press_sequentially(" there?")
    line.press("Enter")
    expect(visitor.locator("#monitor-said")).to_contain_text("roaster_A is told: Are you there?")
    expect(card.locator(".seat-facts")).to_contain_text("Are you there?")
    seat = in_thread(lambda: seat_of(run, "roaster_A"))
    assert seat.nudge == "Are you there?"

    card.get_by_role("button", name="Let its script play").click()
    expect(card.get_by_role("button", name="Hand back to its player")).to_be_visible()
    expect(card).to_contain_text("the script decides")
    card.get_by_role("button", name="Hand back to its player").click()
    expect(card.get_by_role("button", name="Let its script play")).to_be_visible()

    card.get_by_text("Link…").click()
    before = card.get_by_label("Link of roaster_A").input_value()
    card.get_by_role("button", name="Issue a new link").click()
    expect(card.get_by_label("Link of roaster_A")).not_to_have_value(before)
    expect(card.get_by_text("Every link given out before")).to_be_hidden()

    visitor.get_by_role("button", name="Pause the run").click()
    expect(card).to_contain_text("the run is paused in their turn")
    give = card.get_by_role("button", name="Give minutes")
    give.focus()  # so that the page does not take it away before it is pressed
    in_thread(lambda: Run.objects.update(status="stopped"))
    give.press("Enter")
    expect(card.get_by_role("button", name="Nudge")).to_have_count(0)
    assert complaints == []


def test_a_refusal_is_shown_and_a_lost_site_is_named(site: Site, visitor: Page) -> None:
    run = in_thread(lambda: seated_run("roaster_A"))
    visitor.goto(f"{site.address}/runs/{run.pk}/seats/")
    visitor.get_by_text("Rules…").click()
    visitor.locator("select[name=absence]").evaluate("one => { one.options[0].value = 'sleep'; }")
    visitor.get_by_role("button", name="Save the rules").click()
    expect(visitor.locator("#monitor-refused")).to_contain_text("'sleep' is none of")
    site.kill("web")
    expect(visitor.locator("#monitor-lost")).to_contain_text("No answer since")
    site.start_web()
    expect(visitor.locator("#monitor-lost")).to_be_hidden()


def table_of_two() -> Study:
    """Two persons who both have the turn; bo has opened his seat, ada has not."""
    study = small_study(persons=["roaster_A", "roaster_B"], days=3)
    ada, bo = invited(study, "ada", "bo")
    walk_to(ada, Stage.WAITING)
    walk_to(bo, Stage.GAME)
    move(Run.objects.get())
    verbs.take(seat_of(Run.objects.get(), "roaster_B"))
    return study


def order(page: Page) -> list[str]:
    """The labels from the top."""
    return page.locator(".monitor-people tbody th bdi").all_inner_texts()


def test_the_order_of_people_waits_until_the_pointer_is_elsewhere(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    study = in_thread(table_of_two)
    visitor.goto(f"{site.address}/studies/{study.pk}/monitor/")
    assert order(visitor) == ["ada", "bo"]
    visitor.locator(".monitor-people tbody tr").nth(1).hover()
    in_thread(ada_comes_and_answers)
    row = visitor.locator(".monitor-people tr", has_text="ada")
    expect(row).to_contain_text("waits for roaster_B")
    expect(visitor.locator("[data-pending]")).to_be_visible()
    assert order(visitor) == ["ada", "bo"]
    visitor.mouse.move(2, 2)
    expect(visitor.locator(".monitor-people tbody th bdi").first).to_have_text("bo")
    assert order(visitor) == ["bo", "ada"]
    assert complaints == []


def ada_comes_and_answers() -> None:
    """She takes her seat, answers, and keeps her page open."""
    run = Run.objects.get()
    verbs.take(seat_of(run, "roaster_A"))
    answer_open_turn(run, "roaster_A")
    clocks.beat(seat_of(run, "roaster_A"), timezone.now(), is_active=True)


def test_a_seat_is_helped_over_the_list_by_keyboard_and_the_study_is_downloaded_as_one_archive(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    study = in_thread(table_of_two)
    visitor.goto(f"{site.address}/studies/{study.pk}/monitor/")
    visitor.get_by_role("link", name="Help ada").press("Enter")
    dialog = visitor.locator("#seat-dialog")
    expect(dialog).to_contain_text("not taken")
    dialog.get_by_label("Minutes given to roaster_A").fill("25")
    dialog.get_by_label("Minutes given to roaster_A").press("Enter")
    expect(visitor.locator("#monitor-said")).to_contain_text("rests for 25 min")
    expect(dialog.locator(".seat-facts")).to_contain_text("rests until")
    visitor.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    with visitor.expect_download() as download:
        visitor.get_by_role("link", name="Export as ZIP").click()
    assert download.value.suggested_filename == f"coffeebench-study-{study.pk}.zip"
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
        assert archive.testzip() is None
        assert "codebook.csv" in archive.namelist()
    assert complaints == []
