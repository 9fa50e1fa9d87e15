"""The tape as a reader has filtered it, for a spreadsheet: oldest first, sent as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.downloads import download
from dashboards.sheets import CSV, csv_text
from dashboards.tabs.tape_search import STRETCH, Search, search_in
from dashboards.tabs_views import look_of

HEADINGS: Final = ("event", "day", "weekday", "time", "kind", "firm", "other", "what", "text")


@require_safe
@staff_only
def tape_csv(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    """Every line that matches, whatever their number."""
    look = look_of(run_id, request.GET)
    file_name = f"coffeebench-run-{run_id}-tape-day-{look.until}.csv"
    return download(parts_of(search_in(look)), file_name, CSV)


def parts_of(search: Search) -> Iterator[str]:
    """The file in parts, one for each stretch of the tape; every text cell made safe."""
    yield csv_text([HEADINGS])
    for stretch in search.stretches(STRETCH, is_upwards=True):
        rows: list[list[Any]] = [
            [line.number, line.day, line.weekday, line.clock, line.kind, line.firm, line.other, line.text, line.body]
            for _, line in stretch.found
        ]
        yield csv_text(rows)
