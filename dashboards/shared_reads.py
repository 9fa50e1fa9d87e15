"""One read for many sockets: two hundred tabs on one run should cost its database what one costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

from channels.db import database_sync_to_async

T = TypeVar("T")

# Long enough for one hint to reach every socket of the process, too short to serve anything stale.
SHARED_SECONDS: Final = 0.05


class SharedReads(Generic[T]):
    """Reads under way or just done, by what was asked."""

    def __init__(self) -> None:
        self.reads: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Task[T]] = {}

    async def read(self, question: Hashable, function: Callable[..., T], *arguments: Any) -> T:
        """The function's answer, from a read that another socket began for the same question, or from a new one."""
        loop = asyncio.get_running_loop()
        key = (loop, question)
        if key not in self.reads:
            self.reads[key] = loop.create_task(database_sync_to_async(function)(*arguments))
            loop.call_later(SHARED_SECONDS, self.forget, key)
        # Shielded: that one socket closes must not spoil the answer for the others.
        return await asyncio.shield(self.reads[key])

    def forget(self, key: tuple[asyncio.AbstractEventLoop, Hashable]) -> None:
        """Let the next one who asks read anew."""
        self.reads.pop(key, None)
