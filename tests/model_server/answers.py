"""The bodies of answers: completions, spoiled in the ways that models spoil them, and errors in OpenAI's form."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from simulation.engine.decision import WAIT, Decision
from tests.model_server.conversation import Conversation, Message, text_of, tokens_in

LOOK = Decision("view_trial_balance", {})
SORRY = "I'm sorry, but I can't help with that."
NULL, LONE_SURROGATE = "\0", "\ud83d"


class Choice(NamedTuple):
    """An answer's message, and why it ended."""

    message: Message
    finish_reason: str


class Usage(NamedTuple):
    """What an answer cost, in tokens; those of the completion include the reasoning."""

    prompt: int
    cached: int
    completion: int
    reasoning: int


class HttpError(NamedTuple):
    """An answer that is none: its status, and its body as JSON or as a page."""

    status: int
    body: dict[str, Any] | str


def error_body(message: str, kind: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI words it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def bad_request(problem: str) -> HttpError:
    """A request that breaks the protocol."""
    return HttpError(400, error_body(problem, "invalid_request_error"))


def invalid_key(key: str) -> HttpError:
    """The real one shows the key with stars; local servers and proxies show it whole."""
    return HttpError(401, error_body(f"Incorrect API key provided: {key}.", "invalid_request_error", "invalid_api_key"))


def unknown_model(model: str) -> HttpError:
    """A name that is not served."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return HttpError(404, error_body(message, "invalid_request_error", "model_not_found"))


def context_length_exceeded(tokens: int, most: int) -> HttpError:
    """More than fits."""
    message = (
        f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    return HttpError(400, error_body(message, "invalid_request_error", "context_length_exceeded", "messages"))


BUSY = error_body("The server had an error while processing your request. Sorry about that!", "server_error")
ERRORS: dict[str, HttpError] = {
    "rate_limit": HttpError(
        429, error_body("Rate limit reached on requests per min. Please try again.", "requests", "rate_limit_exceeded")
    ),
    "quota": HttpError(
        429,
        error_body(
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
    ),
    "error_500": HttpError(500, BUSY),
    "error_503": HttpError(
        503, error_body("The engine is currently overloaded, please try again later", "server_error")
    ),
    "error_529": HttpError(529, error_body("Overloaded", "overloaded_error")),
    "bad_gateway": HttpError(502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"),
    "error_in_200": HttpError(200, BUSY),
}


def choice_of(decision: Decision, call_id: str, reason: str) -> Choice:
    """A decision as one tool call, after a word of why."""
    return Choice({"role": "assistant", "content": reason, "tool_calls": [_call(decision, call_id)]}, "tool_calls")


def summary_of(conversation: Conversation) -> Choice:
    """What a model asked to sum up says: words only."""
    text = f"Summary: {len(conversation.messages)} messages came before, marked {conversation.digest[:8]}."
    return Choice({"role": "assistant", "content": text}, "stop")


def other_than(decision: Decision) -> Decision:
    """What a model decides that has changed its mind."""
    return LOOK if decision.tool == WAIT.tool else WAIT


def _call(decision: Decision, call_id: str) -> dict[str, Any]:
    function = {"name": decision.tool, "arguments": json.dumps(decision.arguments)}
    return {"id": call_id, "type": "function", "function": function}


def spoil(choice: Choice, kind: str) -> Choice:
    """The answer with one kind of misbehaviour."""
    return SPOILERS[kind](choice)


def _with_function(choice: Choice, **changes: Any) -> Choice:
    call = choice.message["tool_calls"][0]
    return _with_calls(choice, [{**call, "function": {**call["function"], **changes}}])


def _with_calls(choice: Choice, calls: list[dict[str, Any]]) -> Choice:
    return choice._replace(message={**choice.message, "tool_calls": calls})


def _arguments(choice: Choice) -> Any:
    return json.loads(choice.message["tool_calls"][0]["function"]["arguments"])


def _malformed(choice: Choice) -> Choice:
    """As of a model that writes Python."""
    return _with_function(choice, arguments=f"{str(_arguments(choice))[:-1]},}}")


def _wrong_types(choice: Choice) -> Choice:
    """Numbers in words, texts in lists; one argument too many where there is none."""
    arguments = _arguments(choice) or {"when": "tomorrow"}
    wrong = {name: [value] if isinstance(value, str) else f"about {value}" for name, value in arguments.items()}
    return _with_function(choice, arguments=json.dumps(wrong))


def _with_character(choice: Choice, character: str) -> Choice:
    """In the text before the call as it is, and in the arguments as an escape inside of their JSON."""
    arguments = _arguments(choice) or {"note": ""}
    spoiled = {name: f"{value}{character}" for name, value in arguments.items()}
    choice = _with_function(choice, arguments=json.dumps(spoiled))
    return choice._replace(message={**choice.message, "content": text_of(choice.message) + character})


def _without_call(choice: Choice, **message: str | None) -> Choice:
    return Choice({"role": "assistant", **message}, "stop")


def _several(choice: Choice) -> Choice:
    first = choice.message["tool_calls"][0]
    others = [_call(each, f"{first['id']}_{number}") for number, each in enumerate((LOOK, WAIT), 2)]
    return _with_calls(choice, [first, *others])


def _in_parts(choice: Choice) -> Choice:
    return choice._replace(message={**choice.message, "content": [{"type": "text", "text": text_of(choice.message)}]})


def _cut_short(choice: Choice) -> Choice:
    arguments = choice.message["tool_calls"][0]["function"]["arguments"]
    return _with_function(choice, arguments=arguments[: len(arguments) // 2])._replace(finish_reason="length")


SPOILERS: dict[str, Callable[[Choice], Choice]] = {
    "malformed_arguments": _malformed,
    "wrong_types": _wrong_types,
    "unknown_tool": lambda choice: _with_function(choice, name="fire_the_accountant"),
    "null_bytes": lambda choice: _with_character(choice, NULL),
    "lone_surrogates": lambda choice: _with_character(choice, LONE_SURROGATE),
    "no_call": lambda choice: _without_call(choice, content="Let me think about this first."),
    "several_calls": _several,
    "content_in_parts": _in_parts,
    "arguments_in_list": lambda choice: _with_function(choice, arguments=[_arguments(choice)]),
    "refusal": lambda choice: _without_call(choice, content=None, refusal=SORRY),
    "content_filter": lambda choice: _without_call(choice, content="")._replace(finish_reason="content_filter"),
    "length": _cut_short,
    "changed_mind": lambda choice: choice,  # the decision was another one already
}


def tokens_of(choice: Choice) -> int:
    """The size of an answer."""
    functions = [one["function"] for one in choice.message.get("tool_calls", [])]
    text = text_of(choice.message) + (choice.message.get("refusal") or "")
    return tokens_in(len(text) + sum(len(one["name"]) + len(str(one["arguments"])) for one in functions))


def completion(name: str, answer_id: str, choices: list[Choice], usage: Usage) -> dict[str, Any]:
    """The body of an answer."""
    return {
        "id": f"chatcmpl-{answer_id}",
        "object": "chat.completion",
        "created": 0,  # the same answer to the same request, to the byte
        "model": name,
        "choices": [
            {"index": index, "message": one.message, "finish_reason": one.finish_reason, "logprobs": None}
            for index, one in enumerate(choices)
        ],
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        },
    }
