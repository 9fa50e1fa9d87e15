"""Plans of small studies for tests, and participants walked along their way by the verbs."""

from __future__ import annotations

from typing import Any

from simulation import runner
from simulation.engine.decision import WAIT
from simulation.engine.scenario import scenario_from
from simulation.models import Run, Seat
from simulation.seats import verbs as seat_verbs
from simulation.studies import verbs
from simulation.studies.models import Participant, Study
from simulation.studies.plan import Plan, plan_from

Stage = Participant.Stage


def small_plan(**changes: Any) -> Plan:
    """One person as roaster_A for two days against scripts, with nothing around the game but consent."""
    scenario = scenario_from({"days": changes.pop("days", 2), **changes.pop("scenario", {})})
    usual: dict[str, Any] = {
        "name": "Trial",
        "scenario": scenario.model_dump(mode="json"),
        "persons": ["roaster_A"],
        "consent": "You may stop at any time.",
        "quiz_pass_mark": 0,
    }
    return plan_from({**usual, **changes})


def small_study(**changes: Any) -> Study:
    """The study of a small plan."""
    return verbs.create_study(small_plan(**changes))


def invited(study: Study, *labels: str) -> list[Participant]:
    """Participants who have not opened their links yet."""
    return verbs.add_participants(study, [verbs.NewParticipant(label) for label in labels])


def again(participant: Participant) -> Participant:
    """The participant as the tables have them now."""
    return Participant.objects.select_related("study").get(pk=participant.pk)


def walk_to(participant: Participant, stage: str) -> Participant:
    """Moves a participant on, step by step, with every answer right and every game waited through."""
    steps = {
        Stage.WELCOME: verbs.consent,
        Stage.BRIEFING: verbs.finish_briefing,
        Stage.QUIZ: pass_quiz,
        Stage.PRACTICE: wait_through_practice,
        Stage.GAME: wait_through_game,
    }
    participant = again(participant)
    while participant.stage != stage:
        steps[Stage(participant.stage)](participant)
        participant = again(participant)
    return participant


def pass_quiz(participant: Participant) -> None:
    """Answers every question of the participant's next attempt rightly."""
    number = participant.attempts.count() + 1
    right = {question.key: question.right for question in verbs.quiz_of(participant, number)}
    verbs.answer_quiz(participant, number, right)


def wait_through_practice(participant: Participant) -> None:
    """Waits every day of the practice, then goes on."""
    assert participant.practice_seat
    wait_through(participant.practice_seat)
    verbs.finish_practice(again(participant))


def wait_through_game(participant: Participant) -> None:
    """Waits every day of the game, then goes on."""
    assert participant.seat
    wait_through(participant.seat)
    verbs.finish_game(again(participant))


def wait_through(seat: Seat) -> None:
    """Plays a run to its end with everybody at its seats waiting."""
    seats = list(seat.run.seats.select_related("run", "firm"))
    runner.advance(seat.run_id, seconds=5)
    while not Run.objects.get(pk=seat.run_id).is_over:
        for one in seats:
            turn = seat_verbs.open_turn(one)
            if turn:
                seat_verbs.answer(one, turn.firm_turn, WAIT)
        runner.advance(seat.run_id, seconds=5)
