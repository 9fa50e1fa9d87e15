"""Putting a turn to a language model and keeping what comes of it: one request, one attempt, one row, whatever happens.

A turn that waits for an answer is an `Ask`. A worker claims it by a lease, after the budgets have allowed the most its
call can cost; speaks to the provider with no transaction open; then writes the call's row and, if the turn still waits,
its answer. Whoever stores the last answer of a step calls for the run to be moved on. The database alone says what is
to be done: a lost task is found again by the sweep.
"""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from marketplace.economy.economy import MINUTES_PER_DAY, firm_names
from marketplace.economy.money import micros, usd
from marketplace.rows import in_run, key_of
from simulation import announce, status
from simulation.engine.decision import Decision, readable
from simulation.engine.scenario import Scenario
from simulation.engine.tools import schemas_for
from simulation.engine.world import World
from simulation.lease import holder_name, is_free
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run
from simulation.players import briefing
from simulation.players.llm import memory, provider
from simulation.players.llm.answer import SEVERAL_CALLS, Answer, read_answer
from simulation.players.llm.conversation import (
    Given,
    Message,
    Summary,
    messages_given,
    middle_to_summarise,
    request_for_summary,
    text_of,
    tokens_at_most,
    window,
)
from simulation.players.llm.prices import most_micros, prices_of
from simulation.players.llm.provider import PASSING, ProviderError, Reply
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.prompts import filled

log = logging.getLogger(__name__)

REQUESTS_PER_TURN = 8
CONVERSATIONS_KEPT = 200
CLAIM_FIELDS = ["answered_at", "attempts", "lease_owner", "lease_until", "not_before", "reserved_micros"]
ANSWER_FIELDS = ["tool", "arguments", "rationale", "flags", "answered_at", "lease_owner", "lease_until"]
KEEP_FIELDS = ["reserved_micros", "trouble", "trouble_since", *ANSWER_FIELDS]
LONGEST_PAUSE_SECONDS = 120
GRACE = timedelta(seconds=30)


# Opening turns, and reading their answers: called by the runner.


def open_asks(run: Run, world: World, names: Iterable[str]) -> None:
    """Writes a waiting turn for each firm of the open step that a model plays. Wants the run's transaction."""
    step = world.open_step()
    if step is None:
        return
    wanted = set(names)
    asks = []
    for number, name in enumerate(step.firms, world.turns + 1):
        if name in wanted:
            view = world.view(name)
            ask = Ask(
                pk=key_of(run.pk, number),
                run=run,
                firm_id=key_of(run.pk, world.seats[name].firm.seat),
                step=step.number,
                minute=step.minute,
                day=step.minute // MINUTES_PER_DAY,
                given=json.dumps({"result": view.result, "observation": view.observation}),
            )
            asks.append(ask)
    Ask.objects.bulk_create(asks, ignore_conflicts=True)


def answers_of(run_id: int, world: World) -> dict[str, Decision]:
    """The answers stored so far for the open step, by firm."""
    names = {key_of(run_id, firm.seat): firm.name for firm in world.economy.firms}
    first = key_of(run_id, world.turns + 1)
    stored = Ask.objects.filter(pk__gte=first, pk__lt=first + len(names), answered_at__isnull=False)
    return {
        names[firm_id]: Decision(tool, json.loads(arguments), rationale)
        for firm_id, tool, arguments, rationale in stored.values_list("firm_id", "tool", "arguments", "rationale")
    }


def call_models(run: Run) -> None:
    """After commit: calls a worker for every turn of the run that waits and that nobody is asking about."""
    now = timezone.now()
    for ask in waiting_asks(run):
        if is_free(ask, now):
            announce.ring_ask(ask.pk)


def waiting_asks(run: Run) -> Any:
    """The turns of a run's open step that have no answer yet."""
    return Ask.objects.filter(
        pk__gt=key_of(run.pk, run.turns), pk__lt=key_of(run.pk + 1, 0), answered_at__isnull=True
    ).order_by("pk")


# Asking.


@dataclass
class Talk:
    """A firm's conversation as a worker has it in hand for one turn."""

    settings: ModelSettings
    limits: Limits
    system: str
    tools: list[dict[str, Any]]
    messages: list[Message]
    summaries: list[Summary]
    given: list[Message] = field(default_factory=list)

    @property
    def tool_names(self) -> list[str]:
        """What the model may call."""
        return [tool["name"] for tool in self.tools]

    def to_send(self) -> list[Message]:
        """The request that puts the turn to the model."""
        summary = self.summaries[-1] if self.summaries else None
        return window(self.system, [*self.messages, *self.given], summary, self.settings.context)


class Told(NamedTuple):
    """What of a conversation stays from turn to turn: how it opened, all that was said, and the last answer's flags."""

    system: str
    tools: list[dict[str, Any]]
    messages: list[Message]
    flags: list[str]


class Heard:
    """Conversations as this process last stored them, so that a long one is not read and parsed again at every turn."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, datetime], Told] = {}
        self._lock = threading.Lock()

    def get(self, run: Run, firm_id: int, length: int) -> Told | None:
        """A firm's conversation, if this process knows all its messages that are stored."""
        with self._lock:
            told = self._kept.get((firm_id, run.created_at))
        return told if told is not None and len(told.messages) == length else None

    def put(self, run: Run, firm_id: int, told: Told) -> None:
        """Keeps a firm's conversation; the longest unused makes room."""
        with self._lock:
            self._kept.pop((firm_id, run.created_at), None)
            self._kept[firm_id, run.created_at] = told
            while len(self._kept) > CONVERSATIONS_KEPT:
                self._kept.pop(next(iter(self._kept)))


heard = Heard()

# SQLite lets one write at a time and has the others sleep; threads of one process had better queue.
_writing = threading.Lock()


@contextmanager
def writing() -> Iterator[None]:
    """A short transaction that writes, alone among the threads of this process."""
    with _writing, transaction.atomic():
        yield


class Elsewhere(Exception):
    """The turn is answered, held by another, or its run does not move: nothing to do here."""


def ask_model(ask_id: int) -> int | None:
    """Puts a waiting turn to its model until it is answered, or cannot be for now. Safe to call at any time, twice.

    Returns the run's id when this was the last answer that its step waited for: the run is to be moved on.
    """
    holder = holder_name()
    try:
        ask = Ask.objects.select_related("run", "firm").get(pk=ask_id)
        talk = load_talk(ask)
        shortened = False
        for _ in range(REQUESTS_PER_TURN):
            try:
                if _is_too_long(ask, talk):
                    summarise(ask, talk, holder)
                if decide(ask, talk, holder):
                    return _run_to_move(ask)
            except ProviderError as error:
                if error.trouble != "context" or shortened:
                    raise
                shortened = True
                summarise(ask, talk, holder)
        silence = read_answer({}, "stop", talk.tool_names)  # it never got beyond its own notes
        keep(ask, talk, holder, [silence.message], None, silence)
        return _run_to_move(ask)
    except (Elsewhere, Ask.DoesNotExist) as reason:
        log.info("ask %s left alone: %s", ask_id, reason)
    except ProviderError as error:
        note_trouble(ask, holder, talk.limits, error)
    return None


def _run_to_move(ask: Ask) -> int | None:
    others = Ask.objects.filter(**in_run(ask.run_id), step=ask.step, answered_at__isnull=True)
    return None if others.exists() else ask.run_id


def load_talk(ask: Ask) -> Talk:
    """Reads what a firm's model has been told and has said so far; opens the conversation if this is its first turn."""
    run, firm = ask.run, ask.firm
    settings = ModelSettings.model_validate(run.model_settings[firm.name])
    newest = ChatMessage.objects.filter(firm_id=firm.pk).order_by("-number").values("number", "ask_id").first()
    told = heard.get(run, firm.pk, newest["number"] if newest else 0) or _told(ask, settings)
    summaries = ChatSummary.objects.filter(firm_id=firm.pk).order_by("number").values_list("first", "until", "text")
    talk = Talk(
        settings=settings,
        limits=Limits.model_validate(run.limits),
        system=told.system,
        tools=told.tools,
        messages=list(told.messages),
        summaries=[Summary(*row) for row in summaries],
    )
    if newest is None or newest["ask_id"] != ask.pk:
        talk.given = _given(ask, told)
    return talk


def _told(ask: Ask, settings: ModelSettings) -> Told:
    run, firm = ask.run, ask.firm
    opening = Conversation.objects.filter(pk=firm.pk).first() or _opened(run, firm.pk, firm.name, firm.role, settings)
    contents = ChatMessage.objects.filter(firm_id=firm.pk).order_by("number").values_list("content", flat=True)
    last_ask = Ask.objects.filter(firm_id=firm.pk, pk__lt=ask.pk).order_by("-pk").first()
    messages = [json.loads(content) for content in contents]
    return Told(opening.system, json.loads(opening.tools), messages, last_ask.flags if last_ask else [])


def _opened(run: Run, firm_key: int, name: str, role: str, settings: ModelSettings) -> Conversation:
    scenario = Scenario.model_validate(run.scenario)
    tools = schemas_for(name, role, scenario, [each for each, _ in firm_names(scenario)])
    if settings.memory_tools:
        tools += memory.TOOLS
    system = briefing.system_prompt(scenario, name, settings.objective, memory_tools=settings.memory_tools)
    opening, _ = Conversation.objects.get_or_create(
        pk=firm_key, defaults={"run": run, "firm_id": firm_key, "system": system, "tools": json.dumps(tools)}
    )
    return opening


def _given(ask: Ask, told: Told) -> list[Message]:
    last = told.messages[-1] if told.messages else None
    last_answer = last if last and last["role"] == "assistant" else None
    note = "only the first of your calls was used" if SEVERAL_CALLS in told.flags else ""
    return messages_given(Given(**json.loads(ask.given)), last_answer, note)


def _is_too_long(ask: Ask, talk: Talk) -> bool:
    """Whether the provider counted too many tokens at the last call, and no summary has been made since."""
    context = talk.settings.context
    if context.strategy != "summarise":
        return False
    if middle_to_summarise(talk.messages, context) is None:
        return False
    last = Call.objects.filter(ask__firm_id=ask.firm_id, purpose=Call.Purpose.DECIDE, outcome=Call.Outcome.USED)
    last_call = last.order_by("-pk").values("input_tokens", "summaries_before").first()
    return (
        last_call is not None
        and last_call["input_tokens"] > context.limit_tokens
        and last_call["summaries_before"] == len(talk.summaries)
    )


def summarise(ask: Ask, talk: Talk, holder: str) -> None:
    """Has the model summarise the middle of its conversation, which from then on is sent in its place."""
    middle = middle_to_summarise(talk.messages, talk.settings.context)
    if middle is None:
        raise ProviderError("request", "the conversation is too long for the model, and too short to be summarised")
    first, until = middle
    old = talk.summaries[-1] if talk.summaries else None
    told = talk.messages[first:until]
    if old:
        told = [{"role": "user", "content": old.text}, *talk.messages[old.until : until]]
    messages = request_for_summary(talk.system, told, filled("compaction", {}))
    reply, call = _request(ask, talk, holder, messages, [], Call.Purpose.SUMMARISE)
    text = str(reply.message.get("content") or "").strip()
    if not text:
        call.save()
        raise ProviderError(PASSING, "the model returned an empty summary")
    summary = Summary(first, until, text)
    try:
        with writing():
            _hold(ask, holder)
            call.outcome = Call.Outcome.USED
            call.save()
            ChatSummary.objects.create(
                run_id=ask.run_id, firm_id=ask.firm_id, number=len(talk.summaries) + 1, ask=ask, **asdict(summary)
            )
    except Elsewhere:
        call.save()
        raise
    talk.summaries.append(summary)


def decide(ask: Ask, talk: Talk, holder: str) -> bool:
    """One request for a decision. False when the model used a tool of its own memory, and is to be asked on."""
    reply, call = _request(ask, talk, holder, talk.to_send(), talk.tools, Call.Purpose.DECIDE)
    answer = read_answer(reply.message, reply.finish_reason, talk.tool_names)
    if answer.decision.tool in memory.NAMES and talk.settings.memory_tools:
        notes = memory.memory_of(talk.messages)
        result = notes.call(answer.decision.tool, answer.decision.arguments)
        told = {"role": "tool", "tool_call_id": answer.message["tool_calls"][0]["id"], "content": text_of(result)}
        keep(ask, talk, holder, [answer.message, told], call, None)
        return False
    keep(ask, talk, holder, [answer.message], call, answer)
    return True


def _request(
    ask: Ask, talk: Talk, holder: str, messages: list[Message], tools: list[dict[str, Any]], purpose: Call.Purpose
) -> tuple[Reply, Call]:
    """One attempt: claimed and reserved before, its row written after, whatever it brought. Raises ProviderError."""
    most = _most_micros(talk.settings, messages, tools)
    claim(ask, talk, holder, most)
    call = Call(
        run_id=ask.run_id,
        firm_id=ask.firm_id,
        ask=ask,
        day=ask.day,
        purpose=purpose,
        attempt=ask.attempts,
        model_asked=talk.settings.model,
        messages_before=len(talk.messages) + len(talk.given),
        summaries_before=len(talk.summaries),
        outcome=Call.Outcome.UNUSED,
        latency_ms=0,
    )
    began = timezone.now()
    try:
        reply = provider.ask(talk.settings, messages, tools)
    except ProviderError as error:
        call.outcome, call.error = Call.Outcome.FAILED, str(error)
        # An attempt that timed out may be billed all the same; one that was turned away is not.
        call.most_micros = most if error.may_be_billed else 0
        call.latency_ms = int((timezone.now() - began).total_seconds() * 1000)
        _save_call(ask, call)
        raise
    call.model_answered, call.finish_reason = reply.model[:200], reply.finish_reason[:40]
    call.input_tokens, call.output_tokens = reply.usage.input, reply.usage.output
    call.cached_tokens, call.reasoning_tokens = reply.usage.cached, reply.usage.reasoning
    call.cost_micros, call.latency_ms, call.raw = reply.cost_micros, reply.latency_ms, reply.raw
    call.most_micros = most if reply.cost_micros is None else reply.cost_micros
    return reply, call


def _save_call(ask: Ask, call: Call) -> None:
    with writing():
        call.save()
        Ask.objects.filter(pk=ask.pk).update(reserved_micros=0)


def _most_micros(settings: ModelSettings, messages: list[Message], tools: list[dict[str, Any]]) -> int | None:
    prices = prices_of(settings)
    if prices is None:
        return None
    return most_micros(prices, tokens_at_most(messages, tools), settings.max_output_tokens)


def claim(ask: Ask, talk: Talk, holder: str, most: int | None) -> None:
    """Takes the turn for one attempt, if it still waits and the budgets allow the most the attempt can cost."""
    now = timezone.now()
    with writing():
        run = Run.objects.select_for_update().only("status").get(pk=ask.run_id)
        ask.refresh_from_db(fields=CLAIM_FIELDS)
        if run.status != Run.Status.RUNNING or ask.answered_at or (ask.lease_owner != holder and not is_free(ask, now)):
            raise Elsewhere(f"run {run.pk} is {run.status}, the turn is answered or held by {ask.lease_owner}")
        if ask.lease_owner != holder and ask.reserved_micros:
            _count_lost_call(ask, talk)
        over = budget_reached(run, ask, talk, most or 0)
        if not over:
            ask.lease_owner = holder
            ask.lease_until = now + timedelta(seconds=talk.settings.deadline_seconds) + GRACE
            ask.attempts, ask.reserved_micros, ask.not_before = ask.attempts + 1, most or 0, None
            ask.save(update_fields=CLAIM_FIELDS)
    if over:
        pause(ask.run_id, Run.PausedBy.BUDGET, over)
        raise Elsewhere(over)


def _count_lost_call(ask: Ask, talk: Talk) -> None:
    """A worker died in the middle of a call: it may be billed, and the budgets count it at the most it can cost."""
    Call.objects.create(
        run_id=ask.run_id,
        firm_id=ask.firm_id,
        ask=ask,
        day=ask.day,
        purpose=Call.Purpose.DECIDE,
        outcome=Call.Outcome.FAILED,
        attempt=ask.attempts,
        model_asked=talk.settings.model,
        most_micros=ask.reserved_micros,
        latency_ms=0,
        error="the worker died while the call was under way; it may be billed",
        messages_before=len(talk.messages),
        summaries_before=len(talk.summaries),
    )


def budget_reached(run: Run, ask: Ask, talk: Talk, most: int) -> str:
    """In words, which budget the attempt could break; empty if none. Calls under way count with the most they cost."""
    budgets = [
        ("the run's budget", talk.limits.budget_usd, Q()),
        (f"the budget of day {ask.day}", talk.limits.day_budget_usd, Q(day=ask.day)),
        (f"{ask.firm.name}'s budget", talk.settings.budget_usd, Q(firm_id=ask.firm_id)),
    ]
    for what, budget_usd, which in budgets:
        if budget_usd is not None and spent_micros(run, which, but=ask.pk) + most > micros(budget_usd):
            spent = usd(spent_micros(run, which, but=ask.pk))
            return (
                f"{what} of {budget_usd:,.2f} USD is reached: {spent:,.2f} USD are spent or under way, "
                f"and the next call can cost {usd(most):,.2f} USD"
            )
    return ""


def spent_micros(run: Run, which: Q | None = None, but: int = 0) -> int:
    """What a run's calls have cost; those whose cost is not known count with the most they can have cost."""
    which = which or Q()
    known = run.calls.filter(which).aggregate(sum=Sum(Coalesce("cost_micros", "most_micros")))["sum"] or 0
    under_way = Ask.objects.filter(which, **in_run(run.pk), reserved_micros__gt=0).exclude(pk=but)
    return known + (under_way.aggregate(sum=Sum("reserved_micros"))["sum"] or 0)


# Keeping what came of it.


def _hold(ask: Ask, holder: str) -> None:
    """Makes sure, inside a transaction, that the turn is still this worker's to answer."""
    Run.objects.select_for_update().only("pk").get(pk=ask.run_id)
    ask.refresh_from_db(fields=["answered_at", "lease_owner"])
    if ask.answered_at or ask.lease_owner != holder:
        raise Elsewhere("answered by another meanwhile")


def keep(ask: Ask, talk: Talk, holder: str, added: list[Message], call: Call | None, answer: Answer | None) -> None:
    """Adds what was given and answered to the conversation and, if it is one, stores the turn's answer: once.

    A turn answered by another meanwhile keeps that answer; the call is kept as unused, with its cost. Raises Elsewhere.
    """
    messages = [*talk.given, *added]
    try:
        with writing():
            _hold(ask, holder)
            _add_messages(ask, len(talk.messages) + 1, messages)
            if call:
                call.outcome = Call.Outcome.USED
                call.save()
            ask.reserved_micros, ask.trouble, ask.trouble_since = 0, "", None
            if answer:
                _answer(ask, answer)
            ask.save(update_fields=KEEP_FIELDS)
    except Elsewhere:
        if call:
            call.save()
        raise
    talk.messages += messages
    talk.given = []
    heard.put(ask.run, ask.firm_id, Told(talk.system, talk.tools, list(talk.messages), answer.flags if answer else []))


def _add_messages(ask: Ask, first_number: int, messages: list[Message]) -> None:
    ChatMessage.objects.bulk_create(
        ChatMessage(
            run_id=ask.run_id,
            firm_id=ask.firm_id,
            number=number,
            ask=ask,
            day=ask.day,
            content=json.dumps(message),
        )
        for number, message in enumerate(messages, first_number)
    )


def _answer(ask: Ask, answer: Answer) -> None:
    """Fills the turn's answer in."""
    decision = readable(answer.decision)
    ask.tool, ask.arguments, ask.rationale = decision.tool, json.dumps(decision.arguments), decision.rationale
    ask.flags, ask.answered_at = answer.flags, timezone.now()
    ask.lease_owner, ask.lease_until = "", None


# When it does not go well.


def note_trouble(ask: Ask, holder: str, limits: Limits, error: ProviderError) -> None:
    """Lets the turn rest for a while, or pauses the run where waiting does not help or has gone on for long enough."""
    now = timezone.now()
    with writing():
        Run.objects.select_for_update().get(pk=ask.run_id)
        ask.refresh_from_db()
        if ask.answered_at or ask.lease_owner != holder:
            return
        ask.trouble, ask.trouble_since = str(error), ask.trouble_since or now
        ask.lease_owner, ask.lease_until, ask.reserved_micros = "", None, 0
        pause_seconds = rest_seconds(ask.attempts, error)
        ask.not_before = now + timedelta(seconds=pause_seconds)
        gave_up = error.trouble != PASSING or (now - ask.trouble_since).total_seconds() > limits.retry_seconds
        ask.save()
        if not gave_up:
            announce.ring_ask(ask.pk, delay_seconds=pause_seconds)
    if gave_up:
        resume_at = now + timedelta(seconds=limits.resume_seconds) if error.trouble == PASSING else None
        pause(ask.run_id, Run.PausedBy.PROVIDER, f"{ask.firm.name}: {error}", resume_at)


def rest_seconds(attempts: int, error: ProviderError) -> float:
    """How long to wait before the next attempt: as long as the provider says, else longer each time, never the same."""
    if error.retry_after is not None:
        return error.retry_after
    return float(min(LONGEST_PAUSE_SECONDS, 2 ** min(attempts, 10) / 2) * random.uniform(0.75, 1.25))


def pause(run_id: int, by: Run.PausedBy, reason: str, resume_at: datetime | None = None) -> None:
    """Pauses a running run, with the reason in words."""
    try:
        status.pause_run(run_id, reason, by=by, resume_at=resume_at)
    except status.NotPossible as already:
        log.info("run %s not paused: %s", run_id, already)
