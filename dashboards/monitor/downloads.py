"""The exports as downloads: a ZIP that is sent as it is made, and never held whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from dashboards.access import staff_only
from simulation.models import Run
from simulation.seats.seating import has_seats
from simulation.studies.export import run_archive, study_archive
from simulation.studies.models import Study


@require_GET
@staff_only
def study_export(request: HttpRequest, study_id: int) -> StreamingHttpResponse:
    """A study as one ZIP of CSV files."""
    study = get_object_or_404(Study, pk=study_id)
    return download(study_archive(study), f"coffeebench-study-{study.pk}.zip")


@require_GET
@staff_only
def run_export(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    """The seats of a run as one ZIP of CSV files."""
    run = get_object_or_404(Run, pk=run_id)
    if not has_seats(run):
        raise Http404
    return download(run_archive(run), f"coffeebench-run-{run.pk}-seats.zip")


def download(pieces: Iterator[bytes], file_name: str) -> StreamingHttpResponse:
    """A ZIP file in pieces."""
    response = StreamingHttpResponse(one_by_one(pieces), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


async def one_by_one(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, each made in the thread that has the database. Daphne would collect a plain iterator whole first."""
    try:
        while (piece := await next_of(pieces)) is not None:
            yield piece
    finally:
        if isinstance(pieces, Generator):
            await sync_to_async(pieces.close)()


@sync_to_async
def next_of(pieces: Iterator[bytes]) -> bytes | None:
    """The next piece; None after the last."""
    return next(pieces, None)
