"""Tools for selling to consumers, and for what is known of that market (RULES.md sections 7 and 11)."""

from __future__ import annotations

from typing import Any

from marketplace.economy import retail
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.money import micros, usd
from simulation.engine.tools.fields import ConsumerItemId, Day, DaysBack, ShelfPrice
from simulation.engine.tools.registry import Result, tool
from simulation.engine.tools.trade import known_item

DEFAULT_DAYS = 7


@tool()
def view_market_aggregate(economy: Economy, firm: Firm, days_back: DaysBack = DEFAULT_DAYS) -> Result:
    """See what consumers bought of each item on the last evenings, in all shops together."""
    evenings = len(economy.sold_on_day)
    days = range(max(0, evenings - days_back), evenings)
    return {
        "consumer_sales": [
            {
                "day": day,
                "item_id": item,
                "qty": sold.quantity_kg,
                "revenue": usd(sold.revenue_micros),
            }
            for day in days
            for item, sold in economy.sold_on_day[day].items()
        ]
    }


@tool("retailer")
def set_retail_price(economy: Economy, firm: Firm, item_id: ConsumerItemId, price_per_unit: ShelfPrice) -> Result:
    """Set what a kg of an item costs in your shop from this evening on; 0 takes it off the shelf."""
    item = known_item(economy, item_id)
    retail.set_retail_price(economy, firm, item, micros(price_per_unit))
    return {"prices": shelf_prices(firm)}


def shelf_prices(firm: Firm) -> dict[str, float]:
    """A shop's own prices, USD per kg, by item."""
    return {item: usd(price_micros) for item, price_micros in firm.shelf.items()}


@tool("retailer")
def view_consumer_sales(economy: Economy, firm: Firm, since_day: Day | None = None) -> Result:
    """See what consumers bought in your own shop, evening by evening; the last seven unless you name a day."""
    first = economy.day - DEFAULT_DAYS if since_day is None else since_day
    return {"sales": own_sales(firm, first)}


def own_sales(firm: Firm, first_day: int) -> list[dict[str, Any]]:
    """A shop's own evening sales from a day on, oldest first."""
    rows = []
    for sale in reversed(firm.sales):
        if sale.day < first_day:
            break
        rows.append(
            {
                "day": sale.day,
                "item_id": sale.item,
                "qty": sale.quantity_kg,
                "price": usd(sale.price_micros),
                "revenue": usd(sale.revenue_micros),
            }
        )
    return rows[::-1]
