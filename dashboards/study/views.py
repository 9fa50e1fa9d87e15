"""A participant's way through a study: one address that shows where they stand, and takes the step that leads on.

Opening it changes nothing. Each step is a POST that names itself and thereby the stage it leaves; sent twice, from an
old tab or by the back button, it finds the participant gone on and shows where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_safe

from dashboards.seat.away import away_text
from dashboards.seat.rules import blocks_of
from dashboards.study.access import with_participant
from dashboards.study.room import room_of
from simulation.models import Run
from simulation.players.briefing import person_briefing
from simulation.seats import door
from simulation.seats import links as seat_links
from simulation.studies import verbs
from simulation.studies.models import QUESTIONS_ASKED, Participant, Study
from simulation.studies.plan import filled_in
from simulation.studies.questionnaire import SCALE, Question, QuestionnaireError

Stage = Participant.Stage
LEAVE_SECONDS: Final = 6
NO_STEP: Final = "Nothing was sent: the form names no step of this study. Use the buttons of this page."

TITLES: Final = {
    Stage.WELCOME: "Welcome",
    Stage.BRIEFING: "Briefing",
    Stage.QUIZ: "Quiz",
    Stage.PRACTICE: "Practice",
    Stage.WAITING: "Waiting room",
    Stage.GAME: "Game",
    Stage.QUESTIONNAIRE: "Questions",
    Stage.DONE: "End",
}


@require_http_methods(["GET", "HEAD", "POST"])
@with_participant
@ensure_csrf_cookie
def way(request: HttpRequest, participant: Participant, token: str) -> HttpResponse:
    """Where the participant stands; a POST takes a step and shows where it led."""
    if request.method == "POST":
        return take_step(request, participant, token)
    return show(request, participant, token)


@require_safe
@with_participant
def briefing(request: HttpRequest, participant: Participant, token: str) -> HttpResponse:
    """The briefing to read again, at any time after consent."""
    if participant.consented_at is None:
        return redirect("dashboards:study:way", token)
    context = {"participant": participant, "token": token, **briefing_of(participant.study, participant.firm)}
    return render(request, "study/briefing_again.html", context)


def take_step(request: HttpRequest, participant: Participant, token: str) -> HttpResponse:
    """Takes the step that a form names. One that was taken already changes nothing; one that cannot be says why."""
    step = STEPS.get(request.POST.get("step", ""))
    if step is None:
        return show(request, participant, token, refusal=NO_STEP, status=400)
    try:
        step(participant, request.POST)
    except verbs.WrongStage:
        pass
    except QuestionnaireError as refusal:
        return show(request, participant, token, problems=refusal.problems)
    except verbs.StudyError as refusal:
        return show(request, participant, token, refusal=str(refusal))
    participant.refresh_from_db()
    address = reverse("dashboards:study:way", args=[token])
    is_leaving = participant.stage == Stage.DONE and participant.study.redirect_url
    return HttpResponseRedirect(f"{address}?leave=1" if is_leaving else address)


def answer_quiz(participant: Participant, form: Mapping[str, str]) -> None:
    """The choices of a form, by the place of each."""
    chosen = {
        name.removeprefix("quiz_"): int(value)
        for name, value in form.items()
        if name.startswith("quiz_") and value.isascii() and value.isdecimal() and len(value) < 3
    }
    number = form.get("attempt", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 6
    verbs.answer_quiz(participant, int(number) if is_number else 0, chosen)


def hand_in(participant: Participant, form: Mapping[str, str]) -> None:
    """The answers of a form, by the number of their question."""
    numbers = range(1, len(participant.study.questions()) + 1)
    verbs.hand_in(participant, {number: form.get(f"answer_{number}", "") for number in numbers})


STEPS: Final[dict[str, Callable[[Participant, Mapping[str, str]], None]]] = {
    "consent": lambda participant, form: verbs.consent(participant),
    "decline": lambda participant, form: verbs.decline(participant),
    "reconsider": lambda participant, form: verbs.reconsider(participant),
    "finish_briefing": lambda participant, form: verbs.finish_briefing(participant),
    "answer_quiz": answer_quiz,
    "finish_practice": lambda participant, form: verbs.finish_practice(participant),
    "finish_game": lambda participant, form: verbs.finish_game(participant),
    "hand_in": hand_in,
}


def show(
    request: HttpRequest,
    participant: Participant,
    token: str,
    *,
    refusal: str = "",
    problems: Mapping[int, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of the participant's stage; with what was typed, where a step was refused. A game has its seat's."""
    stage = Stage(participant.stage)
    if stage == Stage.GAME and not verbs.is_played_out(participant.seat):
        assert participant.seat is not None, "a seat that is gone is played out"
        return HttpResponseRedirect(seat_links.path_of(participant.seat))
    context = {
        "participant": participant,
        "study": participant.study,
        "token": token,
        "stage": stage.value,
        "steps": steps_of(participant),
        "refusal": refusal,
        "has_problems": bool(problems),
        **CONTEXTS[stage](participant, request.POST, problems or {}),
    }
    response = render(request, f"study/{stage.value}.html", context, status=status)
    if stage == Stage.DONE and "leave" in request.GET and context["onward"]:
        response.headers["Refresh"] = f"{LEAVE_SECONDS};url={context['onward']}"
    return response


def steps_of(participant: Participant) -> list[dict[str, Any]]:
    """The stages of the study as the line on top shows them."""
    stages = verbs.stages_of(participant.study)
    here = stages.index(Stage(participant.stage)) if participant.stage in stages else -1
    return [
        {"title": TITLES[stage], "is_here": place == here, "is_over": place < here}
        for place, stage in enumerate(stages)
    ]


def briefing_of(study: Study, firm: str) -> dict[str, Any]:
    """The briefing of a firm's player, word for word what the seat shows later, and the study's own words."""
    text = person_briefing(
        study.rules(),
        firm,
        study.objective_of(firm),
        is_assisted=study.information == Run.Information.ASSISTED,
        wants_rationale=study.wants_rationale,
    )
    return {"firm": firm, "blocks": blocks_of(text), "own_blocks": blocks_of(study.briefing)}


Form = Mapping[str, str]
Problems = Mapping[int, str]


def welcome_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """What the participant is asked to agree to."""
    return welcome_of(participant.study)


def welcome_of(study: Study) -> dict[str, Any]:
    """The consent text, and what taking part is made of."""
    away = away_text(study.absence, study.absence_minutes)
    return {"consent_blocks": blocks_of(study.consent), "days": study.rules().days, "study": study, "away": away}


def briefing_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """What the participant is to read."""
    return briefing_of(participant.study, participant.firm)


def quiz_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """The questions of the next attempt, and what was wrong with the last one."""
    last = participant.attempts.order_by("-number").first()
    number = last.number + 1 if last else 1
    questions = [
        {"question": one, "chosen": form.get(f"quiz_{one.key}", "")} for one in verbs.quiz_of(participant, number)
    ]
    wrong = [answer for answer in last.answers if not answer["is_right"]] if last else []
    needed = min(participant.study.quiz_pass_mark, QUESTIONS_ASKED)
    return {"questions": questions, "number": number, "last": last, "wrong": wrong, "needed": needed}


def practice_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """The way to the practice, and whether it is over."""
    seat = participant.practice_seat
    days = seat.run.days if seat else participant.study.practice_days
    return {"days": days, "is_over": verbs.is_played_out(seat), "seat_path": seat_links.path_of(seat) if seat else ""}


def waiting_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """How many are there."""
    return {"room": room_of(participant)}


def game_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """How the game ended: only one that is over, or gone, is shown here."""
    seat = participant.seat
    return {
        "seat_path": seat_links.path_of(seat) if seat else "",
        "is_bankrupt": bool(seat and seat.firm.bankrupt_day is not None),
        "why_early": door.status_text(seat) if seat and seat.run.status == Run.Status.STOPPED else "",
        "has_questions": bool(participant.study.questionnaire),
    }


def questionnaire_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """The questions, with what was answered so far."""
    return {"fields": fields_of(participant.study.questions(), form, problems)}


def fields_of(questions: tuple[Question, ...], form: Form, problems: Problems) -> list[dict[str, Any]]:
    """Each question as its field on the page."""
    return [
        {
            "number": number,
            "name": f"answer_{number}",
            "question": question,
            "choices": SCALE if question.kind == "scale" else question.choices,
            "ends": question.choices if question.kind == "scale" else (),
            "given": form.get(f"answer_{number}", ""),
            "problem": problems.get(number, ""),
        }
        for number, question in enumerate(questions, 1)
    ]


def done_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """The completion code, or where to go on with it."""
    study = participant.study
    code = participant.completion_code
    onward = filled_in(study.redirect_url, code=code, label=participant.label, is_address=True)
    seat = participant.seat
    return {
        "code": code,
        "onward": onward,
        "onward_host": urlsplit(onward).hostname or "",
        "seat_path": seat_links.path_of(seat) if seat and not seat.is_revoked else "",
    }


def declined_context(participant: Participant, form: Form, problems: Problems) -> dict[str, Any]:
    """Nothing but a word of thanks."""
    return {}


CONTEXTS: Final[dict[str, Callable[[Participant, Form, Problems], dict[str, Any]]]] = {
    Stage.WELCOME: welcome_context,
    Stage.BRIEFING: briefing_context,
    Stage.QUIZ: quiz_context,
    Stage.PRACTICE: practice_context,
    Stage.WAITING: waiting_context,
    Stage.GAME: game_context,
    Stage.QUESTIONNAIRE: questionnaire_context,
    Stage.DONE: done_context,
    Stage.DECLINED: declined_context,
}
