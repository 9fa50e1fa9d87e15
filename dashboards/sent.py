"""What was sent to a model, put together again from what is kept, to the byte.

A call keeps how many messages and summaries its conversation had; messages and summaries never change. So its request
is made anew by the functions that made it. Cache marks, which some providers get beside the text, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from django.db.models import Q

from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run
from simulation.players.llm.conversation import (
    Message,
    Summary,
    compaction_of,
    middle_to_summarise,
    request_for_summary,
    window,
)
from simulation.players.llm.settings import Context
from simulation.talks import messages_for

MOST_GIVEN = 2
"""Messages that put a turn to a model: a result and an observation."""


class Kept(NamedTuple):
    """A message of a conversation; `number` is 0 for one that is not stored yet, as its turn has no answer."""

    number: int
    ask_id: int
    day: int
    message: Message


class SentMessage(NamedTuple):
    """A message of a request. `number` and `day` say where in the conversation it stands; 0 and None if nowhere."""

    message: Message
    number: int
    day: int | None
    is_new: bool


class Sent(NamedTuple):
    """A request: its messages in order and its tools; the conversation's length, and the summary that stood in it."""

    messages: list[SentMessage]
    tools: list[dict[str, Any]]
    conversation_messages: int
    summary: ChatSummary | None

    @property
    def as_json(self) -> dict[str, Any]:
        """As it goes over the wire, in OpenAI's form."""
        tools = [{"type": "function", "function": tool} for tool in self.tools]
        return {"messages": [each.message for each in self.messages], **({"tools": tools} if tools else {})}


def sent_with(run: Run, call: Call) -> Sent:
    """The request of a call. `call.ask` and `call.firm` are read. At most five queries."""
    opening = Conversation.objects.filter(pk=call.firm_id).first() or Conversation(system="", tools="[]")
    if call.purpose == Call.Purpose.SUMMARISE:
        return _sent_for_summary(run, call, opening)
    return _sent_for_decision(run, call, opening)


def context_of(run: Run, firm_name: str) -> Context:
    """How a firm's conversation is shortened."""
    return Context.model_validate(run.model_settings.get(firm_name, {}).get("context", {}))


def _sent_for_decision(run: Run, call: Call, opening: Conversation) -> Sent:
    context = context_of(run, call.firm.name)
    row = _summary(call, call.summaries_before) if context.strategy != "last_tokens" else None
    earlier, own = _split(call, _kept(call, row))
    count = call.messages_before - (row.until - row.first if row else 0)
    sent = [*earlier, *_own_sent(call, earlier, own, count - len(earlier))]
    summary = Summary(row.first, row.first, row.text) if row else None  # its middle was not even read
    compaction = compaction_of(opening.compaction)
    messages = window(opening.system, [each.message for each in sent], summary, context, compaction)
    return Sent(_placed(call, messages, sent), json.loads(opening.tools), _length(row, sent), row)


def _length(row: ChatSummary | None, sent: Sequence[Kept]) -> int:
    return len(sent) + (row.until - row.first if row else 0)


def _summary(call: Call, number: int) -> ChatSummary | None:
    return ChatSummary.objects.filter(firm_id=call.firm_id, number=number).first() if number else None


def _kept(call: Call, without: ChatSummary | None = None) -> list[Kept]:
    """The messages a call can have sent, and those that were given with it; without those a summary stands for."""
    rows = ChatMessage.objects.filter(firm_id=call.firm_id, number__lte=call.messages_before + MOST_GIVEN)
    if without:
        rows = rows.filter(Q(number__lte=without.first) | Q(number__gt=without.until))
    values = rows.order_by("number").values_list("number", "ask_id", "day", "content")
    return [Kept(number, ask_id, day, json.loads(content)) for number, ask_id, day, content in values]


def _split(call: Call, kept: list[Kept]) -> tuple[list[Kept], list[Kept]]:
    """The messages of earlier turns, and those of the call's own."""
    earlier = list(takewhile(lambda each: each.ask_id < call.ask_id, kept))
    return earlier, [each for each in kept[len(earlier) :] if each.ask_id == call.ask_id]


def _own_sent(call: Call, earlier: list[Kept], own: list[Kept], count: int) -> list[Kept]:
    """Of its own turn's messages those that the call had sent: what was given, and notes the model had made by then.

    A call whose worker died counts earlier turns only; it had been given what the next attempt was.
    """
    if not own:
        return [Kept(0, call.ask_id, call.day, message) for message in _given_now(call, earlier)]
    given = list(takewhile(lambda each: each.message["role"] != "assistant", own))
    return own[: max(count, len(given))]


def _given_now(call: Call, earlier: list[Kept]) -> list[Message]:
    """What a turn that is not answered yet gives its model; the answer will store it."""
    before = Ask.objects.filter(firm_id=call.firm_id, pk__lt=call.ask_id).order_by("-pk").first()
    last_asked = earlier[-1].ask_id if earlier else 0
    is_next = last_asked == (before.pk if before else 0)
    messages, flags = [each.message for each in earlier], before.flags if before else []
    return messages_for(call.ask, messages, flags, None if is_next else last_asked)


def _placed(call: Call, messages: list[Message], kept: list[Kept]) -> list[SentMessage]:
    """The messages of a request with their places; `window` hands on the very objects it was given."""
    places = {id(each.message): each for each in kept}
    return [_placed_one(call, message, places.get(id(message))) for message in messages]


def _placed_one(call: Call, message: Message, kept: Kept | None) -> SentMessage:
    if kept is None:
        return SentMessage(message, 0, None, is_new=False)
    return SentMessage(message, kept.number, kept.day, is_new=kept.ask_id == call.ask_id)


def _sent_for_summary(run: Run, call: Call, opening: Conversation) -> Sent:
    """A request for a summary: the middle of the conversation as one text, without tools."""
    earlier, own = _split(call, _kept(call))
    noted = own[: call.messages_before - len(earlier)]
    has_notes = any(each.message["role"] == "assistant" for each in noted)
    stored = [each.message for each in ([*earlier, *noted] if has_notes else earlier)]
    first, until = middle_to_summarise(stored, context_of(run, call.firm.name)) or (0, len(stored))
    old = _summary(call, call.summaries_before)
    told = [{"role": "user", "content": old.text}, *stored[old.until : until]] if old else stored[first:until]
    messages = request_for_summary(opening.system, told, compaction_of(opening.compaction))
    return Sent([SentMessage(message, 0, None, is_new=False) for message in messages], [], len(stored), old)
