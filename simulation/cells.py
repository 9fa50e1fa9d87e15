"""Cells of a CSV file that a spreadsheet opens as data, whatever somebody may have written into them."""

from __future__ import annotations

from typing import Any, Final

# A cell that begins with one of these is a formula to a spreadsheet, and a formula can call out to the network. Some
# read the wide forms of East Asian keyboards alike.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe_cell(value: Any) -> Any:
    """A number as it is; text with an apostrophe before anything a spreadsheet would calculate.

    Where such text has apostrophes of its own before it, it gets one more: so one can always be taken away again.
    """
    if isinstance(value, str) and value.lstrip(" \ufeff'").startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
