"""What a firm was owed and owed itself on an evening, invoice by invoice, as far as the ledger had come then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import Q

from dashboards.tabs.books_sums import START, Cell
from dashboards.words import item_text, number_text
from marketplace.books import sum_in_parts, whole_sum
from marketplace.economy import credit, ledger
from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.models import Firm, Invoice, Transfer
from marketplace.rows import number_of

DEBTS_SHOWN: Final = 25

COLUMNS: Final = (
    "pk",
    "issuer_id",
    "debtor_id",
    "deal_id",
    "deal__item",
    "deal__quantity_kg",
    "principal_micros",
    "issued_day",
    "due_day",
    "status",
    "settled_minute",
    "turn_id",
)


class Debt(NamedTuple):
    """An open invoice from one firm's side. `turn` is that of the return that a refund is for, 0 for a delivery."""

    number: int
    other_key: int
    about: str
    deal: int
    issued_day: int
    due_day: int
    overdue_days: int
    is_written_off: bool
    owed: Cell
    turn: int

    @property
    def label(self) -> str:
        """I12."""
        return f"{Invoice.prefix}{self.number}"


class Debts(NamedTuple):
    """Some of the debts of one side, the most urgent first, and what all of them come to."""

    account: str
    rows: Sequence[Debt]
    invoices: int
    overdue: int
    total: Cell

    @property
    def left_out(self) -> int:
        """How many are not shown."""
        return self.invoices - len(self.rows)


class Sides(NamedTuple):
    """What a firm is owed, and what it owes."""

    receivables: Debts
    payables: Debts


def debts_as_of(firm: Firm, until: int, *, all_of_them: bool = False) -> Sides:
    """A firm's open invoices on the evening of a day. Two queries, one where there are none."""
    rows = open_invoices(firm, until)
    balances = balances_by_invoice(firm, until, [row["pk"] for row in rows])
    debts = [debt_of(firm, until, row, balances.get(row["pk"], 0)) for row in rows]
    most = len(debts) if all_of_them else DEBTS_SHOWN
    sides = (
        side(account, [debt for debt in debts if debt.owed.account == account], most)
        for account in (ledger.RECEIVABLES, ledger.PAYABLES)
    )
    return Sides(*sides)


def open_invoices(firm: Firm, until: int) -> list[dict[str, Any]]:
    """The invoices that were on a firm's books on the evening of a day. One query.

    What an issuer wrote off the debtor keeps on its own books (RULES.md section 9).
    """
    is_open = Q(settled_minute=None) | Q(settled_minute__gte=(until + 1) * MINUTES_PER_DAY)
    is_ours = Q(issuer=firm) | Q(debtor=firm)
    is_kept = Q(debtor=firm, status=credit.WRITTEN_OFF)
    invoices = Invoice.objects.filter(is_ours & (is_open | is_kept), issued_day__lte=until)
    return list(invoices.order_by("due_day", "pk").values(*COLUMNS))


def balances_by_invoice(firm: Firm, until: int, invoices: Sequence[int]) -> dict[int, int]:
    """What a firm's ledger holds under some invoices: debits less credits of its two accounts of debts. One query."""
    if not invoices:
        return {}
    accounts = (ledger.RECEIVABLES, ledger.PAYABLES)
    transfers = Transfer.objects.filter(firm=firm, day__lte=until, invoice__in=invoices).order_by()
    groups = transfers.values("invoice_id").annotate(
        **sum_in_parts("debits", "amount_micros", Q(debit__in=accounts)),
        **sum_in_parts("credits", "amount_micros", Q(credit__in=accounts)),
    )
    return {row["invoice_id"]: whole_sum(row, "debits") - whole_sum(row, "credits") for row in groups}


def debt_of(firm: Firm, until: int, row: Mapping[str, Any], balance_micros: int) -> Debt:
    """One open invoice. A refund's principal is booked under the invoice of the goods that came back (section 12.2)."""
    is_owed_to_us = row["issuer_id"] == firm.pk
    is_refund = row["deal_id"] is None
    account = ledger.RECEIVABLES if is_owed_to_us else ledger.PAYABLES
    owed_micros = abs(balance_micros) + (row["principal_micros"] if is_refund else 0)
    number = number_of(row["pk"])
    return Debt(
        number=number,
        other_key=row["debtor_id"] if is_owed_to_us else row["issuer_id"],
        about="refund of a return" if is_refund else goods_text(row["deal__quantity_kg"], row["deal__item"]),
        deal=0 if is_refund else number_of(row["deal_id"]),
        issued_day=row["issued_day"],
        due_day=row["due_day"],
        overdue_days=max(0, until - row["due_day"]),
        is_written_off=is_written_off(row, until),
        owed=Cell(owed_micros, account, START, invoice=0 if is_refund else number),
        turn=number_of(row["turn_id"]) if is_refund and row["turn_id"] else 0,
    )


def is_written_off(row: Mapping[str, Any], until: int) -> bool:
    """Whether the issuer had given it up by the evening of a day."""
    settled_minute = row["settled_minute"]
    return bool(row["status"] == credit.WRITTEN_OFF and settled_minute < (until + 1) * MINUTES_PER_DAY)


def goods_text(quantity_kg: int | None, item: str | None) -> str:
    """30 kg green coffee."""
    return f"{number_text(quantity_kg or 0)} kg {item_text(item or '')}"


def side(account: str, debts: Sequence[Debt], most: int) -> Debts:
    """The debts of one side."""
    return Debts(
        account=account,
        rows=debts[:most],
        invoices=len(debts),
        overdue=sum(debt.overdue_days > 0 for debt in debts),
        total=Cell(sum(debt.owed.amount_micros for debt in debts), account, START),
    )
