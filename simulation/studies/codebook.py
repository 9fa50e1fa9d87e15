"""The files of an export: their columns with unit, meaning and where each value comes from, in one table.

The files are written from this table and so is `codebook.csv`, so that a column and its description cannot part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, NamedTuple, TypeVar

from marketplace.economy.money import usd
from marketplace.rows import number_of
from simulation.engine.clock import MINUTES_PER_DAY, clock_text
from simulation.seats.clocks import State
from simulation.seats.comparison import Played
from simulation.store import json_text
from simulation.studies import export_rows as rows
from simulation.studies.export_rows import (
    AnswerRow,
    MessageRow,
    QuizRow,
    ResultRow,
    RunRow,
    Source,
    StretchRow,
    TurnRow,
)
from simulation.studies.models import Participant
from simulation.studies.queries import is_final

Row = TypeVar("Row")

TEXT, COUNT, FLAG, DAY, CLOCK, UTC_TIME, SECONDS, USD, JSON = (
    "text",
    "count",
    "0 or 1",
    "simulated day, from 0",
    "simulated time of day, HH:MM",
    "UTC, ISO 8601",
    "seconds of wall time",
    "USD",
    "JSON",
)

GENERAL: Final = (
    ("encoding", "UTF-8, without a byte order mark; cells are parted by commas and quoted where they need it."),
    ("empty", "An empty cell stands for what does not apply, is not known, or has not happened."),
    (
        "escaping",
        "A text that begins with = + - @ or their wide forms, a tab or a line break, after spaces and apostrophes if "
        "any, has an apostrophe (') before it, so that no spreadsheet takes it for a formula. Take that one away to "
        "have it as it was written. Other texts and numbers are never escaped.",
    ),
    ("times", "Wall time is in UTC. Simulated days count from 0; simulated times have no zone."),
    ("amounts", "All amounts are in USD, to the millionth."),
    ("persons", "Participants are known by label alone. There are no addresses and no links."),
    (
        "deleted",
        "Whoever has been deleted is in no file, and neither are the messages they wrote. What others were shown of "
        "these at the time is still in the results of the others' own turns.",
    ),
    ("practice", "Rows of practice runs are marked is_practice = 1; results.csv has none of them."),
)


class Column(NamedTuple, Generic[Row]):
    """A column: its name, its unit or kind, what it means, and where its value comes from."""

    name: str
    unit: str
    meaning: str
    value: Callable[[Row], Any]


@dataclass(frozen=True)
class Sheet(Generic[Row]):
    """A file: its name, what a row of it is, its rows and its columns."""

    name: str
    meaning: str
    rows: Callable[[Source], Iterator[Row]]
    columns: tuple[Column[Row], ...]

    def lines(self, source: Source) -> Iterator[list[Any]]:
        """The heading, then the rows as cells."""
        yield [column.name for column in self.columns]
        values = [column.value for column in self.columns]
        for row in self.rows(source):
            yield [value(row) for value in values]


def time_text(moment: datetime | None) -> str:
    """A moment as the files write it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else ""


def seconds_text(seconds: float) -> float:
    """Seconds to the thousandth."""
    return round(seconds, 3)


def entered(stage: str) -> Callable[[Participant], str]:
    """When a participant entered a stage."""
    return lambda one: time_text(one.entered_at(stage))


def income_of(played: Played | None) -> float | None:
    """What a script earned in the seat."""
    return played.net_income if played else None


STAGES: Final = [stage for stage in Participant.Stage if stage not in ("welcome", "declined")]

PARTICIPANTS: Final[Sheet[Participant]] = Sheet(
    "participants.csv",
    "one participant of the study",
    lambda source: iter(source.participants()),
    (
        Column("participant", TEXT, "the label that the researcher gave", lambda one: one.label),
        Column("stage", TEXT, "how far they have come", lambda one: one.stage),
        Column("firm", TEXT, "the firm they play, once it is given", lambda one: one.firm),
        Column("table", COUNT, "number of their table within the study", lambda one: one.table and one.table.number),
        Column("run", COUNT, "number of the run of their game", lambda one: one.seat and one.seat.run_id),
        Column(
            "practice_run",
            COUNT,
            "number of the run of their practice",
            lambda one: one.practice_seat and one.practice_seat.run_id,
        ),
        Column("treatment", TEXT, "what they are shown: parity or assisted", lambda one: one.study.information),
        Column("consented_at", UTC_TIME, "when they agreed to take part", lambda one: time_text(one.consented_at)),
        *(
            Column(f"{stage}_since", UTC_TIME, f"when they came to this stage: {stage.label}", entered(stage))
            for stage in STAGES
        ),
        Column("quiz_attempts", COUNT, "attempts at the quiz", lambda one: one.attempts.count()),
        Column("completion_code", TEXT, "the code they were shown at the end", lambda one: one.completion_code),
        Column("is_revoked", FLAG, "whether their link was made void", lambda one: int(one.is_revoked)),
    ),
)

RUNS: Final[Sheet[RunRow]] = Sheet(
    "runs.csv",
    "one run in which somebody of this export has a seat",
    rows.run_rows,
    (
        Column("run", COUNT, "number of the run on this site", lambda row: row.run.pk),
        Column("table", COUNT, "number of its table within the study; empty for a practice", lambda row: row.table),
        Column("participants", JSON, "labels of those who have a seat in it", lambda row: json_text(row.labels)),
        Column("is_practice", FLAG, "whether it was a practice", lambda row: int(row.run.is_practice)),
        Column("treatment", TEXT, "what persons were shown: parity or assisted", lambda row: row.run.information),
        Column("seed", COUNT, "seed of all chance in it", lambda row: row.run.seed),
        Column("players", JSON, "firm and kind of its player", lambda row: json_text(row.run.players)),
        Column(
            "models",
            JSON,
            "firm and name of the language model that plays or would stand in",
            lambda row: json_text({firm: each["model"] for firm, each in row.run.model_settings.items()}),
        ),
        Column("status", TEXT, "where it stands", lambda row: row.run.status),
        Column("reason", TEXT, "why it stands there", lambda row: row.run.status_reason),
        Column("days", COUNT, "days it is to last", lambda row: row.run.days),
        Column("day", DAY, "the day of its clock", lambda row: row.run.day),
        Column("turns", COUNT, "turns of all its firms so far", lambda row: row.run.turns),
        Column("pace_seconds", SECONDS, "what a day takes at least; 0: no pace", lambda row: row.run.pace_seconds),
        Column("rules_version", TEXT, "version of the rules it is played under", lambda row: row.run.rules_version),
        Column("scenario", JSON, "its scenario, whole", lambda row: json_text(row.run.scenario)),
        Column("started_at", UTC_TIME, "when it began", lambda row: time_text(row.run.started_at)),
        Column("ended_at", UTC_TIME, "when it was over", lambda row: time_text(row.run.ended_at)),
    ),
)


STATE_WORDS: Final = {
    State.ACTIVE: "a turn was open and the person had done something within a minute",
    State.IDLE: "a turn was open, the page was there, and nothing was done for more than a minute",
    State.WAITING: "others decided, or somebody stood in at the seat",
    State.PAUSED: "the run rested: it had not begun, was paused, or had failed and was let go on",
    State.DISCONNECTED: "a turn was open and the page gave no sign of life",
}

# Of rows that have a `sitting`.
WHOSE: Final[tuple[Column[Any], ...]] = (
    Column("participant", TEXT, "label of whoever has the seat", lambda row: row.sitting.label),
    Column("run", COUNT, "number of the run", lambda row: row.sitting.run.pk),
    Column("is_practice", FLAG, "whether the run was a practice", lambda row: int(row.sitting.run.is_practice)),
    Column("firm", TEXT, "the firm of the seat", lambda row: row.sitting.firm),
)


def seconds_columns(of: str) -> tuple[Column[Any], ...]:
    """A column for the wall time in each state, of rows that have `seconds`."""
    return tuple(seconds_column(state, of) for state in State)


def seconds_column(state: State, of: str) -> Column[Any]:
    """The column of the time in one state."""
    return Column(
        f"{state}_seconds", SECONDS, f"{of}: {STATE_WORDS[state]}", lambda row: seconds_text(row.seconds[state])
    )


TURNS: Final[Sheet[TurnRow]] = Sheet(
    "turns.csv",
    "one turn of a seat's firm that has been played, in their order; a turn that is open has no row yet",
    rows.turn_rows,
    (
        *WHOSE,
        Column("turn", COUNT, "number among the firm's own turns, from 1", lambda row: row.firm_turn),
        Column("day", DAY, "when the firm decided", lambda row: row.turn.day),
        Column("clock", CLOCK, "when the firm decided", lambda row: clock_text(row.turn.minute)),
        Column("tool", TEXT, "what was called; empty: nothing, which counts as waiting", lambda row: row.turn.tool),
        Column("arguments", JSON, "what it was called with, as it was sent", lambda row: row.turn.arguments),
        Column("rationale", TEXT, "the reason that was given", lambda row: row.turn.rationale),
        Column(
            "accepted", FLAG, "whether the call did what it asked, or was refused", lambda row: int(row.turn.accepted)
        ),
        Column("result", JSON, "what the call returned", lambda row: row.turn.result),
        Column(
            "decided_by",
            TEXT,
            "human or remote: whoever holds the link; timeout: the rule for absence; model; or the script's name",
            lambda row: row.turn.decided_by,
        ),
        Column("created_at", UTC_TIME, "when the turn was opened", lambda row: time_text(row.created_at)),
        Column("answered_at", UTC_TIME, "when its decision was stored", lambda row: time_text(row.answered_at)),
        *seconds_columns("within the turn"),
    ),
)

CLOCKS: Final[Sheet[StretchRow]] = Sheet(
    "clocks.csv",
    "one spell of wall time at a seat in one state; they follow without gaps from when the seat was taken until its "
    "run was over or its firm bankrupt",
    rows.stretch_rows,
    (
        *WHOSE,
        Column(
            "state",
            TEXT,
            "; ".join(f"{state}: {words}" for state, words in STATE_WORDS.items()),
            lambda row: row.stretch.state,
        ),
        Column("day", DAY, "day of the run as the spell began", lambda row: row.stretch.day),
        Column("began_at", UTC_TIME, "when it began", lambda row: time_text(row.stretch.began_at)),
        Column(
            "ended_at",
            UTC_TIME,
            "when it ended; empty: it goes on",
            lambda row: "" if row.stretch.is_open else time_text(row.stretch.ended_at),
        ),
        Column(
            "seconds",
            SECONDS,
            "how long it lasted, up to the export if it goes on",
            lambda row: seconds_text((row.stretch.ended_at - row.stretch.began_at).total_seconds()),
        ),
    ),
)

MESSAGES: Final[Sheet[MessageRow]] = Sheet(
    "messages.csv",
    "one message between two firms of a run in runs.csv",
    rows.message_rows,
    (
        Column("run", COUNT, "number of the run", lambda row: row.run.pk),
        Column("is_practice", FLAG, "whether the run was a practice", lambda row: int(row.run.is_practice)),
        Column("message", COUNT, "number within the run", lambda row: number_of(row.message.pk)),
        Column("day", DAY, "when it was sent", lambda row: row.message.minute // MINUTES_PER_DAY),
        Column("clock", CLOCK, "when it was sent", lambda row: clock_text(row.message.minute)),
        Column("sender", TEXT, "the firm that wrote it", lambda row: row.message.sender.name),
        Column("sender_participant", TEXT, "label of whoever has its seat", lambda row: row.sender),
        Column("recipient", TEXT, "the firm it went to", lambda row: row.message.recipient.name),
        Column("recipient_participant", TEXT, "label of whoever has its seat", lambda row: row.recipient),
        Column("title", TEXT, "as it was written", lambda row: row.message.title),
        Column("body", TEXT, "as it was written", lambda row: row.message.body),
        Column(
            "read_day",
            DAY,
            "when it was read; empty: not yet",
            lambda row: None if row.message.read_minute is None else row.message.read_minute // MINUTES_PER_DAY,
        ),
        Column(
            "read_clock",
            CLOCK,
            "when it was read",
            lambda row: "" if row.message.read_minute is None else clock_text(row.message.read_minute),
        ),
    ),
)

RESULTS: Final[Sheet[ResultRow]] = Sheet(
    "results.csv",
    "the game of one participant, finished or not; practice is not among them",
    rows.result_rows,
    (
        Column("participant", TEXT, "label of whoever has the seat", lambda row: row.sitting.label),
        Column("run", COUNT, "number of the run", lambda row: row.sitting.run.pk),
        Column("table", COUNT, "number of the table within the study", lambda row: row.sitting.table),
        Column("firm", TEXT, "the firm of the seat", lambda row: row.sitting.firm),
        Column(
            "treatment", TEXT, "what persons were shown: parity or assisted", lambda row: row.sitting.run.information
        ),
        Column("seed", COUNT, "seed of all chance in the run", lambda row: row.sitting.run.seed),
        Column("status", TEXT, "where the run stands", lambda row: row.sitting.run.status),
        Column(
            "is_final",
            FLAG,
            "whether the run came to its own end; one that goes on, was cancelled or has failed gives no baseline",
            lambda row: int(is_final(row.sitting.run)),
        ),
        Column(
            "is_pure",
            FLAG,
            "whether it is final and the person decided every turn: only then a baseline of that person alone",
            lambda row: int(row.is_pure),
        ),
        Column(
            "net_income_usd",
            USD,
            "the score: net income since the run began, frozen at bankruptcy",
            lambda row: usd(row.sitting.seat.firm.net_income_micros),
        ),
        Column(
            "revenue_usd", USD, "revenue since the run began", lambda row: usd(row.sitting.seat.firm.revenue_micros)
        ),
        Column("calls", COUNT, "calls of tools", lambda row: row.sitting.seat.firm.calls),
        Column("refused_calls", COUNT, "calls that were refused", lambda row: row.sitting.seat.firm.refused_calls),
        Column("idle_days", COUNT, "days without a call but waiting", lambda row: row.sitting.seat.firm.idle_days),
        Column("messages_sent", COUNT, "messages sent to other firms", lambda row: row.sitting.seat.firm.messages_sent),
        Column("bankrupt_day", DAY, "when the firm went bankrupt", lambda row: row.sitting.seat.firm.bankrupt_day),
        Column(
            "decided_by_person",
            COUNT,
            "turns that whoever holds the link decided",
            lambda row: row.decided_by("person"),
        ),
        Column(
            "decided_by_timeout",
            COUNT,
            "turns that the rule for absence decided",
            lambda row: row.decided_by("timeout"),
        ),
        Column(
            "decided_by_script",
            COUNT,
            "turns that a script decided in their place",
            lambda row: row.decided_by("script"),
        ),
        Column(
            "decided_by_model",
            COUNT,
            "turns that a language model decided in their place",
            lambda row: row.decided_by("model"),
        ),
        *seconds_columns("since the seat was taken"),
        Column(
            "passive_net_income_usd",
            USD,
            "what the passive script earns in the seat, on the same scenario and seed; empty until the run is over, "
            "and for a run too large, or of older rules, to be played again",
            lambda row: income_of(row.passive),
        ),
        Column(
            "heuristic_net_income_usd",
            USD,
            "what the role's usual script earns in the seat, on the same scenario and seed",
            lambda row: income_of(row.heuristic),
        ),
        Column(
            "replaced_in_comparison",
            JSON,
            "other firms whose players, no scripts, were replaced by scripts for these two numbers",
            lambda row: json_text(row.replaced) if row.passive else "",
        ),
    ),
)

QUESTIONNAIRE: Final[Sheet[AnswerRow]] = Sheet(
    "questionnaire.csv",
    "one answer of one participant to the closing questionnaire",
    rows.answer_rows,
    (
        Column("participant", TEXT, "their label", lambda row: row.participant.label),
        Column("question", COUNT, "number of the question, from 1", lambda row: row.number),
        Column("kind", TEXT, "text, number, choice, or scale from 1 to 7", lambda row: row.question.kind),
        Column("words", TEXT, "the question as it was asked", lambda row: row.question.text),
        Column(
            "choices",
            JSON,
            "a choice's answers, or the words at a scale's two ends",
            lambda row: json_text(row.question.choices),
        ),
        Column("answer", TEXT, "what was answered", lambda row: row.answer),
    ),
)

QUIZ: Final[Sheet[QuizRow]] = Sheet(
    "quiz.csv",
    "one question of one attempt at the comprehension quiz",
    rows.quiz_rows,
    (
        Column("participant", TEXT, "their label", lambda row: row.attempt.participant.label),
        Column("attempt", COUNT, "number of the attempt, from 1", lambda row: row.attempt.number),
        Column("handed_in_at", UTC_TIME, "when the attempt was handed in", lambda row: time_text(row.attempt.at)),
        Column("key", TEXT, "which of the quiz's questions it was", lambda row: row.asked["key"]),
        Column("question", TEXT, "the question as it was asked", lambda row: row.asked["question"]),
        Column("answer", TEXT, "the answer that was chosen", lambda row: row.asked["answer"]),
        Column("is_right", FLAG, "whether it was right", lambda row: int(row.asked["is_right"])),
        Column("attempt_right", COUNT, "right answers of the attempt", lambda row: row.attempt.right),
        Column("attempt_of", COUNT, "questions of the attempt", lambda row: row.attempt.of),
    ),
)

RUN_SHEETS: Final[tuple[Sheet[Any], ...]] = (RUNS, TURNS, CLOCKS, MESSAGES, RESULTS)
STUDY_SHEETS: Final[tuple[Sheet[Any], ...]] = (PARTICIPANTS, *RUN_SHEETS, QUESTIONNAIRE, QUIZ)

HEADING: Final = ("file", "column", "unit", "meaning")


def codebook_lines(sheets: tuple[Sheet[Any], ...]) -> Iterator[tuple[str, ...]]:
    """The lines of codebook.csv: what holds for all files, then every file and each of its columns."""
    yield HEADING
    for subject, meaning in GENERAL:
        yield ("all files", subject, "", meaning)
    for sheet in sheets:
        yield (sheet.name, "", "a row", sheet.meaning)
        for column in sheet.columns:
            yield (sheet.name, column.name, column.unit, column.meaning)
