"""A firm's statements as of a day, summed from its transfers, each number with the question that leads to them.

The sums are made by the database, and put together by `marketplace.economy.statements` as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from django.db.models import Case, IntegerField, Value, When

from dashboards.words import item_text, number_text
from marketplace.admin import showing
from marketplace.books import AccountSums, Books, balances_in, sum_in_parts, whole_sum
from marketplace.economy import ledger, statements
from marketplace.economy.ledger import Balances
from marketplace.economy.money import usd
from marketplace.models import Firm, Transfer

DAY: Final = "day"
START: Final = "start"
BEFORE: Final = "before"


class Moved(NamedTuple):
    """What moved from one account to another for one reason, on the shown day or before it."""

    is_today: bool
    debit: str
    credit: str
    reason: str
    item: str
    amount_micros: int

    def onto(self, account: str) -> int:
        """What it adds to an account, in micro-dollars."""
        return self.amount_micros * ((self.debit == account) - (self.credit == account))


class Cell(NamedTuple):
    """A number of a statement, and what the transfers behind it have in common."""

    amount_micros: int
    account: str
    within: str
    reason: str = ""
    goods: str = ""
    invoice: int = 0

    @property
    def text(self) -> str:
        """The amount in USD, to the micro-dollar where cents do not hold it."""
        return showing.amount(self.amount_micros)

    @property
    def is_negative(self) -> bool:
        """Whether it is below zero, which the page shows beside the sign."""
        return self.amount_micros < 0


class Row(NamedTuple):
    """A line of a statement; its columns are the table's. None: there was nothing yet to count."""

    title: str
    cells: Sequence[Cell | None]
    is_sum: bool = False


class Stock(NamedTuple):
    """An item in the store: kilograms, what they cost in all, and the average of it."""

    item: str
    quantity_kg: int
    cost: Cell

    @property
    def title(self) -> str:
        """The item as people call it."""
        return item_text(self.item)

    @property
    def average(self) -> str:
        """Weighted-average cost in USD/kg."""
        return number_text(usd(self.cost.amount_micros) / self.quantity_kg, 4) if self.quantity_kg else "–"


def moved_until(firm: Firm, day: int) -> list[Moved]:
    """All that a firm's ledger moved up to the evening of a day, added up. One query."""
    today = Case(When(day=day, then=Value(1)), default=Value(0), output_field=IntegerField())
    groups = Transfer.objects.filter(firm=firm, day__lte=day).annotate(today=today).order_by()
    rows = groups.values("today", "debit", "credit", "reason", "item").annotate(
        **sum_in_parts("moved", "amount_micros")
    )
    return [
        Moved(bool(row["today"]), row["debit"], row["credit"], row["reason"], row["item"], whole_sum(row, "moved"))
        for row in rows
    ]


def books_in(moved: Iterable[Moved]) -> Books:
    """Some movements as books."""
    books: Books = {}
    for one in moved:
        books[one.debit] = books.get(one.debit, AccountSums()).plus(one.amount_micros, 0)
        books[one.credit] = books.get(one.credit, AccountSums()).plus(0, one.amount_micros)
    return books


class Periods(NamedTuple):
    """A firm's accounts in three stretches of time: on the day, since the run began, and up to the evening before."""

    day: Balances
    start: Balances
    before: Balances


def periods_of(moved: Sequence[Moved]) -> Periods:
    """The three stretches of what moved."""
    return Periods(
        day=balances_in(books_in(one for one in moved if one.is_today)),
        start=balances_in(books_in(moved)),
        before=balances_in(books_in(one for one in moved if not one.is_today)),
    )


def income_rows(periods: Periods) -> list[Row]:
    """The income statement: of the day, and since the run began."""
    return statement_rows(periods, (DAY, START), lambda balances: statements.income_statement(balances)._asdict())


def balance_rows(periods: Periods, day: int) -> list[Row]:
    """The balance sheet: the evening before (none before Day 0), what the day changed, and the day's evening."""
    rows = statement_rows(periods, (BEFORE, DAY, START), lambda balances: statements.balance_sheet(balances)._asdict())
    return rows if day else [row._replace(cells=[None, *row.cells[1:]]) for row in rows]


def statement_rows(
    periods: Periods, columns: Sequence[str], read: Callable[[Balances], Mapping[str, int]]
) -> list[Row]:
    """The lines of a statement; the last one sums up the others."""
    amounts = {within: read(getattr(periods, within)) for within in columns}
    names = list(amounts[START])
    return [
        Row(
            name.replace("_", " "),
            [Cell(amounts[within][name], name, within) for within in columns],
            is_sum=name == names[-1],
        )
        for name in names
    ]


def cash_rows(moved: Sequence[Moved]) -> list[Row]:
    """Cash in and out by reason, on the day and since the run began; what came in first, the largest first."""
    by_reason: dict[str, tuple[int, int]] = {}
    for one in moved:
        amount_micros = one.onto(ledger.CASH)
        if amount_micros:
            day, start = by_reason.get(one.reason, (0, 0))
            by_reason[one.reason] = (day + amount_micros * one.is_today, start + amount_micros)
    rows = [
        Row(reason, [Cell(day, ledger.CASH, DAY, reason), Cell(start, ledger.CASH, START, reason)])
        for reason, (day, start) in sorted(by_reason.items(), key=lambda found: -found[1][1])
    ]
    totals = [sum(amounts[index] for amounts in by_reason.values()) for index in (0, 1)]
    cells = [Cell(amount, ledger.CASH, within) for amount, within in zip(totals, (DAY, START), strict=True)]
    return [*rows, Row("change in cash", cells, is_sum=True)]


def stock_rows(moved: Iterable[Moved], stock_kg: Mapping[str, int], catalogue: Sequence[str]) -> list[Stock]:
    """The store by item, in the order of the catalogue: kilograms as they were counted, cost as the ledger has it."""
    costs = dict.fromkeys(stock_kg, 0)
    for one in moved:
        costs[one.item] = costs.get(one.item, 0) + one.onto(ledger.INVENTORY)
    held = [item for item in costs if costs[item] or stock_kg.get(item)]
    order = {item: place for place, item in enumerate(catalogue)}
    return [
        Stock(item, int(stock_kg.get(item, 0)), Cell(costs[item], ledger.INVENTORY, START, goods=item))
        for item in sorted(held, key=lambda item: (order.get(item, len(order)), item))
    ]
