"""Listings, offers and deals (RULES.md section 5)."""

from typing import Any

import pytest

from tests.engine.table import GREEN, ROASTED, SPECIAL_GREEN, Table, opening, stock


def test_a_listing_reserves_nothing_and_goods_can_be_listed_twice() -> None:
    table = Table()
    assert table.do("farmer_A", "post_listing", item_id=GREEN, qty=60, asking_price=3.0) == {
        "ok": True,
        "listing_id": "L1",
    }
    table.do("farmer_A", "post_listing", item_id=GREEN, qty=60, asking_price=2.5)
    assert table.holds("farmer_A", GREEN) == (60, 120.0)
    assert [row["listing_id"] for row in table.do("roaster_A", "view_listings")["listings"]] == ["L1", "L2"]


def test_a_deal_is_made_at_the_offered_price_and_terms_not_at_the_asked_ones() -> None:
    table = Table()
    offer = table.offer("farmer_A", "roaster_A", GREEN, 20, 2.75, terms=7)
    assert table.do("farmer_A", "accept_offer", offer_id=offer) == {
        "ok": True,
        "deal_id": "D1",
        "total": 55.0,
        "due_day": 1,
    }
    (deal,) = table.do("roaster_A", "view_deals")["deals"]
    assert deal == {
        "deal_id": "D1",
        "side": "purchase",
        "with": "farmer_A",
        "item_id": GREEN,
        "qty": 20,
        "price": 2.75,
        "total": 55.0,
        "payment_terms_days": 7,
        "status": "travelling",
        "due_day": 1,
    }


def test_terms_are_thirty_days_unless_said_otherwise() -> None:
    table = Table()
    table.do("farmer_A", "post_listing", item_id=GREEN, qty=20, asking_price=3.0)
    table.do("roaster_A", "make_offer", listing_id="L1", offered_price=3.0, qty=20)
    assert table.do("roaster_A", "view_listings")["listings"][0]["payment_terms_days"] == 30
    assert table.do("farmer_A", "view_offers")["incoming"][0]["payment_terms_days"] == 30


def test_accepting_takes_the_goods_out_of_stock_at_average_cost_and_pays_nobody_yet() -> None:
    table = Table()
    table.sell("farmer_A", "roaster_A", GREEN, 20, 3.0)
    assert table.holds("farmer_A", GREEN) == (40, 80.0)
    assert table.account("farmer_A", "goods_in_transit") == 40
    assert table.account("farmer_A", "revenue") == 0
    assert (table.cash("farmer_A"), table.cash("roaster_A")) == (15_000 - 25, 15_000 - 30)
    table.check_books()


def test_the_last_kilogram_takes_whatever_cost_is_left() -> None:
    table = Table()
    table.deliver("farmer_A", "roaster_A", GREEN, 3, 3.3333)
    assert table.holds("roaster_A", GREEN) == (3, 10.0), "3 × 3.3333 = 9.9999, which is 10.00 in whole cents"
    for _ in range(3):
        table.sell("roaster_A", "roaster_B", GREEN, 1, 9.0)
    # A third of 10.00; half of the remaining 6.666667, where the tie goes to the even micro-dollar; the rest.
    assert [deal.cost_micros for deal in table.economy.deals[1:]] == [3_333_333, 3_333_334, 3_333_333]
    assert table.holds("roaster_A", GREEN) == (0, 0.0)


def test_a_listing_sells_in_parts_and_closes_at_nothing_left_rejecting_the_other_offers() -> None:
    table = Table()
    first = table.offer("farmer_A", "roaster_A", GREEN, 15, 3.0, listed=20)
    second = table.bid("roaster_B", "L1", 5, 3.0)
    third = table.bid("retailer_A", "L1", 20, 4.0)
    table.do("farmer_A", "accept_offer", offer_id=first)
    assert table.do("roaster_B", "view_listings")["listings"][0]["qty"] == 5
    table.do("farmer_A", "accept_offer", offer_id=second)
    assert table.do("roaster_B", "view_listings")["listings"] == []
    assert [(offer.id, offer.status) for offer in table.economy.offers] == [
        (first, "accepted"),
        (second, "accepted"),
        (third, "rejected"),
    ]
    assert table.events("offer_rejected") == [{"offer": third, "listing": "L1"}]
    assert table.do("farmer_A", "view_offers") == {"ok": True, "incoming": [], "outgoing": []}


def test_neither_cash_nor_storage_is_checked_when_an_offer_is_made() -> None:
    table = Table(**opening(roaster_A={"cash": 31, "storage_cap_kg": 5}))
    assert table.offer("farmer_A", "roaster_A", GREEN, 60, 100.0) == "O1"


def test_cash_is_not_checked_when_an_offer_is_accepted_either() -> None:
    table = Table(**opening(roaster_A={"cash": 31}))
    assert table.sell("farmer_A", "roaster_A", GREEN, 60, 100.0) == "D1"


def test_a_buyer_can_commit_to_exactly_its_storage_cap_and_not_a_kilogram_more() -> None:
    table = Table()
    # 30 kg on hand, 60 and 30 kg on their way: 120 kg, a roaster's cap.
    table.sell("farmer_A", "roaster_A", GREEN, 60, 3.0)
    table.sell("farmer_B", "roaster_A", GREEN, 30, 3.0)
    offer = table.offer("farmer_B", "roaster_A", GREEN, 1, 3.0)
    assert table.refusal("farmer_B", "accept_offer", offer_id=offer) == (
        "roaster_A has no room for 1 kg more; it may take a smaller lot, or this one later"
    )
    assert table.firm("roaster_A").committed_kg == 120


def test_batches_in_work_count_towards_the_room_of_a_buyer() -> None:
    table = Table(**opening(farmer_B={"storage_cap_kg": 71}))
    table.do("farmer_B", "produce_item", item_id=SPECIAL_GREEN, quantity=10)
    offer = table.offer("farmer_A", "farmer_B", GREEN, 2, 3.0)
    assert "no room for 2 kg more" in table.refusal("farmer_A", "accept_offer", offer_id=offer)


def test_anyone_may_buy_and_resell_anything() -> None:
    table = Table()
    table.deliver("farmer_A", "retailer_A", GREEN, 10, 3.0)
    table.deliver("retailer_A", "farmer_B", GREEN, 10, 4.0)
    assert table.account("retailer_A", "revenue") <= -40
    assert table.holds("farmer_B", GREEN) == (70, 160.0)


def test_goods_promised_twice_go_to_whom_the_seller_accepts_first() -> None:
    table = Table()
    first = table.offer("farmer_A", "roaster_A", GREEN, 60, 3.0)
    second = table.offer("farmer_A", "roaster_B", GREEN, 10, 3.0)
    table.do("farmer_A", "accept_offer", offer_id=first)
    assert table.refusal("farmer_A", "accept_offer", offer_id=second) == (
        "O2 asks for 10 kg, but you hold 0 kg of green_coffee_kg"
    )


def test_a_withdrawn_offer_leaves_the_listing_open() -> None:
    table = Table()
    offer = table.offer("farmer_A", "roaster_A", GREEN, 20, 3.0)
    assert table.do("roaster_A", "withdraw_offer", offer_id=offer) == {"ok": True, "withdrawn": "O1"}
    assert len(table.do("roaster_A", "view_listings")["listings"]) == 1
    assert table.do("farmer_A", "view_offers", direction="incoming") == {"ok": True, "incoming": []}


@pytest.mark.parametrize(
    ("price", "qty", "total"),
    [
        (3.3333, 3, 10.0),
        (0.01, 1, 0.01),
        (2.0049, 1, 2.0),
        (2.0051, 1, 2.01),
        (99_999.9999, 60, 5_999_999.99),  # 5,999,999.994
    ],
)
def test_a_total_is_price_times_quantity_in_whole_cents(price: float, qty: int, total: float) -> None:
    table = Table()
    offer = table.offer("farmer_A", "roaster_A", GREEN, qty, price)
    assert table.do("farmer_A", "accept_offer", offer_id=offer)["total"] == total


# A market in which L1 of farmer_A still offers 10 of 20 kg, O1 asks for 15 of them, O2 was withdrawn, O3 accepted, and
# L2 of farmer_B is sold out.
REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    ("farmer_A", "post_listing", {"item_id": GREEN, "qty": 51, "asking_price": 3}, "qty 51 exceeds the 50 kg of green"),
    (
        "farmer_A",
        "post_listing",
        {"item_id": ROASTED, "qty": 1, "asking_price": 3},
        "qty 1 exceeds the 0 kg of roasted",
    ),
    (
        "farmer_A",
        "post_listing",
        {"item_id": "tea_kg", "qty": 1, "asking_price": 3},
        "there is no item 'tea_kg'; the items are green_coffee_kg, roasted_coffee_kg, green_specialty_kg",
    ),
    ("roaster_A", "view_listings", {"item_id": "tea_kg"}, "there is no item 'tea_kg'"),
    (
        "roaster_A",
        "make_offer",
        {"listing_id": "L1", "offered_price": 3, "qty": 11},
        "qty 11 exceeds the 10 kg still offered on L1",
    ),
    ("farmer_A", "make_offer", {"listing_id": "L1", "offered_price": 3, "qty": 1}, "L1 is your own listing"),
    ("roaster_A", "make_offer", {"listing_id": "L2", "offered_price": 3, "qty": 1}, "L2 is sold out; view_listings"),
    ("roaster_A", "make_offer", {"listing_id": "L3", "offered_price": 3, "qty": 1}, "there is no listing 'L3'"),
    ("roaster_A", "make_offer", {"listing_id": "L0", "offered_price": 3, "qty": 1}, "there is no listing 'L0'"),
    ("roaster_A", "make_offer", {"listing_id": "L01", "offered_price": 3, "qty": 1}, "there is no listing 'L01'"),
    ("roaster_A", "make_offer", {"listing_id": "O1", "offered_price": 3, "qty": 1}, "there is no listing 'O1'"),
    (
        "roaster_A",
        "make_offer",
        {"listing_id": "unknown", "offered_price": 3, "qty": 1},
        "there is no listing 'unknown'",
    ),
    ("farmer_A", "accept_offer", {"offer_id": "O1"}, "O1 asks for 15 kg, but L1 still offers 10 kg"),
    ("farmer_A", "accept_offer", {"offer_id": "O2"}, "O2 is withdrawn already; only a pending offer can be accepted"),
    ("farmer_A", "accept_offer", {"offer_id": "O3"}, "O3 is accepted already; only a pending offer can be accepted"),
    ("roaster_A", "accept_offer", {"offer_id": "O1"}, "O1 is on L1, a listing of farmer_A; only its seller can accept"),
    ("farmer_A", "withdraw_offer", {"offer_id": "O1"}, "O1 is roaster_A's offer; only its bidder can withdraw it"),
    ("roaster_B", "withdraw_offer", {"offer_id": "O2"}, "O2 is withdrawn already; only a pending offer"),
    ("roaster_B", "withdraw_offer", {"offer_id": "O3"}, "O3 is accepted already; only a pending offer"),
    # To a third firm an offer of others does not exist.
    ("farmer_B", "accept_offer", {"offer_id": "O1"}, "farmer_B made and received no offer 'O1'"),
    ("farmer_B", "withdraw_offer", {"offer_id": "O1"}, "farmer_B made and received no offer 'O1'"),
    ("farmer_B", "accept_offer", {"offer_id": "O99"}, "farmer_B made and received no offer 'O99'"),
]


@pytest.mark.parametrize(("firm", "tool", "arguments", "words"), REFUSALS, ids=[row[3][:40] for row in REFUSALS])
def test_a_trade_that_cannot_be_is_refused_in_words(
    firm: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    table = Table()
    table.offer("farmer_A", "roaster_A", GREEN, 15, 3.0, listed=20)
    table.do("roaster_B", "withdraw_offer", offer_id=table.bid("roaster_B", "L1", 8, 3.0))
    table.do("farmer_A", "accept_offer", offer_id=table.bid("roaster_B", "L1", 10, 3.0))
    table.sell("farmer_B", "retailer_A", GREEN, 5, 3.0)
    assert table.refusal(firm, tool, **arguments).startswith(words)


def test_listings_can_be_seen_of_one_item_and_without_ones_own() -> None:
    table = Table(**opening(farmer_A={"stock": stock(green_coffee_kg=(5, 2.0), green_specialty_kg=(5, 10.0))}))
    table.do("farmer_A", "post_listing", item_id=GREEN, qty=5, asking_price=3.0)
    table.do("farmer_A", "post_listing", item_id=SPECIAL_GREEN, qty=5, asking_price=12.0, payment_terms_days=3)
    table.do("roaster_A", "post_listing", item_id=ROASTED, qty=5, asking_price=9.0)

    def seen(firm: str, **arguments: Any) -> list[str]:
        return [row["listing_id"] for row in table.do(firm, "view_listings", **arguments)["listings"]]

    assert seen("farmer_B") == ["L1", "L2", "L3"]
    assert seen("farmer_B", item_id=SPECIAL_GREEN) == ["L2"]
    assert seen("farmer_A", only_others=True) == ["L3"]
    assert table.do("farmer_B", "view_listings", item_id=SPECIAL_GREEN)["listings"][0] == {
        "listing_id": "L2",
        "seller": "farmer_A",
        "item_id": SPECIAL_GREEN,
        "qty": 5,
        "asking_price": 12.0,
        "payment_terms_days": 3,
    }


def test_offers_can_be_seen_by_direction() -> None:
    table = Table()
    table.do("farmer_A", "post_listing", item_id=GREEN, qty=20, asking_price=3.0)
    table.do(
        "roaster_A",
        "make_offer",
        listing_id="L1",
        offered_price=2.5,
        qty=20,
        payment_terms_days=10,
        message="For Monday.",
    )
    row = {
        "offer_id": "O1",
        "listing_id": "L1",
        "item_id": GREEN,
        "qty": 20,
        "offered_price": 2.5,
        "asking_price": 3.0,
        "payment_terms_days": 10,
        "message": "For Monday.",
    }
    assert table.do("farmer_A", "view_offers") == {
        "ok": True,
        "incoming": [{"bidder": "roaster_A", **row}],
        "outgoing": [],
    }
    assert table.do("roaster_A", "view_offers", direction="outgoing") == {
        "ok": True,
        "outgoing": [{"seller": "farmer_A", **row}],
    }
    assert table.do("roaster_B", "view_offers") == {"ok": True, "incoming": [], "outgoing": []}


def test_the_latest_twenty_deals_are_shown_newest_first_with_the_number_of_all() -> None:
    table = Table()
    for _ in range(21):
        if table.due().minute % 1440 > 17 * 60:
            table.until_day(table.world.day + 1)
        table.sell("farmer_A", "farmer_B", GREEN, 1, 3.0)
    table.until_day(table.world.day + 1)
    seen = table.do("farmer_A", "view_deals")
    assert (len(seen["deals"]), seen["deals_in_all"]) == (20, 21)
    assert (seen["deals"][0]["deal_id"], seen["deals"][-1]["deal_id"]) == ("D21", "D2")
    assert {deal["status"] for deal in seen["deals"]} == {"delivered"}
