"""What the server remembers of its requests: for tests to read, and for counting tokens that a cache would save."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.model_server.conversation import Conversation, tokens_in


@dataclass(slots=True)
class Entry:
    """One request. `status` stays empty until an answer is sent; `is_gone`: the client did not wait for all of it."""

    number: int
    started: float
    key_end: str
    model: str = ""
    call: int = 0
    turn: int = 0
    messages: int = 0
    digest: str = ""
    repeat: int = 0
    status: int | None = None
    is_gone: bool = False
    trouble: str = ""
    misbehaviour: str = ""
    tool: str = ""
    waited_because: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    own_milliseconds: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Bookkeeping:
    """All requests since the start."""

    entries: list[Entry] = field(default_factory=list)
    in_work: int = 0
    most_in_work: int = 0
    _calls: Counter[str] = field(default_factory=Counter)
    _askings: Counter[str] = field(default_factory=Counter)
    _prefixes: set[bytes] = field(default_factory=set)

    def open(self, authorization: str) -> Entry:
        """A new request, before anything of it is read."""
        entry = Entry(len(self.entries) + 1, time.time(), authorization[-4:])
        self.entries.append(entry)
        self.in_work += 1
        self.most_in_work = max(self.most_in_work, self.in_work)
        return entry

    def close(self, entry: Entry) -> None:
        """The request is over, whatever came of it."""
        self.in_work -= 1
        entry.seconds = round(time.time() - entry.started, 4)

    def note(self, entry: Entry, conversation: Conversation) -> None:
        """What was asked; counts it among the model's calls, and among the askings of these messages."""
        entry.model, entry.digest = conversation.model, conversation.digest
        entry.messages, entry.turn = len(conversation.messages), conversation.turn
        entry.prompt_tokens = conversation.tokens
        self._calls[entry.model] += 1
        entry.call = self._calls[entry.model]
        entry.repeat = self._askings[entry.digest]
        self._askings[entry.digest] += 1

    def cached_tokens(self, conversation: Conversation) -> int:
        """How much of a request an earlier one began with, to the byte; from now on all of it is known."""
        digests, known = conversation.digests, len(conversation.digests)
        while known and digests[known - 1] not in self._prefixes:
            known -= 1
        self._prefixes.update(digests[known:])
        return min(tokens_in(conversation.lengths[known - 1]), conversation.tokens) if known else 0

    def rows(self, after: int) -> list[dict[str, Any]]:
        """The requests after a number, oldest first."""
        return [asdict(entry) for entry in self.entries[after:]]

    def stats(self) -> dict[str, Any]:
        """Totals over all requests."""
        entries = self.entries
        own = sorted(entry.own_milliseconds for entry in entries) or [0.0]
        return {
            "requests": len(entries),
            "in_work": self.in_work,
            "most_in_work": self.most_in_work,
            "gone": sum(entry.is_gone for entry in entries),
            "repeated": sum(entry.repeat > 0 for entry in entries),
            "by_status": Counter(str(entry.status) for entry in entries),
            "by_model": Counter(entry.model for entry in entries),
            "by_trouble": Counter(entry.trouble for entry in entries if entry.trouble),
            "by_misbehaviour": Counter(entry.misbehaviour for entry in entries if entry.misbehaviour),
            "waited_instead": sum(bool(entry.waited_because) for entry in entries),
            "prompt_tokens": sum(entry.prompt_tokens for entry in entries if entry.completion_tokens),
            "cached_tokens": sum(entry.cached_tokens for entry in entries),
            "completion_tokens": sum(entry.completion_tokens for entry in entries),
            "own_milliseconds_median": own[len(own) // 2],
            "own_milliseconds_most": own[-1],
        }
