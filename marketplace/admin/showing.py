"""How the cabinet writes money, time, links, and what players wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db import models
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from marketplace.admin.finding import read_label
from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.economy.money import MICROS_PER_USD
from marketplace.rows import RunRow, key_of, number_of

NOTHING = "–"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHORT_TEXT = 70
LONG_TEXT = 800
MOST_MENTIONS = 20


def money(amount_micros: int | None) -> str:
    """An amount in USD: 1,234.50, −12.00, and every micro-dollar where cents do not hold it: 0.123456."""
    if amount_micros is None:
        return NOTHING
    dollars, rest = divmod(abs(amount_micros), MICROS_PER_USD)
    sign = "−" if amount_micros < 0 else ""
    return f"{sign}{dollars:,}.{f'{rest:06}'.rstrip('0').ljust(2, '0')}"


def amount(amount_micros: int | None) -> str:
    """An amount for a column: what lies beyond the cents is set apart, so that the points of all rows stand in line."""
    text = money(amount_micros)
    cents = text.find(".") + 3 if "." in text else len(text)
    return format_html('{}<span class="micros">{}</span>', text[:cents], text[cents:])


def whole(number: int | None) -> str:
    """A whole number with its thousands apart."""
    return NOTHING if number is None else f"{number:,}".replace("-", "−")


def moment(minute: int | None) -> str:
    """Simulated time: Day 12 · Fri 14:30. Day 0 is a Monday (RULES.md section 3)."""
    if minute is None:
        return NOTHING
    day, minute_of_day = divmod(minute, MINUTES_PER_DAY)
    hour, minute_of_hour = divmod(minute_of_day, 60)
    return f"Day {day} · {WEEKDAYS[day % 7]} {hour:02}:{minute_of_hour:02}"


def wall_time(when: datetime | None) -> str:
    """Wall time, to the second."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC" if when else NOTHING


def row_url(model: type[models.Model], key: int) -> str:
    """The address of a row's page."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[key])


def list_url(model: type[models.Model], **filters: object) -> str:
    """The address of a list, filtered."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


def link(url: str, text: object) -> SafeString:
    """A link; the text is escaped."""
    return format_html('<a href="{}">{}</a>', url, text)


def link_to_row(model: type[RunRow], key: int | None, spare: str = "") -> str:
    """A link to a row by its label within its run, which its key holds: nothing is looked up. `spare` is left out."""
    if key is None:
        return NOTHING
    return link(row_url(model, key), f"{model.prefix}{number_of(key)}".removeprefix(spare))


def words(text: str) -> str:
    """What a player wrote, whole: set apart, so that no direction mark in it turns the page; folded where long."""
    if not text:
        return NOTHING
    if len(text) <= LONG_TEXT:
        return format_html('<span class="words">{}</span>', text)
    summary = '<summary><span class="words">{}…</span> <small>({} characters)</small></summary>'
    return format_html(
        f'<details>{summary}<pre class="words">{{}}</pre></details>', beginning(text), whole(len(text)), text
    )


def beginning(text: str) -> str:
    """The first words of a long text, in one line."""
    return " ".join(text[:SHORT_TEXT].split())


def short_words(text: str) -> str:
    """The beginning of what a player wrote, for a cell of a list."""
    short = text if len(text) <= SHORT_TEXT else f"{beginning(text)}…"
    return format_html('<span class="words">{}</span>', short) if short else NOTHING


def encodable(text: str) -> str:
    """Text that a page can carry: lone surrogates, which JSON may hold, are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_value(text: str) -> Any:
    """The value of JSON text; text that is none, or nested beyond reading, stands for itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def pretty_json(value: Any) -> str:
    """A JSON value laid out for reading; folded where long."""
    text = encodable(json.dumps(value, indent=2, ensure_ascii=False))
    return words(text) if len(text) > LONG_TEXT else format_html('<pre class="words">{}</pre>', text)


def short_json(value: Any) -> str:
    """A JSON value in one short line, `qty 30 · price 9.5` for an object."""
    if not isinstance(value, dict):
        return short_words(encodable(json.dumps(value, ensure_ascii=False)))
    texts = ((key, one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) for key, one in value.items())
    return short_words(encodable(" · ".join(f"{key} {text}" for key, text in texts)))


def texts_in(value: Any) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def mentions(run_id: int, *values: Any) -> str:
    """Links to the rows of a run that JSON values name as players do: L12, O7."""
    labels = (read_label(text) for value in values for text in texts_in(value))
    own = dict.fromkeys(label for label in labels if label and label.run_id is None and len(label.model.prefix) == 1)
    links = [(link_to_row(label.model, key_of(run_id, label.number)),) for label in list(own)[:MOST_MENTIONS]]
    return format_html_join(" · ", "{}", links) if links else NOTHING
