"""A turn as people read it: what the firm was given, why it decided what, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from dashboards.alarms import REFUSED
from dashboards.words import laid_out, laid_out_value, moment_text, sendable
from simulation.engine.clock import clock_text
from simulation.models import Ask, Call, Turn
from simulation.players.llm.conversation import Given
from simulation.spend import Spend

GIST_CHARACTERS: Final = 160


class Argument(NamedTuple):
    """One argument of a call, on one line unless it is long."""

    name: str
    value: str


class Told(NamedTuple):
    """A decision and its result. `result` is None while the decision is not applied."""

    number: int
    day: int
    clock: str
    moment: str
    tool: str
    arguments: list[Argument]
    rationale: str
    accepted: bool
    result: str | None
    gist: str
    refusal: str
    flags: list[str]
    decided_by: str


def told_turn(turn: Turn, ask: Ask | None) -> Told:
    """A turn that has been applied; `ask` is how it was put to a player outside the engine, if it was."""
    flags = [str(flag) for flag in ask.flags] if ask else []
    return Told(
        number=turn.number,
        day=turn.day,
        clock=clock_text(turn.minute),
        moment=moment_text(turn.minute),
        tool=turn.tool,
        arguments=arguments_of(turn.arguments),
        rationale=sendable(turn.rationale),
        accepted=turn.accepted,
        result=laid_out(turn.result),
        gist=gist_of(turn.result),
        refusal="" if turn.accepted else refusal_in(turn.result),
        flags=flags if turn.accepted else [*flags, REFUSED],
        decided_by=turn.decided_by,
    )


def told_ask(ask: Ask) -> Told:
    """A turn that is not applied yet: answered while others of its step are not, or still waiting."""
    return Told(
        number=ask.number,
        day=ask.day,
        clock=clock_text(ask.minute),
        moment=moment_text(ask.minute),
        tool=ask.tool,
        arguments=arguments_of(ask.arguments),
        rationale=sendable(ask.rationale),
        accepted=True,
        result=None,
        gist="",
        refusal="",
        flags=[str(flag) for flag in ask.flags],
        decided_by="",
    )


def arguments_of(text: str) -> list[Argument]:
    """The arguments of a call by name; what is no JSON object stands for itself."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return [Argument("", sendable(text))]
    if not isinstance(value, dict):
        return [Argument("", sendable(text))]
    return [Argument(sendable(name), one_line(each)) for name, each in value.items()]


def one_line(value: Any) -> str:
    """A value in an argument's place."""
    return sendable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def gist_of(result: str) -> str:
    """A result in one short line: `offer_id O167`; of its lists only how long they are."""
    try:
        values = json.loads(result)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return sendable(result[:GIST_CHARACTERS])
    parts = [f"{name} {gist_of_value(value)}" for name, value in values.items() if name != "ok"]
    return sendable(" · ".join(parts)[:GIST_CHARACTERS]) or "done"


def gist_of_value(value: Any) -> str:
    """A value in a few characters."""
    return f"({len(value)})" if isinstance(value, dict | list) else one_line(value)


def refusal_in(result: str) -> str:
    """Why a call was refused, in the engine's words."""
    try:
        return sendable(str(json.loads(result)["error"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


class GivenText(NamedTuple):
    """What a firm was given, laid out for reading."""

    woken_by: str
    observation: str
    result: str


def given_text(given: Given) -> GivenText:
    """What a firm was given, laid out for reading; empty where it was given nothing of the kind."""
    observation = given.observation or {}
    reasons = observation.get("woken_by")
    return GivenText(
        woken_by=sendable(", ".join(map(str, reasons))) if isinstance(reasons, list) else "",
        observation=laid_out_value(observation) if observation else "",
        result=laid_out_value(given.result) if given.result is not None else "",
    )


def given_in(ask: Ask) -> GivenText:
    """What was kept of what a firm was given."""
    return given_text(Given(**json.loads(ask.given)))


def spend_of(calls: Iterable[Call]) -> Spend:
    """What some calls came to."""
    calls = list(calls)
    unknown = [call for call in calls if call.cost_micros is None]
    return Spend(
        calls=len(calls),
        failed=sum(call.outcome == Call.Outcome.FAILED for call in calls),
        unused=sum(call.outcome == Call.Outcome.UNUSED for call in calls),
        known_micros=sum(call.cost_micros or 0 for call in calls),
        unsure_micros=sum(call.most_micros or 0 for call in unknown),
        unpriced=sum(call.most_micros is None for call in unknown),
        input_tokens=sum(call.input_tokens for call in calls),
        cached_tokens=sum(call.cached_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        reasoning_tokens=sum(call.reasoning_tokens for call in calls),
        latency_ms=sum(call.latency_ms for call in calls),
    )


def by_ask(calls: Iterable[Call]) -> Mapping[int, list[Call]]:
    """Some calls by the turn they were made for."""
    found: dict[int, list[Call]] = {}
    for call in calls:
        found.setdefault(call.ask_id, []).append(call)
    return found
