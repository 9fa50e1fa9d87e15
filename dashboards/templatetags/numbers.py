"""Numbers and times in templates, written as `dashboards.words` writes them."""

from __future__ import annotations

from django import template

from dashboards import words

register = template.Library()


@register.filter
def usd(amount: float | None) -> str:
    """An amount in USD; a dash for none."""
    return "–" if amount is None else words.usd_text(amount)


@register.filter
def whole(value: float) -> str:
    """A whole number, grouped."""
    return words.number_text(value)


@register.filter
def plain(value: float) -> str:
    """A number for an attribute, where grouping would be wrong: 7, 0.1."""
    return f"{value:g}"


@register.filter
def small_usd(amount_micros: int | None) -> str:
    """What a call cost, in USD; a dash for what is not known."""
    return words.small_usd_text(amount_micros)


@register.filter
def cents(amount_micros: int) -> str:
    """An amount in micro-dollars, in USD to the cent."""
    return words.micros_text(amount_micros)


@register.filter
def seconds(milliseconds: int) -> str:
    """Milliseconds as seconds to the tenth."""
    return words.number_text(milliseconds / 1000, 1)


@register.filter
def duration(seconds: float) -> str:
    """A stretch of wall time: 3 h 20 min."""
    return words.duration_text(seconds)
