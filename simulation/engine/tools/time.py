"""The tool that ends a firm's day (RULES.md section 3)."""

from __future__ import annotations

from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from simulation.engine.tools.registry import Result, tool


@tool()
def wait_for_next_day(economy: Economy, firm: Firm) -> Result:
    """Do nothing more until tomorrow morning, or until something happens to you. Costs no time."""
    return {"waiting": True}
