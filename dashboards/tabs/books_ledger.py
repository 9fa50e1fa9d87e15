"""The transfers behind a number: a question of a firm's ledger, its sum, and its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.core.exceptions import BadRequest
from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from dashboards.asked import choice_asked, number_in
from dashboards.tabs.books_sums import BEFORE, DAY, START
from dashboards.tabs.pages import Page, page_of
from dashboards.words import item_text, moment_text, number_text
from marketplace.admin import showing
from marketplace.admin.filters import ACCOUNT_GROUPS, accounts_of
from marketplace.books import sum_in_parts, whole_sum
from marketplace.economy import ledger
from marketplace.models import Batch, Deal, Firm, Invoice, Transfer
from marketplace.rows import number_of

WITHIN: Final = {DAY: "of the day", START: "since the run began", BEFORE: "up to the evening before"}

# Where more on the credit side makes the number larger: what is owed, earned, or was given.
CREDIT_TYPES: Final = frozenset(("liability", "equity", "income"))
MOST_CHARACTERS: Final = 40

BY_THE_OTHER: Final = frozenset(("payment received", "goods returned", "return credited"))
"""What a firm's ledger books by a turn of the firm it trades with."""


def sign_of_account(name: str) -> int:
    """1 where debits make an account's number larger, −1 where credits do."""
    if name in ACCOUNT_GROUPS:
        return -1 if name == "net_income" else 1
    return -1 if ledger.type_of_account[name] in CREDIT_TYPES else 1


class Answer(NamedTuple):
    """How many transfers answer a question, and what they come to in micro-dollars."""

    transfers: int
    amount_micros: int

    @property
    def text(self) -> str:
        """The sum in USD."""
        return showing.money(self.amount_micros)


class Entry(NamedTuple):
    """A transfer as a line of the ledger. `effect` is what it adds to the number that is asked about."""

    number: int
    moment: str
    debit: str
    credit: str
    amount: str
    effect: str
    is_negative: bool
    reason: str
    item: str
    quantity: str
    about: list[tuple[str, str]]
    turn: int
    is_by_the_other: bool


@dataclass(frozen=True, slots=True)
class Question:
    """Which of a firm's transfers are asked for: those that change an account, or a sum of accounts; empty for all."""

    account: str = ""
    within: str = DAY
    reason: str = ""
    goods: str = ""
    invoice: int = 0

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that the number adds up; none where all transfers are asked for."""
        return accounts_of(self.account) if self.account else ()

    @property
    def title(self) -> str:
        """The account in words."""
        return title_of_account(self.account) if self.account else "All transfers"

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for less than a stretch of time."""
        return bool(self.account or self.reason or self.goods or self.invoice)

    def transfers(self, firm: Firm, until: int) -> QuerySet[Transfer]:
        """The rows that answer it, as of the evening of day `until`.

        What only moves within a sum of accounts, as from cash to inventory within equity, does not change it.
        """
        rows = Transfer.objects.filter(firm=firm, **self._days(until))
        if self.account:
            debited, credited = Q(debit__in=self.accounts), Q(credit__in=self.accounts)
            rows = rows.filter((debited & ~credited) | (credited & ~debited))
        if self.reason:
            rows = rows.filter(reason=self.reason)
        if self.goods:
            rows = rows.filter(item=self.goods)
        if self.invoice:
            rows = rows.filter(invoice=firm.pk - firm.number + self.invoice)
        return rows

    def _days(self, until: int) -> dict[str, int]:
        return {DAY: {"day": until}, START: {"day__lte": until}, BEFORE: {"day__lt": until}}[self.within]

    def answer(self, firm: Firm, until: int) -> Answer:
        """The sum of those rows, with the sign that the statements give it. One query."""
        rows = self.transfers(firm, until)
        if not self.account:
            values = rows.aggregate(rows=Count("pk"), **sum_in_parts("moved", "amount_micros"))
            return Answer(values["rows"], whole_sum(values, "moved"))
        values = rows.aggregate(
            rows=Count("pk"),
            **sum_in_parts("debits", "amount_micros", Q(debit__in=self.accounts)),
            **sum_in_parts("credits", "amount_micros", Q(credit__in=self.accounts)),
        )
        balance_micros = whole_sum(values, "debits") - whole_sum(values, "credits")
        return Answer(values["rows"], balance_micros * sign_of_account(self.account))

    def page(self, firm: Firm, until: int, asked: QueryDict) -> Page[Entry]:
        """A page of those rows, newest first. One query."""
        page = page_of(self.transfers(firm, until), firm.run_number, asked)
        return page.of([self.entry(row) for row in page.rows])

    def entry(self, row: Transfer) -> Entry:
        """A transfer as a line."""
        effect_micros = self.effect(row)
        return Entry(
            number=row.number,
            moment=moment_text(row.minute),
            debit=row.debit.replace("_", " "),
            credit=row.credit.replace("_", " "),
            amount=showing.amount(row.amount_micros),
            effect=showing.amount(effect_micros),
            is_negative=effect_micros < 0,
            reason=row.reason,
            item=item_text(row.item) if row.item else "",
            quantity=number_text(row.quantity_kg) if row.quantity_kg else "",
            about=about_of(row),
            turn=number_of(row.turn_id) if row.turn_id else 0,
            is_by_the_other=row.reason in BY_THE_OTHER,
        )

    def effect(self, row: Transfer) -> int:
        """What a transfer adds to the number, in micro-dollars."""
        if not self.account:
            return row.amount_micros
        side = (row.debit in self.accounts) - (row.credit in self.accounts)
        return row.amount_micros * side * sign_of_account(self.account)


def title_of_account(name: str) -> str:
    """An account, or a sum of accounts, in words."""
    return ACCOUNT_GROUPS[name][0] if name in ACCOUNT_GROUPS else name.replace("_", " ")


def about_of(row: Transfer) -> list[tuple[str, str]]:
    """The label of each thing that a transfer is about, and its page in the cabinet; nothing is looked up."""
    keys = ((Deal, row.deal_id), (Invoice, row.invoice_id), (Batch, row.batch_id))
    return [(f"{model.prefix}{number_of(key)}", showing.row_url(model, key)) for model, key in keys if key]


def question_in(asked: QueryDict) -> Question:
    """The question that an address puts; without one, all transfers of the day."""
    account = asked.get("account", "")
    if account and account not in ACCOUNT_GROUPS and account not in ledger.ACCOUNTS:
        raise BadRequest("no account of the ledger has that name")
    return Question(
        account=account,
        within=choice_asked(asked, "within", WITHIN) or DAY,
        reason=short_text(asked, "reason"),
        goods=short_text(asked, "goods"),
        invoice=number_in(asked, "invoice"),
    )


def short_text(asked: QueryDict, name: str) -> str:
    """A short text from an address."""
    text = asked.get(name, "")
    if len(text) > MOST_CHARACTERS or "\0" in text:
        raise BadRequest(f"{name} is no text of at most {MOST_CHARACTERS} characters")
    return text


def choices_of_accounts() -> list[tuple[str, list[tuple[str, str]]]]:
    """The accounts to choose from, sums of several first."""
    groups = [(name, title) for name, (title, _) in ACCOUNT_GROUPS.items()]
    return [("Sums", groups), ("Accounts", [(name, title_of_account(name)) for name in ledger.ACCOUNTS])]


def ledger_context(firm: Firm, until: int, asked: QueryDict) -> dict[str, Any]:
    """What the template needs of the ledger. Two queries."""
    question = question_in(asked)
    return {
        "question": question,
        "answer": question.answer(firm, until),
        "ledger": question.page(firm, until, asked),
        "accounts": choices_of_accounts(),
        "spans": WITHIN,
    }
