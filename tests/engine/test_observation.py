"""What a woken firm is shown, word for word (RULES.md section 11)."""

from tests.engine.table import GREEN, ROASTED, SPECIAL_ROASTED, Table, opening, stock, to


def test_a_roaster_sees_its_own_position_and_what_is_open_with_others() -> None:
    table = Table(**opening(roaster_A={"stock": stock(green_coffee_kg=(20, 2.5), roasted_coffee_kg=(30, 5.88))}))
    table.offer("roaster_A", "retailer_A", ROASTED, 5, 9.0, listed=10)
    table.offer("farmer_B", "roaster_A", GREEN, 4, 2.25)
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=10)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0, terms=0)
    table.until_day(1)
    table.sell("roaster_A", "retailer_B", ROASTED, 8, 9.5, terms=1)
    table.do("retailer_A", "send_message", recipient="roaster_A", title="Hello", body="Wake up.")
    table.until_day(4)
    assert table.observation("roaster_A") == {
        "firm": "roaster_A",
        "role": "roaster",
        "day": 4,
        "days_in_all": 90,
        "date": "Friday, January 5",
        "time": "09:00",
        "calls_left_today": 20,
        "woken_by": ["a new day"],
        "cash": 15_000.0 - 5 * 30 - 30,
        # 10 kg of green at 2.50 and 10 at 3.00; 30 + 8 kg of roasted at 176.40 and 55.00, less 8 at their average.
        "inventory_value": 237.684211,  # 55 + 231.40 − 48.715789
        # Due on day 3: overdue this morning, the first fee comes this evening. The debt was due on day 1.
        "receivables": {"open": 1, "overdue": 1, "total_owed": 76.0, "late_fees": 0.0},
        "payables": {"open": 1, "overdue": 1, "total_owed": 30.06, "late_fees": 0.06},
        "stock": {
            "items": {GREEN: {"on_hand": 20, "in_flight": 0}, ROASTED: {"on_hand": 30, "in_flight": 0}},
            "on_hand": 50,
            "in_flight": 0,
            "cap": 120,
            "headroom": 70,
        },
        "your_open_listings": [
            {"listing_id": "L1", "item_id": ROASTED, "qty": 10, "asking_price": 9.0, "payment_terms_days": 30}
        ],
        "offers_to_you": [
            {
                "bidder": "retailer_A",
                "offer_id": "O1",
                "listing_id": "L1",
                "item_id": ROASTED,
                "qty": 5,
                "offered_price": 9.0,
                "asking_price": 9.0,
                "payment_terms_days": 30,
                "message": "",
            }
        ],
        "your_offers": [
            {
                "seller": "farmer_B",
                "offer_id": "O2",
                "listing_id": "L2",
                "item_id": GREEN,
                "qty": 4,
                "offered_price": 2.25,
                "asking_price": 2.25,
                "payment_terms_days": 30,
                "message": "",
            }
        ],
        "deals_since_last_active": [],
        "unread_messages": {"by_sender": {"retailer_A": 1}, "oldest_day": 1},
        "bankruptcies": [],
        "batches_in_work": [],
    }


def test_a_retailer_sees_its_shelf_and_its_sales_and_no_batches() -> None:
    table = Table(demand_sigma=0, loyalty_low=1, loyalty_high=1)
    table.until_day(1)
    seen = table.observation("retailer_A")
    assert seen["shelf_prices"] == {ROASTED: 18.0, SPECIAL_ROASTED: 50.0}
    assert seen["sales_since_last_active"] == [
        {"day": 0, "item_id": ROASTED, "qty": 21, "price": 18.0, "revenue": 378.0}
    ]
    assert "batches_in_work" not in seen


def test_a_farmer_sees_its_batches_and_no_shelf() -> None:
    table = Table()
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=7)
    table.until_day(1)
    seen = table.observation("farmer_A")
    assert seen["batches_in_work"] == [{"batch_id": "B1", "item_id": GREEN, "output_kg": 7, "lands_day": 2}]
    assert seen["stock"]["items"] == {GREEN: {"on_hand": 60, "in_flight": 7}}
    assert "shelf_prices" not in seen
    assert "sales_since_last_active" not in seen


def test_deals_since_last_active_are_those_made_since_the_last_observation() -> None:
    table = Table()
    table.offer("farmer_A", "roaster_A", GREEN, 5, 3.0)
    table.step(farmer_A=to("accept_offer", offer_id="O1"))
    assert [deal["deal_id"] for deal in table.observation("roaster_A")["deals_since_last_active"]] == ["D1"]
    table.until_day(1)
    (delivered,) = table.do("roaster_A", "view_deals")["deals"]
    assert delivered["status"] == "delivered"
    table.until_day(2)
    assert table.observation("roaster_A")["deals_since_last_active"] == []


def test_dates_follow_a_calendar_that_begins_on_a_monday_in_january() -> None:
    table = Table()
    dates = {}
    for day in (0, 1, 31, 40, 59):
        table.until_day(day)
        dates[day] = table.observation("roaster_A")["date"]
    assert dates == {
        0: "Monday, January 1",
        1: "Tuesday, January 2",
        31: "Thursday, February 1",
        40: "Saturday, February 10",
        59: "Thursday, March 1",
    }
