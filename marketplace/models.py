"""The tables of what is owned, traded and owed: projections of the engine, in whole micro-dollars and kilograms.

Columns that end in `_micros` are micro-dollars, in `_kg` kilograms; `minute` and `day` are simulated time.
"""

from __future__ import annotations

from django.db import models

from marketplace.economy import credit, ledger, production, trading
from marketplace.economy.rules import ROLES
from marketplace.rows import RunRow, link, run_link


def choices(*values: str) -> list[tuple[str, str]]:
    """Choices that are shown as they are kept."""
    return [(value, value.replace("_", " ")) for value in values]


class Firm(RunRow):
    """A seat at a run's table, who plays it, and where it stands now."""

    run = models.ForeignKey("simulation.Run", on_delete=models.CASCADE, related_name="firms")
    name = models.CharField(max_length=40)
    role = models.CharField(max_length=10, choices=choices(*ROLES))
    player = models.CharField(max_length=200)
    cash_micros = models.BigIntegerField(default=0)
    equity_micros = models.BigIntegerField(default=0)
    opening_equity_micros = models.BigIntegerField(default=0)
    net_income_micros = models.BigIntegerField(default=0, help_text="the score; frozen when the firm goes bankrupt")
    revenue_micros = models.BigIntegerField(default=0)
    stock_kg = models.JSONField(default=dict)
    prices = models.JSONField(default=dict, help_text="shelf prices, USD per kg")
    calls = models.PositiveIntegerField(default=0)
    refused_calls = models.PositiveIntegerField(default=0)
    idle_days = models.PositiveIntegerField(default=0)
    messages_sent = models.PositiveIntegerField(default=0)
    bankrupt_day = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        return self.name


class Listing(RunRow):
    """A public notice that a seller would part with some kilograms at about a price."""

    prefix = "L"

    run = run_link()
    seller = link("marketplace.Firm", "listings", index=True)
    item = models.CharField(max_length=40)
    quantity_kg = models.PositiveIntegerField()
    remaining_kg = models.PositiveIntegerField()
    price_micros = models.BigIntegerField(help_text="asked per kg")
    terms_days = models.PositiveIntegerField()
    minute = models.PositiveIntegerField()
    turn = link("simulation.Turn")
    status = models.CharField(max_length=12, choices=choices(trading.OPEN, trading.SOLD_OUT, trading.CLOSED))
    closed_minute = models.PositiveIntegerField(null=True, blank=True)


class Offer(RunRow):
    """A bid on a listing."""

    prefix = "O"

    run = run_link()
    listing = link("marketplace.Listing", "offers", index=True)
    bidder = link("marketplace.Firm", "offers", index=True)
    quantity_kg = models.PositiveIntegerField()
    price_micros = models.BigIntegerField(help_text="offered per kg")
    terms_days = models.PositiveIntegerField()
    message = models.TextField(blank=True)
    minute = models.PositiveIntegerField()
    turn = link("simulation.Turn")
    status = models.CharField(
        max_length=12, choices=choices(trading.PENDING, trading.ACCEPTED, trading.REJECTED, trading.WITHDRAWN)
    )
    closed_minute = models.PositiveIntegerField(null=True, blank=True)


class Deal(RunRow):
    """An accepted offer and its shipment; `turn` is the seller's acceptance."""

    prefix = "D"

    run = run_link()
    offer = link("marketplace.Offer", "deals")
    seller = link("marketplace.Firm", "sales", index=True)
    buyer = link("marketplace.Firm", "purchases", index=True)
    item = models.CharField(max_length=40)
    quantity_kg = models.PositiveIntegerField()
    price_micros = models.BigIntegerField(help_text="per kg")
    total_micros = models.BigIntegerField()
    cost_micros = models.BigIntegerField(help_text="the seller's cost, pinned at acceptance")
    terms_days = models.PositiveIntegerField()
    minute = models.PositiveIntegerField()
    due_day = models.PositiveIntegerField()
    turn = link("simulation.Turn")
    status = models.CharField(
        max_length=12,
        choices=choices(trading.TRAVELLING, trading.DELIVERED, trading.LOST, trading.TURNED_BACK),
    )
    delays = models.PositiveIntegerField()
    settled_minute = models.PositiveIntegerField(null=True, blank=True)


class Invoice(RunRow):
    """What a debtor owes an issuer; `deal` is empty for the refund of a return."""

    prefix = "I"

    run = run_link()
    issuer = link("marketplace.Firm", "invoices_issued", index=True)
    debtor = link("marketplace.Firm", "invoices_owed", index=True)
    deal = link("marketplace.Deal", "invoices", null=True, index=True)
    principal_micros = models.BigIntegerField()
    issued_day = models.PositiveIntegerField()
    due_day = models.PositiveIntegerField()
    turn = link("simulation.Turn", null=True)
    fees_micros = models.BigIntegerField(help_text="late fees so far")
    credited_micros = models.BigIntegerField(help_text="credit for returns so far")
    paid_micros = models.BigIntegerField()
    returned_kg = models.PositiveIntegerField()
    returned_cost_micros = models.BigIntegerField()
    status = models.CharField(max_length=12, choices=choices(credit.OPEN, credit.PAID, credit.WRITTEN_OFF))
    settled_minute = models.PositiveIntegerField(null=True, blank=True)


class Message(RunRow):
    """A letter between two firms."""

    prefix = "M"

    run = run_link()
    sender = link("marketplace.Firm", "messages_written", index=True)
    recipient = link("marketplace.Firm", "messages_received", index=True)
    title = models.CharField(max_length=80)
    body = models.TextField()
    listing = link("marketplace.Listing", null=True)
    offer = link("marketplace.Offer", null=True)
    minute = models.PositiveIntegerField()
    turn = link("simulation.Turn")
    read_minute = models.PositiveIntegerField(null=True, blank=True)


class Batch(RunRow):
    """Goods in the making: a farmer's production or a roaster's roast."""

    prefix = "B"

    run = run_link()
    firm = link("marketplace.Firm", "batches", index=True)
    kind = models.CharField(max_length=8, choices=choices(production.PRODUCE, production.ROAST))
    input_item = models.CharField(max_length=40, blank=True)
    input_kg = models.PositiveIntegerField()
    item = models.CharField(max_length=40)
    quantity_kg = models.PositiveIntegerField(help_text="what comes out")
    cost_micros = models.BigIntegerField()
    minute = models.PositiveIntegerField()
    due_day = models.PositiveIntegerField()
    turn = link("simulation.Turn")
    status = models.CharField(
        max_length=12, choices=choices(production.WORKING, production.LANDED, production.WRITTEN_OFF)
    )
    settled_minute = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"


class ConsumerSale(RunRow):
    """What a shop sold of an item in an evening."""

    prefix = "S"

    run = run_link()
    shop = link("marketplace.Firm", "consumer_sales", index=True)
    day = models.PositiveIntegerField()
    item = models.CharField(max_length=40)
    quantity_kg = models.PositiveIntegerField()
    price_micros = models.BigIntegerField(help_text="per kg")
    revenue_micros = models.BigIntegerField()
    cost_micros = models.BigIntegerField()


class Transfer(RunRow):
    """One row of the ledger: a positive amount from the credited to the debited account of one firm."""

    prefix = "T"

    run = run_link()
    firm = link("marketplace.Firm", "transfers")
    day = models.PositiveIntegerField()
    minute = models.PositiveIntegerField()
    debit = models.CharField(max_length=20, choices=choices(*ledger.ACCOUNTS))
    credit = models.CharField(max_length=20, choices=choices(*ledger.ACCOUNTS))
    amount_micros = models.BigIntegerField()
    reason = models.CharField(max_length=30)
    item = models.CharField(max_length=40, blank=True)
    quantity_kg = models.PositiveIntegerField()
    deal = link("marketplace.Deal", "transfers", null=True)
    invoice = link("marketplace.Invoice", "transfers", null=True)
    batch = link("marketplace.Batch", "transfers", null=True)
    turn = link("simulation.Turn", "transfers", null=True)

    class Meta:
        indexes = [
            # A firm's ledger, or that of one of its days.
            models.Index(fields=["firm", "day"], name="transfer_firm_day"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(amount_micros__gt=0), name="transfer_amount_positive"),
        ]
