"""What a search found, in parts that are the words and parts that are not: plain text, which the template escapes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

BEFORE: Final = 80
AFTER: Final = 320
MOST_MARKS: Final = 20


class Part(NamedTuple):
    """A stretch of text, and whether it is what was looked for."""

    text: str
    is_hit: bool


def marked(text: str, pattern: re.Pattern[str]) -> list[Part]:
    """A text in parts; after many hits the rest is one part."""
    parts, end = [], 0
    for hit in list(pattern.finditer(text))[:MOST_MARKS]:
        parts += [Part(text[end : hit.start()], is_hit=False), Part(hit[0], is_hit=True)]
        end = hit.end()
    return [part for part in [*parts, Part(text[end:], is_hit=False)] if part.text]


def in_context(text: str, pattern: re.Pattern[str]) -> list[Part]:
    """The surroundings of a text's first hit, in parts; the beginning of a text that has none."""
    hit = pattern.search(text)
    start = max(0, hit.start() - BEFORE) if hit else 0
    end = min(len(text), (hit.end() if hit else 0) + AFTER)
    parts = marked(text[start:end], pattern)
    before = [Part("… ", is_hit=False)] if start else []
    after = [Part(" …", is_hit=False)] if end < len(text) else []
    return [*before, *parts, *after]
