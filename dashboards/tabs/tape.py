"""The tab Tape of a run's page: every event, by group, firm, days and text, each with the turn that caused it."""

from __future__ import annotations

from typing import Any, NamedTuple

from dashboards.colours import FirmStyle, style_of
from dashboards.figures import Figure
from dashboards.tabs.look import Look, Tab
from dashboards.tabs.tape_causes import Cause, causes_of
from dashboards.tabs.tape_search import page_found, search_in
from dashboards.tape import GROUPS, Line


class Told(NamedTuple):
    """A line, its firms' colours, and its cause."""

    line: Line
    style: FirmStyle
    other_style: FirmStyle
    cause: Cause


def context(look: Look) -> dict[str, Any]:
    """What the template needs. Five queries at most, and one more for each stretch that a text is looked for in."""
    search = search_in(look)
    found = page_found(search, look.asked)
    # A firm knows its own turns; of what others did it knows that it happened.
    known = [row for row, _ in found.page.rows if look.knower is None or row.firm_id in (look.knower.pk, None)]
    causes = causes_of(look.run.pk, known)
    lines = [
        Told(line, style_of(line.firm), style_of(line.other), causes.get(row.pk, Cause()))
        for row, line in found.page.rows
    ]
    return {
        "page": found.page,
        "found": found,
        "told_lines": lines,
        "groups": GROUPS,
        "search": search,
        "asked_text": look.asked.get("text", "").strip(),
        "asked_firm": look.asked.get("firm", ""),
        "asked_from": look.asked.get("from", ""),
        "asked_to": look.asked.get("to", ""),
        "is_newest": found.page.is_first and look.is_live,
        "is_filtered": any(look.asked.get(name) for name in ("group", "firm", "from", "to", "text")),
        "query": csv_query(look),
    }


def csv_query(look: Look) -> str:
    """The query of the download: the same wish, without the page."""
    query = look.asked.copy()
    for name in ("before", "since", "tab"):
        query.pop(name, None)
    return query.urlencode()


def figures(look: Look) -> dict[str, Figure]:
    """The tape has no chart."""
    return {}


TAB = Tab("tape", "Tape", context, figures)
