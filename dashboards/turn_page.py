"""One turn of one firm, and one call to a model: what was sent to the byte, what came back, and what it came to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.asked import number_asked
from dashboards.colours import style_of
from dashboards.given import NotDerivable, given_by_replay
from dashboards.sent import Sent, SentMessage, sent_with
from dashboards.told import GivenText, Told, given_in, given_text, spend_of, told_ask, told_turn
from dashboards.words import laid_out, laid_out_value, moment_text, sendable
from marketplace.models import Firm
from marketplace.rows import key_of
from simulation.models import Ask, Call, Event, Run, Turn

MESSAGES_SHOWN: Final = 8
"""Of a request's messages a turn's page shows so many, the newest; a call's page leads to all."""
MESSAGES_ON_A_PAGE: Final = 300
"""So many a call's page shows at once: a request that was never shortened has thousands."""
GIST_CHARACTERS: Final = 110


class MessageText(NamedTuple):
    """A message of a request as a page shows it."""

    role: str
    number: int
    day: int | None
    is_new: bool
    text: str
    calls: list[tuple[str, str]]
    others: str
    """Whatever else the provider wants back, such as signed thoughts."""

    @property
    def gist(self) -> str:
        """Its first words, in one line."""
        return " ".join(self.text[:GIST_CHARACTERS].split())


class SentText(NamedTuple):
    """A request as a page shows it: the system prompt, the tools, and all or the newest of the other messages."""

    system: str
    tools: str
    tool_names: list[str]
    messages: list[MessageText]
    left_out: int
    """Earlier messages than those shown."""
    last_shown: int
    """The place of the last one shown, from 1, among all that were sent."""
    sent_messages: int
    conversation_messages: int
    summary: Any


@require_safe
@staff_only
def turn_page(request: HttpRequest, run_id: int, number: int) -> HttpResponse:
    """A turn: the decision and its result, its calls, and what the one that was used had sent."""
    run = get_object_or_404(Run, pk=run_id)
    turn, ask = turn_and_ask(run, number)
    told, firm = told_of(turn, ask)
    calls = list(Call.objects.filter(ask=key_of(run.pk, number)).select_related("ask", "firm").order_by("pk"))
    shown = call_to_show(calls)
    context = {
        "run": run,
        "firm": firm,
        "style": style_of(firm.name),
        "told": told,
        "turn": turn,
        "ask": ask,
        "calls": [(call, laid_out(call.raw) if call.raw else "") for call in calls],
        "spend": spend_of(calls),
        "shown": shown,
        "sent": sent_text(sent_with(run, shown), MESSAGES_SHOWN) if shown else None,
        "settings": settings_text(run, firm),
        **given_context(run, firm, turn, ask),
        **neighbours(firm, number),
    }
    return render(request, "dashboards/turn.html", context)


def turn_and_ask(run: Run, number: int) -> tuple[Turn | None, Ask | None]:
    """A turn, and how it was put to a player outside the engine; at least one of them. Two queries."""
    key = key_of(run.pk, number)
    turn = Turn.objects.select_related("firm").filter(pk=key).first()
    ask = Ask.objects.select_related("firm").filter(pk=key).first()
    if turn is None and ask is None:
        raise Http404
    return turn, ask


def told_of(turn: Turn | None, ask: Ask | None) -> tuple[Told, Firm]:
    """A turn as people read it, and whose it is."""
    if turn is not None:
        return told_turn(turn, ask), turn.firm
    assert ask is not None, "a turn is applied, asked, or both"
    return told_ask(ask), ask.firm


def call_to_show(calls: Sequence[Call]) -> Call | None:
    """The call whose request says most about a turn: the last that was used to decide, else the last of all."""
    used = [call for call in calls if call.outcome == Call.Outcome.USED and call.purpose == Call.Purpose.DECIDE]
    return next(reversed(used or calls), None)


def neighbours(firm: Firm, number: int) -> dict[str, Any]:
    """The firm's turns before and after one. Two queries."""
    turns, key = Turn.objects.filter(firm=firm), key_of(firm.run_number, number)
    return {
        "previous": turns.filter(pk__lt=key).order_by("-day", "-pk").first(),
        "next": turns.filter(pk__gt=key).order_by("day", "pk").first(),
    }


def given_context(run: Run, firm: Firm, turn: Turn | None, ask: Ask | None) -> dict[str, Any]:
    """What the firm was given: as it was kept, or as a replay shows it again; or why it cannot be told."""
    if ask is not None:
        return {"given": given_in(ask)}
    assert turn is not None, "a turn is applied, asked, or both"
    try:
        return {"given": replayed(run, firm, turn), "is_replayed": True}
    except NotDerivable as reason:
        return {"given": None, "not_derivable": str(reason)}


def replayed(run: Run, firm: Firm, turn: Turn) -> GivenText:
    """What the firm was given at a turn, by replay. Raises NotDerivable."""
    given = given_by_replay(run, firm.name, turn.day).get(turn.step)
    if given is None:
        raise NotDerivable("the replay has no such turn")
    return given_text(given)


@require_safe
@staff_only
def given_part(request: HttpRequest, run_id: int, number: int) -> HttpResponse:
    """What a firm was given at a turn, as a part of another page."""
    run = get_object_or_404(Run, pk=run_id)
    turn, ask = turn_and_ask(run, number)
    _, firm = told_of(turn, ask)
    return render(request, "dashboards/_given.html", given_context(run, firm, turn, ask))


def settings_text(run: Run, firm: Firm) -> str:
    """How a firm's model plays; there is the name of a key's variable in it, and never a key."""
    settings = run.model_settings.get(firm.name)
    return "" if settings is None else laid_out_value(settings)


@require_safe
@staff_only
def call_page(request: HttpRequest, run_id: int, call_id: int) -> HttpResponse:
    """A call: all that was sent, page by page, and all that came back."""
    run, call = run_and_call(run_id, call_id)
    context = {
        "run": run,
        "call": call,
        "firm": call.firm,
        "style": style_of(call.firm.name),
        "moment": moment_text(call.ask.minute),
        "raw": laid_out(call.raw) if call.raw else "",
        "sent": sent_text(sent_with(run, call), MESSAGES_ON_A_PAGE, number_asked(request.GET, "before")),
        "is_paged": True,
        "settings": settings_text(run, call.firm),
    }
    return render(request, "dashboards/call.html", context)


@require_safe
@staff_only
def call_json(request: HttpRequest, run_id: int, call_id: int) -> HttpResponse:
    """The messages and tools of a call as they were sent, for a program."""
    run, call = run_and_call(run_id, call_id)
    body = json.dumps({"model": call.model_asked, **sent_with(run, call).as_json})
    response = HttpResponse(body, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="coffeebench-run-{run.pk}-call-{call.pk}.json"'
    return response


def run_and_call(run_id: int, call_id: int) -> tuple[Run, Call]:
    """A call of a run, with its turn and its firm. Two queries."""
    run = get_object_or_404(Run, pk=run_id)
    return run, get_object_or_404(Call.objects.select_related("ask", "firm"), pk=call_id, run=run)


def sent_text(sent: Sent, most: int, before: int | None = None) -> SentText:
    """A request laid out for reading, with so many of its messages: the newest, or those up to a place."""
    head, *others = sent.messages
    end = len(others) if before is None else min(before, len(others))
    start = max(0, end - most)
    return SentText(
        system=sendable(str(head.message["content"])),
        tools=laid_out_value(sent.tools) if sent.tools else "",
        tool_names=[str(tool.get("name")) for tool in sent.tools],
        messages=[message_text(each) for each in others[start:end]],
        left_out=start,
        last_shown=end,
        sent_messages=len(others),
        conversation_messages=sent.conversation_messages,
        summary=sent.summary,
    )


def message_text(sent: SentMessage) -> MessageText:
    """One message laid out for reading. Observations and results are JSON; what a model says is not."""
    message = sent.message
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content)
    is_data = message["role"] in ("tool", "user")
    calls = [call["function"] for call in message.get("tool_calls") or []]
    others = {name: message[name] for name in ("thinking_blocks", "provider_specific_fields") if name in message}
    return MessageText(
        role=str(message["role"]),
        number=sent.number,
        day=sent.day,
        is_new=sent.is_new,
        text=laid_out(text) if is_data else sendable(text),
        calls=[(sendable(call["name"]), laid_out(call["arguments"])) for call in calls],
        others=laid_out_value(others) if others else "",
    )


@require_safe
@staff_only
def event_turn(request: HttpRequest, run_id: int, number: int) -> HttpResponse:
    """From a line of the tape to the turn in which it was decided."""
    run = get_object_or_404(Run, pk=run_id)
    event = get_object_or_404(Event, pk=key_of(run.pk, number))
    turns = Turn.objects.filter(firm=event.firm_id, day=event.day, minute=event.minute).order_by("pk")
    found = turn_behind(event, list(turns))
    if found is None:
        raise Http404
    return redirect("dashboards:turn", run.pk, found.number)


def turn_behind(event: Event, turns: Sequence[Turn]) -> Turn | None:
    """Of a firm's turns of one minute, mostly one, that which names the event's rows, or else the last."""
    labels = {value for value in event.data.values() if isinstance(value, str) and value[1:].isdecimal()}
    naming = [turn for turn in turns if any(f'"{label}"' in turn.arguments + turn.result for label in labels)]
    return next(reversed(naming or turns), None)
