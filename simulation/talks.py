"""What a worker has in hand of a firm's conversation with its model: all that was said, and what the turn gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from marketplace.economy.economy import firm_names
from simulation.engine.clock import clock_text
from simulation.engine.scenario import Scenario
from simulation.engine.tools import schemas_for
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run
from simulation.players import briefing
from simulation.players.llm import memory
from simulation.players.llm.answer import SEVERAL_CALLS
from simulation.players.llm.conversation import (
    Compaction,
    Given,
    Message,
    Summary,
    compaction_of,
    messages_given,
    middle_to_summarise,
    since_last_answer,
    text_of,
    todays_compaction,
    tokens_at_most,
    tokens_with_more,
    window,
)
from simulation.players.llm.settings import Limits, ModelSettings

CONVERSATIONS_KEPT = 200


@dataclass(frozen=True)
class Told:
    """What of a conversation stays from turn to turn: how it opened, all that was said, and how the last answer was.

    `ask_id` is the turn of the newest message, 0 if there is none; `firm_turn` is its number among the firm's turns, or
    0 if others have played since. `counted_tokens` is what the provider counted in the last request for a decision, 0
    if a summary was made since.
    """

    system: str
    tools: list[dict[str, Any]]
    tools_bytes: int
    compaction: Compaction
    messages: list[Message]
    summaries: list[Summary]
    ask_id: int
    firm_turn: int
    flags: list[str]
    counted_tokens: int


@dataclass
class Talk:
    """A firm's conversation for one turn: what stays of it, and what the turn gives, until that is stored with it."""

    settings: ModelSettings
    limits: Limits
    told: Told
    given: list[Message] = field(default_factory=list)

    @property
    def tool_names(self) -> list[str]:
        """What the model may call."""
        return [tool["name"] for tool in self.told.tools]

    def to_send(self) -> list[Message]:
        """The request that puts the turn to the model."""
        told = self.told
        summary = told.summaries[-1] if told.summaries else None
        return window(told.system, [*told.messages, *self.given], summary, self.settings.context, told.compaction)

    def tokens_at_most(self, messages: list[Message], *, is_for_summary: bool) -> int:
        """The most input tokens that a request can have.

        What the provider counted last holds for whatever of that request is sent again: a whole conversation for a
        decision, its middle for a summary.
        """
        told = self.told
        if not told.counted_tokens:
            return tokens_at_most(messages, 0 if is_for_summary else told.tools_bytes)
        if is_for_summary:
            marks = {"role": "user", "content": f"{told.compaction.instruction}{'[assistant] ' * len(told.messages)}"}
            return tokens_with_more(told.counted_tokens, [marks])
        return tokens_with_more(told.counted_tokens, since_last_answer(messages))

    def is_too_long(self) -> bool:
        """Whether the provider counted too many tokens at the last call, and a summary now would shorten it much."""
        context = self.settings.context
        return (
            context.strategy == "summarise"
            and self.told.counted_tokens > context.limit_tokens
            and self.middle(steps_at_least=max(1, context.last_steps // 2)) is not None
        )

    def middle(self, steps_at_least: int = 1) -> tuple[int, int] | None:
        """The messages a summary would stand for; None if too few are left to it, or if no summary would be sent.

        An older summary is carried over into the next; so many steps must have come to its middle since.
        """
        context, told = self.settings.context, self.told
        if context.strategy == "last_tokens":
            return None
        summarised = told.summaries[-1].until if told.summaries else 0
        return middle_to_summarise(told.messages, context, summarised, steps_at_least)


class Heard:
    """Conversations as this process last stored them, so that a long one is not read and parsed again at every turn."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, datetime], Told] = {}
        self._lock = threading.Lock()

    def get(self, ask: Ask) -> Told | None:
        """The conversation of a turn's firm, if this process stored the firm's turn before and nobody touched this one.

        A worker that claims a turn leaves its name on it, or what went wrong, for as long as it has no answer.
        """
        with self._lock:
            told = self._kept.get((ask.firm_id, ask.run.created_at))
        is_next = told is not None and told.firm_turn == ask.firm_turn - 1
        return told if is_next and not ask.lease_owner and not ask.trouble else None

    def put(self, ask: Ask, told: Told) -> None:
        """Keeps the conversation of a turn's firm as it is now; the longest unused makes room."""
        key = ask.firm_id, ask.run.created_at
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = told
            while len(self._kept) > CONVERSATIONS_KEPT:
                self._kept.pop(next(iter(self._kept)))


heard = Heard()


def load_talks(run: Run, asks: Sequence[Ask]) -> dict[int, Talk]:
    """The conversations of some turns' firms, by turn; one that has not begun is opened.

    No query for those that this process has carried on so far, and some for each that it does not know.
    """
    limits = Limits.model_validate(run.limits)
    talks = {}
    for ask in asks:
        settings = ModelSettings.model_validate(run.model_settings[ask.firm.name])
        told = heard.get(ask) or _read(run, ask, settings)
        talks[ask.pk] = Talk(settings, limits, told, _given(ask, told))
    return talks


def _read(run: Run, ask: Ask, settings: ModelSettings) -> Told:
    firm = ask.firm
    opening = Conversation.objects.filter(pk=firm.pk).first() or _opened(run, firm.pk, firm.name, firm.role, settings)
    rows = ChatMessage.objects.filter(firm_id=firm.pk).order_by("number").values_list("ask_id", "content")
    summaries = ChatSummary.objects.filter(firm_id=firm.pk).order_by("number").values_list("first", "until", "text")
    last_ask = Ask.objects.filter(firm_id=firm.pk, pk__lt=ask.pk).order_by("-pk").first()
    used = Call.objects.filter(ask__firm_id=firm.pk, purpose=Call.Purpose.DECIDE, outcome=Call.Outcome.USED)
    last_call = used.order_by("-pk").values("input_tokens", "summaries_before").first()
    is_newest = last_call is not None and last_call["summaries_before"] == len(summaries)
    ask_id = max((ask_id for ask_id, _ in rows), default=0)
    return Told(
        system=opening.system,
        tools=json.loads(opening.tools),
        tools_bytes=len(opening.tools),
        compaction=compaction_of(opening.compaction),
        messages=[json.loads(content) for _, content in rows],
        summaries=[Summary(*row) for row in summaries],
        ask_id=ask_id,
        firm_turn=ask.firm_turn - 1 if ask_id == (last_ask.pk if last_ask else 0) else 0,
        flags=last_ask.flags if last_ask else [],
        counted_tokens=last_call["input_tokens"] if last_call and is_newest else 0,
    )


def _opened(run: Run, firm_key: int, name: str, role: str, settings: ModelSettings) -> Conversation:
    scenario = Scenario.model_validate(run.scenario)
    tools = schemas_for(name, role, scenario, [each for each, _ in firm_names(scenario)])
    if settings.memory_tools:
        tools += memory.TOOLS
    system = briefing.system_prompt(scenario, name, settings.objective, memory_tools=settings.memory_tools)
    fields = {"system": system, "tools": json.dumps(tools), "compaction": todays_compaction().as_json}
    opening, _ = Conversation.objects.get_or_create(pk=firm_key, defaults={"run": run, "firm_id": firm_key, **fields})
    return opening


def _given(ask: Ask, told: Told) -> list[Message]:
    """The messages that put the turn to the model; none if they are stored already, with notes it made since."""
    if told.ask_id == ask.pk:
        return []
    is_next = told.firm_turn == ask.firm_turn - 1
    return messages_for(ask, told.messages, told.flags, None if is_next else told.ask_id)


def messages_for(ask: Ask, messages: list[Message], flags: list[str], resumed_after: int | None) -> list[Message]:
    """The messages that put a turn to a model, after those of its conversation and the flags of its last answer.

    `resumed_after` is None where the firm's last turn was the model's own; where others have played since, it is the
    model's last turn, 0 if it had none.
    """
    last = messages[-1] if messages else None
    last_answer = last if last and last["role"] == "assistant" else None
    if resumed_after is not None:
        return [*_missed_result(ask, resumed_after, last_answer), _told_on_taking_over(ask)]
    return messages_given(Given(**json.loads(ask.given)), last_answer, note_on(flags))


def note_on(flags: list[str]) -> str:
    """What a model is told with the result of a call it made wrongly."""
    return "only the first of your calls was used" if SEVERAL_CALLS in flags else ""


def _missed_result(ask: Ask, last_asked: int, last_answer: Message | None) -> list[Message]:
    """What the model's own last call gave, which it has not been told since others played on."""
    if not last_asked:
        return []
    following = Ask.objects.filter(firm_id=ask.firm_id, pk__gt=last_asked).order_by("pk").first()
    result = json.loads(following.given)["result"] if following else None
    return messages_given(Given(result, None), last_answer)


def _told_on_taking_over(ask: Ask) -> Message:
    """Where the firm stands, to a model that plays on for somebody else: the day's newest observation, as a message."""
    given = json.loads(ask.given)
    seen = given["observation"]
    for earlier in Ask.objects.filter(firm_id=ask.firm_id, day=ask.day, pk__lt=ask.pk).order_by("-pk"):
        seen = seen or json.loads(earlier.given)["observation"]
    note = f"another player has played your firm until now, {clock_text(ask.minute)}; you play on"
    told = {**(seen or {}), "last_result_of_the_other_player": given["result"], "note": note}
    return {"role": "user", "content": text_of(told)}


def carried_on(told: Told, ask: Ask, added: Iterable[Message], flags: list[str], counted_tokens: int) -> Told:
    """A conversation after messages of a turn have been stored."""
    return replace(
        told,
        messages=[*told.messages, *added],
        ask_id=ask.pk,
        firm_turn=ask.firm_turn,
        flags=flags,
        counted_tokens=counted_tokens,
    )


def summarised(told: Told, summary: Summary) -> Told:
    """A conversation after a summary of its middle has been stored."""
    return replace(told, summaries=[*told.summaries, summary], counted_tokens=0)
