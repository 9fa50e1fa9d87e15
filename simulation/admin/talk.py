"""The drawers of what was said to and by language models: turns put to them, calls, and conversations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import Drawer, Fact, Related, RunRowDrawer, refuse_unless_reading
from marketplace.admin.filters import ChoiceFilter, DayFilter, Filter, FirmFilter, Scope
from marketplace.admin.finding import DIGITS, LARGEST_KEY
from marketplace.admin.question import Found, Question, Total
from marketplace.rows import key_of
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation


def wall_time(field: str, title: str) -> Column:
    """A moment of the wall clock."""
    return Column(title, lambda row: showing.wall_time(getattr(row, field)), "moment")


def json_text(field: str, title: str = "") -> Column:
    """A field that holds JSON text, laid out."""
    return Column(title or field, lambda row: showing.pretty_json(showing.json_value(getattr(row, field))), "wide")


def short_text(field: str, title: str = "") -> Column:
    """The beginning of JSON text."""
    return Column(title or field, lambda row: showing.short_json(showing.json_value(getattr(row, field))), "words")


@admin.register(Ask)
class AskDrawer(RunRowDrawer):
    """Every turn that was put to a player outside the engine."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "time"),
        columns.firm(),
        columns.written("tool"),
        Column("flags", lambda ask: showing.short_words(", ".join(map(str, ask.flags)))),
        columns.number("attempts"),
        wall_time("created_at", "asked"),
        wall_time("answered_at", "answered"),
        columns.written("trouble"),
        columns.number("firm_turn", "firm's turn"),
        columns.text("decided_by", "decided by, if not its player"),
    )
    list_select_related = ("firm",)
    search_help_text = "ask 57, 7:ask 57, a firm"
    filters = (FirmFilter("firm"), DayFilter("day"), Filter("decided_by"))
    has_gaps = True
    facts = (
        *list_display[1:8],
        *list_display[9:],
        columns.number("step"),
        wall_time("trouble_since", "trouble since"),
        wall_time("not_before", "not asked before"),
        columns.written("lease_owner", "held by"),
        wall_time("lease_until", "held until"),
        columns.usd("reserved_micros", "reserved for the call under way"),
        columns.written_whole("trouble"),
        columns.written_whole("rationale"),
        json_text("arguments"),
        json_text("given"),
    )

    def related(self, row: Ask) -> Iterable[Related]:
        filters = {"run": row.run_number, "firm": row.firm.name, "day": row.day}
        yield Related("Calls", Call.objects.filter(ask=row), filters)


@admin.register(Conversation)
class ConversationDrawer(RunRowDrawer):
    """What every request for a firm begins with."""

    list_display = (
        columns.own_label("seat"),
        columns.firm(),
        columns.written("system", "system prompt"),
        short_text("tools"),
    )
    list_select_related = ("firm",)
    search_help_text = "a firm"
    filters = (FirmFilter("firm"),)
    has_gaps = True
    facts = (list_display[1], columns.written_whole("system", "system prompt"), json_text("tools"))

    def related(self, row: Conversation) -> Iterable[Related]:
        filters = {"run": row.run_number, "firm": row.firm.name}
        yield Related("Summaries", ChatSummary.objects.filter(firm=row.firm_id), filters)
        yield Related("Messages", ChatMessage.objects.filter(firm=row.firm_id), filters)


def number_link(title: str) -> Column:
    """A row's own key, linked to its page."""
    return Column(title, lambda row: showing.link(showing.row_url(type(row), row.pk), row.pk), "label")


def run_link(row: Any) -> str:
    """The run of a row, linked to its page."""
    return showing.link(showing.row_url(row._meta.get_field("run").related_model, row.run_id), f"run {row.run_id}")


class TalkDrawer(Drawer):
    """Rows of a firm's talk, whose keys count on through all runs."""

    holds_run_rows: ClassVar[bool] = True
    list_select_related = ("firm",)
    search_help_text = "a number, a firm"

    def rows_of_run(self, run_id: int) -> dict[str, Any]:
        """Their firms' keys lie in the range of the run's; the table has an index of firms."""
        return {"firm__gte": key_of(run_id, 0), "firm__lt": key_of(run_id + 1, 0)}

    def columns(self, question: Question) -> tuple[Any, ...]:
        """The run has a column where rows of several may come."""
        first, *others = self.list_display
        run = Column("run", run_link, "label")
        return (first, *others) if question.scope.run_id else (first, run, *others)

    def find(self, typed: str, scope: Scope) -> Found:
        """A row by its number, or those of a firm once a run is chosen."""
        if DIGITS.fullmatch(typed) and int(typed) <= LARGEST_KEY:
            return Found(Q(pk=int(typed)), by_key=True)
        if typed in scope.firms:
            return Found(Q(firm=scope.firms[typed]))
        advice = "" if scope.run else " Firms are found by their names once a run is chosen."
        return Found(Q(pk__in=()), f"Nothing is named “{typed}”. Try {self.search_help_text}.{advice}", by_key=True)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Rows with the firm that their page names."""
        return super().get_queryset(request).select_related(*self.list_select_related)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of one row."""
        refuse_unless_reading(request)
        row = self.get_object(request, unquote(object_id))
        if row is None:
            messages.warning(request, f"There is no {self.opts.verbose_name} “{unquote(object_id)[:40]}”.")
            return HttpResponseRedirect(showing.list_url(self.model))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{row} of run {row.run_id}",
            "row": {"label": str(row), "run_number": row.run_id},
            "run_url": showing.row_url(row._meta.get_field("run").related_model, row.run_id),
            "list_url": showing.list_url(self.model, run=row.run_id),
            "tabs": self.tabs(row.run_id, firm=row.firm.name),
            "facts": [Fact(column.title, column(row), column.kind) for column in self.facts],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/books/row.html", context)


@admin.register(Call)
class CallDrawer(TalkDrawer):
    """Every request to a provider, whatever became of it."""

    list_display = (
        number_link("call"),
        columns.firm(),
        columns.number("day"),
        columns.linked("ask"),
        Column("purpose", lambda call: call.get_purpose_display()),
        Column("outcome", lambda call: call.outcome),
        columns.written("model_asked", "model asked"),
        columns.number("input_tokens", "tokens in"),
        columns.number("cached_tokens", "cached"),
        columns.number("output_tokens", "tokens out"),
        columns.usd("cost_micros", "cost"),
        columns.number("latency_ms", "took, ms"),
        columns.written("error"),
    )
    list_totals = (
        Total("cost, USD", "cost_micros"),
        Total("tokens in", "input_tokens"),
        Total("cached", "cached_tokens"),
        Total("tokens out", "output_tokens"),
    )
    filters = (FirmFilter("firm"), DayFilter("day"), ChoiceFilter("purpose"), ChoiceFilter("outcome"))
    facts = (
        *list_display[1:12],
        columns.number("reasoning_tokens", "reasoning"),
        columns.usd("most_micros", "cost at most"),
        columns.number("attempt"),
        wall_time("created_at", "over at"),
        columns.written("model_answered", "model that answered"),
        columns.written("finish_reason", "finish reason"),
        columns.number("messages_before", "messages before"),
        columns.number("summaries_before", "summaries before"),
        columns.written_whole("error"),
        json_text("raw", "raw answer"),
    )

    def rows_of_run(self, run_id: int) -> dict[str, Any]:
        """The table has an index of runs."""
        return {"run": run_id}


@admin.register(ChatMessage)
class ChatMessageDrawer(TalkDrawer):
    """Every message of every conversation, as it is sent."""

    list_display = (
        number_link("row"),
        columns.firm(),
        columns.number("number"),
        columns.number("day"),
        columns.linked("ask"),
        short_text("content"),
    )
    filters = (FirmFilter("firm"), DayFilter("day"))
    facts = (*list_display[1:5], json_text("content"))


@admin.register(ChatSummary)
class ChatSummaryDrawer(TalkDrawer):
    """Every summary, and the messages it stands for: after the first so many, up to a number."""

    list_display = (
        number_link("row"),
        columns.firm(),
        columns.number("number"),
        columns.linked("ask"),
        columns.number("first", "after message"),
        columns.number("until", "up to message"),
        columns.written("text"),
    )
    filters = (FirmFilter("firm"),)
    facts = (*list_display[1:6], columns.written_whole("text"))
