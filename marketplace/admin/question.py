"""One reading of a list: what was asked, the rows that answer it, a page of them, and their sums.

Every answer costs a bounded amount of work, however large the table. Pages are not numbered and nothing is counted to
make them: a page begins below or above a key. All rows of a run are a range of keys. Without a run only so many rows
are looked through at a time, and the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.apps import apps
from django.db.models import Count, Q, QuerySet, Sum

from marketplace.admin import showing
from marketplace.admin.filters import ReferenceFilter, RunField, Scope, run_asked_for
from marketplace.admin.finding import DIGITS, LARGEST_KEY
from marketplace.books import sum_in_parts, whole_sum

if TYPE_CHECKING:
    from marketplace.admin.drawer import Drawer

WINDOW: Final = 200_000
"""Rows looked through at a time where neither a run nor keys bound the search."""


class Found(NamedTuple):
    """What a search came to: the rows it means, a word to the reader, and whether it names them by their keys."""

    condition: Q
    note: object = ""
    by_key: bool = False


@dataclass(frozen=True)
class Total:
    """A column whose sum a list shows: micro-dollars where the field says so, else a plain number."""

    title: str
    field: str

    @property
    def is_money(self) -> bool:
        """Whether it is kept in micro-dollars."""
        return self.field.endswith("_micros")

    def aggregates(self) -> dict[str, Any]:
        """What to ask the database for."""
        return sum_in_parts(self.field, self.field) if self.is_money else {f"{self.field}_sum": Sum(self.field)}

    def shown(self, values: Mapping[str, Any]) -> str:
        """The sum as the list shows it."""
        if self.is_money:
            return showing.money(whole_sum(values, self.field))
        return showing.whole(values[f"{self.field}_sum"] or 0)


class Figure(NamedTuple):
    """A sum above a list."""

    title: str
    value: str


@dataclass(frozen=True)
class Page:
    """Some rows, newest first, and where the pages beside them begin; None where there is none."""

    rows: list[Any]
    before: int | None
    """The older page is of keys below this one."""
    after: int | None
    """The newer page is of keys above this one."""
    stopped_at: int | None = None
    """The key at which the search stopped looking, with rows beyond it unread."""


class Question:
    """What a reader asked of the list of one model."""

    def __init__(self, drawer: Drawer, params: Mapping[str, str]) -> None:
        self.drawer = drawer
        self.model: Any = drawer.model
        self.filters = {one.name: one for one in drawer.filters}
        run_id = run_asked_for(params, drawer.filters) if drawer.holds_run_rows else None
        self.scope = Scope(apps.get_model("simulation.Run"), apps.get_model("marketplace.Firm"), run_id)
        self.form = self._form({**params, "run": str(run_id)} if run_id else dict(params))
        self.form.is_valid()
        self.asked = {name: value for name, value in self.form.cleaned_data.items() if value not in (None, "")}
        self.found = drawer.find(self.asked["q"], self.scope) if "q" in self.asked else Found(Q())
        self.start, self.upward = start_of(params)

    def _form(self, params: dict[str, str]) -> forms.Form:
        """The form of the model's filters; those that only links fill show when one did."""
        form = forms.Form(params, auto_id="filter_%s", label_suffix="")
        if self.drawer.holds_run_rows:
            form.fields["run"] = RunField()
        for name, one in self.filters.items():
            if params.get(name) or not isinstance(one, ReferenceFilter):
                form.fields[name] = one.form_field(self.scope, self.model)
        search = forms.TextInput({"type": "search", "placeholder": self.drawer.search_help_text or "", "size": 22})
        form.fields["q"] = forms.CharField(required=False, max_length=200, label="Find", widget=search)
        return form

    @property
    def notes(self) -> list[object]:
        """Words to the reader, above the rows."""
        missing = f"There is no run {self.scope.run_id}." if self.scope.run_id and self.scope.run is None else ""
        return [note for note in (missing, self.found.note) if note]

    @property
    def rows(self) -> QuerySet[Any]:
        """All rows that answer the question."""
        rows: QuerySet[Any] = self.model._default_manager.filter(self.found.condition)
        if self.scope.run_id:
            rows = rows.filter(**self.drawer.rows_of_run(self.scope.run_id))
        for name, one in self.filters.items():
            if name in self.asked:
                rows = rows.filter(one.condition(self.asked[name]))
        return rows

    @property
    def is_bounded(self) -> bool:
        """Whether few rows need to be looked at: those of a run, some by their keys, or the next whatever they are."""
        return self.scope.run_id is not None or self.found.by_key or not self.asked

    def page(self) -> Page:
        """The page of rows that was asked for."""
        rows = self.rows.select_related(*self.drawer.list_select_related)
        size, window = self.drawer.list_per_page, None if self.is_bounded else WINDOW
        if self.upward:
            return read_upward(rows, self.start or 0, size, window)
        return read_downward(rows, self.start, size, window)

    def figures(self) -> list[Figure]:
        """How many rows answer, and the sums of the model's totals; nothing where no run bounds them."""
        if self.scope.run is None or not self.drawer.list_totals:
            return []
        wanted: dict[str, Any] = {"rows": Count("pk")}
        for total in self.drawer.list_totals:
            wanted |= total.aggregates()
        values = self.rows.aggregate(**wanted)
        shown = [Figure(total.title, total.shown(values)) for total in self.drawer.list_totals]
        return [Figure(str(self.model._meta.verbose_name_plural), showing.whole(values["rows"])), *shown]

    def address(self, **changes: object) -> str:
        """The query string of this question, with some parameters changed."""
        values = {name: self.form.data.get(name) for name in self.form.fields} | changes
        return f"?{urlencode({name: value for name, value in values.items() if value not in (None, '')})}"


def start_of(params: Mapping[str, str]) -> tuple[int | None, bool]:
    """The key a page begins below, or above, and whether it is above; nonsense begins at the newest row."""
    for name, upward in (("before", False), ("after", True)):
        text = params.get(name, "")
        if DIGITS.fullmatch(text) and int(text) <= LARGEST_KEY:
            return int(text), upward
    return None, False


def read_downward(rows: QuerySet[Any], start: int | None, size: int, window: int | None) -> Page:
    """The newest rows below a key, or the newest of all."""
    below = Q() if start is None else Q(pk__lt=start)
    edge = key_at(rows.model._default_manager.filter(below).order_by("-pk"), window)
    seen = below if edge is None else below & Q(pk__gt=edge)
    found = list(rows.filter(seen).order_by("-pk")[: size + 1])
    page = found[:size]
    newer = None if start is None else page[0].pk if page else start - 1
    if len(found) > size:
        return Page(page, page[-1].pk, newer)
    return Page(page, None if edge is None else edge + 1, newer, edge)


def read_upward(rows: QuerySet[Any], start: int, size: int, window: int | None) -> Page:
    """The oldest rows above a key."""
    above = Q(pk__gt=start)
    edge = key_at(rows.model._default_manager.filter(above).order_by("pk"), window)
    seen = above if edge is None else above & Q(pk__lt=edge)
    found = list(rows.filter(seen).order_by("pk")[: size + 1])
    page = found[:size][::-1]
    older = (page[-1].pk if page else start + 1) if start else None
    if len(found) > size:
        return Page(page, older, page[0].pk)
    return Page(page, older, None if edge is None else edge - 1, edge)


def key_at(rows: QuerySet[Any], place: int | None) -> int | None:
    """The key that so many others come before, read from the index of keys alone; None where there are not so many."""
    if place is None:
        return None
    keys: Any = rows.values_list("pk", flat=True)
    return next(iter(keys[place : place + 1]), None)
