"""Studies: plans, links, the way of a participant, tables and their runs, results, deletion."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone
from pydantic import ValidationError

from marketplace.economy.rules import ROLES
from simulation import control, runner
from simulation.engine.decision import WAIT, Decision
from simulation.engine.scenario import Scenario, scenario_from
from simulation.links import LinkError
from simulation.models import Run, Seat, Turn
from simulation.players.briefing import briefing
from simulation.players.llm.settings import ModelSettings
from simulation.seats import door
from simulation.seats import links as seat_links
from simulation.seats import verbs as seat_verbs
from simulation.store import differences
from simulation.studies import links, queries, quiz, verbs
from simulation.studies.models import Participant, QuizAttempt
from simulation.studies.plan import plan_of
from simulation.studies.questionnaire import (
    Question,
    QuestionnaireError,
    checked_answers,
    lines_of,
    questions_from_lines,
)
from tests.study_plans import Stage, again, invited, pass_quiz, small_plan, small_study, wait_through, walk_to

pytestmark = pytest.mark.django_db

TWO = {"persons": ["roaster_A", "roaster_B"]}
HOSTILE = "<script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}=1+1"


# Plans.


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 56}, "name"),
        ({"consent": "\n"}, "consent"),
        ({"persons": []}, "persons"),
        ({"persons": ["roaster_A", "roaster_A"]}, "named twice"),
        ({"persons": ["roaster_Z"]}, "there is no firm roaster_Z"),
        ({"players": {"roaster_B": "heuristic_farmer"}}, "cannot play a roaster"),
        ({"players": {"roaster_B": "human"}}, "only scripts"),
        ({"seeds": []}, "list of 1 to 100 seeds"),
        ({"seeds": [1, 1]}, "must differ"),
        ({"quiz_pass_mark": 7}, "quiz_pass_mark"),
        ({"practice_days": 31}, "practice_days"),
        ({"absence_minutes": 0}, "absence_minutes"),
        ({"absence": "model"}, "none is named"),
        ({"information": "all of it"}, "information"),
        ({"redirect_url": "http://example.org/"}, "https"),
        ({"redirect_url": "https://rosa:secret@example.org/"}, "https"),
        ({"redirect_url": "javascript:alert(1)"}, "https"),
        ({"redirect_url": "https://example.org/?id={person}"}, "stands for nothing"),
        ({"completion_code": "{0}"}, "stands for nothing"),
        ({"limits": {"budget_usd": 1}, "model_settings": {"roaster_B": {"model": "made/up"}}}, "no price is known"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        small_plan(**changes)


def test_a_study_gives_back_the_plan_it_was_made_from() -> None:
    plan = small_plan(questionnaire=[{"kind": "scale", "text": "How hard?", "choices": ["very easy", "very hard"]}])
    assert plan_of(verbs.create_study(plan)) == plan


def test_a_study_can_be_changed_until_somebody_agrees_to_it() -> None:
    study = small_study()
    ada, bo = invited(study, "ada", "bo")
    verbs.change_study(study, small_plan(name="Another", information="assisted"))
    study.refresh_from_db()
    assert (study.name, study.information) == ("Another", "assisted")
    verbs.decline(ada)
    verbs.change_study(study, small_plan(name="A third"))
    verbs.consent(bo)
    with pytest.raises(verbs.StudyError, match="can no longer be changed"):
        verbs.change_study(study, small_plan(name="A fourth"))


# Participants and their links.


def test_labels_are_unique_in_their_study_and_nobody_is_invited_beside_a_bad_one() -> None:
    study = small_study()
    invited(study, "ada")
    bad = ["ada", "bo", "bo", "x" * 81, " \N{ZERO WIDTH SPACE} ", "fine"]
    with pytest.raises(verbs.StudyError) as refusal:
        invited(study, *bad)
    for says in ("“ada” is taken already", "“bo” is named twice", "longer than 80", "no letter or figure"):
        assert says in str(refusal.value)
    assert list(study.participants.values_list("label", flat=True)) == ["ada"]
    invited(small_study(), "ada")


def test_numbered_participants_take_the_labels_that_are_free() -> None:
    study = small_study()
    invited(study, "P2")
    verbs.add_participants(study, verbs.numbered(study, 3))
    assert list(study.participants.values_list("label", flat=True)) == ["P2", "P1", "P3", "P4"]


def test_preset_roles_that_are_not_named_are_given_in_turn() -> None:
    study = small_study(**TWO, assignment="preset")
    verbs.add_participants(study, [verbs.NewParticipant("ada", "roaster_B"), verbs.NewParticipant("bo")])
    verbs.add_participants(study, [verbs.NewParticipant("cy")])
    assert dict(study.participants.values_list("label", "firm")) == {
        "ada": "roaster_B",
        "bo": "roaster_A",
        "cy": "roaster_A",
    }
    with pytest.raises(verbs.StudyError, match="no person plays “farmer_A”"):
        verbs.add_participants(study, [verbs.NewParticipant("di", "farmer_A")])


def test_firms_are_given_in_the_order_of_consent_to_whichever_has_the_fewest() -> None:
    participants = invited(small_study(**TWO, start="researcher"), "ada", "bo", "cy")
    for participant in reversed(participants):
        verbs.consent(participant)
    assert [again(one).firm for one in participants] == ["roaster_A", "roaster_B", "roaster_A"]


def test_the_firm_of_one_who_dropped_out_is_given_anew_once_their_link_is_void() -> None:
    ada, bo, cy, di = invited(small_study(**TWO, start="researcher"), "ada", "bo", "cy", "di")
    verbs.consent(ada)
    verbs.consent(bo)
    verbs.revoke(bo)
    verbs.consent(cy)
    verbs.consent(di)
    assert [again(one).firm for one in (ada, bo, cy, di)] == ["roaster_A", "roaster_B", "roaster_B", "roaster_A"]


def test_a_link_opens_its_participant_until_it_is_revoked_or_another_is_issued() -> None:
    ada, bo = invited(small_study(), "ada", "bo")
    token = links.token_of(ada)
    assert links.participant_of(token) == ada
    with pytest.raises(LinkError, match="opens no study"):
        links.participant_of(token.replace(str(ada.pk), str(bo.pk), 1))
    verbs.revoke(ada)
    with pytest.raises(LinkError, match="no longer valid"):
        links.participant_of(token)
    verbs.reissue(ada)
    with pytest.raises(LinkError, match="no longer valid"):
        links.participant_of(token)
    assert links.participant_of(links.token_of(again(ada))) == ada


def test_the_key_of_a_seat_opens_no_study_and_the_key_of_a_participant_no_seat() -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    with pytest.raises(LinkError):
        links.participant_of(seat_links.token_of(ada.seat))
    with pytest.raises(LinkError):
        seat_links.seat_of(links.token_of(ada))


def test_revoking_a_participant_shuts_their_seat_too() -> None:
    (ada,) = invited(small_study(), "ada")
    seat = walk_to(ada, Stage.GAME).seat
    assert seat
    token = seat_links.token_of(seat)
    assert seat_links.seat_of(token) == seat
    verbs.revoke(ada)
    with pytest.raises(LinkError):
        seat_links.seat_of(token)
    verbs.reissue(again(ada))
    with pytest.raises(LinkError):
        seat_links.seat_of(token)
    seat.refresh_from_db()
    assert seat_links.seat_of(seat_links.token_of(seat)) == seat


# The way of a participant.


def test_a_participant_goes_from_consent_to_completion_and_every_stage_is_dated() -> None:
    study = small_study(
        quiz_pass_mark=4,
        practice_days=1,
        questionnaire=[{"kind": "text", "text": "How was it?"}],
        completion_code="COFFEE-{code}-{label}",
    )
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.QUESTIONNAIRE)
    verbs.hand_in(ada, {1: "Long."})
    ada = again(ada)
    assert ada.stage == Stage.DONE
    assert ada.answers == {"1": "Long."}
    assert ada.completion_code.startswith("COFFEE-")
    assert ada.completion_code.endswith("-ada")
    moments = [ada.entered_at(stage) for stage in verbs.stages_of(study)[1:]]
    assert None not in moments
    assert moments == sorted(moments, key=str)


def test_stages_that_a_study_does_not_have_are_passed_over() -> None:
    (ada,) = invited(small_study(), "ada")
    assert walk_to(ada, Stage.DONE).entered.keys() == {"briefing", "waiting", "game", "done"}


def test_declining_keeps_nothing_but_the_label_and_can_be_thought_over() -> None:
    (ada,) = invited(small_study(), "ada")
    assert verbs.arrive(ada).last_seen_at is None
    verbs.decline(ada)
    ada = again(ada)
    assert (ada.stage, ada.label, ada.last_seen_at, ada.consented_at) == (Stage.DECLINED, "ada", None, None)
    assert (ada.entered, ada.answers, ada.firm) == ({}, {}, "")
    verbs.reconsider(ada)
    verbs.consent(ada)
    assert again(ada).stage == Stage.BRIEFING


def test_a_closed_study_takes_nobody_new_and_lets_the_others_go_on() -> None:
    study = small_study()
    ada, bo = invited(study, "ada", "bo")
    verbs.consent(ada)
    verbs.close_study(study)
    with pytest.raises(verbs.StudyError, match="no new participants"):
        verbs.consent(bo)
    verbs.finish_briefing(ada)
    assert again(ada).stage == Stage.GAME


def test_a_step_that_was_made_is_not_made_again() -> None:
    (ada,) = invited(small_study(), "ada")
    stale = again(ada)
    verbs.consent(ada)
    for deed in (verbs.consent, verbs.decline, verbs.finish_practice, verbs.finish_game):
        with pytest.raises(verbs.WrongStage):
            deed(stale)
    verbs.finish_briefing(stale)
    with pytest.raises(verbs.WrongStage):
        verbs.finish_briefing(stale)
    assert Run.objects.count() == 1


# The quiz.

SCENARIOS = {
    "paper": {},
    "gentle": {"loss": 0, "delay": 0, "late_fee": 0, "return_window_days": 0, "spoilage": 0, "festival": None},
    "nothing": {"roast_daily_cap_kg": 0, "opex": 0, "delivery_days": 3},
}


@pytest.mark.parametrize("values", SCENARIOS.values(), ids=SCENARIOS)
@pytest.mark.parametrize("role", ROLES)
def test_every_firm_of_any_scenario_can_be_asked_enough_with_one_right_choice_each(
    values: dict[str, Any], role: str
) -> None:
    pool = quiz.quiz(scenario_from(values), f"{role}_A")
    assert len(pool) >= 8
    assert len({question.key for question in pool}) == len(pool)
    for question in pool:
        assert question.right == 0
        assert 2 <= len(question.choices) == len(set(question.choices))


def test_a_right_choice_says_the_scenarios_own_numbers() -> None:
    scenario = scenario_from({"late_fee": 0.002, "roles": {"roaster": {"storage_cap_kg": 175, "opex": 41}}})
    right = {question.key: question.choices[0] for question in quiz.quiz(scenario, "roaster_A")}
    assert right["storage"].startswith("175 kg of all items together")
    assert right["operating_cost"] == "41 USD"
    assert right["yield"] == "17 kg"  # 0.85 of 20 kg
    assert right["late_fee"] == "The buyer pays 4 USD more"  # 0.2 % of 200 USD on ten evenings


def test_a_quiz_asks_nothing_whose_answer_is_nought() -> None:
    """“0 USD” beside “Nothing” would be two right answers, of which one counts as wrong."""
    free = {"opex": 0.0, "storage_cap_kg": 0}
    grown = {"green_coffee_kg": {"production": {"cost": 0.0}}, "green_specialty_kg": {"production": {"cost": 0.0}}}
    rates = {"late_fee": 0.000001, "roast_daily_cap_kg": 0}
    scenario = scenario_from({**rates, "roles": dict.fromkeys(ROLES, free), "items": grown})
    for role in ROLES:
        pool = quiz.quiz(scenario, f"{role}_A")
        assert len(pool) >= 10
        assert not [one.key for one in pool if re.search(r"\b0 (USD|kg)", one.choices[0])]


def test_a_quiz_tells_nothing_of_what_is_hidden() -> None:
    """It says the same whatever the hidden numbers are, short of their being zero."""
    strange = {"loss": 0.123, "delay": 0.234, "demand_sigma": 9.87, "loyalty_low": 0.31, "loyalty_high": 4.56}
    other = scenario_from({**strange, "demand_ceiling_kg": 4321.0, "festival": {"strength": 7.65}, "spoilage": 0.321})
    for role in ROLES:
        assert quiz.quiz(other, f"{role}_A") == quiz.quiz(Scenario(), f"{role}_A")


def test_the_numbers_of_a_quiz_are_those_of_the_briefing() -> None:
    study = small_study()
    told = briefing(study.rules(), "roaster_A", study.objective_of("roaster_A"))
    for number in ("120 kg", "30 USD", "30 minutes", "50 kg", "0.85 kg", "0.1 %", "14 days", "30 days"):
        assert number in told, number


def test_an_attempt_asks_the_same_wherever_it_is_looked_at_and_the_next_asks_anew() -> None:
    (ada,) = invited(small_study(quiz_pass_mark=6), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    assert verbs.quiz_of(ada, 1) == verbs.quiz_of(again(ada), 1)
    assert len(verbs.quiz_of(ada, 1)) == 6
    assert verbs.quiz_of(ada, 1) != verbs.quiz_of(ada, 2)


def test_a_failed_attempt_is_kept_with_what_was_wrong_and_another_may_follow() -> None:
    (ada,) = invited(small_study(quiz_pass_mark=6), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    questions = verbs.quiz_of(ada, 1)
    chosen = {question.key: question.right for question in questions}
    chosen[questions[0].key] = (questions[0].right + 1) % len(questions[0].choices)
    attempt = verbs.answer_quiz(ada, 1, chosen)
    assert (attempt.right, attempt.of, again(ada).stage) == (5, 6, Stage.QUIZ)
    assert [answer["key"] for answer in attempt.answers if not answer["is_right"]] == [questions[0].key]
    with pytest.raises(verbs.WrongStage):
        verbs.answer_quiz(ada, 1, chosen)
    pass_quiz(ada)
    assert again(ada).stage == Stage.GAME
    assert list(ada.attempts.values_list("number", "right")) == [(1, 5), (2, 6)]


def test_a_quiz_with_a_question_left_out_is_no_attempt() -> None:
    (ada,) = invited(small_study(quiz_pass_mark=1), "ada")
    ada = walk_to(ada, Stage.QUIZ)
    chosen = {question.key: question.right for question in verbs.quiz_of(ada, 1)}
    key = next(iter(chosen))
    for wrong in ({**chosen, key: 99}, {**chosen, key: -1}, {}):
        with pytest.raises(verbs.StudyError, match="every question"):
            verbs.answer_quiz(ada, 1, wrong)
    assert QuizAttempt.objects.count() == 0


# Practice, tables, runs.


def test_practice_is_a_run_of_its_own_that_counts_for_nothing_and_shows_no_tables_luck() -> None:
    study = small_study(practice_days=1, seeds=[verbs.FIRST_PRACTICE_SEED, 7], information="assisted")
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.PRACTICE)
    assert ada.practice_seat
    run = ada.practice_seat.run
    assert (run.is_practice, run.days, run.status, run.information) == (True, 1, "running", "assisted")
    assert run.seed not in study.seeds
    with pytest.raises(verbs.StudyError, match="not over yet"):
        verbs.finish_practice(ada)
    walk_to(ada, Stage.DONE)
    assert [result.run.is_practice for result in queries.results_of(study)] == [False]


def test_practice_has_the_games_objective() -> None:
    """Whoever is to reach a revenue must not practise net income."""
    stand_in = {"model": "openai/gpt-5.5", "objective": {"kind": "stress", "revenue_target": 4_321.0}}
    (ada,) = invited(small_study(practice_days=1, model_settings={"roaster_A": stand_in}), "ada")
    practice = walk_to(ada, Stage.PRACTICE).practice_seat
    game = walk_to(ada, Stage.GAME).seat
    assert practice
    assert game
    assert "4,321 USD" in door.rules(practice)["briefing"]
    assert door.objective_of(practice) == door.objective_of(game) == ada.study.objective_of("roaster_A")


def test_a_full_table_starts_by_itself_with_the_studys_rules_at_its_seats() -> None:
    study = small_study(
        **TWO, seeds=[11, 22], wants_rationale=True, absence="script", absence_minutes=5, information="assisted"
    )
    ada, bo, cy = invited(study, "ada", "bo", "cy")
    walk_to(ada, Stage.WAITING)
    assert Run.objects.count() == 0
    walk_to(bo, Stage.GAME)
    walk_to(cy, Stage.WAITING)
    ada, bo, cy = again(ada), again(bo), again(cy)
    assert ada.table == bo.table != cy.table
    assert ada.table
    assert cy.table
    assert (ada.table.seed, cy.table.seed) == (11, 22)
    run = ada.table.run
    assert run
    assert (run.status, run.seed, run.information, run.name) == ("running", 11, "assisted", "Trial, table 1")
    assert {firm for firm, kind in run.players.items() if kind == "human"} == {"roaster_A", "roaster_B"}
    assert ada.seat
    assert (ada.seat.firm.name, ada.seat.label, ada.seat.absence, ada.seat.absence_minutes) == (
        "roaster_A",
        "ada",
        "script",
        5,
    )
    assert ada.seat.wants_rationale


def test_tables_take_the_seeds_in_turn() -> None:
    study = small_study(seeds=[5, 6])
    for participant in invited(study, "ada", "bo", "cy"):
        walk_to(participant, Stage.GAME)
    assert list(study.tables.values_list("number", "seed", "run__seed")) == [(1, 5, 5), (2, 6, 6), (3, 5, 5)]


def test_a_table_waits_for_the_researcher_and_starts_once() -> None:
    study = small_study(start="researcher")
    (ada,) = invited(study, "ada")
    table = walk_to(ada, Stage.WAITING).table
    assert table
    verbs.start_table(table)
    with pytest.raises(verbs.StudyError, match="has begun already"):
        verbs.start_table(table)
    assert Run.objects.count() == 1


def test_a_table_with_an_empty_place_starts_only_if_a_script_may_take_it() -> None:
    study = small_study(**TWO, model_settings={"roaster_B": {"model": "openai/gpt-5.5"}})
    (ada,) = invited(study, "ada")
    table = walk_to(ada, Stage.WAITING).table
    assert table
    with pytest.raises(verbs.StudyError, match="lacks a person for roaster_B"):
        verbs.start_table(table)
    run = verbs.start_table(table, with_empty_places=True)
    assert (run.players["roaster_A"], run.players["roaster_B"]) == ("human", "heuristic_roaster")


def test_models_play_the_firms_named_for_them_and_stand_in_for_persons() -> None:
    model = {"model": "openai/gpt-5.5"}
    study = small_study(model_settings={"roaster_A": model, "farmer_B": model}, absence="model")
    (ada,) = invited(study, "ada")
    run = walk_to(ada, Stage.GAME).seat.run  # type: ignore[union-attr]
    assert (run.players["roaster_A"], run.players["farmer_B"]) == ("human", "model")
    assert run.model_settings.keys() == {"roaster_A", "farmer_B"}


def test_a_freed_place_is_given_anew_to_whoever_still_waits() -> None:
    study = small_study(**TWO)
    ada, bo, cy = invited(study, "ada", "bo", "cy")
    ada = walk_to(ada, Stage.WAITING)
    verbs.free_place(ada)
    cy_first = walk_to(bo, Stage.WAITING)
    assert (cy_first.firm, again(ada).table) == ("roaster_B", None)
    verbs.arrive(again(ada))
    assert again(ada).stage == again(bo).stage == Stage.GAME
    assert again(cy).stage == Stage.WELCOME


def test_a_game_that_failed_keeps_its_participant_until_it_goes_on_or_is_cancelled() -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    Run.objects.filter(pk=ada.seat.run_id).update(status=Run.Status.FAILED)
    with pytest.raises(verbs.StudyError, match="not over yet"):
        verbs.finish_game(again(ada))
    control.cancel_run(ada.seat.run_id)
    verbs.finish_game(again(ada))
    assert again(ada).stage == Stage.DONE


def test_whose_link_is_made_void_in_the_waiting_room_holds_up_no_table() -> None:
    """A table that fills up with somebody who cannot come would play without them, and others wait elsewhere."""
    ada, bo, cy = invited(small_study(**TWO), "ada", "bo", "cy")
    walk_to(ada, Stage.WAITING)
    verbs.revoke(ada)
    walk_to(bo, Stage.WAITING)  # as the firm that is free again
    walk_to(cy, Stage.GAME)
    assert [again(one).stage for one in (ada, bo, cy)] == [Stage.WAITING, Stage.GAME, Stage.GAME]
    verbs.reissue(again(ada))
    verbs.arrive(again(ada))
    assert again(ada).table not in (None, again(bo).table)


def test_who_was_not_seen_for_long_in_the_waiting_room_leaves_their_place_to_who_comes() -> None:
    study = small_study(**TWO, assignment="preset")
    ada, bo, cy = (
        verbs.add_participants(study, [verbs.NewParticipant(label, firm)])[0]
        for label, firm in (("ada", "roaster_A"), ("bo", "roaster_B"), ("cy", "roaster_A"))
    )
    ada = walk_to(ada, Stage.WAITING)
    long_ago = timezone.now() - 2 * verbs.LEFT_AFTER
    entered = {**ada.entered, Stage.WAITING: long_ago.isoformat()}
    Participant.objects.filter(pk=ada.pk).update(entered=entered, last_seen_at=long_ago)
    assert walk_to(bo, Stage.WAITING).table
    assert again(ada).table is None
    walk_to(cy, Stage.GAME)
    assert again(bo).stage == Stage.GAME
    verbs.arrive(again(ada))
    assert again(ada).table


def test_where_the_researcher_starts_tables_nobody_loses_a_place_by_being_away() -> None:
    ada, bo = invited(small_study(**TWO, start="researcher"), "ada", "bo")
    ada = walk_to(ada, Stage.WAITING)
    long_ago = timezone.now() - 2 * verbs.LEFT_AFTER
    Participant.objects.filter(pk=ada.pk).update(entered={}, last_seen_at=long_ago)
    walk_to(bo, Stage.WAITING)
    assert again(ada).table == again(bo).table


def test_a_seat_that_is_played_out_says_where_its_participant_goes_on() -> None:
    study = small_study(practice_days=1)
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.practice_seat
    assert ada.seat
    way = f"/study/{links.token_of(ada)}/"
    assert verbs.next_step_url(ada.practice_seat) == verbs.next_step_url(ada.seat) == way
    run = control.create_run(name="alone", scenario=Scenario(), seed=0, players={"roaster_A": "human"})
    assert verbs.next_step_url(run.seats.get()) == ""
    verbs.revoke(ada)
    assert verbs.next_step_url(ada.seat) == ""


def test_a_game_that_is_not_over_keeps_its_participant_and_one_that_was_deleted_does_not() -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    with pytest.raises(verbs.StudyError, match="not over yet"):
        verbs.finish_game(ada)
    assert ada.seat
    control.cancel_run(ada.seat.run_id)
    control.delete_run(ada.seat.run_id)
    ada = again(ada)
    assert ada.seat is None
    assert ada.table
    assert ada.table.run is None
    assert ada.table.started_at
    verbs.finish_game(ada)
    assert again(ada).stage == Stage.DONE


# The questionnaire.


def test_a_questionnaire_is_written_in_lines_and_read_back() -> None:
    text = (
        "number? | How old are you?\n\nchoice | Have you traded before? | yes; no\n"
        "scale | How hard was it? | very easy; very hard\ntext? | Anything else?"
    )
    questions = questions_from_lines(text)
    assert [(one.kind, one.is_required, len(one.choices)) for one in questions] == [
        ("number", False, 0),
        ("choice", True, 2),
        ("scale", True, 2),
        ("text", False, 0),
    ]
    assert questions_from_lines(lines_of(questions)) == questions


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("How old are you?", "write kind | question"),
        ("age | How old are you?", "kind"),
        ("number |", "text"),
        ("choice | Which? | one", "two answers or more"),
        ("choice | Which? | one; one", "all different"),
        ("scale | How? | low", "both of its ends"),
        ("text | What? | this; that", "no answers to choose from"),
        ("text | " + "x" * 501, "text"),
    ],
)
def test_a_line_that_is_no_question_is_refused_with_its_number(line: str, says: str) -> None:
    with pytest.raises(QuestionnaireError) as refusal:
        questions_from_lines(f"\n{line}\ntext | Fine?")
    assert list(refusal.value.problems) == [2]
    assert says in refusal.value.problems[2]


def test_answers_that_fit_are_kept_as_they_are_and_others_are_named() -> None:
    questions = questions_from_lines("number | Age?\nchoice | Which? | a; b\nscale | Hard?\ntext | Why?\ntext? | More?")
    given = {1: "3,5", 2: "b", 3: "7", 4: f"  {HOSTILE} "}
    assert checked_answers(questions, given) == {"1": "3.5", "2": "b", "3": "7", "4": HOSTILE}
    with pytest.raises(QuestionnaireError) as refusal:
        checked_answers(questions, {1: "many", 2: "c", 3: "8", 4: "x" * 10_001})
    assert list(refusal.value.problems) == [1, 2, 3, 4]
    with pytest.raises(QuestionnaireError):
        checked_answers((Question(kind="text", text="Why?"),), {})


# Results.


def test_results_of_the_two_treatments_never_meet() -> None:
    parity, assisted = small_study(practice_days=1), small_study(information="assisted", practice_days=1)
    for study in (parity, assisted):
        (ada,) = invited(study, "ada")
        walk_to(ada, Stage.DONE)
    assert [result.participant.study for result in queries.results_of(parity)] == [parity]
    assert [result.participant.study for result in queries.baselines("parity")] == [parity]
    assert [result.participant.study for result in queries.baselines("assisted", firm="roaster_A")] == [assisted]
    assert queries.baselines("assisted", firm="roaster_B") == []
    assert all(not result.run.is_practice for result in queries.baselines("parity"))


def test_a_baseline_with_others_decisions_says_how_many_and_whose() -> None:
    study = small_study()
    ada, bo = invited(study, "ada", "bo")
    walk_to(ada, Stage.DONE)
    seat = walk_to(bo, Stage.GAME).seat
    assert seat
    runner.advance(seat.run_id, seconds=5)
    seat_verbs.answer(seat, 1, WAIT, by="timeout")
    wait_through(seat)
    own, marked = queries.results_of(study)
    assert own.is_own
    assert set(own.decisions) == {"human"}
    assert (marked.is_own, marked.others_decisions, marked.decisions["timeout"]) == (False, 1, 1)


def test_a_game_that_was_cancelled_is_no_baseline() -> None:
    (ada,) = invited(small_study(), "ada")
    seat = walk_to(ada, Stage.GAME).seat
    assert seat
    control.cancel_run(seat.run_id)
    assert [result.is_final for result in queries.results_of(ada.study)] == [False]
    assert queries.baselines("parity") == []


# Deletion.


def played_by_ada(**changes: Any) -> Participant:
    """A participant who has left words everywhere they can."""
    study = small_study(quiz_pass_mark=1, practice_days=1, questionnaire=[{"kind": "text", "text": "Why?"}], **changes)
    (ada,) = invited(study, "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    seat_verbs.take(ada.seat)
    seat_verbs.write_notes(ada.seat, "ada was here")
    runner.advance(ada.seat.run_id, seconds=5)
    letter = {"recipient": "farmer_A", "title": "Hello", "body": "Grow more."}
    seat_verbs.answer(ada.seat, 1, Decision("send_message", letter, "because"))
    runner.advance(ada.seat.run_id, seconds=5)
    ada = walk_to(ada, Stage.QUESTIONNAIRE)
    verbs.hand_in(ada, {1: "ada says so"})
    return again(ada)


def test_deleting_a_participants_data_leaves_the_game_and_nothing_that_says_whose_it_was() -> None:
    ada = played_by_ada()
    assert ada.seat
    run_id, token = ada.seat.run_id, links.token_of(ada)
    verbs.delete_participant_data(ada)
    ada = again(ada)
    assert (ada.label, ada.answers, ada.entered, ada.completion_code) == (f"deleted {ada.pk}", {}, {}, "")
    assert (ada.consented_at, ada.last_seen_at, ada.practice_seat) == (None, None, None)
    assert ada.deleted_at
    assert not ada.attempts.exists()
    seat = Seat.objects.get()
    assert (seat.label, seat.notes, seat.is_revoked) == ("", "", True)
    assert (seat.taken_at, seat.last_seen_at, seat.last_active_at) == (None, None, None)
    assert not seat.spells.exists(), "where a person's minutes went is as personal as their notes"
    assert list(Run.objects.values_list("pk", "is_practice")) == [(run_id, False)]
    assert Turn.objects.filter(tool="send_message", rationale="because").exists()
    assert differences(Run.objects.get()) == []
    with pytest.raises(LinkError):
        links.participant_of(token)
    with pytest.raises(verbs.StudyError, match="already"):
        verbs.delete_participant_data(ada)


def test_deleting_a_participants_data_can_take_the_whole_game_with_it() -> None:
    ada = played_by_ada()
    verbs.delete_participant_data(ada, with_run=True)
    assert (Run.objects.count(), Seat.objects.count(), Turn.objects.count()) == (0, 0, 0)
    assert again(ada).table is not None


def test_nothing_is_deleted_while_the_game_moves() -> None:
    (ada,) = invited(small_study(), "ada")
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    with pytest.raises(verbs.StudyError, match="is under way"):
        verbs.delete_participant_data(ada, with_run=True)
    control.pause_run(ada.seat.run_id)
    verbs.delete_participant_data(again(ada), with_run=True)
    assert Run.objects.count() == 0


def test_no_table_of_a_study_has_a_place_for_an_address_or_a_browser() -> None:
    names = {field.name for model in (Participant, QuizAttempt, Seat) for field in model._meta.get_fields()}
    assert not {name for name in names if "ip" in name.split("_") or "agent" in name or "address" in name}


def test_hostile_words_are_kept_as_they_are() -> None:
    study = small_study(name=HOSTILE, consent=HOSTILE * 100, briefing=HOSTILE)
    (ada,) = invited(study, HOSTILE)
    ada = walk_to(ada, Stage.GAME)
    assert ada.seat
    assert (ada.label, ada.seat.label, ada.study.briefing) == (HOSTILE, HOSTILE, HOSTILE)
    assert ada.seat.run.name == f"{HOSTILE}, table 1"


def test_a_models_settings_come_back_from_a_study_as_they_went_in() -> None:
    settings = {"roaster_B": {"model": "openai/gpt-5.5", "temperature": 0.5}}
    study = small_study(model_settings=settings)
    assert plan_of(study).model_settings == {"roaster_B": ModelSettings(model="openai/gpt-5.5", temperature=0.5)}
