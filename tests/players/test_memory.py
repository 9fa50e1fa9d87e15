"""The notes that a model may keep: what the tools refuse, find and show, and how much of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulation.engine.decision import UNREADABLE
from simulation.engine.scenario import Scenario
from simulation.players.briefing import Objective, system_prompt
from simulation.players.llm.conversation import Message
from simulation.players.llm.memory import CALLS_PER_TURN, FOUND_AT_MOST, MOST_FOUND, MOST_KEYS, MOST_NOTE, memory_of


def call_of(name: str, **arguments: Any) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def noted(**notes: str) -> list[Message]:
    """A conversation in which these notes were kept."""
    return [call_of("store_note", key=key, text=text) for key, text in notes.items()]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("write_scratchpad", {"text": "x" * (MOST_NOTE + 1)}, "text must be a text of at most 20000 characters"),
        ("store_note", {"key": "price", "text": 3.49}, "text must be a text"),
        ("store_note", {UNREADABLE: "the arguments are not JSON: price"}, "the arguments are not JSON: price"),
        ("read_note", {}, "key must be a text"),
        ("read_note", {"key": "Price"}, "there is no note 'Price'; the keys are price"),
    ],
)
def test_a_refused_call_of_the_memory_says_why(name: str, arguments: dict[str, Any], says: str) -> None:
    result = memory_of(noted(price="3.49")).call(name, arguments)
    assert not result["ok"]
    assert result["error"].startswith(says)


def test_there_is_room_for_so_many_notes_and_always_for_a_new_text_of_an_old_one() -> None:
    memory = memory_of(noted(**{f"k{number}": "old" for number in range(MOST_KEYS)}))
    assert not memory.call("store_note", {"key": "one more", "text": ""})["ok"]
    assert memory.call("store_note", {"key": "k7", "text": "new"})["ok"]
    assert memory.call("read_note", {"key": "k7"}) == {"ok": True, "text": "new"}


def test_a_search_finds_words_in_keys_texts_and_the_scratchpad_whatever_a_note_is_called() -> None:
    memory = memory_of(
        [
            *noted(scratchpad="Not the pad: 3.49", price="farmer_B asks 3.49"),
            call_of("write_scratchpad", text="3.49 is too dear"),
        ]
    )
    assert memory.call("search_notes", {"words": "3.49"}) == {
        "ok": True,
        "found": {"scratchpad": "Not the pad: 3.49", "price": "farmer_B asks 3.49"},
        "scratchpad": "3.49 is too dear",
    }
    assert memory.call("search_notes", {"words": "PRICE farmer_b"})["found"] == {"price": "farmer_B asks 3.49"}
    assert memory.call("search_notes", {"words": "3.50"}) == {"ok": True, "found": {}}


@pytest.mark.parametrize(("size", "count"), [(1, FOUND_AT_MOST), (MOST_FOUND // 4, 3), (MOST_NOTE, 1)])
def test_a_search_shows_no_more_than_a_request_bears_and_names_what_else_there_is(size: int, count: int) -> None:
    keys = [f"k{number}" for number in range(20)]
    result = memory_of(noted(**dict.fromkeys(keys, "x" * size))).call("search_notes", {"words": "x"})
    shown = [*result["found"]]
    assert shown == keys[:count]
    assert result["found_too"] == ", ".join(keys[count:])


def test_the_prompt_says_when_a_turn_of_notes_alone_ends() -> None:
    assert CALLS_PER_TURN == 8
    assert "the eighth ends the turn" in system_prompt(Scenario(), "roaster_A", Objective(), memory_tools=True)
