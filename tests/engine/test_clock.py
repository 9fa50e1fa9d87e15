"""Who acts when, told as stories (RULES.md section 3)."""

from itertools import groupby

import pytest

from simulation.engine.clock import WakeQueue
from simulation.engine.decision import NO_CALL, WAIT
from tests.engine.table import GREEN, LOOK, ROASTED, Table, letter_to, opening, stock, to

EVERYBODY = ("farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B")


def test_the_first_morning_wakes_everybody_in_seating_order() -> None:
    table = Table()
    assert table.time == "0 09:00"
    assert table.due().firms == EVERYBODY
    assert table.observation("farmer_A")["woken_by"] == ["a new day"]
    assert table.view("farmer_A").result is None


def test_a_call_costs_thirty_minutes_and_waiting_costs_none_but_ends_the_day() -> None:
    table = Table()
    table.step(roaster_A=LOOK)
    assert (table.time, table.due().firms) == ("0 09:30", ("roaster_A",))
    table.step(roaster_A=LOOK)
    assert (table.time, table.due().firms) == ("0 10:00", ("roaster_A",))
    table.step(roaster_A=WAIT)
    assert (table.time, table.due().firms) == ("1 09:00", EVERYBODY)


def test_a_refused_call_costs_thirty_minutes_too() -> None:
    table = Table()
    assert not table.step(roaster_A=to("accept_offer", offer_id="O1"))["roaster_A"]["ok"]
    assert (table.time, table.due().firms) == ("0 09:30", ("roaster_A",))


def test_a_refused_wait_does_not_wait_and_costs_what_any_refused_call_costs() -> None:
    table = Table()
    assert not table.step(roaster_A=to("wait_for_next_day", until="noon"))["roaster_A"]["ok"]
    assert (table.time, table.due().firms) == ("0 09:30", ("roaster_A",))


def test_a_day_has_twenty_calls_and_one_at_half_past_six_is_the_last() -> None:
    table = Table()
    minutes = []
    while table.due().minute < 1440:
        minutes.append(table.due().minute)
        table.step(roaster_A=LOOK)
    assert minutes == list(range(9 * 60, 19 * 60, 30))
    assert len(minutes) == 20
    # 18:30 and 30 minutes is 19:00, when business is over: parked, not queued for the night.
    assert (table.time, table.due().firms) == ("1 09:00", EVERYBODY)


def test_an_observation_says_how_many_calls_are_left() -> None:
    table = Table()
    assert table.observation("roaster_A")["calls_left_today"] == 20
    table.step(farmer_A=LOOK)
    table.step(farmer_A=letter_to("roaster_A"))
    assert table.observation("roaster_A")["time"] == "09:30"
    assert table.observation("roaster_A")["calls_left_today"] == 19


def test_no_call_at_all_counts_as_waiting_and_is_not_counted_as_a_chosen_wait() -> None:
    table = Table()
    result = table.step(roaster_A=NO_CALL, roaster_B=WAIT)
    assert result["roaster_A"] == result["roaster_B"]
    assert table.time == "1 09:00", "both are parked until the next morning"
    silent, waiting = table.world.seats["roaster_A"].activity, table.world.seats["roaster_B"].activity
    assert (silent.turns_without_call, silent.calls) == (1, 0)
    assert (waiting.turns_without_call, waiting.calls) == (0, 1)
    assert (silent.idle_days, waiting.idle_days) == (1, 1)


def test_a_day_of_nothing_but_waiting_is_idle_and_a_refused_call_makes_it_busy() -> None:
    table = Table()
    table.step(roaster_A=to("accept_offer", offer_id="O1"))
    table.until_day(2)
    assert table.world.seats["roaster_A"].activity.idle_days == 1
    assert table.world.seats["roaster_B"].activity.idle_days == 2


def test_a_firm_woken_while_busy_acts_at_once_and_its_later_turn_moves_with_it() -> None:
    table = Table()
    table.step(farmer_A=LOOK, roaster_A=LOOK)
    assert (table.time, table.due().firms) == ("0 09:30", ("farmer_A", "roaster_A"))
    table.step(farmer_A=WAIT, roaster_A=letter_to("farmer_A"))
    # The letter finds farmer_A parked, at 09:30, after its turn in that bucket.
    assert (table.time, table.due().firms) == ("0 09:30", ("farmer_A",))
    table.step(farmer_A=LOOK)
    assert (table.time, table.due().firms) == ("0 10:00", ("roaster_A", "farmer_A"))


def test_a_firm_woken_after_acting_in_a_bucket_acts_again_in_the_same_minute() -> None:
    table = Table()
    table.step(farmer_A=LOOK, retailer_B=letter_to("farmer_A"))
    assert (table.time, table.due().firms) == ("0 09:00", ("farmer_A",))
    assert "message M1 from retailer_B" in table.observation("farmer_A")["woken_by"]
    table.step(farmer_A=LOOK)
    # Its first call had queued 09:30 and its second did again. Both count, so it keeps its place before retailer_B, and
    # acts once.
    assert (table.time, table.due().firms) == ("0 09:30", ("farmer_A", "retailer_B"))
    table.step()
    assert table.time == "1 09:00"


def test_answers_to_events_come_on_top_of_the_twenty_calls_of_a_day() -> None:
    table = Table()
    calls = 0
    while table.due().minute < 1440:
        # farmer_A acts, then is woken at the same minute by retailer_B, who acts after it, and acts again.
        table.step(farmer_A=LOOK, retailer_B=letter_to("farmer_A"))
        assert table.due().firms == ("farmer_A",)
        table.step(farmer_A=LOOK)
        calls += 2
    assert calls == 40


def test_an_entry_of_a_firm_that_has_yet_to_act_is_dead_once_it_has_acted() -> None:
    table = Table()
    table.step(farmer_A=letter_to("retailer_B"), retailer_B=LOOK)
    assert table.time == "0 09:30", "the letter gives retailer_B no second turn at 09:00"
    assert table.due().firms == ("farmer_A", "retailer_B")
    seen = table.view("retailer_B")
    assert seen.result is not None, "the answer to its call"
    assert seen.observation is not None, "it was woken since the bucket of that call opened"
    assert seen.observation["woken_by"] == ["message M1 from farmer_A"]


def test_an_entry_of_a_firm_that_waits_after_being_woken_in_the_bucket_is_dead_too() -> None:
    table = Table()
    table.step(farmer_A=letter_to("retailer_B"))
    assert (table.time, table.due().firms) == ("0 09:30", ("farmer_A",))
    table.step()
    assert table.observation("retailer_B")["woken_by"] == ["message M1 from farmer_A", "a new day"]


def test_woken_again_after_acting_a_firm_takes_the_place_of_its_earliest_entry_of_the_minute() -> None:
    table = Table()
    table.step(
        farmer_A=letter_to("roaster_A"),  # roaster_A has yet to act: this entry dies when it does
        farmer_B=LOOK,
        roaster_A=LOOK,
        roaster_B=letter_to("farmer_B"),
        retailer_A=letter_to("roaster_A"),  # roaster_A has acted: the dead entry counts again
    )
    assert table.time == "0 09:00"
    assert table.due().firms == ("roaster_A", "farmer_B")


def test_a_firm_acts_once_in_a_bucket_however_often_it_was_woken() -> None:
    table = Table()
    table.step(roaster_A=letter_to("farmer_A"), roaster_B=letter_to("farmer_A"))
    assert (table.time, table.due().firms) == ("0 09:00", ("farmer_A",))
    assert table.observation("farmer_A")["woken_by"] == ["message M1 from roaster_A", "message M2 from roaster_B"]
    table.step()
    assert table.due().firms == ("roaster_A", "roaster_B")


def test_the_decisions_of_a_bucket_are_applied_in_order_and_a_later_one_can_find_the_state_changed() -> None:
    table = Table()
    offer = table.offer("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.until_day(1)
    results = table.step(farmer_A=to("accept_offer", offer_id=offer), roaster_A=to("withdraw_offer", offer_id=offer))
    assert results["farmer_A"]["ok"]
    assert results["roaster_A"]["error"] == "O1 is accepted already; only a pending offer can be withdrawn"


def test_an_observation_is_given_only_when_woken_and_a_firm_that_continues_gets_the_result_alone() -> None:
    table = Table()
    table.step(roaster_A=LOOK)
    seen = table.view("roaster_A")
    assert seen.result == {"ok": True, "deals": [], "deals_in_all": 0}
    assert seen.observation is None


def test_looking_changes_nothing_and_asking_again_gives_the_same_step() -> None:
    table = Table()
    step = table.due()
    assert table.view("roaster_A") == table.view("roaster_A")
    assert table.due() is step


def test_what_happens_to_a_parked_firm_wakes_it_at_once_and_says_why() -> None:
    table = Table()
    table.step(roaster_A=to("post_listing", item_id=ROASTED, qty=30, asking_price=9.0), retailer_A=LOOK)

    terms = {"offered_price": 9.0, "qty": 5, "payment_terms_days": 0}
    table.step(roaster_A=WAIT, retailer_A=to("make_offer", listing_id="L1", **terms))
    assert (table.time, table.due().firms) == ("0 09:30", ("roaster_A",))
    assert table.observation("roaster_A")["woken_by"] == ["offer O1 on your listing L1 from retailer_A"]

    table.step(roaster_A=LOOK)
    table.step(retailer_A=WAIT, roaster_A=to("accept_offer", offer_id="O1"))
    assert (table.time, table.due().firms) == ("0 10:00", ("retailer_A",))
    assert table.observation("retailer_A")["woken_by"] == ["roaster_A accepted your offer O1: deal D1"]

    table.until_day(1)
    table.step(retailer_A=LOOK)
    table.step(retailer_A=to("return_shipment", invoice_id="I1", quantity_kg=1))
    assert (table.time, table.due().firms) == ("1 09:30", ("roaster_A",))
    assert table.observation("roaster_A")["woken_by"] == ["retailer_A returned 1 kg of roasted_coffee_kg under I1"]

    table.step()
    table.step(retailer_A=to("pay_invoice", invoice_id="I1"))
    assert (table.time, table.due().firms) == ("1 10:00", ("roaster_A",))
    assert table.observation("roaster_A")["woken_by"] == ["retailer_A paid your invoice I1: 36.0 USD"]

    table.step()
    table.step(retailer_A=letter_to("roaster_A"))
    assert (table.time, table.due().firms) == ("1 10:30", ("roaster_A",))
    assert table.observation("roaster_A")["woken_by"] == ["message M1 from retailer_A"]


def test_in_the_morning_what_landed_or_arrived_comes_first_farmers_then_roasts_then_deliveries() -> None:
    table = Table(**opening(roaster_B={"stock": stock(green_coffee_kg=(20, 2.0), roasted_coffee_kg=(30, 5.88))}))
    table.step(farmer_B=to("produce_item", item_id=GREEN, quantity=10))
    table.until_day(1)
    table.sell("roaster_B", "retailer_B", ROASTED, 5, 9.0)
    table.do("roaster_B", "roast", green_item_id=GREEN, qty_kg=10)
    table.until_day(2)
    # Day 2 lands the green of day 0 and the roast of day 1, and brings the goods of day 1; then all others are woken.
    assert table.due().firms == ("farmer_B", "roaster_B", "retailer_B", "farmer_A", "roaster_A", "retailer_A")
    woken_by = {firm: table.observation(firm)["woken_by"] for firm in table.due().firms}
    assert woken_by == {
        "farmer_B": ["batch B1 landed: 10 kg green_coffee_kg", "a new day"],
        "roaster_B": ["batch B2 landed: 8 kg roasted_coffee_kg", "a new day"],
        "retailer_B": ["delivery of 5 kg roasted_coffee_kg from roaster_B (deal D1)", "a new day"],
        "farmer_A": ["a new day"],
        "roaster_A": ["a new day"],
        "retailer_A": ["a new day"],
    }


def test_deliveries_of_a_morning_wake_their_buyers_in_the_order_in_which_the_deals_were_made() -> None:
    table = Table()
    table.sell("farmer_A", "roaster_B", GREEN, 5, 3.0)
    table.sell("farmer_A", "roaster_A", GREEN, 5, 3.0)
    table.until_day(1)
    assert table.due().firms[:2] == ("roaster_B", "roaster_A")


def test_operating_costs_are_paid_before_anything_lands() -> None:
    table = Table()
    table.step(farmer_A=to("produce_item", item_id=GREEN, quantity=10))
    table.until_day(2)
    morning = [row.reason for row in table.economy.transfers if row.minute == table.due().minute]
    assert morning == ["daily operating cost"] * 6 + ["batch landed"]


def test_the_day_ends_with_sales_then_spoilage_then_late_fees() -> None:
    table = Table(spoilage=0.1, **opening(retailer_A={"stock": stock(roasted_coffee_kg=(80, 10.0))}))
    table.deliver("farmer_A", "roaster_A", GREEN, 20, 5.0, terms=0)
    table.until_day(3)
    rows = [row for row in table.economy.transfers if row.minute == 2 * 1440 + 19 * 60]
    reasons = [row.reason.removeprefix("cost of ") for row in rows]
    assert [reason for reason, _ in groupby(reasons)] == ["consumer sales", "spoilage", "late fee"]


def test_a_run_of_one_day_ends_after_its_evening() -> None:
    table = Table(days=1)
    table.play_out()
    assert (table.world.ended, table.world.day, len(table.world.day_ends)) == ("finished", 0, 6)
    assert table.world.open_step() is None


def test_what_is_due_the_morning_after_the_last_evening_is_settled_on_the_last_day() -> None:
    table = Table(days=1)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0, terms=5)
    table.play_out()
    (invoice,) = table.economy.invoices
    assert (invoice.issued_day, invoice.due_day) == (0, 5)
    assert table.account("farmer_A", "revenue") == -30
    # The snapshot of the evening was taken before: the goods were still on their way.
    assert [end.sheet.goods_in_transit for end in table.world.day_ends if end.seat == 1] == [20_000_000]
    assert table.account("farmer_A", "goods_in_transit") == 0


def test_production_that_would_land_after_the_last_evening_stays_in_work() -> None:
    table = Table(days=1)
    table.step(farmer_A=to("produce_item", item_id=GREEN, quantity=10))
    table.play_out()
    assert table.account("farmer_A", "work_in_progress") == 20
    assert table.holds("farmer_A", GREEN) == (60, 120)


def test_only_decisions_of_exactly_the_due_firms_are_taken() -> None:
    table = Table()
    with pytest.raises(ValueError, match="no step is open"):
        table.world.apply({"roaster_A": WAIT})
    table.due()
    with pytest.raises(ValueError, match="step 1 takes decisions of"):
        table.world.apply({"roaster_A": WAIT})
    assert table.world.turns == 0, "a wrong set of decisions changes nothing"


def test_an_entry_counts_only_if_it_is_for_the_minute_its_firm_is_available() -> None:
    queue = WakeQueue()
    queue.open_morning([1, 2], 540)
    assert queue.open_bucket() == [1, 2]
    queue.make_busy(1, 570)
    queue.make_busy(2, 570)
    queue.wake(2, 540)
    queue.make_busy(2, 600)
    assert (queue.next_minute(), queue.open_bucket()) == (540, []), "firm 2 moved on: its entry for 09:00 is dead"
    assert (queue.next_minute(), queue.open_bucket()) == (570, [1])
    assert (queue.next_minute(), queue.open_bucket()) == (600, [2])
    assert queue.next_minute() is None
