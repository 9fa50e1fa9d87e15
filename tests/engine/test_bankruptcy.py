"""What happens to a firm that cannot pay its daily cost, and to those it dealt with (RULES.md sections 9 and 12.4)."""

from typing import Any

import pytest

from simulation.engine.decision import WAIT
from tests.engine.table import GREEN, LOOK, ROASTED, SPECIAL_GREEN, Table, letter_to, opening, stock, to


@pytest.mark.parametrize(("cash", "bankrupt_day"), [(30, None), (29.99, 0)])
def test_a_firm_is_bankrupt_when_its_cash_is_below_nought_as_it_is_about_to_act(
    cash: float, bankrupt_day: int | None
) -> None:
    table = Table(**opening(roaster_B={"cash": cash}))
    assert ("roaster_B" in table.due().firms) == (bankrupt_day is None)
    assert table.firm("roaster_B").bankrupt_day == bankrupt_day


def test_it_takes_no_more_turns_and_pays_no_more_costs() -> None:
    table = Table(spoilage=0.5, **opening(farmer_B={"cash": 10}))
    table.until_day(3)
    assert "farmer_B" not in table.due().firms
    assert table.cash("farmer_B") == -15, "one operating cost and no other"
    assert table.holds("farmer_B", GREEN) == (60, 120.0), "nothing of its stock spoils"
    assert table.holds("farmer_A", GREEN)[0] < 60
    assert table.firm("farmer_B").score_micros == -25_000_000
    assert table.world.seats["farmer_B"].activity.idle_days == 0, "days after its end are nobody's idle days"


def test_its_batches_are_lost_and_the_loss_is_in_its_score() -> None:
    table = Table(**opening(farmer_B={"cash": 60}))
    table.until_day(1)
    table.do("farmer_B", "produce_item", item_id=GREEN, quantity=5)
    table.until_day(3)
    farmer = table.firm("farmer_B")
    assert farmer.bankrupt_day == 2, "60 − 25 − 25 − 10 − 25 is less than nothing"
    assert table.economy.batches[0].status == "written off"
    assert table.account("farmer_B", "other_operating") == 10
    assert farmer.score_micros == -(3 * 25 + 10) * 1_000_000
    assert farmer.committed_kg == 60
    table.until_day(5)
    assert table.holds("farmer_B", GREEN) == (60, 120.0), "and they never land"
    table.check_books()


def test_what_it_owes_is_its_creditors_bad_debt_and_stays_on_its_own_books() -> None:
    table = Table(**opening(farmer_B={"cash": 60}))
    table.deliver("roaster_A", "farmer_B", ROASTED, 5, 10.0, terms=0)
    table.until_day(3)
    assert table.firm("farmer_B").bankrupt_day == 2
    assert table.account("roaster_A", "receivables") == 0
    assert table.account("roaster_A", "other_operating") == 50
    assert table.account("farmer_B", "payables") == -50
    assert table.firm("farmer_B").score_micros == -75_000_000, "its debts are not forgiven into an income"
    assert table.economy.invoices[0].status == "written off"
    assert table.do("roaster_A", "view_receivables")["open"] == 0
    table.until_day(6)
    assert table.account("farmer_B", "interest_expense") == 0, "no late fee runs on what was written off"
    table.check_books()


def test_late_fees_owed_are_part_of_the_bad_debt() -> None:
    table = Table(late_fee=0.01, **opening(farmer_B={"cash": 85}))
    table.deliver("roaster_A", "farmer_B", ROASTED, 5, 10.0, terms=0)  # due on day 1, one fee on the evening of day 2
    table.until_day(3)
    table.due()
    assert table.firm("farmer_B").bankrupt_day == 3
    assert table.account("roaster_A", "other_operating") == 50.5
    assert table.account("roaster_A", "interest_revenue") == -0.5
    table.check_books()


def test_a_refund_it_owes_is_written_off_like_any_debt() -> None:
    table = Table(**opening(farmer_A={"cash": 60}))
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.do("roaster_A", "pay_invoice", invoice_id=invoice)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=25)  # 60 − 50 + 40 − 50 = 0
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert table.account("roaster_A", "receivables") == 40
    table.until_day(3)
    assert table.account("roaster_A", "receivables") == 0
    assert table.account("roaster_A", "other_operating") == 40
    table.check_books()


def test_its_listings_close_the_offers_on_them_are_rejected_and_its_own_offers_withdrawn() -> None:
    table = Table(**opening(farmer_B={"cash": 30}))
    table.offer("farmer_B", "roaster_A", GREEN, 20, 3.0)
    table.offer("farmer_A", "farmer_B", GREEN, 20, 3.0)
    table.until_day(1)
    assert not table.firm("farmer_B").is_live
    assert [offer.status for offer in table.economy.offers] == ["rejected", "withdrawn"]
    assert [listing.status for listing in table.economy.listings] == ["closed", "open"]
    assert [row["listing_id"] for row in table.do("roaster_A", "view_listings")["listings"]] == ["L2"]
    assert table.do("farmer_A", "view_offers")["incoming"] == []
    bid = {"listing_id": "L1", "offered_price": 3.0, "qty": 1}
    assert table.refusal("roaster_A", "make_offer", **bid) == "L1 is closed; view_listings shows the open ones"


def test_goods_on_their_way_to_it_turn_back_at_cost_without_a_draw_or_a_wake() -> None:
    table = Table(loss=1, delivery_days=3, **opening(roaster_B={"cash": 40}, farmer_A={"storage_cap_kg": 60}))
    offer = table.offer("farmer_A", "roaster_B", GREEN, 10, 3.0, listed=20)
    table.do("farmer_A", "accept_offer", offer_id=offer)
    table.do("farmer_A", "produce_item", item_id=SPECIAL_GREEN, quantity=10)  # its store is full again
    table.until_day(1)
    assert not table.firm("roaster_B").is_live
    assert table.holds("farmer_A", GREEN) == (60, 120.0)
    assert table.firm("farmer_A").committed_kg == 70, "no storage check keeps them out"
    assert table.account("farmer_A", "goods_in_transit") == 0
    assert table.economy.deals[0].status == "turned back"
    assert table.economy.listings[0].remaining_kg == 10, "what was sold is not offered again by itself"
    assert table.observation("farmer_A")["woken_by"] == ["a new day"]
    table.until_day(5)
    assert table.economy.deals[0].status == "turned back", "a draw would have lost it"
    table.check_books()


def sold_before_its_end() -> Table:
    """farmer_B sold 10 kg to roaster_A on day 0, went bankrupt on day 1; the goods arrive on day 3."""
    table = Table(delivery_days=3, late_fee=0.01, **opening(farmer_B={"cash": 40}))
    table.sell("farmer_B", "roaster_A", GREEN, 10, 4.0, terms=0)
    table.until_day(3)
    assert table.firm("farmer_B").bankrupt_day == 1
    return table


def test_what_it_sold_still_arrives_and_is_invoiced_but_its_score_is_frozen() -> None:
    table = sold_before_its_end()
    assert table.holds("roaster_A", GREEN) == (10, 40.0)
    assert table.economy.invoices[0].issuer.name == "farmer_B"
    assert table.account("farmer_B", "revenue") == -40
    assert table.firm("farmer_B").score_micros == -50_000_000
    table.check_books()


def test_late_fees_on_its_receivables_go_on_and_others_may_pay_it() -> None:
    table = sold_before_its_end()
    table.until_day(6)
    assert table.account("farmer_B", "interest_revenue") == -0.8, "0.4 on the evenings of days 4 and 5"
    assert table.do("roaster_A", "pay_invoice", invoice_id="I1")["paid"] == 40.8
    assert table.cash("farmer_B") == 30.8, "40 − 50 + 40.8"
    table.until_day(7)
    assert not table.firm("farmer_B").is_live, "for good, whatever comes in"
    table.check_books()


def test_others_may_write_to_it_and_it_is_not_woken() -> None:
    table = Table(**opening(farmer_B={"cash": 10}))
    table.step(roaster_A=letter_to("farmer_B"))
    assert len(table.firm("farmer_B").unread) == 1
    assert table.due().firms == ("roaster_A",)


def test_its_shop_sells_nothing_and_leaves_the_market_to_others() -> None:
    full = stock(roasted_coffee_kg=(500, 10.0))
    poor = {"cash": 10, "stock": full, "prices": {ROASTED: 29}}
    table = Table(demand_sigma=0, loyalty_low=1, loyalty_high=1, **opening(retailer_A={"stock": full}, retailer_B=poor))
    table.until_day(1)
    sales = [(sale.shop.name, sale.quantity_kg) for sale in table.economy.sales]
    assert sales == [("retailer_A", 37)], "80 × (1 − 18/30) and 5: a price of 29 has no part in the mean"


def test_every_live_firm_is_told_the_next_morning_and_what_it_lost_by_it() -> None:
    table = Table(**opening(farmer_B={"cash": 60}))
    table.deliver("roaster_A", "farmer_B", ROASTED, 5, 10.0)
    table.until_day(2)
    assert table.observation("roaster_A")["bankruptcies"] == [], "it happened this morning"
    table.until_day(3)
    for firm in table.due().firms:
        lost = 50.0 if firm == "roaster_A" else 0.0
        assert table.observation(firm)["bankruptcies"] == [{"firm": "farmer_B", "day": 2, "written_off": lost}]
    table.until_day(4)
    assert table.observation("roaster_A")["bankruptcies"] == []


def two_debtors(**changes: Any) -> Table:
    """farmer_B and roaster_B owe each other 40 and 30 USD; neither can pay the cost of day 2."""
    table = Table(**changes, **opening(farmer_B={"cash": 60}, roaster_B={"cash": 70}))
    table.sell("farmer_B", "roaster_B", GREEN, 10, 4.0)
    table.deliver("roaster_B", "farmer_B", ROASTED, 3, 10.0)
    return table


def test_of_two_in_one_bucket_the_first_is_complete_before_the_second_begins() -> None:
    table = two_debtors()
    table.until_day(3)
    farmer, roaster = table.firm("farmer_B"), table.firm("roaster_B")
    assert (farmer.bankrupt_day, roaster.bankrupt_day) == (2, 2)
    # farmer_B comes first: its score is frozen with roaster_B's debt still good, then it costs roaster_B 30 USD.
    assert farmer.score_micros == (40 - 20 - 3 * 25) * 1_000_000
    assert roaster.score_micros == round((30 - 3 * 5.88 - 3 * 30 - 30) * 1_000_000)
    # The other bad debt falls on farmer_B's books after its end.
    assert table.account("farmer_B", "other_operating") == 40
    table.check_books()


def test_the_order_of_two_bankruptcies_is_that_of_their_entries_not_of_seating() -> None:
    table = two_debtors()
    table.sell("farmer_A", "roaster_B", GREEN, 1, 1.0)  # a delivery on day 2 puts roaster_B before everybody
    table.until_day(3)
    assert table.firm("farmer_B").score_micros == (40 - 20 - 3 * 25 - 40) * 1_000_000
    assert table.firm("roaster_B").score_micros == round((30 - 3 * 5.88 - 3 * 30) * 1_000_000)


def test_the_run_ends_when_the_evaluated_firm_is_bankrupt_after_the_decisions_of_that_bucket() -> None:
    table = Table(delivery_days=3, **opening(roaster_A={"cash": 40}))
    table.sell("farmer_A", "retailer_A", GREEN, 10, 3.0)
    table.until_day(1)
    assert "roaster_A" not in table.due().firms
    results = table.step(farmer_B=to("produce_item", item_id=GREEN, quantity=10), retailer_B=letter_to("farmer_A"))
    assert results["farmer_B"]["ok"]
    assert table.world.open_step() is None, "farmer_A was woken, but there is no further bucket"
    assert table.world.ended == "stopped"
    assert len(table.world.day_ends) == 6, "day 1 has no evening"
    assert table.economy.deals[0].status == "travelling", "what is under way is not settled"
    assert table.economy.events[-1].kind == "run_ended"
    assert table.economy.events[-1].data["firms"]["roaster_A"]["bankrupt_day"] == 1
    table.check_books()


def test_the_evaluated_firm_may_be_another_or_none() -> None:
    table = Table(days=2, evaluated="farmer_B", **opening(roaster_A={"cash": 10}))
    table.play_out()
    assert table.world.ended == "finished"
    table = Table(days=2, evaluated="", **opening(roaster_A={"cash": 10}))
    table.play_out()
    assert table.world.ended == "finished"


def test_when_every_firm_is_bankrupt_the_days_pass_with_nobody_asked() -> None:
    table = Table(days=5, opex=20_000, evaluated="")
    assert table.world.open_step() is None
    assert (table.world.ended, table.world.day, table.world.turns) == ("finished", 4, 0)
    assert len(table.world.day_ends) == 5 * 6


def test_when_the_evaluated_firm_falls_with_all_others_the_run_ends_at_once() -> None:
    table = Table(days=5, opex=20_000)
    assert table.world.open_step() is None
    assert (table.world.ended, table.world.day, table.world.day_ends) == ("stopped", 0, [])


def test_a_firm_that_ran_out_of_cash_by_its_own_doing_lives_until_a_cost_it_cannot_meet() -> None:
    table = Table(**opening(roaster_A={"cash": 60, "stock": stock(green_coffee_kg=(10, 2.0))}))
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=10)  # 60 − 30 − 30 = 0
    table.step(roaster_A=LOOK, others=WAIT)
    assert table.firm("roaster_A").is_live
    table.until_day(1)
    assert not table.firm("roaster_A").is_live
    assert table.holds("roaster_A", ROASTED) == (8, 50.0), "its roast had landed before it was about to act"
