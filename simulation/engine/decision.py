"""What a player hands in, made fit to be stored and replayed to the letter."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any, NamedTuple

MOST_TEXT = 20_000
MOST_KEYS = 40
MOST_DEPTH = 3
LARGEST_WHOLE = 10**18
UNREADABLE = "unreadable"


class Decision(NamedTuple):
    """One tool call with its reason. An empty tool is no call at all, which counts as waiting (RULES.md section 3)."""

    tool: str
    arguments: dict[str, Any]
    rationale: str = ""


NO_CALL = Decision("", {})
WAIT = Decision("wait_for_next_day", {})


def readable(decision: Decision) -> Decision:
    """The decision in a form that JSON text holds exactly; arguments that are no JSON become one refusable key.

    Whoever replays the stored decision must get the very answer the player got, so this comes before all else.
    """
    tool, arguments, rationale = decision
    if type(tool) is not str or not tool.isprintable() or len(tool) > 60:
        tool = "" if tool is None else in_words(tool)[:60]
    if arguments is None:
        arguments = {}
    problem = _problem_inside(arguments, MOST_DEPTH) if type(arguments) is dict else "arguments must be an object"
    if problem:
        arguments = {UNREADABLE: problem}
    return Decision(tool, arguments, printable(rationale))


def json_number(text: str) -> float:
    """A number that JSON can hold again: `json.loads` also reads NaN, and 1e400 as Infinity. Raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no number of JSON")
    return number


def printable(text: Any) -> str:
    """Free text that any table can hold: no null byte, no lone surrogate, no endless length."""
    if text is None or (type(text) is str and not text):
        return ""
    known: str = text if type(text) is str else in_words(text)
    return known[:MOST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def in_words(value: Any) -> str:
    """What was sent in place of a text; of an object, whose own words could be endless or an error, its type."""
    kind = type(value)
    is_plain = kind in (str, float, bool, NoneType) or (kind is int and abs(value) < LARGEST_WHOLE)
    return ascii(value) if is_plain else f"<{kind.__name__[:40]}>"


def _problem_with(value: Any, depth: int) -> str | None:
    kind = type(value)
    if kind is str:
        return None if len(value) <= MOST_TEXT else f"a text of {len(value)} characters exceeds the {MOST_TEXT} allowed"
    if kind is int:
        return None if -LARGEST_WHOLE < value < LARGEST_WHOLE else "a number has too many digits"
    if kind is float or kind is bool or value is None:
        return None
    if kind is dict or kind is list:
        return _problem_inside(value, depth - 1)
    return f"{kind.__name__[:40]} is not JSON"


def _problem_inside(values: dict[Any, Any] | list[Any], depth: int) -> str | None:
    if depth == 0:
        return f"arguments are nested more than {MOST_DEPTH} deep"
    if len(values) > MOST_KEYS:
        return f"{len(values)} values exceed the {MOST_KEYS} allowed"
    if type(values) is dict:
        for key in values:
            if type(key) is not str or len(key) > 60:
                return f"{in_words(key)[:40]} is not the name of an argument"
    for value in values.values() if type(values) is dict else values:
        problem = _problem_with(value, depth)
        if problem:
            return problem
    return None


def shown(value: Any) -> str:
    """A player's value as an error message quotes it: short, and printable whatever it was."""
    if type(value) is float and not math.isfinite(value):
        return str(value)
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
