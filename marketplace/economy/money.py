"""Whole micro-dollars: the only form in which the books hold money."""

from __future__ import annotations

MICROS_PER_USD = 1_000_000
MICROS_PER_CENT = 10_000


def micros(amount_usd: float) -> int:
    """Micro-dollars nearest to an amount in USD; exact for anything typed with at most six decimals."""
    return round(amount_usd * MICROS_PER_USD)


def usd(amount_micros: int) -> float:
    """An amount in USD for people and models; up to 9 billion USD every micro-dollar survives the float."""
    return amount_micros / MICROS_PER_USD


def divide_half_even(numerator: int, denominator: int) -> int:
    """The whole number nearest to numerator / denominator (denominator > 0), ties to the even one, with no float."""
    quotient, remainder = divmod(numerator, denominator)
    twice = 2 * remainder
    if twice > denominator or (twice == denominator and quotient % 2):
        quotient += 1
    return quotient


def to_cents(amount_micros: int) -> int:
    """The amount rounded half-even to whole cents, still in micro-dollars (RULES.md section 5: a deal's total)."""
    return divide_half_even(amount_micros, MICROS_PER_CENT) * MICROS_PER_CENT


def share(total_micros: int, part: int, whole: int) -> int:
    """The part of a total that goes with `part` of `whole` units; the last units take whatever is left (section 4)."""
    if part == whole:
        return total_micros
    return divide_half_even(total_micros * part, whole)
