"""The closing questionnaire: its questions as validated data, and the check of what was answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from marketplace.economy.rules import Rules
from simulation.engine.decision import printable
from simulation.engine.scenario import problems_of
from simulation.players.briefing import without_controls

MOST_QUESTIONS: Final = 40
MOST_CHOICES: Final = 20
MOST_ANSWER: Final = 10_000
SCALE: Final = tuple(str(step) for step in range(1, 8))
NUMBER: Final = re.compile(r"[-−+]?[0-9]{1,15}([.,][0-9]{1,6})?")

Kind = Literal["text", "number", "choice", "scale"]
Words = Annotated[str, BeforeValidator(without_controls), Field(min_length=1, max_length=500)]


class QuestionnaireError(ValueError):
    """Questions that cannot be, or answers that do not fit: `problems` by the number of the question, from 1."""

    def __init__(self, problems: Mapping[int, str]) -> None:
        super().__init__("; ".join(f"question {number}: {problem}" for number, problem in problems.items()))
        self.problems = dict(problems)


class Question(Rules):
    """One question. A choice names its answers, a scale from 1 to 7 the words at its two ends."""

    kind: Kind
    text: Words
    choices: Annotated[tuple[Words, ...], Field(max_length=MOST_CHOICES)] = ()
    is_required: bool = True

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "choice" and (len(self.choices) < 2 or len(set(self.choices)) < len(self.choices)):
            raise ValueError("a choice needs two answers or more, all different")
        if self.kind == "scale" and len(self.choices) not in (0, 2):
            raise ValueError("a scale has words for both of its ends, or for none")
        if self.kind in ("text", "number") and self.choices:
            raise ValueError(f"a question of the kind {self.kind} has no answers to choose from")
        return self


_questions: Final = TypeAdapter(tuple[Question, ...])


def questions_of(stored: Any) -> tuple[Question, ...]:
    """The questions as a study keeps them in JSON."""
    return _questions.validate_json(json.dumps(stored))


def questions_from_lines(text: str) -> tuple[Question, ...]:
    """Questions as a researcher writes them: a line each, `kind | question | answer; answer`, the kind with a `?` where
    it may be left out. Raises QuestionnaireError by the number of the line.
    """
    problems: dict[int, str] = {}
    questions = []
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, line in lines:
        try:
            questions.append(_question_of(line))
        except ValidationError as error:
            problems[number] = "; ".join(problems_of(error))
        except ValueError as error:
            problems[number] = str(error)
    if len(lines) > MOST_QUESTIONS:
        problems[lines[MOST_QUESTIONS][0]] = f"at most {MOST_QUESTIONS} questions are allowed"
    if problems:
        raise QuestionnaireError(problems)
    return tuple(questions)


def lines_of(questions: Iterable[Question]) -> str:
    """The questions in the form in which they are written."""
    lines = []
    for question in questions:
        parts = [question.kind + ("" if question.is_required else "?"), question.text]
        lines.append(" | ".join([*parts, "; ".join(question.choices)] if question.choices else parts))
    return "\n".join(lines)


def _question_of(line: str) -> Question:
    kind, bar, rest = line.partition("|")
    kind = kind.strip()
    if not bar:
        raise ValueError("write kind | question, as: number | How old are you?")
    text, _, choices = rest.partition("|")
    return Question.model_validate(
        {
            "kind": kind.rstrip("?").strip(),
            "text": text.strip(),
            "choices": tuple(choice.strip() for choice in choices.split(";") if choice.strip()),
            "is_required": not kind.endswith("?"),
        }
    )


def checked_answers(questions: Iterable[Question], given: Mapping[int, str]) -> dict[str, str]:
    """The answers by the number of their question, from 1, in the form in which they are kept.

    Raises QuestionnaireError naming each question that is left out or answered with what it does not take.
    """
    answers: dict[str, str] = {}
    problems: dict[int, str] = {}
    for number, question in enumerate(questions, 1):
        answer = without_controls(printable(given.get(number, "")[: MOST_ANSWER + 1]))
        problem = _problem_of(question, answer)
        if problem:
            problems[number] = problem
        elif answer:
            answers[str(number)] = answer.replace("−", "-").replace(",", ".") if question.kind == "number" else answer
    if problems:
        raise QuestionnaireError(problems)
    return answers


def _problem_of(question: Question, answer: str) -> str:
    if not answer:
        return "Please answer this one." if question.is_required else ""
    if question.kind == "number" and not NUMBER.fullmatch(answer):
        return "A number, please, as 42 or 3.5."
    if question.kind == "choice" and answer not in question.choices:
        return "Please choose one of the answers."
    if question.kind == "scale" and answer not in SCALE:
        return "Please choose a number from 1 to 7."
    if len(answer) > MOST_ANSWER:
        return f"At most {MOST_ANSWER:,} characters, please."
    return ""
