"""What happens to a firm that cannot pay its daily costs (RULES.md sections 9 and 12.4)."""

from __future__ import annotations

from marketplace.economy.credit import write_off_debts_of
from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from marketplace.economy.production import write_off_batches_of
from marketplace.economy.shipments import turn_back
from marketplace.economy.trading import CLOSED, WITHDRAWN, close_listing, close_offer


def declare_bankrupt(economy: Economy, firm: Firm) -> None:
    """For good: batches lost, score frozen, debts written off by issuers, its market closed, its goods turned back."""
    firm.bankrupt_day = economy.day
    economy.tell("bankrupt", firm, cash=usd(firm.cash_micros))
    write_off_batches_of(economy, firm)
    firm.frozen_score_micros = firm.score_micros
    write_off_debts_of(economy, firm)
    for listing in list(firm.open_listings):
        close_listing(economy, listing, CLOSED)
    for offer in list(firm.offers_out):
        close_offer(economy, offer, WITHDRAWN)
        economy.tell("offer_withdrawn", firm, offer.listing.seller, offer=offer.id, listing=offer.listing.id)
    for deal in [deal for deal in economy.travelling if deal.buyer is firm]:
        turn_back(economy, deal)
