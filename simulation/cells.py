"""Cells of a CSV file that a spreadsheet opens as data, whatever somebody may have written into them."""

from __future__ import annotations

from typing import Any, Final

# A cell that begins with one of these is a formula to a spreadsheet, and a formula can call out to the network.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(value: Any) -> Any:
    """A number as it is; text with an apostrophe before anything a spreadsheet would calculate."""
    if isinstance(value, str) and value.lstrip(" \ufeff").startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
