"""Who holds a run: a lease that its holder renews, and that falls free when it expires or its holder is known dead."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Protocol

LEASE = timedelta(seconds=20)
_holders = count(1)


class Leased(Protocol):
    """A row that one holder at a time works on: a run, or a turn put to a model."""

    lease_owner: str
    lease_until: datetime | None
    not_before: datetime | None


def is_free(row: Leased, now: datetime) -> bool:
    """Whether a row is due and nobody who could still be alive holds it."""
    is_held = row.lease_until is not None and row.lease_until > now and not is_dead(row.lease_owner)
    return not is_held and (row.not_before is None or row.not_before <= now)


@cache
def this_place() -> str:
    """Names what process numbers are unique in: the machine and, on Linux, the namespace of its processes."""
    namespace = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()[:20]}.{namespace.stat().st_ino if namespace.exists() else 0}"


def holder_name() -> str:
    """A name for one holder of leases: place, process, and a number, so that no two are the same."""
    return f"{this_place()}/{os.getpid()}/{next(_holders)}"


def is_dead(holder: str) -> bool:
    """Whether a holder is surely gone: it was a process of this place, and there is no such process any more."""
    place, _, process = holder.rpartition("/")[0].rpartition("/")
    if place != this_place() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
