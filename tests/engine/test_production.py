"""Making goods: farmers produce, roasters roast (RULES.md sections 2 and 5)."""

from typing import Any

import pytest

from tests.engine.table import GREEN, ROASTED, SPECIAL_GREEN, SPECIAL_ROASTED, Table, letter_to, opening, stock

FULL = opening(roaster_A={"stock": stock(green_coffee_kg=(60, 2.0), green_specialty_kg=(40, 10.0))})


def test_what_a_farmer_produces_is_paid_at_once_and_lands_two_mornings_later() -> None:
    table = Table()
    assert table.do("farmer_A", "produce_item", item_id=GREEN, quantity=30) == {
        "ok": True,
        "batch_id": "B1",
        "item_id": GREEN,
        "output_kg": 30,
        "cost": 60.0,
        "lands_day": 2,
    }
    assert table.cash("farmer_A") == 15_000 - 25 - 60
    assert table.account("farmer_A", "work_in_progress") == 60
    table.until_day(1)
    assert table.holds("farmer_A", GREEN) == (60, 120.0)
    table.until_day(2)
    assert table.holds("farmer_A", GREEN) == (90, 180.0)
    assert table.account("farmer_A", "work_in_progress") == 0
    assert table.firm("farmer_A").score_micros == -3 * 25_000_000, "making moves value and earns none"
    table.check_books()


def test_each_green_has_a_cap_of_its_own_a_day_and_it_is_new_every_morning() -> None:
    table = Table(**opening(farmer_A={"stock": {}}))
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=20)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=10)
    table.do("farmer_A", "produce_item", item_id=SPECIAL_GREEN, quantity=10)
    assert table.refusal("farmer_A", "produce_item", item_id=GREEN, quantity=1) == (
        "quantity 1 exceeds the 0 kg left today of the 30 kg a day of green_coffee_kg"
    )
    table.until_day(1)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=30)


def test_a_roast_takes_green_and_labour_and_gives_roasted_the_next_morning() -> None:
    table = Table(**FULL)
    assert table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=20) == {
        "ok": True,
        "batch_id": "B1",
        "item_id": ROASTED,
        "output_kg": 17,
        "cost": 100.0,  # 20 kg at 2.00 and as many at 3.00 of labour
        "lands_day": 1,
    }
    assert table.holds("roaster_A", GREEN) == (40, 80.0)
    assert table.cash("roaster_A") == 15_000 - 30 - 60
    assert table.account("roaster_A", "work_in_progress") == 100
    table.until_day(1)
    assert table.holds("roaster_A", ROASTED) == (17, 100.0)
    table.check_books()


@pytest.mark.parametrize(
    ("green", "input_kg", "output_kg"),
    [
        (GREEN, 1, 1),  # 0.85
        (GREEN, 10, 8),  # 8.5, and the tie goes to the even number
        (GREEN, 30, 26),  # 25.5
        (GREEN, 50, 42),  # 42.5
        (SPECIAL_GREEN, 1, 1),  # 0.82
        (SPECIAL_GREEN, 3, 2),  # 2.46
        (SPECIAL_GREEN, 25, 20),  # 20.5
    ],
)
def test_the_output_of_a_roast_is_rounded_half_to_even(green: str, input_kg: int, output_kg: int) -> None:
    table = Table(**FULL)
    assert table.do("roaster_A", "roast", green_item_id=green, qty_kg=input_kg)["output_kg"] == output_kg


def test_both_roasts_share_one_cap_of_green_a_day() -> None:
    table = Table(**FULL)
    table.do("roaster_A", "roast", green_item_id=SPECIAL_GREEN, qty_kg=20)
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=30)
    assert table.refusal("roaster_A", "roast", green_item_id=GREEN, qty_kg=1) == (
        "qty_kg 1 exceeds the 0 kg left today of the 50 kg of green a day"
    )
    table.until_day(1)
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=30)


def test_a_roast_into_a_full_store_is_allowed_when_what_comes_out_fits_where_the_green_was() -> None:
    table = Table(**opening(roaster_A={"stock": stock(green_coffee_kg=(120, 2.0))}))
    assert table.firm("roaster_A").committed_kg == 120
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=50)
    assert table.firm("roaster_A").committed_kg == 112


def test_room_for_production_counts_what_is_on_hand_in_work_and_on_its_way() -> None:
    table = Table(**opening(farmer_A={"storage_cap_kg": 100}))
    table.sell("farmer_B", "farmer_A", GREEN, 15, 3.0)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=15)  # 60 + 15 on their way + 15 in work: 10 kg free
    assert table.refusal("farmer_A", "produce_item", item_id=GREEN, quantity=11).startswith(
        "11 kg would come out, but storage has room for 10 kg more (cap 100 kg"
    )
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=10)


@pytest.mark.parametrize(("cash", "is_made"), [(25 + 20, True), (44.99, False)])
def test_production_takes_cash_that_covers_it(cash: float, *, is_made: bool) -> None:
    table = Table(**opening(farmer_A={"cash": cash}))
    assert table.call("farmer_A", "produce_item", item_id=GREEN, quantity=10)["ok"] == is_made


POOR_AND_FULL = opening(
    farmer_A={"cash": 30, "storage_cap_kg": 70},
    roaster_A={"cash": 60, "stock": stock(green_coffee_kg=(40, 2.0))},
    roaster_B={"storage_cap_kg": 60, "stock": stock(green_coffee_kg=(60, 2.0), roasted_coffee_kg=(30, 5.0))},
)
REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    ("farmer_A", "produce_item", {"item_id": GREEN, "quantity": 31}, "quantity 31 exceeds the 30 kg left today"),
    (
        "farmer_A",
        "produce_item",
        {"item_id": SPECIAL_GREEN, "quantity": 11},
        "quantity 11 exceeds the 10 kg left today",
    ),
    ("farmer_A", "produce_item", {"item_id": GREEN, "quantity": 3}, "this costs 6.0 USD at once, but cash is 5.0 USD"),
    ("farmer_B", "produce_item", {"item_id": ROASTED, "quantity": 3}, "item_id roasted_coffee_kg is not grown;"),
    ("farmer_B", "produce_item", {"item_id": "tea_kg", "quantity": 3}, "there is no item 'tea_kg'"),
    ("farmer_B", "roast", {"green_item_id": GREEN, "qty_kg": 3}, "farmer_B has no tool 'roast'; its tools are"),
    ("roaster_A", "produce_item", {"item_id": GREEN, "quantity": 3}, "roaster_A has no tool 'produce_item'"),
    ("retailer_A", "roast", {"green_item_id": GREEN, "qty_kg": 3}, "retailer_A has no tool 'roast'"),
    ("roaster_A", "roast", {"green_item_id": GREEN, "qty_kg": 51}, "qty_kg 51 exceeds the 50 kg left today"),
    ("roaster_A", "roast", {"green_item_id": GREEN, "qty_kg": 41}, "qty_kg 41 exceeds the 40 kg of green_coffee_kg on"),
    (
        "roaster_A",
        "roast",
        {"green_item_id": SPECIAL_GREEN, "qty_kg": 1},
        "qty_kg 1 exceeds the 0 kg of green_specialty",
    ),
    ("roaster_A", "roast", {"green_item_id": GREEN, "qty_kg": 11}, "this costs 33.0 USD at once, but cash is 30.0 USD"),
    (
        "roaster_A",
        "roast",
        {"green_item_id": ROASTED, "qty_kg": 1},
        "green_item_id roasted_coffee_kg cannot be roasted;",
    ),
    ("roaster_A", "roast", {"green_item_id": "tea_kg", "qty_kg": 1}, "there is no item 'tea_kg'"),
    # roaster_B opens with 90 kg in a store of 60: 90 − 10 + 8 would still be more than it takes.
    (
        "roaster_B",
        "roast",
        {"green_item_id": GREEN, "qty_kg": 10},
        "8 kg would come out, but storage has room for 0 kg",
    ),
]


@pytest.mark.parametrize(("firm", "tool", "arguments", "words"), REFUSALS, ids=[row[3][:40] for row in REFUSALS])
def test_a_batch_that_cannot_be_started_is_refused_in_words(
    firm: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    assert Table(**POOR_AND_FULL).refusal(firm, tool, **arguments).startswith(words)


def test_batches_of_one_morning_land_in_the_order_in_which_they_were_started() -> None:
    table = Table(**opening(farmer_A={"stock": {}}))
    table.do("farmer_B", "produce_item", item_id=SPECIAL_GREEN, quantity=1)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=2)
    table.do("farmer_B", "produce_item", item_id=GREEN, quantity=3)
    table.until_day(2)
    assert [data["batch"] for data in table.events("batch_landed")] == ["B1", "B2", "B3"]


def test_a_firm_sees_its_batches_in_work_and_when_they_land() -> None:
    table = Table(**FULL)
    table.do("roaster_A", "roast", green_item_id=SPECIAL_GREEN, qty_kg=10)
    table.step(retailer_A=letter_to("roaster_A"))
    seen = table.observation("roaster_A")
    assert seen["batches_in_work"] == [{"batch_id": "B1", "item_id": SPECIAL_ROASTED, "output_kg": 8, "lands_day": 1}]
    assert seen["stock"] == {
        "items": {
            GREEN: {"on_hand": 60, "in_flight": 0},
            SPECIAL_GREEN: {"on_hand": 30, "in_flight": 0},
            SPECIAL_ROASTED: {"on_hand": 0, "in_flight": 8},
        },
        "on_hand": 90,
        "in_flight": 8,
        "cap": 120,
        "headroom": 22,
    }


def test_other_lags_costs_caps_and_yields_are_a_matter_of_the_scenario() -> None:
    table = Table(
        roast_daily_cap_kg=5,
        items={
            GREEN: {"production": {"cost": 1.25, "daily_cap_kg": 4, "lag_days": 1}},
            ROASTED: {"roasting": {"labour": 0.5, "output_per_input": 0.5, "lag_days": 2}},
        },
        **FULL,
    )
    grown = table.do("farmer_A", "produce_item", item_id=GREEN, quantity=4)
    assert (grown["cost"], grown["lands_day"]) == (5.0, 1)
    roasted = table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=5)
    assert (roasted["output_kg"], roasted["cost"], roasted["lands_day"]) == (2, 12.5, 2)  # 2.5 goes to the even 2
