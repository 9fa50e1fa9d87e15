"""Waiting for what other processes do, without sleeping longer than needed."""

import time
from collections.abc import Callable


def eventually(is_true: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
