"""What changes a study: the researcher's verbs, and a participant's way from consent to completion.

A participant is at one stage at a time, and each step names the one it leaves. So a second click, an old tab or the
back button finds the step done already (`WrongStage`) and changes nothing. All is written under the study's lock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import count
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from simulation import announce, control
from simulation.engine.scenario import Scenario
from simulation.models import Run, Seat, Spell
from simulation.players.registry import HUMAN
from simulation.seats import verbs as seat_verbs
from simulation.seats.clocks import GONE_AFTER
from simulation.studies import quiz
from simulation.studies.links import path_of
from simulation.studies.models import QUESTIONS_ASKED, Participant, QuizAttempt, Study, Table
from simulation.studies.plan import Plan, filled_in, one_line, plan_of
from simulation.studies.questionnaire import checked_answers

MOST_PARTICIPANTS: Final = 1000
LONGEST_LABEL: Final = 80
SEEN_EVERY: Final = timedelta(seconds=5)
LEFT_AFTER: Final = timedelta(minutes=5)
"""How long a place is kept for a page that gives no sign of life; a hidden one may give one only every minute."""
FIRST_PRACTICE_SEED: Final = 900_001

Stage = Participant.Stage


class StudyError(Exception):
    """Something that cannot be done now; says why and what to do instead. Nothing has changed."""


class WrongStage(StudyError):
    """The participant is not, or no longer, where this step begins."""


class NewParticipant(NamedTuple):
    """A participant to be invited; an empty firm is given later, or here in turn where roles are preset."""

    label: str
    firm: str = ""


# The researcher's: a study, its participants and its tables.


def create_study(plan: Plan) -> Study:
    """Makes a study, open for participants."""
    return Study.objects.create(**plan.fields())


def change_study(study: Study, plan: Plan) -> None:
    """Makes a study what a plan says. Raises StudyError once somebody has agreed to what it was before."""
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)
        if study.has_begun:
            raise StudyError("Somebody has agreed to this study as it is, so it can no longer be changed.")
        for name, value in plan.fields().items():
            setattr(study, name, value)
        study.save()
        study.participants.exclude(firm__in=["", *plan.persons]).update(firm="")


def open_study(study: Study) -> None:
    """Lets new participants come in."""
    Study.objects.filter(pk=study.pk).update(is_open=True)


def close_study(study: Study) -> None:
    """Lets nobody new come in; whoever has agreed goes on to the end."""
    Study.objects.filter(pk=study.pk).update(is_open=False)


def numbered(study: Study, how_many: int) -> list[NewParticipant]:
    """New participants with labels P1, P2, … that are still free."""
    taken = set(study.participants.values_list("label", flat=True))
    free = (label for number in count(1) if (label := f"P{number}") not in taken)
    return [NewParticipant(next(free)) for _ in range(min(how_many, MOST_PARTICIPANTS + 1))]


def add_participants(study: Study, newcomers: Iterable[NewParticipant]) -> list[Participant]:
    """Invites participants. Raises StudyError naming each label or firm that cannot be: then nobody is invited."""
    wanted = [NewParticipant(one_line(one.label), one.firm.strip()) for one in newcomers]
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)
        _check_newcomers(study, wanted)
        firms = list(study.participants.values_list("firm", flat=True))
        participants = []
        for one in wanted:
            is_given_now = not one.firm and study.assignment == Study.Assignment.PRESET
            firm = _rarest_firm(study, firms) if is_given_now else one.firm
            firms.append(firm)
            participants.append(Participant(study=study, label=one.label, firm=firm))
        return Participant.objects.bulk_create(participants)


def _check_newcomers(study: Study, wanted: list[NewParticipant]) -> None:
    if not wanted:
        raise StudyError("Nobody is named: write a label a line, or how many are to be invited.")
    if study.participants.count() + len(wanted) > MOST_PARTICIPANTS:
        raise StudyError(f"A study has at most {MOST_PARTICIPANTS:,} participants.")
    labels = [one.label for one in wanted]
    problems = [f"“{label[:40]}” has no letter or figure in it" for label in labels if not any(map(str.isalnum, label))]
    problems += [
        f"“{label[:40]}…” is longer than {LONGEST_LABEL} characters" for label in labels if len(label) > LONGEST_LABEL
    ]
    taken = set(study.participants.filter(label__in=labels).values_list("label", flat=True))
    twice = {label for label in labels if labels.count(label) > 1}
    problems += [f"“{label[:40]}” is taken already" for label in sorted(taken)]
    problems += [f"“{label[:40]}” is named twice" for label in sorted(twice)]
    strange = {one.firm for one in wanted} - {"", *study.persons}
    problems += [f"no person plays “{firm[:40]}”; persons play {', '.join(study.persons)}" for firm in sorted(strange)]
    if problems:
        raise StudyError("; ".join(problems) + ".")


def revoke(participant: Participant) -> None:
    """Makes a participant's link void, and those of their seats. A place at a table that waits is free then."""
    with transaction.atomic():
        participant = _locked(participant)
        participant.is_revoked = True
        if participant.stage == Stage.WAITING:
            participant.table = None
        participant.save(update_fields=["is_revoked", "table"])
        announce.room(participant.study_id)
        for seat in _seats_of(participant):
            seat_verbs.revoke(seat)


def reissue(participant: Participant) -> None:
    """Makes every link given out void; `links.token_of` gives the new one. The participant stands where they stood."""
    with transaction.atomic():
        participant = _locked(participant)
        participant.link_number, participant.is_revoked = participant.link_number + 1, False
        participant.save(update_fields=["link_number", "is_revoked"])
        announce.room(participant.study_id)
        for seat in _seats_of(participant):
            seat_verbs.reissue(seat)


def start_table(table: Table, *, with_empty_places: bool = False) -> Run:
    """Starts a table's game: a run in which its participants sit at their firms.

    With empty places, scripts play the firms that lack a person. Raises StudyError for a table that is empty, has
    begun, or lacks somebody where that was not allowed.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=table.study_id)
        table = study.tables.get(pk=table.pk)
        players = {one.firm: one for one in table.participants.select_for_update().filter(stage=Stage.WAITING)}
        if table.started_at:
            raise StudyError(f"Table {table.number} has begun already.")
        if not players:
            raise StudyError(f"Nobody sits at table {table.number}.")
        lacking = [firm for firm in study.persons if firm not in players]
        if lacking and not with_empty_places:
            raise StudyError(f"Table {table.number} lacks a person for {', '.join(lacking)}.")
        run = _new_run(study, f"{study.name}, table {table.number}"[:80], table.seed, set(players))
        table.run, table.started_at = run, timezone.now()
        table.save(update_fields=["run", "started_at"])
        for seat in run.seats.select_related("firm", "run"):
            participant = players[seat.firm.name]
            _set_rules(seat, participant, study.absence)
            participant.seat = seat
            participant.save(update_fields=["seat"])
            _enter(participant, Stage.GAME)
        announce.room(study.pk)
        return control.start_run(run.pk)


def free_place(participant: Participant) -> None:
    """Takes a participant from a table that waits. Whoever still looks at the waiting room gets a place anew."""
    with transaction.atomic():
        participant = _locked(participant)
        if participant.stage != Stage.WAITING:
            raise WrongStage(f"{participant.label} is not in the waiting room.")
        participant.table = None
        participant.save(update_fields=["table"])
        announce.room(participant.study_id)


# A participant's way.


def arrive(participant: Participant) -> Participant:
    """A sign of life from a participant's page outside the game; in the waiting room it also keeps them a place.

    Of those who have not agreed, or have completed, none is kept.
    """
    if participant.consented_at is None or participant.stage == Stage.DONE:
        return participant
    now, last = timezone.now(), participant.last_seen_at
    if last is None or now - last >= SEEN_EVERY:
        participant.last_seen_at = now
        participant.save(update_fields=["last_seen_at"])
    if participant.stage == Stage.WAITING and (last is None or now - last > GONE_AFTER):
        announce.room(participant.study_id)
    if participant.stage == Stage.WAITING and participant.table_id is None:
        with transaction.atomic():
            participant = _locked(participant)
            if participant.stage == Stage.WAITING and participant.table_id is None:
                seat_participant(participant)
    return participant


def consent(participant: Participant) -> None:
    """The participant agrees; where firms are given by arrival, they get theirs now."""
    with transaction.atomic():
        participant = _at(participant, Stage.WELCOME)
        study = participant.study
        if not study.is_open:
            raise StudyError("This study takes no new participants any more.")
        if participant.firm not in study.persons:
            participant.firm = _rarest_firm(study, _firms_on_their_way(study))
        participant.consented_at = timezone.now()
        participant.save(update_fields=["firm", "consented_at"])
        _enter_next(participant)


def decline(participant: Participant) -> None:
    """The participant does not agree: nothing of them is kept but the label that the researcher gave."""
    with transaction.atomic():
        participant = _at(participant, Stage.WELCOME)
        participant.last_seen_at, participant.entered, participant.stage = None, {}, Stage.DECLINED
        participant.save(update_fields=["last_seen_at", "entered", "stage"])


def reconsider(participant: Participant) -> None:
    """A participant who has declined wants to read once more what it is about."""
    with transaction.atomic():
        _enter(_at(participant, Stage.DECLINED), Stage.WELCOME)


def finish_briefing(participant: Participant) -> None:
    """The participant has read the briefing."""
    with transaction.atomic():
        _enter_next(_at(participant, Stage.BRIEFING))


def quiz_of(participant: Participant, number: int) -> list[quiz.QuizQuestion]:
    """The questions of a participant's attempt of that number: the same ones whenever and wherever they look."""
    pool = quiz.quiz(participant.study.rules(), participant.firm)
    return quiz.asked(pool, QUESTIONS_ASKED, f"{participant.pk}.{number}")


def answer_quiz(participant: Participant, number: int, chosen: Mapping[str, int]) -> QuizAttempt:
    """Records attempt number `number`, as key of the question → place of the choice; if it passes, they go on.

    Raises WrongStage if that attempt has been made already, StudyError if a question is left out.
    """
    with transaction.atomic():
        participant = _at(participant, Stage.QUIZ)
        if number != participant.attempts.count() + 1:
            raise WrongStage("This attempt has been handed in already.")
        questions = quiz_of(participant, number)
        if any(chosen.get(one.key) not in range(len(one.choices)) for one in questions):
            raise StudyError("Please answer every question; a guess costs nothing.")
        answers = [
            {
                "key": one.key,
                "question": one.text,
                "answer": one.choices[chosen[one.key]],
                "is_right": chosen[one.key] == one.right,
                "explanation": one.explanation,
            }
            for one in questions
        ]
        right = sum(bool(answer["is_right"]) for answer in answers)
        attempt = QuizAttempt.objects.create(
            participant=participant, number=number, answers=answers, right=right, of=len(questions)
        )
        if right >= min(participant.study.quiz_pass_mark, len(questions)):
            _enter_next(participant)
    return attempt


def finish_practice(participant: Participant) -> None:
    """The participant goes on from the practice. Raises StudyError while its days last."""
    with transaction.atomic():
        participant = _at(participant, Stage.PRACTICE)
        if not is_played_out(participant.practice_seat):
            raise StudyError("Your practice is not over yet; play its days to the end, or wait for the next day.")
        _enter_next(participant)


def seat_participant(participant: Participant) -> Table:
    """Gives a participant in the waiting room a place at a table that has not begun and lacks their firm.

    Of several it is the one at which the most sit, then the first. If that fills the table and the study's tables start
    by themselves, it starts: with those who are there, so the places of the others are freed before. Wants the study's
    lock.
    """
    study = participant.study
    if study.start == Study.Start.FULL:
        _free_places_of_the_gone(study)
    waiting = study.tables.filter(started_at=None).exclude(participants__firm=participant.firm)
    fullest_first = waiting.annotate(sitting=Count("participants")).order_by("-sitting", "number")
    table = fullest_first.first() or _new_table(study)
    participant.table = table
    participant.save(update_fields=["table"])
    announce.room(study.pk)
    if study.start == Study.Start.FULL and not table.empty_firms():
        start_table(table)
        participant.refresh_from_db()
    return table


def _free_places_of_the_gone(study: Study) -> None:
    """Takes from tables that wait whoever has given no sign of life for long; once they do, they get a place anew."""
    long_ago = timezone.now() - LEFT_AFTER
    sitting = study.participants.filter(stage=Stage.WAITING, table__isnull=False)
    for one in sitting.exclude(last_seen_at__gt=long_ago):
        if (one.stage_since or long_ago) <= long_ago:
            one.table = None
            one.save(update_fields=["table"])


def finish_game(participant: Participant) -> None:
    """The participant goes on from the game. Raises StudyError while it lasts for their firm."""
    with transaction.atomic():
        participant = _at(participant, Stage.GAME)
        if not is_played_out(participant.seat):
            raise StudyError("Your game is not over yet.")
        _enter_next(participant)


def hand_in(participant: Participant, given: Mapping[int, str]) -> None:
    """Keeps the answers to the questionnaire, by number from 1, and completes. Raises QuestionnaireError."""
    with transaction.atomic():
        participant = _at(participant, Stage.QUESTIONNAIRE)
        participant.answers = checked_answers(participant.study.questions(), given)
        participant.save(update_fields=["answers"])
        _enter_next(participant)


def is_played_out(seat: Seat | None) -> bool:
    """Whether nothing is left to play at a seat, which may have been deleted with its run."""
    return seat is None or seat.is_over


def next_step_url(seat: Seat) -> str:
    """Where whoever has played a seat out goes on in their study; empty if the seat is of no study."""
    participant = (
        Participant.objects.filter(seat=seat).first() or Participant.objects.filter(practice_seat=seat).first()
    )
    return path_of(participant) if participant and not participant.is_revoked else ""


# Deleting what is personal.

FORGOTTEN: Final[dict[str, Any]] = {
    **dict.fromkeys(("label", "notes", "nudge", "queue_stopped"), ""),
    "queue": [],
    "is_revoked": True,
    **dict.fromkeys(("taken_at", "last_seen_at", "last_active_at", "nudged_at", "extended_until")),
}
"""A seat without a trace of whoever had it; nobody's time is counted there any more."""


def why_not_delete(participant: Participant) -> str:
    """What keeps a participant's data from being deleted now; empty if nothing does."""
    if participant.deleted_at:
        return "They are deleted already."
    seat = participant.seat
    if seat and seat.run.is_moving:
        return f"Run {seat.run_id}, in which they play, is under way. Pause or cancel it first."
    return ""


def delete_participant_data(participant: Participant, *, with_run: bool = False) -> None:
    """Deletes what is personal of a participant, for good: label, quizzes, answers, times, notes, practice, links.

    Decisions in the game stay, with the reasons given for them and the messages to other firms: a run is rebuilt from
    them and compared with them. They are then nobody's. `with_run` deletes the whole run, the others' part too.
    Raises StudyError while their game moves.
    """
    reason = why_not_delete(participant)
    if reason:
        raise StudyError(reason)
    # Runs first: until the participant's own rows say that all is deleted, a deletion cut short can be repeated.
    for seat in (participant.practice_seat, participant.seat if with_run else None):
        if seat:
            _delete_run(seat.run_id)
    with transaction.atomic():
        participant = _locked(participant)
        participant.attempts.all().delete()
        if participant.seat:
            Spell.objects.filter(seat=participant.seat).delete()
            Seat.objects.filter(pk=participant.seat.pk).update(**FORGOTTEN)
        participant.label, participant.answers, participant.entered = f"deleted {participant.pk}", {}, {}
        participant.completion_code, participant.is_revoked = "", True
        participant.link_number += 1
        participant.consented_at = participant.last_seen_at = None
        if participant.stage == Stage.WAITING:
            participant.table = None
        participant.deleted_at = timezone.now()
        participant.save()
        announce.room(participant.study_id)


def _delete_run(run_id: int) -> None:
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return
    if not run.is_over:
        control.cancel_run(run_id)
    control.delete_run(run_id)


# How a participant moves from stage to stage.

ORDER: Final = (
    Stage.WELCOME,
    Stage.BRIEFING,
    Stage.QUIZ,
    Stage.PRACTICE,
    Stage.WAITING,
    Stage.GAME,
    Stage.QUESTIONNAIRE,
    Stage.DONE,
)

BEFORE_GAME: Final = ORDER[: ORDER.index(Stage.GAME)]


def stages_of(study: Study) -> list[Participant.Stage]:
    """The stages that a study has, in their order."""
    left_out = {
        Stage.QUIZ: not study.quiz_pass_mark,
        Stage.PRACTICE: not study.practice_days,
        Stage.QUESTIONNAIRE: not study.questionnaire,
    }
    return [stage for stage in ORDER if not left_out.get(stage)]


def _enter_next(participant: Participant) -> None:
    stages = stages_of(participant.study)
    stage = stages[stages.index(Stage(participant.stage)) + 1]
    if stage == Stage.PRACTICE:
        _open_practice(participant)
    if stage == Stage.DONE:
        code = secrets.token_hex(4).upper()
        template = participant.study.completion_code or "{code}"
        participant.completion_code = filled_in(template, code=code, label=participant.label)
        participant.save(update_fields=["completion_code"])
    _enter(participant, stage)
    if stage == Stage.WAITING:
        seat_participant(participant)


def _enter(participant: Participant, stage: Participant.Stage) -> None:
    participant.stage = stage
    participant.entered = {**participant.entered, stage.value: timezone.now().isoformat()}
    participant.save(update_fields=["stage", "entered"])


def _at(participant: Participant, stage: Participant.Stage) -> Participant:
    """The participant under the study's lock. Raises WrongStage if that is not where they stand."""
    participant = _locked(participant)
    if participant.stage != stage:
        raise WrongStage(f"You are at another place already: {participant.get_stage_display()}.")
    return participant


def _locked(participant: Participant) -> Participant:
    """Takes the study's lock and reads the participant again."""
    study = Study.objects.select_for_update().get(pk=participant.study_id)
    participant = Participant.objects.get(pk=participant.pk)
    participant.study = study
    return participant


def _firms_on_their_way(study: Study) -> list[str]:
    """The firms of those who have agreed and have yet to play. Whoever dropped out counts until their link is void."""
    agreed = study.participants.exclude(consented_at=None)
    return list(agreed.filter(is_revoked=False, stage__in=BEFORE_GAME).values_list("firm", flat=True))


def _rarest_firm(study: Study, firms: list[str]) -> str:
    """The firm that is the rarest among some; of several, the one whose place is given first."""
    persons: list[str] = study.persons
    return min(persons, key=firms.count)


def _new_table(study: Study) -> Table:
    last = study.tables.order_by("-number").first()
    number = last.number + 1 if last else 1
    return Table.objects.create(study=study, number=number, seed=study.seeds[(number - 1) % len(study.seeds)])


def _new_run(study: Study, name: str, seed: int, seated: set[str]) -> Run:
    plan = plan_of(study)
    return control.create_run(
        name=name,
        scenario=plan.scenario,
        seed=seed,
        players=plan.kinds(seated),
        models=plan.models(seated),
        limits=plan.limits,
        pace_seconds=plan.pace_seconds,
        information=plan.information,
    )


def _open_practice(participant: Participant) -> None:
    """Starts a run of some days against scripts, on a seed that no table has: it must not show the game's luck.

    Its objective is the game's, which is that of the model that could stand in.
    """
    study = participant.study
    seed = next(seed for seed in count(FIRST_PRACTICE_SEED) if seed not in study.seeds)
    run = control.create_run(
        name=f"{study.name}, practice"[:80],
        scenario=practice_scenario(study.rules(), study.practice_days),
        seed=seed,
        players={participant.firm: HUMAN},
        models={firm: settings for firm, settings in plan_of(study).model_settings.items() if firm == participant.firm},
        information=study.information,
        is_practice=True,
    )
    seat = run.seats.select_related("firm", "run").get()
    _set_rules(seat, participant, Seat.Absence.WAIT)
    participant.practice_seat = seat
    participant.save(update_fields=["practice_seat"])
    control.start_run(run.pk)


def practice_scenario(scenario: Scenario, days: int) -> Scenario:
    """The scenario of the practice: the game's, cut short."""
    return scenario.model_copy(update={"days": min(days, scenario.days)})


def _set_rules(seat: Seat, participant: Participant, absence: str) -> None:
    study = participant.study
    seat_verbs.set_rules(
        seat,
        absence=absence,
        absence_minutes=study.absence_minutes,
        wants_rationale=study.wants_rationale,
        label=participant.label,
    )


def _seats_of(participant: Participant) -> list[Seat]:
    return [seat for seat in (participant.practice_seat, participant.seat) if seat]
