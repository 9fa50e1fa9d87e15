"""A decision as a program sends it, checked before it counts: what is malformed is said, and costs no turn."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from django.http import HttpRequest

from dashboards.seat_api.access import Refused
from simulation.engine.decision import MOST_TEXT, UNREADABLE, Decision, json_number, readable

MOST_BYTES: Final = 100_000
KEYS: Final = ("tool", "arguments", "rationale")


def decision_in(request: HttpRequest) -> Decision:
    """The decision that a request's body holds. Raises Refused naming what is wrong with it."""
    values = _object_in(_bytes_of(request))
    for key in values:
        if key not in KEYS:
            _refuse(f"unknown key {key[:40]!a}; allowed are {', '.join(KEYS)}")
    tool, arguments, rationale = values.get("tool"), values.get("arguments", {}), values.get("rationale", "")
    if not isinstance(tool, str) or not tool.strip() or len(tool) > 60 or not tool.isprintable():
        _refuse('tool must be the name of a tool, as "wait_for_next_day"')
    if not isinstance(arguments, dict):
        _refuse('arguments must be an object, as {} or {"invoice_id": "I3"}')
    if not isinstance(rationale, str) or len(rationale) > MOST_TEXT:
        _refuse(f"rationale must be a text of at most {MOST_TEXT:,} characters")
    decision = readable(Decision(tool, arguments, rationale))
    if UNREADABLE in decision.arguments:
        _refuse(f"arguments: {decision.arguments[UNREADABLE]}")
    return decision


def _bytes_of(request: HttpRequest) -> bytes:
    body: bytes = request.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise Refused(413, "too_large", f"A decision has at most {MOST_BYTES:,} bytes.")
    return body


def _object_in(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(
            body.decode("utf-8"), parse_constant=json_number, parse_float=json_number, object_pairs_hook=_named_once
        )
    except UnicodeDecodeError:
        _refuse("it is not UTF-8")
    except RecursionError:
        _refuse("it is nested too deep")
    except ValueError as error:
        _refuse(f"it is not JSON: {error}")
    if not isinstance(values, dict):
        _refuse('it must be an object, as {"tool": "view_listings", "arguments": {}, "rationale": "a look"}')
    return values


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys all differ: of two values for one name nobody can say which is meant."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return values


def _refuse(what: str) -> NoReturn:
    raise Refused(400, "malformed", f"The body cannot be read: {what}. Nothing was sent, and no time has passed.")
