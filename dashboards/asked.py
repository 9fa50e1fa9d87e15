"""What an address asks for, checked: a parameter that makes no sense is refused with a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

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


def number_in(asked: Mapping[str, str], name: str) -> int:
    """The number that an address gives for a name; 0 where it gives none."""
    return whole_number(asked.get(name, ""), name)


def choice_asked(asked: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """The one of some words that an address gives for a name; empty where it gives none."""
    text = asked.get(name, "")
    if text and text not in choices:
        raise BadRequest(f"{name} is none of {', '.join(choices)}")
    return text


def firm_asked(name: str, firms: Iterable[Firm]) -> Firm | None:
    """The firm with a name; None for none asked."""
    if not name:
        return None
    for firm in firms:
        if firm.name == name:
            return firm
    raise BadRequest("no firm of this run has that name")
