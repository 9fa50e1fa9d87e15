"""What an assisted seat is shown for free: the answers of every tool that only looks, as they would be now."""

from __future__ import annotations

from typing import Any, Final

from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from simulation.engine import tools
from simulation.engine.tools.mail import letter

LOOKS: Final = (
    "view_trial_balance",
    "view_listings",
    "view_offers",
    "view_deals",
    "view_payables",
    "view_receivables",
    "view_messages",
    "view_market_aggregate",
    "view_consumer_sales",
)
"""The tools that only look. read_message is not one: it marks the message as read."""

LETTERS_SHOWN: Final = 50


def panels_of(economy: Economy, firm: Firm) -> dict[str, Any]:
    """The result of each looking tool of the firm's role with its default arguments, and its latest letters.

    Looking changes nothing, so a message whose body is shown here stays unread until read_message reads it.
    """
    panels: dict[str, Any] = {
        name: tools.call(economy, firm, name, {}) for name in LOOKS if name in tools.tools_of(firm.role)
    }
    return {**panels, "letters": [letter(message) for message in reversed(firm.mail[-LETTERS_SHOWN:])]}
