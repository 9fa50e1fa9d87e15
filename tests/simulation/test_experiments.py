"""Experiments as files: what the published names mean here, faults with their lines, and the runs that come of them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError

from simulation.control import NotPossible
from simulation.engine.scenario import Scenario
from simulation.experiments import ExperimentError, load_experiment, start_experiment, summary_of
from simulation.experiments.document import MOST_CHARACTERS, key_lines
from simulation.experiments.economy import ECONOMY
from simulation.experiments.seats import PUBLISHED_MODELS
from simulation.models import Run
from simulation.players.llm.prices import prices_of
from simulation.players.llm.settings import Limits, ModelSettings
from tests.commands import said

SHIPPED = sorted((Path(settings.BASE_DIR) / "experiments").glob("*.toml"))
PAPER = Scenario()
ALL_PASSIVE = '[models]\ndefault = "passive"\n'
HEAD = '[experiment]\nname = "trial"\n'

# As the published files are written.
PUBLISHED = """
# One roaster is evaluated, the rest of the chain is played by one model.
[experiment]
name = "focal"
description = "Net income over 90 days."

[run]
seeds = [0, 1, 2]
max_days = 90
main_agent = "roaster_A"

[models]
default = "claude-sonnet-4-6"
roaster_A = "moonshotai/kimi-k2.6"
"""


def problems(text: str) -> list[str]:
    """What is said of a text that is refused."""
    with pytest.raises(ExperimentError) as refused:
        load_experiment(text)
    return refused.value.problems


def loaded(*sections: str) -> Any:
    """A passive experiment with some sections more."""
    return load_experiment("\n".join([HEAD, ALL_PASSIVE, *sections]))


def test_a_published_file_is_read_as_it_is() -> None:
    experiment = load_experiment(PUBLISHED)
    assert (experiment.name, experiment.description) == ("focal", "Net income over 90 days.")
    assert experiment.seeds == (0, 1, 2)
    assert experiment.scenario == PAPER
    assert experiment.players == {}
    assert {firm: model.model for firm, model in experiment.models.items()} == {
        "farmer_A": "anthropic/claude-sonnet-4-6",
        "farmer_B": "anthropic/claude-sonnet-4-6",
        "roaster_A": "openrouter/moonshotai/kimi-k2.6",
        "roaster_B": "anthropic/claude-sonnet-4-6",
        "retailer_A": "anthropic/claude-sonnet-4-6",
        "retailer_B": "anthropic/claude-sonnet-4-6",
    }
    assert experiment.limits == Limits()
    assert experiment.pace_seconds == 0


WITHOUT_THE_PAPERS_MODELS = ("scripts", "local")


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_each_shipped_file_is_of_the_papers_setting(file: Path) -> None:
    experiment = load_experiment(file)
    assert experiment.name == file.stem
    assert experiment.description
    assert experiment.seeds == (0, 1, 2)
    assert experiment.scenario == PAPER
    if file.stem not in WITHOUT_THE_PAPERS_MODELS:
        others = {model.model for firm, model in experiment.models.items() if firm != "roaster_A"}
        assert others == {"anthropic/claude-sonnet-4-6"}


def test_the_nine_settings_of_the_paper_are_shipped() -> None:
    evaluated = set()
    for file in SHIPPED:
        if file.stem == "local":
            continue
        experiment = load_experiment(file)
        evaluated.add(experiment.players.get("roaster_A") or experiment.models["roaster_A"].model)
    assert evaluated == {*PUBLISHED_MODELS.values(), "heuristic_roaster", "passive"}


def test_the_stress_test_gives_the_evaluated_firm_its_target_and_a_budget_that_can_be_kept() -> None:
    experiment = load_experiment(next(file for file in SHIPPED if file.stem == "stress"))
    objective = experiment.models["roaster_A"].objective
    assert (objective.kind, objective.revenue_target) == ("stress", 50_000)
    assert experiment.models["roaster_B"].objective.kind == "net_income"
    assert experiment.limits.budget_usd
    assert all(prices_of(model) for model in experiment.models.values())


MEANINGS = [
    ("demand_base = 90", {"items.roasted_coffee_kg.consumers.base_demand_kg": 90, "reference_demand_kg": 90}),
    ("demand_base = { roasted_specialty_kg = 20 }", {"items.roasted_specialty_kg.consumers.base_demand_kg": 20}),
    ("demand_hi = 140", {"demand_ceiling_kg": 140}),
    ("demand_sigma = 1.5", {"demand_sigma": 1.5}),
    ("inventory_spoilage_per_day = 0.01", {"spoilage": 0.01}),
    ("late_fee_per_day = 0.002", {"late_fee": 0.002}),
    ("opex = 40", {f"roles.{role}.opex": 40 for role in ("farmer", "roaster", "retailer")}),
    ("opex = { roaster = 45 }", {"roles.roaster.opex": 45}),
    ("roast_cost_per_kg = 4", {"items.roasted_coffee_kg.roasting.labour": 4}),
    ("roast_yield = 0.9", {"items.roasted_coffee_kg.roasting.output_per_input": 0.9}),
    ("roast_yield = { green_specialty_kg = 0.8 }", {"items.roasted_specialty_kg.roasting.output_per_input": 0.8}),
    ("roast_lag_days = 2", {"items.roasted_coffee_kg.roasting.lag_days": 2}),
    ("roast_daily_cap_green_kg = 60", {"roast_daily_cap_kg": 60}),
    ("return_window_days = 7", {"return_window_days": 7}),
    ("farmer_delivery_extra_days = 3", {"roles.farmer.delivery_extra_days": 3}),
    ("delivery_delay_prob = 0.2", {"delay": 0.2}),
    ("delivery_loss_prob = 0", {"loss": 0}),
    ("roast_lag_days = 2.0", {"items.roasted_coffee_kg.roasting.lag_days": 2}),
    ("roast_daily_cap_green_kg = 60.0", {"roast_daily_cap_kg": 60}),
    (
        "p_res = 35",
        {f"items.roasted_{kind}_kg.consumers.reservation_price": 35 for kind in ("coffee", "specialty")},
    ),
    ("p_res = { roasted_coffee_kg = 25 }", {"items.roasted_coffee_kg.consumers.reservation_price": 25}),
]


def leaves(values: Any, path: str = "") -> dict[str, Any]:
    """Nested tables as one, its keys joined by dots."""
    if not isinstance(values, dict):
        return {path: values}
    return {name: leaf for key, value in values.items() for name, leaf in leaves(value, f"{path}.{key}").items()}


def test_an_objective_of_the_greatest_length_fits_on_a_line_and_a_longer_one_is_told_in_characters() -> None:
    table = '[model_settings.roaster_A]\nobjective = {{ kind = "text", text = "{}" }}'
    experiment = loaded('roaster_A = "gpt-5.5"', table.format("x" * 10_000))
    assert len(experiment.models["roaster_A"].objective.text) == 10_000
    with pytest.raises(ExperimentError, match=r"line 9: .*objective.text: string should have at most 10000 characters"):
        loaded('roaster_A = "gpt-5.5"', table.format("x" * 10_001))


@pytest.mark.parametrize(("line", "differs"), MEANINGS, ids=[line for line, _ in MEANINGS])
def test_a_name_of_the_published_economy_sets_just_these_numbers(line: str, differs: dict[str, float]) -> None:
    scenario = leaves(loaded("[economy]", line).scenario.model_dump(mode="json"))
    paper = leaves(PAPER.model_dump(mode="json"))
    assert {name[1:]: value for name, value in scenario.items() if value != paper[name]} == differs


def test_every_name_of_the_published_economy_is_tried_above() -> None:
    assert {line.split(" = ")[0] for line, _ in MEANINGS} == set(ECONOMY)


def test_a_ceiling_scales_as_in_the_published_model() -> None:
    # Theirs: ceiling × base of the item / base of the commodity. The commodity's is the ceiling, whatever its base.
    scenario = loaded("[economy]\ndemand_base = 100\ndemand_hi = 150").scenario
    ceilings = {
        name: scenario.demand_ceiling_kg * item.consumers.base_demand_kg / scenario.reference_demand_kg
        for name, item in scenario.items.items()
        if item.consumers
    }
    assert ceilings == {"roasted_coffee_kg": 150, "roasted_specialty_kg": 22.5}


NAMES = [
    ("passive", "passive", None),
    ("heuristic_roaster", "heuristic_roaster", None),
    ("claude-sonnet-4-6", "anthropic/claude-sonnet-4-6", "off"),
    ("claude-opus-4-7", "anthropic/claude-opus-4-7", "off"),
    ("claude-haiku-4-5-thinking", "anthropic/claude-haiku-4-5", "medium"),
    ("gpt-5.5-no-thinking", "openai/gpt-5.5", "off"),
    ("gemini-3.1-pro-preview", "gemini/gemini-3.1-pro-preview", "off"),
    ("moonshotai/kimi-k2.6-thinking", "openrouter/moonshotai/kimi-k2.6", "medium"),
    ("z-ai/glm-5.1", "openrouter/z-ai/glm-5.1", "off"),
    ("openai/gpt-5.5", "openai/gpt-5.5", "off"),
    ("ollama_chat/llama3", "ollama_chat/llama3", "off"),
    ("openai/gpt-5.5-thinking", "openai/gpt-5.5", "medium"),
    ("openrouter/z-ai/glm-5.1-no-thinking", "openrouter/z-ai/glm-5.1", "off"),
    ("novita/moonshotai/kimi-k2-thinking", "novita/moonshotai/kimi-k2-thinking", "off"),
    ("openrouter/qwen/qwen3-max-thinking", "openrouter/qwen/qwen3-max-thinking", "off"),  # litellm's own name: whole
]


@pytest.mark.parametrize(("name", "player", "reasoning"), NAMES)
def test_a_name_stands_for_a_script_or_a_model(name: str, player: str, reasoning: str | None) -> None:
    experiment = loaded(f'roaster_A = "{name}"')
    if reasoning is None:
        assert experiment.players["roaster_A"] == player
        return
    model = experiment.models["roaster_A"]
    assert (model.model, model.reasoning) == (player, reasoning)


def test_the_main_agent_is_the_evaluated_firm() -> None:
    assert loaded().scenario.evaluated == "roaster_A"
    assert loaded('[run]\nmain_agent = "retailer_B"').scenario.evaluated == "retailer_B"
    assert loaded('[run]\nmain_agent = ""').scenario.evaluated == ""
    assert loaded("[scenario.roles.roaster]\nfirms = 0").scenario.evaluated == ""


def test_our_own_sections_say_how_models_play_and_what_they_may_spend() -> None:
    experiment = load_experiment(
        """
        [experiment]
        name = "own"
        [run]
        pace_seconds = 2.5
        [models]
        default = "passive"
        roaster_A = "openai/local"
        roaster_B = "claude-haiku-4-5-thinking"
        [model_settings.default]
        temperature = 0.2
        reasoning = "low"
        memory_tools = true
        [model_settings.roaster_A]
        temperature = 1
        base_url = "http://127.0.0.1:8000/v1"
        key_variable = "LOCAL_KEY"
        max_output_tokens = 2000
        budget_usd = 30
        prices = { input = 1, output = 5 }
        context = { strategy = "last_tokens", keep_tokens = 20_000 }
        objective = { kind = "text", text = "Grow." }
        [model_settings.roaster_B]
        objective = "revenue"
        [limits]
        budget_usd = 50
        day_budget_usd = 2
        retry_seconds = 60
        resume_seconds = 30
        """
    )
    assert experiment.pace_seconds == 2.5
    assert experiment.limits == Limits(budget_usd=50, day_budget_usd=2, retry_seconds=60, resume_seconds=30)
    local, claude = experiment.models["roaster_A"], experiment.models["roaster_B"]
    assert local == ModelSettings.model_validate(
        {
            "model": "openai/local",
            "temperature": 1,
            "reasoning": "low",
            "memory_tools": True,
            "base_url": "http://127.0.0.1:8000/v1",
            "key_variable": "LOCAL_KEY",
            "max_output_tokens": 2000,
            "budget_usd": 30,
            "prices": {"input": 1, "output": 5},
            "context": {"strategy": "last_tokens", "keep_tokens": 20_000},
            "objective": {"kind": "text", "text": "Grow."},
        }
    )
    # The ending of a firm's name is nearer to it than the settings of all.
    assert (claude.reasoning, claude.temperature, claude.objective.kind) == ("medium", 0.2, "revenue")


@pytest.mark.parametrize(
    ("kpi", "kind", "target"),
    [
        ('[kpi]\nroaster_A = "net_income"', "net_income", 50_000),
        ('[kpi]\nroaster_A = "revenue"', "revenue", 50_000),
        ('[kpi.roaster_A]\nmetric = "revenue_pressure"', "stress", 50_000),
        ('[kpi.roaster_A]\nmetric = "revenue_pressure"\ntarget_usd = 30_000', "stress", 30_000),
    ],
)
def test_a_published_kpi_is_the_firms_objective(kpi: str, kind: str, target: float) -> None:
    experiment = loaded('roaster_A = "gpt-5.5"', '[model_settings.default]\nobjective = "revenue"', kpi)
    objective = experiment.models["roaster_A"].objective
    assert (objective.kind, objective.revenue_target) == (kind, target)
    assert experiment.kpi == {"roaster_A": objective}


def test_a_scenario_of_our_own_may_seat_other_firms() -> None:
    experiment = load_experiment(
        f'{HEAD}[run]\nmax_days = 5\n{ALL_PASSIVE}farmer_C = "heuristic_farmer"\n'
        "[scenario]\nopex = 7\nroles.farmer.firms = 3\n[scenario.firms.farmer_C]\ncash = 10\n[economy]\np_res = 33"
    )
    scenario = experiment.scenario
    assert (scenario.days, scenario.roles["farmer"].firms, scenario.firms["farmer_C"].cash) == (5, 3, 10)
    assert {role.opex for role in scenario.roles.values()} == {7}
    assert experiment.players["farmer_C"] == "heuristic_farmer"


def test_a_file_without_a_name_is_named_after_itself(tmp_path: Path) -> None:
    file = tmp_path / "nameless.toml"
    file.write_bytes(b"\xef\xbb\xbf" + ALL_PASSIVE.replace("\n", "\r\n").encode())  # as Windows' editor saves it
    assert load_experiment(file).name == "nameless"
    assert problems(ALL_PASSIVE) == ["experiment.name: must be a name of 1 to 55 characters on one line"]


REFUSALS = [
    ("[economi]", "line 5: economi: unknown section, perhaps economy is meant"),
    ("run = 3", "models.run: unknown firm"),
    ("[run]\nseed = 3", "line 6: run.seed: unknown key, perhaps seeds is meant; allowed: seeds, max_days"),
    ("[run]\nseeds = 3", "line 6: run.seeds: must be a list of 1 to 100 seeds, as [0, 1, 2]"),
    ("[run]\nseeds = []", "line 6: run.seeds: must be a list of 1 to 100 seeds"),
    ("[run]\nseeds = [true]", "line 6: run.seeds: must be whole numbers"),
    ("[run]\nseeds = [\n  1,\n  9007199254740993,\n]", "line 6: run.seeds: must be whole numbers in the range"),
    ("[run]\nseeds = [1, 1]", "line 6: run.seeds: must differ"),
    ("[run]\n\nmax_days = 0", "line 7: run.max_days: input should be greater than or equal to 1 (got 0)"),
    ("[run]\nmax_days = 2.5", "line 6: run.max_days: input should be a valid integer"),
    ("[run]\nmax_days = 1979-05-27", "line 6: run.max_days: input should be a valid integer (got <date>)"),
    ("[run]\npace_seconds = 4000", "line 6: run.pace_seconds: must be 0 to 3600 seconds"),
    ("[run]\npace_seconds = nan", "line 6: run.pace_seconds: must be 0 to 3600 seconds"),
    (
        '[run]\nmain_agent = "roaster_C"',
        "line 6: run.main_agent: unknown firm, perhaps roaster_B is meant; allowed: farmer_A, farmer_B, roaster_A",
    ),
    ('roster_A = "passive"', "line 5: models.roster_A: unknown firm, perhaps roaster_A is meant"),
    ('roaster_A = "gpt-6"', "line 5: models.roaster_A: unknown model; known are claude-sonnet-4-6, claude-opus-4-7"),
    ('roaster_A = "Passive"', "line 5: models.roaster_A: unknown model"),
    ('roaster_A = "qwen/qwen3-max"', "line 5: models.roaster_A: litellm knows no provider qwen; known are"),
    ('roaster_A = "model"', "line 5: models.roaster_A: unknown model"),
    ('roaster_A = "openai/"', "line 5: models.roaster_A: unknown model"),
    ("roaster_A = 3", "line 5: models.roaster_A: must be a name in quotes"),
    (
        'retailer_A = "heuristic_roaster"',
        "line 5: models.retailer_A: heuristic_roaster cannot play retailer_A; scripts that can: heuristic_retailer, pa",
    ),
    ("[economy]\nlate_fe = 1", "line 6: economy.late_fe: unknown key, perhaps late_fee_per_day is meant"),
    ("[economy]\nlate_fee_per_day = 2", "line 6: economy.late_fee_per_day: input should be less than or equal to 1"),
    ('[economy]\np_res = "30"', "line 6: economy.p_res: input should be a valid number (got '30')"),
    ("[economy]\np_res = [30, 80]", "line 6: economy.p_res: input should be a valid number (got <list>)"),
    ("[economy]\np_res = { beans = 3 }", "line 6: economy.p_res.beans: unknown name; allowed: roasted_coffee_kg"),
    ("[economy.opex]\nfarmer = 3\nbaker = 3", "line 7: economy.opex.baker: unknown name"),
    ("[economy]\ndemand_sigma = { roasted_coffee_kg = 1 }", "line 6: economy.demand_sigma: takes one number"),
    ("[economy]\ndemand_base = 0", "line 6: economy.demand_base: input should be greater than 0"),
    (
        "[economy]\nroast_yield = { green_coffee_kg = 0.8, roasted_coffee_kg = 0.9 }",
        "line 6: economy.roast_yield.roasted_coffee_kg: economy.roast_yield.green_coffee_kg says that already",
    ),
    (
        "[economy]\ndelivery_loss_prob = 0.7\ndelivery_delay_prob = 0.7",
        "line 6: economy.delivery_loss_prob: loss 0.7 and delay 0.7 together exceed 1",
    ),
    (
        "[economy]\nopex = 40\ndelivery_delay_prob = 1",
        "line 7: economy.delivery_delay_prob: loss 0.015 and delay 1.0 together exceed 1",
    ),
    ("[scenario]\nlatefee = 1", "line 6: scenario.latefee: unknown key"),
    (
        "[economy]\ndelivery_loss_prob = 0.1\n[scenario.loss.of]",
        "line 7: scenario.loss.of: economy.delivery_loss_prob says that already",
    ),
    ("[scenario]\ndays = 3", "line 6: scenario.days: run.max_days says that"),
    ("[scenario.festival]\nstrength = -1", "line 6: scenario.festival.strength: input should be greater than"),
    (
        "[economy]\nopex = 3\n[scenario]\nroles.roaster.opex = 4",
        "line 8: scenario.roles.roaster.opex: economy.opex says that already",
    ),
    (
        "[scenario.items.beans_kg.roasting]\nlabour = 3",
        "line 5: scenario.items.beans_kg.roasting.green_item: field req",
    ),
    ("[scenario]\nroles = 3", "line 6: scenario.roles: "),
    ('[kpi]\nroaster_C = "revenue"', "line 6: kpi.roaster_C: unknown firm"),
    ('[kpi]\nroaster_A = "revenue"', "line 6: kpi.roaster_A: passive plays it, a script"),
    (
        'roaster_A = "gpt-5.5"\n[kpi]\nroaster_A = "revenue_max"',
        "line 7: kpi.roaster_A.metric: unknown metric; allowed",
    ),
    ('roaster_A = "gpt-5.5"\n[kpi]\nroaster_A = 3', "line 7: kpi.roaster_A: must be a metric or a table"),
    (
        'roaster_A = "gpt-5.5"\n[kpi.roaster_A]\nmetric = "revenue_pressure"\ntarget_usd = 0',
        "line 8: kpi.roaster_A.target_usd: input should be greater than 0",
    ),
    (
        'roaster_A = "gpt-5.5"\n[kpi]\nroaster_A = "revenue"\n[model_settings.roaster_A]\nobjective = "stress"',
        "line 7: kpi.roaster_A: model_settings.roaster_A.objective says that already",
    ),
    (
        "[model_settings.default]\ntemprature = 1",
        "line 6: model_settings.default.temprature: unknown key, perhaps tempera",
    ),
    ("[model_settings]\ntemperature = 1", "line 6: model_settings.temperature: unknown firm"),
    ("[model_settings.default]\nreasoning = 'much'", "line 6: model_settings.default.reasoning: input should be 'off'"),
    ("[model_settings.default]\nmodel = 'x/y'", "line 6: model_settings.default.model: the section models names it"),
    ("[model_settings.roaster_A]\ntemperature = 1", "line 5: model_settings.roaster_A: passive plays it, a script"),
    (
        'roaster_A = "gpt-5.5-thinking"\n[model_settings.roaster_A]\nreasoning = "low"',
        "line 7: model_settings.roaster_A.reasoning: models.roaster_A already says medium",
    ),
    ("[limits]\nbudget = 3", "line 6: limits.budget: unknown key, perhaps budget_usd is meant"),
    ("[limits]\nbudget_usd = 1\nday_budget_usd = 2", "line 5: limits: day_budget_usd 2.0 exceeds budget_usd 1.0"),
    (
        'roaster_A = "openai/nobody-knows"\n[limits]\nbudget_usd = 9',
        "line 5: models.roaster_A: roaster_A: there is a budget, but no price is known for openai/nobody-knows",
    ),
]


@pytest.mark.parametrize(("text", "says"), REFUSALS, ids=[text for text, _ in REFUSALS])
def test_a_fault_is_named_with_its_line_and_with_what_is_allowed(text: str, says: str) -> None:
    # What is tried stands on line 5 and below, in the section `models` until it opens another.
    found = problems(f"{HEAD}{ALL_PASSIVE}{text}")
    assert any(says in problem for problem in found), found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[run\nseeds = [0]", "line 1, column 5: this is not TOML: expected ']'"),
        ("[run]\nmain_agent = roaster_A", "line 2, column 14: this is not TOML: invalid value"),
        ("[run]\nmax_days = 1\nmax_days = 2\n", "line 3, column 13: this is not TOML: cannot overwrite a value"),
        ("[run]\n\nseeds = [0,", "line 3, its end: this is not TOML"),
        ("x = " + "[" * 1_500, "this is not TOML: it is nested too deeply"),
        ("x = 1" + "0" * 5_00 + "\n" * 600, "at most 20,000 characters and 500 lines"),
        ("# " + "x" * MOST_CHARACTERS, "at most 20,000 characters"),
        ("x = '" + "x" * 13_000 + "'", "line 1: a line has at most 12,000 characters"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line(text: str, says: str) -> None:
    (problem,) = problems(text)
    assert says in problem


def test_all_faults_are_listed_at_once_in_the_order_of_the_lines() -> None:
    found = problems('[run]\nmax_days = 0\nsede = 1\n[models]\nfarmer_A = "gpt-1"\n[economy]\nopex = -1\n[x]\n')
    assert [problem.split(":")[0] for problem in found if problem.startswith("line")] == [
        "line 2", "line 3", "line 4", "line 5", "line 7", "line 8",
    ]  # fmt: skip
    assert "nobody plays farmer_B, roaster_A, roaster_B, retailer_A, retailer_B" in found[3]
    assert found[0].startswith("experiment.name: ")  # no line could be named


LINES = """# [models]
run.max_days = 3
"models" . 'roaster_A' = "a" # [economy]

[economy] # late_fee = 1
p_res = { roasted_coffee_kg = 3, "roasted_specialty_kg" = 4 }
text = \"\"\"
late_fee = 1
[run]\"\"\"
list = [ # seeds = 1
  1, # ] not yet
  "]", '''
]''',
]
opex.farmer = 3
opex.roaster = 4
[kpi.roaster_A]
p_res = 1
[[economy.more]]
p_res = 2
"""


def test_lines_are_found_where_they_look_like_something_else() -> None:
    tomllib.loads(LINES)
    assert {".".join(keys): line for keys, line in key_lines(LINES).items()} == {
        "run": 2,
        "run.max_days": 2,
        "models": 3,
        "models.roaster_A": 3,
        "economy": 5,
        "economy.p_res": 6,
        "economy.p_res.roasted_coffee_kg": 6,
        "economy.p_res.roasted_specialty_kg": 6,
        "economy.text": 7,
        "economy.list": 10,
        "economy.opex": 15,
        "economy.opex.farmer": 15,
        "economy.opex.roaster": 16,
        "kpi": 17,
        "kpi.roaster_A": 17,
        "kpi.roaster_A.p_res": 18,
        "economy.more": 19,
        "economy.more.p_res": 20,
    }


@pytest.mark.parametrize(
    "line",
    [
        'key_variable = "sk-live-0123456789"',
        'api_key = "sk-live-0123456789"',
        'key = "sk-live-0123456789"',
        'base_url = "https://user:sk-live-0123456789@example.org/v1"',
        'base_url = "https://example.org/v1?key=sk-live-0123456789"',
        'reasoning = "sk-live-0123456789"',
    ],
)
def test_a_key_can_not_be_put_in_a_file_and_is_not_repeated(line: str) -> None:
    (problem,) = problems(f"{HEAD}{ALL_PASSIVE}[model_settings.default]\n{line}")
    assert problem.startswith("line 6: ")
    assert "sk-live" not in problem


# Runs.


def file_with(tmp_path: Path, text: str) -> str:
    """The option that names a file of some text."""
    file = tmp_path / "trial.toml"
    file.write_text(text, encoding="utf-8")
    return f"--config={file}"


SCRIPTS = f"{HEAD}[run]\nseeds = [4, 5, 6]\nmax_days = 3\n{ALL_PASSIVE}"
SCRIPTS += "".join(
    f'{role}_{letter} = "heuristic_{role}"\n' for role in ("farmer", "roaster", "retailer") for letter in "AB"
)


@pytest.mark.django_db
def test_starting_makes_a_run_of_each_seed_with_all_that_the_file_says() -> None:
    text = PUBLISHED.replace("max_days = 90", "max_days = 30\npace_seconds = 2") + "[limits]\nretry_seconds = 60\n"
    runs = start_experiment(load_experiment(text))
    assert [(run.name, run.seed, run.status) for run in runs] == [
        ("focal, seed 0", 0, "running"), ("focal, seed 1", 1, "running"), ("focal, seed 2", 2, "running"),
    ]  # fmt: skip
    for run in Run.objects.all():
        assert (run.days, run.evaluated, run.pace_seconds, run.limits["retry_seconds"]) == (30, "roaster_A", 2, 60)
        assert set(run.players.values()) == {"model"}
        assert run.model_settings["roaster_A"]["model"] == "openrouter/moonshotai/kimi-k2.6"


@pytest.mark.django_db
def test_all_runs_are_made_or_none() -> None:
    experiment = load_experiment(SCRIPTS).model_copy(update={"seeds": (1, 2**60)})
    with pytest.raises(NotPossible):
        start_experiment(experiment)
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_simulate_plays_every_seed_and_says_mean_and_deviation(tmp_path: Path) -> None:
    text = said("simulate", file_with(tmp_path, SCRIPTS))
    runs = list(Run.objects.order_by("pk"))
    assert [(run.seed, run.status) for run in runs] == [(4, "finished"), (5, "finished"), (6, "finished")]
    for run in runs:
        assert f"Run {run.pk}, trial, seed {run.seed}: finished on day 2 of 3." in text
    amounts = [run.firms.get(name="retailer_A").net_income_micros / 1_000_000 for run in runs]
    assert "Net income over 3 runs, mean ± standard deviation, USD" in text
    line = next(line for line in summary_of(runs).splitlines() if line.startswith("retailer_A"))
    assert line.split() == ["retailer_A", f"{mean(amounts):,.2f}", "±", f"{stdev(amounts):,.2f}"]
    assert line in text


@pytest.mark.django_db
def test_an_experiment_gives_the_same_books_as_the_same_run_by_itself(tmp_path: Path) -> None:
    figures = json.loads(said("simulate", file_with(tmp_path, SCRIPTS), "--seed=5", "--json"))
    alone = json.loads(said("simulate", "--days=3", "--seed=5", "--json"))
    assert [run["firms"] for run in figures["runs"]] == [alone["firms"]]


@pytest.mark.django_db
def test_seeds_of_the_command_count_before_the_files(tmp_path: Path) -> None:
    file = file_with(tmp_path, SCRIPTS)
    assert len(json.loads(said("simulate", file, "--json", "--seed", "1", "2"))["runs"]) == 2
    assert [run.seed for run in Run.objects.order_by("pk")] == [1, 2]
    assert "± –" in said("simulate", file, "--seed=7")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--days=3"], "with --config the file says that: --days"),
        (["--player=roaster_A=passive", "--set=loss=0"], "the file says that: --player, --set"),
        (["--seed", "1", "1"], "seeds: must differ"),
        ([f"--seed={2**70}"], "out of range"),
        (["--seed=1", "--config=nowhere.toml"], "nowhere.toml: No such file"),
    ],
)
def test_simulate_refuses_what_does_not_go_with_an_experiment(tmp_path: Path, arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        said("simulate", file_with(tmp_path, SCRIPTS), *arguments)
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_simulate_names_a_file_and_the_lines_of_its_faults(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        said("simulate", file_with(tmp_path, f"{SCRIPTS}[run2]\n[economy]\nx = 1"))
    assert str(refused.value).startswith(f"{tmp_path}/trial.toml: line 14: run2: unknown section")
    assert "trial.toml: line 16: economy.x: unknown key" in str(refused.value)


@pytest.mark.django_db
def test_models_are_left_to_the_workers(tmp_path: Path) -> None:
    file = file_with(tmp_path, f'{SCRIPTS.replace("[4, 5, 6]", "[4, 5]")}[limits]\n'.replace(
        'farmer_A = "heuristic_farmer"', 'farmer_A = "gpt-5.5"'
    ))  # fmt: skip
    assert "trial, seed 4: started" in said("simulate", file)
    assert "trial, seed 5: started" in said("simulate", file, "--start")
    assert list(Run.objects.order_by("pk").values_list("seed", "status")) == [(4, "running"), (5, "running")] * 2


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [["--seed", "1", "2"], ["--seed", "1", "2", "--start"]])
def test_what_belongs_to_experiments_wants_one(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="with --config"):
        said("simulate", *arguments)


WITH_SEATS = """
[run]
max_days = 2
seeds = [1, 2]
[models]
default = "passive"
roaster_A = "human"
farmer_B = "remote"
"""


def test_people_and_programs_are_named_as_scripts_are() -> None:
    experiment = load_experiment(HEAD + WITH_SEATS)
    assert (experiment.players["roaster_A"], experiment.players["farmer_B"]) == ("human", "remote")
    assert experiment.models == {}
    everybody = load_experiment(HEAD + '[models]\ndefault = "human"\n')
    assert set(everybody.players.values()) == {"human"}


@pytest.mark.parametrize("section", ['[kpi]\nroaster_A = "revenue"', "[model_settings.roaster_A]\ntemperature = 0.5"])
def test_settings_of_a_person_are_refused_as_a_scripts_are(section: str) -> None:
    assert "human plays it, no model: it heeds no such settings" in problems(HEAD + WITH_SEATS + section)[0]


@pytest.mark.django_db
def test_an_experiment_with_seats_is_started_on_the_site_with_a_link_for_each(tmp_path: Path) -> None:
    file = file_with(tmp_path, WITH_SEATS)
    with pytest.raises(CommandError, match=r"farmer_B, roaster_A would wait here for ever .* give --start"):
        said("simulate", file)
    assert not Run.objects.exists()
    told = said("simulate", file, "--start")
    assert told.count("roaster_A, human: http://127.0.0.1:8000/seat/") == 2
    assert told.count("farmer_B, remote: SEAT_TOKEN=") == 2
    assert list(Run.objects.values_list("status", flat=True)) == ["running", "running"]


@pytest.mark.parametrize(
    ("content", "says"), [(b"\xff\xfe", "this is no text in UTF-8"), (b"#" * 90_000, "at most 20,000 characters")]
)
def test_a_file_that_cannot_be_read_is_said_so(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "trial.toml"
    file.write_bytes(content)
    with pytest.raises(ExperimentError, match=says):
        load_experiment(file)
