"""Speaking to a provider through litellm, the only place that imports it.

One event loop in one thread of a process carries all calls. litellm's own retries are off: each request is one attempt,
counted and paid once. Its `timeout` bounds a single read only, so the whole call has a deadline of our own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from marketplace.economy.money import MICROS_PER_USD
from simulation.engine.decision import printable
from simulation.players.llm.conversation import Message
from simulation.players.llm.prices import Usage, cost_micros, has_no_minimal_reasoning, prices_of
from simulation.players.llm.settings import ModelSettings

Trouble = Literal["passing", "context", "login", "model", "quota", "request"]
PASSING: Trouble = "passing"
MOST_TOKENS = 2**31 - 1
MOST_USD_OF_A_CALL = 1_000_000
LONGEST_RETRY_AFTER_SECONDS = 86_400
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?(_|\d|$)")
_SECRET_TEXT = re.compile(
    r"(\bsk-|AIza|Bearer\s+|\bkey(?: provided)?[-=: ]+(?=\S*\d))[A-Za-z0-9_.*-]{6,}", re.IGNORECASE
)
_MASKED_TEXT = re.compile(r"[A-Za-z0-9_.-]*\*{3,}[A-Za-z0-9_.*-]*")
_NO_KEY = re.compile(r"missing.{0,40}(api.?key|credentials)", re.IGNORECASE)
_UNSENDABLE_KEY = re.compile(
    r"'(ascii|latin-1)' codec can't encode|control character detected in headers", re.IGNORECASE
)
_KIND_OF_STATUS: dict[int, Trouble] = {
    401: "login",
    402: "quota",
    403: "login",
    404: "model",
    410: "model",
    413: "context",
}
_PASSING_STATUSES = (408, 409, 425, 429)
# Models that think unless they are told not to, and how each company wants that said; litellm has no word for it.
_THINK_UNASKED = ("kimi-k2.5", "kimi-k2.6", "glm-4.", "glm-5", "deepseek-v4")
_SWITCHED_OFF: dict[str, dict[str, Any]] = {
    "openrouter": {"reasoning": {"enabled": False}},
    "moonshot": {"thinking": {"type": "disabled"}},
    "zai": {"thinking": {"type": "disabled"}},
    "deepseek": {"thinking": {"type": "disabled"}},
}
_WANT_THEIR_THOUGHTS = ("deepseek/", "moonshot/", "openrouter/deepseek/", "openrouter/moonshotai/")
_UNHEARD = re.compile(
    r"connection error|invalid response|expecting value|provider returned|object has no attribute", re.IGNORECASE
)
# A part that is not installed, or one of litellm's that knows no tools, will not come by waiting.
_LACKING = re.compile(r"no module named|unexpected keyword argument", re.IGNORECASE)
# How litellm complains of a message in a choice, as against a body that is no answer at all.
_MISSHAPEN = re.compile(r"validation errors? for (Message|Function)\b|ChatCompletionMessageToolCall")


class ProviderError(Exception):
    """A call that brought no answer. `trouble` says what can be done about it; an answer that litellm could not read
    because the model gave it a shape of its own `is_misshapen`.

    ProviderError
    ├── passing: tried again after a while (rate limits, timeouts, broken connections, 5xx)
    ├── context: too long for the model; shortened once and tried again
    └── login, model, quota, request: no use in trying again; the run pauses at once
    """

    def __init__(
        self,
        trouble: Trouble,
        text: str,
        retry_after: float | None = None,
        *,
        may_be_billed: bool = False,
        is_misshapen: bool = False,
    ) -> None:
        super().__init__(text)
        self.trouble = trouble
        self.retry_after = retry_after
        self.may_be_billed = may_be_billed
        self.is_misshapen = is_misshapen


class Reply(NamedTuple):
    """What a provider answered. `cost_micros` is None where no price is known; zero is a price."""

    message: Message
    finish_reason: str
    model: str
    usage: Usage
    cost_micros: int | None
    latency_ms: int
    raw: str


@cache
def _litellm() -> Any:
    """litellm, told to stay silent and off the network before it is first imported (`coffeebench_site/__init__.py`)."""
    import litellm

    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)  # it repeats what providers say; our tables hide keys
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.telemetry = False
    litellm.callbacks = []
    _reckon_no_costs()
    return litellm


def _reckon_no_costs() -> None:
    """Keeps litellm from reckoning what each answer cost, a quarter of its time: we do, from what the provider counted.

    This too is litellm's own affair, and may have another name in another version; then it reckons again.
    """
    with suppress(ImportError):
        from litellm.litellm_core_utils.litellm_logging import Logging

        Logging.response_cost_calculator = lambda *_args, **_kwargs: None  # type: ignore[method-assign]


def _say_nothing_of_it() -> None:
    """Keeps litellm from making its own record of a call, a quarter of its time: ours is a row of the table.

    The switch is litellm's own affair and may be gone in another version; then it costs its time again.
    """
    with suppress(ImportError, AttributeError):
        from litellm._internal_context import is_internal_call

        is_internal_call.set(True)


_loops: list[asyncio.AbstractEventLoop] = []
_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The one loop of this process; litellm's clients and queues belong to the loop that first used them."""
    with _starting:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            threading.Thread(target=_loops[0].run_forever, name="models", daemon=True).start()
    return _loops[0]


def start(settings: ModelSettings, messages: list[Message], tools: list[dict[str, Any]]) -> Future[Reply]:
    """Sends one request to a model. Its answer, or a ProviderError, comes within the deadline."""
    return asyncio.run_coroutine_threadsafe(_answered(settings, messages, tools), _loop())


async def _answered(settings: ModelSettings, messages: list[Message], tools: list[dict[str, Any]]) -> Reply:
    began = time.monotonic()
    _say_nothing_of_it()
    try:
        work = _litellm().acompletion(**request(settings, messages, tools))
        return _reply(settings, await asyncio.wait_for(work, settings.deadline_seconds), began)
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001 - litellm raises whatever its parts raise; each becomes our own
        raise _trouble_of(error, settings) from None


def request(settings: ModelSettings, messages: list[Message], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The keyword arguments of the call. No key is among them unless the settings name its variable."""
    wanted: dict[str, Any] = {
        "model": settings.model,
        "messages": _with_cache_marks(settings, messages),
        "max_tokens": settings.output_limit_tokens,
        "timeout": settings.deadline_seconds,
        "max_retries": 0,
        "api_base": settings.base_url,
        "temperature": settings.temperature,
        **reasoning_wish(settings),
    }
    if settings.base_url and "reasoning_effort" in wanted and not _has_reasoning(settings.model):
        wanted["allowed_openai_params"] = ["reasoning_effort"]  # litellm does not know what is served there
    if tools:
        wanted |= {"tools": [{"type": "function", "function": tool} for tool in tools], "tool_choice": "auto"}
    if settings.key_variable:
        key = os.environ.get(settings.key_variable)
        if not key:
            raise ProviderError("login", f"the environment variable {settings.key_variable} is not set")
        wanted["api_key"] = key
    elif settings.base_url:
        wanted["api_key"] = "none"  # local servers want some
    return {name: value for name, value in wanted.items() if value is not None}


def reasoning_wish(settings: ModelSettings) -> dict[str, Any]:
    """What to say of reasoning. Where it cannot be switched off, off is the least there is; so is minimal."""
    if settings.reasoning == "off":
        return {} if settings.base_url else _least_reasoning(settings.model)
    if settings.reasoning == "minimal" and settings.base_url is None and has_no_minimal_reasoning(settings.model):
        return {"reasoning_effort": "low"}
    return {"reasoning_effort": settings.reasoning}


def _least_reasoning(model: str) -> dict[str, Any]:
    """Nothing, for a model that only thinks when it is asked to."""
    company, name = model.partition("/")[0], model.rpartition("/")[2]
    if name.startswith(("gpt-5.", "gemini-2.5-flash")):
        return {"reasoning_effort": "none"}
    if name.startswith(("gpt-5", "gemini-2.5-pro", "gemini-3")):
        return {"reasoning_effort": "minimal"}
    if name.startswith(_THINK_UNASKED) and company in _SWITCHED_OFF:
        return {"extra_body": dict(_SWITCHED_OFF[company])}
    return {}


def wants_its_thoughts_back(settings: ModelSettings) -> bool:
    """Whether a model that thought before a call is known to want its thoughts sent back with it."""
    return settings.base_url is None and settings.model.startswith(_WANT_THEIR_THOUGHTS)


@cache
def _has_reasoning(model: str) -> bool:
    return "reasoning_effort" in (_litellm().get_supported_openai_params(model=model) or ())


def _with_cache_marks(settings: ModelSettings, messages: list[Message]) -> list[Message]:
    """Marks the end of the system prompt and of the conversation where the provider caches only what is marked."""
    if not settings.prompt_caching or settings.base_url or "claude" not in settings.model:
        return messages
    marked = list(messages)
    for place in {0, len(messages) - 1}:  # the last is an observation or, most turns, the result of a call
        if isinstance(messages[place].get("content"), str) and messages[place]["role"] in ("system", "user", "tool"):
            text = {"type": "text", "text": messages[place]["content"], "cache_control": {"type": "ephemeral"}}
            marked[place] = {**messages[place], "content": [text]}
    return marked


def _reply(settings: ModelSettings, response: Any, began: float) -> Reply:
    latency_ms = int((time.monotonic() - began) * 1000)
    text = without_secrets(json.dumps(response.model_dump(mode="json")), settings)
    raw = json.loads(text)
    choices = raw.get("choices") or []
    if not choices:
        raise ProviderError(PASSING, "the provider answered without a choice", may_be_billed=True)
    message = choices[0].get("message") or {}
    finish_reason = str(choices[0].get("finish_reason") or "")
    if finish_reason == "stop" and not any(message.get(key) for key in ("content", "tool_calls", "refusal")):
        raise ProviderError(PASSING, "the provider answered with nothing at all", may_be_billed=True)
    usage = _usage(raw.get("usage") or {})
    return Reply(
        message=message,
        finish_reason=printable(finish_reason),
        model=printable(raw.get("model") or settings.model),
        usage=usage,
        cost_micros=_cost(settings, usage, raw.get("usage") or {}),
        latency_ms=latency_ms,
        raw=text,
    )


def _usage(raw: dict[str, Any]) -> Usage:
    inside, outside = raw.get("prompt_tokens_details") or {}, raw.get("completion_tokens_details") or {}
    return Usage(
        input=_tokens(raw.get("prompt_tokens")),
        output=_tokens(raw.get("completion_tokens")),
        cached=_tokens(inside.get("cached_tokens") or raw.get("cache_read_input_tokens")),
        cache_write=_tokens(raw.get("cache_creation_input_tokens") or inside.get("cache_creation_tokens")),
        reasoning=_tokens(outside.get("reasoning_tokens")),
    )


def _tokens(said: Any) -> int:
    """A count as any table holds it, whatever a server says."""
    return max(0, min(said, MOST_TOKENS)) if isinstance(said, int) else 0


def _cost(settings: ModelSettings, usage: Usage, raw: dict[str, Any]) -> int | None:
    """The provider's own figure where it gives one, else tokens times prices; None for a price or tokens unknown."""
    said = raw.get("cost")
    if settings.prices is None and isinstance(said, int | float) and 0 <= said <= MOST_USD_OF_A_CALL:
        return round(said * MICROS_PER_USD)
    prices = prices_of(settings, usage.input)
    if prices is None or (usage.input == 0 and prices.costs_something):
        return None
    return cost_micros(prices, usage)


def _trouble_of(error: Exception, settings: ModelSettings) -> ProviderError:
    """Which kind of trouble an exception means, in words without keys and without litellm's own lines of code."""
    said = f"{type(error).__name__}: {error}".partition("Traceback (most recent call last)")[0].strip()
    text = printable(redacted(said, settings))[:2000]
    if isinstance(error, TimeoutError):
        return ProviderError(PASSING, f"no answer within {settings.deadline_seconds:g} s", may_be_billed=True)
    if _UNSENDABLE_KEY.search(text):  # all else that a request holds is sent as JSON
        return ProviderError("login", f"the key has characters that no request can carry ({text})")
    trouble = _kind_of(error, text)
    if trouble != PASSING:
        return ProviderError(trouble, text)
    # Whoever heard no answer, or could not read it, does not know that there was none.
    unheard = isinstance(error, _litellm().exceptions.Timeout) or bool(_UNHEARD.search(text))
    is_misshapen = bool(_MISSHAPEN.search(str(error).partition("received_args=")[0]))
    return ProviderError(PASSING, text, _retry_after(error), may_be_billed=unheard, is_misshapen=is_misshapen)


def _kind_of(error: Exception, text: str) -> Trouble:
    """By what the provider says; by its HTTP status, where litellm has no exception of its own for it."""
    status = getattr(error, "status_code", None)
    if isinstance(error, _litellm().exceptions.ContextWindowExceededError):
        return "context"
    if _code_of(error) == "insufficient_quota" or "credit balance is too low" in text.lower():
        return "quota"
    if _NO_KEY.search(text):
        return "login"
    if _LACKING.search(text):
        return "request"
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    if isinstance(status, int) and 400 <= status < 500 and status not in _PASSING_STATUSES:
        return "request"
    return PASSING


def _code_of(error: Exception) -> str:
    """The code of OpenAI's error body; its text does not always name it."""
    body = getattr(error, "body", None)
    return str(body.get("code") or body.get("type")) if isinstance(body, dict) else ""


def _retry_after(error: Exception) -> float | None:
    """In how many seconds the provider wants to be asked again; None where it does not say, or says nonsense."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    said = str(headers.get("retry-after") or "")
    try:
        seconds = float(said)
    except ValueError:
        seconds = _seconds_until(said)
    return seconds if 0 < seconds <= LONGEST_RETRY_AFTER_SECONDS else None


def _seconds_until(date: str) -> float:
    """How long it is until a date as HTTP writes it; not a number, if it is none."""
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return math.nan


def without_secrets(text: str, settings: ModelSettings) -> str:
    """The text without the key of the model's own variable and any other secret of this process's environment."""
    for name, value in os.environ.items():
        least = 4 if name == settings.key_variable else 6 if _SECRET_VARIABLE.search(name) else math.inf
        if len(value) >= least:
            in_json = json.dumps(value)[1:-1]
            for written in (value, in_json, json.dumps(in_json)[1:-1]):  # the arguments of a call are JSON in JSON
                text = text.replace(written, "[key]")
    return text


def redacted(text: str, settings: ModelSettings) -> str:
    """An error's words without secrets, and without what looks like a part of a key."""
    return _SECRET_TEXT.sub(r"\1[key]", _MASKED_TEXT.sub("[key]", without_secrets(text, settings)))
