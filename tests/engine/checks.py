"""What must hold at every moment of every run, whoever plays it."""

import json
from itertools import islice
from operator import attrgetter
from typing import Any

from marketplace.economy import ledger, statements
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm

_changeable = {
    "listings": attrgetter("remaining_kg", "status", "closed_minute"),
    "offers": attrgetter("status", "closed_minute"),
    "deals": attrgetter("status", "due_day", "delays", "settled_minute"),
    "invoices": attrgetter(
        "fees_micros",
        "credited_micros",
        "paid_micros",
        "returned_kg",
        "returned_cost_micros",
        "status",
        "settled_minute",
    ),
    "messages": attrgetter("read_minute"),
    "batches": attrgetter("status", "settled_minute"),
}
_open_with_a_firm = ("open_listings", "offers_in", "offers_out", "payables", "receivables", "batches", "deals", "mail")
_numbers_of_a_firm = attrgetter(
    *("on_hand_kg", "incoming_kg", "roasted_today_kg", "bankrupt_day", "frozen_score_micros", "score_micros")
)


def snapshot(economy: Economy) -> list[Any]:
    """Everything an economy holds that a call could change."""
    state: list[Any] = [
        [
            len(rows)
            for rows in (economy.transfers, economy.events, economy.sales, economy.sold_on_day, economy.changed)
        ],
        list(economy.open_listings),
        list(economy.travelling),
        list(economy.working),
    ]
    state += rows_in_words(economy)
    for firm in economy.firms:
        state.append(
            [
                list(firm.balances.values()),
                [(one.quantity_kg, one.cost_micros, one.spoilage_carry) for one in firm.holdings.values()],
                _numbers_of_a_firm(firm),
                list(firm.made_today_kg.items()),
                list(firm.shelf.items()),
                [
                    len(getattr(firm, name))
                    for name in (*_open_with_a_firm, "unread", "sales", "arriving", "written_off")
                ],
            ]
        )
    return state


def rows_in_words(economy: Economy) -> list[Any]:
    """The changeable part of every row, to compare two worlds by."""
    return [[fields(row) for row in getattr(economy, table)] for table, fields in _changeable.items()]


def storable(answer: Any) -> bytes:
    """The answer as JSON that any database, page or model can be handed: no NaN, lone surrogate or null byte."""
    text = json.dumps(answer, allow_nan=False, ensure_ascii=False)
    assert r"\u0000" not in text, text
    assert len(text) < 100_000, f"an answer of {len(text)} characters"
    return text.encode()


class Auditor:
    """Adds up the ledger as it grows, and holds every account against the sum of its rows."""

    def __init__(self, economy: Economy) -> None:
        self.economy = economy
        self.sums = [dict.fromkeys(ledger.ACCOUNTS, 0) for _ in economy.firms]
        self.rows_added = 0

    def check(self) -> None:
        """All of section 4 that can be checked between two steps."""
        for row in islice(self.economy.transfers, self.rows_added, None):
            assert row.amount_micros > 0, row
            assert row.debit != row.credit, row
            sums = self.sums[row.seat - 1]
            sums[row.debit] += row.amount_micros
            sums[row.credit] -= row.amount_micros
        self.rows_added = len(self.economy.transfers)
        for firm, sums in zip(self.economy.firms, self.sums, strict=True):
            assert firm.balances == sums, firm.name
        check_books(self.economy)


def check_books(economy: Economy) -> None:
    """Section 4's identity, the accounts against the things they stand for, and stock against what holds it."""
    in_transit = dict.fromkeys(economy.firms, 0)
    for deal in economy.travelling:
        in_transit[deal.seller] += deal.cost_micros
    for firm in economy.firms:
        balances = firm.balances
        assert sum(balances.values()) == 0, firm.name
        assert statements.identity_gap(balances) == 0, firm.name
        assert balances[ledger.GOODS_IN_TRANSIT] == in_transit[firm], firm.name
        assert balances[ledger.WORK_IN_PROGRESS] == sum(batch.cost_micros for batch in firm.batches), firm.name
        assert balances[ledger.RECEIVABLES] == sum(one.owed_micros for one in firm.receivables), firm.name
        if firm.is_live:
            assert -balances[ledger.PAYABLES] == sum(one.owed_micros for one in firm.payables), firm.name
        check_stock(firm)
    for listing in economy.open_listings:
        assert 0 < listing.remaining_kg <= listing.quantity_kg, listing.id
        assert listing.seller.is_live, listing.id


def check_stock(firm: Firm) -> None:
    """No negative stock, no cost without an account, and the totals kept beside the holdings agree with them."""
    on_hand_kg = cost_micros = 0
    for item, holding in firm.holdings.items():
        assert holding.quantity_kg >= 0, f"{firm.name} holds {holding.quantity_kg} kg of {item}"
        assert holding.cost_micros >= 0, f"{firm.name}'s {item} cost {holding.cost_micros}"
        assert 0 <= holding.spoilage_carry < 1, f"{firm.name}'s {item} carries {holding.spoilage_carry}"
        on_hand_kg += holding.quantity_kg
        cost_micros += holding.cost_micros
    assert firm.on_hand_kg == on_hand_kg, firm.name
    assert firm.balances[ledger.INVENTORY] == cost_micros, firm.name
    coming_kg = sum(batch.quantity_kg for batch in firm.batches) + sum(deal.quantity_kg for deal in firm.arriving)
    assert firm.incoming_kg == coming_kg, firm.name
