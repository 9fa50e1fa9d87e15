"""A request's messages read: how long, what is new in them, and what each turn told the firm."""

from __future__ import annotations

import hashlib
import json
import marshal
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulation.engine.decision import NO_CALL, Decision
from simulation.engine.tools import Result

Message = dict[str, Any]

CHARACTERS_PER_TOKEN = 4
SUMMARY_REQUESTS = ("Summarise", "Write a summary")
SUMMARY_MARKS = ("Summary of earlier", "Here a part of this conversation was replaced")


class BadRequest(ValueError):
    """A request that the protocol does not allow."""


class Turn(NamedTuple):
    """What happened between two answers: the decision made, what it gave, and the observation if the firm was woken."""

    made: Decision | None
    result: Result | None
    observation: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages and tools of a request. `digests` and `lengths` are those of its first one, two, … messages."""

    model: str
    messages: list[Message]
    tools: list[dict[str, Any]]
    digests: list[bytes]
    lengths: list[int]

    @property
    def digest(self) -> str:
        """What tells these messages, to this model with these tools, from any others."""
        return self.digests[-1].hex()[:32]

    @property
    def tokens(self) -> int:
        """The size of the messages."""
        return tokens_in(self.lengths[-1])

    @property
    def turn(self) -> int:
        """The number of the answer that is due, from 1."""
        return 1 + [message["role"] for message in self.messages].count("assistant")

    @property
    def asks_for_summary(self) -> bool:
        """Whether it is to be summed up instead of played on."""
        text = text_of(self.messages[-1])
        return any(words in text for words in SUMMARY_REQUESTS)

    @property
    def is_whole(self) -> bool:
        """Whether it has all its messages: no summary stands for some, and the first are not gone."""
        users = [message for message in self.messages if message["role"] == "user"]
        first = _observation(text_of(users[0])) if users else None
        begins = first is None or first["day"] == 0
        return begins and not any(text_of(message).startswith(SUMMARY_MARKS) for message in users)


def tokens_in(characters: int) -> int:
    """Roughly what a provider would count."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def read_conversation(body: Any) -> Conversation:
    """The conversation in a request's body. Raises BadRequest in the words of the real thing."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise BadRequest("you must provide a model parameter")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("[] is too short - 'messages'")
    if body.get("stream"):
        raise BadRequest("this server does not stream")
    check_calls_are_answered(messages)
    tools = body.get("tools") or []
    return Conversation(body["model"], messages, tools, *_measured(body["model"], tools, messages))


def _measured(model: str, tools: list[Any], messages: list[Message]) -> tuple[list[bytes], list[int]]:
    """Digests and lengths of all prefixes."""
    # Several times faster than JSON; version 2 writes equal messages alike however they lie in memory.
    hashing = hashlib.sha256(marshal.dumps([model, tools], 2))
    digests, lengths, length = [], [], 0
    for message in messages:
        hashing.update(marshal.dumps(message, 2))
        length += _characters(message)
        digests.append(hashing.digest())
        lengths.append(length)
    return digests, lengths


def _characters(message: Message) -> int:
    functions = [one["function"] for one in message.get("tool_calls") or []]
    return len(text_of(message)) + sum(len(one["name"] + one["arguments"]) for one in functions)


def text_of(message: Message) -> str:
    """The content of a message, be it text, parts of text or nothing."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def check_calls_are_answered(messages: list[Message]) -> None:
    """Raises BadRequest where a tool call has no result right after it, or a result no call right before it."""
    awaited: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in awaited:
                raise BadRequest(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                )
            awaited.remove(message["tool_call_id"])
            continue
        _refuse_unanswered(awaited)
        if role not in ("system", "developer", "user", "assistant"):
            raise BadRequest(f"Invalid value: {role!r} - 'messages.role'")
        awaited = [one["id"] for one in message.get("tool_calls") or []]
    _refuse_unanswered(awaited)


def _refuse_unanswered(awaited: list[str]) -> None:
    if awaited:
        raise BadRequest(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(awaited)}"
        )


def turns_in(messages: list[Message]) -> Iterator[Turn]:
    """The turns that some messages tell of, the first of which is either an answer or the conversation's beginning."""
    start = 0
    for end in range(1, len(messages) + 1):
        if end == len(messages) or messages[end]["role"] == "assistant":
            yield _turn(messages[start:end])
            start = end


def _turn(messages: list[Message]) -> Turn:
    made = _decision(messages[0]) if messages[0]["role"] == "assistant" else None
    # Of several calls only the first was carried out; its result is the one told first.
    results = [json.loads(text_of(message)) for message in messages if message["role"] == "tool"]
    seen = [_observation(text_of(message)) for message in messages if message["role"] == "user"]
    result = results[0] if results else {"ok": True, "waiting": True} if made else None
    return Turn(made, result, next(filter(None, reversed(seen)), None))


def _decision(message: Message) -> Decision:
    """The decision that an earlier answer was taken for."""
    calls = message.get("tool_calls")
    if not calls:
        return NO_CALL
    function = calls[0]["function"]
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        arguments = {}
    return Decision(function["name"], arguments)


def _observation(text: str) -> dict[str, Any] | None:
    """The observation in a message, which may have words before it."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    if not text[start:].startswith("{"):
        return None
    value, _ = json.JSONDecoder().raw_decode(text, start)
    return value if "time" in value else None
