"""How pages write numbers, times and names; one place, so that all of them write alike."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

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


def small_usd_text(amount_micros: int | None) -> str:
    """The price of a call, in USD to the hundredth of a cent; a dash for one that is not known."""
    return "–" if amount_micros is None else number_text(usd(amount_micros), 4)


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


def duration_text(seconds: float) -> str:
    """A stretch of wall time at a glance: 45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{round(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def utc_text(when: datetime) -> str:
    """Wall time to the second, without its day: 14:30:05 UTC."""
    return f"{when.astimezone(UTC):%H:%M:%S} UTC"


def sendable(text: str) -> str:
    """Text that a page can carry: half a surrogate pair, which a model may write, is in no encoding."""
    return text.encode("utf-8", "replace").decode()


def laid_out(text: str) -> str:
    """JSON text over several lines, for reading; text that is no JSON, or nested beyond reading, as it stands."""
    try:
        return laid_out_value(json.loads(text))
    except (ValueError, RecursionError):
        return sendable(text)


def laid_out_value(value: Any) -> str:
    """A JSON value over several lines; what no encoding can hold is written out as JSON writes it, \\ud800."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
