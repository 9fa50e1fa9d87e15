"""The columns of the cabinet's lists, and the tables that lists and pages show them in.

A column is a title, with its unit, and a function from a row to what a cell shows. The same columns serve a model's
list, its page, and the pages of rows that its rows belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from django.db import models
from django.utils.html import format_html_join

from marketplace.admin import showing


@dataclass(frozen=True)
class Column:
    """One column; Django's admin takes it as a callable of `list_display`."""

    do_not_call_in_templates: ClassVar[bool] = True

    title: str
    show: Callable[[Any], str]
    kind: str = "text"
    """A class of the style sheet: `number` stands right with tabular figures, `wide` takes a page's whole width."""

    def __call__(self, row: Any) -> str:
        return self.show(row)


def text(field: str, title: str = "") -> Column:
    """A field as it is; a dot leads through a link that the list fetches."""
    value = attrgetter(field)
    return Column(title or field.replace("_", " "), lambda row: str(value(row) or showing.NOTHING))


def written(field: str, title: str = "") -> Column:
    """The beginning of what a player wrote."""
    return Column(title or field, lambda row: showing.short_words(getattr(row, field)), "words")


def written_whole(field: str, title: str = "") -> Column:
    """All that a player wrote."""
    return Column(title or field, lambda row: showing.words(getattr(row, field)), "wide")


def number(field: str, title: str = "") -> Column:
    """A whole number; its unit stands in the title."""
    return Column(title or field.replace("_", " "), lambda row: showing.whole(getattr(row, field)), "number")


def kilograms(field: str = "quantity_kg", title: str = "quantity") -> Column:
    """Whole kilograms."""
    return number(field, f"{title}, kg")


def usd(field: str, title: str) -> Column:
    """An amount kept in micro-dollars."""
    return Column(f"{title}, USD", lambda row: showing.amount(getattr(row, field)), "number")


def usd_per_kg(field: str = "price_micros", title: str = "price") -> Column:
    """A price kept in micro-dollars."""
    return Column(f"{title}, USD/kg", lambda row: showing.amount(getattr(row, field)), "number")


def moment(field: str, title: str) -> Column:
    """A simulated minute."""
    return Column(title, lambda row: showing.moment(getattr(row, field)), "moment")


def firm(field: str = "firm", title: str = "") -> Column:
    """A firm by its name; lists fetch it with `list_select_related`."""
    value = attrgetter(field)

    def show(row: models.Model) -> str:
        one = value(row)
        return showing.link(showing.row_url(type(one), one.pk), one.name) if one else showing.NOTHING

    return Column(title or field, show)


def linked(field: str, title: str = "") -> Column:
    """Another row of the run by its label, which its key holds: the row itself is not fetched.

    What the label and the title have in common is said once: 57 in the column "turn".
    """
    *path, name = field.split(".")
    title = title or name

    def show(row: models.Model) -> str:
        for step in path:
            row = getattr(row, step)
        model: Any = row._meta.get_field(name).related_model
        return showing.link_to_row(model, getattr(row, f"{name}_id"), spare=f"{title} ")

    return Column(title, show, "label")


def linked_any(*fields: str, title: str) -> Column:
    """Those of several rows that there are, by their labels."""
    shown = [linked(field) for field in fields]

    def show(row: models.Model) -> str:
        links = [(column(row),) for column, field in zip(shown, fields, strict=True) if getattr(row, f"{field}_id")]
        return format_html_join(" ", "{}", links) if links else showing.NOTHING

    return Column(title, show, "label")


def own_label(title: str = "id") -> Column:
    """A row's own label, linked to its page."""
    return Column(title, lambda row: showing.link(showing.row_url(type(row), row.pk), row.label), "label")


def run_link(row: Any) -> str:
    """The run of a row, linked to its page."""
    model: Any = row._meta.get_field("run").related_model
    return showing.link(showing.row_url(model, row.run_number), f"run {row.run_number}")


RUN = Column("run", run_link, "label")


class Cell(NamedTuple):
    """What stands in one column of one row."""

    column: Column
    content: str


@dataclass(frozen=True)
class Table:
    """Rows under columns, ready for the template `admin/books/table.html`."""

    columns: Sequence[Column]
    rows: Sequence[Any]
    caption: str = ""
    empty: str = "None."
    more_url: str = ""
    """Where all of these rows are listed, when the table stands on another row's page and does not hold them all."""

    def body(self) -> Iterator[list[Cell]]:
        """The cells of each row."""
        for row in self.rows:
            yield [Cell(column, column(row)) for column in self.columns]
