"""Simulated time: minutes, days, the calendar, and the one queue of who acts when (RULES.md section 3)."""

from __future__ import annotations

import heapq
from datetime import date, timedelta

MINUTES_PER_DAY = 1440
OPENING_MINUTE = 9 * 60
CLOSING_MINUTE = 19 * 60
MINUTES_PER_CALL = 30
CALLS_PER_DAY = (CLOSING_MINUTE - OPENING_MINUTE) // MINUTES_PER_CALL

# Day 0 is Monday, January 1; 2018 began on one, and its calendar names the days.
FIRST_DATE = date(2018, 1, 1)


Wake = tuple[int, int, int]
"""An entry of the queue: minute, order of arrival, seat. Plain, because thousands are compared."""


class WakeQueue:
    """Who acts when. A firm's next-available minute decides which of its entries still count."""

    def __init__(self) -> None:
        self._entries: list[Wake] = []
        self._arrivals = 0
        self._available: dict[int, int] = {}

    def wake(self, seat: int, now: int) -> None:
        """Queues an entry for now, and makes a parked or busy firm available now."""
        self._push(now, seat)
        available = self._available.get(seat)
        if available is None or available > now:
            self._available[seat] = now

    def make_busy(self, seat: int, until: int) -> None:
        """After a call the firm is next available `until` then, or is parked when the day is over by that minute."""
        if until % MINUTES_PER_DAY < CLOSING_MINUTE:
            self._available[seat] = until
            self._push(until, seat)
        else:
            self.park(seat)

    def park(self, seat: int) -> None:
        """The firm has no next-available minute until something wakes it."""
        self._available.pop(seat, None)

    def open_morning(self, seats: list[int], now: int) -> None:
        """Every live firm is available at 09:00; those woken earlier this morning keep their place before others."""
        for seat in seats:
            self._available[seat] = now
            self._push(now, seat)

    def next_minute(self) -> int | None:
        """The minute of the next bucket, None when nobody is queued."""
        return self._entries[0][0] if self._entries else None

    def open_bucket(self) -> list[int]:
        """Takes out all entries of the smallest minute; returns the seats that act in it, each once, in order."""
        entries = self._entries
        minute = entries[0][0]
        seats: dict[int, None] = {}
        while entries and entries[0][0] == minute:
            _, _, seat = heapq.heappop(entries)
            if self._available.get(seat) == minute:
                seats[seat] = None
        return list(seats)

    def _push(self, minute: int, seat: int) -> None:
        self._arrivals += 1
        heapq.heappush(self._entries, (minute, self._arrivals, seat))


def clock_text(minute: int) -> str:
    """14:30."""
    hour, minutes = divmod(minute % MINUTES_PER_DAY, 60)
    return f"{hour:02}:{minutes:02}"


def date_text(day: int) -> str:
    """Monday, January 1: the calendar date of a day."""
    that_day = FIRST_DATE + timedelta(days=day)
    return f"{that_day:%A, %B} {that_day.day}"
