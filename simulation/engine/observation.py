"""The one door through which a firm learns of the world (RULES.md section 11, DESIGN.md idea 5).

A model's prompt, a person's page and a program's answer are all made from what these functions return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marketplace.economy import ledger
from marketplace.economy.economy import MINUTES_PER_DAY, Economy
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from simulation.engine.clock import CLOSING_MINUTE, MINUTES_PER_CALL, clock_text, date_text
from simulation.engine.scenario import Scenario
from simulation.engine.tools.accounts import totals
from simulation.engine.tools.registry import Result
from simulation.engine.tools.shop import own_sales, shelf_prices
from simulation.engine.tools.trade import deal_row, listing_row, offer_row


@dataclass(slots=True, frozen=True)
class Since:
    """Where a firm's memory of what it was last shown ends."""

    deals: int = 0
    sales_day: int = 0


@dataclass(slots=True, frozen=True)
class View:
    """What a firm is given when its turn comes: the result of its last call, and an observation if it was woken."""

    firm: str
    role: str
    minute: int
    result: Result | None
    observation: dict[str, Any] | None

    @property
    def day(self) -> int:
        """The day its turn falls on."""
        return self.minute // MINUTES_PER_DAY


def observe(economy: Economy, scenario: Scenario, firm: Firm, reasons: list[str], since: Since) -> dict[str, Any]:
    """All that a woken firm is told, as plain data in USD, kg and days. It changes nothing."""
    minute, today = economy.minute, economy.day
    seen: dict[str, Any] = {
        "firm": firm.name,
        "role": firm.role,
        "day": today,
        "days_in_all": scenario.days,
        "date": date_text(today),
        "time": clock_text(minute),
        "calls_left_today": max(0, (CLOSING_MINUTE - minute % MINUTES_PER_DAY) // MINUTES_PER_CALL),
        "woken_by": reasons,
        "cash": usd(firm.cash_micros),
        "inventory_value": usd(firm.balances[ledger.INVENTORY]),
        "receivables": totals(firm.receivables, today),
        "payables": totals(firm.payables, today),
        "stock": _stock(firm),
        "your_open_listings": [_own_listing(listing) for listing in firm.open_listings],
        "offers_to_you": [{"bidder": offer.bidder.name, **offer_row(offer)} for offer in firm.offers_in],
        "your_offers": [{"seller": offer.listing.seller.name, **offer_row(offer)} for offer in firm.offers_out],
        "deals_since_last_active": [deal_row(firm, deal) for deal in firm.deals[since.deals :]],
        "unread_messages": _unread(firm),
        "bankruptcies": _bankruptcies(economy, firm, today),
    }
    if firm.role == "retailer":
        seen["shelf_prices"] = shelf_prices(firm)
        seen["sales_since_last_active"] = own_sales(firm, since.sales_day)
    else:
        seen["batches_in_work"] = [
            {"batch_id": batch.id, "item_id": batch.item, "output_kg": batch.quantity_kg, "lands_day": batch.due_day}
            for batch in firm.batches
        ]
    return seen


def _stock(firm: Firm) -> dict[str, Any]:
    in_flight: dict[str, int] = {}
    for batch in firm.batches:
        in_flight[batch.item] = in_flight.get(batch.item, 0) + batch.quantity_kg
    for deal in firm.arriving:
        in_flight[deal.item] = in_flight.get(deal.item, 0) + deal.quantity_kg
    return {
        "items": {
            item: {"on_hand": holding.quantity_kg, "in_flight": in_flight.get(item, 0)}
            for item, holding in firm.holdings.items()
            if holding.quantity_kg or item in in_flight
        },
        "on_hand": firm.on_hand_kg,
        "in_flight": firm.incoming_kg,
        "cap": firm.storage_cap_kg,
        "headroom": max(0, firm.storage_cap_kg - firm.committed_kg),
    }


def _own_listing(listing: Any) -> dict[str, Any]:
    row = listing_row(listing)
    del row["seller"]
    return row


def _unread(firm: Firm) -> dict[str, Any]:
    oldest = next((message.minute // MINUTES_PER_DAY for message in firm.unread), None)
    return {"by_sender": dict(+firm.unread_from), "oldest_day": oldest}


def _bankruptcies(economy: Economy, firm: Firm, today: int) -> list[dict[str, Any]]:
    """Yesterday's, with what the firm itself had to write off for each."""
    return [
        {
            "firm": other.name,
            "day": other.bankrupt_day,
            "written_off": usd(sum(amount for debtor, amount in firm.written_off if debtor is other)),
        }
        for other in economy.firms
        if other.bankrupt_day == today - 1 and other is not firm
    ]
