"""Putting turns to language models and keeping what comes of it: one request, one attempt, one row, whatever happens.

A turn that waits for an answer is an `Ask`. A worker claims the waiting turns of a step by leases, after the budgets
have allowed the most their calls can cost; speaks to the providers, all at once and with no transaction open; then
writes each call's row and, if the turn still waits, its answer. Whoever stores the last answer of a step moves the run
on. The database alone says what is to be done: a lost task is found again by the sweep.
"""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.economy.money import micros, usd
from marketplace.rows import in_run, key_of
from simulation import announce, status
from simulation.engine.decision import Decision, readable
from simulation.engine.world import World
from simulation.lease import holder_name, is_free
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Run, Seat
from simulation.players.llm import memory, provider
from simulation.players.llm.answer import MISSHAPEN, Answer, cleaned, read_answer
from simulation.players.llm.conversation import (
    Given,
    Message,
    Summary,
    messages_given,
    request_for_summary,
)
from simulation.players.llm.prices import most_micros, prices_of
from simulation.players.llm.provider import PASSING, ProviderError, Reply
from simulation.players.llm.settings import Limits
from simulation.players.registry import MODEL
from simulation.talks import Talk, carried_on, heard, load_talks, note_on, summarised

log = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 120
GRACE = timedelta(seconds=30)


# Opening turns, and reading their answers: called by the runner.


class Answered(NamedTuple):
    """A decision from outside, and who made it; empty: the firm's own kind of player."""

    decision: Decision
    by: str


def open_asks(run: Run, world: World, names: Iterable[str]) -> None:
    """Writes a waiting turn for each of these firms of the open step. Wants the run's transaction."""
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
                firm_turn=world.seats[name].turns + 1,
                given=json.dumps({"result": view.result, "observation": view.observation}),
            )
            asks.append(ask)
    Ask.objects.bulk_create(asks, ignore_conflicts=True)


def answers_of(run_id: int, world: World) -> dict[str, Answered]:
    """The answers stored so far for the open step, by firm."""
    names = {key_of(run_id, firm.seat): firm.name for firm in world.economy.firms}
    first = key_of(run_id, world.turns + 1)
    stored = Ask.objects.filter(pk__gte=first, pk__lt=first + len(names), answered_at__isnull=False)
    values = stored.values_list("firm_id", "tool", "arguments", "rationale", "decided_by")
    return {
        names[firm_id]: Answered(Decision(tool, json.loads(arguments), rationale), by)
        for firm_id, tool, arguments, rationale, by in values
    }


def call_models(run: Run, asks: Iterable[Ask]) -> None:
    """After commit: calls a worker for those of these turns that nobody is asking a model about."""
    now = timezone.now()
    free = [ask for ask in asks if is_free(ask, now)]
    for ask in free:
        ask.run = run
    announce.ring_asks(free)


def waiting_asks(run: Run) -> Any:
    """The turns of a run's open step that have no answer yet."""
    return Ask.objects.filter(
        pk__gt=key_of(run.pk, run.turns), pk__lt=key_of(run.pk + 1, 0), answered_at__isnull=True
    ).order_by("pk")


def asks_of(ask_ids: Iterable[int]) -> list[Ask]:
    """The turns with these keys that still wait for a model, with their run and firm."""
    asks = models_turns(pk__in=ask_ids).select_related("run", "firm").order_by("pk")
    return list(asks.defer("run__scenario"))


def models_turns(**which: Any) -> Any:
    """Turns that wait for a model: a seat that was handed back meanwhile decides for itself."""
    handed_back = Q(firm__seat__driver__in=(Seat.Driver.OWNER, Seat.Driver.SCRIPT))
    return Ask.objects.filter(answered_at__isnull=True, **which).exclude(handed_back)


# Asking.

# SQLite lets one write at a time and has the others sleep; threads of one process had better queue.
_writing = threading.Lock()


@contextmanager
def writing() -> Iterator[None]:
    """A short transaction that writes, alone among the threads of this process."""
    with _writing, transaction.atomic():
        yield


class Elsewhere(Exception):
    """The turn was answered by another meanwhile, or is another's to answer."""


class Deleted(Elsewhere):
    """The turn is no more, nor is its run: nothing can be kept of it."""


class Request(NamedTuple):
    """What is sent to a model next: for a decision, or for a summary of the messages of its middle."""

    messages: list[Message]
    tools: list[dict[str, Any]]
    middle: tuple[int, int] | None
    most_micros: int | None


@dataclass
class Exchange:
    """A turn in a worker's hands, from its claim until it is answered or left."""

    ask: Ask
    talk: Talk
    holder: str
    request: Request
    notes: int = 0
    is_to_shorten: bool = False
    was_shortened: bool = False
    flags: list[str] = field(default_factory=list)
    began: datetime = field(default_factory=timezone.now)


def ask_models(asks: Sequence[Ask]) -> int | None:
    """Puts waiting turns of one step to their models, all at once, until each is answered or cannot be for now.

    Safe to call at any time, twice. Returns the run's id when its step waits for no other answer: it is to be moved on.
    """
    exchanges = ready = exchanges_of(asks)
    under_way: dict[Future[Reply], Exchange] = {}
    while ready or under_way:
        with others_left_alone():
            under_way |= {send(exchange): exchange for exchange in claim(ready)}
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        ready = []
        for future in done:
            exchange = under_way.pop(future)
            with others_left_alone():
                if receive(exchange, future):
                    ready.append(exchange)
    return _run_to_move([exchange.ask for exchange in exchanges])


@contextmanager
def others_left_alone() -> Iterator[None]:
    """What goes wrong with one turn must not lose the answers to others, which are paid for."""
    try:
        yield
    except Exception:
        log.exception("a turn is left until its lease is over")


def _run_to_move(asks: list[Ask]) -> int | None:
    answered = [ask for ask in asks if ask.answered_at]
    if not answered:
        return None
    run: Run = answered[0].run
    if len(answered) == len(run.waiting_for):
        return run.pk
    others = Ask.objects.filter(**in_run(run.pk), step=answered[0].step, answered_at__isnull=True)
    return None if others.exists() else run.pk


def exchanges_of(asks: Sequence[Ask]) -> list[Exchange]:
    """Turns of one step, each with its conversation and what is to be sent first; none if their run does not move."""
    if not asks or asks[0].run.status != Run.Status.RUNNING:
        return []
    holder, talks = holder_name(), load_talks(asks[0].run, asks)
    return [Exchange(ask, talks[ask.pk], holder, next_request(talks[ask.pk])) for ask in asks]


def next_request(talk: Talk, *, is_to_shorten: bool = False) -> Request:
    """What a model is to be sent. Raises ProviderError where a conversation is to be shortened and cannot be."""
    if is_to_shorten or talk.is_too_long():
        middle = talk.middle()
        if middle is None:
            words = "the conversation is too long for the model, and nothing of it is left to summarise"
            raise ProviderError("request", words)
        return _request(talk, _messages_for_summary(talk, *middle), [], middle)
    return _request(talk, talk.to_send(), talk.told.tools)


def _request(
    talk: Talk, messages: list[Message], tools: list[dict[str, Any]], middle: tuple[int, int] | None = None
) -> Request:
    tokens = talk.tokens_at_most(messages, is_for_summary=middle is not None)
    prices = prices_of(talk.settings, tokens)
    if prices is None:
        return Request(messages, tools, middle, None)
    most = most_micros(prices, tokens, talk.settings.output_limit_tokens)
    return Request(messages, tools, middle, most)


def _messages_for_summary(talk: Talk, first: int, until: int) -> list[Message]:
    """The middle of the conversation, of which an older summary may stand for a part, and the wish for a summary."""
    told = talk.told
    middle = told.messages[first:until]
    if told.summaries:
        old = told.summaries[-1]
        middle = [{"role": "user", "content": old.text}, *told.messages[old.until : until]]
    return request_for_summary(told.system, middle, told.compaction)


def send(exchange: Exchange) -> Future[Reply]:
    """One attempt at a claimed turn."""
    exchange.began = timezone.now()
    return provider.start(exchange.talk.settings, exchange.request.messages, exchange.request.tools)


def receive(exchange: Exchange, future: Future[Reply]) -> bool:
    """Keeps what an attempt brought, whatever it is. Returns whether the turn is to be asked on, with a new request."""
    try:
        is_to_go_on = _receive(exchange, future)
        if is_to_go_on:
            exchange.request = next_request(exchange.talk, is_to_shorten=exchange.is_to_shorten)
    except Elsewhere as reason:
        log.info("ask %s left alone: %s", exchange.ask.pk, reason)
        return False
    except ProviderError as error:
        note_trouble(exchange.ask, exchange.holder, exchange.talk.limits, error)
        return False
    except (OperationalError, InterfaceError):
        raise  # the database's trouble, not the answer's: the lease passes, and the turn is asked again
    except Exception as error:
        log.exception("what came of ask %s could not be kept", exchange.ask.pk)
        trouble = ProviderError("request", f"its answer could not be kept: {type(error).__name__}", may_be_billed=True)
        _save_failed_call(exchange, trouble)
        note_trouble(exchange.ask, exchange.holder, exchange.talk.limits, trouble)
        return False
    return is_to_go_on


def _receive(exchange: Exchange, future: Future[Reply]) -> bool:
    is_decision = exchange.request.middle is None
    try:
        reply = future.result()
    except ProviderError as error:
        _save_failed_call(exchange, error)
        if is_decision and error.is_misshapen:
            return _keep_misshapen(exchange)
        if not is_decision or error.trouble != "context" or exchange.was_shortened:
            raise
        exchange.is_to_shorten = exchange.was_shortened = True
        return True
    if is_decision:
        return keep_decision(exchange, reply)
    keep_summary(exchange, reply)
    return True


def _keep_misshapen(exchange: Exchange) -> bool:
    """A model that answers in a shape of its own is asked once more, without a rest; then it has made no call."""
    if MISSHAPEN not in exchange.flags:
        exchange.flags.append(MISSHAPEN)
        return True
    _keep_silence(exchange)
    return False


def _keep_silence(exchange: Exchange) -> None:
    """The turn ends without a call."""
    silence = _flagged(exchange, read_answer({}, "stop", exchange.talk.tool_names))
    keep(exchange, [silence.message], None, silence)


def keep_summary(exchange: Exchange, reply: Reply) -> None:
    """Keeps a summary, which from now on is sent in the place of the messages it stands for."""
    ask, talk, call = exchange.ask, exchange.talk, _call(exchange, reply)
    text = str(cleaned(reply.message.get("content") or "", [])).strip()
    if not text:
        _save_call(call)
        raise ProviderError(PASSING, "the model returned an empty summary")
    assert exchange.request.middle is not None
    summary = Summary(*exchange.request.middle, text)
    with _kept_if_held(exchange, call, reserved_micros=0):
        ChatSummary.objects.create(
            run_id=ask.run_id, firm_id=ask.firm_id, number=len(talk.told.summaries) + 1, ask=ask, **asdict(summary)
        )
    talk.told = summarised(talk.told, summary)
    heard.put(ask, talk.told)
    exchange.is_to_shorten = False


def keep_decision(exchange: Exchange, reply: Reply) -> bool:
    """Keeps a decision. True when the model used a tool of its own memory, and is to be asked on."""
    talk, call = exchange.talk, _call(exchange, reply)
    with_thoughts = provider.wants_its_thoughts_back(talk.settings)
    said = read_answer(reply.message, reply.finish_reason, talk.tool_names, with_thoughts=with_thoughts)
    answer = _flagged(exchange, said)
    if answer.decision.tool not in memory.NAMES or not talk.settings.memory_tools:
        keep(exchange, [answer.message], call, answer)
        return False
    result = memory.memory_of(talk.told.messages).call(answer.decision.tool, answer.decision.arguments)
    told = messages_given(Given(result, None), answer.message, note_on(said.flags))
    keep(exchange, [answer.message, *told], call, None)
    exchange.notes += 1
    if exchange.notes < memory.CALLS_PER_TURN:
        return True
    _keep_silence(exchange)  # it never got beyond its own notes
    return False


def _flagged(exchange: Exchange, answer: Answer) -> Answer:
    """The answer with what was wrong with those before it in the same turn, which were calls of the model's memory."""
    exchange.flags = list(dict.fromkeys([*exchange.flags, *answer.flags]))
    return answer._replace(flags=exchange.flags)


# Claiming.


def claim(exchanges: list[Exchange]) -> list[Exchange]:
    """Takes turns for one attempt each: those that still wait, and whose attempt no budget forbids at its dearest."""
    if not exchanges:
        return []
    run_id, now = exchanges[0].ask.run_id, timezone.now()
    with writing():
        run = Run.objects.select_for_update().only("status").get(pk=run_id)
        free = [each for each in exchanges if each.ask.lease_owner == each.holder or is_free(each.ask, now)]
        wanted, over = affordable(run, free) if run.status == Run.Status.RUNNING else ([], "")
        claimed = [exchange for exchange in wanted if _lease(exchange, now)]
    if over:
        pause(run_id, Run.PausedBy.BUDGET, over)
    if len(claimed) < len(exchanges):
        log.info("run %s is %s; of %s turns %s are asked now", run_id, run.status, len(exchanges), len(claimed))
    return claimed


def _lease(exchange: Exchange, now: datetime) -> bool:
    """Writes the worker's name on the turn, if it is as it was when it was read."""
    ask = exchange.ask
    as_read = {"lease_owner": ask.lease_owner, "attempts": ask.attempts, "reserved_micros": ask.reserved_micros}
    changes = {
        "lease_owner": exchange.holder,
        "lease_until": now + timedelta(seconds=exchange.talk.settings.deadline_seconds) + GRACE,
        "not_before": None,
        "attempts": ask.attempts + 1,
        "reserved_micros": exchange.request.most_micros or 0,
    }
    if not models_turns(pk=ask.pk, **as_read).update(**changes):
        return False
    is_unpriced = exchange.request.most_micros is None
    if ask.reserved_micros or (is_unpriced and ask.lease_owner not in ("", exchange.holder)):
        _lost_call(exchange).save()
    _set(ask, changes)
    return True


class Budget(NamedTuple):
    """A budget that a call counts against, in words, and which calls and turns do too."""

    name: str
    budget_usd: float
    which: tuple[tuple[str, int], ...]


def budgets_of(exchange: Exchange) -> list[Budget]:
    """The budgets that a turn's calls count against."""
    ask, talk = exchange.ask, exchange.talk
    budgets = [
        ("the run's budget", talk.limits.budget_usd, ()),
        (f"the budget of day {ask.day}", talk.limits.day_budget_usd, (("day", ask.day),)),
        (f"{ask.firm.name}'s budget", talk.settings.budget_usd, (("firm_id", ask.firm_id),)),
    ]
    return [Budget(name, budget_usd, which) for name, budget_usd, which in budgets if budget_usd is not None]


def affordable(run: Run, exchanges: list[Exchange]) -> tuple[list[Exchange], str]:
    """The first of some calls, as far as the budgets last; and in words, which budget the next one could break.

    Calls under way, or lost on their way, count with the most they cost. What is spent is read once for all.
    """
    spent: dict[tuple[tuple[str, int], ...], int] = {}
    for place, exchange in enumerate(exchanges):
        most = exchange.request.most_micros or 0
        budgets = budgets_of(exchange)
        for budget in budgets:
            if budget.which not in spent:
                spent[budget.which] = spent_micros(run, Q(*budget.which))
            if spent[budget.which] + most > micros(budget.budget_usd):
                return exchanges[:place], (
                    f"{budget.name} of {_dollars(budget.budget_usd)} is reached: {_dollars(usd(spent[budget.which]))} "
                    f"are spent or under way, and the next call can cost {_dollars(usd(most))}"
                )
        for budget in budgets:
            spent[budget.which] += most
    return exchanges, ""


def _dollars(amount_usd: float) -> str:
    """An amount in words, a small one to the hundredth of a cent: many a call costs less than a cent."""
    return f"{amount_usd:,.4f} USD" if 0 < amount_usd < 1 else f"{amount_usd:,.2f} USD"


def spent_micros(run: Run, which: Q | None = None) -> int:
    """What a run's calls have cost; those whose cost is not known count with the most they can have cost."""
    which = which or Q()
    known = run.calls.filter(which).aggregate(sum=Sum(Coalesce("cost_micros", "most_micros")))["sum"] or 0
    under_way = Ask.objects.filter(which, **in_run(run.pk), reserved_micros__gt=0)
    return known + (under_way.aggregate(sum=Sum("reserved_micros"))["sum"] or 0)


# Keeping what came of it.


def _call(exchange: Exchange, reply: Reply) -> Call:
    """The row of an attempt that brought something, not saved yet."""
    call = _call_begun(exchange)
    call.model_answered, call.finish_reason = reply.model[:200], reply.finish_reason[:40]
    call.input_tokens, call.output_tokens = reply.usage.input, reply.usage.output
    call.cached_tokens, call.reasoning_tokens = reply.usage.cached, reply.usage.reasoning
    call.cost_micros, call.latency_ms, call.raw = reply.cost_micros, reply.latency_ms, reply.raw
    call.most_micros = exchange.request.most_micros if reply.cost_micros is None else reply.cost_micros
    return call


def _call_begun(exchange: Exchange) -> Call:
    ask, talk, request = exchange.ask, exchange.talk, exchange.request
    return Call(
        run_id=ask.run_id,
        firm_id=ask.firm_id,
        ask=ask,
        day=ask.day,
        purpose=Call.Purpose.SUMMARISE if request.middle else Call.Purpose.DECIDE,
        attempt=ask.attempts,
        model_asked=talk.settings.model,
        messages_before=len(talk.told.messages) + len(talk.given),
        summaries_before=len(talk.told.summaries),
        outcome=Call.Outcome.UNUSED,
        latency_ms=0,
    )


def _lost_call(exchange: Exchange) -> Call:
    """A worker died in the middle of a call: it may be billed, and the budgets count it at the most it can cost."""
    call = _call_begun(exchange)
    call.purpose, call.outcome = Call.Purpose.DECIDE, Call.Outcome.FAILED
    call.most_micros, call.messages_before = exchange.ask.reserved_micros or None, len(exchange.talk.told.messages)
    call.error = "the worker died while the call was under way; it may be billed"
    return call


def _save_failed_call(exchange: Exchange, error: ProviderError) -> None:
    call = _call_begun(exchange)
    call.outcome, call.error = Call.Outcome.FAILED, str(error)
    # An attempt that timed out may be billed all the same; one that was turned away is not.
    call.most_micros = exchange.request.most_micros if error.may_be_billed else 0
    call.latency_ms = int((timezone.now() - exchange.began).total_seconds() * 1000)
    _save_call(call)


def _lock_run(ask: Ask) -> None:
    """Takes the lock of a turn's run. Raises Deleted."""
    if Run.objects.select_for_update().only("pk").filter(pk=ask.run_id).first() is None:
        raise Deleted("its run was deleted meanwhile")


def _save_call(call: Call) -> None:
    with writing():
        _lock_run(call.ask)
        call.save()
        Ask.objects.filter(pk=call.ask_id).update(reserved_micros=0)
    call.ask.reserved_micros = 0


@contextmanager
def _kept_if_held(exchange: Exchange, call: Call | None, **changes: Any) -> Iterator[None]:
    """A transaction that keeps what a call brought, if the turn is still this worker's to answer.

    If it is not, the call is kept as unused, with its cost, and Elsewhere is raised before the block has run.
    """
    ask = exchange.ask
    try:
        with writing():
            _lock_run(ask)
            held = Ask.objects.filter(pk=ask.pk, answered_at__isnull=True, lease_owner=exchange.holder)
            if not held.update(**changes):
                raise Elsewhere("answered by another meanwhile")
            yield
            if call:
                call.outcome = Call.Outcome.USED
                call.save()
    except Deleted:
        raise
    except Elsewhere:
        if call:
            with writing():
                call.save()
                # What it could have cost is no longer under way, unless another's call is.
                Ask.objects.filter(pk=ask.pk, lease_owner="").update(reserved_micros=0)
        raise
    _set(ask, changes)


def _set(ask: Ask, changes: Mapping[str, Any]) -> None:
    """Makes the row in hand as the one in the table."""
    for name, value in changes.items():
        setattr(ask, name, value)


def keep(exchange: Exchange, added: list[Message], call: Call | None, answer: Answer | None) -> None:
    """Adds what was given and answered to the conversation and, if it is one, stores the turn's answer: once.

    A turn answered by another meanwhile keeps that answer; the call is kept as unused, with its cost. Raises Elsewhere.
    """
    ask, talk = exchange.ask, exchange.talk
    messages = [*talk.given, *added]
    changes = {"reserved_micros": 0, "trouble": "", "trouble_since": None, **(_answer_fields(answer) if answer else {})}
    with _kept_if_held(exchange, call, **changes):
        _add_messages(ask, len(talk.told.messages) + 1, messages)
    flags = answer.flags if answer else []
    counted_tokens = call.input_tokens if call else talk.told.counted_tokens
    talk.told = carried_on(talk.told, ask, messages, flags, counted_tokens)
    talk.given = []
    heard.put(ask, talk.told)


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


def _answer_fields(answer: Answer) -> dict[str, Any]:
    """What fills the turn's answer in."""
    decision = readable(answer.decision)
    return {
        "tool": decision.tool,
        "arguments": json.dumps(decision.arguments),
        "rationale": decision.rationale,
        "decided_by": MODEL,
        "flags": answer.flags,
        "answered_at": timezone.now(),
        "lease_owner": "",
        "lease_until": None,
    }


# When it does not go well.


def note_trouble(ask: Ask, holder: str, limits: Limits, error: ProviderError) -> None:
    """Lets the turn rest for a while, or pauses the run where waiting does not help or has gone on for long enough."""
    now = timezone.now()
    with writing():
        _lock_run(ask)
        ask.refresh_from_db()
        if ask.answered_at or ask.lease_owner != holder:
            return
        ask.trouble, ask.trouble_since = str(error), ask.trouble_since or now
        ask.lease_owner, ask.lease_until, ask.reserved_micros = "", None, 0
        pause_seconds = rest_seconds(ask.attempts, error)
        ask.not_before = now + timedelta(seconds=pause_seconds)
        waited_seconds = max((now - ask.trouble_since).total_seconds(), error.retry_after or 0)
        gave_up = error.trouble != PASSING or waited_seconds > limits.retry_seconds
        ask.save()
        if not gave_up:
            announce.ring_asks([ask], delay_seconds=pause_seconds)
    if gave_up:
        rest_of_run = timedelta(seconds=max(limits.resume_seconds, pause_seconds))
        resume_at = now + rest_of_run if error.trouble == PASSING else None
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
