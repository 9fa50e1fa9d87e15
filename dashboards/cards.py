"""A card a firm: the figures that say at a glance how it does, already written as the page shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dashboards.alarms import NO_FLAGS, Flags, alarms_text, flags_by_firm
from dashboards.books import Evening
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
    alarms: str


@dataclass(frozen=True, slots=True)
class Debts:
    """What changes on a card every evening."""

    receivables: str
    payables: str


def standing_of(firm: Firm, run: Run, flags: Flags = NO_FLAGS) -> Standing:
    """A firm's standing now."""
    cap_kg = storage_cap_kg(run.scenario, firm.name, firm.role)
    stock_kg = sum(firm.stock_kg.values())
    specialty_kg = sum(quantity for item, quantity in firm.stock_kg.items() if "specialty" in item)
    return Standing(
        net_income=micros_text(firm.net_income_micros),
        sign=sign_of(firm.net_income_micros),
        cash=dollars_text(usd(firm.cash_micros)),
        cash_sign=sign_of(firm.cash_micros),
        stock=f"{number_text(stock_kg)} of {number_text(cap_kg)} kg",
        plain_percent=share_percent(stock_kg - specialty_kg, cap_kg),
        specialty_percent=share_percent(specialty_kg, cap_kg),
        bankrupt="" if firm.bankrupt_day is None else f"Bankrupt on Day {firm.bankrupt_day}",
        alarms=alarms_text(firm, flags),
    )


def share_percent(part: float, whole: float) -> float:
    """A part of a whole in percent, at most all of it."""
    return round(min(100.0, 100 * part / whole), 1) if whole else 0.0


def debts_of(evening: Evening | None) -> Debts:
    """What a firm was owed and owed itself at its last evening."""
    if evening is None:
        return Debts("–", "–")
    return Debts(dollars_text(usd(evening.receivables_micros)), dollars_text(usd(evening.payables_micros)))


def standings_of(firms: list[Firm], run: Run) -> dict[str, dict[str, Any]]:
    """The standings of some firms by name, as a socket sends them."""
    flags = flags_by_firm(run)
    return {firm.name: asdict(standing_of(firm, run, flags.get(firm.pk, NO_FLAGS))) for firm in firms}
