"""Which events of a run's tape a reader wants, and the pages of them, newest first, both ways.

A text is looked for in what the reader sees: the sentence, who says it to whom, and what the firm wrote. Sentences are
made here and not in the database, so events are read in stretches until a page is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import QueryDict

from dashboards.asked import choice_asked, firm_asked, number_asked, number_in
from dashboards.tabs.look import Look
from dashboards.tabs.pages import ROWS_PER_PAGE, Page, page_between
from dashboards.tape import GROUPS, EventRow, Filter, Line, body_of, line_of, rows_of, sentence, told_to
from dashboards.words import sendable
from marketplace.models import Firm
from marketplace.rows import in_run, key_of, number_of
from simulation.models import Event

STRETCH: Final = 5_000
MOST_LOOKED_AT: Final = 30_000
"""Of a search, an answer looks through so many events; the reader may go on from there."""
MOST_CHARACTERS: Final = 200


class Stretch(NamedTuple):
    """The lines found among some events, each with its event; `end` is the last one's number, 0 at the tape's end."""

    found: list[tuple[EventRow, Line]]
    end: int


@dataclass(frozen=True, slots=True)
class Search:
    """The wish of a reader. `names` maps a firm's key to its name; `knower` is the firm as which one reads."""

    run_id: int
    names: Mapping[int, str]
    only: Filter
    first_day: int
    last_day: int
    knower: Firm | None
    text: str = ""

    def events(self) -> QuerySet[Event]:
        """The events that match in all but the text."""
        events = self.only.apply(Event.objects.filter(**in_run(self.run_id), day__lte=self.last_day))
        if self.first_day:
            events = events.filter(day__gte=self.first_day)
        return events

    def line(self, row: EventRow) -> Line | None:
        """The line of an event; None where the text is not in it."""
        return line_of(row, self.names, self.knower) if not self.text or self.text in self.words(row) else None

    def words(self, row: EventRow) -> str:
        """All that a reader sees of an event's line but its time, for looking in it."""
        firm, other = self.names.get(row.firm_id or 0, ""), self.names.get(row.other_id or 0, "")
        return sendable(f"{firm} {other} {sentence(row)} {body_of(row, self.knower)}").casefold()

    def stretches(self, size: int, *, after: int = 0, before: int = 0, is_upwards: bool = False) -> Iterator[Stretch]:
        """The lines that match, newest first or oldest first, from `size` events at a time. A query each."""
        events = self.events()
        if after:
            events = events.filter(pk__gt=key_of(self.run_id, after))
        if before:
            events = events.filter(pk__lt=key_of(self.run_id, before))
        while True:
            rows = rows_of(events.order_by("pk" if is_upwards else "-pk")[:size])
            is_last = len(rows) < size
            found = [(row, line) for row in rows if (line := self.line(row))]
            yield Stretch(found, 0 if is_last else number_of(rows[-1].pk))
            if is_last:
                return
            events = events.filter(pk__gt=rows[-1].pk) if is_upwards else events.filter(pk__lt=rows[-1].pk)


@dataclass(frozen=True, slots=True)
class Found:
    """A page of lines with their events; `goes_on` is where a search stopped before its end, 0 where it did not."""

    page: Page[tuple[EventRow, Line]]
    goes_on: int
    is_upwards: bool


def search_in(look: Look) -> Search:
    """The wish that an address holds."""
    asked = look.asked
    firm = firm_asked(asked.get("firm", ""), look.firms)
    first_day, last_day = number_in(asked, "from"), number_asked(asked, "to")
    return Search(
        run_id=look.run.pk,
        names=look.names,
        only=Filter(choice_asked(asked, "group", GROUPS), firm.pk if firm else 0, told_to(look.knower, look.until)),
        first_day=first_day,
        last_day=look.until if last_day is None else min(last_day, look.until),
        knower=look.knower,
        text=text_asked(asked).casefold(),
    )


def text_asked(asked: QueryDict) -> str:
    """The text to look for."""
    text = asked.get("text", "").strip()
    if len(text) > MOST_CHARACTERS:
        raise BadRequest(f"text is longer than {MOST_CHARACTERS} characters")
    return text


def page_found(search: Search, asked: QueryDict) -> Found:
    """The page of lines that an address asks for: one query, or one for each stretch that a text is looked for in."""
    before, since = number_in(asked, "before"), number_in(asked, "since")
    is_upwards = bool(since and not before)
    size = STRETCH if search.text else ROWS_PER_PAGE + 1
    found: list[tuple[EventRow, Line]] = []
    end = looked_at = 0
    for stretch in search.stretches(size, after=since if is_upwards else 0, before=before, is_upwards=is_upwards):
        found += stretch.found
        end = stretch.end
        looked_at += size
        if len(found) > ROWS_PER_PAGE or looked_at >= MOST_LOOKED_AT:
            break
    is_more = len(found) > ROWS_PER_PAGE
    rows = found[:ROWS_PER_PAGE][:: -1 if is_upwards else 1]
    page = page_between(
        rows,
        [line.number for _, line in rows],
        has_earlier=is_upwards or is_more,
        has_later=is_more if is_upwards else bool(before),
    )
    return Found(page, 0 if is_more else end, is_upwards)
