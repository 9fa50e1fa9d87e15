"""A long table a page at a time, newest rows first, both ways: `before` a number, or `since` one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from django.db.models import QuerySet
from django.http import QueryDict

from dashboards.asked import number_in
from marketplace.rows import key_of, number_of

ROWS_PER_PAGE: Final = 50

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Rows, newest first; `earlier` and `later` are the numbers from which the neighbouring pages go on, 0 for none.

    `is_first` says that it begins with the newest of all.
    """

    rows: Sequence[T]
    earlier: int = 0
    later: int = 0
    is_first: bool = True

    def of(self, rows: Sequence[U]) -> Page[U]:
        """The same page with its rows written otherwise."""
        return Page(rows, self.earlier, self.later, self.is_first)


def page_of(rows: QuerySet[Any], run_id: int, asked: QueryDict, size: int = ROWS_PER_PAGE) -> Page[Any]:
    """The page of a run's rows that an address asks for. One query: one row too many tells whether more follow."""
    before, since = number_in(asked, "before"), number_in(asked, "since")
    if since and not before:
        found = list(rows.filter(pk__gt=key_of(run_id, since)).order_by("pk")[: size + 1])
        numbers = [number_of(row.pk) for row in found]
        return page_between(found[:size][::-1], numbers[:size][::-1], has_earlier=True, has_later=len(found) > size)
    if before:
        rows = rows.filter(pk__lt=key_of(run_id, before))
    found = list(rows.order_by("-pk")[: size + 1])
    numbers = [number_of(row.pk) for row in found[:size]]
    return page_between(found[:size], numbers, has_earlier=len(found) > size, has_later=bool(before))


def page_between(rows: Sequence[T], numbers: Sequence[int], *, has_earlier: bool, has_later: bool) -> Page[T]:
    """The page of some rows with their numbers, newest first, and where its neighbours begin.

    An empty page knows no neighbours, only whether it is the first.
    """
    earlier = numbers[-1] if numbers and has_earlier else 0
    later = numbers[0] if numbers and has_later else 0
    return Page(rows, earlier, later, is_first=not has_later)
