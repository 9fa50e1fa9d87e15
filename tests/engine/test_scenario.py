"""Scenarios: what is refused and in which words, how values are overridden, and that a run's own cannot change."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from simulation.engine.decision import WAIT
from simulation.engine.scenario import Festival, Scenario, ScenarioError, scenario_from, scenario_from_file
from simulation.engine.world import World
from tests.engine.table import GREEN, ROASTED, Table

NAN, INFINITY = float("nan"), float("inf")


def test_the_defaults_are_the_published_economy() -> None:
    paper = Scenario()
    assert (paper.name, paper.days, paper.evaluated) == ("paper", 90, "roaster_A")
    assert (paper.loss, paper.delay, paper.late_fee, paper.spoilage) == (0.015, 0.07, 0.001, 0.005)
    assert paper.festival == Festival(name="spring_break", first_day=40, last_day=53, strength=3.0)
    assert [(name, role.firms, role.cash, role.opex, role.storage_cap_kg) for name, role in paper.roles.items()] == [
        ("farmer", 2, 15_000, 25, 120),
        ("roaster", 2, 15_000, 30, 120),
        ("retailer", 2, 15_000, 50, 80),
    ]
    assert list(paper.items) == [GREEN, ROASTED, "green_specialty_kg", "roasted_specialty_kg"]


# What a file or a form says, and the beginning of what it is told.
REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"dayz": 3}, "dayz: unknown key"),
    ({"roles": {"farmer": {"money": 3}}}, "roles.farmer.money: unknown key"),
    ({"festival": {"factor": 3}}, "festival.factor: unknown key"),
    ({"items": {GREEN: {"production": {"price": 3}}}}, f"items.{GREEN}.production.price: unknown key"),
    ({"firms": {"roaster_A": {"firms": 3}}}, "firms.roaster_A.firms: unknown key"),
    ({"roles": {"baker": {"opex": 1, "storage_cap_kg": 1}}}, "roles.baker"),
    ({"days": 0}, "days: input should be greater than or equal to 1 (got 0)"),
    ({"days": 3651}, "days: input should be less than or equal to 3650 (got 3651)"),
    ({"days": 90.0}, "days: input should be a valid integer (got 90.0)"),
    ({"days": True}, "days: input should be a valid integer (got True)"),
    ({"days": "90"}, "days: input should be a valid integer (got '90')"),
    ({"days": None}, "days: input should be a valid integer (got None)"),
    ({"days": [90]}, "days: input should be a valid integer (got <list>)"),
    ({"days": 10**5000}, "days: input should be less than or equal to 3650 (got <int>)"),
    ({"late_fee": NAN}, "late_fee: input should be a finite number (got nan)"),
    ({"late_fee": INFINITY}, "late_fee: input should be a finite number (got inf)"),
    ({"late_fee": True}, "late_fee: input should be a valid number (got True)"),
    ({"late_fee": -0.1}, "late_fee: input should be greater than or equal to 0 (got -0.1)"),
    ({"spoilage": 1.1}, "spoilage: input should be less than or equal to 1 (got 1.1)"),
    ({"loss": 0.6, "delay": 0.5}, "loss 0.6 and delay 0.5 together exceed 1"),
    ({"opex": -1}, "roles.farmer.opex: input should be greater than or equal to 0 (got -1)"),
    ({"opex": 0.0000001}, "roles.farmer.opex: must have at most 6 decimals (got 1e-07)"),
    ({"roles": {"farmer": {"cash": 1e308}}}, "roles.farmer.cash: input should be less than or equal to 10000000"),
    ({"roles": {"farmer": {"firms": 1.5}}}, "roles.farmer.firms: input should be a valid integer"),
    ({"roles": 5}, "roles: input should be a valid dictionary (got 5)"),
    ({"roles": {role: {"firms": 0} for role in ("farmer", "roaster", "retailer")}}, "roles seat no firm at all"),
    ({"roles": {"farmer": {"firms": 597}}}, "roles seat 601 firms; at most 600 are allowed"),
    (
        {"evaluated": "roaster_C"},
        "evaluated firm roaster_C does not exist; the firms are farmer_A, farmer_B, roaster_A",
    ),
    ({"firms": {"roaster_C": {"cash": 1}}}, "firms.roaster_C does not exist; the firms are farmer_A"),
    (
        {"firms": {"roaster_A": {"stock": {"tea_kg": {"quantity_kg": 1, "unit_cost": 1}}}}},
        "roaster_A: tea_kg is not an",
    ),
    (
        {"roles": {"retailer": {"prices": {"tea_kg": 1}}}},
        "retailer: tea_kg is not an item; the items are green_coffee_kg",
    ),
    ({"festival": {"first_day": 10, "last_day": 9}}, "festival: last_day 9 is before first_day 10"),
    ({"festival": {"strength": NAN}}, "festival.strength: input should be a finite number (got nan)"),
    ({"loyalty_low": 2.0}, "loyalty_low 2.0 is above loyalty_high 1.15"),
    ({"reference_demand_kg": 0}, "reference_demand_kg: input should be greater than 0 (got 0)"),
    ({"items": {"Tea!": {}}}, "items.Tea!"),
    (
        {"items": {ROASTED: {"roasting": {"green_item": "tea_kg"}}}},
        f"items.{ROASTED}.roasting.green_item tea_kg is not",
    ),
    (
        {"items": {"roasted_specialty_kg": {"roasting": {"green_item": GREEN}}}},
        "items: green_coffee_kg is roasted into two items",
    ),
    ({"items": {ROASTED: {"roasting": {"output_per_input": 0}}}}, f"items.{ROASTED}.roasting.output_per_input: input"),
    ({"items": {ROASTED: {"consumers": {"reservation_price": 0}}}}, f"items.{ROASTED}.consumers.reservation_price"),
    ({"delivery_days": 0}, "delivery_days: input should be greater than or equal to 1 (got 0)"),
    ({"name": ""}, "name: string should have at least 1 character (got '')"),
]


@pytest.mark.parametrize(("values", "words"), REFUSALS, ids=[words.split(":")[0][:50] for _, words in REFUSALS])
def test_unknown_keys_and_impossible_values_are_refused_by_name(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from(values)
    assert any(problem.startswith(words) for problem in refusal.value.problems), refusal.value.problems


def test_everything_wrong_is_named_at_once() -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from({"dayz": 1, "loss": 2, "festival": {"strength": -1}})
    assert [problem.split(":")[0] for problem in refusal.value.problems] == ["loss", "festival.strength", "dayz"]


def test_a_file_names_only_what_differs_and_settings_go_on_top(tmp_path: Path) -> None:
    path = tmp_path / "hard.toml"
    path.write_text('name = "hard"\nloss = 0.1\n[roles.roaster]\nopex = 40\n[firms.roaster_B]\ncash = 5\n')
    scenario = scenario_from_file(path, ["loss=0.2", "roles.roaster.firms=3", "festival.strength=1.5"])
    assert (scenario.name, scenario.loss, scenario.delay) == ("hard", 0.2, 0.07)
    assert (scenario.roles["roaster"].opex, scenario.roles["roaster"].firms) == (40, 3)
    assert scenario.roles["roaster"].cash == 15_000, "what the file is silent about stays the paper's"
    assert scenario.firms["roaster_B"].cash == 5
    assert scenario.festival == Festival(strength=1.5)


def test_without_a_file_the_settings_change_the_paper() -> None:
    scenario = scenario_from_file(Path(), ["late_fee=0.002", "name=mine", "days=7"])
    assert (scenario.late_fee, scenario.name, scenario.days) == (0.002, "mine", 7)


def test_an_operating_cost_on_top_is_short_for_every_role() -> None:
    assert {role.opex for role in scenario_from({"opex": 60}).roles.values()} == {60}


def test_stock_and_prices_are_replaced_whole() -> None:
    changes = {"stock": {"green_specialty_kg": {"quantity_kg": 5, "unit_cost": 10}}}
    farmer = scenario_from({"roles": {"farmer": changes}}).roles["farmer"]
    assert list(farmer.stock) == ["green_specialty_kg"], "naming what a farmer opens with leaves nothing else"


SETTINGS_REFUSED = [
    ("days", "'days': a setting is written key=value, as late_fee=0.002"),
    ("=5", "'=5': a setting is written key=value"),
    ("a b=3", "'a b=3': a setting is written key=value"),
    ("days=soon", "days: input should be a valid integer (got 'soon')"),
    ("days=" + "9" * 5000, "days: input should be a valid integer"),
    ("days=" + "[" * 5000, "days: input should be a valid integer"),
    ("late_fee" + ".a" * 2000 + "=1", "late_fee: input should be a valid number (got <dict>)"),
    ("firms.roaster_Q.cash=3", "firms.roaster_Q does not exist"),
]


@pytest.mark.parametrize(("setting", "words"), SETTINGS_REFUSED, ids=[setting[:20] for setting, _ in SETTINGS_REFUSED])
def test_settings_that_cannot_be_are_refused_in_words(setting: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from_file(Path(), [setting])
    assert str(refusal.value).startswith(words)


FILES_REFUSED = [
    (b"days = ", "not TOML"),
    (b"\xff\xfe", "not TOML"),
    (b"days = " + b"9" * 5000, "not TOML"),
    (b"days = " + b"[" * 5000, "not TOML"),
    (b"dayz = 1", "dayz: unknown key"),
]


@pytest.mark.parametrize(("content", "words"), FILES_REFUSED, ids=["cut off", "binary", "digits", "brackets", "key"])
def test_files_that_hold_no_scenario_are_refused_in_words(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=words):
        scenario_from_file(path, [])


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        scenario_from_file(tmp_path / "nowhere.toml", [])


def test_a_scenario_is_frozen() -> None:
    scenario = Scenario()
    with pytest.raises(ValidationError, match="frozen"):
        scenario.loss = 0.5  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        scenario.roles["farmer"].cash = 0  # type: ignore[misc]


def test_json_and_back_gives_an_equal_scenario() -> None:
    scenario = scenario_from(
        {"days": 12, "opex": 0.1, "festival": None, "firms": {"farmer_B": {"cash": 1.25}}, "items": {"tea_kg": {}}}
    )
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario
    assert Scenario.model_validate(scenario.model_dump(mode="json")) == scenario
    assert scenario_from(scenario.model_dump(mode="json")) == scenario


def test_two_worlds_with_different_scenarios_in_one_process_never_touch_each_other() -> None:
    alone = Table(days=4)
    alone.play_out()
    calm = Table(days=4)
    harsh = Table(days=4, opex=777, festival={"first_day": 0}, items={GREEN: {"production": {"cost": 9}}}, loss=1)
    for _ in range(4):
        calm.step()
        harsh.do("farmer_A", "produce_item", item_id=GREEN, quantity=5)
        harsh.step()
        harsh.until_day(harsh.world.day + 1) if harsh.world.day < 3 else harsh.play_out()
    calm.play_out()
    assert calm.economy.transfers == alone.economy.transfers
    assert calm.economy.events == alone.economy.events
    assert harsh.economy.transfers != alone.economy.transfers
    assert Scenario() == scenario_from({}), "and the paper is still the paper"


def wait_out(world: World) -> World:
    """Everybody waits until the end."""
    while step := world.open_step():
        world.apply(dict.fromkeys(step.firms, WAIT))
    return world


def test_thirty_firms_of_a_role_have_letters_beyond_z() -> None:
    world = wait_out(World(scenario_from({"days": 2, "roles": {"farmer": {"firms": 30}}}), 0))
    names = [firm.name for firm in world.economy.firms]
    assert names[24:31] == ["farmer_Y", "farmer_Z", "farmer_AA", "farmer_AB", "farmer_AC", "farmer_AD", "roaster_A"]
    assert len(world.day_ends) == 2 * 34
    assert world.economy.firm_named["farmer_AD"].score_micros == -2 * 25_000_000


def test_a_world_without_retailers_sells_nothing_to_consumers() -> None:
    world = wait_out(World(scenario_from({"days": 3, "roles": {"retailer": {"firms": 0}}}), 0))
    assert world.ended == "finished"
    assert world.economy.sales == []


def test_a_world_of_one_firm_runs() -> None:
    roles = {"farmer": {"firms": 0}, "roaster": {"firms": 0}, "retailer": {"firms": 1}}
    world = wait_out(World(scenario_from({"days": 3, "roles": roles, "evaluated": "retailer_A"}), 0))
    assert [firm.name for firm in world.economy.firms] == ["retailer_A"]
    assert world.economy.sales


def test_six_hundred_firms_live_through_a_day() -> None:
    roles = {"farmer": {"firms": 200}, "roaster": {"firms": 200}, "retailer": {"firms": 200}}
    world = wait_out(World(scenario_from({"days": 1, "roles": roles}), 0))
    assert len(world.day_ends) == 600
    assert world.economy.firms[-1].name == "retailer_GR"  # the 200th: 7 × 26 + 18


def test_one_firm_may_open_with_other_stock_cash_cost_room_and_prices_than_its_role() -> None:
    own = {
        "cash": 7.5,
        "opex": 1.25,
        "storage_cap_kg": 9,
        "stock": {GREEN: {"quantity_kg": 3, "unit_cost": 1.5}},
        "prices": {ROASTED: 21.5},
    }
    table = Table(firms={"retailer_B": own})
    assert table.cash("retailer_B") == 7.5 - 1.25
    assert table.holds("retailer_B", GREEN) == (3, 4.5)
    assert table.holds("retailer_B", ROASTED) == (0, 0)
    assert table.firm("retailer_B").storage_cap_kg == 9
    assert table.firm("retailer_B").shelf == {ROASTED: 21_500_000}
    assert table.cash("retailer_A") == 15_000 - 50
