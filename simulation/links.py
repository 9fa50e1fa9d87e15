"""Links that are keys: only this site can make one. Nothing secret is stored; a new one makes the old void."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from django.core.signing import BadSignature, Signer


class LinkError(Exception):
    """A link that opens nothing; says why. `is_void` tells one that used to from one that never did."""

    def __init__(self, reason: str, *, is_void: bool = False) -> None:
        super().__init__(reason)
        self.is_void = is_void


class Linked(Protocol):
    """A row that a link opens: the link bears its number, and is void once that is another or it is revoked."""

    pk: int
    link_number: int
    is_revoked: bool


Row = TypeVar("Row", bound=Linked)


class Links(Generic[Row]):
    """The links to some rows, which `find` gets by their keys. `what` they open is named where one opens nothing."""

    def __init__(self, find: Callable[[int], Row | None], *, salt: str, what: str, deleted: str) -> None:
        self._find = find
        self._salt = salt
        self._what = what
        self._deleted = deleted

    def token_of(self, row: Row) -> str:
        """The row's key as it stands in its address: unguessable, and the same until the link is reissued."""
        return self._signer().sign(f"{row.pk}.{row.link_number}")

    def row_of(self, token: str) -> Row:
        """The row that a key opens. Raises LinkError."""
        try:
            row_id, _, link_number = self._signer().unsign(token).partition(".")
        except (BadSignature, UnicodeEncodeError):
            how = "Copy it again, whole: it is long, has a ~ in it, and is easily cut off where a line breaks."
            raise LinkError(f"This link opens no {self._what}. {how}") from None
        row = self._find(int(row_id))
        if row is None:
            raise LinkError(self._deleted, is_void=True)
        if row.is_revoked or row.link_number != int(link_number):
            raise LinkError("This link is no longer valid. Ask the researcher for the new one.", is_void=True)
        return row

    def _signer(self) -> Signer:
        return Signer(sep="~", salt=self._salt)
