"""What a model is sent: the system prompt, then its steps, oldest first, with the middle of a long game left out.

A step is what a firm was given at one turn (the result of its last call, an observation if it was woken) and what the
model answered. Steps never change once they happened, so the beginning of the conversation stays the same to the byte
and the provider's cache hits. A cut never parts a tool call from its result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulation.engine.tools import Result
from simulation.players.llm.settings import Context
from simulation.players.prompts import filled

Message = dict[str, Any]
CHARACTERS_PER_TOKEN = 4
BYTES_AROUND = 100
"""Of a message's names and marks, as a provider's own form may have them."""
LEFT_OUT: Message = {"role": "user", "content": "Earlier turns are left out."}
"""Said before an answer that a window begins with: some providers want somebody to have spoken before."""
THOUGHTS = ("thinking_blocks", "reasoning_content", "provider_specific_fields")
"""What some providers want back unchanged: signed thoughts of Anthropic's and Google's models, plain ones of others."""


class Given(NamedTuple):
    """What a firm is given at a turn: its view, in the form that is stored until the model has answered."""

    result: Result | None
    observation: dict[str, Any] | None


@dataclass(frozen=True)
class Summary:
    """A summary stands for the messages after the first `first` ones and before message number `until`, from 0."""

    first: int
    until: int
    text: str


class Compaction(NamedTuple):
    """The words in which a summary is asked for and given, kept with each conversation: our files may change."""

    instruction: str
    head: str

    @property
    def as_json(self) -> str:
        """As it is kept."""
        return json.dumps(self._asdict())


def todays_compaction() -> Compaction:
    """The words of our files, for a conversation that begins now."""
    return Compaction(filled("compaction", {}), filled("compaction_head", {}))


def compaction_of(kept: str) -> Compaction:
    """The words kept with a conversation; one from before they were kept has today's."""
    return Compaction(**json.loads(kept)) if kept else todays_compaction()


def text_of(value: Any) -> str:
    """JSON as models read it; the same value gives the same bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def messages_given(given: Given, last_answer: Message | None, note: str = "") -> list[Message]:
    """The messages that put a turn to a model: its last call's result, if it made one, and its observation, if any.

    `note` is what the harness has to say about the last answer, such as that only its first call was used.
    """
    messages: list[Message] = []
    calls = (last_answer or {}).get("tool_calls") or []
    if calls and given.result is not None:
        result = {**given.result, "note": note} if note else given.result
        messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": text_of(result)})
        note = ""
    if given.observation is not None:
        observation = {**given.observation, "note": note} if note else given.observation
        messages.append({"role": "user", "content": text_of(observation)})
    return messages


def window(
    system: str, messages: list[Message], summary: Summary | None, context: Context, compaction: Compaction
) -> list[Message]:
    """What of a conversation is sent: all of it, or all but its summarised middle, or its newest part."""
    head: Message = {"role": "system", "content": system}
    if context.strategy == "last_tokens":
        return [head, *_newest(messages, context.keep_tokens)]
    if summary is None:
        return [head, *messages]
    told = {"role": "user", "content": f"{compaction.head}\n\n{summary.text}"}
    return [head, *messages[: summary.first], told, *messages[summary.until :]]


def _newest(messages: list[Message], keep_tokens: int) -> list[Message]:
    start, room = len(messages), keep_tokens * CHARACTERS_PER_TOKEN
    for place in range(len(messages) - 1, -1, -1):
        room -= size_of(messages[place])
        if room < 0:
            break
        if can_cut_before(messages, place):
            start = place
    if start == len(messages):  # not even the newest step fits: it is sent all the same
        start = _starts(messages)[-1] if messages else 0
    newest = messages[start:]
    return [LEFT_OUT, *newest] if _is(newest, 0, "assistant") else newest


def size_of(message: Message) -> int:
    """Characters of a message, as a provider would count them."""
    return len(text_of(message))


def can_cut_before(messages: list[Message], place: int) -> bool:
    """Whether what comes from `place` on stands alone: a tool's result needs the call before it."""
    return not _is(messages, place, "tool")


def _starts(messages: list[Message]) -> list[int]:
    """Where a step can begin: at an observation, or at an answer that no observation precedes."""
    return [
        place
        for place, message in enumerate(messages)
        if message["role"] == "user" or (message["role"] == "assistant" and not _is(messages, place - 1, "user"))
    ]


def _is(messages: list[Message], place: int, role: str) -> bool:
    return 0 <= place < len(messages) and bool(messages[place]["role"] == role)


def middle_to_summarise(
    messages: list[Message], context: Context, summarised: int = 0, steps_at_least: int = 1
) -> tuple[int, int] | None:
    """Where the middle begins and ends, between the opening steps and the last ones; None if there is none.

    A summary stands for the first `summarised` messages already; there is no middle with fewer new steps than asked.
    """
    starts = _starts(messages)
    middle = starts[context.opening_steps : -context.last_steps]
    if sum(start >= summarised for start in middle) < steps_at_least:
        return None
    return starts[context.opening_steps], starts[-context.last_steps]


def request_for_summary(system: str, middle: list[Message], compaction: Compaction) -> list[Message]:
    """The messages that ask a model to summarise a part of its conversation, as text it cannot answer with a call."""
    told = "\n\n".join(f"[{message['role']}] {_plain(message)}" for message in middle)
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": f"{compaction.instruction}\n\n<history>\n{told}\n</history>"},
    ]


def _plain(message: Message) -> str:
    calls = [f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or []]
    return " ".join(filter(None, [message.get("content") or "", *calls]))


def tokens_at_most(messages: list[Message], tools_bytes: int) -> int:
    """An upper bound of a request's input tokens: no token is shorter than a byte, and of our own English words,
    in the system prompt and the tools, none is shorter than two and a half.
    """
    system, *others = messages
    is_english = system["content"].isascii()
    own = tools_bytes + _bytes_of(system)
    return int(own / 2.5 if is_english else own) + bytes_of(others) + BYTES_AROUND


def tokens_with_more(counted_tokens: int, new: list[Message]) -> int:
    """An upper bound where a provider has counted all of a request but its new messages."""
    return counted_tokens + bytes_of(new) + BYTES_AROUND


def since_last_answer(messages: list[Message]) -> list[Message]:
    """A conversation's last answer and what came after it, which the request before that answer lacked."""
    answers = (place for place in range(len(messages) - 1, -1, -1) if _is(messages, place, "assistant"))
    return messages[next(answers, 0) :]


def bytes_of(messages: list[Message]) -> int:
    """How long messages are, nearly and at least."""
    return sum(map(_bytes_of, messages))


def _bytes_of(message: Message) -> int:
    """How long a message is, nearly: encoding every one of a long conversation as JSON would take too long."""
    text, calls = message.get("content") or "", message.get("tool_calls") or []
    thoughts = [message[key] for key in THOUGHTS if key in message]
    return BYTES_AROUND + len(text.encode()) + (len(text_of([calls, thoughts]).encode()) if calls or thoughts else 0)
