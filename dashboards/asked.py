"""What an address asks for, checked: a parameter that makes no sense is refused with a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.core.exceptions import BadRequest

from marketplace.models import Firm


def whole_number(text: str, name: str = "before") -> int:
    """A number from an address, 0 for none."""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadRequest(f"{name} is not a number of at most nine digits")
    return int(text)


def number_asked(asked: Mapping[str, str], name: str) -> int | None:
    """The number that an address gives for a name; None where it gives none."""
    text = asked.get(name, "")
    return whole_number(text, name) if text else None


def firm_asked(name: str, firms: Iterable[Firm]) -> Firm | None:
    """The firm with a name; None for none asked."""
    if not name:
        return None
    for firm in firms:
        if firm.name == name:
            return firm
    raise BadRequest("no firm of this run has that name")
