"""Tools for money and the firm's own books (RULES.md sections 4, 6 and 11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from marketplace.economy import credit, ledger, statements
from marketplace.economy.credit import Invoice
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.ledger import Balances
from marketplace.economy.money import usd
from simulation.engine.tools.fields import Flag, InvoiceId, Kilograms, Limit, Note, OtherFirm
from simulation.engine.tools.mail import known_firm
from simulation.engine.tools.registry import Result, tool

Period = Literal["all", "today", "last_7_days", "last_30_days"]
_days_of: dict[str, int] = {"today": 1, "last_7_days": 7, "last_30_days": 30}


@tool()
def view_payables(
    economy: Economy, firm: Firm, only_overdue: Flag = False, counterparty: OtherFirm | None = None, limit: Limit = 20
) -> Result:
    """See the unpaid invoices you owe, most urgent first, with totals over all of them. Nothing is paid by itself."""
    return _invoices(economy, firm, firm.payables, "to", only_overdue, counterparty, limit)


@tool()
def view_receivables(
    economy: Economy, firm: Firm, only_overdue: Flag = False, counterparty: OtherFirm | None = None, limit: Limit = 20
) -> Result:
    """See the unpaid invoices others owe you, most urgent first, with totals over all of them."""
    return _invoices(economy, firm, firm.receivables, "from", only_overdue, counterparty, limit)


def _invoices(
    economy: Economy,
    firm: Firm,
    invoices: Iterable[Invoice],
    side: Literal["to", "from"],
    only_overdue: bool,
    counterparty: str | None,
    limit: int,
) -> Result:
    today = economy.day
    other = None if counterparty is None else known_firm(economy, firm, counterparty)

    def partner(invoice: Invoice) -> Firm:
        return invoice.issuer if side == "to" else invoice.debtor

    found = [
        invoice
        for invoice in invoices
        if (other is None or partner(invoice) is other) and not (only_overdue and invoice.due_day >= today)
    ]
    found.sort(key=lambda invoice: invoice.due_day)
    return {
        "invoices": [
            {"invoice_id": one.id, side: partner(one).name, **invoice_row(one, today)} for one in found[:limit]
        ],
        **totals(found, today),
    }


def invoice_row(invoice: Invoice, today: int) -> dict[str, Any]:
    """An open invoice as its two firms may see it."""
    return {
        "deal_id": invoice.deal.id if invoice.deal else None,
        "item_id": invoice.deal.item if invoice.deal else None,
        "owed": usd(invoice.owed_micros),
        "of_which_late_fees": usd(invoice.fees_micros),
        "issued_day": invoice.issued_day,
        "due_day": invoice.due_day,
        "days_overdue": max(0, today - invoice.due_day),
    }


def totals(invoices: Iterable[Invoice], today: int) -> dict[str, Any]:
    """What open invoices come to: how many, how much, how many overdue, and the late fees among it."""
    count = overdue = owed_micros = fees_micros = 0
    for invoice in invoices:
        count += 1
        overdue += invoice.due_day < today
        owed_micros += invoice.owed_micros
        fees_micros += invoice.fees_micros
    return {
        "open": count,
        "overdue": overdue,
        "total_owed": usd(owed_micros),
        "late_fees": usd(fees_micros),
    }


@tool()
def pay_invoice(economy: Economy, firm: Firm, invoice_id: InvoiceId) -> Result:
    """Pay an invoice you owe, in full, late fees included."""
    paid_micros = credit.pay_invoice(economy, firm, credit.find_payable(economy, firm, invoice_id))
    return {"paid": usd(paid_micros), "cash": usd(firm.cash_micros)}


@tool()
def return_shipment(
    economy: Economy, firm: Firm, invoice_id: InvoiceId, quantity_kg: Kilograms, reason: Note = ""
) -> Result:
    """Send delivered goods back to their seller for credit at the price you paid, while they can be returned."""
    invoice = credit.find_payable(economy, firm, invoice_id)
    credit_micros = credit.return_shipment(economy, firm, invoice, quantity_kg, reason)
    return {"credit": usd(credit_micros), "still_owed": usd(invoice.owed_micros)}


@tool()
def view_trial_balance(economy: Economy, firm: Firm, period: Period = "all") -> Result:
    """See your own books: cash, stock at cost, what is owed, and your income statement for a period ending now."""
    balances = firm.balances
    income = statements.income_statement(_moved_in(economy, firm, period))
    sheet = statements.balance_sheet(balances)
    return {
        "cash": usd(balances[ledger.CASH]),
        "stock": {
            item: {
                "qty": holding.quantity_kg,
                "cost": usd(holding.cost_micros),
                "average_cost": round(holding.cost_micros / holding.quantity_kg / 1_000_000, 4),
            }
            for item, holding in firm.holdings.items()
            if holding.quantity_kg
        },
        "balance_sheet": {name: usd(amount) for name, amount in zip(sheet._fields, sheet, strict=True)},
        "period": period,
        "income_statement": {name: usd(amount) for name, amount in zip(income._fields, income, strict=True)},
    }


def _moved_in(economy: Economy, firm: Firm, period: Period) -> Balances:
    """The sum of the transfers of a period that ends now: balances now less those at the close before it began."""
    last_close = economy.day - _days_of[period] if period in _days_of else -1
    if last_close < 0:
        return firm.balances
    before = firm.closing_balances[last_close]
    return {account: amount - before[account] for account, amount in firm.balances.items()}
