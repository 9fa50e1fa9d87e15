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
