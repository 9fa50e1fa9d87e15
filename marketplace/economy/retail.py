"""Shops: shelf prices, what consumers bought, and goods that go stale (RULES.md sections 7 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marketplace.economy import ledger
from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd


@dataclass(slots=True, eq=False)
class ConsumerSale:
    """What one shop sold of one item to consumers in one evening, for cash."""

    number: int
    shop: Firm
    day: int
    item: str
    quantity_kg: int
    price_micros: int
    revenue_micros: int
    cost_micros: int


def set_retail_price(economy: Economy, firm: Firm, item: str, price_micros: int) -> None:
    """Sets a shelf price per kg of a consumer item; 0 takes it off the shelf (section 12.5)."""
    if economy.rules.items[item].consumers is None:
        able = ", ".join(name for name, rules in economy.rules.items.items() if rules.consumers)
        raise Refused(f"item_id {item} is not sold to consumers; they buy {able}")
    if price_micros:
        firm.shelf[item] = price_micros
    else:
        firm.shelf.pop(item, None)
    economy.tell("price_set", firm, item=item, price=usd(price_micros))


def sell_to_consumers(economy: Economy, shop: Firm, item: str, quantity_kg: int) -> ConsumerSale:
    """Books one shop's evening sales of an item, paid in cash at its shelf price."""
    price_micros = shop.shelf[item]
    revenue_micros = price_micros * quantity_kg
    cost_micros = shop.stock_out(item, quantity_kg)
    sale = ConsumerSale(
        len(economy.sales) + 1, shop, economy.day, item, quantity_kg, price_micros, revenue_micros, cost_micros
    )
    economy.sales.append(sale)
    shop.sales.append(sale)
    economy.changed[sale] = None
    refs: dict[str, Any] = {"item": item, "quantity_kg": quantity_kg}
    economy.post(shop, ledger.CASH, ledger.REVENUE, revenue_micros, "consumer sales", **refs)
    economy.post(shop, ledger.COST_OF_GOODS_SOLD, ledger.INVENTORY, cost_micros, "cost of consumer sales", **refs)
    economy.tell("consumer_sale", shop, item=item, quantity_kg=quantity_kg, price=usd(price_micros))
    return sale


def spoil_stock(economy: Economy, firm: Firm) -> None:
    """One evening's staling of what a firm holds; fractions of a kilogram carry over to the next (section 8)."""
    rate = economy.rules.spoilage
    for item, holding in firm.holdings.items():
        if holding.quantity_kg:
            stale = holding.quantity_kg * rate + holding.spoilage_carry
            whole_kg = int(stale)
            holding.spoilage_carry = stale - whole_kg
            lost_kg = min(whole_kg, holding.quantity_kg)
            if lost_kg:
                cost_micros = firm.stock_out(item, lost_kg)
                economy.post(
                    firm, ledger.SPOILAGE, ledger.INVENTORY, cost_micros, "spoilage", item=item, quantity_kg=lost_kg
                )
                economy.tell("spoiled", firm, item=item, quantity_kg=lost_kg, cost=usd(cost_micros))
