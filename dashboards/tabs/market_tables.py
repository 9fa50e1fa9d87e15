"""What the Market tab's tables say: rows as they stood on the evening of a day, in words and USD. No queries here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboards.colours import FirmStyle, style_of
from dashboards.tabs.market_figures import Flow
from dashboards.tabs.market_rows import Bought, DealRow, InvoiceRow, ListingRow, OfferRow, ReturnRow
from dashboards.words import days_text, item_text, moment_text
from marketplace.economy.credit import PAID
from marketplace.economy.money import usd
from marketplace.economy.trading import ACCEPTED, DELIVERED
from marketplace.rows import number_of
from simulation.engine.clock import MINUTES_PER_DAY


@dataclass(frozen=True, slots=True)
class Evening:
    """The evening as of which tables are written, and the firms' names by key; `is_now`: nothing has come later."""

    day: int
    names: Mapping[int, str]
    is_now: bool = False

    def is_past(self, minute: int | None) -> bool:
        """Whether what happened in a minute, if it did, has happened by then."""
        return minute is not None and minute < (self.day + 1) * MINUTES_PER_DAY

    def party(self, firm_id: int) -> Party:
        """A firm as tables name it."""
        name = self.names.get(firm_id, "")
        return Party(name, style_of(name))


class Party(NamedTuple):
    """A firm's name, and its colour and line."""

    name: str
    style: FirmStyle


class Standing(NamedTuple):
    """How a shipment or an invoice stands: words, and whether they are good news, bad news or neither."""

    words: str
    tone: str


class DealLine(NamedTuple):
    """A row of the table of deals. Amounts are in USD."""

    key: int
    number: int
    made: str
    seller: Party
    buyer: Party
    item: str
    quantity_kg: int
    price: float
    total: float
    terms: str
    shipment: Standing
    invoice: Standing | None
    returned_kg: int
    turn: int


class OfferLine(NamedTuple):
    """A pending offer on the board."""

    number: int
    bidder: Party
    quantity_kg: int
    price: float
    terms: str
    age: str
    turn: int


class ListingLine(NamedTuple):
    """An open listing on the board, with what is left of it and the offers that wait for an answer."""

    number: int
    seller: Party
    remaining_kg: int
    quantity_kg: int
    price: float
    terms: str
    age: str
    turn: int
    offers: list[OfferLine]


class Stall(NamedTuple):
    """The open listings of one item, the cheapest first."""

    item: str
    remaining_kg: int
    listings: list[ListingLine]


class Traded(NamedTuple):
    """What was traded of an item on some days, less what was returned on them; prices in USD per kg, None for none."""

    item: str
    quantity_kg: int
    amount: float
    price: float | None
    bought_kg: int
    bought: float
    shelf_price: float | None


class Totals(NamedTuple):
    """Sums over all items of what was agreed, delivered and bought on some days; amounts in USD."""

    deals: int
    agreed_kg: int
    agreed: float
    delivered_kg: int
    delivered: float
    returned_kg: int
    credited: float
    bought_kg: int
    bought: float


# Deals


def deal_lines(
    deals: Iterable[DealRow],
    invoices: Mapping[int, InvoiceRow],
    returns: Iterable[ReturnRow],
    evening: Evening,
) -> list[DealLine]:
    """The rows of some deals, in their order."""
    returned_kg: dict[int, int] = defaultdict(int)
    for back in returns:
        returned_kg[back.deal_id] += back.quantity_kg
    return [deal_line(deal, invoices.get(deal.pk), returned_kg[deal.pk], evening) for deal in deals]


def deal_line(deal: DealRow, invoice: InvoiceRow | None, returned_kg: int, evening: Evening) -> DealLine:
    """The row of one deal."""
    return DealLine(
        key=deal.pk,
        number=number_of(deal.pk),
        made=moment_text(deal.minute),
        seller=evening.party(deal.seller_id),
        buyer=evening.party(deal.buyer_id),
        item=item_text(deal.item),
        quantity_kg=deal.quantity_kg,
        price=usd(deal.price_micros),
        total=usd(deal.total_micros),
        terms=days_text(deal.terms_days),
        shipment=shipment_standing(deal, evening),
        invoice=invoice_standing(invoice, evening) if invoice else None,
        returned_kg=returned_kg,
        turn=number_of(deal.turn_id),
    )


def shipment_standing(deal: DealRow, evening: Evening) -> Standing:
    """How a deal's goods stood: under way, late, or at their journey's end, and when."""
    if deal.settled_minute is not None and evening.is_past(deal.settled_minute):
        tone = "good" if deal.status == DELIVERED else "bad"
        return Standing(f"{deal.status} Day {deal.settled_minute // MINUTES_PER_DAY}", tone)
    first_due_day = deal.due_day - deal.delays
    # A shipment is put off on the morning of each day on which it is due, by one day; the last after the last evening.
    delays = deal.delays if evening.is_now else min(deal.delays, max(0, evening.day - first_due_day + 1))
    due_day = first_due_day + delays
    if delays:
        return Standing(f"{days_text(delays)} late, due Day {due_day}", "bad")
    return Standing(f"under way, due Day {due_day}", "")


def invoice_standing(invoice: InvoiceRow, evening: Evening) -> Standing:
    """How an invoice stood: due, overdue, paid or lost, and since when."""
    if invoice.settled_minute is not None and evening.is_past(invoice.settled_minute):
        day = invoice.settled_minute // MINUTES_PER_DAY
        if invoice.status == PAID and not invoice.paid_micros:
            return Standing(f"cleared by returns Day {day}", "")
        return Standing(f"{invoice.status} Day {day}", "good" if invoice.status == PAID else "bad")
    if invoice.due_day < evening.day:
        return Standing(f"overdue, was due Day {invoice.due_day}", "bad")
    return Standing(f"due Day {invoice.due_day}", "")


# The board


def stalls_of(
    listings: Sequence[ListingRow],
    offers: Iterable[OfferRow],
    evening: Evening,
    items: Sequence[str],
    knower: int | None,
) -> list[Stall]:
    """The board: for each item with open listings, those listings and the offers on them that the look may see."""
    of_listing: dict[int, list[OfferRow]] = defaultdict(list)
    for offer in offers:
        of_listing[offer.listing_id].append(offer)
    lines: dict[str, list[ListingLine]] = defaultdict(list)
    for listing in sorted(listings, key=lambda listing: (listing.price_micros, listing.pk)):
        lines[listing.item].append(listing_line(listing, of_listing[listing.pk], evening, knower))
    order = dict.fromkeys([*items, *lines])
    return [Stall(item_text(item), sum(line.remaining_kg for line in lines[item]), lines[item])
            for item in order if item in lines]  # fmt: skip


def listing_line(listing: ListingRow, offers: Sequence[OfferRow], evening: Evening, knower: int | None) -> ListingLine:
    """An open listing as it stood. What is left is public; an offer is known to its bidder and the seller."""
    sold = [offer for offer in offers if offer.status == ACCEPTED and evening.is_past(offer.closed_minute)]
    pending = [offer for offer in offers if not evening.is_past(offer.closed_minute)]
    return ListingLine(
        number=number_of(listing.pk),
        seller=evening.party(listing.seller_id),
        remaining_kg=listing.quantity_kg - sum(offer.quantity_kg for offer in sold),
        quantity_kg=listing.quantity_kg,
        price=usd(listing.price_micros),
        terms=days_text(listing.terms_days),
        age=age_of(listing.minute, evening),
        turn=number_of(listing.turn_id),
        offers=[
            offer_line(offer, evening) for offer in pending if knower in (None, offer.bidder_id, listing.seller_id)
        ],
    )


def offer_line(offer: OfferRow, evening: Evening) -> OfferLine:
    """A pending offer."""
    return OfferLine(
        number=number_of(offer.pk),
        bidder=evening.party(offer.bidder_id),
        quantity_kg=offer.quantity_kg,
        price=usd(offer.price_micros),
        terms=days_text(offer.terms_days),
        age=age_of(offer.minute, evening),
        turn=number_of(offer.turn_id),
    )


def age_of(minute: int, evening: Evening) -> str:
    """How long something has stood: `today`, or in days."""
    days = evening.day - minute // MINUTES_PER_DAY
    return days_text(days) if days else "today"


# Sums over some days


def within(day: int, first: int, last: int) -> bool:
    """Whether a day is one of a span."""
    return first <= day <= last


def totals_of(
    deals: Iterable[DealRow], returns: Iterable[ReturnRow], bought: Mapping[str, Bought], first: int, last: int
) -> Totals:
    """What was agreed, delivered, returned and bought from one day to another."""
    all_deals = list(deals)
    agreed = [deal for deal in all_deals if within(deal.day, first, last)]
    arrived = [deal for deal in all_deals if has_arrived(deal, first, last)]
    back = [each for each in returns if within(each.day, first, last)]
    return Totals(
        deals=len(agreed),
        agreed_kg=sum(deal.quantity_kg for deal in agreed),
        agreed=usd(sum(deal.total_micros for deal in agreed)),
        delivered_kg=sum(deal.quantity_kg for deal in arrived),
        delivered=usd(sum(deal.total_micros for deal in arrived)),
        returned_kg=sum(each.quantity_kg for each in back),
        credited=usd(sum(each.credit_micros for each in back)),
        bought_kg=sum(each.quantity_kg for each in bought.values()),
        bought=usd(sum(each.revenue_micros for each in bought.values())),
    )


def has_arrived(deal: DealRow, first: int, last: int) -> bool:
    """Whether a deal's goods were delivered on one of some days."""
    return deal.delivered_day is not None and within(deal.delivered_day, first, last)


def traded_of(flows: Iterable[Flow], bought: Mapping[str, Bought], items: Sequence[str]) -> list[Traded]:
    """What each item of the catalogue realised, by quantity, between firms and in the shops."""
    kg: dict[str, int] = defaultdict(int)
    micros: dict[str, int] = defaultdict(int)
    for flow in flows:
        kg[flow.way.item] += flow.quantity_kg
        micros[flow.way.item] += flow.amount_micros
    return [traded_item(item, kg[item], micros[item], bought.get(item, Bought(0, 0))) for item in items]


def traded_item(item: str, quantity_kg: int, amount_micros: int, bought: Bought) -> Traded:
    """What one item realised."""
    return Traded(
        item=item_text(item),
        quantity_kg=quantity_kg,
        amount=usd(amount_micros),
        price=mean_price(amount_micros, quantity_kg),
        bought_kg=bought.quantity_kg,
        bought=usd(bought.revenue_micros),
        shelf_price=mean_price(bought.revenue_micros, bought.quantity_kg),
    )


def mean_price(amount_micros: int, quantity_kg: int) -> float | None:
    """USD per kg, by quantity; None where nothing was sold, or no more than came back."""
    return usd(amount_micros) / quantity_kg if quantity_kg > 0 else None
