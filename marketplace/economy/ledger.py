"""The double-entry ledger: rows that each move one positive whole amount between two accounts of one firm.

Because every row debits one account and credits another by the same amount, the books balance by construction
(RULES.md section 4). Rows are never edited; a correction is another row.
"""

from __future__ import annotations

from typing import Final, NamedTuple

CASH: Final = "cash"
INVENTORY: Final = "inventory"
WORK_IN_PROGRESS: Final = "work_in_progress"
GOODS_IN_TRANSIT: Final = "goods_in_transit"
RECEIVABLES: Final = "receivables"
PAYABLES: Final = "payables"
OPENING_EQUITY: Final = "opening_equity"
REVENUE: Final = "revenue"
RETURNS: Final = "returns"
COST_OF_GOODS_SOLD: Final = "cost_of_goods_sold"
RENT_AND_UTILITIES: Final = "rent_and_utilities"
SPOILAGE: Final = "spoilage"
OTHER_OPERATING: Final = "other_operating"
INTEREST_EXPENSE: Final = "interest_expense"
INTEREST_REVENUE: Final = "interest_revenue"

ASSETS: Final = (CASH, INVENTORY, WORK_IN_PROGRESS, GOODS_IN_TRANSIT, RECEIVABLES)
OPERATING_EXPENSES: Final = (RENT_AND_UTILITIES, SPOILAGE, OTHER_OPERATING)
EXPENSES: Final = (RETURNS, COST_OF_GOODS_SOLD, *OPERATING_EXPENSES, INTEREST_EXPENSE)
INCOME: Final = (REVENUE, INTEREST_REVENUE)
ACCOUNTS: Final = (*ASSETS, PAYABLES, OPENING_EQUITY, *INCOME, *EXPENSES)

type_of_account: Final = {
    **dict.fromkeys(ASSETS, "asset"),
    PAYABLES: "liability",
    OPENING_EQUITY: "equity",
    **dict.fromkeys(INCOME, "income"),
    **dict.fromkeys(EXPENSES, "expense"),
}


class Transfer(NamedTuple):
    """One row of the ledger. `turn`, `deal`, `invoice` and `batch` are ordinals of the run, 0 where there is none."""

    seat: int
    minute: int
    debit: str
    credit: str
    amount_micros: int
    reason: str
    item: str
    quantity_kg: int
    deal: int
    invoice: int
    batch: int
    turn: int


Balances = dict[str, int]
"""Account → debits less credits, in micro-dollars: assets and expenses positive, liabilities and income negative."""


def opening_balances() -> Balances:
    """A firm's accounts before its first transfer."""
    return dict.fromkeys(ACCOUNTS, 0)
