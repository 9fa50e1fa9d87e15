"""What a run's page lacks, as pages of its event log: the one read behind every socket of a run.

A page is the JSON that a browser gets: at most 500 events that follow the last one it has, as lines of the tape; the
books of the evenings among them; where the run stands; and, with the last page, each firm's standing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from dashboards.books import shown_firms
from dashboards.cards import books_on_card, standings_of
from dashboards.figures import MEASURES
from dashboards.live import live_state_of
from dashboards.snapshot import firms_of
from dashboards.tape import EventRow, lines_of, rows_after
from marketplace.models import Firm
from simulation.models import Run

EVENTS_PER_PAGE: Final = 500
# Beyond this a page is quicker to open afresh than to catch up.
FAR_BEHIND: Final = 5000

RELOAD: Final = json.dumps({"type": "reload"})


@dataclass(frozen=True, slots=True)
class Page:
    """Text to send; the number of the last event in it; whether more follow; the state it tells."""

    text: str
    last: int
    more: bool
    state: str


def read_page(run_id: int, since: int, told_state: str) -> Page | None:
    """The events that follow number `since`, and the state if it is not the one told last.

    Returns None when there is nothing to tell. At most three queries; one when nothing is new; three more, or two,
    where models play. `Run.DoesNotExist` if the run is gone.
    """
    run = Run.objects.get(pk=run_id)
    state = live_state_of(run)
    state_text = json.dumps(state)
    if since == run.events and state_text == told_state:
        return None
    if not 0 <= run.events - since <= FAR_BEHIND:
        return Page(RELOAD, since, more=False, state=state_text)
    rows = rows_after(run_id, since, run.events, EVENTS_PER_PAGE)
    last = since + len(rows)
    content = content_of(run, rows, is_last=last >= run.events)
    text = json.dumps({"type": "page", "since": since, "last": last, "state": state, **content})
    return Page(text, last, more=last < run.events, state=state_text)


def content_of(run: Run, rows: list[EventRow], *, is_last: bool) -> dict[str, Any]:
    """Lines, evenings and standings of a page."""
    firms = firms_of(run)
    shown = shown_firms(firms, run.evaluated)
    lines = lines_of(rows, {firm.pk: firm.name for firm in firms})
    return {
        "lines": [asdict(line) for line in lines],
        "evenings": evenings_in(rows, shown),
        "standings": standings_of(shown, run) if is_last else {},
    }


def evenings_in(rows: Sequence[EventRow], firms: Sequence[Firm]) -> list[dict[str, Any]]:
    """What the charts and cards need of the evenings among some events."""
    names = [firm.name for firm in firms]
    return [evening_of(row, names) for row in rows if row.kind in ("day_ended", "run_ended")]


def evening_of(row: EventRow, names: Sequence[str]) -> dict[str, Any]:
    """One evening: each firm's point in every chart of books, and what its card shows."""
    books: Mapping[str, Mapping[str, Any]] = row.data.get("firms", {})
    return {
        "day": row.day,
        "firms": {name: evening_figures(books[name]) for name in names if name in books},
    }


def evening_figures(books: Mapping[str, Any]) -> dict[str, Any]:
    """One firm's evening."""
    points = {measure: books[measure] for measure in MEASURES if measure in books}
    return {"points": points, "books": books_on_card(books, books.get("stock_kg", {}))}
