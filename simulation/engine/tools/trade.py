"""Tools for the market between firms: listings, offers, deals (RULES.md sections 5 and 11)."""

from __future__ import annotations

from itertools import islice
from typing import Any, Literal

from marketplace.economy import trading
from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.money import micros, usd
from marketplace.economy.trading import Deal, Listing, Offer
from simulation.engine.decision import shown
from simulation.engine.tools.fields import Flag, ItemId, Kilograms, ListingId, Note, OfferId, Price, TermsDays
from simulation.engine.tools.registry import Result, tool

DEALS_SHOWN = 20


def known_item(economy: Economy, item_id: str) -> str:
    """The item, if the run's catalogue has it."""
    if item_id not in economy.rules.items:
        raise Refused(f"there is no item {shown(item_id)}; the items are {', '.join(economy.rules.items)}")
    return item_id


@tool()
def post_listing(
    economy: Economy,
    firm: Firm,
    item_id: ItemId,
    qty: Kilograms,
    asking_price: Price,
    payment_terms_days: TermsDays = 30,
) -> Result:
    """Offer goods you hold for sale to all firms. Nothing is reserved: you can still use, sell or list them again."""
    item = known_item(economy, item_id)
    listing = trading.post_listing(economy, firm, item, qty, micros(asking_price), payment_terms_days)
    return {"listing_id": listing.id}


@tool()
def view_listings(economy: Economy, firm: Firm, item_id: ItemId | None = None, only_others: Flag = False) -> Result:
    """See the open listings of all firms, oldest first; of one item, or without your own, if you say so."""
    item = None if item_id is None else known_item(economy, item_id)
    return {
        "listings": [
            listing_row(listing)
            for listing in economy.open_listings
            if (item is None or listing.item == item) and not (only_others and listing.seller is firm)
        ]
    }


def listing_row(listing: Listing) -> dict[str, Any]:
    """A listing as every firm may see it."""
    return {
        "listing_id": listing.id,
        "seller": listing.seller.name,
        "item_id": listing.item,
        "qty": listing.remaining_kg,
        "asking_price": usd(listing.price_micros),
        "payment_terms_days": listing.terms_days,
    }


@tool()
def make_offer(
    economy: Economy,
    firm: Firm,
    listing_id: ListingId,
    offered_price: Price,
    qty: Kilograms,
    payment_terms_days: TermsDays = 30,
    message: Note = "",
) -> Result:
    """Bid on another firm's open listing: your price per kg, quantity and days to pay. Nothing is reserved or paid."""
    listing = trading.find_listing(economy, listing_id)
    price_micros = micros(offered_price)
    offer = trading.make_offer(economy, firm, listing, qty, price_micros, payment_terms_days, message)
    return {"offer_id": offer.id}


@tool()
def withdraw_offer(economy: Economy, firm: Firm, offer_id: OfferId) -> Result:
    """Take back an offer of yours that is still pending."""
    trading.withdraw_offer(economy, firm, trading.find_offer(economy, firm, offer_id))
    return {"withdrawn": offer_id}


@tool()
def accept_offer(economy: Economy, firm: Firm, offer_id: OfferId) -> Result:
    """Accept a pending offer on a listing of yours: the goods leave at once, and are invoiced when delivered."""
    deal = trading.accept_offer(economy, firm, trading.find_offer(economy, firm, offer_id))
    return {"deal_id": deal.id, "total": usd(deal.total_micros), "due_day": deal.due_day}


@tool()
def view_offers(economy: Economy, firm: Firm, direction: Literal["both", "incoming", "outgoing"] = "both") -> Result:
    """See the pending offers on your listings (incoming) and your own pending offers (outgoing), oldest first."""
    result: Result = {}
    if direction != "outgoing":
        result["incoming"] = [{"bidder": offer.bidder.name, **offer_row(offer)} for offer in firm.offers_in]
    if direction != "incoming":
        result["outgoing"] = [{"seller": offer.listing.seller.name, **offer_row(offer)} for offer in firm.offers_out]
    return result


def offer_row(offer: Offer) -> dict[str, Any]:
    """An offer as its two firms may see it."""
    return {
        "offer_id": offer.id,
        "listing_id": offer.listing.id,
        "item_id": offer.listing.item,
        "qty": offer.quantity_kg,
        "offered_price": usd(offer.price_micros),
        "asking_price": usd(offer.listing.price_micros),
        "payment_terms_days": offer.terms_days,
        "message": offer.message,
    }


@tool()
def view_deals(economy: Economy, firm: Firm) -> Result:
    """See your own latest deals, newest first, and what became of each shipment."""
    deals = [deal_row(firm, deal) for deal in islice(reversed(firm.deals), DEALS_SHOWN)]
    return {"deals": deals, "deals_in_all": len(firm.deals)}


def deal_row(firm: Firm, deal: Deal) -> dict[str, Any]:
    """A deal as one of its firms may see it: no cost of the other's."""
    is_sale = deal.seller is firm
    return {
        "deal_id": deal.id,
        "side": "sale" if is_sale else "purchase",
        "with": deal.buyer.name if is_sale else deal.seller.name,
        "item_id": deal.item,
        "qty": deal.quantity_kg,
        "price": usd(deal.price_micros),
        "total": usd(deal.total_micros),
        "payment_terms_days": deal.terms_days,
        "status": deal.status,
        "due_day": deal.due_day,
    }
