"""What a test sets: the scenario that scripts know, and which requests go wrong in which way."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Trouble = Literal[
    "latency",  # answers after `seconds`, besides whatever else happens
    "rate_limit",  # 429 with `retry_after`
    "quota",  # 429 that no waiting cures
    "error_500",
    "error_503",
    "error_529",
    "bad_gateway",  # 502 with a page of HTML, as a proxy sends
    "error_in_200",  # an error body under status 200
    "status",  # an error body under the `status`
    "no_choices",
    "context_length",  # 400, for requests of more than `tokens`
    "invalid_key",  # 401 that repeats the key
    "unknown_model",  # 404
    "hang",  # never answers
    "hold",  # answers once the faults are set anew
    "cut",  # closes the connection when the `share` of the answer is sent; 0: before anything
    "drip",  # sends the answer in small pieces over `seconds`
]
Misbehaviour = Literal[
    "malformed_arguments",
    "wrong_types",
    "unknown_tool",
    "null_bytes",
    "lone_surrogates",
    "no_call",
    "several_calls",
    "content_in_parts",  # as only requests may have it: litellm cannot read it
    "arguments_in_list",  # nor this
    "refusal",
    "content_filter",
    "length",  # cut at the token limit
    "changed_mind",  # asked the same again, it decides otherwise
]
TROUBLES: tuple[str, ...] = Trouble.__args__  # type: ignore[attr-defined]
MISBEHAVIOURS: tuple[str, ...] = Misbehaviour.__args__  # type: ignore[attr-defined]


class Asked(NamedTuple):
    """What rules go by: the model, its how many-th call, the conversation's hash, turn and size, and earlier askings.

    Turns count from 1: the first answer of a conversation is turn 1. `repeat` is 0 when the messages are new.
    """

    model: str
    call: int
    digest: str
    turn: int
    tokens: int
    repeat: int


class Fault(BaseModel):
    """One rule: a kind, and to which requests it happens; to all, if nothing is said.

    `turns`, `attempts` and `probability` depend on the messages alone, so they hit the same turns in every run whoever
    is served first; `calls` and `every` count the requests of a model. Trouble on the way is drawn anew for each
    attempt; misbehaviour stays the same when the same messages are sent again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Trouble | Misbehaviour
    model: str = Field("*", description="a pattern of model names, as of files")
    calls: list[int] | None = Field(None, description="numbers of calls of the model, from 1")
    every: int | None = Field(None, ge=1, description="each so many-th call of the model")
    turns: list[int] | None = Field(None, description="numbers of answers within a conversation, from 1")
    attempts: int | None = Field(None, ge=1, description="only the first so many times the same messages come")
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    seed: int = 0
    seconds: float | tuple[float, float] = 0.0
    retry_after: int | float | str | None = 1
    share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    tokens: int = 0
    status: int = 500

    def happens_to(self, asked: Asked) -> bool:
        """Whether a request is one that the rule is about."""
        return (
            fnmatchcase(asked.model, self.model)
            and (self.calls is None or asked.call in self.calls)
            and (self.every is None or asked.call % self.every == 0)
            and (self.turns is None or asked.turn in self.turns)
            and (self.attempts is None or asked.repeat < self.attempts)
            and (self.kind != "changed_mind" or asked.repeat > 0)
            and (self.kind != "context_length" or asked.tokens > self.tokens)
            and (self.probability == 1 or self._chance("whether", asked).random() < self.probability)
        )

    def delay_seconds(self, asked: Asked) -> float:
        """How long it takes: as told, or drawn from a range."""
        if isinstance(self.seconds, tuple):
            return self._chance("seconds", asked).uniform(*self.seconds)
        return self.seconds

    def _chance(self, of: str, asked: Asked) -> random.Random:
        attempt = asked.repeat if self.kind in TROUBLES else 0
        return random.Random(f"{self.seed}/{self.kind}/{of}/{asked.digest}/{attempt}")


class Config(BaseModel):
    """All that can be set, in the file at the start and by POST /config later."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: dict[str, Any] = Field({}, description="what differs from the default scenario; only at the start")
    faults: list[Fault] = []
    reasoning_tokens: int = 0
    answers_as: dict[str, str] = Field({}, description="the name in the answer, by pattern of the model asked")
    api_key: str | None = Field(None, description="the one key that is let in; none: any")

    def name_in_answer(self, model: str) -> str:
        """The model that an answer claims to come from."""
        return next((name for pattern, name in self.answers_as.items() if fnmatchcase(model, pattern)), model)

    def latency_seconds(self, asked: Asked) -> float:
        """All delays that a request meets."""
        return sum(fault.delay_seconds(asked) for fault in self._met(asked, ["latency"]))

    def trouble(self, asked: Asked) -> Fault | None:
        """The first rule of trouble, other than a delay, that a request meets."""
        return next(self._met(asked, TROUBLES[1:]), None)

    def misbehaviour(self, asked: Asked) -> Fault | None:
        """The first rule of misbehaviour that a request meets."""
        return next(self._met(asked, MISBEHAVIOURS), None)

    def _met(self, asked: Asked, kinds: Iterable[str]) -> Iterator[Fault]:
        return (fault for fault in self.faults if fault.kind in kinds and fault.happens_to(asked))
