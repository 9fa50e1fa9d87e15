"""What providers receive: requests as litellm writes them, caught by a server that declines every one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from simulation.players.llm import provider
from simulation.players.llm.conversation import Message
from simulation.players.llm.provider import ProviderError
from simulation.players.llm.settings import ModelSettings

MESSAGES: list[Message] = [{"role": "system", "content": "You run a firm."}, {"role": "user", "content": "Morning."}]
TOOL = {"name": "view_deals", "description": "", "parameters": {"type": "object", "properties": {}}}


class Catcher(ThreadingHTTPServer):
    """Keeps the body of the last request."""

    body: dict[str, Any]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Declining(BaseHTTPRequestHandler):
    server: Catcher

    def do_POST(self) -> None:
        self.server.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def catcher() -> Iterator[Catcher]:
    with Catcher(("127.0.0.1", 0), Declining) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def sent(catcher: Catcher, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function from settings, and what came before, to the body that the provider receives."""
    ask = provider._litellm().acompletion
    monkeypatch.setenv("A_KEY", "sk-0123456789")

    def elsewhere(**wanted: Any) -> Any:
        return ask(**{"api_base": catcher.address, **wanted})

    def body(model: str, messages: list[Message] = MESSAGES, **more: Any) -> dict[str, Any]:
        catcher.body = {}
        settings = ModelSettings(model=model, key_variable="A_KEY", **more)
        with pytest.raises(ProviderError):
            provider.start(settings, messages, [TOOL]).result(60)
        return catcher.body

    monkeypatch.setattr(provider._litellm(), "acompletion", elsewhere)
    return body


KIMI, GLM = "openrouter/moonshotai/kimi-k2.6", "openrouter/z-ai/glm-5.1"
OFF = {"reasoning": {"enabled": False}}
DISABLED = {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("model", "wanted", "said"),
    [
        ("openai/gpt-5.5", "off", {"reasoning_effort": "none"}),
        ("openai/gpt-5.5", "minimal", {"reasoning": {"effort": "low"}}),
        ("openai/gpt-5.5", "high", {"reasoning": {"effort": "high"}}),
        ("openai/gpt-5-mini", "off", {"reasoning_effort": "minimal"}),
        ("openai/gpt-5-mini", "minimal", {"reasoning_effort": "minimal"}),
        ("openai/gpt-4o", "off", {}),
        (KIMI, "off", OFF),
        (GLM, "off", OFF),
        (KIMI, "low", {"reasoning_effort": "low"}),
        ("openrouter/moonshotai/kimi-k2-thinking", "off", {}),  # it cannot be switched off, and declines the wish
        ("openrouter/deepseek/deepseek-r1", "off", {}),
        ("openrouter/google/gemini-2.5-flash", "off", {"reasoning_effort": "none"}),
        ("moonshot/kimi-k2.6", "off", DISABLED),
        ("zai/glm-5.1", "off", DISABLED),
        ("deepseek/deepseek-v4-flash", "off", DISABLED),
        ("anthropic/claude-sonnet-4-6", "off", {}),
        ("anthropic/claude-haiku-4-5", "off", {}),
        ("anthropic/claude-haiku-4-5", "minimal", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ],
)
def test_a_model_is_asked_for_the_least_reasoning_it_knows(
    sent: Any, model: str, wanted: str, said: dict[str, Any]
) -> None:
    body = sent(model, reasoning=wanted)
    assert body["model"] == model.partition("/")[2] or body["model"] == model
    assert {name: body[name] for name in ("reasoning_effort", "reasoning", "thinking") if name in body} == said


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gemini-2.5-flash", {"thinkingBudget": 0, "includeThoughts": False}),
        ("gemini-2.5-flash-lite", {"thinkingBudget": 0, "includeThoughts": False}),
        ("gemini-2.5-pro", {"thinkingBudget": 128, "includeThoughts": True}),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "low", "includeThoughts": True}),
    ],
)
def test_gemini_thinks_as_little_as_it_can(sent: Any, model: str, said: dict[str, Any]) -> None:
    assert sent(f"gemini/{model}")["generationConfig"]["thinkingConfig"] == said


def test_a_server_of_ones_own_hears_nothing_of_reasoning_where_it_is_off(sent: Any, catcher: Catcher) -> None:
    body = sent("openai/kimi-k2.6", base_url=catcher.address)
    assert body.keys() == {"model", "messages", "max_tokens", "tools", "tool_choice"}


@pytest.mark.parametrize("wanted", ["minimal", "low", "medium", "high"])
def test_thoughts_leave_the_answer_its_room(sent: Any, wanted: str) -> None:
    """Anthropic declines a limit that is not above the budget of the thoughts."""
    body = sent("anthropic/claude-haiku-4-5", reasoning=wanted, max_output_tokens=300)
    assert body["max_tokens"] == body["thinking"]["budget_tokens"] + 300
    google = sent("gemini/gemini-2.5-pro", reasoning=wanted, max_output_tokens=300)["generationConfig"]
    assert google["max_output_tokens"] >= google["thinkingConfig"]["thinkingBudget"] + 300


@pytest.mark.parametrize("model", ["deepseek/deepseek-v4-flash", "moonshot/kimi-k2.6", KIMI])
def test_thoughts_in_plain_words_arrive_at_whom_wants_them_back(sent: Any, model: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "view_deals", "arguments": "{}"}}
    answer: Message = {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "hm"}
    result: Message = {"role": "tool", "tool_call_id": "c1", "content": "{}"}
    assert provider.wants_its_thoughts_back(ModelSettings(model=model))
    assert sent(model, [*MESSAGES, answer, result], reasoning="high")["messages"][2]["reasoning_content"] == "hm"


@pytest.mark.parametrize("key", ["sk-ключ", "sk-é", "sk-\x01abcdef"])
@pytest.mark.parametrize("model", ["openai/gpt-5.5", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-pro"])
def test_a_key_that_no_request_can_carry_is_no_passing_trouble(
    sent: Any, monkeypatch: pytest.MonkeyPatch, model: str, key: str
) -> None:
    monkeypatch.setenv("A_KEY", key)
    with pytest.raises(ProviderError, match="key has characters") as declined:
        provider.start(ModelSettings(model=model, key_variable="A_KEY"), MESSAGES, []).result(60)
    assert declined.value.trouble == "login"
    assert key not in str(declined.value)
