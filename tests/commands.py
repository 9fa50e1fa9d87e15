"""The management commands, called by tests."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command


def said(*arguments: str) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()
