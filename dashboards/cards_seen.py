"""The cards as a page's address asks to see the run: on the evening of a day, or as one firm knew it.

The page's script does the same, in `static/js/run/cards.js`, whenever another day or firm is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from dashboards.books import Evening, kilograms_of, last_evenings
from dashboards.cards import Standing, debts_of, share_percent
from dashboards.snapshot import Card, Snapshot
from dashboards.state import today_of
from dashboards.tabs.look import Look
from dashboards.tape import Line, last_actions
from dashboards.words import dollars_text, micros_text, number_text, sign_of
from marketplace.economy.money import usd

UNKNOWN: Final = "–"


def cards_seen(snapshot: Snapshot, look: Look, lines: Sequence[Line]) -> list[Card]:
    """Every card of a snapshot as it is seen; `lines` are those of the tape as it is seen."""
    evenings = last_evenings(evening for evening in snapshot.evenings if evening.day <= look.until)
    lasts = last_actions(lines)
    return [card_seen(card, look, evenings, lasts) for card in snapshot.cards]


def card_seen(card: Card, look: Look, evenings: Mapping[str, Evening], lasts: Mapping[str, Line]) -> Card:
    """One card: of a firm that is not known nothing but its bankruptcy, of which all are told the next morning."""
    day = card.standing.bankrupt_day
    if look.knower not in (None, card.firm):
        is_told = day is not None and day < (today_of(look.run) if look.is_live else look.until)
        standing = unknown(card.standing, bankrupt=card.standing.bankrupt if is_told else "")
        return replace(card, standing=standing, debts=debts_of(None), last=None)
    if look.is_live:
        return card
    bankrupt = card.standing.bankrupt if day is not None and day <= look.until else ""
    evening = evenings.get(card.firm.name)
    return replace(
        card,
        standing=standing_then(card.standing, evening, bankrupt) if evening else unknown(card.standing, bankrupt),
        debts=debts_of(evening),
        last=lasts.get(card.firm.name),
    )


def unknown(now: Standing, bankrupt: str) -> Standing:
    """A card with a dash for every figure."""
    return Standing(UNKNOWN, "even", UNKNOWN, "even", UNKNOWN, 0, 0, bankrupt, now.bankrupt_day, now.cap_kg, "")


def standing_then(now: Standing, evening: Evening, bankrupt: str) -> Standing:
    """A firm's standing after an evening. What it had done wrong by then the page asks for."""
    plain_kg, specialty_kg = kilograms_of(evening.stock_kg)
    return replace(
        now,
        net_income=micros_text(evening.net_income_micros),
        sign=sign_of(evening.net_income_micros),
        cash=dollars_text(usd(evening.cash_micros)),
        cash_sign=sign_of(evening.cash_micros),
        stock=f"{number_text(plain_kg + specialty_kg)} of {number_text(now.cap_kg)} kg",
        plain_percent=share_percent(plain_kg, now.cap_kg),
        specialty_percent=share_percent(specialty_kg, now.cap_kg),
        bankrupt=bankrupt,
        alarms="",
    )
