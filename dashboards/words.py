"""How pages write numbers, times and names; one place, so that all of them write alike."""

from __future__ import annotations

from datetime import timedelta

from marketplace.economy.money import usd
from simulation.engine.clock import FIRST_DATE, MINUTES_PER_DAY, clock_text

MINUS = "−"


def number_text(value: float, decimals: int = 0) -> str:
    """1,234.50 and −12.00: grouped, with a true minus sign, and never a negative zero."""
    text = f"{value:,.{decimals}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def usd_text(amount_usd: float) -> str:
    """An amount in USD to the cent."""
    return number_text(amount_usd, 2)


def dollars_text(amount_usd: float) -> str:
    """An amount in USD at a glance: whole dollars."""
    return number_text(amount_usd)


def micros_text(amount_micros: int) -> str:
    """An amount in micro-dollars, written in USD to the cent."""
    return usd_text(usd(amount_micros))


def sign_of(amount_micros: int) -> str:
    """`gain`, `loss` or `even`, to the cent: what the page colours, always beside the sign itself."""
    cents = round(amount_micros / 10_000)
    return "gain" if cents > 0 else "loss" if cents < 0 else "even"


def weekday_of(minute: int) -> str:
    """Fri."""
    return f"{FIRST_DATE + timedelta(days=minute // MINUTES_PER_DAY):%a}"


def moment_text(minute: int) -> str:
    """Day 12 · Fri 14:30."""
    return f"Day {minute // MINUTES_PER_DAY} · {weekday_of(minute)} {clock_text(minute)}"


def item_text(item: str) -> str:
    """An item as people call it, `◆` before a specialty: `◆ green specialty` for green_specialty_kg."""
    name = item.removesuffix("_kg").replace("_", " ")
    return f"◆ {name}" if "specialty" in name else name


def days_text(count: int) -> str:
    """1 day, 30 days."""
    return f"{count} day" if count == 1 else f"{count} days"
