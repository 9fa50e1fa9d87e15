"""Consumers, shelf prices and spoilage (RULES.md sections 7 and 8)."""

import random
from typing import Any

import pytest

from marketplace.economy.rules import ConsumerDemand
from simulation.engine.demand import Chance, Shelf, shares_of_demand
from simulation.engine.scenario import Scenario
from tests.engine.table import GREEN, ROASTED, SPECIAL_ROASTED, Table, opening, stock, to

COMMODITY = ConsumerDemand(reservation_price=30, base_demand_kg=80, floor_kg=5)
SPECIALTY = ConsumerDemand(reservation_price=80, base_demand_kg=15, floor_kg=1)
PLENTY = 1_000


def sold(
    *shops: tuple[float, float, int], demand: ConsumerDemand = COMMODITY, noise: float = 0, festival: float = 1
) -> list[int]:
    """What shops of (price, loyalty, stock) sell in an evening under the paper's ceiling."""
    return shares_of_demand(demand, [Shelf(*shop) for shop in shops], noise, festival, 130, 80)


def test_two_equal_shops_share_what_consumers_want_at_their_price() -> None:
    # 80 × (1 − 18/30) = 32 kg, 16 each, and 5 kg of floor demand.
    assert sold((18, 1, PLENTY), (18, 1, PLENTY)) == [21, 21]


def test_a_shop_whose_customers_are_more_loyal_sells_more() -> None:
    # Appeals 0.4 × 0.85 and 0.4 × 1.15: 32 × 0.34 / 0.8 = 13.6 and 18.4.
    assert sold((18, 0.85, PLENTY), (18, 1.15, PLENTY)) == [14 + 5, 18 + 5]


def test_a_cheaper_shop_sells_more_and_the_mean_price_decides_how_much_there_is() -> None:
    # Mean 18, so 32 kg; appeals 0.5 and 0.3.
    assert sold((15, 1, PLENTY), (21, 1, PLENTY)) == [20 + 5, 12 + 5]


def test_stock_limits_what_is_sold_and_the_rest_of_the_demand_is_lost() -> None:
    assert sold((18, 1, 7), (18, 1, PLENTY)) == [7, 21]


def test_at_the_reservation_price_only_floor_demand_is_left_and_above_it_nothing() -> None:
    assert sold((30, 1, PLENTY)) == [5]
    assert sold((30.0001, 1, PLENTY)) == [0]
    assert sold((29.99, 1, PLENTY)) == [5]  # 80 × 0.00033 = 0.03 kg more


def test_a_dear_shop_raises_the_mean_price_and_so_spoils_the_market_of_a_cheap_one() -> None:
    # Mean 25: 80 × (1 − 25/30) = 13.3 kg, all for the cheap shop.
    assert sold((10, 1, PLENTY), (40, 1, PLENTY)) == [13 + 5, 0]
    # Mean 35 is above the reservation price: floor demand alone.
    assert sold((10, 1, PLENTY), (60, 1, PLENTY)) == [5, 0]


def test_halves_of_a_kilogram_go_to_the_even_number() -> None:
    demand = ConsumerDemand(reservation_price=30, base_demand_kg=26, floor_kg=2.5)
    # 26 × 0.5 = 13 kg, 6.5 each, which is 6; a floor of 2.5 is 2.
    assert sold((15, 1, PLENTY), (15, 1, PLENTY), demand=demand) == [8, 8]


def test_the_festival_triples_demand() -> None:
    assert sold((18, 1, PLENTY), (18, 1, PLENTY), festival=3) == [48 + 5, 48 + 5]


def test_noise_is_added_to_base_demand_after_the_festival() -> None:
    # (3 × 80 − 10) × 0.4 = 92 kg.
    assert sold((18, 1, PLENTY), noise=-10, festival=3) == [92 + 5]


def test_noise_can_take_all_demand_but_the_floor() -> None:
    assert sold((18, 1, PLENTY), noise=-200) == [5]


@pytest.mark.parametrize(
    ("demand", "price", "festival", "kilograms"),
    [
        (COMMODITY, 6, 1, 130 + 5),  # (80 + 400) × 0.8 = 384 kg is more than 130 × 80 / 80
        (COMMODITY, 6, 3, 390 + 5),  # the festival raises the ceiling as well: (240 + 400) × 0.8 = 512
        (SPECIALTY, 16, 1, 24 + 1),  # 130 × 15 / 80 = 24.375
    ],
)
def test_a_ceiling_limits_what_consumers_want(
    demand: ConsumerDemand, price: float, festival: float, kilograms: int
) -> None:
    assert sold((price, 1, PLENTY), demand=demand, noise=400, festival=festival) == [kilograms]


def test_specialty_has_its_own_numbers() -> None:
    # 15 × (1 − 50/80) = 5.625 kg, half of it 2.8, which is 3, and 1 kg of floor.
    assert sold((50, 1, PLENTY), (50, 1, PLENTY), demand=SPECIALTY) == [4, 4]


def test_chance_is_drawn_from_one_stream_in_the_published_order() -> None:
    scenario = Scenario(days=3)
    chance, stream = Chance(scenario, 41, ["retailer_A", "retailer_B"]), random.Random(41)
    # Section 10: the noise of each consumer item for two days more than the run has, loyalty, then a draw a shipment.
    assert chance.noise[ROASTED] == [stream.gauss(0, 0.5) for _ in range(5)]
    assert chance.noise[SPECIAL_ROASTED] == [stream.gauss(0, 0.5) for _ in range(5)]
    assert chance.loyalty == {
        "retailer_A": stream.uniform(0.85, 1.15),
        "retailer_B": stream.uniform(0.85, 1.15),
    }
    assert [chance.draw(), chance.draw()] == [stream.random(), stream.random()]


EVEN = {"demand_sigma": 0, "loyalty_low": 1, "loyalty_high": 1}


def shops(**changes: Any) -> Table:
    """Two shops full of coffee, in a world without noise or preference."""
    full = {"stock": stock(roasted_coffee_kg=(500, 10.0), roasted_specialty_kg=(100, 20.0))}
    return Table(**EVEN, **opening(retailer_A=full, retailer_B=full), **changes)


def test_an_evening_of_sales_is_paid_in_cash_at_the_shelf_price() -> None:
    table = shops()
    cash = table.cash("retailer_A")
    table.until_day(1)
    evening = 21 * 18 + 4 * 50
    assert table.cash("retailer_A") == cash + evening - 50, "21 kg and 4 kg, less the next morning's cost"
    assert table.account("retailer_A", "revenue") == -evening
    assert table.account("retailer_A", "cost_of_goods_sold") == 21 * 10 + 4 * 20
    assert [(sale.shop.name, sale.item, sale.quantity_kg) for sale in table.economy.sales] == [
        ("retailer_A", ROASTED, 21),
        ("retailer_B", ROASTED, 21),
        ("retailer_A", SPECIAL_ROASTED, 4),
        ("retailer_B", SPECIAL_ROASTED, 4),
    ]
    table.check_books()


def test_the_festival_lasts_from_its_first_to_its_last_day() -> None:
    table = shops(festival={"first_day": 1, "last_day": 2})
    table.until_day(4)
    bought = [sale.quantity_kg for sale in table.economy.sales if sale.shop.seat == 5 and sale.item == ROASTED]
    assert bought == [21, 53, 53, 21]


def test_the_paper_holds_its_festival_on_days_forty_to_fifty_three() -> None:
    paper = Scenario()
    assert [day for day in range(90) if paper.festival_factor(day) != 1] == list(range(40, 54))
    assert paper.festival_factor(40) == 3


def test_a_shop_that_shows_or_holds_nothing_has_no_part_in_the_mean_price() -> None:
    table = shops()
    table.do("retailer_B", "set_retail_price", item_id=ROASTED, price_per_unit=0)
    table.until_day(1)
    # retailer_A alone: all 32 kg and its floor.
    assert [(sale.shop.name, sale.quantity_kg) for sale in table.economy.sales if sale.item == ROASTED] == [
        ("retailer_A", 37)
    ]


def test_only_retailers_sell_to_consumers() -> None:
    table = Table(**opening(retailer_A={"stock": {}}, retailer_B={"stock": {}}))
    table.until_day(2)
    assert table.economy.sales == [], "roasters hold 60 kg, and consumers do not come to them"


def test_a_new_price_counts_from_the_same_evening_on() -> None:
    table = shops()
    assert table.do("retailer_A", "set_retail_price", item_id=ROASTED, price_per_unit=31) == {
        "ok": True,
        "prices": {ROASTED: 31.0, SPECIAL_ROASTED: 50.0},
    }
    table.do("retailer_B", "set_retail_price", item_id=ROASTED, price_per_unit=11.25)
    table.until_day(1)
    # Mean 21.125: 80 × (1 − 21.125/30) = 23.7 kg, all for retailer_B.
    assert [(sale.shop.name, sale.quantity_kg) for sale in table.economy.sales if sale.item == ROASTED] == [
        ("retailer_B", 24 + 5)
    ]


def test_a_price_of_nought_takes_an_item_off_the_shelf() -> None:
    table = shops()
    off = table.do("retailer_A", "set_retail_price", item_id=ROASTED, price_per_unit=0)
    assert off["prices"] == {SPECIAL_ROASTED: 50.0}
    table.until_day(1)
    assert table.observation("retailer_A")["shelf_prices"] == {SPECIAL_ROASTED: 50.0}
    assert {sale["item_id"] for sale in table.observation("retailer_A")["sales_since_last_active"]} == {SPECIAL_ROASTED}


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    (
        "retailer_A",
        {"item_id": GREEN, "price_per_unit": 5},
        "item_id green_coffee_kg is not sold to consumers; they buy",
    ),
    ("retailer_A", {"item_id": "tea_kg", "price_per_unit": 5}, "there is no item 'tea_kg'"),
    ("retailer_A", {"item_id": ROASTED, "price_per_unit": -1}, "price_per_unit should be greater than or equal to 0"),
    ("retailer_A", {"item_id": ROASTED, "price_per_unit": 0.001}, "price_per_unit must be 0 or at least 0.01"),
    ("retailer_A", {"item_id": ROASTED, "price_per_unit": 100_001}, "price_per_unit should be less than or equal to"),
    ("retailer_A", {"item_id": ROASTED, "price_per_unit": 5.00001}, "price_per_unit must have at most 4 decimals"),
    ("roaster_A", {"item_id": ROASTED, "price_per_unit": 5}, "roaster_A has no tool 'set_retail_price'"),
]


@pytest.mark.parametrize(("firm", "arguments", "words"), REFUSALS, ids=[row[2][:40] for row in REFUSALS])
def test_a_shelf_price_that_cannot_be_is_refused_in_words(firm: str, arguments: dict[str, Any], words: str) -> None:
    assert Table().refusal(firm, "set_retail_price", **arguments).startswith(words)


def test_a_shop_sees_its_own_sales_and_everybody_the_markets() -> None:
    table = shops()
    table.until_day(2)
    own = table.do("retailer_A", "view_consumer_sales", since_day=1)["sales"]
    assert own == [
        {"day": 1, "item_id": ROASTED, "qty": 21, "price": 18.0, "revenue": 378.0},
        {"day": 1, "item_id": SPECIAL_ROASTED, "qty": 4, "price": 50.0, "revenue": 200.0},
    ]
    assert [sale["day"] for sale in table.do("retailer_A", "view_consumer_sales")["sales"]] == [0, 0, 1, 1]
    market = table.do("farmer_A", "view_market_aggregate", days_back=1)["consumer_sales"]
    assert market == [
        {"day": 1, "item_id": ROASTED, "qty": 42, "revenue": 756.0},
        {"day": 1, "item_id": SPECIAL_ROASTED, "qty": 8, "revenue": 400.0},
    ]
    assert len(table.do("farmer_A", "view_market_aggregate")["consumer_sales"]) == 4


def test_the_last_seven_evenings_are_shown_unless_more_are_asked_for() -> None:
    table = shops()
    table.until_day(10)
    assert {sale["day"] for sale in table.do("retailer_A", "view_consumer_sales")["sales"]} == set(range(3, 10))
    assert {row["day"] for row in table.do("farmer_A", "view_market_aggregate")["consumer_sales"]} == set(range(3, 10))


def test_sales_since_last_active_are_those_of_the_evenings_since_the_last_observation() -> None:
    table = shops()
    assert table.observation("retailer_A")["sales_since_last_active"] == []
    table.until_day(1)
    assert {sale["day"] for sale in table.observation("retailer_A")["sales_since_last_active"]} == {0}
    table.step(farmer_A=to("view_deals"))
    table.step(farmer_A=to("send_message", recipient="retailer_A", title="Hi", body="Hi"))
    assert table.observation("retailer_A")["sales_since_last_active"] == [], "seen this morning already"
    table.until_day(2)
    assert {sale["day"] for sale in table.observation("retailer_A")["sales_since_last_active"]} == {1}


def test_fractions_of_a_kilogram_add_up_until_a_whole_one_is_spoiled() -> None:
    table = Table(spoilage=0.005)
    held = []
    for day in range(1, 6):
        table.until_day(day)
        held.append(table.holds("farmer_A", GREEN))
    # 60 kg lose 0.3 kg an evening; the fourth makes 1.2: one kilogram goes, at its cost of 2.00, and 0.2 carries on.
    assert held == [(60, 120.0)] * 3 + [(59, 118.0)] * 2
    assert table.account("farmer_A", "spoilage") == 2
    table.check_books()


def test_the_carry_is_kept_while_a_firm_holds_none_of_the_item() -> None:
    table = Table(spoilage=0.1, **opening(farmer_A={"stock": stock(green_coffee_kg=(5, 2.0))}))
    table.until_day(1)  # 5 × 0.1: half a kilogram carried
    table.deliver("farmer_A", "roaster_A", GREEN, 5, 3.0)
    table.deliver("farmer_B", "farmer_A", GREEN, 5, 3.0)
    assert (table.world.day, table.holds("farmer_A", GREEN)) == (3, (5, 15.0))
    table.until_day(4)
    assert table.holds("farmer_A", GREEN) == (4, 12.0), "another half makes one"


def test_goods_in_work_or_on_their_way_do_not_spoil() -> None:
    table = Table(spoilage=1)
    table.sell("farmer_A", "roaster_A", GREEN, 60, 3.0)
    table.do("farmer_B", "produce_item", item_id=GREEN, quantity=10)
    table.until_day(2)
    assert table.firm("farmer_A").balances["spoilage"] == 0
    assert table.holds("farmer_B", GREEN) == (10, 20.0)
    assert table.holds("roaster_A", GREEN) == (0, 0.0), "delivered on day 1, and all gone that evening"


def test_sales_come_before_spoilage() -> None:
    table = Table(spoilage=1, **EVEN, **opening(retailer_A={"stock": stock(roasted_coffee_kg=(100, 10.0))}))
    table.until_day(1)
    assert table.account("retailer_A", "revenue") == -21 * 18
    assert table.account("retailer_A", "spoilage") == (100 - 21) * 10
