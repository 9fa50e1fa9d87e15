"""HeuristicRetailer: its prices, bids and payments, told against counterparts that do as the test says."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario
from simulation.players.base import call
from simulation.players.heuristic_farmer import HeuristicFarmer
from simulation.players.heuristic_retailer import HeuristicRetailer
from tests.players.playing import Played, Puppet, SpecialtyRoaster, alone, play, safe_roads, scenario, scripts


def listed(quantity_kg: int, price: float) -> Decision:
    """Some of the roasted coffee a roaster opens with, put on the market."""
    return call("post_listing", item_id="roasted_coffee_kg", qty=quantity_kg, asking_price=price)


def with_seller(of: Scenario, days: dict[int, list[Decision]]) -> Played:
    """One shop and one seller that does as it is told."""
    return play(of, alone(of, roaster_A=Puppet(days), retailer_A=HeuristicRetailer(of, "retailer_A")))


def bids(played: Played, shop: str = "retailer_A") -> list[dict[str, Any]]:
    """The arguments of a shop's bids."""
    return [one.decision.arguments for one in played.done(shop, "make_offer")]


@pytest.mark.parametrize(
    ("asked", "bid"),
    [
        (8.82, 8.82),
        (15.0, 15.0),
        (15.01, 15.0),  # half of what consumers pay at most, and not a cent more
        (18.75, 15.0),
        (18.76, None),  # too far apart to begin
        (0.01, 0.01),
    ],
)
def test_it_bids_what_is_asked_up_to_half_of_what_consumers_pay_at_most(asked: float, bid: float | None) -> None:
    played = with_seller(safe_roads(days=1), {0: [listed(30, asked)]})
    assert [one["offered_price"] for one in bids(played)] == ([bid] if bid else [])


def test_it_bids_in_the_afternoon() -> None:
    """A HeuristicRoaster is then done with its list, and an offer that wakes it hides nothing from it."""
    paper = scenario(days=60)
    played = play(paper, scripts(paper))
    for tool in ("make_offer", "pay_invoice"):
        assert min(one.minute % 1440 for one in played.done("retailer_A", tool)) >= 13 * 60


def test_the_bids_of_all_shops_together_fit_a_listing() -> None:
    quiet = safe_roads(
        days=1, firms={"roaster_A": {"stock": {"roasted_coffee_kg": {"quantity_kg": 41, "unit_cost": 5}}}}
    )
    shops = {name: HeuristicRetailer(quiet, name) for name in ("retailer_A", "retailer_B")}
    played = play(quiet, alone(quiet, roaster_A=Puppet({0: [listed(41, 8.0)]}), **shops))
    assert [bids(played, name)[0]["qty"] for name in shops] == [20, 21]


def test_the_last_kilograms_of_a_listing_are_taken_whole() -> None:
    played = with_seller(safe_roads(days=1), {0: [listed(21, 8.0), listed(9, 8.0)]})
    assert [one["qty"] for one in bids(played)] == [10, 9]


def test_a_seller_that_shows_little_is_given_a_day_to_show_more() -> None:
    """HeuristicRoaster lists all it holds when nothing of the old listing is taken. Others may have no more."""
    played = with_seller(safe_roads(days=3), {0: [listed(19, 8.0)]})
    assert [one.minute // 1440 for one in played.done("retailer_A", "make_offer")] == [1]
    played = with_seller(safe_roads(days=3), {0: [listed(19, 8.0)], 1: [listed(11, 8.0)]})
    assert [one["qty"] for one in bids(played)] == [9, 5]


def test_a_bid_without_an_answer_is_taken_back_and_its_listing_left_alone() -> None:
    played = with_seller(safe_roads(days=10), {0: [listed(30, 8.0)]})
    assert [one.minute // 1440 for one in played.done("retailer_A", "make_offer")] == [0]
    assert [one.minute // 1440 for one in played.done("retailer_A", "withdraw_offer")] == [2]
    assert not played.world.economy.firm_named["retailer_A"].offers_out


def test_after_some_days_it_tries_such_a_listing_again() -> None:
    played = with_seller(safe_roads(days=16), {0: [listed(30, 8.0)]})
    assert [one.minute // 1440 for one in played.done("retailer_A", "make_offer")] == [0, 12]


def test_it_never_bids_for_more_than_it_has_room_for() -> None:
    paper = scenario(days=90)
    played = play(paper, scripts(paper))
    room = [one for one in played.outcomes if one.decision.tool == "accept_offer" and "no room" in str(one.result)]
    assert not [one for one in room if one.firm.startswith("roaster")]


def test_a_shelf_price_lies_between_cost_and_what_consumers_pay_and_rises_as_the_store_empties() -> None:
    quiet = safe_roads(days=6)
    played = with_seller(quiet, {})
    prices = [one.decision.arguments["price_per_unit"] for one in played.done("retailer_A", "set_retail_price")]
    assert prices == sorted(prices)
    assert len(prices) >= 2
    assert 10 < prices[0] < prices[-1] < 30


def test_a_price_that_would_hardly_move_costs_no_call() -> None:
    paper = scenario(days=90)
    played = play(paper, scripts(paper))
    moves = [one.decision.arguments["price_per_unit"] for one in played.done("retailer_A", "set_retail_price")]
    assert len(moves) < 90
    assert all(abs(new - old) > 0.02 * 30 for old, new in pairwise(moves))


def test_it_is_never_late_with_a_payment() -> None:
    paper = scenario(days=90)
    world = play(paper, scripts(paper)).world
    owed = [invoice for invoice in world.economy.invoices if invoice.debtor.role == "retailer"]
    assert owed
    assert not [invoice.id for invoice in owed if invoice.fees_micros]


def test_short_of_cash_it_pays_what_is_due_and_keeps_the_next_days_rent() -> None:
    poor = safe_roads(days=4, opex=0, firms={"retailer_A": {"cash": 100, "stock": {}}})
    terms = {"qty": 30, "asking_price": 2.0, "item_id": "roasted_coffee_kg"}
    answers = [call("view_offers")] * 10 + [call("accept_offer", offer_id="O1")]
    played = with_seller(poor, {0: [call("post_listing", **terms), *answers]})
    paid = played.done("retailer_A", "pay_invoice")
    assert [one.result["cash"] for one in paid] == [70.0]  # 15 kg at 2: above a tenth of its opening cash


def test_it_sells_specialty_when_somebody_makes_it() -> None:
    quiet = safe_roads(days=60)
    shops = {name: HeuristicRetailer(quiet, name) for name in ("retailer_A", "retailer_B")}
    farmers = {name: HeuristicFarmer(quiet) for name in ("farmer_A", "farmer_B")}
    world = play(quiet, alone(quiet, roaster_A=SpecialtyRoaster(), **farmers, **shops)).world
    sold_kg: Counter[str] = Counter()
    for sale in world.economy.sales:
        sold_kg[sale.item] += sale.quantity_kg
    assert sold_kg["roasted_specialty_kg"] > 100
    assert all(40 < sale.price_micros / 1e6 < 80 for sale in world.economy.sales[-4:])
    assert world.economy.firm_named["roaster_A"].score_micros > 0


def test_with_nothing_to_buy_and_nothing_to_pay_its_days_are_short() -> None:
    quiet = safe_roads(days=20, firms={"retailer_A": {"storage_cap_kg": 25}})
    played = with_seller(quiet, {})
    assert played.world.seats["retailer_A"].activity.calls / 20 < 11
