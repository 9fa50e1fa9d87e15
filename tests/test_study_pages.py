"""The pages of studies: a participant's way by their link, and the researcher's list, form, study and deletion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dashboards.study.forms import PRESETS, StudyForm
from simulation import control, runner
from simulation.engine.decision import WAIT
from simulation.models import Run
from simulation.players.briefing import briefing
from simulation.seats import calling
from simulation.seats import links as seat_links
from simulation.seats import verbs as seat_verbs
from simulation.studies import links, verbs
from simulation.studies.models import Participant, Study
from tests.study_plans import Stage, again, invited, small_study, wait_through, walk_to

pytestmark = pytest.mark.django_db

HOSTILE = "</textarea><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}&amp;'\"{{ x }}"
LONG = HOSTILE + "x" * 9_000
UNSENT = ("None", "False")
TWO = {"persons": ["roaster_A", "roaster_B"]}


def way(participant: Participant) -> str:
    return f"/study/{links.token_of(participant)}/"


def step(client: Client, participant: Participant, name: str, **values: Any) -> Any:
    return client.post(way(participant), {"step": name, **values})


def form_values(**changes: str) -> dict[str, str]:
    """The form of a new study as a browser would send it untouched, with some changes."""
    form = StudyForm(None, {**PRESETS["one"].fields, "name": "Trial"})
    return sent_by(form) | changes


def sent_by(form: StudyForm) -> dict[str, str]:
    """What a browser would send of a form as it stands."""
    values = {name: form[name].value() for name in form.fields}
    return {name: "on" if value is True else str(value) for name, value in values.items() if str(value) not in UNSENT}


# A participant's way.


def test_a_participant_goes_all_the_way_by_forms_alone(client: Client) -> None:
    study = small_study(
        quiz_pass_mark=4, practice_days=1, questionnaire=[{"kind": "scale", "text": "Hard?", "choices": ["no", "yes"]}]
    )
    (ada,) = invited(study, "ada")
    assert "I agree and take part" in client.get(way(ada)).content.decode()
    page = client.post(way(ada), {"step": "consent"}, follow=True).content.decode()
    assert "Your briefing" in page
    page = client.post(way(ada), {"step": "finish_briefing"}, follow=True).content.decode()
    assert "A short quiz" in page
    right = {f"quiz_{one.key}": one.right for one in verbs.quiz_of(again(ada), 1)}
    page = client.post(way(ada), {"step": "answer_quiz", "attempt": "1", **right}, follow=True).content.decode()
    assert "Open the practice" in page
    seat = again(ada).practice_seat
    assert seat
    assert f"/seat/{seat_links.token_of(seat)}/" in page
    wait_through(seat)
    assert "Go on to the game" in client.get(way(ada)).content.decode()
    assert step(client, ada, "finish_practice").status_code == 302
    game = again(ada).seat
    assert game
    assert client.get(way(ada)).headers["Location"] == f"/seat/{seat_links.token_of(game)}/"
    wait_through(game)
    assert "The game is over" in client.get(way(ada)).content.decode()
    page = client.post(way(ada), {"step": "finish_game"}, follow=True).content.decode()
    assert "Last questions" in page
    page = client.post(way(ada), {"step": "hand_in", "answer_1": "6"}, follow=True).content.decode()
    assert again(ada).completion_code in page
    assert again(ada).answers == {"1": "6"}


def test_looking_changes_nothing_and_leaves_no_session(client: Client) -> None:
    study = small_study(quiz_pass_mark=1)
    (ada,) = invited(study, "ada")
    for stage in (Stage.WELCOME, Stage.BRIEFING, Stage.QUIZ):
        ada = walk_to(ada, stage)
        before = Participant.objects.values().get(pk=ada.pk)
        for _ in range(3):
            assert client.get(way(ada)).status_code == 200
        assert Participant.objects.values().get(pk=ada.pk) == before
    assert set(client.cookies) == {"csrftoken"}
    assert Session.objects.count() == 0


def test_the_page_is_kept_by_no_cache_and_told_to_no_other_site(client: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    response = client.get(way(ada))
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert "noindex" in response.headers["X-Robots-Tag"]


def test_a_form_without_its_key_is_refused() -> None:
    (ada,) = invited(small_study(), "ada")
    assert Client(enforce_csrf_checks=True).post(way(ada), {"step": "consent"}).status_code == 403
    assert again(ada).stage == Stage.WELCOME


def test_a_second_click_and_an_old_tab_change_nothing_and_show_where_the_participant_is(client: Client) -> None:
    (ada,) = invited(small_study(quiz_pass_mark=3), "ada")
    for name in ("consent", "consent", "decline", "finish_briefing", "finish_briefing", "consent", "finish_game"):
        assert step(client, ada, name).status_code == 302
    assert again(ada).stage == Stage.QUIZ
    right = {f"quiz_{one.key}": one.right for one in verbs.quiz_of(again(ada), 1)}
    for _ in range(2):
        assert step(client, ada, "answer_quiz", attempt=1, **right).status_code == 302
    assert ada.attempts.count() == 1
    assert Run.objects.count() == 1


@pytest.mark.parametrize("name", ["", "start", "seat_participant", "__class__", "x" * 10_000])
def test_a_step_that_is_none_is_refused_on_the_page_and_is_no_error_of_the_site(
    client: Client, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (ada,) = invited(small_study(), "ada")
    response = step(client, ada, name)
    assert response.status_code == 400
    for words in ("the form names no step", "I agree and take part"):
        assert words in response.content.decode()
    assert not [record for record in caplog.records if record.exc_info]
    assert again(ada).stage == Stage.WELCOME


@pytest.mark.parametrize("name", ["finish_game", "start"])
def test_whoever_sends_a_form_while_the_game_lasts_is_led_to_its_seat(client: Client, name: str) -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    assert step(client, ada, name).headers["Location"] == seat_links.path_of(ada.seat)


@pytest.mark.parametrize("number", ["", "-1", "2", "x", "9" * 5000, "٣"])
def test_a_quiz_of_another_number_is_no_attempt(client: Client, number: str) -> None:
    (ada,) = invited(small_study(quiz_pass_mark=3), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    right = {f"quiz_{one.key}": one.right for one in verbs.quiz_of(ada, 1)}
    assert step(client, ada, "answer_quiz", attempt=number, **right).status_code == 302
    assert ada.attempts.count() == 0


def test_a_quiz_with_a_gap_comes_back_with_what_was_chosen(client: Client) -> None:
    (ada,) = invited(small_study(quiz_pass_mark=3), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    first, *others = verbs.quiz_of(ada, 1)
    chosen = {f"quiz_{one.key}": one.right for one in others}
    response = step(client, ada, "answer_quiz", attempt=1, **chosen)
    page = response.content.decode()
    assert response.status_code == 200
    assert "answer every question" in page
    for name, place in chosen.items():
        assert re.search(rf'name="{name}" value="{place}" checked', page)
    assert page.count(" checked") == 5
    assert f'name="quiz_{first.key}"' in page


def test_a_failed_quiz_says_what_was_wrong_and_why(client: Client) -> None:
    (ada,) = invited(small_study(quiz_pass_mark=6), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    questions = verbs.quiz_of(ada, 1)
    wrong = {f"quiz_{one.key}": (one.right + 1) % len(one.choices) for one in questions}
    page = unescape(client.post(way(ada), {"step": "answer_quiz", "attempt": 1, **wrong}, follow=True).content.decode())
    assert "0 of 6 were right; 6 are needed." in page
    for one in questions:
        assert one.explanation in page
    assert 'name="attempt" value="2"' in page


def test_answers_that_do_not_fit_come_back_as_they_were_typed(client: Client) -> None:
    questions = [{"kind": "number", "text": "Age?"}, {"kind": "text", "text": "Why?"}]
    (ada,) = invited(small_study(questionnaire=questions), "ada")
    ada = walk_to(ada, Stage.QUESTIONNAIRE)
    response = step(client, ada, "hand_in", answer_1=HOSTILE, answer_2=LONG)
    page = response.content.decode()
    assert response.status_code == 200
    assert "A number, please" in page
    assert "<script>alert" not in page
    assert unescape(page).count(HOSTILE) == 2
    assert again(ada).stage == Stage.QUESTIONNAIRE


def test_declining_says_thank_you_and_can_be_thought_over(client: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    page = client.post(way(ada), {"step": "decline"}, follow=True).content.decode()
    assert "Thank you for reading" in page
    assert "I agree" in client.post(way(ada), {"step": "reconsider"}, follow=True).content.decode()


def test_a_closed_study_says_so_and_offers_no_consent(client: Client) -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    verbs.close_study(study)
    page = client.get(way(ada)).content.decode()
    assert "takes no new participants" in page
    assert 'value="consent"' not in page
    assert "takes no new participants" in step(client, ada, "consent").content.decode()
    assert again(ada).stage == Stage.WELCOME


def test_the_briefing_is_the_models_word_for_word_and_at_hand_after_consent(client: Client) -> None:
    study = small_study(quiz_pass_mark=1, briefing="Bring a pencil.")
    (ada,) = invited(study, "ada")
    assert client.get(f"{way(ada)}briefing/").status_code == 302
    ada = walk_to(ada, Stage.BRIEFING)
    told = briefing(study.rules(), "roaster_A", study.objective_of("roaster_A"))
    for page in (client.get(way(ada)), client.get(f"{way(ada)}briefing/")):
        text = unescape(page.content.decode())
        for line in told.splitlines():
            assert line.removeprefix("## ").removeprefix("- ") in text, line
        assert "Bring a pencil." in text


@pytest.mark.parametrize("token", ["x", "1.1", "1.1~x", "~", "1.1~" + "a" * 5000, "٣.٣~a"])
def test_a_link_that_nobody_made_opens_nothing(client: Client, token: str) -> None:
    for address in (f"/study/{token}/", f"/study/{token}/briefing/"):
        assert client.get(address).status_code == 404
    assert client.post(f"/study/{token}/", {"step": "consent"}).status_code == 404


def test_a_void_link_says_so_and_can_do_nothing(client: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    address = way(ada)
    verbs.revoke(ada)
    response = client.get(address)
    assert response.status_code == 410
    assert "Ask the researcher for the new one" in response.content.decode()
    assert "ada" not in response.content.decode()
    assert client.post(address, {"step": "consent"}).status_code == 410
    assert client.post(f"{address}here/", headers={"X-Requested-With": "room"}).json() == {
        "error": "This link is no longer valid. Ask the researcher for the new one."
    }


def test_the_waiting_room_tells_numbers_alone(client: Client) -> None:
    study = small_study(**TWO, start="researcher")
    ada, bo = invited(study, "ada", "bo")
    ada = walk_to(ada, Stage.WAITING)
    assert client.post(f"{way(ada)}here/").json() == {
        "stage": "waiting",
        "room": {"places": 2, "taken": 1, "here": 1, "by_researcher": True},
    }
    bo = walk_to(bo, Stage.WAITING)
    answer = client.post(f"{way(bo)}here/").json()
    assert (answer["room"]["taken"], answer["room"]["here"]) == (2, 2)
    page = client.get(way(ada)).content.decode()
    assert "bo" not in re.findall(r"[a-z]+", page.replace("body", ""))
    table = again(ada).table
    assert table
    verbs.start_table(table)
    assert client.post(f"{way(ada)}here/").json()["stage"] == "game"


def test_every_page_between_consent_and_the_end_says_that_it_is_open(client: Client) -> None:
    (ada,) = invited(small_study(**TWO, quiz_pass_mark=1, practice_days=1), "ada")
    sign = f'data-here="{way(ada)}here/"'
    assert sign not in client.get(way(ada)).content.decode(), "of those who have not agreed nothing is kept"
    for stage in (Stage.BRIEFING, Stage.QUIZ, Stage.PRACTICE, Stage.WAITING):
        ada = walk_to(ada, stage)
        for address in (way(ada), f"{way(ada)}briefing/"):
            page = client.get(address).content.decode()
            assert (sign in page, "csrfmiddlewaretoken" in page) == (True, True), (stage, address)


def test_only_a_post_is_a_sign_of_life(client: Client) -> None:
    (ada,) = invited(small_study(**TWO), "ada")
    ada = walk_to(ada, Stage.WAITING)
    assert client.get(f"{way(ada)}here/").status_code == 405
    assert again(ada).last_seen_at is None
    client.post(f"{way(ada)}here/")
    assert again(ada).last_seen_at is not None


def test_the_end_leads_on_to_the_address_of_the_study_with_the_code_in_it(client: Client) -> None:
    study = small_study(redirect_url="https://example.org/back?cc={code}&who={label}", completion_code="A B-{code}")
    (ada,) = invited(study, "ada & bo")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    wait_through(ada.seat)
    response = step(client, ada, "finish_game")
    assert response.headers["Location"].endswith("?leave=1")
    arrived = client.get(response.headers["Location"])
    code = again(ada).completion_code.removeprefix("A B-")
    onward = f"https://example.org/back?cc=A%20B-{code}&who=ada%20%26%20bo"
    assert arrived.headers["Refresh"].endswith(f";url={onward}")
    assert f'href="{onward}"'.replace("&", "&amp;") in arrived.content.decode()
    later = client.get(way(ada))
    assert "Refresh" not in later.headers
    assert code in later.content.decode()


def test_a_firm_that_is_bankrupt_lets_its_person_go_on_while_the_others_play(client: Client) -> None:
    study = small_study(days=9, persons=["roaster_B"], scenario={"firms": {"roaster_B": {"cash": 35}}})
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    assert "/seat/" in client.get(way(ada)).headers["Location"]
    control.set_pace(ada.seat.run_id, 60)  # the others' days now pass slowly
    for _ in range(3):
        runner.advance(ada.seat.run_id, seconds=5)
        turn = seat_verbs.open_turn(ada.seat)
        if turn:
            seat_verbs.answer(ada.seat, turn.firm_turn, WAIT)
        Run.objects.filter(pk=ada.seat.run_id).update(not_before=None)
    assert Run.objects.get().status == Run.Status.RUNNING
    assert "bankrupt" in client.get(way(ada)).content.decode()
    assert step(client, ada, "finish_game").status_code == 302
    assert again(ada).stage == Stage.DONE


def test_a_game_that_the_researcher_ended_is_not_said_to_have_been_played_to_its_end(client: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    control.cancel_run(ada.seat.run_id)
    page = client.get(way(ada)).content.decode()
    assert "It ended before its last day: The researcher has ended the run." in page
    assert "played it to its end" not in page


def test_hostile_words_are_words_on_every_page(client: Client, staff: Client) -> None:
    study = small_study(
        name=HOSTILE[:50],
        consent=LONG,
        briefing=LONG,
        quiz_pass_mark=1,
        questionnaire=[{"kind": "choice", "text": HOSTILE, "choices": [HOSTILE, "b"]}],
        completion_code=HOSTILE.replace("{{ x }}", ""),
    )
    (ada,) = invited(study, HOSTILE[:80])
    pages = []
    for stage in (Stage.WELCOME, Stage.BRIEFING, Stage.QUIZ, Stage.QUESTIONNAIRE):
        ada = walk_to(ada, stage)
        pages.append(client.get(way(ada)))
    verbs.hand_in(ada, {1: HOSTILE})
    pages.append(client.get(way(again(ada))))
    for name in ("study", "preview"):
        pages.append(staff.get(reverse(f"dashboards:study:{name}", args=[study.pk])))
    pages.append(staff.get(reverse("dashboards:study:list")))
    pages.append(staff.get(reverse("dashboards:study:delete", args=[study.pk, ada.pk])))
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode()
        assert "</textarea><script" not in page.content.decode()


# The researcher's pages.


def researcher_addresses(study: Study, participant: Participant) -> list[str]:
    base = f"/studies/{study.pk}/"
    person = f"{base}people/{participant.pk}/"
    reading = ["/studies/", "/studies/new/", base, f"{base}edit/", f"{base}preview/", f"{person}delete/"]
    writing = ["/studies/preview/", f"{base}invite/", f"{base}tables/1/start/", f"{person}revoke/", f"{base}close/"]
    return [*reading, *writing]


def test_nobody_but_staff_opens_the_researchers_pages(client: Client) -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    visitor = Client()
    visitor.force_login(User.objects.create_user("guest"))
    for address in researcher_addresses(study, ada):
        for method in ("get", "post"):
            assert getattr(client, method)(address).status_code in (302, 405), address
            assert getattr(visitor, method)(address).status_code in (403, 405), address
    study.refresh_from_db()
    assert study.is_open
    assert not again(ada).is_revoked


def test_a_staff_page_shows_each_participants_link_and_a_list_where_all_are(staff: Client) -> None:
    study = small_study()
    ada, bo = invited(study, "ada", "bo")
    walk_to(ada, Stage.BRIEFING)
    page = staff.get(f"/studies/{study.pk}/").content.decode()
    for one in (ada, bo):
        assert f"http://testserver{way(one)}" in page
    row = re.search(r"Trial</bdi>.*?</tr>", staff.get("/studies/").content.decode(), re.S)
    assert row
    assert re.findall(r'data-title="(?:Invited|Agreed|Play|Done)">(\d+)', row[0]) == ["2", "1", "0", "0"]


def test_the_page_of_a_study_asks_the_same_of_the_database_however_many_take_part(
    staff: Client, django_assert_num_queries: Any
) -> None:
    study = small_study(quiz_pass_mark=1)
    walk_to(invited(study, "ada")[0], Stage.GAME)
    staff.get(f"/studies/{study.pk}/")
    with CaptureQueriesContext(connection) as few:
        staff.get(f"/studies/{study.pk}/")
    for participant in invited(study, *(f"p{number}" for number in range(6))):
        walk_to(participant, Stage.GAME)
    with django_assert_num_queries(len(few)):
        staff.get(f"/studies/{study.pk}/")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_makes_a_study_as_it_stands(staff: Client, preset: str) -> None:
    page = staff.get(f"/studies/new/?preset={preset}")
    form: StudyForm = page.context["form"]
    values = {**sent_by(form), "name": "Trial"}
    response = staff.post("/studies/new/", values)
    assert response.status_code == 302, StudyForm(values).errors
    study = Study.objects.get()
    expected = {"one": ["roaster_A"], "two": ["roaster_A", "roaster_B"], "paper": ["roaster_A"]}
    assert study.persons == expected[preset]
    models = {"one": 0, "two": 0, "paper": 5}
    assert len(study.model_settings) == models[preset]
    assert len(study.questionnaire) == 3


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "x" * 56}, "name", "55 characters"),
        ({"days": "0"}, "days", "A whole number from 1 to 3,650"),
        ({"settings": "late_fee = 2"}, "settings", "late_fee: "),
        ({"persons": "roaster_Z"}, "persons", "there is no firm roaster_Z"),
        ({"persons": " , "}, "persons", ""),
        ({"seeds": "1, x"}, "seeds", "Whole numbers"),
        ({"seeds": "1 1"}, "", "must differ"),
        ({"model": "gpt"}, "model", "unknown model"),
        ({"model": "passive"}, "model", "is a script"),
        ({"others_farmer": "model"}, "model", "Name the model"),
        ({"absence": "model"}, "model", "Name the model"),
        ({"exceptions": "farmer_B = model"}, "model", "Name the model"),
        ({"exceptions": "farmer_Z = passive"}, "exceptions", "there is no firm farmer_Z"),
        ({"exceptions": "farmer_B"}, "exceptions", "farmer_B can be played by: heuristic_farmer"),
        ({"exceptions": "farmer_B = heuristic_roaster"}, "exceptions", "farmer_B can be played by: heuristic_farmer"),
        ({"exceptions": "roaster_A = passive"}, "exceptions", "roaster_A is named twice"),
        ({"model_settings": "temperature"}, "model_settings", "not TOML"),
        ({"others_farmer": "model", "model": "openai/gpt-5.5", "model_settings": "warmth = 1"}, "model", "unknown key"),
        ({"quiz_pass_mark": "7"}, "quiz_pass_mark", "from 0 to 6"),
        ({"practice_days": "31"}, "practice_days", "from 0 to 30"),
        ({"questionnaire": "text | Fine?\nage | How old?"}, "questionnaire", "Line 2"),
        ({"redirect_url": "http://example.org"}, "redirect_url", "https"),
        ({"completion_code": "{0}"}, "completion_code", "stands for nothing"),
        ({"absence_minutes": "0"}, "absence_minutes", "from 1 to 10,080"),
        ({"consent": " "}, "consent", "required"),
    ],
)
def test_a_value_that_cannot_be_is_refused_at_its_field_and_all_that_was_typed_stays(
    staff: Client, changes: dict[str, str], field: str, says: str
) -> None:
    values = form_values(briefing=HOSTILE, **changes)
    response = staff.post("/studies/new/", values)
    assert response.status_code == 200
    assert Study.objects.count() == 0
    errors = response.context["form"].errors
    assert any(says in message for message in errors[field or "__all__"]), errors
    page = unescape(response.content.decode())
    assert HOSTILE in page
    assert "<script>alert" not in response.content.decode()


def test_a_study_is_changed_in_the_form_it_was_typed_in(staff: Client) -> None:
    values = form_values(
        settings="late_fee = 0.002\nroles.roaster.opex = 41\nfirms.roaster_A.cash = 5000",
        others_farmer="model",
        others_retailer="passive",
        exceptions="retailer_B = heuristic_retailer\nfarmer_A=passive",
        model="openai/gpt-5.5",
        model_settings="temperature = 0.5\nprices = {input = 1, output = 2.5}",
        budget="3.5",
        seeds="4 5",
        information="assisted",
        wants_rationale="on",
    )
    staff.post("/studies/new/", values)
    study = Study.objects.get()
    assert set(study.model_settings) == {"farmer_B"}
    assert (study.players["farmer_A"], study.players["retailer_B"]) == ("passive", "heuristic_retailer")
    before = Study.objects.values().get()
    form: StudyForm = staff.get(f"/studies/{study.pk}/edit/").context["form"]
    sent = sent_by(form)
    response = staff.post(f"/studies/{study.pk}/edit/", sent)
    assert response.status_code == 302, StudyForm(sent).errors
    assert Study.objects.values().get() == before
    staff.post(f"/studies/{study.pk}/edit/", {**sent, "name": "Another"})
    assert Study.objects.values().get() == {**before, "name": "Another"}


def test_a_study_somebody_has_agreed_to_has_no_form_any_more(staff: Client) -> None:
    study = small_study()
    walk_to(invited(study, "ada")[0], Stage.BRIEFING)
    assert staff.get(f"/studies/{study.pk}/edit/").status_code == 302
    assert staff.post(f"/studies/{study.pk}/edit/", form_values(name="Other")).status_code == 302
    study.refresh_from_db()
    assert study.name == "Trial"


def test_a_preview_shows_every_stage_and_makes_no_study(staff: Client) -> None:
    page = staff.post("/studies/preview/", form_values(consent="Agree?", briefing="Good luck.")).content.decode()
    for words in ("Agree?", "Good luck.", "You run roaster_A", "Quiz: six of these", "How hard was it to play?"):
        assert words in page, words
    assert Study.objects.count() == 0
    assert "Nothing was saved" in staff.post("/studies/preview/", form_values(days="x")).content.decode()


@pytest.mark.parametrize(
    ("sent", "labels"),
    [
        ({"labels": "ada\n\n bo "}, ["ada", "bo"]),
        ({"how_many": "2"}, ["P1", "P2"]),
        ({"labels": "ada, bo"}, ["ada, bo"]),
    ],
)
def test_participants_are_invited_by_label_or_number(staff: Client, sent: Mapping[str, str], labels: list[str]) -> None:
    study = small_study()
    assert staff.post(f"/studies/{study.pk}/invite/", sent).status_code == 302
    assert list(study.participants.values_list("label", flat=True)) == labels


def test_where_roles_are_preset_a_firm_may_follow_the_label(staff: Client) -> None:
    study = small_study(**TWO, assignment="preset")
    staff.post(f"/studies/{study.pk}/invite/", {"labels": "ada, roaster_B\nbo"})
    assert dict(study.participants.values_list("label", "firm")) == {"ada": "roaster_B", "bo": "roaster_A"}


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({}, "one of the two"),
        ({"labels": "ada", "how_many": "2"}, "one of the two"),
        ({"labels": "taken\nnew"}, "taken already"),
        ({"labels": HOSTILE * 3}, "longer than 80"),
        ({"how_many": "1001"}, "less than or equal to 1000"),
        ({"how_many": "1000"}, "at most 1,000"),
    ],
)
def test_an_invitation_that_cannot_be_says_why_and_keeps_what_was_typed(
    staff: Client, sent: Mapping[str, str], says: str
) -> None:
    study = small_study()
    invited(study, "taken")
    response = staff.post(f"/studies/{study.pk}/invite/", sent)
    page = unescape(response.content.decode())
    assert says in page
    assert sent.get("labels", "") in page
    assert study.participants.count() == 1


def test_a_researcher_starts_a_table_and_a_second_click_says_it_has_begun(staff: Client) -> None:
    study = small_study(**TWO, start="researcher")
    ada, bo = invited(study, "ada", "bo")
    table = walk_to(ada, Stage.WAITING).table
    assert table
    start = f"/studies/{study.pk}/tables/{table.pk}/start/"
    assert "lacks a person for roaster_B" in staff.post(start, follow=True).content.decode()
    walk_to(bo, Stage.WAITING)
    assert "plays: run" in staff.post(start, follow=True).content.decode()
    assert "has begun already" in staff.post(start, follow=True).content.decode()
    assert Run.objects.count() == 1
    assert again(ada).stage == again(bo).stage == Stage.GAME
    assert staff.post(f"/studies/{study.pk + 1}/tables/{table.pk}/start/").status_code == 404


def test_a_participant_of_another_study_is_not_found(staff: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    other = small_study()
    for verb in ("revoke", "reissue", "free", "delete"):
        assert staff.post(f"/studies/{other.pk}/people/{ada.pk}/{verb}/").status_code == 404
    assert staff.post(f"/studies/{ada.study_id}/people/{ada.pk}/promote/").status_code == 404


def test_links_are_revoked_and_reissued_from_the_page(staff: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    base = f"/studies/{ada.study_id}/people/{ada.pk}/"
    old = way(ada)
    staff.post(f"{base}revoke/")
    assert old not in staff.get(f"/studies/{ada.study_id}/").content.decode()
    staff.post(f"{base}reissue/")
    page = staff.get(f"/studies/{ada.study_id}/").content.decode()
    assert old not in page
    assert way(again(ada)) in page


def test_deletion_asks_again_says_what_stays_and_wants_the_label(staff: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.DONE)
    address = f"/studies/{ada.study_id}/people/{ada.pk}/delete/"
    page = staff.get(address).content.decode()
    assert "when they sat there and how that time was spent" in page
    assert "This stays, as nobody’s" in page
    assert "the reasons written beside each action" in page
    assert ada.seat
    way_to_delete_the_run = reverse("dashboards:run_delete", args=[ada.seat.run_id])
    assert way_to_delete_the_run in page
    refused = staff.post(address, {"typed": "bo"})
    assert "neither this participant’s label" in unescape(refused.content.decode())
    assert again(ada).label == "ada"
    assert staff.post(address, {"typed": "ada"}).status_code == 302
    assert again(ada).label == f"deleted {ada.pk}"
    assert Run.objects.count() == 1
    page = staff.get(f"/studies/{ada.study_id}/").content.decode()
    assert "data deleted" in page
    assert address in page
    assert way_to_delete_the_run in staff.get(address).content.decode()


def test_deletion_can_take_the_whole_run_and_is_refused_while_it_moves(staff: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    address = f"/studies/{ada.study_id}/people/{ada.pk}/delete/"
    assert "is under way" in staff.get(address).content.decode()
    assert "is under way" in staff.post(address, {"typed": "ada", "with_run": "on"}).content.decode()
    assert ada.seat
    wait_through(ada.seat)
    assert staff.post(address, {"typed": "ada", "with_run": "on"}).status_code == 302
    assert Run.objects.count() == 0


def test_the_result_of_a_game_that_others_decided_in_is_marked(staff: Client) -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    seat_verbs.hand_over(ada.seat, "script")
    page = staff.get(f"/studies/{study.pk}/").content.decode()
    assert "with others’ decisions" not in page
    for _ in range(400):
        runner.advance(ada.seat.run_id, seconds=5)
        calling.answer_by_itself(ada.seat.pk)
    page = staff.get(f"/studies/{study.pk}/").content.decode()
    assert "heuristic_roaster" in page
    assert "with others’ decisions" in page
