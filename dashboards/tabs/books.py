"""The tab Firm of a run's page: a firm's statements as of a day, and the ledger behind every number of them."""

from __future__ import annotations

from typing import Any

from dashboards.asked import firm_asked
from dashboards.colours import FirmStyle, style_of
from dashboards.figures import Figure
from dashboards.state import frame_of
from dashboards.tabs.books_debts import Sides, debts_as_of
from dashboards.tabs.books_figures import DayMoved, balance_over_days, balances_by_day, income_by_day, running_balances
from dashboards.tabs.books_ledger import ledger_context
from dashboards.tabs.books_sums import (
    balance_rows,
    books_in,
    cash_rows,
    income_rows,
    moved_until,
    periods_of,
    stock_rows,
)
from dashboards.tabs.look import Look, Tab
from marketplace.admin.firm_books import FirmBooks
from marketplace.books import sum_in_parts, whole_sum
from marketplace.models import Firm, Transfer


def context(look: Look) -> dict[str, Any]:
    """What the template needs. Six queries at most."""
    firm = firm_shown(look)
    if firm is None:
        return {"firm": None}
    firm.run = look.run
    moved = moved_until(firm, look.until)
    periods = periods_of(moved)
    books = FirmBooks(firm, None if look.until >= look.run.day else look.until, books_in(moved))
    kept_kg = books.kept.stock_kg if books.kept else {}
    return {
        "firm": firm,
        "style": style_of(firm.name),
        "choices": [] if look.knower else look.firms,
        "is_so_far": look.until == look.run.day and not look.run.is_over,
        "income": income_rows(periods),
        "balance": balance_rows(periods, look.until),
        "cash": cash_rows(moved),
        "stock": stock_rows(moved, kept_kg, list(look.run.scenario.get("items", {}))),
        "identity": books.identity,
        "checks": books.checks,
        "disagreeing": [check for check in books.checks if check.difference_micros],
        "debts": named(debts_as_of(firm, look.until, all_of_them=look.asked.get("debts") == "all"), look),
        "reasons": sorted({one.reason for one in moved}),
        **ledger_context(firm, look.until, look.asked),
    }


def firm_shown(look: Look) -> Firm | None:
    """The firm whose books are shown: the knower's own, else the one asked for, else the evaluated one."""
    if look.knower is not None:
        return look.knower
    asked = firm_asked(look.asked.get("firm", ""), look.firms)
    evaluated = (firm for firm in look.firms if firm.name == look.run.evaluated)
    return asked or next(evaluated, None) or next(iter(look.firms), None)


def named(sides: Sides, look: Look) -> list[dict[str, Any]]:
    """The two sides of debts, each invoice with the name of the other firm."""
    return [
        {"side": side, "rows": [(debt, *name_and_style(look.names.get(debt.other_key, ""))) for debt in side.rows]}
        for side in sides
    ]


def name_and_style(name: str) -> tuple[str, FirmStyle]:
    """A firm's name, and how it is drawn."""
    return name, style_of(name)


def figures(look: Look) -> dict[str, Figure]:
    """Income and balance sheet by day, of the days that are over. One query."""
    firm = firm_shown(look)
    if firm is None:
        return {}
    run = look.run
    over = range(run.day + 1 if run.is_over else run.day)
    by_day = balances_by_day(moved_by_day(firm), over)
    running = running_balances(by_day)
    frame = frame_of(run, [firm.name])
    shown = [day for day in over if day > look.after]
    return {
        "income_by_day": income_by_day({day: by_day[day] for day in shown}, frame, firm.name),
        "balance_over_days": balance_over_days({day: running[day] for day in shown}, frame),
    }


def moved_by_day(firm: Firm) -> list[DayMoved]:
    """What moved between any two accounts of a firm on each day. One query."""
    groups = Transfer.objects.filter(firm=firm).order_by().values("day", "debit", "credit")
    rows = groups.annotate(**sum_in_parts("moved", "amount_micros"))
    return [DayMoved(row["day"], row["debit"], row["credit"], whole_sum(row, "moved")) for row in rows]


TAB = Tab("books", "Firm", context, figures)
