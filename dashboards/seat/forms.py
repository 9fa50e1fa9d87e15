"""A form for each tool, made from the JSON schema that a model is given, and what a filled-in form says.

What is left as it was sends the tool's default; a field that may be empty and is, is not sent. A value that the tool's
own check would refuse is handed back with a reason, so that a slip of the finger costs no time of the firm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from dashboards import words
from dashboards.seat.catalogue import GROUPS, ITEM_FIELDS, Way, figure_text, group_title, way_of
from simulation.engine.tools import tools_of

LONG_TEXT: Final = 200
ARGUMENT: Final = "arg."

LABELS: Final = {
    "qty": "Quantity",
    "quantity": "Quantity",
    "qty_kg": "Quantity of green",
    "quantity_kg": "Quantity",
    "asking_price": "Asking price",
    "offered_price": "Your price",
    "price_per_unit": "Shelf price",
    "payment_terms_days": "Days to pay",
    "item_id": "Item",
    "green_item_id": "Green coffee",
    "ref_listing_id": "About listing",
    "ref_offer_id": "About offer",
    "counterparty": "Only with",
    "only_others": "Without your own",
    "only_overdue": "Only overdue",
    "since_day": "Since day",
    "days_back": "Evenings back",
    "limit": "At most",
    "body": "Text",
}
MINUS: Final = "−"
UNITS: Final = {
    "kilograms": "kg",
    "USD per kg": "USD/kg",
    "days to pay": "days",
    "rows": "rows",
    "evenings": "evenings",
}
WORDS_OF_CHOICES: Final = {"both": "both ways", "all": "since the start"}


class Field(NamedTuple):
    """One argument as the form asks for it. `default` is what an untouched field sends, as text; empty: nothing."""

    name: str
    kind: str
    label: str
    unit: str
    hint: str
    is_required: bool
    has_default: bool
    default: str
    choices: tuple[tuple[str, str], ...]
    longest: int


class ToolForm(NamedTuple):
    """One tool as the console offers it."""

    name: str
    way: Way
    description: str
    fields: tuple[Field, ...]


class Group(NamedTuple):
    """The tools on one of the keys 1 to 6."""

    key: int
    name: str
    title: str
    forms: tuple[ToolForm, ...]


def forms_of(tools: Iterable[Mapping[str, Any]]) -> dict[str, ToolForm]:
    """The forms of a firm's tools by name, from `door.rules(seat)["tools"]`."""
    return {one["name"]: _form(one) for one in tools}


def groups_of(forms: Mapping[str, ToolForm], role: str) -> list[Group]:
    """The forms in their groups; a group's tools stand in the order of the catalogue."""
    order = list(forms.values())
    return [
        Group(number, name, group_title(name, role), tuple(form for form in order if form.way.group == name))
        for number, name in enumerate(GROUPS, 1)
    ]


def _form(tool: Mapping[str, Any]) -> ToolForm:
    schema = tool["parameters"]
    fields = [_field(name, one, name in schema["required"]) for name, one in schema["properties"].items()]
    return ToolForm(tool["name"], way_of(tool["name"]), tool["description"], tuple(fields))


def _field(name: str, schema: Mapping[str, Any], is_required: bool) -> Field:
    description = schema.get("description", "")
    return Field(
        name=name,
        kind=_kind(name, schema),
        label=LABELS.get(name, name.removesuffix("_id").replace("_", " ").capitalize()),
        unit=next((unit for part, unit in UNITS.items() if part in description), ""),
        hint=_hint(schema, description),
        is_required=is_required,
        has_default="default" in schema,
        default=_as_text(schema.get("default")),
        choices=tuple((value, _choice(name, value)) for value in schema.get("enum", [])),
        longest=schema.get("maxLength", 0),
    )


def _kind(name: str, schema: Mapping[str, Any]) -> str:
    """choice, flag, whole, price, id, text or long."""
    if "enum" in schema:
        return "choice"
    kinds = {"boolean": "flag", "integer": "whole", "number": "price"}
    if schema.get("type") in kinds:
        return kinds[schema["type"]]
    if name.endswith("_id"):
        return "id"
    return "long" if schema.get("maxLength", LONG_TEXT + 1) > LONG_TEXT else "text"


def _hint(schema: Mapping[str, Any], description: str) -> str:
    """What is allowed, in few words."""
    low, high = schema.get("minimum"), schema.get("maximum")
    limits = "" if low is None or high is None else f"{figure_text(low)} to {figure_text(high)}"
    rest = [part for part in ("4 decimals", "0: off the shelf") if part in description]
    if description.startswith(("a listing", "an offer", "an invoice", "a message")):
        rest = [description.split(", ")[-1]]
    return "; ".join(filter(None, [limits, *(f"at most {one}" if one == "4 decimals" else one for one in rest)]))


def _as_text(default: Any) -> str:
    if isinstance(default, bool):
        return "true" if default else ""
    return "" if default is None else str(default)


def _choice(name: str, value: str) -> str:
    if name in ITEM_FIELDS:
        return words.item_text(value)
    return WORDS_OF_CHOICES.get(value, value if name in ("recipient", "counterparty") else value.replace("_", " "))


# Reading what was filled in.


class Filled(NamedTuple):
    """A form as it was sent: the tool's arguments, and what is wrong with which field."""

    arguments: dict[str, Any]
    problems: dict[str, str]


class Unreadable(ValueError):
    """Text that is not what the field asks for; says what is."""


def read_form(form: ToolForm, role: str, posted: Mapping[str, str]) -> Filled:
    """The arguments that the posted texts `arg.<name>` stand for, checked as the tool itself would check them."""
    arguments: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in form.fields:
        text = posted.get(ARGUMENT + field.name, field.default)
        try:
            value = _value(field, text)
        except Unreadable as error:
            problems[field.name] = str(error)
            continue
        if value is not None:
            arguments[field.name] = value
    return Filled(arguments, {**_problems_with(form, role, arguments), **problems})


def _value(field: Field, text: str) -> Any:
    """What a text means; None: nothing is sent."""
    if field.kind == "flag":
        return text in ("true", "on", "1")
    if field.kind in ("whole", "price"):
        text = text.strip() or field.default
        return None if not text else _whole(text) if field.kind == "whole" else _price(text)
    if field.kind in ("choice", "id"):
        text = text.strip() or field.default
        return (text.upper() if field.kind == "id" else text) or None
    text = text.replace("\r\n", "\n")
    return text if text or field.has_default else None


def _whole(text: str) -> int:
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        text = text.replace(",", "")
    if not re.fullmatch(r"[-−]?\d{1,15}(\.0*)?", text, re.ASCII):
        raise Unreadable(f"“{text[:20]}” is not a whole number; write it as 30")
    return int(text.replace(MINUS, "-").partition(".")[0])


def _price(text: str) -> float:
    if not re.fullmatch(r"[-−]?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})", text, re.ASCII):
        raise Unreadable(f"“{text[:20]}” is not a price; write it with a point, as 9.50")
    return float(text.replace(MINUS, "-"))


def _problems_with(form: ToolForm, role: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Field → what the tool's check, or its list of choices, says against its value."""
    problems: dict[str, str] = {}
    for field in form.fields:
        value = arguments.get(field.name)
        if field.kind == "choice" and value is not None and value not in dict(field.choices):
            problems[field.name] = "choose one of the list"
    try:
        tools_of(role)[form.name].arguments.model_validate(dict(arguments))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            problems.setdefault(str(detail["loc"][0]), _in_words(detail))
    return problems


def _in_words(detail: Any) -> str:
    """What is wrong with a value, as a person at the form reads it."""
    limits = detail.get("ctx", {})
    kind = detail["type"]
    if kind == "missing":
        return "is needed"
    if kind == "greater_than_equal":
        return f"must be at least {figure_text(limits['ge'])}"
    if kind == "less_than_equal":
        return f"must be at most {figure_text(limits['le'])}"
    if kind == "string_too_long":
        return f"is too long: at most {words.number_text(limits['max_length'])} characters"
    if kind == "string_too_short":
        return "is needed" if limits["min_length"] == 1 else "is too short"
    message: str = detail["msg"].removeprefix("Value error, ")
    return message[0].lower() + message[1:]
