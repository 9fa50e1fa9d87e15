"""What becomes of goods under way (RULES.md section 6): lost, delayed by a day, or delivered and invoiced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marketplace.economy import ledger
from marketplace.economy.credit import issue_invoice
from marketplace.economy.economy import Economy
from marketplace.economy.trading import DELIVERED, LOST, TURNED_BACK, Deal, settle_deal


def settle_due_shipments(economy: Economy, today: int, draw: Callable[[], float]) -> None:
    """Settles each shipment due by `today` in order of acceptance, with one draw from [0, 1) each."""
    rules = economy.rules
    for deal in [deal for deal in economy.travelling if deal.due_day <= today]:
        chance = draw()
        if chance < rules.loss:
            lose(economy, deal)
        elif chance < rules.loss + rules.delay:
            delay(economy, deal, today)
        else:
            deliver(economy, deal)


def lose(economy: Economy, deal: Deal) -> None:
    """The seller writes the cost off; there is no invoice and the buyer owes nothing."""
    settle_deal(economy, deal, LOST)
    _post_cost(economy, deal, ledger.OTHER_OPERATING, "shipment lost")
    economy.tell("shipment_lost", deal.seller, deal.buyer, deal=deal.id, item=deal.item, quantity_kg=deal.quantity_kg)


def delay(economy: Economy, deal: Deal, today: int) -> None:
    """The shipment keeps its place and draws again tomorrow."""
    deal.due_day = today + 1
    deal.delays += 1
    economy.changed[deal] = None
    economy.tell(
        "shipment_delayed", deal.seller, deal.buyer, deal=deal.id, item=deal.item, quantity_kg=deal.quantity_kg
    )


def deliver(economy: Economy, deal: Deal) -> None:
    """The buyer's stock rises at the deal's total, the seller books revenue and cost, an invoice is issued."""
    settle_deal(economy, deal, DELIVERED)
    seller, buyer = deal.seller, deal.buyer
    invoice = issue_invoice(economy, seller, buyer, deal.total_micros, deal.terms_days, deal=deal)
    buyer.stock_in(deal.item, deal.quantity_kg, deal.total_micros)
    refs: dict[str, Any] = {
        "item": deal.item,
        "quantity_kg": deal.quantity_kg,
        "deal": deal.number,
        "invoice": invoice.number,
    }
    post, total = economy.post, deal.total_micros
    post(seller, ledger.RECEIVABLES, ledger.REVENUE, total, "delivery invoiced", **refs)
    post(seller, ledger.COST_OF_GOODS_SOLD, ledger.GOODS_IN_TRANSIT, deal.cost_micros, "cost of delivery", **refs)
    post(buyer, ledger.INVENTORY, ledger.PAYABLES, total, "delivery received", **refs)
    economy.tell(
        "shipment_delivered",
        seller,
        buyer,
        deal=deal.id,
        invoice=invoice.id,
        item=deal.item,
        quantity_kg=deal.quantity_kg,
        total=invoice.principal_usd,
        due_day=invoice.due_day,
    )
    economy.wake(buyer, f"delivery of {deal.quantity_kg} kg {deal.item} from {seller.name} (deal {deal.id})")


def turn_back(economy: Economy, deal: Deal) -> None:
    """Goods on their way to a firm that went bankrupt return at once to the seller's stock at cost (section 12.4)."""
    settle_deal(economy, deal, TURNED_BACK)
    deal.seller.stock_in(deal.item, deal.quantity_kg, deal.cost_micros)
    _post_cost(economy, deal, ledger.INVENTORY, "shipment turned back")
    economy.tell(
        "shipment_turned_back", deal.seller, deal.buyer, deal=deal.id, item=deal.item, quantity_kg=deal.quantity_kg
    )


def _post_cost(economy: Economy, deal: Deal, debit: str, reason: str) -> None:
    economy.post(
        deal.seller,
        debit,
        ledger.GOODS_IN_TRANSIT,
        deal.cost_micros,
        reason,
        item=deal.item,
        quantity_kg=deal.quantity_kg,
        deal=deal.number,
    )
