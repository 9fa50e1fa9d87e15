"""Tools for letters between firms (RULES.md section 11)."""

from __future__ import annotations

from itertools import islice
from typing import Any

from marketplace.economy import mail, trading
from marketplace.economy.economy import MINUTES_PER_DAY, Economy, Refused
from marketplace.economy.firm import Firm
from simulation.engine.decision import shown
from simulation.engine.tools.fields import Body, Day, Limit, ListingId, MessageId, OfferId, OtherFirm, Title
from simulation.engine.tools.registry import Result, tool


def known_firm(economy: Economy, firm: Firm, name: str) -> Firm:
    """Another firm of the run by its name."""
    other = economy.firm_named.get(name)
    if other is None or other is firm:
        names = ", ".join(one for one in economy.firm_named if one != firm.name)
        raise Refused(f"there is no other firm {shown(name)}; the others are {names}")
    return other


@tool()
def send_message(
    economy: Economy,
    firm: Firm,
    recipient: OtherFirm,
    title: Title,
    body: Body,
    ref_listing_id: ListingId | None = None,
    ref_offer_id: OfferId | None = None,
) -> Result:
    """Write to another firm; only it can read the message. It may refer to a listing, or to an offer between you."""
    other = known_firm(economy, firm, recipient)
    listing = trading.find_listing(economy, ref_listing_id).number if ref_listing_id else 0
    offer = trading.find_offer(economy, firm, ref_offer_id).number if ref_offer_id else 0
    message = mail.send_message(economy, firm, other, title, body, listing=listing, offer=offer)
    return {"message_id": message.id}


@tool()
def view_messages(
    economy: Economy,
    firm: Firm,
    counterparty: OtherFirm | None = None,
    since_day: Day | None = None,
    limit: Limit = 10,
) -> Result:
    """See the titles of messages you received and sent, newest first; read_message shows a body."""
    other = None if counterparty is None else known_firm(economy, firm, counterparty)
    since_minute = (since_day or 0) * MINUTES_PER_DAY
    found = (
        message
        for message in reversed(firm.mail)
        if message.minute >= since_minute and (other is None or message.sender is other or message.recipient is other)
    )
    rows = [
        {
            "message_id": message.id,
            "from": message.sender.name,
            "to": message.recipient.name,
            "day": message.minute // MINUTES_PER_DAY,
            "title": message.title,
            "unread": message in firm.unread,
        }
        for message in islice(found, limit)
    ]
    return {"messages": rows, "unread_in_all": len(firm.unread)}


@tool()
def read_message(economy: Economy, firm: Firm, message_id: MessageId) -> Result:
    """Read a message you received or sent; a received one is then marked read."""
    message = mail.find_message(economy, firm, message_id)
    mail.read_message(economy, firm, message)
    return letter(message)


def letter(message: mail.Message) -> dict[str, Any]:
    """A message in full, as its two firms may read it."""
    return {
        "message_id": message.id,
        "from": message.sender.name,
        "to": message.recipient.name,
        "day": message.minute // MINUTES_PER_DAY,
        "title": message.title,
        "body": message.body,
        "ref_listing_id": f"L{message.listing}" if message.listing else None,
        "ref_offer_id": f"O{message.offer}" if message.offer else None,
    }
