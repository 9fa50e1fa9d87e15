"""A firm's own position: goods at weighted-average cost, shelf prices, accounts, and what it has open with others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from marketplace.economy import ledger, statements
from marketplace.economy.money import share

if TYPE_CHECKING:
    from marketplace.economy.credit import Invoice
    from marketplace.economy.mail import Message
    from marketplace.economy.production import Batch
    from marketplace.economy.retail import ConsumerSale
    from marketplace.economy.trading import Deal, Listing, Offer


@dataclass(slots=True)
class Holding:
    """One item on hand: kilograms, what they cost in all, and the fraction of a kilogram already going stale."""

    quantity_kg: int = 0
    cost_micros: int = 0
    spoilage_carry: float = 0.0

    def add(self, quantity_kg: int, cost_micros: int) -> None:
        """Goods arrive at a cost."""
        self.quantity_kg += quantity_kg
        self.cost_micros += cost_micros

    def cost_of(self, quantity_kg: int) -> int:
        """What that many of these kilograms cost, at the weighted average (RULES.md section 4)."""
        return share(self.cost_micros, quantity_kg, self.quantity_kg)

    def take(self, quantity_kg: int) -> int:
        """Goods leave at the weighted average; returns their cost in micro-dollars."""
        cost_micros = self.cost_of(quantity_kg)
        self.quantity_kg -= quantity_kg
        self.cost_micros -= cost_micros
        return cost_micros


@dataclass(slots=True, eq=False)
class Firm:
    """One seat at the table. The collections hold what is open now, so that nothing needs to search the past."""

    seat: int
    name: str
    role: str
    storage_cap_kg: int
    opex_micros: int
    delivery_extra_days: int
    holdings: dict[str, Holding]
    shelf: dict[str, int]
    balances: ledger.Balances = field(default_factory=ledger.opening_balances)
    on_hand_kg: int = 0
    incoming_kg: int = 0
    made_today_kg: dict[str, int] = field(default_factory=dict)
    roasted_today_kg: int = 0
    bankrupt_day: int | None = None
    frozen_score_micros: int | None = None
    open_listings: dict[Listing, None] = field(default_factory=dict)
    offers_in: dict[Offer, None] = field(default_factory=dict)
    offers_out: dict[Offer, None] = field(default_factory=dict)
    payables: dict[Invoice, None] = field(default_factory=dict)
    receivables: dict[Invoice, None] = field(default_factory=dict)
    batches: dict[Batch, None] = field(default_factory=dict)
    deals: list[Deal] = field(default_factory=list)
    mail: list[Message] = field(default_factory=list)
    unread: dict[Message, None] = field(default_factory=dict)
    unread_from: Counter[str] = field(default_factory=Counter)
    sales: list[ConsumerSale] = field(default_factory=list)
    arriving: dict[Deal, None] = field(default_factory=dict)
    written_off: list[tuple[Firm, int]] = field(default_factory=list)
    closing_balances: list[ledger.Balances] = field(default_factory=list)

    @property
    def cash_micros(self) -> int:
        """Cash now; negative only after an operating cost the firm could not meet."""
        return self.balances[ledger.CASH]

    @property
    def is_live(self) -> bool:
        """Whether the firm still acts and pays (section 9)."""
        return self.bankrupt_day is None

    @property
    def committed_kg(self) -> int:
        """On hand + own batches not landed + purchases not delivered (section 5)."""
        return self.on_hand_kg + self.incoming_kg

    @property
    def score_micros(self) -> int:
        """Net income so far; for a bankrupt firm what it was at that moment (section 9)."""
        if self.frozen_score_micros is not None:
            return self.frozen_score_micros
        return statements.net_income(self.balances)

    def on_hand(self, item: str) -> int:
        """Kilograms of one item in the store."""
        return self.holdings[item].quantity_kg

    def stock_in(self, item: str, quantity_kg: int, cost_micros: int) -> None:
        """Goods come into the store at a cost."""
        self.holdings[item].add(quantity_kg, cost_micros)
        self.on_hand_kg += quantity_kg

    def stock_out(self, item: str, quantity_kg: int) -> int:
        """Goods leave the store; returns their cost at the weighted average."""
        self.on_hand_kg -= quantity_kg
        return self.holdings[item].take(quantity_kg)
