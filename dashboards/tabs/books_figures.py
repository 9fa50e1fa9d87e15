"""A firm's income by day and its balance sheet over the days, as bars: pure functions from sums of transfers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboards.colours import style_of
from dashboards.figures import Figure, Frame, Measure, label, layout
from marketplace.books import AccountSums, Books, balances_in
from marketplace.economy import ledger, statements
from marketplace.economy.ledger import Balances
from marketplace.economy.money import usd


class DayMoved(NamedTuple):
    """What moved between two accounts on a day."""

    day: int
    debit: str
    credit: str
    amount_micros: int


class Part(NamedTuple):
    """A part that the bars are stacked of: accounts, and its colours, which differ in lightness as well as in hue."""

    key: str
    title: str
    accounts: Sequence[str]
    light: str
    dark: str


INCOME_PARTS: Final = (
    Part("revenue", "revenue less returns", (ledger.REVENUE, ledger.RETURNS), "", ""),
    Part("cost", "cost of goods sold", (ledger.COST_OF_GOODS_SOLD,), "#A3968A", "#8C8076"),
    Part("operating", "operating expenses", ledger.OPERATING_EXPENSES, "#4F4238", "#D9CCBF"),
    Part("late_fees", "late fees, net", (ledger.INTEREST_EXPENSE, ledger.INTEREST_REVENUE), "#8A5CC4", "#B99AE6"),
)
"""Together they are net income. Revenue has the firm's own colour."""

BALANCE_PARTS: Final = (
    Part("inventory", "inventory", (ledger.INVENTORY,), "#8A6A00", "#E0B84A"),
    Part("work", "work in progress", (ledger.WORK_IN_PROGRESS,), "#D4B04A", "#9C7F26"),
    Part("transit", "goods in transit", (ledger.GOODS_IN_TRANSIT,), "#7FA7C4", "#A5CBE8"),
    Part("receivables", "receivables", (ledger.RECEIVABLES,), "#355C86", "#5C8CC0"),
    Part("cash", "cash", (ledger.CASH,), "#D9D1C8", "#574E46"),
    Part("payables", "payables", (ledger.PAYABLES,), "#8A5CC4", "#B99AE6"),
)
"""Together they are equity. Cash, mostly the largest, lies on top, and a click on its name takes it away."""

INK: Final = ("#231C17", "#EFE8E1")
INCOME_TITLE: Final = "Income by day, USD a day"
BALANCE_TITLE: Final = "Balance sheet at each day’s end, USD"


def balances_by_day(moved: Iterable[DayMoved], days: Sequence[int]) -> dict[int, Balances]:
    """What each day did to every account."""
    books: dict[int, Books] = {day: {} for day in days}
    for one in moved:
        if one.day in books:
            accounts = books[one.day]
            accounts[one.debit] = accounts.get(one.debit, AccountSums()).plus(one.amount_micros, 0)
            accounts[one.credit] = accounts.get(one.credit, AccountSums()).plus(0, one.amount_micros)
    return {day: balances_in(found) for day, found in books.items()}


def running_balances(by_day: Mapping[int, Balances]) -> dict[int, Balances]:
    """Every account as each day left it."""
    total, found = ledger.opening_balances(), {}
    for day in sorted(by_day):
        total = {account: total[account] + moved for account, moved in by_day[day].items()}
        found[day] = total
    return found


def income_by_day(by_day: Mapping[int, Balances], frame: Frame, firm: str) -> Figure:
    """What each day earned upwards, what it cost downwards, and what was left as a line."""
    style = style_of(firm)
    parts = [INCOME_PARTS[0]._replace(light=style.light, dark=style.dark), *INCOME_PARTS[1:]]
    traces = [bars(part, by_day, -1) for part in parts]
    left = {day: statements.net_income(balances) for day, balances in by_day.items()}
    return {"data": [*traces, line("net_income", "net income", left)], "layout": stacked(frame, INCOME_TITLE)}


def balance_over_days(by_day: Mapping[int, Balances], frame: Frame) -> Figure:
    """What the firm owned upwards, what it owed downwards, and its equity as a line."""
    traces = [bars(part, by_day, 1) for part in BALANCE_PARTS]
    equity = {day: statements.equity(balances) for day, balances in by_day.items()}
    return {"data": [*traces, line("equity", "equity", equity)], "layout": stacked(frame, BALANCE_TITLE)}


def bars(part: Part, by_day: Mapping[int, Balances], sign: int) -> dict[str, Any]:
    """The bars of one part; `sign` turns debits less credits into what is drawn upwards."""
    days = list(by_day)
    return {
        "type": "bar",
        "name": label(part.title),
        "x": days,
        "y": [usd(sign * sum(by_day[day][account] for account in part.accounts)) for day in days],
        "marker": {"color": part.light, "line": {"width": 0}},
        "hovertemplate": "%{y:,.2f} USD",
        "meta": {"key": part.key, "days": "x", "light": part.light, "dark": part.dark},
    }


def line(key: str, title: str, amounts: Mapping[int, int]) -> dict[str, Any]:
    """What the bars add up to."""
    days = list(amounts)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(title),
        "x": days,
        "y": [usd(amount_micros) for amount_micros in amounts.values()],
        "line": {"color": INK[0], "width": 1.5},
        "hovertemplate": "%{y:,.2f} USD",
        "meta": {"key": key, "days": "x", "light": INK[0], "dark": INK[1]},
    }


def stacked(frame: Frame, title: str) -> dict[str, Any]:
    """Days from left to right, bars on top of each other, with their names above the chart."""
    plain = layout(frame, Measure("", title, ""))
    return {
        **plain,
        "meta": {**plain["meta"], "labels": False},
        "barmode": "relative",
        "bargap": 0,
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
        "margin": {**plain["margin"], "t": 44},
        "xaxis": {**plain["xaxis"], "range": [-0.6, frame.days - 0.4]},
    }
