"""Talk with models written by hand, for tests of pages: turns, calls and messages whose every figure is known."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from marketplace.models import Firm
from marketplace.rows import key_of, number_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Ask, Call, ChatMessage, Conversation, Run, Turn
from simulation.players.llm.settings import Limits, ModelSettings
from tests.small_runs import MORNING, make_run

BEGAN = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
TOOLS = [{"name": "make_offer", "description": "Offer.", "parameters": {"type": "object", "properties": {}}}]


def make_model_run(
    *firms: str, limits: Limits | None = None, settings: dict[str, Any] | None = None, **more: Any
) -> Run:
    """A running run in which models play some firms, `roaster_A` unless others are named."""
    played = firms or ("roaster_A",)
    each = ModelSettings.model_validate({"model": "openai/gpt-5.5", **(settings or {})}).model_dump(mode="json")
    run = make_run(
        model_settings=dict.fromkeys(played, each),
        limits=(limits or Limits()).model_dump(mode="json"),
        started_at=BEGAN,
        **more,
    )
    run.players |= dict.fromkeys(played, "model")
    run.save()
    for name in played:
        firm = firm_of(run, name)
        Conversation.objects.create(pk=firm.pk, run=run, firm=firm, system="You sell coffee.", tools=json.dumps(TOOLS))
    return run


def firm_of(run: Run, name: str) -> Firm:
    """A firm of a run by its name."""
    return Firm.objects.get(run=run, name=name)


def add_turn(run: Run, firm: str = "roaster_A", *, day: int = 0, minute: int = MORNING, **fields: Any) -> Turn:
    """The next turn of a run, applied."""
    run.turns += 1
    run.step += 1
    run.day = max(run.day, day)
    run.minute = day * MINUTES_PER_DAY + minute
    run.save()
    return Turn.objects.create(
        **{
            "pk": key_of(run.pk, run.turns),
            "run": run,
            "firm": firm_of(run, firm),
            "step": run.step,
            "minute": run.minute,
            "day": day,
            "tool": "make_offer",
            "arguments": '{"listing_id": "L1", "qty": 30}',
            "rationale": "Because it is cheap.",
            "accepted": True,
            "result": '{"ok": true, "offer_id": "O1"}',
            "decided_by": "model",
            **fields,
        }
    )


def add_ask(run: Run, turn: Turn | None = None, firm: str = "roaster_A", **fields: Any) -> Ask:
    """How a turn was put to a model, with its answer; or, without a turn, the next one that waits."""
    observation = {"woken_by": ["a new day"], "cash": 15_000}
    common = {"run": run, "given": json.dumps({"result": None, "observation": observation})}
    if turn is None:
        key = key_of(run.pk, run.turns + 1 + Ask.objects.filter(run=run, answered_at=None).count())
        where = {"pk": key, "firm": firm_of(run, firm), "step": run.step + 1, "minute": run.minute, "day": run.day}
        return Ask.objects.create(**where, **{**common, **fields})
    where = {"pk": turn.pk, "firm_id": turn.firm_id, "step": turn.step, "minute": turn.minute, "day": turn.day}
    answer = {"tool": turn.tool, "arguments": turn.arguments, "rationale": turn.rationale, "answered_at": BEGAN}
    return Ask.objects.create(**where, **{**common, **answer, **fields})


def add_call(ask: Ask, *, at_seconds: float = 0, **fields: Any) -> Call:
    """A call for a turn: 3,000 tokens in, 2,000 of them cached, 100 out, for 0.0123 USD in 1.5 s. None if failed."""
    if fields.get("outcome") == Call.Outcome.FAILED:
        nothing = dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"), 0)
        fields = {"cost_micros": None, "most_micros": 0, "raw": "", "model_answered": "", **nothing, **fields}
    call = Call.objects.create(
        **{
            "run_id": ask.run_id,
            "firm_id": ask.firm_id,
            "ask": ask,
            "day": ask.day,
            "purpose": Call.Purpose.DECIDE,
            "outcome": Call.Outcome.USED,
            "attempt": 1,
            "latency_ms": 1500,
            "model_asked": "openai/gpt-5.5",
            "model_answered": "gpt-5.5-2026-10-01",
            "input_tokens": 3000,
            "output_tokens": 100,
            "cached_tokens": 2000,
            "reasoning_tokens": 40,
            "cost_micros": 12_300,
            "most_micros": 12_300,
            "finish_reason": "tool_calls",
            "raw": '{"id": "chatcmpl-1"}',
            "messages_before": ChatMessage.objects.filter(firm_id=ask.firm_id).count() + 1,
            "summaries_before": 0,
            **fields,
        }
    )
    Call.objects.filter(pk=call.pk).update(created_at=BEGAN + timedelta(seconds=at_seconds))
    return call


def add_messages(ask: Ask, *messages: dict[str, Any]) -> None:
    """Messages of a turn, at the end of the conversation."""
    before = ChatMessage.objects.filter(firm_id=ask.firm_id).count()
    ChatMessage.objects.bulk_create(
        ChatMessage(
            run_id=ask.run_id, firm_id=ask.firm_id, number=number, ask=ask, day=ask.day, content=json.dumps(message)
        )
        for number, message in enumerate(messages, before + 1)
    )


def answer_of(ask: Ask) -> dict[str, Any]:
    """What a model said at a turn, as its conversation keeps it."""
    call_id = f"call_{number_of(ask.pk)}"
    call = {"id": call_id, "type": "function", "function": {"name": ask.tool, "arguments": ask.arguments}}
    return {"role": "assistant", "content": ask.rationale, "tool_calls": [call]}


def play_day(run: Run, day: int, *, turns: int = 2, cost_micros: int = 100_000, at_seconds: float = 0) -> None:
    """A day of roaster_A: some turns, each with its messages and one call; the last call ends at a time."""
    for index in range(turns):
        turn = add_turn(run, day=day, minute=MORNING + 30 * index)
        ask = add_ask(run, turn)
        add_call(ask, cost_micros=cost_micros // turns, most_micros=cost_micros // turns, at_seconds=at_seconds)
        add_messages(ask, {"role": "user", "content": '{"day": 0}'}, answer_of(ask))
