"""Reading the books: net income, income statement, balance sheet, and the identity that ties them."""

from __future__ import annotations

from typing import NamedTuple

from marketplace.economy import ledger
from marketplace.economy.ledger import Balances


class IncomeStatement(NamedTuple):
    """Micro-dollars earned and spent, each as a positive figure except where it truly went the other way."""

    revenue: int
    returns: int
    cost_of_goods_sold: int
    rent_and_utilities: int
    spoilage: int
    other_operating: int
    interest_expense: int
    interest_revenue: int
    net_income: int


class BalanceSheet(NamedTuple):
    """Micro-dollars owned and owed. Goods in transit are those sold and not yet delivered, at cost."""

    cash: int
    inventory: int
    work_in_progress: int
    goods_in_transit: int
    receivables: int
    payables: int
    equity: int


def net_income(balances: Balances) -> int:
    """Revenue − returns − cost of goods sold − operating expenses − interest expense + interest revenue (section 4)."""
    return -sum(balances[account] for account in ledger.INCOME + ledger.EXPENSES)


def equity(balances: Balances) -> int:
    """Cash + inventory + work in progress + goods in transit out + receivables − payables (section 4)."""
    return sum(balances[account] for account in ledger.ASSETS) + balances[ledger.PAYABLES]


def opening_equity(balances: Balances) -> int:
    """What the firm was given before the first morning."""
    return -balances[ledger.OPENING_EQUITY]


def identity_gap(balances: Balances) -> int:
    """Net income so far less the change in equity: zero at every moment, for every firm, exactly (section 4)."""
    return net_income(balances) - (equity(balances) - opening_equity(balances))


def income_statement(balances: Balances) -> IncomeStatement:
    """The income statement of the transfers summed in `balances`."""
    return IncomeStatement(
        revenue=-balances[ledger.REVENUE],
        returns=balances[ledger.RETURNS],
        cost_of_goods_sold=balances[ledger.COST_OF_GOODS_SOLD],
        rent_and_utilities=balances[ledger.RENT_AND_UTILITIES],
        spoilage=balances[ledger.SPOILAGE],
        other_operating=balances[ledger.OTHER_OPERATING],
        interest_expense=balances[ledger.INTEREST_EXPENSE],
        interest_revenue=-balances[ledger.INTEREST_REVENUE],
        net_income=net_income(balances),
    )


def balance_sheet(balances: Balances) -> BalanceSheet:
    """The balance sheet of the transfers summed in `balances`."""
    return BalanceSheet(
        cash=balances[ledger.CASH],
        inventory=balances[ledger.INVENTORY],
        work_in_progress=balances[ledger.WORK_IN_PROGRESS],
        goods_in_transit=balances[ledger.GOODS_IN_TRANSIT],
        receivables=balances[ledger.RECEIVABLES],
        payables=-balances[ledger.PAYABLES],
        equity=equity(balances),
    )
