"""The export of a study, or of a run with seats, as one ZIP of CSV files: made while it is sent, a piece at a time."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.utils import timezone

from simulation.cells import safe_cell
from simulation.models import Run
from simulation.studies.codebook import RUN_SHEETS, STUDY_SHEETS, Sheet, codebook_lines
from simulation.studies.export_rows import Source
from simulation.studies.models import Study

CODEBOOK: Final = "codebook.csv"
PIECE_BYTES: Final = 64 * 1024
ROWS_PER_PIECE: Final = 200


def study_archive(study: Study) -> Iterator[bytes]:
    """The export of a study, in pieces of a ZIP file. Changes nothing."""
    source = Source(study, None, timezone.now())
    return archive(source, STUDY_SHEETS)


def run_archive(run: Run) -> Iterator[bytes]:
    """The export of one run's seats, in pieces of a ZIP file. Changes nothing."""
    source = Source(None, run, timezone.now())
    return archive(source, RUN_SHEETS)


def archive(source: Source, sheets: tuple[Sheet[Any], ...]) -> Iterator[bytes]:
    """The codebook and the files it describes."""
    sent = Pieces()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_DEFLATED) as archive_file:
        yield from added(archive_file, sent, CODEBOOK, codebook_lines(sheets))
        for sheet in sheets:
            yield from added(archive_file, sent, sheet.name, sheet.lines(source))
    yield sent.taken()


def added(archive_file: zipfile.ZipFile, sent: Pieces, name: str, lines: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Adds a file to the archive and gives what there is to send meanwhile."""
    with archive_file.open(name, "w", force_zip64=True) as file:
        for part in csv_parts(lines):
            file.write(part)
            if sent.size >= PIECE_BYTES:
                yield sent.taken()


def csv_parts(lines: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Lines as CSV, some rows at a time; every text is safe to open, and what no encoding can hold is replaced."""
    text = io.StringIO()
    writer = csv.writer(text)
    for number, line in enumerate(lines, 1):
        writer.writerow([safe_cell(cell) for cell in line])
        if number % ROWS_PER_PIECE == 0:
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode("utf-8", "replace")


class Pieces(io.RawIOBase):
    """What an archive has written and nobody has sent yet. It cannot be wound back, so the archive never tries."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Keeps some bytes."""
        self._kept += data
        return len(data)

    def taken(self) -> bytes:
        """All that is kept, which is then forgotten."""
        piece = bytes(self._kept)
        self._kept.clear()
        return piece

    @property
    def size(self) -> int:
        """How many bytes are kept. Not `len`: an archive takes a file that is false for one that is closed."""
        return len(self._kept)
