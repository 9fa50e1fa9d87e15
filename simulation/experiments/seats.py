"""Who plays in an experiment: the published names of models and scripts, and how each model plays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulation.experiments.document import Document
from simulation.players.briefing import Objective
from simulation.players.llm.prices import is_listed
from simulation.players.llm.settings import ModelSettings, Reasoning
from simulation.players.registry import KINDS, MODEL, kinds_for

DEFAULT: Final = "default"

# The names of the published files, and what litellm calls whom their authors asked under them.
PUBLISHED_MODELS: Final[Mapping[str, str]] = {
    "claude-sonnet-4-6": "anthropic/claude-sonnet-4-6",
    "claude-opus-4-7": "anthropic/claude-opus-4-7",
    "claude-haiku-4-5": "anthropic/claude-haiku-4-5",
    "gpt-5.5": "openai/gpt-5.5",
    "gemini-3.1-pro-preview": "gemini/gemini-3.1-pro-preview",
    "moonshotai/kimi-k2.6": "openrouter/moonshotai/kimi-k2.6",
    "z-ai/glm-5.1": "openrouter/z-ai/glm-5.1",
}
# The longer ending first: the shorter one is part of it.
SUFFIXES: Final[Mapping[str, Reasoning]] = {"-no-thinking": "off", "-thinking": "medium"}
PROVIDER_FORM: Final = re.compile(r"([a-z0-9][a-z0-9_-]*)/[A-Za-z0-9][A-Za-z0-9@._:/+?&=-]*")
PROVIDERS_FILE: Final = "provider_endpoints_support_backup.json"

# The published objectives that have a counterpart here; the rest say things of other firms that no prompt of ours says.
METRICS: Final = {"net_income": "net_income", "revenue": "revenue", "revenue_pressure": "stress"}


class Named(NamedTuple):
    """Whom a name stands for: a kind of player, or a model and, if the name says it, how much that reasons."""

    kind: str = ""
    model: str = ""
    reasoning: Reasoning | None = None


class Seats(NamedTuple):
    """Who plays each firm, models by settings and all others by kind; and the objectives of the section `kpi`."""

    players: dict[str, str]
    models: dict[str, ModelSettings]
    objectives: dict[str, Objective]


class UnknownModel(ValueError):
    """A name that is neither a kind's, nor a published one, nor of the form provider/name."""


def player_named(name: Any) -> Named:
    """Whom a value of the section `models` stands for. Raises UnknownModel with what is allowed."""
    if not isinstance(name, str):
        raise UnknownModel("must be a name in quotes")
    if name in kinds():
        return Named(kind=name)
    for suffix, reasoning in SUFFIXES.items():
        plain = name.removesuffix(suffix)
        if plain != name and _is_known(plain) and not is_listed(name):  # some models are sold under such names
            return player_named(plain)._replace(reasoning=reasoning)
    if name in PUBLISHED_MODELS:
        return Named(model=PUBLISHED_MODELS[name])
    form = PROVIDER_FORM.fullmatch(name)
    if form is None or len(name) > 120:
        raise UnknownModel(f"unknown model; {_known_models()}")
    if providers() and form[1] not in providers():
        raise UnknownModel(f"litellm knows no provider {form[1]}; {_known_models()}")
    return Named(model=name)


def _is_known(name: str) -> bool:
    return name in PUBLISHED_MODELS or name in PUBLISHED_MODELS.values() or is_listed(name)


def _known_models() -> str:
    return (
        f"known are {', '.join([*PUBLISHED_MODELS, *kinds()])}; any other is named as litellm does, provider/name, "
        "as openai/gpt-5.5, ollama_chat/llama3 or openrouter/qwen/qwen3-max"
    )


def kinds() -> list[str]:
    """The kinds of players that need no more than a name: scripts, people and remote programs."""
    return [kind.name for kind in KINDS.values() if kind.name != MODEL]


@cache
def providers() -> frozenset[str]:
    """The providers that litellm knows, read without importing it; none if it is not there to ask."""
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return frozenset()
    file = Path(package.origin).parent / PROVIDERS_FILE
    return frozenset(json.loads(file.read_text(encoding="utf-8"))["providers"]) if file.exists() else frozenset()


def seats_of(document: Document, firms: Mapping[str, str] | None) -> Seats:
    """Who plays the firms, given as name → role; None if that is not known for want of a scenario.

    What is wrong is complained of, and left out.
    """
    for section in ("models", "model_settings", "kpi"):
        _refuse_strangers(document, section, firms)
    named = _named(document)
    settings = _settings(document, named)
    objectives = _objectives(document)
    seats = Seats({}, {}, objectives)
    for firm in firms or {}:
        who = named.get(firm if firm in document.section("models") else DEFAULT)
        if who and who.kind:
            seats.players[firm] = who.kind
        elif who:
            seats.models[firm] = _played_by(who, settings, firm, objectives.get(firm))
    if firms is not None:
        _refuse_nobody(document, firms)
        _refuse_misfits(document, firms, seats.players)
        _refuse_settings_of_others(document, seats.players)
    return seats


def _refuse_strangers(document: Document, section: str, firms: Mapping[str, str] | None) -> None:
    if firms is None:
        return
    allowed = [*firms] if section == "kpi" else [DEFAULT, *firms]
    for name in document.section(section):
        if name not in allowed:
            document.unknown((section, name), "firm", allowed[:9])


def _named(document: Document) -> dict[str, Named]:
    """Whom the section `models` names, by firm or `default`."""
    named = {}
    for level, name in document.section("models").items():
        try:
            named[level] = player_named(name)
        except UnknownModel as error:
            document.complain(("models", level), str(error))
    return named


def _settings(document: Document, named: Mapping[str, Named]) -> dict[str, dict[str, Any]]:
    """What the section `model_settings` says, by firm or `default`: only what fits."""
    fitting = {}
    for level, table in document.section("model_settings").items():
        keys = ("model_settings", level)
        if not isinstance(table, dict):
            document.complain(keys, f"must be a table: [model_settings.{level}]")
            continue
        values = _known_settings(document, level, table)
        if document.fits(keys, ModelSettings, {"model": "any", **values}):
            fitting[level] = values
        said = named[level].reasoning if level in named else None
        if said and values.get("reasoning", said) != said:
            document.complain((*keys, "reasoning"), f"models.{level} already says {said} by the ending of its name")
    return fitting


def _known_settings(document: Document, level: str, table: Mapping[str, Any]) -> dict[str, Any]:
    allowed = [name for name in ModelSettings.model_fields if name != "model"]
    for key in table:
        keys = ("model_settings", level, key)
        if key == "model":
            document.complain(keys, "the section models names it")
        elif "key" in key.lower() and key != "key_variable":
            document.complain(keys, "keys are never written down: key_variable names the environment variable of one")
        elif key not in allowed:
            document.unknown(keys, "key", allowed)
    values = {key: value for key, value in table.items() if key in allowed}
    if isinstance(values.get("objective"), str):
        values["objective"] = {"kind": values["objective"]}
    return values


def _objectives(document: Document) -> dict[str, Objective]:
    """The section `kpi`: firm = "metric", or a table with metric and target_usd, as the published reader takes it."""
    objectives = {}
    for firm, said in document.section("kpi").items():
        if isinstance(document.section("model_settings").get(firm), dict) and document.says(
            "model_settings", firm, "objective"
        ):
            document.complain(("kpi", firm), f"model_settings.{firm}.objective says that already")
        objective = _objective(document, firm, {"metric": said} if isinstance(said, str) else said)
        if objective:
            objectives[firm] = objective
    return objectives


def _objective(document: Document, firm: str, table: Any) -> Objective | None:
    keys = ("kpi", firm)
    if not isinstance(table, dict):
        document.complain(keys, f'must be a metric or a table, as {firm} = "revenue"')
        return None
    for key in table.keys() - {"metric", "target_usd"}:
        document.unknown((*keys, key), "key", ("metric", "target_usd"))
    metric = table.get("metric", "net_income")
    if not isinstance(metric, str) or metric not in METRICS:
        words = f"unknown metric; allowed: {', '.join(METRICS)}; another objective goes into [model_settings.{firm}]"
        document.complain((*keys, "metric"), f"{words} as objective.kind = text with its text")
        return None
    values: dict[str, Any] = {"kind": METRICS[metric]}
    if "target_usd" in table:
        values["revenue_target"] = table["target_usd"]
        if metric != "revenue_pressure":
            document.complain((*keys, "target_usd"), "only revenue_pressure has a target")
    fits = document.fits(keys, Objective, values, names={"revenue_target": "target_usd"})
    return Objective.model_validate(values) if fits else None


def _played_by(
    who: Named, settings: Mapping[str, Mapping[str, Any]], firm: str, objective: Objective | None
) -> ModelSettings:
    """The nearer word counts: the settings of all, the name's ending, the firm's settings, its objective."""
    values: dict[str, Any] = {**settings.get(DEFAULT, {})}
    if who.reasoning:
        values["reasoning"] = who.reasoning
    values |= settings.get(firm, {})
    if objective:
        values["objective"] = objective
    return ModelSettings.model_validate({**values, "model": who.model})


def _refuse_nobody(document: Document, firms: Iterable[str]) -> None:
    """Where the published reader takes a model for firms that the file forgets, we ask: each costs some 40 USD."""
    named = document.section("models")
    left = [firm for firm in firms if firm not in named]
    if DEFAULT not in named and left:
        document.complain(("models",), f"nobody plays {', '.join(left[:8])}: name a player, or a default for the rest")


def _refuse_misfits(document: Document, firms: Mapping[str, str], players: Mapping[str, str]) -> None:
    for firm, kind in players.items():
        if firms[firm] not in KINDS[kind].roles:
            level = firm if firm in document.section("models") else DEFAULT
            allowed = ", ".join(kinds_for(firms[firm]))
            document.complain(("models", level), f"{kind} cannot play {firm}; scripts that can: {allowed}")


def _refuse_settings_of_others(document: Document, players: Mapping[str, str]) -> None:
    for section in ("model_settings", "kpi"):
        for firm in document.section(section):
            if firm in players:
                kind = "a script" if KINDS[players[firm]].is_script else "no model"
                document.complain((section, firm), f"{players[firm]} plays it, {kind}: it heeds no such settings")
