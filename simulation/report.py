"""The figures of merit of a run, as a table for people and as data for programs (RULES.md section 13)."""

from __future__ import annotations

from typing import Any

from marketplace.economy.money import usd
from marketplace.models import Firm
from simulation.models import Run


def figures_of(run: Run) -> dict[str, Any]:
    """One object for a run: its state, and a firm's figures by name; amounts in USD."""
    return {
        "run": run.pk,
        "status": run.status,
        "day": run.day,
        "firms": {firm.name: _firm_figures(firm) for firm in run.firms.all()},
    }


def _firm_figures(firm: Firm) -> dict[str, Any]:
    return {
        "net_income": usd(firm.net_income_micros),
        "revenue": usd(firm.revenue_micros),
        "cash": usd(firm.cash_micros),
        "equity": usd(firm.equity_micros),
        "calls": firm.calls,
        "idle_days": firm.idle_days,
        "messages_sent": firm.messages_sent,
        "bankrupt_day": firm.bankrupt_day,
    }


def table_of(run: Run) -> str:
    """The same for reading: a line a firm, units in the header."""
    headers = ["firm", "player", "net income, USD", "revenue, USD", "cash, USD", "calls", "idle days", "messages"]
    rows = [headers]
    for firm in run.firms.all():
        name = firm.name if firm.bankrupt_day is None else f"{firm.name} (bankrupt on day {firm.bankrupt_day})"
        amounts = (firm.net_income_micros, firm.revenue_micros, firm.cash_micros)
        counts = (firm.calls, firm.idle_days, firm.messages_sent)
        rows.append([name, firm.player, *(f"{usd(amount):,.2f}" for amount in amounts), *map(str, counts)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(headers))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
