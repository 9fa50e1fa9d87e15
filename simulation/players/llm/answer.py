"""From a provider's message to one decision, whatever the model did; what it did wrong is flagged, never fatal."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from simulation.engine.decision import NO_CALL, UNREADABLE, Decision, json_number, printable
from simulation.players.llm.conversation import Message

NO_TOOL_CALL = "no tool call"
SEVERAL_CALLS = "several calls"
UNKNOWN_TOOL = "unknown tool"
NOT_JSON = "arguments not JSON"
CUT = "cut at the token limit"
DECLINED = "declined to answer"
CLEANED = "characters cleaned"
MISSHAPEN = "answer not of the protocol's shape"

_UNSAFE = re.compile("[\0\ud800-\udfff]")


class Answer(NamedTuple):
    """What a model decided, the message its conversation keeps, and what was wrong with it."""

    decision: Decision
    message: Message
    flags: list[str]


def read_answer(raw: Message, finish_reason: str, tool_names: list[str], *, with_thoughts: bool = False) -> Answer:
    """Reads an assistant message in the OpenAI form. Every answer, however broken, gives a decision.

    The conversation keeps one tool call at most, with arguments that are JSON, so that any provider takes it back;
    `with_thoughts` also what the model thought in plain words, for the providers that want it back.
    """
    flags: list[str] = []
    clean = cleaned(raw, flags)
    calls = [call for call in clean.get("tool_calls") or [] if isinstance(call, dict)]
    text = str(clean.get("content") or clean.get("refusal") or "")
    if finish_reason == "length":
        flags.append(CUT)
    if finish_reason == "content_filter" or clean.get("refusal"):
        flags.append(DECLINED)
    if not calls:
        flags.append(NO_TOOL_CALL)
        kept = {**_kept(clean, with_thoughts), "content": text or "(no answer)"}
        return Answer(NO_CALL._replace(rationale=printable(text)), kept, flags)
    if len(calls) > 1:
        flags.append(SEVERAL_CALLS)
    name, arguments = _call(calls[0], flags)
    if name not in tool_names:
        flags.append(UNKNOWN_TOOL)
    call = {
        "id": str(calls[0].get("id") or "call_1"),  # whole: Google's carries the signature of a thought
        "type": "function",
        "function": {"name": _safe_name(name), "arguments": json.dumps(arguments)},
    }
    message = {**_kept(clean, with_thoughts), "content": text, "tool_calls": [call]}
    return Answer(Decision(name, arguments, printable(text)), message, flags)


def _call(call: Message, flags: list[str]) -> tuple[str, dict[str, Any]]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    name = str(function.get("name") or "(no name)")
    said = function.get("arguments") or "{}"
    text = said if isinstance(said, str) else json.dumps(said)
    try:
        arguments = json.loads(text, parse_constant=json_number, parse_float=json_number)
        if isinstance(arguments, dict):
            return name, cleaned(arguments, flags)
    except (ValueError, RecursionError):
        what = "JSON"
    else:
        what = "a JSON object"
    flags.append(NOT_JSON)
    return name, {UNREADABLE: f"the arguments are not {what}: {text[:80]}"}


def _kept(message: Message, with_thoughts: bool) -> Message:
    """What is sent back unchanged: thoughts. Other fields of a server's own are refused by other servers."""
    signatures = (message.get("provider_specific_fields") or {}).get("thought_signatures")
    thoughts = {
        "thinking_blocks": message.get("thinking_blocks"),
        "reasoning_content": message.get("reasoning_content") if with_thoughts else None,
        "provider_specific_fields": {"thought_signatures": signatures} if signatures else None,
    }
    return {"role": "assistant", **{name: value for name, value in thoughts.items() if value}}


def _safe_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] or "_"


def cleaned(value: Any, flags: list[str]) -> Any:
    """The value with null bytes and halves of surrogate pairs replaced, wherever they are."""
    if isinstance(value, str):
        if not _UNSAFE.search(value):
            return value
        if CLEANED not in flags:
            flags.append(CLEANED)
        return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {str(cleaned(key, flags)): cleaned(inner, flags) for key, inner in value.items()}
    if isinstance(value, list):
        return [cleaned(inner, flags) for inner in value]
    return value
