"""Listings, offers and deals between firms (RULES.md section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from marketplace.economy import ledger
from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.money import to_cents, usd

OPEN, SOLD_OUT, CLOSED = "open", "sold out", "closed"
PENDING, ACCEPTED, REJECTED, WITHDRAWN = "pending", "accepted", "rejected", "withdrawn"
TRAVELLING, DELIVERED, LOST, TURNED_BACK = "travelling", "delivered", "lost", "turned back"


@dataclass(slots=True, eq=False)
class Listing:
    """A public notice that a seller would part with some kilograms at about a price. It reserves nothing."""

    number: int
    seller: Firm
    item: str
    quantity_kg: int
    remaining_kg: int
    price_micros: int
    terms_days: int
    minute: int
    turn: int
    status: str = OPEN
    closed_minute: int | None = None

    @property
    def id(self) -> str:
        return f"L{self.number}"


@dataclass(slots=True, eq=False)
class Offer:
    """A bid on a listing: a price per kg, some kilograms, and days to pay."""

    number: int
    listing: Listing
    bidder: Firm
    quantity_kg: int
    price_micros: int
    terms_days: int
    message: str
    minute: int
    turn: int
    status: str = PENDING
    closed_minute: int | None = None

    @property
    def id(self) -> str:
        return f"O{self.number}"


@dataclass(slots=True, eq=False)
class Deal:
    """An accepted offer, and the shipment it started. `cost_micros` is the seller's cost, pinned at acceptance."""

    number: int
    offer: Offer
    seller: Firm
    buyer: Firm
    item: str
    quantity_kg: int
    price_micros: int
    total_micros: int
    cost_micros: int
    terms_days: int
    minute: int
    due_day: int
    turn: int
    status: str = TRAVELLING
    delays: int = 0
    settled_minute: int | None = None

    @property
    def id(self) -> str:
        return f"D{self.number}"


def find_listing(economy: Economy, listing_id: str) -> Listing:
    """The listing with that id, open or not; refuses an id that does not exist."""
    number = ordinal(listing_id, "L")
    if not 1 <= number <= len(economy.listings):
        raise Refused(f"there is no listing {listing_id!a}; view_listings shows the open ones")
    return economy.listings[number - 1]


def find_offer(economy: Economy, firm: Firm, offer_id: str) -> Offer:
    """The offer with that id among those the firm made or received; to it no other exists."""
    number = ordinal(offer_id, "O")
    if 1 <= number <= len(economy.offers):
        offer = economy.offers[number - 1]
        if firm is offer.bidder or firm is offer.listing.seller:
            return offer
    raise Refused(f"{firm.name} made and received no offer {offer_id!a}; view_offers shows the pending ones")


def ordinal(text: str, prefix: str) -> int:
    """The number in an id such as L12; 0, which no row has, for anything else."""
    digits = text[1:]
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10 and digits[0] != "0"
    return int(digits) if is_number and text[0] == prefix else 0


def post_listing(
    economy: Economy, firm: Firm, item: str, quantity_kg: int, price_micros: int, terms_days: int
) -> Listing:
    """Puts a notice up; needs the goods on hand and reserves none of them."""
    if firm.on_hand(item) < quantity_kg:
        raise Refused(f"qty {quantity_kg} exceeds the {firm.on_hand(item)} kg of {item} on hand")
    listing = Listing(
        len(economy.listings) + 1,
        firm,
        item,
        quantity_kg,
        quantity_kg,
        price_micros,
        terms_days,
        economy.minute,
        economy.turn,
    )
    economy.listings.append(listing)
    economy.open_listings[listing] = firm.open_listings[listing] = None
    economy.changed[listing] = None
    economy.tell(
        "listing_posted",
        firm,
        listing=listing.id,
        item=item,
        quantity_kg=quantity_kg,
        price=usd(price_micros),
        terms_days=terms_days,
    )
    return listing


def make_offer(
    economy: Economy, firm: Firm, listing: Listing, quantity_kg: int, price_micros: int, terms_days: int, message: str
) -> Offer:
    """Bids on another firm's open listing and wakes its seller; neither cash nor storage is checked or reserved."""
    if listing.seller is firm:
        raise Refused(f"{listing.id} is your own listing; offers go to other firms' listings")
    if listing.status != OPEN:
        raise Refused(f"{listing.id} is {listing.status}; view_listings shows the open ones")
    if quantity_kg > listing.remaining_kg:
        raise Refused(f"qty {quantity_kg} exceeds the {listing.remaining_kg} kg still offered on {listing.id}")
    offer = Offer(
        len(economy.offers) + 1,
        listing,
        firm,
        quantity_kg,
        price_micros,
        terms_days,
        message,
        economy.minute,
        economy.turn,
    )
    seller = listing.seller
    economy.offers.append(offer)
    seller.offers_in[offer] = firm.offers_out[offer] = None
    economy.changed[offer] = None
    economy.tell(
        "offer_made",
        firm,
        seller,
        offer=offer.id,
        listing=listing.id,
        item=listing.item,
        quantity_kg=quantity_kg,
        price=usd(price_micros),
        terms_days=terms_days,
        message=message,
    )
    economy.wake(seller, f"offer {offer.id} on your listing {listing.id} from {firm.name}")
    return offer


def withdraw_offer(economy: Economy, firm: Firm, offer: Offer) -> None:
    """Takes a pending bid of one's own back."""
    if offer.bidder is not firm:
        raise Refused(f"{offer.id} is {offer.bidder.name}'s offer; only its bidder can withdraw it")
    if offer.status != PENDING:
        raise Refused(f"{offer.id} is {offer.status} already; only a pending offer can be withdrawn")
    close_offer(economy, offer, WITHDRAWN)
    economy.tell("offer_withdrawn", firm, offer.listing.seller, offer=offer.id, listing=offer.listing.id)


def accept_offer(economy: Economy, firm: Firm, offer: Offer) -> Deal:
    """Makes a deal at the offered price and terms: the goods leave the seller's stock at cost and travel."""
    listing, buyer, quantity_kg = offer.listing, offer.bidder, offer.quantity_kg
    check_acceptance(firm, offer)
    cost_micros = firm.stock_out(listing.item, quantity_kg)
    buyer.incoming_kg += quantity_kg
    deal = Deal(
        len(economy.deals) + 1,
        offer,
        firm,
        buyer,
        listing.item,
        quantity_kg,
        offer.price_micros,
        to_cents(offer.price_micros * quantity_kg),
        cost_micros,
        offer.terms_days,
        economy.minute,
        economy.day + economy.rules.delivery_days + firm.delivery_extra_days,
        economy.turn,
    )
    economy.deals.append(deal)
    economy.travelling[deal] = buyer.arriving[deal] = None
    firm.deals.append(deal)
    buyer.deals.append(deal)
    economy.changed[deal] = None
    close_offer(economy, offer, ACCEPTED)
    reduce_listing(economy, listing, quantity_kg)
    economy.post(
        firm,
        ledger.GOODS_IN_TRANSIT,
        ledger.INVENTORY,
        cost_micros,
        "goods shipped",
        item=deal.item,
        quantity_kg=quantity_kg,
        deal=deal.number,
    )
    economy.tell(
        "deal_made",
        firm,
        buyer,
        deal=deal.id,
        offer=offer.id,
        listing=listing.id,
        item=deal.item,
        quantity_kg=quantity_kg,
        price=usd(deal.price_micros),
        total=usd(deal.total_micros),
        terms_days=deal.terms_days,
        due_day=deal.due_day,
    )
    economy.wake(buyer, f"{firm.name} accepted your offer {offer.id}: deal {deal.id}")
    return deal


def check_acceptance(firm: Firm, offer: Offer) -> None:
    """Refuses, by name, each thing that stands between an offer and a deal (section 5)."""
    listing, buyer, quantity_kg = offer.listing, offer.bidder, offer.quantity_kg
    if listing.seller is not firm:
        raise Refused(f"{offer.id} is on {listing.id}, a listing of {listing.seller.name}; only its seller can accept")
    if offer.status != PENDING:
        raise Refused(f"{offer.id} is {offer.status} already; only a pending offer can be accepted")
    if listing.status != OPEN:
        raise Refused(f"{listing.id} is {listing.status}")
    if listing.remaining_kg < quantity_kg:
        raise Refused(f"{offer.id} asks for {quantity_kg} kg, but {listing.id} still offers {listing.remaining_kg} kg")
    if firm.on_hand(listing.item) < quantity_kg:
        held_kg = firm.on_hand(listing.item)
        raise Refused(f"{offer.id} asks for {quantity_kg} kg, but you hold {held_kg} kg of {listing.item}")
    if buyer.committed_kg + quantity_kg > buyer.storage_cap_kg:
        # How full a rival's store is stays its own business.
        raise Refused(
            f"{buyer.name} has no room for {quantity_kg} kg more; it may take a smaller lot, or this one later"
        )


def close_offer(economy: Economy, offer: Offer, status: str) -> None:
    """Ends a pending offer one way or another."""
    offer.status = status
    offer.closed_minute = economy.minute
    del offer.bidder.offers_out[offer]
    del offer.listing.seller.offers_in[offer]
    economy.changed[offer] = None


def reduce_listing(economy: Economy, listing: Listing, quantity_kg: int) -> None:
    """Takes what was sold off a listing; at nothing left it closes and its other offers are rejected."""
    listing.remaining_kg -= quantity_kg
    economy.changed[listing] = None
    if listing.remaining_kg == 0:
        close_listing(economy, listing, SOLD_OUT)


def close_listing(economy: Economy, listing: Listing, status: str) -> None:
    """Takes a notice down and rejects the offers still pending on it."""
    listing.status = status
    listing.closed_minute = economy.minute
    economy.changed[listing] = None
    del economy.open_listings[listing]
    del listing.seller.open_listings[listing]
    for offer in [offer for offer in listing.seller.offers_in if offer.listing is listing]:
        close_offer(economy, offer, REJECTED)
        economy.tell("offer_rejected", listing.seller, offer.bidder, offer=offer.id, listing=listing.id)


def settle_deal(economy: Economy, deal: Deal, status: str) -> None:
    """The shipment's journey ends, in one of three ways."""
    deal.status = status
    deal.settled_minute = economy.minute
    deal.buyer.incoming_kg -= deal.quantity_kg
    del economy.travelling[deal], deal.buyer.arriving[deal]
    economy.changed[deal] = None
