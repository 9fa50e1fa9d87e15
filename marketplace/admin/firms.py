"""The drawer of firms, whose pages are their books."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import RunRowDrawer
from marketplace.admin.filters import ChoiceFilter, Filter, FirmFilter
from marketplace.admin.firm_books import FirmBooks
from marketplace.admin.question import Total
from marketplace.models import Firm


def state_of(firm: Firm) -> str:
    """Whether a firm still trades."""
    return "trading" if firm.bankrupt_day is None else f"bankrupt on day {firm.bankrupt_day}"


def stock_of(firm: Firm) -> str:
    """What a firm has in store."""
    return " · ".join(f"{item} {quantity_kg} kg" for item, quantity_kg in firm.stock_kg.items()) or showing.NOTHING


def prices_of(firm: Firm) -> str:
    """What a shop asks of consumers."""
    return " · ".join(f"{item} {price}" for item, price in firm.prices.items()) or showing.NOTHING


class DayForm(forms.Form):
    """As of the end of which day the books are read; nothing: now."""

    day = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=999_999,
        label="As of the end of day",
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), "A day is a whole number from 0."),
        widget=forms.TextInput({"inputmode": "numeric", "size": 5, "placeholder": "now"}),
    )


@admin.register(Firm)
class FirmDrawer(RunRowDrawer):
    """The firms of all runs, and the books of each."""

    list_display = (
        columns.own_label("firm"),
        columns.text("role"),
        columns.written("player"),
        columns.usd("net_income_micros", "net income"),
        columns.usd("revenue_micros", "revenue"),
        columns.usd("cash_micros", "cash"),
        columns.usd("equity_micros", "equity"),
        Column("in store, kg", lambda firm: showing.whole(sum(firm.stock_kg.values())), "number"),
        columns.number("calls"),
        columns.number("refused_calls", "refused"),
        columns.number("idle_days", "idle days"),
        columns.number("messages_sent", "messages"),
        Column("state", state_of),
    )
    list_totals = (
        Total("net income, USD", "net_income_micros"),
        Total("revenue, USD", "revenue_micros"),
        Total("cash, USD", "cash_micros"),
    )
    search_fields = ("name", "player")
    search_help_text = "a firm or its player"
    filters = (FirmFilter("firm", ("pk",)), ChoiceFilter("role"), Filter("player"))
    facts = (
        columns.text("role"),
        columns.written("player"),
        Column("state", state_of),
        Column("in store", stock_of),
        Column("shelf prices, USD/kg", prices_of),
        columns.number("calls"),
        columns.number("refused_calls", "refused calls"),
        columns.number("idle_days", "idle days"),
        columns.number("messages_sent", "messages sent"),
    )
    page_template = "admin/books/firm.html"

    def page_context(self, request: HttpRequest, row: Firm) -> dict[str, Any]:
        """Its books, as of a day if one was asked for."""
        form = DayForm(request.GET.dict(), label_suffix="")
        form.is_valid()
        day = form.cleaned_data.get("day")
        return {
            **super().page_context(request, row),
            "day_form": form,
            "books": FirmBooks.read(row, day),
            "tabs": self.tabs(row.run_number, firm=row.name),
        }
