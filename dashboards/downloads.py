"""Files that are sent as they are made, and never held whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

Piece = TypeVar("Piece", str, bytes)


def download(pieces: Iterator[Piece], file_name: str, content_type: str) -> StreamingHttpResponse:
    """A file in pieces, to be kept under a name."""
    response = StreamingHttpResponse(one_by_one(pieces), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


async def one_by_one(pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
    """The pieces, each made in the thread that has the database. Daphne would collect a plain iterator whole first."""
    try:
        while (piece := await next_of(pieces)) is not None:
            yield piece
    finally:
        if isinstance(pieces, Generator):
            await sync_to_async(pieces.close)()


@sync_to_async
def next_of(pieces: Iterator[Piece]) -> Piece | None:
    """The next piece; None after the last."""
    return next(pieces, None)
