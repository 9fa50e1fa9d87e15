"""The drawers of the tape and of each evening's books."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import Related, RunRowDrawer
from marketplace.admin.filters import ChoiceFilter, DayFilter, FirmFilter
from simulation.models import DayEnd, Event, Turn


@admin.register(Event)
class EventDrawer(RunRowDrawer):
    """Everything that happened, in order and without gaps."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "time"),
        Column("kind", lambda event: event.get_kind_display()),
        columns.firm(),
        columns.firm("other"),
        Column("mentions", lambda event: showing.mentions(event.run_number, event.data)),
        Column("data", lambda event: showing.short_json(event.data), "words"),
    )
    list_select_related = ("firm", "other")
    search_help_text = "event 99, 7:event 99, a firm"
    filters = (FirmFilter("firm", ("firm", "other")), DayFilter("day"), ChoiceFilter("kind"))
    facts = (*list_display[1:6], Column("data", lambda event: showing.pretty_json(event.data), "wide"))

    def related(self, row: Event) -> Iterable[Related]:
        turns = Turn.objects.filter(firm=row.firm_id, day=row.day, minute=row.minute)
        filters = {"run": row.run_number, "day": row.day}
        yield Related("What the firm decided in that minute", turns, filters)


@admin.register(DayEnd)
class DayEndDrawer(RunRowDrawer):
    """Each firm's books after each evening, as the engine kept them."""

    list_display = (
        columns.own_label(),
        columns.number("day"),
        columns.firm(),
        columns.usd("net_income_micros", "net income"),
        columns.usd("revenue_micros", "revenue"),
        columns.usd("cash_micros", "cash"),
        columns.usd("inventory_micros", "inventory"),
        columns.usd("work_in_progress_micros", "in progress"),
        columns.usd("goods_in_transit_micros", "in transit"),
        columns.usd("receivables_micros", "receivables"),
        columns.usd("payables_micros", "payables"),
        columns.usd("equity_micros", "equity"),
        Column("books", lambda evening: books_that_day(evening)),
    )
    list_select_related = ("firm",)
    search_help_text = "evening 12, 7:evening 12, a firm"
    filters = (FirmFilter("firm"), DayFilter("day"))
    facts = (
        *list_display[1:],
        Column("in store, kg", lambda evening: showing.pretty_json(evening.stock_kg), "wide"),
        Column("shelf prices, USD/kg", lambda evening: showing.pretty_json(evening.prices), "wide"),
    )


def books_that_day(evening: DayEnd) -> str:
    """The way to the same firm's books summed from the ledger up to that day."""
    url = showing.row_url(type(evening.firm), evening.firm_id)
    return showing.link(f"{url}?day={evening.day}", "summed")
