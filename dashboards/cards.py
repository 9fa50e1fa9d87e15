"""A card a firm: the figures that say at a glance how it does, already written as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from dashboards.alarms import NO_FLAGS, Flags, alarms_text, flags_by_firm
from dashboards.books import Evening, kilograms_of
from dashboards.state import storage_cap_kg
from dashboards.words import dollars_text, micros_text, number_text, sign_of
from marketplace.economy.money import usd
from marketplace.models import Firm
from simulation.models import Run


@dataclass(frozen=True, slots=True)
class Standing:
    """What changes on a card with every step."""

    net_income: str
    sign: str
    cash: str
    cash_sign: str
    stock: str
    plain_percent: float
    specialty_percent: float
    bankrupt: str
    bankrupt_day: int | None
    cap_kg: int
    alarms: str


@dataclass(frozen=True, slots=True)
class Debts:
    """What changes on a card every evening."""

    receivables: str
    payables: str


def standing_of(firm: Firm, run: Run, flags: Flags = NO_FLAGS) -> Standing:
    """A firm's standing now."""
    cap_kg = storage_cap_kg(run.scenario, firm.name, firm.role)
    plain_kg, specialty_kg = kilograms_of(firm.stock_kg)
    return Standing(
        net_income=micros_text(firm.net_income_micros),
        sign=sign_of(firm.net_income_micros),
        cash=dollars_text(usd(firm.cash_micros)),
        cash_sign=sign_of(firm.cash_micros),
        stock=f"{number_text(plain_kg + specialty_kg)} of {number_text(cap_kg)} kg",
        plain_percent=share_percent(plain_kg, cap_kg),
        specialty_percent=share_percent(specialty_kg, cap_kg),
        bankrupt="" if firm.bankrupt_day is None else f"Bankrupt on Day {firm.bankrupt_day}",
        bankrupt_day=firm.bankrupt_day,
        cap_kg=cap_kg,
        alarms=alarms_text(flags, firm.refused_calls),
    )


def share_percent(part: float, whole: float) -> float:
    """A part of a whole in percent, at most all of it."""
    return round(min(100.0, 100 * part / whole), 1) if whole else 0.0


def debts_of(evening: Evening | None) -> Debts:
    """What a firm was owed and owed itself at its last evening."""
    if evening is None:
        return Debts("–", "–")
    return Debts(dollars_text(usd(evening.receivables_micros)), dollars_text(usd(evening.payables_micros)))


CARD_BOOKS: Final = ("net_income", "cash", "receivables", "payables")


def books_on_card(amounts: Mapping[str, float], stock_kg: Mapping[str, int]) -> dict[str, float]:
    """What a card shows of an evening: amounts in USD to the cent, stock in kg."""
    plain_kg, specialty_kg = kilograms_of(stock_kg)
    shown = {name: round(amounts[name], 2) for name in CARD_BOOKS if name in amounts}
    return {**shown, "plain_kg": plain_kg, "specialty_kg": specialty_kg}


def evenings_on_cards(firms: Iterable[Firm], evenings: Iterable[Evening]) -> dict[str, dict[str, list[float]]]:
    """Every evening of each firm as its card shows it: a list a figure, so that any day can be shown at once."""
    names = ("day", *CARD_BOOKS, "plain_kg", "specialty_kg")
    found: dict[str, dict[str, list[float]]] = {firm.name: {name: [] for name in names} for firm in firms}
    for evening in evenings:
        amounts = {name: usd(getattr(evening, f"{name}_micros")) for name in CARD_BOOKS}
        for name, value in {"day": evening.day, **books_on_card(amounts, evening.stock_kg)}.items():
            found[evening.firm][name].append(value)
    return found


def standings_of(firms: list[Firm], run: Run) -> dict[str, dict[str, Any]]:
    """The standings of some firms by name, as a socket sends them."""
    flags = flags_by_firm(run)
    return {firm.name: asdict(standing_of(firm, run, flags.get(firm.pk, NO_FLAGS))) for firm in firms}
