"""The exports as downloads."""

from __future__ import annotations

from typing import Final

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from dashboards.access import staff_only
from dashboards.downloads import download
from simulation.models import Run
from simulation.seats.seating import has_seats
from simulation.studies.export import run_archive, study_archive
from simulation.studies.models import Study

ZIP: Final = "application/zip"


@require_GET
@staff_only
def study_export(request: HttpRequest, study_id: int) -> StreamingHttpResponse:
    """A study as one ZIP of CSV files."""
    study = get_object_or_404(Study, pk=study_id)
    return download(study_archive(study), f"coffeebench-study-{study.pk}.zip", ZIP)


@require_GET
@staff_only
def run_export(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    """The seats of a run as one ZIP of CSV files."""
    run = get_object_or_404(Run, pk=run_id)
    if not has_seats(run):
        raise Http404
    return download(run_archive(run), f"coffeebench-run-{run.pk}-seats.zip", ZIP)
