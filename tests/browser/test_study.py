"""Studies in a browser: a participant's whole way, two who meet in the waiting room, and the researcher's pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from simulation.models import Run
from simulation.studies import links, verbs
from simulation.studies.models import Participant, Study
from tests.browser.conftest import Site, in_thread
from tests.study_plans import Stage, again, invited, small_study, wait_through, walk_to

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUESTIONS = [
    {"kind": "scale", "text": "How hard was it?", "choices": ["very easy", "very hard"]},
    {"kind": "text", "text": "Why?"},
]


def address_of(site: Site, participant: Participant) -> str:
    return site.address + in_thread(lambda: links.path_of(again(participant)))


def stage_of(participant: Participant) -> str:
    return in_thread(lambda: again(participant).stage)


def answer_quiz(page: Page, participant: Participant, *, rightly: bool) -> None:
    """Chooses by keyboard."""
    attempt = in_thread(lambda: again(participant).attempts.count() + 1)
    for question in in_thread(lambda: verbs.quiz_of(again(participant), attempt)):
        place = question.right if rightly else (question.right + 1) % len(question.choices)
        page.locator(f'[name="quiz_{question.key}"]').nth(place).focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Hand in my answers").press("Enter")


def test_a_participant_goes_all_the_way_through_reloads_back_buttons_double_clicks_and_a_second_tab(
    site: Site, page: Page, complaints: list[str]
) -> None:
    study = in_thread(lambda: small_study(quiz_pass_mark=5, practice_days=1, questionnaire=QUESTIONS))
    (ada,) = in_thread(lambda: invited(study, "ada"))
    address = address_of(site, ada)
    page.goto(address)
    old_tab = page.context.new_page()
    old_tab.goto(address)
    page.get_by_role("button", name="I agree and take part").dblclick()
    expect(page.get_by_role("heading", name="Your briefing")).to_be_visible()
    page.go_back()
    page.goto(address)
    expect(page.get_by_role("heading", name="Your briefing")).to_be_visible()
    page.get_by_role("button", name="I have read it").click()
    expect(page.get_by_role("heading", name="A short quiz")).to_be_visible()
    old_tab.get_by_role("button", name="I do not agree").click()
    expect(old_tab.get_by_role("heading", name="A short quiz")).to_be_visible()

    answer_quiz(page, ada, rightly=False)
    expect(page.get_by_text("0 of 6 were right; 5 are needed.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("0 of 6 were right; 5 are needed.")).to_be_visible()
    answer_quiz(page, ada, rightly=True)
    expect(page.get_by_role("heading", name="Practice")).to_be_visible()
    assert in_thread(lambda: ada.attempts.count()) == 2
    page.get_by_role("link", name="Open the practice").click()
    page.wait_for_url("**/seat/**")
    page.goto(address)
    in_thread(lambda: wait_through_seat(again(ada), "practice_seat"))
    page.reload()
    page.get_by_role("button", name="Go on to the game").dblclick()
    page.wait_for_url("**/seat/**")
    assert in_thread(lambda: Run.objects.filter(is_practice=False).count()) == 1
    in_thread(lambda: wait_through_seat(again(ada), "seat"))
    page.goto(address)
    page.get_by_role("button", name="Go on to the last questions").click()

    page.get_by_role("textbox").fill("I <b>looked</b>.")
    page.get_by_role("button", name="Hand in and finish").click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_role("textbox")).to_have_value("I <b>looked</b>.")
    page.get_by_role("radio", name="6").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Hand in and finish").dblclick()
    expect(page.get_by_text("You have completed the study.")).to_be_visible()
    done = in_thread(lambda: again(ada))
    assert done.answers == {"1": "6", "2": "I <b>looked</b>."}
    expect(page.locator("#code")).to_have_text(done.completion_code)
    old_tab.reload()
    expect(old_tab.locator("#code")).to_have_text(done.completion_code)
    assert complaints == []


def wait_through_seat(participant: Participant, name: str) -> None:
    wait_through(getattr(participant, name))


def test_two_meet_in_the_waiting_room_and_the_game_opens_for_both_by_itself(
    site: Site, page: Page, browser: Browser, complaints: list[str]
) -> None:
    study = in_thread(lambda: small_study(persons=["roaster_A", "roaster_B"]))
    ada, bo = in_thread(lambda: invited(study, "ada", "bo"))
    in_thread(lambda: (walk_to(ada, Stage.WAITING), walk_to(bo, Stage.BRIEFING)))
    page.goto(address_of(site, ada))
    expect(page.get_by_role("status").first).to_have_text("1 of 2 places taken")
    elsewhere = browser.new_context()
    other = elsewhere.new_page()
    other.goto(address_of(site, bo))
    other.get_by_role("button", name="I have read it").click()
    other.wait_for_url("**/seat/**")
    page.wait_for_url("**/seat/**")
    assert page.url != other.url
    assert complaints == []
    elsewhere.close()


def test_the_waiting_room_says_when_the_line_is_lost_and_goes_on_when_it_is_back(site: Site, page: Page) -> None:
    study = in_thread(lambda: small_study(start="researcher"))
    (ada,) = in_thread(lambda: invited(study, "ada"))
    table = in_thread(lambda: walk_to(ada, Stage.WAITING).table)
    assert table
    page.goto(address_of(site, ada))
    expect(page.get_by_text("The researcher starts the game.")).to_be_visible()
    page.context.set_offline(True)
    expect(page.get_by_text("The connection is lost.")).to_be_visible(timeout=15_000)
    page.context.set_offline(False)
    expect(page.get_by_text("The connection is lost.")).to_be_hidden(timeout=15_000)
    in_thread(lambda: verbs.start_table(table))
    page.wait_for_url("**/seat/**")


def test_a_link_that_becomes_void_shuts_the_waiting_room(site: Site, page: Page) -> None:
    study = in_thread(lambda: small_study(start="researcher"))
    (ada,) = in_thread(lambda: invited(study, "ada"))
    in_thread(lambda: walk_to(ada, Stage.WAITING))
    page.goto(address_of(site, ada))
    expect(page.get_by_role("heading", name="Waiting room")).to_be_visible()
    in_thread(lambda: verbs.revoke(ada))
    expect(page.get_by_role("heading", name="This link is no longer valid")).to_be_visible(timeout=15_000)


def test_a_researcher_makes_a_study_invites_and_starts_a_table(
    site: Site, visitor: Page, complaints: list[str]
) -> None:
    visitor.goto(f"{site.address}/")
    visitor.get_by_role("link", name="Studies").click()
    visitor.get_by_role("link", name="Plan the first one").click()
    visitor.get_by_label("Name").fill("Pairs <i>of</i> roasters")
    visitor.get_by_role("link", name="Two roasters, both persons").click()
    expect(visitor.get_by_label("Firms that persons play")).to_have_value("roaster_A, roaster_B")
    expect(visitor.get_by_label("Name")).to_have_value("Pairs <i>of</i> roasters")
    visitor.get_by_label("When a table starts").select_option("researcher")
    with visitor.context.expect_page() as opened:
        visitor.get_by_role("button", name="Preview what a participant sees").click()
    expect(opened.value.get_by_text("You run roaster_A, a roaster")).to_be_visible()
    opened.value.close()
    visitor.get_by_role("button", name="Make the study").click()
    expect(visitor.get_by_role("heading", name="Pairs <i>of</i> roasters")).to_be_visible()
    visitor.get_by_label("Labels").fill("ada\nbo")
    visitor.get_by_role("button", name="Invite").click()
    expect(visitor.get_by_text("2 participants are invited.")).to_be_visible()
    study = in_thread(lambda: Study.objects.get())
    ada, bo = in_thread(lambda: list(study.participants.all()))
    expect(visitor.get_by_label("Link of ada")).to_have_value(address_of(site, ada))

    # The page hears by itself that they have come.
    in_thread(lambda: (walk_to(ada, Stage.WAITING), walk_to(bo, Stage.WAITING)))
    visitor.get_by_role("button", name="Start table 1").click()
    expect(visitor.get_by_text("Table 1 plays: run")).to_be_visible()
    assert {stage_of(ada), stage_of(bo)} == {Stage.GAME}
    visitor.get_by_label("More for ada").click()
    visitor.get_by_role("link", name="Delete their data").click()
    expect(visitor.get_by_text("is under way")).to_be_visible()
    assert complaints == []
