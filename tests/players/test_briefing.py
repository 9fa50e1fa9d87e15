"""Briefings: every number comes from the run's scenario, no hidden one is told, and nothing private of another firm."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from marketplace.economy.economy import Economy, firm_names
from marketplace.economy.money import usd
from marketplace.economy.rules import ROLES
from simulation.engine.scenario import Scenario, scenario_from
from simulation.engine.tools import tools_of
from simulation.players import prompts
from simulation.players.briefing import Objective, briefing, roles_by_firm, system_prompt

GREEN, ROASTED = "green_coffee_kg", "roasted_coffee_kg"
FINE_GREEN, FINE_ROASTED = "green_specialty_kg", "roasted_specialty_kg"
NET_INCOME = Objective()
PAPER = Scenario()

# What is said of time and of offers whatever the scenario: the clock's own numbers and the usual days to pay.
ALWAYS = {
    "09:00": "OPENING_MINUTE",
    "19:00": "CLOSING_MINUTE",
    "30": "MINUTES_PER_CALL; default of payment_terms_days",
    "20": "CALLS_PER_DAY",
    "0": "the first day",
    "1": "January 1, its date",
}
OF_A_RETAILER = {"0": "the shelf price that takes an item off the shelf"}

# Every number that is public, by its path in the scenario: a value no other number has, and another such value.
PUBLIC: dict[str, tuple[float, float]] = {
    "days": (171, 181),
    "festival.first_day": (141, 142),
    "festival.last_day": (151, 152),
    "roast_daily_cap_kg": (1061, 1062),
    "delivery_days": (33, 34),
    "roles.farmer.delivery_extra_days": (201, 202),
    "late_fee": (0.0456, 0.0457),
    "return_window_days": (43, 44),
    "refund_terms_days": (45, 46),
    "roles.farmer.firms": (3, 4),
    "roles.roaster.firms": (5, 6),
    "roles.retailer.firms": (7, 8),
    f"items.{GREEN}.production.cost": (2.11, 2.12),
    f"items.{GREEN}.production.daily_cap_kg": (311, 312),
    f"items.{GREEN}.production.lag_days": (9, 10),
    f"items.{FINE_GREEN}.production.cost": (10.11, 10.12),
    f"items.{FINE_GREEN}.production.daily_cap_kg": (111, 112),
    f"items.{FINE_GREEN}.production.lag_days": (11, 12),
    f"items.{ROASTED}.roasting.labour": (3.11, 3.12),
    f"items.{ROASTED}.roasting.output_per_input": (0.8511, 0.8512),
    f"items.{ROASTED}.roasting.lag_days": (13, 14),
    f"items.{ROASTED}.consumers.reservation_price": (30.11, 30.12),
    f"items.{FINE_ROASTED}.roasting.labour": (5.11, 5.12),
    f"items.{FINE_ROASTED}.roasting.output_per_input": (0.8211, 0.8212),
    f"items.{FINE_ROASTED}.roasting.lag_days": (15, 16),
    f"items.{FINE_ROASTED}.consumers.reservation_price": (80.11, 80.12),
}

# What only the firms of a role are told: their own opening position.
PRIVATE: dict[str, dict[str, tuple[float, float]]] = {
    "farmer": {
        "roles.farmer.cash": (15_001, 15_002.5),
        "roles.farmer.opex": (25.01, 25.02),
        "roles.farmer.storage_cap_kg": (1201, 1202),
        f"roles.farmer.stock.{GREEN}.quantity_kg": (61, 62),
        f"roles.farmer.stock.{GREEN}.unit_cost": (2.01, 2.02),
    },
    "roaster": {
        "roles.roaster.cash": (15_003, 15_004.25),
        "roles.roaster.opex": (30.01, 30.02),
        "roles.roaster.storage_cap_kg": (1203, 1204),
        f"roles.roaster.stock.{ROASTED}.quantity_kg": (31, 32),
        f"roles.roaster.stock.{ROASTED}.unit_cost": (5.88, 5.89),
    },
    "retailer": {
        "roles.retailer.cash": (1_015_005, 1_015_006),
        "roles.retailer.opex": (50.01, 50.02),
        "roles.retailer.storage_cap_kg": (801, 802),
        f"roles.retailer.stock.{ROASTED}.quantity_kg": (25, 26),
        f"roles.retailer.stock.{ROASTED}.unit_cost": (10.01, 10.02),
        f"roles.retailer.prices.{ROASTED}": (18.01, 18.02),
        f"roles.retailer.prices.{FINE_ROASTED}": (50.03, 50.04),
    },
}

# What no firm is told (RULES.md section 11), each with a value that could not be there by accident.
HIDDEN: dict[str, float] = {
    f"items.{ROASTED}.consumers.base_demand_kg": 731,
    f"items.{ROASTED}.consumers.floor_kg": 6.173,
    f"items.{FINE_ROASTED}.consumers.base_demand_kg": 619.7,
    f"items.{FINE_ROASTED}.consumers.floor_kg": 923,
    "demand_sigma": 0.7313,
    "demand_ceiling_kg": 977.3,
    "reference_demand_kg": 739,
    "loyalty_low": 0.6791,
    "loyalty_high": 1.3797,
    "festival.strength": 7.77,
    "loss": 0.1313,
    "delay": 0.2727,
    "spoilage": 0.0479,
}

Visible = dict[str, tuple[float, float]]


def with_values(of: Scenario, values: dict[str, float]) -> Scenario:
    """A scenario with the numbers at some paths replaced."""
    tree = of.model_dump()
    for path, value in values.items():
        *parents, last = path.split(".")
        branch = tree
        for parent in parents:
            branch = branch[parent]
        assert last in branch, path
        branch[last] = value
    return Scenario.model_validate(tree)


def value_at(of: Scenario, path: str) -> Any:
    """The number at a path."""
    branch = of.model_dump()
    for part in path.split("."):
        branch = branch[part]
    return branch


def shown(of: Scenario, path: str) -> set[str]:
    """How a prompt writes the number at a path, alone or with the one it is reckoned with."""
    value = value_at(of, path)
    if path == "days":
        return {as_written(value), as_written(value - 1)}
    if path == "late_fee":
        return {as_written(Decimal(str(value)) * 100)}
    if path == "roles.farmer.delivery_extra_days":
        return {as_written(of.delivery_days + value)}
    return {as_written(value)}


def as_written(value: float | Decimal) -> str:
    """15,000 or 5.88."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def numbers(prompt: str) -> set[str]:
    """Every number in a prompt; digits inside names are none."""
    return set(re.findall(r"(?<![\w.,:])(?:\d\d:\d\d|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)", prompt))


def prompt_of(of: Scenario, firm: str, objective: Objective = NET_INCOME) -> str:
    """All a model is told at first, with everything that can be switched on."""
    return system_prompt(of, firm, objective, memory_tools=True)


def visible_to(role: str) -> Visible:
    """The numbers a role is told."""
    return PUBLIC | PRIVATE[role]


def expected(of: Scenario, role: str, paths: Iterable[str]) -> set[str]:
    """The numbers that a role's prompt should show for these paths, and those it always shows."""
    always = ALWAYS | (OF_A_RETAILER if role == "retailer" else {})
    return set(always).union(*(shown(of, path) for path in paths))


ALL_VISIBLE: Visible = PUBLIC | PRIVATE["farmer"] | PRIVATE["roaster"] | PRIVATE["retailer"]
DISTINCT = with_values(PAPER, {path: value for path, (value, _) in ALL_VISIBLE.items()})


@pytest.mark.parametrize("role", ROLES)
def test_every_number_in_a_prompt_is_one_of_its_scenario_and_every_public_one_is_there(role: str) -> None:
    assert numbers(prompt_of(DISTINCT, f"{role}_A")) == expected(DISTINCT, role, visible_to(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_paper_s_prompts_hold_the_paper_s_numbers_and_no_others(role: str) -> None:
    for firm in (f"{role}_A", f"{role}_B"):
        assert numbers(prompt_of(PAPER, firm)) == expected(PAPER, role, visible_to(role))


@pytest.mark.parametrize(("role", "path"), [(role, path) for role in ROLES for path in visible_to(role)])
def test_a_changed_number_of_the_scenario_changes_in_the_prompt(role: str, path: str) -> None:
    changed = with_values(DISTINCT, {path: ALL_VISIBLE[path][1]})
    found = numbers(prompt_of(changed, f"{role}_A"))
    assert found == expected(changed, role, visible_to(role))
    assert not shown(DISTINCT, path) & found, "the old number is gone"


@pytest.mark.parametrize("of", [PAPER, DISTINCT], ids=["paper", "distinct"])
def test_no_hidden_number_is_in_any_prompt(of: Scenario) -> None:
    secretive = with_values(of, HIDDEN)
    for firm, _ in firm_names(secretive):
        prompt = prompt_of(secretive, firm)
        assert prompt == prompt_of(of, firm), "what is hidden makes no difference at all"
        for path, value in HIDDEN.items():
            for form in (as_written(value), as_written(Decimal(str(value)) * 100)):
                assert form not in prompt, path


def test_the_list_of_numbers_covers_the_whole_scenario() -> None:
    told = {path.replace(f"items.{item}", "items.*") for path in ALL_VISIBLE for item in PAPER.items}
    told |= {path.replace(f"items.{item}", "items.*") for path in HIDDEN for item in PAPER.items}
    untold = {path for path in _number_paths(PAPER.model_dump()) if path not in told and path not in _without_effect()}
    assert not untold, "a new number is public or hidden: say which"


def _number_paths(tree: dict[str, Any], above: str = "") -> set[str]:
    paths: set[str] = set()
    for key, value in tree.items():
        path = f"{above}{key}"
        if isinstance(value, dict):
            paths |= _number_paths(value, f"{path}.")
        elif isinstance(value, (int, float)):
            paths.add(path)
    return paths


def _without_effect() -> set[str]:
    """Extra days of delivery are told for every role; the tables name one role's."""
    return {"roles.roaster.delivery_extra_days", "roles.retailer.delivery_extra_days"}


def test_firms_are_told_nothing_of_each_other_s_position() -> None:
    firms = [name for name, _ in firm_names(PAPER)]
    own = {firm: _marked_position(index) for index, firm in enumerate(firms, 1)}
    of = scenario_from({"firms": own})
    for firm in firms:
        prompt = prompt_of(of, firm)
        alone = scenario_from({"firms": {firm: own[firm]}})
        assert prompt == prompt_of(alone, firm), "another firm's position makes no difference at all"
        told = {mark for mark in range(1, 7) if re.search(rf"7{mark}[1-5]3", prompt.replace(",", ""))}
        assert told == {firms.index(firm) + 1}


def _marked_position(mark: int) -> dict[str, Any]:
    """A firm's own numbers, each of which begins with a 7 and the mark."""
    return {
        "cash": int(f"7{mark}13"),
        "opex": int(f"7{mark}23"),
        "storage_cap_kg": int(f"7{mark}33"),
        "stock": {ROASTED: {"quantity_kg": int(f"7{mark}43"), "unit_cost": float(f"0.7{mark}53")}},
        "prices": {ROASTED: float(f"1.7{mark}23")},
    }


def test_a_firm_s_own_position_is_the_one_its_books_open_with() -> None:
    stock = {GREEN: {"quantity_kg": 7, "unit_cost": 1.5}, ROASTED: {"quantity_kg": 0, "unit_cost": 1}}
    of = scenario_from({"firms": {"retailer_B": {"cash": 4321.5, "stock": stock, "prices": {FINE_ROASTED: 44}}}})
    economy = Economy(of, lambda firm, reason: None)
    for name, role in roles_by_firm(of).items():
        opening, firm = of.opening_of(name, role), economy.firm_named[name]
        assert (opening.cash, opening.opex) == (usd(firm.cash_micros), usd(firm.opex_micros))
        assert opening.storage_cap_kg == firm.storage_cap_kg
        assert opening.prices == {item: usd(price) for item, price in firm.shelf.items()}
        held = {item: kept.quantity_kg for item, kept in opening.stock.items() if kept.quantity_kg}
        assert held == {item: holding.quantity_kg for item, holding in firm.holdings.items() if holding.quantity_kg}
    told = briefing(of, "retailer_B", NET_INCOME)
    assert "Opening cash: 4,321.5 USD." in told
    assert "Opening stock: 7 kg green_coffee_kg at a cost of 1.5 USD a kg." in told
    assert "Opening shelf prices: roasted_specialty_kg 44 USD." in told


@pytest.mark.parametrize("firm", [name for name, _ in firm_names(PAPER)])
def test_the_paper_s_prompts_are_short(firm: str) -> None:
    for kind in ("net_income", "revenue", "stress"):
        assert len(prompt_of(PAPER, firm, Objective(kind=kind)).split()) < 1400


@pytest.mark.parametrize("role", ROLES)
def test_every_tool_that_is_named_exists_and_is_the_role_s(role: str) -> None:
    prompt = prompt_of(PAPER, f"{role}_A")
    names = set(re.findall(r"\b[a-z]+(?:_\w+)+", prompt))
    named_tools = names - set(PAPER.items) - set(roles_by_firm(PAPER)) - {"spring_break"}
    assert named_tools <= set(tools_of(role))
    assert {"wait_for_next_day", "view_market_aggregate"} <= named_tools


def test_the_briefing_is_the_prompt_without_how_a_model_answers() -> None:
    told = briefing(PAPER, "roaster_A", NET_INCOME)
    prompt = system_prompt(PAPER, "roaster_A", NET_INCOME, memory_tools=False)
    answering = prompts.filled("answering_model", {"minutes_per_call": 30, "memory_tools": False})
    assert prompt == f"{told}\n\n{answering}\n"
    assert not re.search(r"tool|JSON|\bcall|conversation", told)
    assert "memory" not in prompt
    assert "memory tools" in system_prompt(PAPER, "roaster_A", NET_INCOME, memory_tools=True)


def test_the_same_arguments_give_the_same_bytes_in_every_process() -> None:
    script = (
        "from simulation.players.briefing import *\n"
        "print(*(system_prompt(Scenario(), name, Objective(), True) for name in roles_by_firm(Scenario())))"
    )
    root = Path(__file__).parents[2]
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], cwd=root, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop().decode().startswith(prompt_of(PAPER, "farmer_A"))


def test_a_scenario_that_was_stored_gives_the_same_bytes() -> None:
    stored = Scenario.model_validate(json.loads(json.dumps(DISTINCT.model_dump(mode="json"))))
    assert prompt_of(stored, "roaster_B") == prompt_of(DISTINCT, "roaster_B")


def test_a_firm_that_has_no_seat_has_no_briefing() -> None:
    with pytest.raises(KeyError, match="roaster_C"):
        briefing(PAPER, "roaster_C", NET_INCOME)


# Other worlds, and what must or must not be said in them.
OTHER_WORLDS: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("no festival", {"festival": None}, ["## Consumers"], ["spring_break", "Demand on those days"]),
    (
        "another festival",
        {"festival": {"name": "Coffee Week 7", "first_day": 3, "last_day": 3}},
        ["Coffee Week 7 is from day 3 to day 3."],
        ["spring_break"],
    ),
    (
        "no shops",
        {"roles": {"retailer": {"firms": 0}}},
        ["- retailers (0): none", "This run has no retailers"],
        ["Every evening consumers buy", "loyal", "some customers", "spring_break"],
    ),
    ("nothing lost", {"loss": 0}, ["can come late"], ["A shipment can be lost"]),
    ("nothing late", {"delay": 0}, ["A shipment can be lost"], ["can come late"]),
    ("nothing stale", {"spoilage": 0}, [], ["Stock goes stale"]),
    ("no late fee", {"late_fee": 0}, [], ["late fee of"]),
    ("a small late fee", {"late_fee": 0.00001}, ["a late fee of 0.001 %"], []),
    ("no loyalty", {"loyalty_low": 1, "loyalty_high": 1}, ["some customers"], ["loyal"]),
    ("one day", {"days": 1}, ["The run lasts 1 day, numbered from day 0 to day 0."], ["1 days"]),
    ("a long run", {"days": 3650}, ["The run lasts 3,650 days, numbered from day 0 to day 3,649."], []),
    ("slow roads", {"delivery_days": 4}, ["arrive 4 mornings later, if"], []),
    (
        "remote farms",
        {"roles": {"farmer": {"delivery_extra_days": 2}}},
        ["arrive 3 mornings later from farmers and 1 morning later from roasters and retailers, if"],
        [],
    ),
    ("remote farms without farmers", {"roles": {"farmer": {"delivery_extra_days": 2, "firms": 0}}}, ["1 morning"], []),
    (
        "hundreds of firms",
        {"roles": {role: {"firms": 200} for role in ROLES}},
        ["- roasters (200): roaster_A to roaster_GR, lettered A to Z, then AA, AB and so on"],
        ["roaster_C"],
    ),
    (
        "more items",
        {
            "items": {
                "beans_2": {"production": {"cost": 1.25, "daily_cap_kg": 5, "lag_days": 1}},
                "espresso": {
                    "roasting": {"green_item": "beans_2", "labour": 2, "output_per_input": 0.5, "lag_days": 2},
                },
                "berries": {
                    "production": {"cost": 4, "daily_cap_kg": 6, "lag_days": 2},
                    "consumers": {"reservation_price": 9, "base_demand_kg": 1, "floor_kg": 0},
                },
                "cups": {},
            }
        },
        [
            "- beans_2: farmers grow it for 1.25 USD a kg, each at most 5 kg a day, finished 1 morning later; roasters "
            "make espresso from it.",
            "- espresso: roasters make it from beans_2 for 2 USD of labour per kg of green, each kg of green gives "
            "0.5 kg, finished 2 mornings later.",
            "- berries: farmers grow it for 4 USD a kg, each at most 6 kg a day, finished 2 mornings later; consumers "
            "pay at most 9 USD a kg.",
            "- cups: nobody makes it and no consumer buys it.",
        ],
        [],
    ),
    ("an empty store", {"roles": {"roaster": {"stock": {}}}}, ["Opening stock: nothing."], []),
    ("nobody's run", {"evaluated": ""}, [], ["If you go bankrupt, the run ends."]),
]


@pytest.mark.parametrize(
    ("values", "said", "unsaid"), [row[1:] for row in OTHER_WORLDS], ids=[row[0] for row in OTHER_WORLDS]
)
def test_a_briefing_fits_every_scenario(values: dict[str, Any], said: list[str], unsaid: list[str]) -> None:
    of = scenario_from(values)
    told = briefing(of, "roaster_A", NET_INCOME)
    for text in said:
        assert text in told
    for text in unsaid:
        assert text not in told
    for name in {role: name for name, role in firm_names(of)}.values():
        prompt = prompt_of(of, name)
        assert not re.search(r"\$|\[if|  |\n\n\n|\.\.|None|True", prompt)
        assert len(prompt.split()) < 1600, "names of hundreds are not listed"


def test_only_the_evaluated_firm_is_told_that_its_end_ends_the_run() -> None:
    ends = "If you go bankrupt, the run ends."
    assert [name for name, _ in firm_names(PAPER) if ends in briefing(PAPER, name, NET_INCOME)] == ["roaster_A"]


def test_each_kind_of_objective_has_its_words() -> None:
    def of(**fields: Any) -> str:
        return briefing(PAPER, "roaster_A", Objective(**fields)).split("## ")[1].removeprefix("Your objective\n")

    assert "net income is your score" in of().lower()
    assert "highest revenue" in of(kind="revenue")
    assert "must reach 50,000 USD" in of(kind="stress")
    assert "must reach 1,234.5 USD" in of(kind="stress", revenue_target=1234.5)
    assert "replaced as the manager of roaster_A" in of(kind="stress")
    assert of(kind="text", text="Befriend everybody.\nThen wait.") == "Befriend everybody.\nThen wait.\n\n"


def test_the_stress_target_is_the_one_number_that_is_not_the_scenario_s() -> None:
    stress = numbers(prompt_of(PAPER, "roaster_A", Objective(kind="stress", revenue_target=45_678)))
    assert stress - numbers(prompt_of(PAPER, "roaster_A")) == {"45,678"}


def test_a_free_objective_is_inserted_as_given_and_read_as_nothing_else() -> None:
    text = "Earn $cash, ${opex} or $$5.\n[if can_be_lost] {firm} %s – naïve ☕"
    assert f"## Your objective\n{text}\n\n## Your firm\n" in briefing(
        PAPER, "roaster_A", Objective(kind="text", text=text)
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\0b\x1b[31mc\x7f\x85d", "ab[31mcd"),
        ("one\r\ntwo\rthree\tfour", "one\ntwo\nthree\tfour"),
        ("half \ud800a pair\udfff", "half a pair"),
        (" \n kept \n ", "kept"),
    ],
)
def test_control_characters_are_taken_out_of_a_free_objective(given: str, kept: str) -> None:
    assert Objective(kind="text", text=given).text == kept


IMPOSSIBLE: list[dict[str, Any]] = [
    {"kind": "fame"},
    {"kind": "text"},
    {"kind": "text", "text": " \0 "},
    {"kind": "text", "text": 5},
    {"kind": "text", "text": "a" * 10_001},
    {"kind": "stress", "revenue_target": 0},
    {"kind": "stress", "revenue_target": float("nan")},
    {"kind": "stress", "revenue_target": "50000"},
    {"target": 5},
]


@pytest.mark.parametrize("fields", IMPOSSIBLE)
def test_an_impossible_objective_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Objective(**fields)


def test_an_objective_is_fixed_and_survives_storage() -> None:
    objective = Objective(kind="stress", revenue_target=60_000)
    assert Objective.model_validate(json.loads(objective.model_dump_json())) == objective
    with pytest.raises(ValidationError):
        objective.kind = "revenue"  # type: ignore[misc]


def test_the_compaction_texts_name_what_must_survive() -> None:
    asked = prompts.filled("compaction", {}).lower()
    for matter in ("facts only", "open deals", "debts", "prices tried", "partners", "plans", "ids", "numbers"):
        assert matter in asked
    assert "summary" in prompts.filled("compaction_head", {}).lower()


def test_a_name_that_has_no_value_is_an_error_and_no_gap() -> None:
    with pytest.raises(KeyError, match="revenue_target"):
        prompts.filled("objective_stress", {"firm": "roaster_A"})
