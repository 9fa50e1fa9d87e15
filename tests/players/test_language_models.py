"""Reading what models answer and wording what they are asked: all that needs neither a database nor a provider."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from simulation.engine.decision import UNREADABLE
from simulation.players.llm.answer import DECLINED, NO_TOOL_CALL, NOT_JSON, Answer, read_answer
from simulation.players.llm.conversation import (
    LEFT_OUT,
    Message,
    middle_to_summarise,
    since_last_answer,
    todays_compaction,
    tokens_at_most,
    tokens_with_more,
    window,
)
from simulation.players.llm.prices import Usage, cost_micros, most_micros, prices_of
from simulation.players.llm.provider import Reply, _reply, redacted, request, without_secrets
from simulation.players.llm.settings import Context, ModelSettings, Prices

CLAUDE = ModelSettings(model="anthropic/claude-sonnet-4-6")


def tool_call(arguments: Any = "{}", call_id: str = "call_7", **more: Any) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": "view_deals", "arguments": arguments}, **more}


def read(*calls: Message, **message: Any) -> Answer:
    """An answer of a model that has one tool."""
    return read_answer({"role": "assistant", "tool_calls": list(calls), **message}, "tool_calls", ["view_deals"])


# Answers


@pytest.mark.parametrize(
    "arguments",
    [
        '{"qty": NaN}',
        '{"qty": -Infinity}',
        '{"qty": 1e999}',
        {"qty": float("inf")},
        '{"qty": ' + "[" * 900 + "]" * 900 + "}",
        '{"qty": ' + "9" * 6000 + "}",
        "[1]",
        "null",
        '{"qty": ',
    ],
    ids=["NaN", "infinity", "too large", "given as it is", "too deep", "too long", "list", "null", "cut"],
)
def test_what_no_provider_takes_back_is_not_json(arguments: Any) -> None:
    answer = read(tool_call(arguments))
    assert answer.flags == [NOT_JSON]
    assert list(answer.decision.arguments) == [UNREADABLE]
    kept = answer.message["tool_calls"][0]["function"]["arguments"]
    json.loads(kept, parse_constant=pytest.fail)


def test_a_signature_that_an_id_carries_is_handed_back_whole() -> None:
    signed = f"call_4f__thought__{'Qk9P' * 500}"
    assert read(tool_call(call_id=signed)).message["tool_calls"][0]["id"] == signed


def test_of_a_servers_own_fields_only_signed_thoughts_are_sent_back() -> None:
    thoughts = {"thinking_blocks": [{"signature": "c2ln"}], "reasoning_content": "hm"}
    own = {"thought_signatures": ["c2ln"], "reasoning": "hm", "citations": None}
    kept = read(tool_call(extra=1), provider_specific_fields=own, annotations=[], **thoughts).message
    assert kept.keys() == {"role", "content", "tool_calls", "thinking_blocks", "provider_specific_fields"}
    assert kept["provider_specific_fields"] == {"thought_signatures": ["c2ln"]}
    assert kept["tool_calls"] == [tool_call()]
    assert "provider_specific_fields" not in read(tool_call(), provider_specific_fields={"reasoning": "hm"}).message


def test_thoughts_in_plain_words_are_sent_back_to_whom_wants_them() -> None:
    raw = {"tool_calls": [tool_call()], "reasoning_content": "hm\0"}
    kept = read_answer(raw, "tool_calls", ["view_deals"], with_thoughts=True).message
    assert kept["reasoning_content"] == "hm\N{REPLACEMENT CHARACTER}"


def test_the_words_of_a_refusal_are_kept() -> None:
    answer = read(content=None, refusal="I cannot help with that.")
    assert answer.flags == [DECLINED, NO_TOOL_CALL]
    assert answer.decision.rationale == answer.message["content"] == "I cannot help with that."


class Response(NamedTuple):
    """What litellm makes of a provider's body."""

    body: dict[str, Any]

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return self.body


def reply_to(settings: ModelSettings, usage: dict[str, Any] | None, text: str = "", **body: Any) -> Reply:
    choice = {"message": {"role": "assistant", "content": text, "tool_calls": [tool_call()]}, "finish_reason": "stop"}
    return _reply(settings, Response({"choices": [choice], "usage": usage, **body}), 0)


PRICED = ModelSettings.model_validate({"model": "openai/x", "prices": {"input": 1, "output": 10}})
FREE = ModelSettings.model_validate({"model": "openai/x", "prices": {"input": 0, "output": 0}})


def test_tokens_that_nobody_counted_cost_what_nobody_knows() -> None:
    assert reply_to(PRICED, {"prompt_tokens": 100, "completion_tokens": 5}).cost_micros == 150
    assert reply_to(PRICED, None).cost_micros is None
    assert reply_to(FREE, None).cost_micros == 0


@pytest.mark.parametrize("said", [-5, 10**30, None, "many", 1.5])
def test_figures_of_a_broken_server_fit_the_tables(said: Any) -> None:
    details = {"cached_tokens": said, "reasoning_tokens": said}
    usage = {"prompt_tokens": said, "completion_tokens": said, "cost": said}
    reply = reply_to(CLAUDE, {**usage, "prompt_tokens_details": details, "completion_tokens_details": details})
    assert all(0 <= tokens < 2**31 for tokens in reply.usage)
    assert reply.cost_micros is None or 0 <= reply.cost_micros < 2**63


def test_names_of_a_broken_server_fit_the_tables() -> None:
    assert reply_to(PRICED, None, model="m\0\ud800").model == "m\N{REPLACEMENT CHARACTER}?"


def test_a_key_that_an_answer_repeats_is_hidden_and_all_else_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hush-hush-4711")
    settings = PRICED.model_copy(update={"key_variable": "MY_KEY"})
    reply = reply_to(settings, None, "You sent hush-hush-4711: a risk-averse key decision.")
    assert reply.message["content"] == "You sent [key]: a risk-averse key decision."
    assert json.loads(reply.raw)["choices"][0]["message"] == reply.message


# Requests


def cache_marks(messages: list[Message]) -> list[int]:
    return [place for place, message in enumerate(messages) if "cache_control" in json.dumps(message)]


@pytest.mark.parametrize("last", [{"role": "tool", "tool_call_id": "call_7"}, {"role": "user"}], ids=["tool", "user"])
def test_a_conversation_is_cached_to_its_end_whatever_it_ends_with(last: Message) -> None:
    messages: list[Message] = [
        {"role": "system", "content": "You run a firm."},
        {"role": "user", "content": "It is morning."},
        {"role": "assistant", "content": "", "tool_calls": [tool_call()]},
        {**last, "content": "{}"},
    ]
    assert cache_marks(request(CLAUDE, messages, [])["messages"]) == [0, 3]
    local = CLAUDE.model_copy(update={"base_url": "http://127.0.0.1:8080/v1"})
    assert request(local, messages, [])["messages"] == messages


def step(number: int) -> list[Message]:
    call = tool_call(call_id=f"call_{number}")
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": "{}"},
    ]


MORNING: Message = {"role": "user", "content": "It is morning."}
DAY = [MORNING, *(message for number in range(10) for message in step(number))]


@pytest.mark.parametrize("keep_tokens", [1, 60, 100, 200, 10_000])
def test_a_window_begins_with_somebody_elses_words_and_parts_no_call_from_its_result(keep_tokens: int) -> None:
    context = Context(strategy="last_tokens", keep_tokens=keep_tokens)
    _, *sent = window("", DAY, None, context, todays_compaction())
    assert sent[0] in (MORNING, LEFT_OUT)
    ends = sent[1:]
    assert ends == DAY[len(DAY) - len(ends) :]
    assert ends[0]["role"] == "assistant"


def test_a_middle_that_is_summarised_already_is_not_summarised_again() -> None:
    context = Context(opening_steps=1, last_steps=2)
    middle = middle_to_summarise(DAY, context)
    assert middle is not None
    first, until = middle
    assert (first, until) == (3, 17)
    assert middle_to_summarise(DAY, context, summarised=until) is None
    longer = [*DAY, *step(10), *step(11)]
    assert middle_to_summarise(longer, context, until, steps_at_least=2) == (3, 21)
    assert middle_to_summarise(longer, context, until, steps_at_least=3) is None


@pytest.mark.parametrize(
    "text", ["\N{GRINNING FACE}" * 400, "1.37, " * 400, "\u5496\u5561" * 400, "a\u0301\u0302" * 400]
)
def test_no_text_has_more_tokens_than_is_reckoned_with(text: str) -> None:
    system: Message = {"role": "system", "content": "You run a firm."}
    said: Message = {"role": "user", "content": text}
    assert tokens_at_most([system, said], 1000) >= len(text.encode()) + 400
    assert tokens_at_most([{"role": "system", "content": f"Become \u5496{text}"}], 0) >= len(text.encode())
    thought = {"role": "assistant", "content": "", "reasoning_content": text}
    assert tokens_at_most([system, thought], 0) >= len(text.encode()), "what goes back to its provider is counted"
    assert tokens_with_more(90_000, [said]) >= 90_000 + len(text.encode())


def test_what_was_counted_needs_no_reckoning() -> None:
    assert since_last_answer([*DAY, MORNING]) == [*DAY[-2:], MORNING]
    assert since_last_answer([MORNING]) == [MORNING]


# Prices


def test_the_most_a_call_can_cost_is_not_below_what_it_costs_and_nothing_where_it_is_free() -> None:
    prices = Prices(input=0.3, output=1.1, cache_write=0.37)
    for tokens in range(50):
        assert most_micros(prices, tokens, 7) >= cost_micros(prices, Usage(tokens, 7, cache_write=tokens))
    assert most_micros(Prices(input=0, output=0), 100_000, 4096) == 0


def test_a_long_call_has_the_prices_of_long_calls() -> None:
    gemini = ModelSettings(model="gemini/gemini-3.1-pro-preview")
    short, long = prices_of(gemini, 200_000), prices_of(gemini, 200_001)
    assert short is not None
    assert long is not None
    assert (long.input, long.output) == (short.input * 2, short.output * 1.5)
    assert prices_of(CLAUDE, 900_000) == prices_of(CLAUDE)


# Keys


@pytest.mark.parametrize("variable", ["MY_API_KEY", "LLM_KEY_A", "PROVIDER_ONE"])
@pytest.mark.parametrize("key", ["hush-hush-4711", "ab12", 'a"quote"d\\key'])
def test_the_key_that_a_model_is_asked_with_is_hidden_whatever_its_variable_is_called(
    monkeypatch: pytest.MonkeyPatch, variable: str, key: str
) -> None:
    monkeypatch.setenv(variable, key)
    settings = ModelSettings(model="openai/x", key_variable=variable)
    assert redacted(f"denied: {key}.", settings) == "denied: [key]."
    assert key not in json.loads(without_secrets(json.dumps(f"denied: {key}"), settings))
    arguments = json.dumps({"body": f"denied: {key}"})
    said = json.loads(json.loads(without_secrets(json.dumps({"arguments": arguments}), settings))["arguments"])
    assert said == {"body": "denied: [key]"}


def test_words_that_look_like_keys_stay_in_an_answer_and_go_from_an_error() -> None:
    assert without_secrets("a risk-averse key decision", CLAUDE) == "a risk-averse key decision"
    assert redacted("bad sk-abcdef123456 for a risk-averse one", CLAUDE) == "bad sk-[key] for a risk-averse one"
    assert (
        redacted("API key provided: hush-hus********tell. Try another", CLAUDE) == "API key provided: [key] Try another"
    )
    assert redacted("Incorrect API key provided: 4711-secret", CLAUDE) == "Incorrect API key provided: [key]"
    assert redacted("The API key expired: renew it", CLAUDE) == "The API key expired: renew it"
