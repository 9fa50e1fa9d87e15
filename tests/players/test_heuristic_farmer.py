"""HeuristicFarmer: what it lists, grows and accepts, told against counterparts that do as the test says."""

from __future__ import annotations

import pytest

from simulation.engine.scenario import Scenario
from simulation.players.base import call
from simulation.players.heuristic_farmer import HeuristicFarmer, crops_of
from tests.players.playing import Puppet, SpecialtyRoaster, alone, play, safe_roads, scenario


def test_with_no_buyer_it_lists_its_stock_once_and_grows_a_sample_of_the_other_crop() -> None:
    quiet = safe_roads(days=30)
    played = play(quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet)))
    listings = [one.decision.arguments for one in played.done("farmer_A", "post_listing")]
    assert [(one["item_id"], one["qty"]) for one in listings] == [("green_coffee_kg", 60), ("green_specialty_kg", 10)]
    grown = [one.decision.arguments for one in played.done("farmer_A", "produce_item")]
    assert grown == [{"item_id": "green_specialty_kg", "quantity": 10}]


@pytest.mark.parametrize(
    ("price", "terms_days", "accepted"),
    [
        (2.79, 30, False),
        (2.80, 30, True),  # 1.4 × the 2 it costs
        (2.80, 0, True),
        (9.00, 31, False),  # not for a credit longer than it offers itself
        (9.00, 30, True),
    ],
)
def test_it_answers_an_offer_the_same_day(price: float, terms_days: int, accepted: bool) -> None:
    quiet = safe_roads(days=2)
    offer = call("make_offer", listing_id="L1", offered_price=price, qty=20, payment_terms_days=terms_days)
    players = alone(quiet, farmer_A=HeuristicFarmer(quiet), roaster_A=Puppet({0: [call("view_deals")] * 6 + [offer]}))
    played = play(quiet, players)
    assert [one.minute for one in played.done("farmer_A", "accept_offer")] == ([720] if accepted else [])


def test_it_takes_the_better_price_where_there_is_too_little_for_both() -> None:
    quiet = safe_roads(days=1)
    bids = {
        name: Puppet({0: [call("view_deals"), call("make_offer", listing_id="L1", offered_price=price, qty=40)]})
        for name, price in (("roaster_A", 3.0), ("roaster_B", 3.1))
    }
    played = play(quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet), **bids))
    assert [deal.buyer.name for deal in played.world.economy.deals] == ["roaster_B"]
    assert len(played.done("farmer_A", "accept_offer")) == 1
    assert played.world.seats["farmer_A"].activity.refused_calls == 0


def test_a_buyer_without_room_is_asked_once_a_day() -> None:
    quiet = safe_roads(days=3, firms={"roaster_A": {"storage_cap_kg": 40}})
    offer = call("make_offer", listing_id="L1", offered_price=3.0, qty=20)  # 30 of the 40 kg are taken
    played = play(
        quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet), roaster_A=Puppet({0: [call("view_deals"), offer, offer]}))
    )
    refused = [one for one in played.outcomes if one.decision.tool == "accept_offer" and not one.result["ok"]]
    assert [one.minute // 1440 for one in refused] == [0, 1, 2]


def test_it_sells_nothing_more_to_a_firm_that_owes_it_too_long_until_that_firm_has_paid() -> None:
    quiet = safe_roads(days=12)
    first = call("make_offer", listing_id="L1", offered_price=3.0, qty=20, payment_terms_days=0)
    more = call("make_offer", listing_id="L1", offered_price=9.0, qty=20, payment_terms_days=0)
    debtor = Puppet({0: [call("view_deals"), first], 5: [more], 8: [call("pay_invoice", invoice_id="I1")]})
    played = play(quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet), roaster_A=debtor))
    assert [deal.minute // 1440 for deal in played.world.economy.deals] == [0, 9]


def test_it_asks_more_the_emptier_its_store() -> None:
    quiet = safe_roads(days=12)
    buyer = Puppet(
        {
            day: [call("view_deals"), call("make_offer", listing_id=f"L{number}", offered_price=4.0, qty=60)]
            for day, number in ((0, 1), (6, 3))
        }
    )
    played = play(quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet), roaster_A=buyer))
    prices = [
        one.decision.arguments["asking_price"]
        for one in played.done("farmer_A", "post_listing")
        if one.decision.arguments["item_id"] == "green_coffee_kg"
    ]
    full, emptier = prices[:2]
    assert full == 3.2
    assert 3.2 < emptier <= 4.2


def test_it_never_lists_more_than_it_holds() -> None:
    paper = scenario(days=60)
    players = alone(paper, farmer_A=HeuristicFarmer(paper), roaster_A=SpecialtyRoaster())
    world = play(paper, players).world
    farmer = world.economy.firm_named["farmer_A"]
    for item in paper.items:
        listed_kg = sum(listing.remaining_kg for listing in farmer.open_listings if listing.item == item)
        # Half a percent a day spoils after it was listed.
        assert listed_kg <= farmer.on_hand(item) + 60 * 0.6


def test_specialty_that_sells_is_grown_on() -> None:
    quiet = safe_roads(days=40)
    world = play(quiet, alone(quiet, farmer_A=HeuristicFarmer(quiet), roaster_A=SpecialtyRoaster())).world
    sold_kg = sum(deal.quantity_kg for deal in world.economy.deals)
    assert sold_kg >= 80
    assert world.economy.firm_named["farmer_A"].score_micros > 0 - 40 * 25_000_000


def test_money_it_owes_is_not_put_into_coffee() -> None:
    """A refund it could not pay at once is paid before it grows anything more."""
    poor = safe_roads(days=9, opex=0, roles={"farmer": {"cash": 100}})
    # The dearer bid is accepted first, so its invoice is I1.
    bids = [call("make_offer", listing_id="L1", offered_price=price, qty=30) for price in (9.0, 20.0)]
    returns = call("return_shipment", invoice_id="I1", quantity_kg=30)
    first = Puppet({0: [call("view_deals"), bids[0]], 6: [call("pay_invoice", invoice_id="I2")]})
    second = Puppet({0: [call("view_deals"), bids[1]], 1: [call("pay_invoice", invoice_id="I1")], 3: [returns]})
    played = play(poor, alone(poor, farmer_A=HeuristicFarmer(poor), roaster_A=first, roaster_B=second))
    refund = next(invoice for invoice in played.world.economy.invoices if invoice.deal is None)
    (paid,) = played.done("farmer_A", "pay_invoice")
    assert paid.decision.arguments == {"invoice_id": refund.id}
    grown = [one.minute // 1440 for one in played.done("farmer_A", "produce_item")]
    assert not [day for day in grown if 3 < day < paid.minute // 1440]


def test_shares_of_the_store_follow_cost_and_make_up_the_whole() -> None:
    crops = crops_of(Scenario())
    assert list(crops) == ["green_specialty_kg", "green_coffee_kg"]
    assert sum(crop.share_of_store for crop in crops.values()) == pytest.approx(1)
    assert crops["green_coffee_kg"].share_of_store == pytest.approx(5 * crops["green_specialty_kg"].share_of_store)
