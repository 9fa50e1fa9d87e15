"""Waiting for what other processes do, without sleeping longer than needed.

No test may depend on how fast a machine is: what only a deadline can end is waited for far longer than it should take.
"""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_SECONDS: Final = 90.0


def eventually(is_true: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
