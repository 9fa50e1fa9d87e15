"""The economy's one mutable state, and the three things every verb may do to it: post, wake, tell.

The verbs live beside it, one file a subject (trading, shipments, credit, production, mail, retail, bankruptcy). Each
checks first and refuses by raising `Refused`, which changes nothing; then it acts and cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from marketplace.economy import ledger
from marketplace.economy.firm import Firm, Holding
from marketplace.economy.ledger import Transfer
from marketplace.economy.money import micros
from marketplace.economy.rules import ROLES, EconomyRules, Role, RoleRules

if TYPE_CHECKING:
    from marketplace.economy.credit import Invoice
    from marketplace.economy.mail import Message
    from marketplace.economy.production import Batch
    from marketplace.economy.retail import ConsumerSale
    from marketplace.economy.trading import Deal, Listing, Offer

MINUTES_PER_DAY = 1440


class Refused(Exception):
    """A call that cannot be done; its text says what was wrong and what would be allowed."""


class Event(NamedTuple):
    """Something that happened, for the tape: who did it, to whom, and the figures. `seat` 0 is the world itself."""

    minute: int
    kind: str
    seat: int
    other_seat: int
    data: dict[str, Any]


class ItemSales(NamedTuple):
    """What all shops together sold of an item in an evening."""

    quantity_kg: int
    revenue_micros: int


def letters(index: int) -> str:
    """A, B, … Z, AA, AB, …: the letter of the index-th firm of a role, counted from 0."""
    text = ""
    index += 1
    while index:
        index, remainder = divmod(index - 1, 26)
        text = chr(ord("A") + remainder) + text
    return text


def firm_names(rules: EconomyRules) -> list[tuple[str, Role]]:
    """(name, role) of every firm in seating order (RULES.md section 1)."""
    return [
        (f"{role}_{letters(index)}", role)
        for role in ROLES
        if role in rules.roles
        for index in range(rules.roles[role].firms)
    ]


class Economy:
    """Firms, market, books and mail of one run. `wake` is called with (firm, reason) when something befalls a firm."""

    def __init__(self, rules: EconomyRules, wake: Callable[[Firm, str], None]) -> None:
        self.rules = rules
        self.wake = wake
        self.minute = 0
        self.turn = 0
        self.transfers: list[Transfer] = []
        self.events: list[Event] = []
        self.changed: dict[Any, None] = {}
        self.listings: list[Listing] = []
        self.offers: list[Offer] = []
        self.deals: list[Deal] = []
        self.invoices: list[Invoice] = []
        self.messages: list[Message] = []
        self.batches: list[Batch] = []
        self.sales: list[ConsumerSale] = []
        self.sold_on_day: list[dict[str, ItemSales]] = []
        self.open_listings: dict[Listing, None] = {}
        self.travelling: dict[Deal, None] = {}
        self.working: dict[Batch, None] = {}
        self.firms = [self._seat_firm(seat, name, role) for seat, (name, role) in enumerate(firm_names(rules), 1)]
        self.firm_named = {firm.name: firm for firm in self.firms}

    @property
    def day(self) -> int:
        """The day the economy's minute falls on."""
        return self.minute // MINUTES_PER_DAY

    def _seat_firm(self, seat: int, name: str, role: Role) -> Firm:
        opening = self.rules.opening_of(name, role)
        firm = Firm(
            seat=seat,
            name=name,
            role=role,
            storage_cap_kg=opening.storage_cap_kg,
            opex_micros=micros(opening.opex),
            delivery_extra_days=opening.delivery_extra_days,
            holdings={item: Holding() for item in self.rules.items},
            shelf={item: micros(price) for item, price in opening.prices.items()},
        )
        self._open_books(firm, opening)
        return firm

    def _open_books(self, firm: Firm, opening: RoleRules) -> None:
        self.post(firm, ledger.CASH, ledger.OPENING_EQUITY, micros(opening.cash), "opening cash")
        for item, stock in opening.stock.items():
            cost_micros = micros(stock.unit_cost) * stock.quantity_kg
            firm.stock_in(item, stock.quantity_kg, cost_micros)
            self.post(
                firm,
                ledger.INVENTORY,
                ledger.OPENING_EQUITY,
                cost_micros,
                "opening stock",
                item=item,
                quantity_kg=stock.quantity_kg,
            )

    def post(
        self,
        firm: Firm,
        debit: str,
        credit: str,
        amount_micros: int,
        reason: str,
        *,
        item: str = "",
        quantity_kg: int = 0,
        deal: int = 0,
        invoice: int = 0,
        batch: int = 0,
    ) -> None:
        """Writes one row of the ledger; an amount of zero moves nothing and leaves none. Amounts are never negative."""
        if amount_micros == 0:
            return
        if amount_micros < 0:
            raise AssertionError(f"{reason}: a transfer of {amount_micros} micro-dollars")
        balances = firm.balances
        balances[debit] += amount_micros
        balances[credit] -= amount_micros
        self.transfers.append(
            Transfer(
                firm.seat,
                self.minute,
                debit,
                credit,
                amount_micros,
                reason,
                item,
                quantity_kg,
                deal,
                invoice,
                batch,
                self.turn,
            )
        )

    def tell(self, kind: str, firm: Firm | None, other: Firm | None = None, /, **data: Any) -> None:
        """Adds a line to the tape."""
        self.events.append(Event(self.minute, kind, firm.seat if firm else 0, other.seat if other else 0, data))
