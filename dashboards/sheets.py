"""Tables as CSV files that a spreadsheet opens as data, whatever a firm may have written into a cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, Final

from django.http import HttpResponse

from simulation.cells import safe_cell

CSV: Final = "text/csv; charset=utf-8"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """The rows as CSV, every text cell made safe."""
    text = io.StringIO()
    csv.writer(text).writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def csv_response(rows: Iterable[Iterable[Any]], file_name: str) -> HttpResponse:
    """The rows as a download."""
    response = HttpResponse(csv_text(rows), content_type=CSV)
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response
