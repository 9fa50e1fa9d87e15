"""The drawers of the market: listings, offers, deals, invoices and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Q

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import Related, RunRowDrawer
from marketplace.admin.filters import ChoiceFilter, DayFilter, FirmFilter, ItemFilter, ReferenceFilter
from marketplace.admin.question import Total
from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.models import Deal, Invoice, Listing, Message, Offer, Transfer


def transfers_about(firm_keys: list[int], from_day: int, **reference: int) -> Any:
    """Transfers that refer to a row, in the books of its firms since its day: found by the index of those two."""
    return Transfer.objects.filter(firm__in=firm_keys, day__gte=from_day, **reference)


@admin.register(Listing)
class ListingDrawer(RunRowDrawer):
    """What sellers would part with."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "posted"),
        columns.firm("seller"),
        columns.text("item"),
        columns.kilograms(),
        columns.kilograms("remaining_kg", "left"),
        columns.usd_per_kg("price_micros", "asked"),
        columns.number("terms_days", "terms, days"),
        columns.text("status"),
        columns.moment("closed_minute", "closed"),
        columns.linked("turn"),
    )
    list_select_related = ("seller",)
    list_totals = (Total("listed, kg", "quantity_kg"), Total("left, kg", "remaining_kg"))
    filters = (
        FirmFilter("firm", ("seller",)),
        DayFilter("day", ("minute",)),
        ItemFilter("item"),
        ChoiceFilter("status"),
        ReferenceFilter("turn"),
    )
    facts = list_display[1:]
    causes = (("posted it", "turn"),)

    def related(self, row: Listing) -> Iterable[Related]:
        sold = Deal.objects.filter(offer__listing=row, seller=row.seller_id)
        yield Related("Offers on it", Offer.objects.filter(listing=row), {"listing": row.pk})
        yield Related("Deals made of it", sold, {"listing": row.pk})


@admin.register(Offer)
class OfferDrawer(RunRowDrawer):
    """Bids on listings."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "made"),
        columns.firm("bidder"),
        columns.linked("listing"),
        columns.firm("listing.seller", "seller"),
        columns.text("listing.item", "item"),
        columns.kilograms(),
        columns.usd_per_kg("price_micros", "offered"),
        columns.number("terms_days", "terms, days"),
        columns.text("status"),
        columns.written("message"),
        columns.linked("turn"),
    )
    list_select_related = ("bidder", "listing__seller")
    list_totals = (Total("bid for, kg", "quantity_kg"),)
    filters = (
        FirmFilter("firm", ("bidder", "listing__seller")),
        DayFilter("day", ("minute",)),
        ItemFilter("item", ("listing__item",)),
        ChoiceFilter("status"),
        ReferenceFilter("listing"),
        ReferenceFilter("turn"),
    )
    facts = (
        *list_display[1:10],
        columns.moment("closed_minute", "closed"),
        columns.linked("turn"),
        columns.written_whole("message"),
    )
    causes = (("made it", "turn"), ("posted the listing", "listing.turn"))

    def related(self, row: Offer) -> Iterable[Related]:
        made = Deal.objects.filter(seller=row.listing.seller_id, offer=row)
        yield Related("The deal it became", made, {"offer": row.pk})


@admin.register(Deal)
class DealDrawer(RunRowDrawer):
    """Accepted offers and their shipments."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "accepted"),
        columns.firm("seller"),
        columns.firm("buyer"),
        columns.text("item"),
        columns.kilograms(),
        columns.usd_per_kg(),
        columns.usd("total_micros", "total"),
        columns.usd("cost_micros", "cost"),
        columns.number("due_day", "due, day"),
        columns.text("status"),
        columns.linked("offer"),
        columns.linked("turn"),
    )
    list_select_related = ("seller", "buyer")
    list_totals = (
        Total("sold, kg", "quantity_kg"),
        Total("total, USD", "total_micros"),
        Total("cost to the sellers, USD", "cost_micros"),
    )
    filters = (
        FirmFilter("firm", ("seller", "buyer")),
        DayFilter("day", ("minute",)),
        ItemFilter("item"),
        ChoiceFilter("status"),
        ReferenceFilter("offer"),
        ReferenceFilter("listing", ("offer__listing",)),
        ReferenceFilter("turn"),
    )
    facts = (
        *list_display[1:9],
        columns.number("terms_days", "terms, days"),
        *list_display[9:11],
        columns.number("delays", "times delayed"),
        columns.moment("settled_minute", "settled"),
        columns.linked("offer"),
        columns.linked("offer.listing", "listing"),
        columns.linked("turn", "accepted in"),
    )
    causes = (("accepted it", "turn"), ("made the offer", "offer.turn"), ("posted the listing", "offer.listing.turn"))

    def related(self, row: Deal) -> Iterable[Related]:
        about = transfers_about([row.seller_id, row.buyer_id], row.minute // MINUTES_PER_DAY, deal=row.pk)
        yield Related("Invoices", Invoice.objects.filter(deal=row), {"deal": row.pk})
        yield Related("Transfers", about, {"deal": row.pk})


def still_owed(invoice: Invoice) -> str:
    """What paying an invoice would take now; nothing once it is settled."""
    owed_micros = invoice.principal_micros - invoice.credited_micros + invoice.fees_micros
    return showing.amount(owed_micros if invoice.settled_minute is None else 0)


@admin.register(Invoice)
class InvoiceDrawer(RunRowDrawer):
    """Debts for what was delivered, and for returns that could not be refunded at once."""

    list_display = (
        columns.own_label(),
        columns.number("issued_day", "issued, day"),
        columns.firm("issuer"),
        columns.firm("debtor"),
        columns.linked("deal"),
        columns.usd("principal_micros", "principal"),
        columns.usd("fees_micros", "late fees"),
        columns.usd("credited_micros", "credited"),
        columns.usd("paid_micros", "paid"),
        Column("still owed, USD", still_owed, "number"),
        columns.number("due_day", "due, day"),
        columns.text("status"),
        columns.moment("settled_minute", "settled"),
    )
    list_select_related = ("issuer", "debtor")
    list_totals = (
        Total("principal, USD", "principal_micros"),
        Total("late fees, USD", "fees_micros"),
        Total("credited, USD", "credited_micros"),
        Total("paid, USD", "paid_micros"),
    )
    filters = (
        FirmFilter("firm", ("issuer", "debtor")),
        DayFilter("day", ("issued_day",)),
        ItemFilter("item", ("deal__item",)),
        ChoiceFilter("status"),
        ReferenceFilter("deal"),
        ReferenceFilter("turn"),
    )
    facts = (
        *list_display[1:],
        columns.kilograms("returned_kg", "returned"),
        columns.usd("returned_cost_micros", "seller's cost of what was returned"),
        columns.linked("turn", "issued in"),
    )
    causes = (
        ("returned goods, which made it", "turn"),
        ("accepted the deal", "deal.turn"),
        ("made the offer", "deal.offer.turn"),
        ("posted the listing", "deal.offer.listing.turn"),
    )

    def related(self, row: Invoice) -> Iterable[Related]:
        about = transfers_about([row.issuer_id, row.debtor_id], row.issued_day, invoice=row.pk)
        yield Related("Transfers", about, {"invoice": row.pk})


@admin.register(Message)
class MessageDrawer(RunRowDrawer):
    """Letters between firms."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "sent"),
        columns.firm("sender"),
        columns.firm("recipient"),
        columns.written("title"),
        columns.written("body"),
        columns.linked("listing"),
        columns.linked("offer"),
        columns.moment("read_minute", "read"),
        columns.linked("turn"),
    )
    list_select_related = ("sender", "recipient")
    search_fields = ("title", "body")
    search_help_text = "words of a message, M40, 7:M40, a firm"
    filters = (
        FirmFilter("firm", ("sender", "recipient")),
        DayFilter("day", ("minute",)),
        ReferenceFilter("listing"),
        ReferenceFilter("offer"),
        ReferenceFilter("turn"),
    )
    facts = (
        *list_display[1:4],
        *list_display[6:],
        columns.written_whole("title"),
        columns.written_whole("body"),
    )
    causes = (("wrote it", "turn"),)

    def related(self, row: Message) -> Iterable[Related]:
        between = Q(sender=row.sender_id, recipient=row.recipient_id) | Q(
            sender=row.recipient_id, recipient=row.sender_id
        )
        later = Message.objects.filter(between, pk__gt=row.pk)
        yield Related("What the two wrote later", later, {"run": row.run_number, "firm": row.sender.name})
