"""Reading the books back from the table of transfers, by sums alone: what the engine kept is never consulted.

So a reader can hold these sums against the engine's own figures, and a difference shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.db.models import F, Q, QuerySet, Sum

from marketplace.economy import ledger
from marketplace.economy.ledger import Balances
from marketplace.economy.money import MICROS_PER_USD
from marketplace.models import Transfer


class AccountSums(NamedTuple):
    """What was debited to and credited from one account, in micro-dollars."""

    debits: int = 0
    credits: int = 0

    @property
    def balance(self) -> int:
        """Debits less credits."""
        return self.debits - self.credits

    def plus(self, debited: int, credited: int) -> AccountSums:
        """These sums and more."""
        return AccountSums(self.debits + debited, self.credits + credited)


Books = dict[str, AccountSums]
"""Account → its sums."""


def sum_in_parts(name: str, field: str, where: Q | None = None) -> dict[str, Sum]:
    """The aggregates of an exact sum of micro-dollars, to be read back with `whole_sum`.

    Databases add in 64 bits, which a table of large amounts exceeds; whole dollars and the rest of them do not.
    """
    return {
        f"{name}_usd": Sum(F(field) / MICROS_PER_USD, filter=where),
        f"{name}_rest": Sum(F(field) % MICROS_PER_USD, filter=where),
    }


def whole_sum(values: Mapping[str, Any], name: str) -> int:
    """The micro-dollars of a sum asked for with `sum_in_parts`; 0 where there was nothing to sum."""
    return int(values[f"{name}_usd"] or 0) * MICROS_PER_USD + int(values[f"{name}_rest"] or 0)


def books_of_firms(transfers: QuerySet[Transfer]) -> dict[int, Books]:
    """Firm key → its books, from the transfers given, in one query."""
    pairs = transfers.order_by().values("firm_id", "debit", "credit")
    books: dict[int, defaultdict[str, AccountSums]] = defaultdict(lambda: defaultdict(AccountSums))
    for pair in pairs.annotate(**sum_in_parts("amount", "amount_micros")):
        amount_micros, accounts = whole_sum(pair, "amount"), books[pair["firm_id"]]
        accounts[pair["debit"]] = accounts[pair["debit"]].plus(amount_micros, 0)
        accounts[pair["credit"]] = accounts[pair["credit"]].plus(0, amount_micros)
    return {firm: dict(accounts) for firm, accounts in books.items()}


def add_books(several: Iterable[Books]) -> Books:
    """The books of several firms as if they were one."""
    total: defaultdict[str, AccountSums] = defaultdict(AccountSums)
    for books in several:
        for account, sums in books.items():
            total[account] = total[account].plus(*sums)
    return dict(total)


def balances_in(books: Books) -> Balances:
    """Every account's balance, as `marketplace.economy.statements` reads it."""
    return {**ledger.opening_balances(), **{account: sums.balance for account, sums in books.items()}}


def accounts_in(books: Books) -> list[str]:
    """The accounts of the ledger in its order, then any the ledger does not know: nothing summed stays hidden."""
    return [*ledger.ACCOUNTS, *sorted(set(books) - set(ledger.ACCOUNTS))]
