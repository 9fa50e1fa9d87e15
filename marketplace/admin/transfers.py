"""The drawer of the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin
from django.db.models import Q

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import Related, RunRowDrawer
from marketplace.admin.filters import (
    ACCOUNT_GROUPS,
    AccountFilter,
    DayFilter,
    FirmFilter,
    ItemFilter,
    ReferenceFilter,
    accounts_of,
)
from marketplace.admin.question import Figure, Question, Total
from marketplace.books import AccountSums, sum_in_parts, whole_sum
from marketplace.models import Transfer


def account(field: str) -> Column:
    """One of a transfer's two accounts."""
    return Column(field, lambda transfer: getattr(transfer, field).replace("_", " "))


@admin.register(Transfer)
class TransferDrawer(RunRowDrawer):
    """The ledger: each row one amount from one account of a firm to another."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "time"),
        columns.firm(),
        account("debit"),
        account("credit"),
        columns.usd("amount_micros", "amount"),
        columns.text("reason"),
        columns.text("item"),
        Column("quantity, kg", lambda transfer: showing.whole(transfer.quantity_kg or None), "number"),
        columns.linked_any("deal", "invoice", "batch", title="about"),
        columns.linked("turn"),
    )
    list_select_related = ("firm",)
    list_totals = (Total("amounts, USD", "amount_micros"),)
    search_help_text = "T99, 7:T99, D3 or I12 or B2, a firm"
    filters = (
        FirmFilter("firm"),
        DayFilter("day"),
        AccountFilter("account"),
        ItemFilter("item"),
        ReferenceFilter("deal"),
        ReferenceFilter("invoice"),
        ReferenceFilter("batch"),
        ReferenceFilter("turn"),
    )
    facts = (
        *list_display[1:9],
        columns.linked("deal"),
        columns.linked("invoice"),
        columns.linked("batch"),
        columns.linked("turn"),
    )
    causes = (
        ("brought it about", "turn"),
        ("started the batch", "batch.turn"),
        ("accepted the deal", "deal.turn"),
        ("made the offer", "deal.offer.turn"),
        ("posted the listing", "deal.offer.listing.turn"),
    )

    def figures(self, question: Question) -> list[Figure]:
        """The sum of all, and the two sides of an account where one was chosen."""
        figures = super().figures(question)
        chosen = question.asked.get("account")
        return [*figures, *account_figures(question, chosen)] if figures and chosen else figures

    def related(self, row: Transfer) -> Iterable[Related]:
        together = Transfer.objects.filter(firm=row.firm_id, day=row.day, minute=row.minute, turn=row.turn_id)
        filters = {"run": row.run_number, "firm": row.firm.name, "day": row.day}
        yield Related("What the firm booked with it", together.exclude(pk=row.pk), filters)


def account_figures(question: Question, chosen: str) -> list[Figure]:
    """Debits, credits and balance of an account, or of a group, over the transfers that answer the question."""
    accounts = accounts_of(chosen)
    title = ACCOUNT_GROUPS[chosen][0] if chosen in ACCOUNT_GROUPS else chosen.replace("_", " ")
    values = question.rows.aggregate(
        **sum_in_parts("debits", "amount_micros", Q(debit__in=accounts)),
        **sum_in_parts("credits", "amount_micros", Q(credit__in=accounts)),
    )
    sums = AccountSums(whole_sum(values, "debits"), whole_sum(values, "credits"))
    return [
        Figure(f"debits of {title}, USD", showing.money(sums.debits)),
        Figure(f"credits of {title}, USD", showing.money(sums.credits)),
        Figure(f"balance of {title}, USD", showing.money(sums.balance)),
    ]
