"""Optional notes a model may keep, as Vending-Bench gives them: a scratchpad, a key-value store, a search over both.

The notes are what the calls in the conversation make of them, so nothing more is stored. These calls cost no simulated
time, and a turn has room for `CALLS_PER_TURN` of them only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from simulation.engine.decision import UNREADABLE
from simulation.engine.tools import Result
from simulation.players.llm.conversation import Message

MOST_NOTE = 20_000
MOST_KEYS = 200
FOUND_AT_MOST = 10
MOST_FOUND = 2 * MOST_NOTE
"""Characters of all the notes, with their keys, that one search shows; of the others it tells the keys."""
MOST_KEYS_TOLD = 2000
"""Characters of all the keys that one result tells."""
CALLS_PER_TURN = 8
"""With the last of them a turn ends; the prompt says so in words."""


def _schema(**properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": text} for name, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


TOOLS: list[dict[str, Any]] = [
    {
        "name": "write_scratchpad",
        "description": "Replace your scratchpad, a note of your own that outlives summaries. Costs no time.",
        "parameters": _schema(text="the whole new text"),
    },
    {"name": "read_scratchpad", "description": "Read your scratchpad. Costs no time.", "parameters": _schema()},
    {
        "name": "store_note",
        "description": "Keep a note under a key, in place of an older one. Costs no time.",
        "parameters": _schema(key="a short name", text="what to keep"),
    },
    {
        "name": "read_note",
        "description": "Read the note under a key. Costs no time.",
        "parameters": _schema(key="its name"),
    },
    {
        "name": "search_notes",
        "description": "Find the notes whose key or text contains some words; your scratchpad, too. Costs no time.",
        "parameters": _schema(words="the words"),
    },
]
NAMES = [tool["name"] for tool in TOOLS]


@dataclass
class Memory:
    """A model's notes."""

    scratchpad: str = ""
    notes: dict[str, str] = field(default_factory=dict)

    def call(self, name: str, arguments: dict[str, Any]) -> Result:
        """Does what one of the tools asks; a refusal is a value, as the engine's are."""
        if UNREADABLE in arguments:
            return {"ok": False, "error": str(arguments[UNREADABLE])[:100]}
        values: dict[str, str] = {}
        for key in next(tool["parameters"]["required"] for tool in TOOLS if tool["name"] == name):
            value = arguments.get(key)
            if not isinstance(value, str) or len(value) > MOST_NOTE:
                return {"ok": False, "error": f"{key} must be a text of at most {MOST_NOTE} characters"}
            values[key] = value
        match name:
            case "write_scratchpad":
                return self._write(values["text"])
            case "read_scratchpad":
                return {"ok": True, "text": self.scratchpad}
            case "store_note":
                return self._store(values["key"], values["text"])
            case "read_note":
                return self._look_up(values["key"])
            case _:
                return self._search(values["words"])

    def _write(self, text: str) -> Result:
        self.scratchpad = text
        return {"ok": True}

    def _store(self, key: str, text: str) -> Result:
        if key not in self.notes and len(self.notes) >= MOST_KEYS:
            return {"ok": False, "error": f"there are {MOST_KEYS} notes already; use one of their keys"}
        self.notes[key] = text
        return {"ok": True}

    def _look_up(self, key: str) -> Result:
        if key not in self.notes:
            return {"ok": False, "error": f"there is no note {key[:60]!r}; the keys are {_told(self.notes)}"}
        return {"ok": True, "text": self.notes[key]}

    def _search(self, words: str) -> Result:
        wanted = words.lower().split()
        found = {key: text for key, text in self.notes.items() if _has_all(f"{key} {text}", wanted)}
        sizes = accumulate(len(key) + len(text) for key, text in found.items())
        shown = [key for key, size in zip(found, sizes, strict=True) if size <= MOST_FOUND][:FOUND_AT_MOST]
        others = [key for key in found if key not in shown]
        return {
            "ok": True,
            "found": {key: found[key] for key in shown},
            **({"found_too": _told(others)} if others else {}),
            **({"scratchpad": self.scratchpad} if self.scratchpad and _has_all(self.scratchpad, wanted) else {}),
        }


def _told(keys: Iterable[str]) -> str:
    return ", ".join(keys)[:MOST_KEYS_TOLD]


def _has_all(text: str, wanted: list[str]) -> bool:
    return all(word in text.lower() for word in wanted)


def memory_of(messages: list[Message]) -> Memory:
    """The notes as the calls of a conversation left them."""
    memory = Memory()
    for message in messages:
        for call in message.get("tool_calls") or []:
            if call["function"]["name"] in NAMES:
                memory.call(call["function"]["name"], json.loads(call["function"]["arguments"]))
    return memory
