"""Ctrl-C, obeyed at a moment of our choosing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """Somebody wants the command to end."""


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], None]]:
    """Notes a Ctrl-C; the function it gives raises Interrupted once there was one. A second ends the process at once.

    Python would raise KeyboardInterrupt wherever it happens to be: in the middle of sending a hint it left the event
    loop's thread waiting for ever, and the process with it.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def raise_if_noted() -> None:
        if noted:
            raise Interrupted

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_noted
    finally:
        signal.signal(signal.SIGINT, previous)
