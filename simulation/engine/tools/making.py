"""Tools for making goods: farmers produce, roasters roast (RULES.md section 2)."""

from __future__ import annotations

from marketplace.economy import production
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from marketplace.economy.production import Batch
from simulation.engine.tools.fields import GreenItemId, Kilograms, ProducedItemId
from simulation.engine.tools.registry import Result, tool
from simulation.engine.tools.trade import known_item


@tool("farmer")
def produce_item(economy: Economy, firm: Firm, item_id: ProducedItemId, quantity: Kilograms) -> Result:
    """Grow green coffee: paid in cash now, on hand some mornings later; limited by the day's cap, cash and storage."""
    return _started(production.produce_item(economy, firm, known_item(economy, item_id), quantity))


@tool("roaster")
def roast(economy: Economy, firm: Firm, green_item_id: GreenItemId, qty_kg: Kilograms) -> Result:
    """Roast green coffee you hold: labour is paid now, the roasted coffee, lighter, is on hand some mornings later."""
    return _started(production.roast(economy, firm, known_item(economy, green_item_id), qty_kg))


def _started(batch: Batch) -> Result:
    return {
        "batch_id": batch.id,
        "item_id": batch.item,
        "output_kg": batch.quantity_kg,
        "cost": usd(batch.cost_micros),
        "lands_day": batch.due_day,
    }
