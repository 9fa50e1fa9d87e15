"""The scripted model server, over real HTTP: what it plays, how it goes wrong, and what it counts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from marketplace.economy.economy import firm_names
from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import Scenario, scenario_from
from simulation.engine.tools import schemas_for
from simulation.engine.world import World
from simulation.players.registry import default_players, scripts_for
from tests.model_server.config import MISBEHAVIOURS, Asked, Fault
from tests.model_server.running import RunningServer, running_model_server
from tests.waiting import PATIENCE_SECONDS, eventually

Message = dict[str, Any]
SECRET = "sk-test-0123456789abcdef"
DAYS = 12


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One for all tests here: each asks models of names of its own."""
    with running_model_server({"scenario": {"days": DAYS}}) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_goes_wrong_afterwards(server: RunningServer) -> Iterator[None]:
    """Takes back what a test has set."""
    yield
    server.configure(faults=[], answers_as={}, api_key=None, reasoning_tokens=0)


class Agent:
    """A firm's player that asks the server, as our own agent does."""

    def __init__(self, server: RunningServer, model: str, scenario: Scenario, firm: str, role: str) -> None:
        self.client = client_of(server)
        schemas = schemas_for(firm, role, scenario, [name for name, _ in firm_names(scenario)])
        self.tools = [{"type": "function", "function": schema} for schema in schemas]
        self.model = model
        self.messages: list[Message] = [{"role": "system", "content": f"You are {firm}."}]
        self.call_id = ""

    def decide(self, view: View) -> Decision:
        """Tells the server what is new, and takes the call it answers."""
        if view.result is not None:
            self.messages.append(result_message(self.call_id, view.result))
        if view.observation is not None:
            self.messages.append(observation_message(view.observation))
        answer = ask(self.client, self.model, self.sent(), self.tools)
        message = answer["choices"][0]["message"]
        self.messages.append(message)
        self.call_id = message["tool_calls"][0]["id"]
        return call_in(answer)

    def sent(self) -> list[Message]:
        """The messages of a request."""
        return self.messages


def client_of(server: RunningServer) -> httpx.Client:
    """A client with a key."""
    headers = {"Authorization": f"Bearer {SECRET}"}
    return httpx.Client(base_url=server.api_base, headers=headers, timeout=PATIENCE_SECONDS)


def ask(client: httpx.Client, model: str, messages: list[Message], tools: list[Any] | None = None) -> dict[str, Any]:
    """The body of an answer that must be one."""
    response = post(client, model, messages, tools)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def post(client: httpx.Client, model: str, messages: list[Message], tools: list[Any] | None = None) -> httpx.Response:
    """The server's answer."""
    body = {"model": model, "messages": messages} | ({"tools": tools} if tools else {})
    # Not `json=`: that cannot send the halves of surrogate pairs that some answers contain.
    return client.post("/chat/completions", content=json.dumps(body))


def call_in(answer: dict[str, Any]) -> Decision:
    """The first tool call of an answer."""
    function = answer["choices"][0]["message"]["tool_calls"][0]["function"]
    return Decision(function["name"], json.loads(function["arguments"]))


def result_message(call_id: str, result: dict[str, Any]) -> Message:
    """What a tool gave."""
    return {"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)}


def observation_message(observation: dict[str, Any]) -> Message:
    """What a woken firm sees, after a line of words."""
    return {"role": "user", "content": f"It is your turn.\n{json.dumps(observation)}"}


def opening(words: str = "You are a roaster.") -> list[Message]:
    """The first messages of a conversation of roaster_A."""
    world = World(scenario_from({"days": DAYS}), seed=1)
    world.open_step()
    observation = world.view("roaster_A").observation
    assert observation is not None
    return [{"role": "system", "content": words}, observation_message(observation)]


def ledger_of(scenario: Scenario, players: dict[str, Any]) -> list[Any]:
    """All transfers of a run."""
    world = World(scenario, seed=3)
    while step := world.open_step():
        world.apply({name: players[name].decide(world.view(name)) for name in step.firms})
    return [str(transfer) for transfer in world.economy.transfers]


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    """A client of a test's own."""
    with client_of(server) as client:
        yield client


def played_on(messages: list[Message], answer: dict[str, Any], result: dict[str, Any]) -> list[Message]:
    """The conversation after an answer and its result."""
    message = answer["choices"][0]["message"]
    return [*messages, message, result_message(message["tool_calls"][0]["id"], result)]


@pytest.mark.parametrize("asked", [["roaster_A"], list(default_players(scenario_from({})))])
def test_a_script_asked_through_the_server_gives_the_ledger_of_the_script_inside(
    server: RunningServer, asked: list[str]
) -> None:
    scenario = scenario_from({"days": DAYS})
    inside = scripts_for(scenario, default_players(scenario))
    roles = dict(firm_names(scenario))
    outside = scripts_for(scenario, default_players(scenario))
    model = f"policy-heuristic?firms={len(asked)}"
    agents = {name: Agent(server, model, scenario, name, roles[name]) for name in asked}
    assert ledger_of(scenario, outside | agents) == ledger_of(scenario, inside)
    assert not any(entry["waited_because"] for entry in server.log() if entry["model"] == model)


def test_a_conversation_never_seen_before_is_played_from_its_beginning(server: RunningServer) -> None:
    scenario = scenario_from({"days": DAYS})
    agent = Agent(server, "policy-heuristic_roaster", scenario, "roaster_A", "roaster")
    passive = scripts_for(scenario, dict.fromkeys(default_players(scenario), "passive"))
    ledger_of(scenario, passive | {"roaster_A": agent})
    conversation = [{"role": "system", "content": "Other words."}, *agent.messages[1:-1]]
    assert call_in(ask(agent.client, agent.model, conversation)) == call_in(
        {"choices": [{"message": agent.messages[-1]}]}
    )


def test_a_passive_model_waits_and_says_why(client: httpx.Client) -> None:
    answer = ask(client, "policy-passive", opening())
    assert call_in(answer) == WAIT
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["choices"][0]["message"]["content"] == "Turn 1: wait_for_next_day."


def test_the_same_request_is_answered_the_same_to_the_byte(client: httpx.Client) -> None:
    scripted = [post(client, "policy-heuristic_roaster", opening("Byte for byte.")) for _ in range(3)]
    without_usage = [{**response.json(), "usage": None} for response in scripted]
    assert without_usage[0] == without_usage[1] == without_usage[2]
    # The first time nothing of the request was in the cache; that is all that differs.
    assert scripted[1].content == scripted[2].content


def test_a_random_model_calls_the_tools_it_is_given_and_the_messages_are_its_dice(client: httpx.Client) -> None:
    scenario = scenario_from({})
    schemas = schemas_for("roaster_A", "roaster", scenario, [name for name, _ in firm_names(scenario)])
    tools = [{"type": "function", "function": schema} for schema in schemas]

    def calls(seed: int) -> list[Decision]:
        model = f"policy-random?seed={seed}"
        return [call_in(ask(client, model, opening(f"Conversation {number}"), tools)) for number in range(20)]

    assert calls(1) == calls(1) != calls(2)
    assert len({call.tool for call in calls(1)}) > 5
    assert {call.tool for call in calls(1)} <= {schema["name"] for schema in schemas}


class Forgetful(Agent):
    """An agent that from some length on sends a summary in place of all but its last messages."""

    most_messages = 40

    def sent(self) -> list[Message]:
        """The messages of a request."""
        if len(self.messages) < self.most_messages:
            return self.messages
        start = next(place for place in (-8, -7, -6) if self.messages[place]["role"] == "assistant")
        return [self.messages[0], {"role": "user", "content": "Summary of earlier: a lot."}, *self.messages[start:]]


def test_a_script_plays_on_beyond_a_summary(server: RunningServer) -> None:
    scenario = scenario_from({"days": DAYS})
    inside, outside = scripts_for(scenario, default_players(scenario)), scripts_for(scenario, default_players(scenario))
    agent = Forgetful(server, "policy-heuristic?test=forgetful", scenario, "roaster_A", "roaster")
    assert ledger_of(scenario, outside | {"roaster_A": agent}) == ledger_of(scenario, inside)
    assert len(agent.messages) > 2 * agent.most_messages


def test_what_a_summary_hides_from_a_server_that_never_saw_it_is_waited_through(
    server: RunningServer, client: httpx.Client
) -> None:
    messages = [*opening(), {"role": "user", "content": "Summary of earlier: a lot."}]
    assert call_in(ask(client, "policy-heuristic_roaster?test=summary", messages)) == WAIT
    assert "messages are missing" in server.log()[-1]["waited_because"]


def test_a_conversation_that_tells_too_little_is_waited_through(server: RunningServer, client: httpx.Client) -> None:
    assert call_in(ask(client, "policy-heuristic_roaster", [{"role": "user", "content": "Hello!"}])) == WAIT
    assert "does not begin with an observation" in server.log()[-1]["waited_because"]


def test_asked_for_a_summary_it_answers_in_words(client: httpx.Client) -> None:
    asking = {"role": "user", "content": "Write a summary of what happened so far."}
    message = ask(client, "policy-heuristic_roaster", [*opening(), asking])["choices"][0]["message"]
    assert message["content"].startswith("Summary: 3 messages")
    assert "tool_calls" not in message


def test_tokens_are_counted_and_those_of_a_known_beginning_are_cached(client: httpx.Client) -> None:
    model = "policy-passive?test=tokens&reasoning=7"
    first = [{"role": "system", "content": "x" * 4001}]
    usage = ask(client, model, first)["usage"]
    # "Turn 1: wait_for_next_day." is 26 characters, the call and its arguments "{}" are 19.
    assert usage == {
        "prompt_tokens": 1001,
        "completion_tokens": 12 + 7,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    assert cached(ask(client, model, [*first, {"role": "user", "content": "y" * 400}])) == 1001
    assert cached(ask(client, model, [*first, {"role": "user", "content": "z" * 400}])) == 1001
    assert cached(ask(client, model, [{"role": "system", "content": "x" * 4000}])) == 0
    # Tools come before the messages in what a model reads.
    assert cached(ask(client, model, first, [{"type": "function", "function": {"name": "roast"}}])) == 0


def cached(answer: dict[str, Any]) -> int:
    """The tokens that an answer says were cached."""
    tokens: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return tokens


def test_another_model_may_answer_than_the_one_asked(server: RunningServer, client: httpx.Client) -> None:
    server.configure(answers_as={"policy-pass*": "policy-passive-2026-11-30"})
    assert ask(client, "policy-passive", opening())["model"] == "policy-passive-2026-11-30"


ERRORS: list[tuple[dict[str, Any], int, str]] = [
    ({"kind": "rate_limit", "retry_after": 7}, 429, "rate_limit_exceeded"),
    ({"kind": "quota"}, 429, "insufficient_quota"),
    ({"kind": "error_500"}, 500, "server had an error"),
    ({"kind": "error_503"}, 503, "overloaded"),
    ({"kind": "error_529"}, 529, "overloaded_error"),
    ({"kind": "bad_gateway"}, 502, "<html>"),
    ({"kind": "error_in_200"}, 200, "server_error"),
    ({"kind": "context_length", "tokens": 10}, 400, "context_length_exceeded"),
    ({"kind": "invalid_key"}, 401, SECRET),
    ({"kind": "unknown_model"}, 404, "model_not_found"),
]


@pytest.mark.parametrize(("fault", "status", "words"), ERRORS, ids=[row[0]["kind"] for row in ERRORS])
def test_an_error_comes_with_its_status_and_in_the_words_of_the_real_one(
    server: RunningServer, client: httpx.Client, fault: dict[str, Any], status: int, words: str
) -> None:
    server.configure(faults=[fault])
    response = post(client, "policy-passive", opening())
    assert response.status_code == status
    assert words in response.text
    assert response.headers.get("Retry-After") == {"rate_limit": "7", "quota": "1"}.get(fault["kind"])
    assert (server.log()[-1]["trouble"], server.log()[-1]["status"]) == (fault["kind"], status)


def message_with(server: RunningServer, client: httpx.Client, kind: str, model: str) -> tuple[Message, str]:
    """The message of an answer with one kind of misbehaviour, and why it ended."""
    server.configure(faults=[{"kind": kind}])
    (choice,) = ask(client, model, opening(f"{kind} of {model}"))["choices"]
    assert server.log()[-1]["misbehaviour"] == kind
    return choice["message"], choice["finish_reason"]


def arguments_with(server: RunningServer, client: httpx.Client, kind: str) -> str:
    """The arguments of the call in such an answer."""
    message, _ = message_with(server, client, kind, "policy-passive")
    arguments: str = message["tool_calls"][0]["function"]["arguments"]
    return arguments


@pytest.mark.parametrize("kind", ["malformed_arguments", "length"])
@pytest.mark.parametrize("model", ["policy-passive", "policy-heuristic_roaster"])
def test_arguments_may_not_be_json(server: RunningServer, client: httpx.Client, kind: str, model: str) -> None:
    message, finish_reason = message_with(server, client, kind, model)
    with pytest.raises(json.JSONDecodeError):
        json.loads(message["tool_calls"][0]["function"]["arguments"])
    assert finish_reason == ("length" if kind == "length" else "tool_calls")


@pytest.mark.parametrize(
    ("kind", "escape", "character"), [("null_bytes", "\\u0000", "\0"), ("lone_surrogates", "\\ud83d", "\ud83d")]
)
def test_what_no_table_can_hold_is_escaped_in_the_arguments_and_bare_in_the_text(
    server: RunningServer, client: httpx.Client, kind: str, escape: str, character: str
) -> None:
    message, _ = message_with(server, client, kind, "policy-passive")
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert escape in arguments
    assert character in json.loads(arguments)["note"]
    assert character in message["content"]


def test_arguments_may_be_of_the_wrong_types(server: RunningServer, client: httpx.Client) -> None:
    assert json.loads(arguments_with(server, client, "wrong_types")) == {"when": ["tomorrow"]}


def test_a_tool_may_be_unknown(server: RunningServer, client: httpx.Client) -> None:
    message, _ = message_with(server, client, "unknown_tool", "policy-passive")
    assert message["tool_calls"][0]["function"]["name"] == "fire_the_accountant"


@pytest.mark.parametrize(
    ("kind", "finish_reason", "content"),
    [("no_call", "stop", "Let me think"), ("refusal", "stop", None), ("content_filter", "content_filter", "")],
)
def test_there_may_be_no_call_at_all(
    server: RunningServer, client: httpx.Client, kind: str, finish_reason: str, content: str | None
) -> None:
    message, ended = message_with(server, client, kind, "policy-passive")
    assert ended == finish_reason
    assert "tool_calls" not in message
    assert message["content"] is content or content in message["content"]
    assert ("refusal" in message) == (kind == "refusal")


def test_of_several_calls_the_first_is_the_one_decided(server: RunningServer, client: httpx.Client) -> None:
    message, _ = message_with(server, client, "several_calls", "policy-passive")
    assert [one["function"]["name"] for one in message["tool_calls"]] == [WAIT.tool, "view_trial_balance", WAIT.tool]
    assert len({one["id"] for one in message["tool_calls"]}) == 3


def test_choices_may_be_empty(server: RunningServer, client: httpx.Client) -> None:
    server.configure(faults=[{"kind": "no_choices"}])
    assert ask(client, "policy-passive", opening())["choices"] == []


def test_it_may_change_its_mind_when_asked_the_same_again(server: RunningServer, client: httpx.Client) -> None:
    server.configure(faults=[{"kind": "changed_mind"}])
    tools = [call_in(ask(client, "policy-passive?test=mind", opening("Mind."))).tool for _ in range(2)]
    assert tools == ["wait_for_next_day", "view_trial_balance"]


def test_every_misbehaviour_leaves_the_script_able_to_go_on(server: RunningServer) -> None:
    """The result that follows is of another call than the script's, and it must not take it for its own."""
    scenario = scenario_from({"days": 6})
    server.configure(faults=[{"kind": kind, "turns": [turn]} for turn, kind in enumerate(MISBEHAVIOURS, 2)])
    agent = Agent(server, "policy-heuristic?test=go-on", scenario, "roaster_A", "roaster")
    inside = scripts_for(scenario, default_players(scenario))
    ledger_of(scenario, inside | {"roaster_A": Clumsy(agent)})
    seen = [entry for entry in server.log() if entry["model"] == agent.model]
    assert {entry["misbehaviour"] for entry in seen} == {"", *MISBEHAVIOURS} - {"changed_mind"}
    assert not any(entry["waited_because"] for entry in seen)


class Clumsy:
    """An agent that takes what it gets for a decision, in the way the engine's rules say."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def decide(self, view: View) -> Decision:
        """The call, or what is left of it."""
        agent = self.agent
        results = [result_message(call_id, view.result or {}) for call_id in self.call_ids()]
        seen = [observation_message(view.observation)] if view.observation else []
        agent.messages += [*results, *seen]
        message = ask(agent.client, agent.model, agent.messages, agent.tools)["choices"][0]["message"]
        for call in message.get("tool_calls", []):  # a server takes back nothing but text
            call["function"]["arguments"] = str(call["function"]["arguments"])
        agent.messages.append(message)
        return self.decision_in(message)

    def call_ids(self) -> list[str]:
        """The calls to be answered."""
        return [one["id"] for one in self.agent.messages[-1].get("tool_calls", [])]

    def decision_in(self, message: Message) -> Decision:
        """The first call of a message, whatever its arguments are."""
        if not message.get("tool_calls"):
            return Decision("", {})
        function = message["tool_calls"][0]["function"]
        try:
            return Decision(function["name"], json.loads(function["arguments"]))
        except ValueError:
            return Decision(function["name"], {"unreadable": "no JSON"})


def test_a_connection_may_be_cut_before_or_within_the_answer(server: RunningServer, client: httpx.Client) -> None:
    for share in (0.0, 0.5):
        server.configure(faults=[{"kind": "cut", "share": share}])
        with pytest.raises(httpx.RemoteProtocolError):
            post(client, "policy-passive", opening())
        assert (server.log()[-1]["status"], server.log()[-1]["is_gone"]) == (None, False)


def test_an_answer_may_never_come_and_who_leaves_is_counted(server: RunningServer) -> None:
    server.configure(faults=[{"kind": "hang"}])
    waiting = HTTPConnection(server.url.removeprefix("http://"))
    waiting.request("POST", "/v1/chat/completions", json.dumps({"model": "policy-passive", "messages": opening()}))
    eventually(lambda: bool(server.stats()["by_trouble"].get("hang") == server.stats()["in_work"] == 1))
    waiting.close()
    eventually(lambda: bool(server.log()[-1]["is_gone"]))
    assert server.log()[-1]["status"] is None
    assert server.stats()["in_work"] == 0


def test_an_answer_may_come_slowly_without_a_long_silence(server: RunningServer, client: httpx.Client) -> None:
    body = {"model": "policy-passive", "messages": opening()}
    server.configure(faults=[{"kind": "drip", "seconds": 600}])
    with client.stream("POST", "/chat/completions", json=body) as response:
        pieces = response.iter_raw()
        assert next(pieces)
        assert server.stats()["in_work"] == 1, "there is more to come"
    eventually(lambda: bool(server.stats()["in_work"] == 0))
    server.configure(faults=[{"kind": "drip", "seconds": 0.4}])
    started = time.monotonic()
    assert call_in(client.post("/chat/completions", json=body).json()) == WAIT
    assert time.monotonic() - started > 0.3


@pytest.mark.parametrize(
    ("fault", "model"),
    [([{"kind": "latency", "seconds": [0.2, 0.3]}], "policy-passive"), ([], "policy-passive?latency=0.2")],
)
def test_a_model_may_take_its_time(server: RunningServer, client: httpx.Client, fault: list[Any], model: str) -> None:
    server.configure(faults=fault)
    started = time.monotonic()
    ask(client, model, opening())
    assert time.monotonic() - started >= 0.2


def test_a_time_is_drawn_from_its_range() -> None:
    latency = Fault(kind="latency", seconds=(0.2, 0.3))
    drawn = [latency.delay_seconds(asked(str(number))) for number in range(20)]
    assert 0.2 <= min(drawn) < max(drawn) <= 0.3


def statuses(client: httpx.Client, model: str, conversations: list[list[Message]]) -> list[int]:
    """What each of some requests got."""
    return [post(client, model, messages).status_code for messages in conversations]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"calls": [2, 3]}, [200, 500, 500, 200, 200, 200]),
        ({"every": 3}, [200, 200, 500, 200, 200, 500]),
        ({"attempts": 2}, [500, 500, 200, 200, 200, 200]),
        ({"turns": [1], "attempts": 1}, [500, 200, 200, 200, 200, 200]),
        ({"turns": [2]}, [200] * 6),
        ({"model": "policy-heuristic*"}, [200] * 6),
        ({"model": "policy-pass*"}, [500] * 6),
        ({"probability": 0}, [200] * 6),
    ],
)
def test_a_rule_says_which_requests_go_wrong(
    server: RunningServer, client: httpx.Client, rule: dict[str, Any], expected: list[int]
) -> None:
    server.configure(faults=[{"kind": "error_500", **rule}])
    model = f"policy-passive?rule={rule}"
    assert statuses(client, model, [opening()] * 6) == expected


def asked(digest: str, repeat: int = 0) -> Asked:
    """A request for rules to go by."""
    return Asked("policy-passive", 1, digest, 1, 100, repeat)


def test_trouble_is_drawn_for_each_attempt_and_misbehaviour_for_each_conversation() -> None:
    trouble = Fault(kind="error_500", probability=0.5)
    misbehaviour = Fault(kind="no_call", probability=0.5)
    for digest in map(str, range(20)):
        assert len({trouble.happens_to(asked(digest, repeat)) for repeat in range(20)}) == 2
        assert len({misbehaviour.happens_to(asked(digest, repeat)) for repeat in range(20)}) == 1
    hit = sum(misbehaviour.happens_to(asked(str(number))) for number in range(1000))
    assert 420 < hit < 580


@pytest.mark.parametrize("model", ["gpt-5.5", "policy-unknown", "policy-", "heuristic_roaster"])
def test_a_model_that_there_is_not_is_not_found(client: httpx.Client, model: str) -> None:
    assert post(client, model, opening()).json()["error"]["code"] == "model_not_found"


def test_with_a_key_set_any_other_is_refused(server: RunningServer, client: httpx.Client) -> None:
    server.configure(api_key="another")
    assert post(client, "policy-passive", opening()).status_code == 401
    server.configure(api_key=SECRET)
    assert post(client, "policy-passive", opening()).status_code == 200


CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "roast", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "too short"),
        ([{"role": "tool", "tool_call_id": "c1", "content": "{}"}], "must be a response to a preceding message"),
        ([CALL], "did not have response messages: c1"),
        ([CALL, {"role": "user", "content": "Hello"}], "did not have response messages: c1"),
        ([{"role": "pope", "content": "Hello"}], "'pope'"),
        (["Hello"], "'str' object"),
    ],
)
def test_messages_that_a_provider_would_not_take_are_refused(
    client: httpx.Client, messages: list[Any], words: str
) -> None:
    response = post(client, "policy-passive", messages)
    assert response.status_code == 400
    assert words in response.json()["error"]["message"]


def test_a_body_that_is_no_json_is_refused_and_counted(server: RunningServer, client: httpx.Client) -> None:
    assert client.post("/chat/completions", content=b"{").status_code == 400
    assert server.log()[-1]["status"] == 400


def test_a_config_that_cannot_be_is_refused(server: RunningServer) -> None:
    response = httpx.post(f"{server.url}/config", json={"faults": [{"kind": "flood"}]})
    assert response.status_code == 400
    assert "flood" in response.text or "rate_limit" in response.text


def test_the_log_tells_what_was_asked_and_answered(server: RunningServer, client: httpx.Client) -> None:
    model = "policy-passive?test=log"
    messages = opening("Log.")
    answer = ask(client, model, messages)
    ask(client, model, played_on(messages, answer, {"ok": True, "waiting": True}))
    post(client, model, messages)
    first, second, third = server.log(after=len(server.log()) - 3)
    assert (first["model"], first["call"], first["turn"], first["messages"]) == (model, 1, 1, 2)
    assert (second["call"], second["turn"], second["messages"]) == (2, 2, 4)
    assert first["digest"] == third["digest"] != second["digest"]
    assert (first["repeat"], third["repeat"]) == (0, 1)
    assert (first["key_end"], first["status"], first["tool"]) == (SECRET[-4:], 200, WAIT.tool)
    assert SECRET not in json.dumps(server.log())


def test_many_are_served_at_once(server: RunningServer, client: httpx.Client) -> None:
    before, messages = server.stats()["requests"], opening()
    with server.holding_until_in_work(60), ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(lambda _: ask(client, "policy-passive?test=many", messages), range(60)))
    assert {call_in(answer).tool for answer in answers} == {WAIT.tool}
    assert server.stats()["requests"] == before + 60
    assert server.stats()["most_in_work"] == 60
