"""Invoices: issued, paid, late, credited for returns, written off (RULES.md sections 6 and 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marketplace.economy import ledger
from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.money import micros, share, to_cents, usd
from marketplace.economy.trading import Deal, ordinal

OPEN, PAID, WRITTEN_OFF = "open", "paid", "written off"


@dataclass(slots=True, eq=False)
class Invoice:
    """What a debtor owes an issuer. `deal` is None for the refund of a return that the seller's cash did not cover."""

    number: int
    issuer: Firm
    debtor: Firm
    deal: Deal | None
    principal_micros: int
    issued_day: int
    due_day: int
    turn: int
    fees_micros: int = 0
    credited_micros: int = 0
    paid_micros: int = 0
    returned_kg: int = 0
    returned_cost_micros: int = 0
    status: str = OPEN
    settled_minute: int | None = None

    @property
    def id(self) -> str:
        return f"I{self.number}"

    @property
    def principal_usd(self) -> float:
        """The invoiced amount in USD."""
        return usd(self.principal_micros)

    @property
    def owed_principal_micros(self) -> int:
        """What is still owed of the principal after credits; late fees run on this (section 12.3)."""
        return self.principal_micros - self.credited_micros if self.status == OPEN else 0

    @property
    def owed_micros(self) -> int:
        """What paying it takes now: principal after credits, and late fees."""
        return self.principal_micros - self.credited_micros + self.fees_micros if self.status == OPEN else 0

    @property
    def returnable_kg(self) -> int:
        """Kilograms delivered under it and not yet returned."""
        return self.deal.quantity_kg - self.returned_kg if self.deal else 0


def issue_invoice(
    economy: Economy, issuer: Firm, debtor: Firm, principal_micros: int, terms_days: int, *, deal: Deal | None
) -> Invoice:
    """Makes an invoice of today, due after the agreed number of days. The caller posts what it is for."""
    invoice = Invoice(
        len(economy.invoices) + 1,
        issuer,
        debtor,
        deal,
        principal_micros,
        economy.day,
        economy.day + terms_days,
        economy.turn,
    )
    economy.invoices.append(invoice)
    debtor.payables[invoice] = issuer.receivables[invoice] = None
    economy.changed[invoice] = None
    return invoice


def find_payable(economy: Economy, firm: Firm, invoice_id: str) -> Invoice:
    """The invoice with that id addressed to the firm; to it no other exists."""
    number = ordinal(invoice_id, "I")
    if 1 <= number <= len(economy.invoices):
        invoice = economy.invoices[number - 1]
        if invoice.debtor is firm:
            return invoice
    raise Refused(f"no invoice {invoice_id!a} is addressed to {firm.name}; view_payables shows those that are")


def close_invoice(economy: Economy, invoice: Invoice, status: str) -> None:
    """Ends an invoice: paid, or written off."""
    invoice.status = status
    invoice.settled_minute = economy.minute
    del invoice.debtor.payables[invoice]
    del invoice.issuer.receivables[invoice]
    economy.changed[invoice] = None


def pay_invoice(economy: Economy, firm: Firm, invoice: Invoice) -> int:
    """Pays in full, late fees included, and wakes the issuer; returns the micro-dollars paid."""
    if invoice.status != OPEN:
        raise Refused(f"{invoice.id} is {invoice.status} already; nothing is owed on it")
    owed_micros = invoice.owed_micros
    if firm.cash_micros < owed_micros:
        raise Refused(
            f"{invoice.id} takes {usd(owed_micros)} USD, but cash is {usd(firm.cash_micros)} USD; "
            "an invoice is paid in full or not at all"
        )
    invoice.paid_micros = owed_micros
    close_invoice(economy, invoice, PAID)
    issuer, deal = invoice.issuer, invoice.deal.number if invoice.deal else 0
    economy.post(firm, ledger.PAYABLES, ledger.CASH, owed_micros, "invoice paid", deal=deal, invoice=invoice.number)
    economy.post(
        issuer, ledger.CASH, ledger.RECEIVABLES, owed_micros, "payment received", deal=deal, invoice=invoice.number
    )
    economy.tell("invoice_paid", firm, issuer, invoice=invoice.id, amount=usd(owed_micros), due_day=invoice.due_day)
    economy.wake(issuer, f"{firm.name} paid your invoice {invoice.id}: {usd(owed_micros)} USD")
    return owed_micros


def accrue_late_fees(economy: Economy) -> None:
    """Each evening an unpaid invoice due before today grows by a fee on what is owed of its principal (section 6)."""
    today, rate = economy.day, economy.rules.late_fee
    for debtor in economy.firms:
        if debtor.is_live:
            for invoice in debtor.payables:
                if invoice.due_day < today:
                    accrue_late_fee(economy, invoice, rate)


def accrue_late_fee(economy: Economy, invoice: Invoice, rate: float) -> None:
    """One evening's fee on one invoice: expense of the debtor, revenue of the issuer."""
    fee_micros = micros(round(usd(invoice.owed_principal_micros) * rate, 4))
    if fee_micros == 0:
        return
    invoice.fees_micros += fee_micros
    economy.changed[invoice] = None
    deal = invoice.deal.number if invoice.deal else 0
    post, number = economy.post, invoice.number
    post(invoice.debtor, ledger.INTEREST_EXPENSE, ledger.PAYABLES, fee_micros, "late fee", deal=deal, invoice=number)
    post(invoice.issuer, ledger.RECEIVABLES, ledger.INTEREST_REVENUE, fee_micros, "late fee", deal=deal, invoice=number)


def return_shipment(economy: Economy, firm: Firm, invoice: Invoice, quantity_kg: int, reason: str) -> int:
    """Sends delivered goods back to a live seller for credit; returns the credit in micro-dollars (section 12.2)."""
    check_return(economy, firm, invoice, quantity_kg)
    deal = invoice.deal
    assert deal is not None
    # The last kilograms take what is left; rounding up on the way there never takes more than that.
    credit_micros = invoice.principal_micros - invoice.credited_micros
    seller_cost_micros = deal.cost_micros - invoice.returned_cost_micros
    if quantity_kg < invoice.returnable_kg:
        credit_micros = min(credit_micros, to_cents(deal.price_micros * quantity_kg))
        seller_cost_micros = min(seller_cost_micros, share(deal.cost_micros, quantity_kg, deal.quantity_kg))
    buyer_cost_micros = firm.stock_out(deal.item, quantity_kg)
    deal.seller.stock_in(deal.item, quantity_kg, seller_cost_micros)
    invoice.returned_kg += quantity_kg
    invoice.returned_cost_micros += seller_cost_micros
    invoice.credited_micros += credit_micros
    economy.changed[invoice] = None
    _post_goods_returned(economy, invoice, deal, quantity_kg, seller_cost_micros)
    refund_number = _settle_credit(economy, invoice, deal, quantity_kg, credit_micros, buyer_cost_micros)
    economy.tell(
        "shipment_returned",
        firm,
        deal.seller,
        invoice=invoice.id,
        deal=deal.id,
        item=deal.item,
        quantity_kg=quantity_kg,
        credit=usd(credit_micros),
        refund_invoice=f"I{refund_number}" if refund_number else None,
        reason=reason,
    )
    economy.wake(deal.seller, f"{firm.name} returned {quantity_kg} kg of {deal.item} under {invoice.id}")
    return credit_micros


def check_return(economy: Economy, firm: Firm, invoice: Invoice, quantity_kg: int) -> None:
    """Refuses, by name, what stands between a buyer and a credit (sections 6 and 12.2)."""
    deal, window_days = invoice.deal, economy.rules.return_window_days
    if deal is None:
        raise Refused(f"{invoice.id} is a refund, not a delivery; nothing can be returned under it")
    if economy.day - invoice.issued_day > window_days:
        last_day = invoice.issued_day + window_days
        raise Refused(f"{invoice.id} was returnable until day {last_day}; today is day {economy.day}")
    if quantity_kg > invoice.returnable_kg:
        raise Refused(f"quantity_kg {quantity_kg} exceeds the {invoice.returnable_kg} kg returnable under {invoice.id}")
    if quantity_kg > firm.on_hand(deal.item):
        raise Refused(f"quantity_kg {quantity_kg} exceeds the {firm.on_hand(deal.item)} kg of {deal.item} on hand")
    if not deal.seller.is_live:
        raise Refused(f"{deal.seller.name} is bankrupt and takes nothing back")


def _post_goods_returned(
    economy: Economy, invoice: Invoice, deal: Deal, quantity_kg: int, seller_cost_micros: int
) -> None:
    """The goods are back in the seller's store at the cost pinned at acceptance."""
    economy.post(
        deal.seller,
        ledger.INVENTORY,
        ledger.COST_OF_GOODS_SOLD,
        seller_cost_micros,
        "goods returned",
        item=deal.item,
        quantity_kg=quantity_kg,
        deal=deal.number,
        invoice=invoice.number,
    )


def _settle_credit(
    economy: Economy, invoice: Invoice, deal: Deal, quantity_kg: int, credit_micros: int, buyer_cost_micros: int
) -> int:
    """Books the credit with both firms: less debt where the invoice is open, else cash, else a debt of the seller's.

    Returns the number of the seller's refund invoice, 0 where there is none.
    """
    buyer, seller = invoice.debtor, invoice.issuer
    refs: dict[str, Any] = {"item": deal.item, "deal": deal.number, "invoice": invoice.number}
    if invoice.status == OPEN:
        parts = [(ledger.PAYABLES, ledger.RECEIVABLES, credit_micros)]
    else:
        cash_micros = min(credit_micros, max(0, seller.cash_micros))
        parts = [
            (ledger.CASH, ledger.CASH, cash_micros),
            (ledger.RECEIVABLES, ledger.PAYABLES, credit_micros - cash_micros),
        ]
    left_micros = buyer_cost_micros
    for buyer_account, seller_account, amount_micros in parts:
        at_cost_micros = min(amount_micros, left_micros)
        left_micros -= at_cost_micros
        gain_micros = amount_micros - at_cost_micros
        economy.post(buyer, buyer_account, ledger.INVENTORY, at_cost_micros, "credit for return", **refs)
        economy.post(buyer, buyer_account, ledger.OTHER_OPERATING, gain_micros, "gain on return", **refs)
        economy.post(seller, ledger.RETURNS, seller_account, amount_micros, "return credited", **refs)
    economy.post(buyer, ledger.OTHER_OPERATING, ledger.INVENTORY, left_micros, "loss on return", **refs)
    if invoice.status == OPEN:
        if invoice.owed_micros == 0:
            close_invoice(economy, invoice, PAID)
        return 0
    owed_micros = parts[1][2]
    if owed_micros == 0:
        return 0
    return issue_invoice(economy, buyer, seller, owed_micros, economy.rules.refund_terms_days, deal=None).number


def write_off_debts_of(economy: Economy, debtor: Firm) -> None:
    """A bankrupt firm's unpaid invoices become their issuers' bad debt; its own books keep them (section 9)."""
    for invoice in list(debtor.payables):
        owed_micros = invoice.owed_micros
        close_invoice(economy, invoice, WRITTEN_OFF)
        invoice.issuer.written_off.append((debtor, owed_micros))
        economy.post(
            invoice.issuer,
            ledger.OTHER_OPERATING,
            ledger.RECEIVABLES,
            owed_micros,
            "bad debt",
            deal=invoice.deal.number if invoice.deal else 0,
            invoice=invoice.number,
        )
        economy.tell("invoice_written_off", invoice.issuer, debtor, invoice=invoice.id, amount=usd(owed_micros))
