"""What becomes of goods under way (RULES.md section 6)."""

from typing import Any

import pytest

from tests.engine.table import GREEN, ROASTED, SPECIAL_GREEN, Table, opening, stock

PAPER_ODDS: dict[str, Any] = {"loss": 0.015, "delay": 0.07}


def under_way(*draws: float, **changes: Any) -> Table:
    """A table at which the next shipments are settled by these draws from the stream."""
    table = Table(**{**PAPER_ODDS, **changes})
    stream = iter(draws)
    table.world.chance.draw = lambda: next(stream)
    return table


@pytest.mark.parametrize(
    ("draw", "status"),
    [
        (0.0, "lost"),
        (0.0149, "lost"),
        (0.015, "travelling"),  # u < loss is lost, so the bound itself is late
        (0.0849, "travelling"),
        (0.0851, "delivered"),
        (0.9999, "delivered"),
    ],
)
def test_one_draw_decides_between_lost_late_and_delivered(draw: float, status: str) -> None:
    table = under_way(draw)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.until_day(1)
    assert table.economy.deals[0].status == status


def test_a_delivery_is_booked_at_the_deals_rounded_total_on_both_sides() -> None:
    table = under_way(0.5)
    table.sell("farmer_A", "roaster_A", GREEN, 3, 3.3333, terms=10)
    table.until_day(1)
    assert table.holds("roaster_A", GREEN) == (3, 10.0)
    assert table.account("roaster_A", "payables") == -10
    assert table.account("farmer_A", "receivables") == 10
    assert table.account("farmer_A", "revenue") == -10
    assert table.account("farmer_A", "cost_of_goods_sold") == 6
    assert table.account("farmer_A", "goods_in_transit") == 0
    (invoice,) = table.economy.invoices
    assert (invoice.id, invoice.issued_day, invoice.due_day, invoice.principal_usd) == ("I1", 1, 11, 10.0)
    table.check_books()


def test_the_seller_books_the_cost_pinned_at_acceptance_whatever_it_bought_since() -> None:
    table = under_way(0.5, 0.5, **opening(roaster_A={"stock": stock(green_coffee_kg=(10, 8.0))}))
    # Both deals are under way when the morning comes: roaster_A's own stock then stands at 3.00, its deal at 8.00.
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.sell("roaster_A", "roaster_B", GREEN, 5, 9.0)
    table.until_day(1)
    assert table.account("roaster_A", "cost_of_goods_sold") == 40
    assert table.holds("roaster_A", GREEN) == (15, 70.0)


def test_a_lost_shipment_costs_the_seller_its_goods_and_the_buyer_nothing() -> None:
    table = under_way(0.01)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.until_day(1)
    assert table.account("farmer_A", "other_operating") == 20
    assert table.account("farmer_A", "goods_in_transit") == 0
    assert table.account("farmer_A", "revenue") == 0
    assert table.economy.invoices == []
    assert table.account("roaster_A", "payables") == 0
    assert table.firm("roaster_A").committed_kg == 30, "the room kept for it is free again"
    assert table.observation("roaster_A")["woken_by"] == ["a new day"], "nothing came"
    table.check_books()


def test_a_late_shipment_draws_again_the_next_day_and_keeps_its_place() -> None:
    table = under_way(0.05, 0.5, 0.05, 0.5, 0.5)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.sell("farmer_A", "roaster_B", GREEN, 11, 3.0)
    table.until_day(1)
    table.sell("farmer_A", "retailer_A", GREEN, 12, 3.0)
    table.until_day(3)
    # Day 1: D1 late, D2 delivered. Day 2: D1 first and late again, then D3. Day 3: D1.
    assert [deal.id for deal in (invoice.deal for invoice in table.economy.invoices) if deal] == ["D2", "D3", "D1"]
    assert [deal.settled_minute for deal in table.economy.deals] == [3 * 1440 + 540, 1440 + 540, 2 * 1440 + 540]
    assert table.economy.deals[0].delays == 2
    assert table.economy.invoices[2].issued_day == 3, "invoiced when it comes, and due from then on"
    assert table.economy.invoices[2].due_day == 33


def test_shipments_are_drawn_in_order_of_acceptance_not_of_seating() -> None:
    table = under_way(0.01, 0.5)
    table.sell("farmer_B", "roaster_B", GREEN, 10, 3.0)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.until_day(1)
    assert [deal.status for deal in table.economy.deals] == ["lost", "delivered"]


def test_a_shipment_accepted_in_the_morning_travels_overnight() -> None:
    table = under_way(0.5)
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    assert table.economy.deals[0].due_day == 1
    assert table.economy.deals[0].status == "travelling"


def test_some_roles_may_take_longer_to_deliver() -> None:
    table = under_way(0.5, delivery_days=2, roles={"farmer": {"delivery_extra_days": 3}})
    table.sell("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.until_day(5)
    assert table.economy.deals[0].settled_minute == 5 * 1440 + 540


def test_goods_of_a_firm_that_ran_out_of_room_are_delivered_all_the_same() -> None:
    # Storage was checked at acceptance; what a return brought back since does not turn a delivery away.
    table = under_way(0.5, 0.5, **opening(roaster_A={"storage_cap_kg": 40}))
    table.deliver("roaster_A", "retailer_A", ROASTED, 30, 9.0)
    table.sell("farmer_A", "roaster_A", GREEN, 40, 3.0)
    table.do("retailer_A", "return_shipment", invoice_id="I1", quantity_kg=30)
    assert table.firm("roaster_A").committed_kg == 70
    table.until_day(2)
    assert table.holds("roaster_A", GREEN) == (40, 120.0)
    assert table.refusal("roaster_A", "roast", green_item_id=GREEN, qty_kg=10).endswith(
        "storage has room for 0 kg more (cap 40 kg, on hand and on the way counted)"
    )


def test_the_stream_is_asked_once_per_settlement_and_for_nothing_else() -> None:
    table = Table(**PAPER_ODDS, days=4)
    asked = []
    draw = table.world.chance.draw

    def counted() -> float:
        asked.append(draw())
        return asked[-1]

    table.world.chance.draw = counted
    table.do("farmer_B", "produce_item", item_id=SPECIAL_GREEN, quantity=5)
    for buyer in ("roaster_A", "roaster_B", "retailer_A"):
        table.sell("farmer_A", buyer, GREEN, 2, 3.0)
    table.play_out()
    kinds = ("shipment_delivered", "shipment_delayed", "shipment_lost")
    assert len(asked) == len(table.events(*kinds)) >= 3
