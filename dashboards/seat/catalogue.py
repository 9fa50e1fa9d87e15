"""How each tool is offered to a person: its group and key, its name, and the sentence that says what a call does.

A tool that is not named here is offered all the same, without a key, under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dashboards import words


class Way(NamedTuple):
    """A tool as the console offers it; in `deed` a name in braces stands for an argument."""

    group: str
    key: str
    title: str
    deed: str


GROUPS: Final = ("Trade", "Make", "Money", "Mail", "Look", "Wait")
"""On keys 1 to 6, in this order."""

WAYS: Final[dict[str, Way]] = {
    "make_offer": Way("Trade", "o", "Make an offer", "Offer {offered_price} USD/kg for {qty} kg of {listing_id}"),
    "accept_offer": Way("Trade", "a", "Accept an offer", "Accept {offer_id}"),
    "post_listing": Way("Trade", "l", "List goods for sale", "List {qty} kg {item_id} at {asking_price} USD/kg"),
    "withdraw_offer": Way("Trade", "x", "Withdraw an offer", "Withdraw {offer_id}"),
    "roast": Way("Make", "g", "Roast", "Roast {qty_kg} kg {green_item_id}"),
    "produce_item": Way("Make", "g", "Grow", "Grow {quantity} kg {item_id}"),
    "set_retail_price": Way("Make", "s", "Set a shelf price", "Price {item_id} at {price_per_unit} USD/kg"),
    "pay_invoice": Way("Money", "p", "Pay an invoice", "Pay {invoice_id}"),
    "return_shipment": Way("Money", "b", "Send goods back", "Send back {quantity_kg} kg of {invoice_id}"),
    "send_message": Way("Mail", "m", "Write a message", "Write to {recipient}"),
    "read_message": Way("Mail", "e", "Read a message", "Read {message_id}"),
    "view_listings": Way("Look", "i", "Listings", "Look at listings"),
    "view_offers": Way("Look", "f", "Offers", "Look at offers"),
    "view_deals": Way("Look", "d", "Deals", "Look at deals"),
    "view_payables": Way("Look", "y", "What you owe", "Look at what you owe"),
    "view_receivables": Way("Look", "c", "What you are owed", "Look at what you are owed"),
    "view_messages": Way("Look", "j", "Messages", "Look at messages"),
    "view_trial_balance": Way("Look", "t", "Your books", "Look at your books"),
    "view_market_aggregate": Way("Look", "k", "Consumer market", "Look at the consumer market"),
    "view_consumer_sales": Way("Look", "u", "Your shop's sales", "Look at your shop's sales"),
    "wait_for_next_day": Way("Wait", "w", "Wait for the next day", "Wait for the next day"),
}

ITEM_FIELDS: Final = ("item_id", "green_item_id")


def way_of(tool: str) -> Way:
    """How a tool is offered."""
    known = WAYS.get(tool)
    if known:
        return known
    title = tool.replace("_", " ").capitalize() or "Nothing"
    return Way("Look" if tool.startswith(("view_", "read_")) else "Trade", "", title, title)


def deed_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a call does or did, in words: Roast 48 kg green coffee. Without all its arguments: the tool's name."""
    way = way_of(tool)
    wanted = re.findall(r"{(\w+)}", way.deed)
    if any(arguments.get(name) in (None, "") for name in wanted):
        return way.title
    return re.sub(r"{(\w+)}", lambda found: argument_text(found[1], arguments[found[1]]), way.deed)


def argument_text(name: str, value: Any) -> str:
    """One argument as a sentence has it."""
    if name in ITEM_FIELDS:
        return words.item_text(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)[:80]
    return price_text(value) if "price" in name else words.number_text(value)


def price_text(value: float) -> str:
    """A price in USD: to the cent, or to the hundredth of a cent where it has one."""
    return words.number_text(value, 2 if round(value, 2) == value else 4)


def figure_text(value: float) -> str:
    """A number: whole, or to the hundredth where it is not."""
    return words.number_text(value, 0 if value == int(value) else 2)


def group_title(group: str, role: str) -> str:
    """A group as a role calls it: a shop makes nothing, it prices."""
    return "Shelf" if group == "Make" and role == "retailer" else group
