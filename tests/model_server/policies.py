"""What a model decides: the project's scripts, played from a conversation, and a policy at random."""

from __future__ import annotations

import random
import re
from collections import OrderedDict
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from simulation.engine.clock import MINUTES_PER_CALL, MINUTES_PER_DAY
from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import Scenario
from simulation.players.base import DayPlanner
from simulation.players.registry import KINDS, kinds_for, make_player
from tests.model_server.conversation import Conversation, Message, Turn, text_of, turns_in

PREFIX = "policy-"
MOST_SCRIPTS, MOST_DECISIONS = 2_000, 100_000
RANDOM, HEURISTIC = "random", "heuristic"
SHORT_MEMORY_MESSAGES = 8
NAMED_ID = re.compile(r'"(\w+_id)": ?"([A-Z]\d+)"')


class CannotRebuild(ValueError):
    """A conversation from which a script's views cannot be told."""


class Policy(NamedTuple):
    """What a model's name asks for: `policy-random?seed=3&latency=0.2`. Any other parameter only tells models apart."""

    name: str
    parameters: dict[str, str]

    @property
    def latency_seconds(self) -> float:
        """How long the model thinks."""
        return float(self.parameters.get("latency", 0))


def policy_of(model: str) -> Policy | None:
    """The policy of a model's name; None for a model that there is not."""
    name, _, parameters = model.removeprefix(PREFIX).partition("?")
    known = name in (RANDOM, HEURISTIC) or (name in KINDS and KINDS[name].is_script)
    if not model.startswith(PREFIX) or not known:
        return None
    return Policy(name, dict(parse_qsl(parameters)))


class Script:
    """A script at some point of a conversation."""

    def __init__(self, kind: str, scenario: Scenario, opening: Turn) -> None:
        if opening.observation is None:
            raise CannotRebuild("it does not begin with an observation")
        self.firm: str = opening.observation["firm"]
        self.role: str = opening.observation["role"]
        self.player = make_player(kinds_for(self.role)[0] if kind == HEURISTIC else kind, scenario, self.firm)
        self.minute = 0
        self.decided = WAIT

    def decide(self, turn: Turn) -> Decision:
        """Its answer to the next turn."""
        made = turn.made
        if made and (made.tool, made.arguments) != (self.decided.tool, self.decided.arguments):
            self._hear_of(made)
        observation = turn.observation
        self.minute = minute_of(observation) if observation else self.minute + MINUTES_PER_CALL
        self.decided = self.player.decide(View(self.firm, self.role, self.minute, turn.result, observation))
        return self.decided

    def _hear_of(self, made: Decision) -> None:
        """What it decided went wrong on its way: the result that comes is that of another call."""
        if isinstance(self.player, DayPlanner):
            self.player.last_call = made


def minute_of(observation: dict[str, Any]) -> int:
    """The minute of the run at which something was observed."""
    hour, minutes = observation["time"].split(":")
    return int(observation["day"]) * MINUTES_PER_DAY + int(hour) * 60 + int(minutes)


class Policies:
    """Decides for all models. It keeps scripts where they stand, so as not to play them from the beginning.

    Only of a conversation that was shortened they are all that is left: who made its last call plays on. A server
    started since then has forgotten, and waits.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._scripts: OrderedDict[bytes, Script] = OrderedDict()
        self._decisions: OrderedDict[bytes, Decision] = OrderedDict()
        self._callers: dict[str, bytes] = {}

    def decide(self, policy: Policy, conversation: Conversation) -> Decision:
        """The policy's decision. Raises CannotRebuild where the messages do not tell a script all that happened."""
        if policy.name == RANDOM:
            return random_decision(conversation, policy.parameters.get("seed", ""))
        digest = conversation.digests[-1]
        if digest not in self._decisions:
            self._decisions[digest] = self._play(policy.name, conversation)
            _forget_oldest(self._decisions, MOST_DECISIONS)
        return self._decisions[digest]

    def _play(self, kind: str, conversation: Conversation) -> Decision:
        try:
            script, decision = self._advanced(kind, conversation)
        # A script may stumble anywhere over what it was not told.
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise CannotRebuild(f"{type(error).__name__}: {error}") from error
        digest = conversation.digests[-1]
        self._scripts[digest] = script
        self._callers[call_id_of(conversation)] = digest
        _forget_oldest(self._scripts, MOST_SCRIPTS)
        return decision

    def _advanced(self, kind: str, conversation: Conversation) -> tuple[Script, Decision]:
        """A script that has been shown all, and what it decided last."""
        messages = conversation.messages
        script, position = self._script_that_saw_most(conversation) or (None, _beginning(messages))
        if script is None and not conversation.is_whole:
            script, position = self._script_that_called_last(messages)
        decision = WAIT
        for turn in turns_in(messages[position:]):
            script = script or Script(kind, self.scenario, turn)
            decision = script.decide(turn)
        assert script is not None
        return script, decision

    def _script_that_saw_most(self, conversation: Conversation) -> tuple[Script, int] | None:
        """The script that has seen most of the messages, and how many; it leaves the cache, for it will move on."""
        messages, digests = conversation.messages, conversation.digests
        for position in range(len(messages) - 1, 0, -1):
            if messages[position]["role"] == "assistant" and digests[position - 1] in self._scripts:
                return self._scripts.pop(digests[position - 1]), position
        return None

    def _script_that_called_last(self, messages: list[Message]) -> tuple[Script, int]:
        """The script whose call is the last of a shortened conversation, as the call's id tells, and its place."""
        position = max((place for place, one in enumerate(messages) if one.get("tool_calls")), default=0)
        calls = messages[position].get("tool_calls") or [{"id": ""}]
        digest = self._callers.get(calls[0]["id"], b"")
        if digest not in self._scripts:
            raise CannotRebuild("messages are missing, and whose last call it was is not remembered")
        return self._scripts.pop(digest), position


def call_id_of(conversation: Conversation) -> str:
    """The id of the call that answers a conversation; it is of no other."""
    return f"call_{conversation.digest[:24]}"


def _beginning(messages: list[Message]) -> int:
    """The place of the first message that is not an instruction."""
    return next((place for place, one in enumerate(messages) if one["role"] not in ("system", "developer")), 0)


def _forget_oldest(cache: OrderedDict[bytes, Any], most: int) -> None:
    if len(cache) > most:
        cache.popitem(last=False)


def random_decision(conversation: Conversation, seed: str) -> Decision:
    """One of the tools with arguments that fit their schemas; the messages are the dice."""
    chance = random.Random(f"{seed}/{conversation.digest}")
    if not conversation.tools or chance.random() < 0.2:
        return WAIT
    function = chance.choice(conversation.tools)["function"]
    schema = function.get("parameters", {})
    ids = _ids_seen(conversation.messages[-SHORT_MEMORY_MESSAGES:])
    arguments = {
        name: _random_value(chance, name, field, ids)
        for name, field in schema.get("properties", {}).items()
        if name in schema.get("required", []) or chance.random() < 0.3
    }
    return Decision(function["name"], arguments)


def _ids_seen(messages: list[Message]) -> dict[str, list[str]]:
    """What could be named: the ids in some messages, by the argument that takes them."""
    ids: dict[str, list[str]] = {}
    for message in messages:
        for name, value in NAMED_ID.findall(text_of(message)):
            ids.setdefault(name, []).append(value)
    return ids


def _random_value(chance: random.Random, name: str, field: dict[str, Any], ids: dict[str, list[str]]) -> Any:
    if "enum" in field:
        return chance.choice(field["enum"])
    match field.get("type"):
        case "integer":
            return chance.randint(1, 60)
        case "number":
            return round(chance.uniform(0.5, 20), 2)
        case "boolean":
            return chance.random() < 0.5
    if name.endswith("_id"):
        return chance.choice(ids.get(name.removeprefix("ref_"), [f"{name[0].upper()}1"]))
    return "Good morning."
