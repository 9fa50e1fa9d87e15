"""Answers that many open pages ask for at the same moment, made once: as long as the run stands where it stood."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final

MOST_KEPT: Final = 32


class KeptAnswers:
    """The newest answers of this process, by what was asked and where the run stood."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most = most
        self.answers: OrderedDict[Hashable, str] = OrderedDict()
        self.lock = Lock()

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        """The answer to `key`, made now unless it is kept. Two that ask at once may both make it: it is the same."""
        with self.lock:
            if key in self.answers:
                self.answers.move_to_end(key)
                return self.answers[key]
        answer = make()
        with self.lock:
            self.answers[key] = answer
            while len(self.answers) > self.most:
                self.answers.popitem(last=False)
        return answer
