"""The steps of a trail: from a transfer back to what caused it, a step a thing, as people read them.

Every reason that the ledger knows ends at a turn, where somebody decided, or at a rule of the environment, which is
said. Nothing here asks the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from dashboards.colours import FirmStyle, style_of
from dashboards.told import Told, told_turn
from dashboards.words import days_text, item_text, moment_text, number_text, sendable
from marketplace.admin import showing
from marketplace.models import Batch, ConsumerSale, Deal, Firm, Invoice, Listing, Message, Offer, Transfer
from marketplace.rows import RunRow, number_of
from simulation.models import Turn


class Rule(NamedTuple):
    """What the environment does by itself, and the section of RULES.md that says so."""

    text: str
    section: str


_OPENING = "What a firm of its role has before the first morning, as the scenario says."
_DELIVERY = (
    "Every morning at 09:00 each shipment that is due is settled by a draw: lost, a day late, or delivered. What is "
    "delivered is invoiced that day, at the deal’s total, and the seller books the cost pinned at acceptance."
)
_SHOP = "Every evening at 19:00 consumers buy, by demand, shelf prices and stock, and pay in cash."
_BANKRUPT = (
    "A firm that is about to act with less than nothing in cash is bankrupt, for good: its batches are lost, those it "
    "owes write that off, and goods on their way to it turn back."
)

RULES: Final = {
    "opening cash": Rule(_OPENING, "1"),
    "opening stock": Rule(_OPENING, "1"),
    "daily operating cost": Rule("Operating cost, charged every morning at 09:00 to every live firm.", "3"),
    "batch landed": Rule("In the morning of the day it is due a batch comes into the store, at what it cost.", "3"),
    "delivery invoiced": Rule(_DELIVERY, "6"),
    "cost of delivery": Rule(_DELIVERY, "6"),
    "delivery received": Rule(_DELIVERY, "6"),
    "shipment lost": Rule(
        "Every morning at 09:00 each shipment that is due is settled by a draw, and this one was lost: the seller "
        "writes off its cost, there is no invoice, and the buyer owes nothing.",
        "6",
    ),
    "late fee": Rule(
        "Every evening an unpaid invoice that was due before the day grows by a fee on what is owed of its principal.",
        "6",
    ),
    "consumer sales": Rule(_SHOP, "7"),
    "cost of consumer sales": Rule(f"{_SHOP} What they take leaves the stock at its weighted-average cost.", "7"),
    "spoilage": Rule("Every evening a share of what a firm holds goes stale and is lost, at average cost.", "8"),
    "bad debt": Rule(_BANKRUPT, "9"),
    "batch written off": Rule(_BANKRUPT, "9"),
    "shipment turned back": Rule(_BANKRUPT, "9 and 12.4"),
}
"""What is booked without a decision of that moment. All else that is booked has the turn that booked it."""

BY_A_TURN: Final = frozenset(
    (
        "goods shipped",
        "production paid",
        "green put to roast",
        "roasting labour",
        "invoice paid",
        "payment received",
        "goods returned",
        "credit for return",
        "gain on return",
        "return credited",
        "loss on return",
    )
)


SELLERS_COST: Final = "cost to the seller, on average"


class Fact(NamedTuple):
    """A figure of a thing, with its name and its unit."""

    name: str
    value: str


class Decided(NamedTuple):
    """The turn behind a step: whose it was, and what was decided why."""

    firm: str
    style: FirmStyle
    told: Told


class Letter(NamedTuple):
    """A message between the two firms."""

    label: str
    sender: str
    style: FirmStyle
    moment: str
    title: str
    body: str
    refers_to: str
    url: str
    turn: int
    is_read: bool


class Booked(NamedTuple):
    """A transfer that was booked with the one that is looked at."""

    number: int
    firm: str
    style: FirmStyle
    debit: str
    credit: str
    amount: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing on the way from a number to its cause."""

    kind: str
    title: str
    facts: Sequence[Fact] = ()
    firms: Sequence[tuple[str, FirmStyle]] = ()
    moment: str = ""
    text: str = ""
    words: str = ""
    url: str = ""
    decided: Decided | None = None
    letters: Sequence[Letter] = ()
    booked: Sequence[Booked] = ()
    books_of: str = ""
    books_day: int = 0
    untold: str = ""
    """Who decided it, where the reader is a firm that was not told how."""

    @property
    def is_cause(self) -> bool:
        """Whether it says why: somebody decided it, or a rule did."""
        return self.decided is not None or self.kind == "rule"


Turns = dict[int, Turn]
"""Turns by key, each with its firm."""


def decided_in(turns: Turns, key: int | None) -> Decided | None:
    """The turn of a key, as people read it."""
    turn = turns.get(key or 0)
    return Decided(turn.firm.name, style_of(turn.firm.name), told_turn(turn, None)) if turn else None


def pair(*firms: Firm) -> list[tuple[str, FirmStyle]]:
    """Firms as a step names them, from the first to the second."""
    return [(firm.name, style_of(firm.name)) for firm in firms]


def address(row: RunRow) -> str:
    """A row's page in the cabinet."""
    return showing.row_url(type(row), row.pk)


def per_kg(price_micros: int) -> str:
    """9.50 USD/kg."""
    return f"{showing.money(price_micros)} USD/kg"


def dollars(amount_micros: int) -> str:
    """92.00 USD."""
    return f"{showing.money(amount_micros)} USD"


def goods(quantity_kg: int, item: str) -> str:
    """30 kg green coffee."""
    return f"{number_text(quantity_kg)} kg {item_text(item)}"


def transfer_step(transfer: Transfer, booked: Iterable[Transfer], decided: Decided | None) -> Step:
    """The number itself, and what was booked with it."""
    facts = [
        Fact("to, debited", transfer.debit.replace("_", " ")),
        Fact("from, credited", transfer.credit.replace("_", " ")),
        Fact("reason", transfer.reason),
    ]
    if transfer.item:
        quantity = f"{number_text(transfer.quantity_kg)} kg " if transfer.quantity_kg else ""
        facts.append(Fact("goods", f"{quantity}{item_text(transfer.item)}"))
    return Step(
        "transfer",
        dollars(transfer.amount_micros),
        facts,
        pair(transfer.firm),
        moment_text(transfer.minute),
        url=address(transfer),
        decided=decided,
        booked=[booked_with(each) for each in booked],
    )


def booked_with(transfer: Transfer) -> Booked:
    """Another transfer of the same moment and matter."""
    return Booked(
        transfer.number,
        transfer.firm.name,
        style_of(transfer.firm.name),
        transfer.debit.replace("_", " "),
        transfer.credit.replace("_", " "),
        showing.money(transfer.amount_micros),
        transfer.reason,
    )


def rule_step(reason: str) -> Step:
    """The rule by which something was booked without a decision; one that nobody has stated yet is said to be so."""
    rule = RULES.get(reason)
    if rule is None:
        return Step("rule", "A rule of the environment", text=f"Booked by the environment: {reason}.")
    return Step("rule", f"A rule of the environment: RULES {rule.section}", text=rule.text)


def invoice_step(invoice: Invoice, decided: Decided | None) -> Step:
    """An invoice, or the refund of a return."""
    facts = [
        Fact("principal", dollars(invoice.principal_micros)),
        Fact("issued", f"Day {invoice.issued_day}"),
        Fact("due", f"Day {invoice.due_day}"),
        Fact("by now", invoice.status),
    ]
    facts += [
        Fact(name, dollars(amount_micros))
        for name, amount_micros in (("late fees", invoice.fees_micros), ("credited", invoice.credited_micros))
        if amount_micros
    ]
    kind = "Invoice" if invoice.deal_id else "Refund"
    return Step(
        "invoice",
        f"{kind} {invoice.label}",
        facts,
        pair(invoice.issuer, invoice.debtor),
        url=address(invoice),
        decided=decided,
    )


def deal_step(deal: Deal, decided: Decided | None) -> Step:
    """An accepted offer and its shipment."""
    facts = [
        Fact("sold", goods(deal.quantity_kg, deal.item)),
        Fact("price", per_kg(deal.price_micros)),
        Fact("total", dollars(deal.total_micros)),
        Fact("to pay in", days_text(deal.terms_days)),
        Fact(SELLERS_COST, dollars(deal.cost_micros)),
        Fact("shipment by now", f"{deal.status}, {days_text(deal.delays)} late" if deal.delays else deal.status),
    ]
    return Step(
        "deal",
        f"Deal {deal.label}",
        facts,
        pair(deal.seller, deal.buyer),
        moment_text(deal.minute),
        url=address(deal),
        decided=decided,
    )


def offer_step(offer: Offer, decided: Decided | None) -> Step:
    """A bid, with what the bidder wrote to it."""
    facts = [
        Fact("quantity", f"{number_text(offer.quantity_kg)} kg"),
        Fact("offered", per_kg(offer.price_micros)),
        Fact("to pay in", days_text(offer.terms_days)),
    ]
    return Step(
        "offer",
        f"Offer {offer.label}",
        facts,
        pair(offer.bidder),
        moment_text(offer.minute),
        words=sendable(offer.message),
        url=address(offer),
        decided=decided,
    )


def listing_step(listing: Listing, decided: Decided | None) -> Step:
    """A public notice."""
    facts = [
        Fact("listed", goods(listing.quantity_kg, listing.item)),
        Fact("asked", per_kg(listing.price_micros)),
        Fact("to pay in", days_text(listing.terms_days)),
    ]
    return Step(
        "listing",
        f"Listing {listing.label}",
        facts,
        pair(listing.seller),
        moment_text(listing.minute),
        url=address(listing),
        decided=decided,
    )


def batch_step(batch: Batch, decided: Decided | None) -> Step:
    """Goods in the making."""
    facts = [Fact("comes out", goods(batch.quantity_kg, batch.item))]
    if batch.input_item:
        facts.append(Fact("goes in", goods(batch.input_kg, batch.input_item)))
    facts += [
        Fact("cost", dollars(batch.cost_micros)),
        Fact("due", f"Day {batch.due_day}"),
        Fact("by now", batch.status),
    ]
    return Step(
        "batch",
        f"Batch {batch.label}: {batch.kind}",
        facts,
        pair(batch.firm),
        moment_text(batch.minute),
        url=address(batch),
        decided=decided,
    )


def sale_step(sale: ConsumerSale, shop: Firm) -> Step:
    """What a shop sold in an evening."""
    facts = [
        Fact("sold", goods(sale.quantity_kg, sale.item)),
        Fact("shelf price", per_kg(sale.price_micros)),
        Fact("revenue", dollars(sale.revenue_micros)),
        Fact("cost, on average", dollars(sale.cost_micros)),
    ]
    return Step("sale", f"Consumer sale {sale.label}", facts, pair(shop), url=address(sale))


def price_step(shop: Firm, item: str, minute: int | None, decided: Decided | None) -> Step:
    """Who set the shelf price, or that it was the opening one."""
    title = f"Shelf price of {item_text(item)}"
    if minute is None:
        text = "Nobody has changed it since the run began: it is the opening price of the scenario (RULES 1)."
        return Step("rule", title, firms=pair(shop), text=text)
    return Step("price", title, firms=pair(shop), moment=moment_text(minute), decided=decided)


def bankruptcy_step(firm: Firm) -> Step:
    """The firm that could not pay."""
    day = firm.bankrupt_day or 0
    text = f"{firm.name} was bankrupt on Day {day}: its cash was below zero when it was about to act."
    return Step(
        "bankruptcy", f"Bankruptcy on Day {day}", firms=pair(firm), text=text, books_of=firm.name, books_day=day
    )


def letters_step(messages: Iterable[Message], firms: Sequence[Firm], offer: Offer) -> Step:
    """What the two firms wrote to each other before the deal, oldest first."""
    names = {firm.pk: firm.name for firm in firms}
    letters = [letter_of(message, names, offer) for message in messages]
    return Step("messages", "What the two wrote before", firms=pair(*firms), letters=letters)


def letter_of(message: Message, names: dict[int, str], offer: Offer) -> Letter:
    """One message as the trail shows it."""
    refers = []
    if message.offer_id == offer.pk:
        refers.append(offer.label)
    if message.listing_id == offer.listing_id:
        refers.append(f"{Listing.prefix}{number_of(offer.listing_id)}")
    sender = names.get(message.sender_id, "")
    return Letter(
        message.label,
        sender,
        style_of(sender),
        moment_text(message.minute),
        sendable(message.title),
        sendable(message.body),
        ", ".join(refers),
        address(message),
        number_of(message.turn_id),
        message.read_minute is not None,
    )


def as_known(steps: Iterable[Step], knower: str) -> list[Step]:
    """A trail as one of its firms knew it: without others' turns, bookings and costs, and the cabinet (RULES.md 11)."""
    return [step_as_known(step, knower) for step in steps]


def step_as_known(step: Step, knower: str) -> Step:
    """One step as a firm knew it."""
    is_own = step.decided is None or step.decided.firm == knower
    is_seller = step.kind == "deal" and step.firms[0][0] == knower
    return replace(
        step,
        facts=[fact for fact in step.facts if fact.name != SELLERS_COST or is_seller],
        decided=step.decided if is_own else None,
        untold="" if step.decided is None or is_own else step.decided.firm,
        url="",
        letters=[letter_as_known(each, knower) for each in step.letters],
        booked=[each for each in step.booked if each.firm == knower],
        books_of=step.books_of if step.books_of == knower else "",
    )


def letter_as_known(letter: Letter, knower: str) -> Letter:
    """One message as a firm knew it: its own, or one that it got, whose text it knows once it has read it."""
    if letter.sender == knower:
        return letter._replace(url="")
    return letter._replace(url="", turn=0, body=letter.body if letter.is_read else "")
