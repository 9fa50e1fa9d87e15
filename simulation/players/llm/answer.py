"""From a provider's message to one decision, whatever the model did; what it did wrong is flagged, never fatal."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from simulation.engine.decision import NO_CALL, UNREADABLE, Decision, printable
from simulation.players.llm.conversation import THOUGHTS, Message

NO_TOOL_CALL = "no tool call"
SEVERAL_CALLS = "several calls"
UNKNOWN_TOOL = "unknown tool"
NOT_JSON = "arguments not JSON"
CUT = "cut at the token limit"
DECLINED = "declined to answer"
CLEANED = "characters cleaned"

_UNSAFE = re.compile("[\0\ud800-\udfff]")


class Answer(NamedTuple):
    """What a model decided, the message its conversation keeps, and what was wrong with it."""

    decision: Decision
    message: Message
    flags: list[str]
    note: str


def read_answer(raw: Message, finish_reason: str, tool_names: list[str]) -> Answer:
    """Reads an assistant message in the OpenAI form. Every answer, however broken, gives a decision.

    The conversation keeps one tool call at most, with arguments that are JSON, so that any provider takes it back.
    """
    flags: list[str] = []
    clean = _cleaned(raw, flags)
    calls = [call for call in clean.get("tool_calls") or [] if isinstance(call, dict)]
    text = str(clean.get("content") or "")
    if finish_reason == "length":
        flags.append(CUT)
    if finish_reason == "content_filter" or clean.get("refusal"):
        flags.append(DECLINED)
    if not calls:
        flags.append(NO_TOOL_CALL)
        kept = {**_kept(clean), "content": text or "(no answer)"}
        return Answer(NO_CALL._replace(rationale=printable(text)), kept, flags, "")
    if len(calls) > 1:
        flags.append(SEVERAL_CALLS)
    name, arguments = _call(calls[0], flags)
    if name not in tool_names:
        flags.append(UNKNOWN_TOOL)
    call = {
        "id": str(calls[0].get("id") or "call_1")[:80],
        "type": "function",
        "function": {"name": _safe_name(name), "arguments": json.dumps(arguments)},
    }
    note = f"only the first of your {len(calls)} calls was used" if len(calls) > 1 else ""
    message = {**_kept(clean), "content": text, "tool_calls": [call]}
    return Answer(Decision(name, arguments, printable(text)), message, flags, note)


def _call(call: Message, flags: list[str]) -> tuple[str, dict[str, Any]]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    name = str(function.get("name") or "(no name)")
    text = function.get("arguments") or "{}"
    try:
        arguments = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        flags.append(NOT_JSON)
        return name, {UNREADABLE: f"the arguments are not JSON: {str(text)[:80]}"}
    if not isinstance(arguments, dict):
        flags.append(NOT_JSON)
        return name, {UNREADABLE: f"the arguments are not a JSON object: {str(text)[:80]}"}
    return name, _cleaned(arguments, flags)


def _kept(message: Message) -> Message:
    """What is sent back unchanged."""
    return {"role": "assistant", **{key: message[key] for key in THOUGHTS if message.get(key)}}


def _safe_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] or "_"


def _cleaned(value: Any, flags: list[str]) -> Any:
    """The value with null bytes and halves of surrogate pairs replaced, wherever they are."""
    if isinstance(value, str):
        if not _UNSAFE.search(value):
            return value
        if CLEANED not in flags:
            flags.append(CLEANED)
        return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {str(_cleaned(key, flags)): _cleaned(inner, flags) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, flags) for inner in value]
    return value
