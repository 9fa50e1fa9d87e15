"""What the files of an export are made of, read from the tables a little at a time: one generator for each file.

Everybody here has a label and nothing else: no address, no link, no key of one. Whoever asked to be deleted is in none
of these rows, and neither is what they wrote to others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from marketplace.models import Message
from marketplace.rows import in_run
from simulation.engine.world import RULES_VERSION
from simulation.models import Ask, Run, Seat, Turn
from simulation.players.registry import KINDS, SEATED
from simulation.seats import clocks, comparison
from simulation.studies.models import Participant, QuizAttempt, Study
from simulation.studies.queries import decisions_by, is_final
from simulation.studies.questionnaire import Question

ROWS_AT_ONCE: Final = 2000


class Sitting(NamedTuple):
    """A seat of the export: whose it is, and at which table of the study, if of any."""

    seat: Seat
    label: str
    table: int | None

    @property
    def run(self) -> Run:
        """The seat's run."""
        return self.seat.run

    @property
    def firm(self) -> str:
        """The name of the seat's firm."""
        return self.seat.firm.name


class RunRow(NamedTuple):
    """A run with at least one seat of the export."""

    run: Run
    table: int | None
    labels: list[str]


class TurnRow(NamedTuple):
    """A turn of somebody's firm that has been played, and where its wall time went."""

    sitting: Sitting
    turn: Turn
    firm_turn: int
    created_at: datetime
    answered_at: datetime
    seconds: dict[str, float]


class StretchRow(NamedTuple):
    """Some wall time at a seat in one state."""

    sitting: Sitting
    stretch: clocks.Stretch


class MessageRow(NamedTuple):
    """A message of a run, and who of the export wrote or got it."""

    run: Run
    message: Message
    sender: str
    recipient: str


class ResultRow(NamedTuple):
    """How a game stands for one seat, who decided it, where its wall time went, and what scripts made of the seat."""

    sitting: Sitting
    decided: Counter[str]
    seconds: dict[str, float]
    passive: comparison.Played | None
    heuristic: comparison.Played | None
    replaced: tuple[str, ...]

    @property
    def is_pure(self) -> bool:
        """Whether the run came to its own end and the one at the seat decided every turn."""
        own = self.sitting.run.players[self.sitting.firm]
        return is_final(self.sitting.run) and set(self.decided) <= {own}

    def decided_by(self, who: str) -> int:
        """How many turns were decided by the one at the seat (`person`), a `script`, a `model`, or on `timeout`."""
        return sum(count for by, count in self.decided.items() if decider(by) == who)


class AnswerRow(NamedTuple):
    """One answer to the closing questionnaire."""

    participant: Participant
    number: int
    question: Question
    answer: str


class QuizRow(NamedTuple):
    """One question of one attempt at the quiz."""

    attempt: QuizAttempt
    asked: dict[str, Any]


@dataclass(frozen=True)
class Source:
    """What is exported: the participants of a study, or the seats of one run without a study."""

    study: Study | None
    run: Run | None
    now: datetime

    def participants(self) -> list[Participant]:
        """Those of the study who have not been deleted, by their number."""
        if self.study is None:
            return []
        rows = self.study.participants.filter(deleted_at=None).order_by("pk")
        seats = ("seat__run", "seat__firm", "practice_seat__run", "practice_seat__firm")
        return list(rows.select_related("study", "table", *seats))

    def sittings(self) -> Iterator[Sitting]:
        """The seats, of each participant that of the practice first."""
        if self.run is not None:
            yield from sittings_of(self.run)
        for one in self.participants():
            table = one.table.number if one.table else None
            if one.practice_seat:
                yield Sitting(one.practice_seat, one.label, None)
            if one.seat:
                yield Sitting(one.seat, one.label, table)


def sittings_of(run: Run) -> Iterator[Sitting]:
    """The seats of a run, by their firms' names where they have no label; none of a deleted participant."""
    seats = run.seats.select_related("run", "firm").exclude(participant__deleted_at__isnull=False)
    for seat in seats:
        yield Sitting(seat, seat.label or seat.firm.name, None)


def run_rows(source: Source) -> Iterator[RunRow]:
    """The runs, each once, by number."""
    rows: dict[int, RunRow] = {}
    for sitting in source.sittings():
        row = rows.setdefault(sitting.run.pk, RunRow(sitting.run, sitting.table, []))
        row.labels.append(sitting.label)
    yield from (rows[pk] for pk in sorted(rows))


def turn_rows(source: Source) -> Iterator[TurnRow]:
    """The turns, seat by seat. Two queries a seat, read in pieces."""
    for sitting in source.sittings():
        spent = Spent(clocks.stretches(sitting.seat, source.now))
        own = {"firm_id": sitting.seat.firm_id, **in_run(sitting.run.pk)}
        turns = Turn.objects.filter(**own).order_by("pk").iterator(ROWS_AT_ONCE)
        asks = Ask.objects.filter(**own, answered_at__isnull=False).order_by("pk")
        fields = ("pk", "firm_turn", "created_at", "answered_at")
        # An answer that was stored since, or waits for the others', has no turn yet.
        put = asks.values_list(*fields).iterator(ROWS_AT_ONCE)
        for turn, (pk, number, began, ended) in zip(turns, put, strict=False):
            assert pk == turn.pk, f"turn {turn.pk} is not ask {pk}"
            assert ended is not None
            yield TurnRow(sitting, turn, number, began, ended, spent.between(began, ended))


class Spent:
    """Where the wall time between moments went, for moments that are asked for in their order."""

    def __init__(self, stretches: Iterator[clocks.Stretch]) -> None:
        self._stretches = stretches
        self._current = next(stretches, None)

    def between(self, began: datetime, ended: datetime) -> dict[str, float]:
        """Seconds by state from one moment to another, which must not be before that of the last call."""
        spent = dict.fromkeys(clocks.State.values, 0.0)
        while self._current is not None and self._current.began_at < ended:
            seconds = (min(self._current.ended_at, ended) - max(self._current.began_at, began)).total_seconds()
            spent[self._current.state] += max(0.0, seconds)
            if self._current.ended_at > ended:
                break
            self._current = next(self._stretches, None)
        return spent


def stretch_rows(source: Source) -> Iterator[StretchRow]:
    """The time at each seat, from its first spell on."""
    for sitting in source.sittings():
        for stretch in clocks.stretches(sitting.seat, source.now):
            yield StretchRow(sitting, stretch)


def message_rows(source: Source) -> Iterator[MessageRow]:
    """The messages of the runs, but for what the deleted wrote."""
    labels = {sitting.seat.firm_id: sitting.label for sitting in source.sittings()}
    for run, _, _ in run_rows(source):
        deleted = list(run.seats.filter(participant__deleted_at__isnull=False).values_list("firm_id", flat=True))
        messages = Message.objects.filter(**in_run(run.pk)).exclude(sender_id__in=deleted).order_by("pk")
        for message in messages.select_related("sender", "recipient").iterator(ROWS_AT_ONCE):
            sender, recipient = labels.get(message.sender_id, ""), labels.get(message.recipient_id, "")
            yield MessageRow(run, message, sender, recipient)


def result_rows(source: Source) -> Iterator[ResultRow]:
    """The games, without the practice. Those that are over are played again by scripts: up to seconds for each."""
    sittings = [sitting for sitting in source.sittings() if not sitting.run.is_practice]
    decided = decisions_by(sitting.seat.firm_id for sitting in sittings)
    for sitting in sittings:
        seconds = clocks.seconds_by_state(sitting.seat, source.now)
        passive, heuristic, replaced = scripts_of(sitting.seat)
        yield ResultRow(sitting, decided.get(sitting.seat.firm_id, Counter()), seconds, passive, heuristic, replaced)


class Scripts(NamedTuple):
    """What the scripts made of a seat, and which firms' players they replaced; none where it is not played again."""

    passive: comparison.Played | None
    heuristic: comparison.Played | None
    replaced: tuple[str, ...]


def scripts_of(seat: Seat) -> Scripts:
    """The passive script and the role's usual one in the seat, if the run can be played again."""
    if seat.run.rules_version != RULES_VERSION:
        return Scripts(None, None, ())
    try:
        compared = comparison.scripts_in_the_seat(seat)
    except comparison.NotCompared:
        return Scripts(None, None, ())
    heuristic, passive = compared.played
    return Scripts(passive, heuristic, compared.replaced)


def decider(by: str) -> str:
    """The kind of whoever decided a turn: `person` for the one at the seat, `script`, `model` or `timeout`."""
    if by in SEATED:
        return "person"
    return "script" if by in KINDS and KINDS[by].is_script else by


def answer_rows(source: Source) -> Iterator[AnswerRow]:
    """The answers to the closing questionnaire; a question that was left out has no row."""
    questions = source.study.questions() if source.study else ()
    for participant in source.participants():
        for number, question in enumerate(questions, 1):
            if str(number) in participant.answers:
                yield AnswerRow(participant, number, question, participant.answers[str(number)])


def quiz_rows(source: Source) -> Iterator[QuizRow]:
    """What was asked and answered at each attempt at the quiz."""
    attempts = QuizAttempt.objects.filter(participant__study=source.study, participant__deleted_at=None)
    for attempt in attempts.select_related("participant").order_by("participant", "number").iterator(ROWS_AT_ONCE):
        for asked in attempt.answers:
            yield QuizRow(attempt, asked)
