"""From a number to its cause: one transfer of the ledger, and all that led to it, in one column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db.models import Case, IntegerField, Q, Value, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from dashboards import trail_steps as steps
from dashboards.access import staff_only
from dashboards.colours import style_of
from dashboards.trail_steps import Step, Turns, decided_in
from dashboards.words import moment_text
from marketplace.models import ConsumerSale, Deal, Firm, Invoice, Message, Offer, Transfer
from marketplace.rows import in_run, key_of
from simulation.models import Event, Run, Turn

LETTERS_SHOWN: Final = 8
NEIGHBOURS: Final = 16
"""What is booked together is numbered together: so far to either side it is looked for."""

SALES: Final = ("consumer sales", "cost of consumer sales")
"""The reasons that an evening's sale is booked under."""

_TRADE: Final = ("seller", "buyer", "offer__bidder", "offer__listing__seller")
LINKED: Final = (
    "firm",
    "batch__firm",
    "invoice__issuer",
    "invoice__debtor",
    *(f"deal__{name}" for name in _TRADE),
)


@require_safe
@staff_only
def trail(request: HttpRequest, run_id: int, number: int) -> HttpResponse:
    """A transfer and what caused it; with `as`, the name of its firm, only as far as that firm was told."""
    run = get_object_or_404(Run, pk=run_id)
    transfer = get_object_or_404(Transfer.objects.select_related(*LINKED), pk=key_of(run.pk, number))
    knower = request.GET.get("as", "")
    if knower and knower != transfer.firm.name:
        raise Http404
    found = trail_of(transfer)
    context = {
        "run": run,
        "transfer": transfer,
        "firm": transfer.firm,
        "style": style_of(transfer.firm.name),
        "moment": moment_text(transfer.minute),
        "knower": knower,
        "steps": steps.as_known(found, knower) if knower else found,
    }
    return render(request, "dashboards/trail.html", context)


def trail_of(transfer: Transfer) -> list[Step]:
    """The steps from a transfer, which holds what it is linked to, back to its causes. Six queries at most."""
    if transfer.reason in SALES:
        return [steps.transfer_step(transfer, booked_with(transfer), None), *sale_steps(transfer)]
    deal, invoices = deal_behind(transfer)
    turns = turns_behind(transfer, deal, invoices)
    later = {turn for turn in (deal and deal.turn_id, transfer.batch and transfer.batch.turn_id) if turn}
    own = None if transfer.turn_id in later else decided_in(turns, transfer.turn_id)
    return [
        steps.transfer_step(transfer, booked_with(transfer), own),
        *rule_steps(transfer),
        *bankruptcy_steps(transfer),
        *invoice_steps(invoices, turns, transfer),
        *([steps.batch_step(transfer.batch, decided_in(turns, transfer.batch.turn_id))] if transfer.batch else []),
        *(deal_steps(deal, turns) if deal else []),
    ]


def rule_steps(transfer: Transfer) -> Iterator[Step]:
    """The rule behind what no turn has booked."""
    if transfer.turn_id is None:
        yield steps.rule_step(transfer.reason)


def bankruptcy_steps(transfer: Transfer) -> Iterator[Step]:
    """Who went bankrupt, where that is why."""
    ruined: Firm | None = None
    if transfer.reason == "bad debt" and transfer.invoice:
        ruined = transfer.invoice.debtor
    elif transfer.reason == "batch written off":
        ruined = transfer.firm
    elif transfer.reason == "shipment turned back" and transfer.deal:
        ruined = transfer.deal.buyer
    if ruined is not None:
        yield steps.bankruptcy_step(ruined)


def deal_behind(transfer: Transfer) -> tuple[Deal | None, list[Invoice]]:
    """The deal that a transfer goes back to, and the invoices on the way to it. One query for a refund, else none."""
    if transfer.invoice is None or transfer.deal is not None:
        return transfer.deal, [transfer.invoice] if transfer.invoice else []
    refund = transfer.invoice
    # A refund has no deal of its own; the return that it pays for was booked in the same turn under the first invoice.
    returned = Transfer.objects.filter(firm=refund.issuer_id, day=refund.issued_day, turn=refund.turn_id)
    linked = ("invoice__issuer", "invoice__debtor", *(f"deal__{name}" for name in _TRADE))
    first = returned.filter(deal__isnull=False).select_related(*linked).order_by("pk").first()
    if first is None or first.invoice is None:
        return None, [refund]
    return first.deal, [refund, first.invoice]


def turns_behind(transfer: Transfer, deal: Deal | None, invoices: list[Invoice]) -> Turns:
    """Every turn that had a part in it, by key. One query."""
    keys = {transfer.turn_id, *(invoice.turn_id for invoice in invoices)}
    if transfer.batch:
        keys.add(transfer.batch.turn_id)
    if deal:
        keys |= {deal.turn_id, deal.offer.turn_id, deal.offer.listing.turn_id}
    return {turn.pk: turn for turn in Turn.objects.filter(pk__in=[key for key in keys if key]).select_related("firm")}


def invoice_steps(invoices: list[Invoice], turns: Turns, transfer: Transfer) -> Iterator[Step]:
    """The invoices; a refund's has the turn of the return, unless the transfer was booked in that very turn."""
    for invoice in invoices:
        turn = invoice.turn_id if invoice.turn_id != transfer.turn_id else None
        yield steps.invoice_step(invoice, decided_in(turns, turn))


def deal_steps(deal: Deal, turns: Turns) -> Iterator[Step]:
    """From a deal to the offer, the listing, and what the two firms wrote before. One query."""
    offer = deal.offer
    yield steps.deal_step(deal, decided_in(turns, deal.turn_id))
    yield steps.offer_step(offer, decided_in(turns, offer.turn_id))
    yield steps.listing_step(offer.listing, decided_in(turns, offer.listing.turn_id))
    letters = letters_before(deal, offer)
    if letters:
        yield steps.letters_step(letters, (deal.seller, deal.buyer), offer)


def letters_before(deal: Deal, offer: Offer) -> list[Message]:
    """Messages between two firms up to their deal: those that name the offer or listing, then the latest. One query."""
    between = Q(sender=deal.seller_id, recipient=deal.buyer_id) | Q(sender=deal.buyer_id, recipient=deal.seller_id)
    names_it = Case(
        When(Q(offer=offer.pk) | Q(listing=offer.listing_id), then=Value(1)),
        default=Value(0),
        output_field=IntegerField(),
    )
    messages = Message.objects.filter(between, minute__lte=deal.minute).annotate(names_it=names_it)
    return sorted(messages.order_by("-names_it", "-pk")[:LETTERS_SHOWN], key=lambda message: message.pk)


def booked_with(transfer: Transfer) -> list[Transfer]:
    """What was booked at the same moment about the same thing, with either firm. One query."""
    about = {
        name: getattr(transfer, name)
        for name in ("deal_id", "invoice_id", "batch_id", "turn_id")
        if getattr(transfer, name)
    }
    if not about:  # an evening's sale; what else is about nothing stands alone
        about = {
            "firm_id": transfer.firm_id,
            "item": transfer.item,
            "reason__in": SALES if transfer.reason in SALES else (),
        }
    near = Transfer.objects.filter(
        pk__gte=max(transfer.pk - NEIGHBOURS, key_of(transfer.run_number, 0)),
        pk__lte=min(transfer.pk + NEIGHBOURS, key_of(transfer.run_number + 1, 0) - 1),
        minute=transfer.minute,
        **about,
    )
    return list(near.exclude(pk=transfer.pk).select_related("firm").order_by("pk"))


def sale_steps(transfer: Transfer) -> Iterator[Step]:
    """An evening's sale in a shop: the rule, what was sold, and who set the shelf price. Three queries."""
    shop = transfer.firm
    yield steps.rule_step(transfer.reason)
    sale = ConsumerSale.objects.filter(shop=shop, day=transfer.day, item=transfer.item).first()
    if sale:
        yield steps.sale_step(sale, shop)
    priced = last_priced(transfer)
    turns = turns_that_priced(priced) if priced else {}
    turn = max(turns, default=None)
    yield steps.price_step(shop, transfer.item, priced.minute if priced else None, decided_in(turns, turn))


def last_priced(transfer: Transfer) -> Event | None:
    """When a shop last set the price of an item before an evening. One query."""
    events = Event.objects.filter(
        **in_run(transfer.run_number), minute__lte=transfer.minute, kind="price_set", firm=transfer.firm_id
    )
    return events.filter(data__item=transfer.item).order_by("-pk").first()


def turns_that_priced(priced: Event) -> Turns:
    """The turns in which a shop may have set that price: mostly one. One query."""
    turns = Turn.objects.filter(
        firm=priced.firm_id, day=priced.day, minute=priced.minute, tool="set_retail_price", accepted=True
    )
    item = str(priced.data.get("item", ""))
    return {turn.pk: turn for turn in turns.select_related("firm") if item in turn.arguments}
