"""A firm's whole conversation, a day to a page: what it was given, why it did what, and what came of it.

Only one day's rows are read, whatever the length of the run. Where a model's conversation was summarised the page says
so, at the turn at which it happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.alarms import alarms_text, flags_by_day, together
from dashboards.asked import whole_number
from dashboards.books import shown_firms
from dashboards.colours import style_of
from dashboards.snapshot import firms_of
from dashboards.told import GivenText, Told, by_ask, given_in, one_line, spend_of, told_ask, told_turn
from dashboards.words import laid_out, laid_out_value, sendable, weekday_of
from marketplace.models import Firm
from marketplace.rows import key_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run, Turn
from simulation.players.llm import memory
from simulation.spend import Spend, total_of

MOST_DAYS_NAMED: Final = 24


class SummaryMark(NamedTuple):
    """Where a summary was made, and the messages it stands for from then on."""

    number: int
    ask_id: int
    day: int
    first: int
    until: int
    text: str = ""
    first_day: int | None = None
    last_day: int | None = None

    @property
    def first_number(self) -> int:
        """The first message it stands for, from 1."""
        return self.first + 1

    @property
    def messages(self) -> int:
        """How many messages it stands for."""
        return self.until - self.first


class Note(NamedTuple):
    """A call of a model's own memory, which is no decision and takes no time."""

    tool: str
    arguments: str
    result: str


@dataclass(frozen=True)
class Entry:
    """A turn on the page. `given` is None where it would have to be derived."""

    told: Told
    given: GivenText | None
    calls: Sequence[Call]
    spend: Spend
    summaries: Sequence[SummaryMark]
    notes: Sequence[Note]
    ask: Ask | None
    is_applied: bool


@dataclass(frozen=True)
class Day:
    """A firm's day: its turns in order, and what its calls came to."""

    entries: list[Entry]
    spend: Spend


@require_safe
@staff_only
def conversation(request: HttpRequest, run_id: int, firm: str, day: int | None = None) -> HttpResponse:
    """A firm's day; the latest one, unless another is asked for."""
    run = get_object_or_404(Run, pk=run_id)
    if "day" in request.GET:
        return redirect("dashboards:conversation_day", run_id, firm, whole_number(request.GET["day"]))
    firms = firms_of(run)
    one = firm_named(firms, firm)
    day = latest_day(run, one) if day is None else day
    if day >= max(run.days, 1):
        raise Http404
    return render(request, "dashboards/conversation.html", context_of(run, firms, one, day))


def firm_named(firms: Iterable[Firm], name: str) -> Firm:
    """The firm of that name."""
    found = next((firm for firm in firms if firm.name == name), None)
    if found is None:
        raise Http404
    return found


def latest_day(run: Run, firm: Firm) -> int:
    """The last day on which the firm decided anything, or yet may. One query for a bankrupt firm, none for others."""
    if firm.bankrupt_day is None:
        return run.day
    last = Turn.objects.filter(firm=firm).order_by("-day").values_list("day", flat=True).first()
    return last or 0


def context_of(run: Run, firms: list[Firm], firm: Firm, day: int) -> dict[str, Any]:
    """What the template needs."""
    marks, flags = summary_marks(run, firm), flags_by_day(run, firm)
    return {
        "run": run,
        "firm": firm,
        "style": style_of(firm.name),
        "firms": [(each, style_of(each.name)) for each in shown_firms(firms, run.evaluated)],
        "settings": run.model_settings.get(firm.name),
        "opening": opening_of(run, firm),
        "day": day,
        "weekday": weekday_of(day * MINUTES_PER_DAY),
        "last_day": run.days - 1,
        "previous": day - 1 if day else None,
        "next": day + 1 if day < run.day else None,
        "is_open": day == run.day and not run.is_over,
        "is_to_come": day > run.day,
        "latest_day": latest_day(run, firm),
        "alarms": alarms_text(together(flags.values()), firm.refused_calls),
        "flagged": nearest(flags, day),
        "summarised": nearest((mark.day for mark in marks), day),
        "page": day_of(run, firm, day, marks),
    }


class Opening(NamedTuple):
    """What every request for a firm begins with."""

    system: str
    tools: str
    tool_names: list[str]


def opening_of(run: Run, firm: Firm) -> Opening | None:
    """A model's system prompt and tools, once it has been asked. One query; none for a firm that no model plays."""
    kept = Conversation.objects.filter(pk=firm.pk).first() if firm.name in run.model_settings else None
    if kept is None:
        return None
    tools = json.loads(kept.tools)
    return Opening(sendable(kept.system), laid_out_value(tools), [str(tool.get("name")) for tool in tools])


def nearest(days: Iterable[int], day: int) -> tuple[list[int], int]:
    """Of some days those nearest to one, in order, and how many there are besides."""
    all_days = set(days)
    near = sorted(all_days, key=lambda each: (abs(each - day), each))[:MOST_DAYS_NAMED]
    return sorted(near), len(all_days) - len(near)


def summary_marks(run: Run, firm: Firm) -> list[SummaryMark]:
    """Where a firm's conversation was summarised. One query; none for a firm that no model plays."""
    if firm.name not in run.model_settings:
        return []
    rows = ChatSummary.objects.filter(firm=firm).order_by("number")
    return [SummaryMark(*row) for row in rows.values_list("number", "ask_id", "ask__day", "first", "until")]


def day_of(run: Run, firm: Firm, day: int, marks: Sequence[SummaryMark]) -> Day:
    """A firm's day. One query for a script's, three for a model's, and three more where it was summarised or noted."""
    turns = list(Turn.objects.filter(firm=firm, day=day).order_by("pk"))
    if firm.name not in run.model_settings:
        entries = [Entry(told_turn(turn, None), None, [], Spend(), [], [], None, is_applied=True) for turn in turns]
        return Day(entries, Spend())
    asks = asks_of(run, firm, day, turns)
    calls = list(Call.objects.filter(ask__in=[*asks]).order_by("pk").defer("raw"))
    summaries = summaries_at(firm, [mark for mark in marks if mark.ask_id in asks])
    notes = notes_of(run, firm, calls)
    by_key = {turn.pk: turn for turn in turns}
    calls_of = by_ask(calls)
    keys = sorted({*by_key, *asks})
    entries = [
        entry_of(by_key.get(key), asks.get(key), calls_of.get(key, []), summaries.get(key, []), notes.get(key, []))
        for key in keys
    ]
    return Day(entries, total_of(entry.spend for entry in entries))


def asks_of(run: Run, firm: Firm, day: int, turns: Iterable[Turn]) -> dict[int, Ask]:
    """How the day's turns were put to a model, by key; the one that is still open among them. One query."""
    is_open = Q(firm=firm, day=day, pk__gt=key_of(run.pk, run.turns), pk__lt=key_of(run.pk + 1, 0))
    asks = Ask.objects.filter(Q(pk__in=[turn.pk for turn in turns]) | is_open)
    return {ask.pk: ask for ask in asks.order_by("pk")}


def entry_of(
    turn: Turn | None, ask: Ask | None, calls: list[Call], summaries: list[SummaryMark], notes: list[Note]
) -> Entry:
    """One turn of a model's; it may have been applied, or only asked."""
    told = told_turn(turn, ask) if turn else told_ask(ask) if ask else None
    assert told is not None, "a turn is applied, asked, or both"
    given = given_in(ask) if ask else None
    return Entry(told, given, calls, spend_of(calls), summaries, notes, ask, is_applied=turn is not None)


def summaries_at(firm: Firm, marks: Sequence[SummaryMark]) -> Mapping[int, list[SummaryMark]]:
    """The summaries made at some turns, in full, by the turn's key. Two queries, none without a summary."""
    if not marks:
        return {}
    rows = ChatSummary.objects.filter(firm=firm, number__in=[mark.number for mark in marks])
    texts = dict(rows.values_list("number", "text"))
    ends = {number for mark in marks for number in (mark.first + 1, mark.until)}
    days = dict(ChatMessage.objects.filter(firm=firm, number__in=ends).values_list("number", "day"))
    found: dict[int, list[SummaryMark]] = {}
    for mark in marks:
        text = sendable(texts.get(mark.number, ""))
        full = mark._replace(text=text, first_day=days.get(mark.first + 1), last_day=days.get(mark.until))
        found.setdefault(mark.ask_id, []).append(full)
    return found


def notes_of(run: Run, firm: Firm, calls: Iterable[Call]) -> Mapping[int, list[Note]]:
    """What a model did with its own memory, by the turn's key. One query; none for a model without a memory."""
    before = [call.messages_before for call in calls if call.purpose == Call.Purpose.DECIDE]
    if not before or not run.model_settings[firm.name].get("memory_tools"):
        return {}
    rows = ChatMessage.objects.filter(firm=firm, number__gt=min(before), number__lte=max(before) + 2)
    messages = [(row.ask_id, json.loads(row.content)) for row in rows.order_by("number")]
    found: dict[int, list[Note]] = {}
    for (ask_id, message), (_, answer) in pairwise(messages):
        for call in message.get("tool_calls") or []:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            if name in memory.NAMES and answer["role"] == "tool":
                note = Note(name, sendable(one_line(arguments)), laid_out(str(answer.get("content") or "")))
                found.setdefault(ask_id, []).append(note)
    return found
