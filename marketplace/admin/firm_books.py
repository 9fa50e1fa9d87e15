"""A firm's trial balance, income statement and balance sheet, summed from its transfers before the reader's eyes.

The identity of RULES.md section 4 is shown with both sides: net income from the accounts of income and expense, equity
from those of assets and debts. Beside it stand the figures that the engine kept, which no sum consults.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from marketplace.admin import showing
from marketplace.books import AccountSums, Books, accounts_in, add_books, balances_in, books_of_firms
from marketplace.economy import ledger, statements
from marketplace.economy.ledger import Balances
from marketplace.models import Firm, Transfer


class TrialLine(NamedTuple):
    """One account."""

    account: str
    type: str
    debits: str
    credits: str
    balance: str
    url: str


class Line(NamedTuple):
    """One line of a statement, and the transfers behind it."""

    title: str
    amount: str
    url: str
    is_sum: bool = False


class Check(NamedTuple):
    """A figure summed from the ledger, beside the one that the engine kept."""

    title: str
    summed: str
    kept: str
    difference_micros: int

    @property
    def verdict(self) -> str:
        """Whether the two are the same."""
        return verdict(self.difference_micros, "agrees", "differs by")


def verdict(difference_micros: int, holds: str, broken: str) -> str:
    """A word on a difference that should be nothing."""
    return f"{broken} {showing.money(difference_micros)}" if difference_micros else holds


@dataclass(frozen=True)
class Identity:
    """Net income so far = equity now − opening equity (RULES.md section 4)."""

    balances: Balances

    @property
    def net_income_micros(self) -> int:
        """What the accounts of income and expense say."""
        return statements.net_income(self.balances)

    @property
    def equity_micros(self) -> int:
        """What the accounts of assets and debts say."""
        return statements.equity(self.balances)

    @property
    def terms(self) -> dict[str, str]:
        """The four terms, written out."""
        opening_micros = statements.opening_equity(self.balances)
        return {
            "net_income": showing.money(self.net_income_micros),
            "equity": showing.money(self.equity_micros),
            "opening_equity": showing.money(opening_micros),
            "gained": showing.money(self.equity_micros - opening_micros),
        }

    @property
    def gap_micros(self) -> int:
        """What the two sides differ by."""
        return statements.identity_gap(self.balances)

    @property
    def verdict(self) -> str:
        """Whether the two sides are the same."""
        return verdict(self.gap_micros, "holds exactly", "BROKEN by")


def trial_lines(books: Books, **filters: object) -> list[TrialLine]:
    """Every account with its sums; the last line adds them up. `filters` lead to the transfers behind them."""
    lines = []
    for account in accounts_in(books):
        url = showing.list_url(Transfer, **filters, account=account)
        kind = ledger.type_of_account.get(account, "unknown")
        lines.append(trial_line(account.replace("_", " "), kind, books.get(account, AccountSums()), url))
    together = AccountSums(*(sum(sums[side] for sums in books.values()) for side in (0, 1)))
    return [*lines, trial_line("all accounts", "", together, showing.list_url(Transfer, **filters))]


def trial_line(account: str, kind: str, sums: AccountSums, url: str) -> TrialLine:
    """One account, written out."""
    debits, credited, balance = map(showing.amount, (sums.debits, sums.credits, sums.balance))
    return TrialLine(account, kind, debits, credited, balance, url)


@dataclass(frozen=True)
class FirmBooks:
    """The books of a firm at the end of a day, or now."""

    firm: Firm
    day: int | None
    books: Books

    @classmethod
    def read(cls, firm: Firm, day: int | None) -> FirmBooks:
        """Sums a firm's transfers in one query."""
        transfers = Transfer.objects.filter(firm=firm)
        if day is not None:
            transfers = transfers.filter(day__lte=day)
        return cls(firm, day, books_of_firms(transfers).get(firm.pk, {}))

    @cached_property
    def balances(self) -> Balances:
        """Every account's balance."""
        return balances_in(self.books)

    @property
    def filters(self) -> dict[str, object]:
        """What the transfers summed here are listed under."""
        days = {} if self.day is None else {"day": f"0-{self.day}"}
        return {"run": self.firm.run_number, "firm": self.firm.name, **days}

    @property
    def as_of(self) -> str:
        """When the books are read."""
        return "now" if self.day is None else f"at the end of day {self.day}"

    @property
    def identity(self) -> Identity:
        """The identity of section 4."""
        return Identity(self.balances)

    @property
    def trial_balance(self) -> list[TrialLine]:
        """Every account's sums."""
        return trial_lines(self.books, **self.filters)

    @property
    def income_statement(self) -> list[Line]:
        """What was earned and spent."""
        return self._lines(statements.income_statement(self.balances)._asdict(), last="net_income")

    @property
    def balance_sheet(self) -> list[Line]:
        """What is owned and owed."""
        return self._lines(statements.balance_sheet(self.balances)._asdict(), last="equity")

    def _lines(self, amounts: dict[str, int], last: str) -> list[Line]:
        return [
            Line(
                name.replace("_", " "),
                showing.amount(amount_micros),
                showing.list_url(Transfer, **self.filters, account=name),
                name == last,
            )
            for name, amount_micros in amounts.items()
        ]

    @cached_property
    def kept(self) -> Any:
        """What the engine kept of that moment: the firm's row, or its evening of that day; None where there is none.

        What still arrives after the last evening is booked on the last day (section 3), whose end is therefore now.
        """
        run = self.firm.run
        if self.day is None or self.day >= run.days - 1:
            return self.firm
        return self.firm.day_ends.filter(day=self.day).first()

    @property
    def checks(self) -> list[Check]:
        """The engine's own figures beside the sums."""
        summed = statements.balance_sheet(self.balances)._asdict() | {
            "opening_equity": statements.opening_equity(self.balances),
            "net_income": statements.net_income(self.balances),
            "revenue": statements.income_statement(self.balances).revenue,
        }
        if self.kept is self.firm and self.firm.bankrupt_day is not None:
            del summed["net_income"]  # frozen as the score, while the books go on (section 9)
        found = ((name, amount, getattr(self.kept, f"{name}_micros", None)) for name, amount in summed.items())
        return [
            Check(name.replace("_", " "), showing.amount(amount), showing.amount(kept), amount - kept)
            for name, amount, kept in found
            if kept is not None
        ]

    @property
    def score(self) -> str:
        """The net income a bankrupt firm is scored by."""
        return showing.money(self.firm.net_income_micros)


def books_together(several: list[Books]) -> tuple[Books, Identity]:
    """The books of several firms added up, and whether the identity holds for them."""
    books = add_books(several)
    return books, Identity(balances_in(books))
