"""What the Market tab reads: one query a function, each of rows the look may see (RULES.md section 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import Min, Q, Sum

from dashboards.tabs.look import Look
from marketplace.economy.money import micros
from marketplace.economy.trading import DELIVERED
from marketplace.models import ConsumerSale, Deal, Invoice, Listing, Offer
from marketplace.rows import in_run, key_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import DayEnd, Event

MOST_LISTINGS_SHOWN: Final = 200


class DealRow(NamedTuple):
    """A deal, and how its shipment stands now."""

    pk: int
    seller_id: int
    buyer_id: int
    item: str
    quantity_kg: int
    price_micros: int
    total_micros: int
    terms_days: int
    minute: int
    due_day: int
    delays: int
    status: str
    settled_minute: int | None
    turn_id: int

    @property
    def day(self) -> int:
        """The day on which it was made."""
        return self.minute // MINUTES_PER_DAY

    @property
    def delivered_day(self) -> int | None:
        """The day on which the goods arrived, None if they have not."""
        if self.status != DELIVERED or self.settled_minute is None:
            return None
        return self.settled_minute // MINUTES_PER_DAY


class ReturnRow(NamedTuple):
    """Goods that a buyer sent back: how many kilograms of which deal, and for what credit."""

    day: int
    seller_id: int
    buyer_id: int
    item: str
    deal_id: int
    quantity_kg: int
    credit_micros: int


class SaleRow(NamedTuple):
    """What a shop sold of an item in an evening."""

    shop_id: int
    day: int
    item: str
    quantity_kg: int
    price_micros: int
    revenue_micros: int


class ShelfRow(NamedTuple):
    """A shop's prices in USD per kg, as an evening's consumers found them."""

    shop_id: int
    day: int
    prices: dict[str, float]


class ListingRow(NamedTuple):
    """A listing as it was posted."""

    pk: int
    seller_id: int
    item: str
    quantity_kg: int
    price_micros: int
    terms_days: int
    minute: int
    turn_id: int


class OfferRow(NamedTuple):
    """An offer, and what has become of it since."""

    pk: int
    listing_id: int
    bidder_id: int
    quantity_kg: int
    price_micros: int
    terms_days: int
    minute: int
    turn_id: int
    status: str
    closed_minute: int | None


class InvoiceRow(NamedTuple):
    """The invoice of a deal, and how it stands now."""

    deal_id: int
    issued_day: int
    due_day: int
    paid_micros: int
    status: str
    settled_minute: int | None


class Bought(NamedTuple):
    """What consumers bought of an item, in all shops together."""

    quantity_kg: int
    revenue_micros: int


class Way(NamedTuple):
    """A seller, a buyer, and what went between them."""

    seller_id: int
    buyer_id: int
    item: str


def deals_until(look: Look) -> list[DealRow]:
    """Deals made up to the shown evening, oldest first."""
    return deals_where(look, minute__lt=look.end_minute)


def deals_after(look: Look) -> list[DealRow]:
    """Deals of which anything happened after the day `look.after`, oldest first: made, or come to their end."""
    start = (look.after + 1) * MINUTES_PER_DAY
    return deals_where(look, Q(minute__gte=start) | Q(settled_minute__gte=start))


def deals_where(look: Look, *conditions: Q, **fields: Any) -> list[DealRow]:
    """Deals that the look may see and that meet some conditions."""
    deals = Deal.objects.filter(look.of_knower("seller", "buyer"), *conditions, **in_run(look.run.pk), **fields)
    return [DealRow(*row) for row in deals.order_by("pk").values_list(*DealRow._fields)]


def ways_of(look: Look) -> list[Way]:
    """Who ever sold what to whom, in the order in which they first did: a later deal adds to its end."""
    deals = Deal.objects.filter(look.of_knower("seller", "buyer"), **in_run(look.run.pk))
    ways = deals.values_list(*Way._fields).annotate(first=Min("pk")).order_by("first")
    return [Way(seller_id, buyer_id, item) for seller_id, buyer_id, item, _ in ways]


def returns_of(look: Look, first_day: int, last_day: int) -> list[ReturnRow]:
    """Goods sent back on some days, oldest first.

    An invoice holds only the sum of what was returned under it; when it was returned, the tape alone tells.
    """
    events = Event.objects.filter(
        look.of_knower("firm", "other"),
        **in_run(look.run.pk),
        kind="shipment_returned",
        day__gte=first_day,
        day__lte=last_day,
    )
    rows = events.order_by("pk").values_list("day", "other_id", "firm_id", "data")
    return [
        ReturnRow(
            day,
            seller_id,
            buyer_id,
            data["item"],
            key_of(look.run.pk, int(data["deal"][1:])),
            data["quantity_kg"],
            micros(data["credit"]),
        )
        for day, seller_id, buyer_id, data in rows
    ]


def sales_after(look: Look) -> list[SaleRow]:
    """What each shop sold to consumers after the day `look.after`, evening by evening.

    Of every shop, whoever looks: the sum over all shops is public, and what each sold is kept apart by who draws it.
    """
    sales = ConsumerSale.objects.filter(**in_run(look.run.pk), day__gt=look.after)
    return [SaleRow(*row) for row in sales.order_by("pk").values_list(*SaleRow._fields)]


def bought_in(look: Look, first_day: int, last_day: int) -> dict[str, Bought]:
    """What consumers bought of each item on some days in all shops together, which is public."""
    sales = ConsumerSale.objects.filter(**in_run(look.run.pk), day__gte=first_day, day__lte=last_day)
    sums = sales.order_by().values_list("item").annotate(kg=Sum("quantity_kg"), micros=Sum("revenue_micros"))
    return {item: Bought(kg, revenue_micros) for item, kg, revenue_micros in sums}


def shelves_of(look: Look, shops: Iterable[int]) -> list[ShelfRow]:
    """The shelf prices of some shops on the evenings after the day `look.after`."""
    evenings = DayEnd.objects.filter(firm__in=list(shops), day__gt=look.after)
    return [ShelfRow(*row) for row in evenings.order_by("day", "firm").values_list("firm_id", "day", "prices")]


def listings_open_on(look: Look) -> list[ListingRow]:
    """Listings of every firm that were open on the shown evening, the oldest first, at most the newest 200."""
    end = look.end_minute
    still_open = Q(closed_minute=None) | Q(closed_minute__gte=end)
    listings = Listing.objects.filter(still_open, **in_run(look.run.pk), minute__lt=end)
    newest = list(listings.order_by("-pk").values_list(*ListingRow._fields)[:MOST_LISTINGS_SHOWN])
    return [ListingRow(*row) for row in reversed(newest)]


def offers_on(look: Look, listings: Sequence[ListingRow]) -> list[OfferRow]:
    """Offers made on some listings up to the shown evening, by every firm: those accepted say what is left, in public.

    Whether a firm may see one that is pending is for `dashboards.tabs.market_tables` to decide.
    """
    offers = Offer.objects.filter(listing__in=[listing.pk for listing in listings], minute__lt=look.end_minute)
    return [OfferRow(*row) for row in offers.order_by("pk").values_list(*OfferRow._fields)]


def invoices_of(look: Look, deals: Sequence[DealRow]) -> dict[int, InvoiceRow]:
    """The invoices of some deals that were issued up to the shown day, by the deal's key."""
    invoices = Invoice.objects.filter(deal__in=[deal.pk for deal in deals], issued_day__lte=look.until)
    return {row[0]: InvoiceRow(*row) for row in invoices.values_list(*InvoiceRow._fields)}
