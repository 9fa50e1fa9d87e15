"""Invoices, late fees and returns (RULES.md sections 6, 12.2 and 12.3)."""

from typing import Any

import pytest

from tests.engine.table import GREEN, Table, expenses_of, opening, stock


def test_an_invoice_is_paid_in_full_and_only_when_its_debtor_says_so() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0, terms=0)
    table.until_day(2)
    assert table.account("roaster_A", "payables") == -40, "overdue, and yet nothing is paid by itself"
    paid = table.do("roaster_A", "pay_invoice", invoice_id=invoice)
    assert paid == {"ok": True, "paid": 40.0, "cash": 15_000 - 3 * 30 - 40.0}
    assert (table.account("roaster_A", "payables"), table.account("farmer_A", "receivables")) == (0, 0)
    assert table.cash("farmer_A") == 15_000 - 3 * 25 + 40
    table.check_books()


def test_cash_that_just_covers_an_invoice_pays_it_and_a_cent_less_does_not() -> None:
    for cents_short, is_paid in ((0, True), (1, False)):
        table = Table(**opening(roaster_A={"cash": 2 * 30 + 40 - cents_short / 100}))
        invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
        result = table.call("roaster_A", "pay_invoice", invoice_id=invoice)
        assert result["ok"] == is_paid
    assert result["error"].startswith("I1 takes 40.0 USD, but cash is 39.99 USD")


def test_late_fees_begin_the_evening_after_the_due_day_and_run_on_the_principal_alone() -> None:
    table = Table()
    table.deliver("farmer_A", "roaster_A", GREEN, 10, 10.0, terms=1)  # 100 USD, delivered on day 1, due on day 2
    (invoice,) = table.economy.invoices
    fees = []
    for day in (2, 3, 4, 5):
        table.until_day(day)
        fees.append(invoice.fees_micros)
    assert fees == [0, 0, 100_000, 200_000], "0.001 × 100 on the evenings of days 3 and 4"
    assert table.account("roaster_A", "interest_expense") == 0.2
    assert table.account("farmer_A", "interest_revenue") == -0.2
    table.check_books()
    assert table.do("roaster_A", "pay_invoice", invoice_id="I1")["paid"] == 100.2


@pytest.mark.parametrize(
    ("price", "fee_micros"),
    [
        (3.333, 33_300),  # 33.33 × 0.001 = 0.03333
        (0.01, 100),  # 0.10 × 0.001 = 0.0001
        (0.004_9 + 0.01, 100),  # 0.15 × 0.001 = 0.00015, which as a float is just under, so Python rounds it down
        (0.001 + 0.01, 100),  # 0.11 × 0.001 = 0.00011
    ],
)
def test_a_fee_is_rounded_to_four_decimals_as_python_rounds_a_float(price: float, fee_micros: int) -> None:
    table = Table()
    table.deliver("farmer_A", "roaster_A", GREEN, 10, round(price, 4), terms=0)
    table.until_day(3)
    (invoice,) = table.economy.invoices
    assert invoice.fees_micros == fee_micros == round(round(invoice.principal_usd * 0.001, 4) * 1_000_000)


def test_a_fee_too_small_for_four_decimals_leaves_no_row() -> None:
    table = Table()
    table.deliver("farmer_A", "roaster_A", GREEN, 1, 0.01, terms=0)
    table.until_day(4)
    assert table.economy.invoices[0].fees_micros == 0
    assert "late fee" not in {row.reason for row in table.economy.transfers}


REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    ("roaster_A", "pay_invoice", {"invoice_id": "I1"}, "I1 is paid already; nothing is owed on it"),
    (
        "roaster_B",
        "pay_invoice",
        {"invoice_id": "I1"},
        "no invoice 'I1' is addressed to roaster_B; view_payables shows",
    ),
    ("farmer_A", "pay_invoice", {"invoice_id": "I2"}, "no invoice 'I2' is addressed to farmer_A"),
    ("roaster_A", "pay_invoice", {"invoice_id": "I9"}, "no invoice 'I9' is addressed to roaster_A"),
    ("roaster_A", "pay_invoice", {"invoice_id": "D1"}, "no invoice 'D1' is addressed to roaster_A"),
    (
        "roaster_B",
        "return_shipment",
        {"invoice_id": "I1", "quantity_kg": 1},
        "no invoice 'I1' is addressed to roaster_B",
    ),
    (
        "roaster_A",
        "return_shipment",
        {"invoice_id": "I1", "quantity_kg": 11},
        "quantity_kg 11 exceeds the 10 kg returnable under I1",
    ),
    (
        "roaster_A",
        "return_shipment",
        {"invoice_id": "I2", "quantity_kg": 5},
        "quantity_kg 5 exceeds the 4 kg returnable under I2",
    ),
]


@pytest.mark.parametrize(("firm", "tool", "arguments", "words"), REFUSALS, ids=[row[3][:40] for row in REFUSALS])
def test_a_payment_or_return_that_cannot_be_is_refused_in_words(
    firm: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    table = Table()
    table.sell("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.deliver("farmer_A", "roaster_A", GREEN, 6, 4.0)
    table.do("roaster_A", "pay_invoice", invoice_id="I1")
    table.do("roaster_A", "return_shipment", invoice_id="I2", quantity_kg=2)
    assert table.refusal(firm, tool, **arguments).startswith(words)


def test_only_goods_still_held_can_be_returned() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=4)
    assert table.refusal("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=7) == (
        "quantity_kg 7 exceeds the 6 kg of green_coffee_kg on hand"
    )


def test_a_return_on_an_unpaid_invoice_cuts_what_is_owed() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    returned = table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=3, reason="Too much.")
    assert returned == {"ok": True, "credit": 12.0, "still_owed": 28.0}
    assert table.holds("roaster_A", GREEN) == (7, 28.0)
    assert table.account("roaster_A", "payables") == -28
    # The seller has 3 kg back at what they cost it, 2.00 each, and neither sale nor cost of them.
    assert table.holds("farmer_A", GREEN) == (53, 106.0)
    assert table.account("farmer_A", "receivables") == 28
    assert table.account("farmer_A", "revenue") == -40
    assert table.account("farmer_A", "returns") == 12
    assert table.account("farmer_A", "cost_of_goods_sold") == 20 - 6
    assert table.cash("farmer_A") == 15_000 - 2 * 25, "no cash moved"
    table.check_books()


def test_returning_everything_settles_an_invoice_on_which_no_fees_are_owed() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert table.do("roaster_A", "view_payables")["open"] == 0
    assert table.refusal("roaster_A", "pay_invoice", invoice_id=invoice) == "I1 is paid already; nothing is owed on it"
    assert table.firm("farmer_A").score_micros == -2 * 25_000_000, "as if it had never been"
    table.check_books()


def test_accrued_fees_stay_owed_when_all_goods_are_returned_and_grow_no_more() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 10.0, terms=0)
    table.until_day(3)
    returned = table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert returned == {"ok": True, "credit": 100.0, "still_owed": 0.1}
    table.until_day(6)
    assert table.do("roaster_A", "view_payables")["total_owed"] == 0.1
    assert table.do("roaster_A", "pay_invoice", invoice_id=invoice)["paid"] == 0.1
    assert table.do("roaster_A", "view_payables")["open"] == 0
    table.check_books()


def test_fees_run_on_what_is_owed_of_the_principal_after_credits() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 10.0, terms=0)
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=4)
    table.until_day(3)
    assert table.economy.invoices[0].fees_micros == 60_000, "0.001 × 60, on the evening of day 2"


def test_a_return_on_a_paid_invoice_is_refunded_in_cash_but_never_the_fees() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 10.0, terms=0)
    table.until_day(3)
    assert table.do("roaster_A", "pay_invoice", invoice_id=invoice)["paid"] == 100.1
    cash = table.cash("roaster_A"), table.cash("farmer_A")
    returned = table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert returned == {"ok": True, "credit": 100.0, "still_owed": 0.0}
    assert (table.cash("roaster_A"), table.cash("farmer_A")) == (cash[0] + 100, cash[1] - 100)
    assert table.account("roaster_A", "interest_expense") == 0.1
    assert len(table.economy.invoices) == 1
    table.check_books()


def broke_seller() -> Table:
    """farmer_A sold 10 kg for 40 USD, was paid, and has 6 USD left on day 1."""
    table = Table(**opening(farmer_A={"cash": 60}))
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.do("roaster_A", "pay_invoice", invoice_id=invoice)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=22)  # 60 − 2 × 25 + 40 − 22 × 2 = 6
    assert table.cash("farmer_A") == 6
    return table


def test_what_the_sellers_cash_cannot_cover_of_a_refund_becomes_an_invoice_to_it() -> None:
    table = broke_seller()
    cash = table.cash("roaster_A")
    returned = table.do("roaster_A", "return_shipment", invoice_id="I1", quantity_kg=10)
    assert returned["credit"] == 40
    assert (table.cash("roaster_A"), table.cash("farmer_A")) == (cash + 6, 0)
    (refund,) = table.do("farmer_A", "view_payables")["invoices"]
    assert refund == {
        "invoice_id": "I2",
        "to": "roaster_A",
        "deal_id": None,
        "item_id": None,
        "owed": 34.0,
        "of_which_late_fees": 0.0,
        "issued_day": 1,
        "due_day": 31,
        "days_overdue": 0,
    }
    assert table.account("roaster_A", "receivables") == 34
    assert table.account("farmer_A", "payables") == -34
    table.check_books()


def test_a_refund_invoice_can_be_paid_and_runs_late_but_nothing_is_returnable_under_it() -> None:
    table = Table(refund_terms_days=0, **opening(farmer_A={"cash": 60, "opex": 0}))
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 10.0)
    table.do("roaster_A", "pay_invoice", invoice_id=invoice)
    for _ in range(2):
        table.do("farmer_A", "produce_item", item_id="green_specialty_kg", quantity=5)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=30)  # 60 + 100 − 100 − 60 = 0
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert table.refusal("farmer_A", "return_shipment", invoice_id="I2", quantity_kg=1) == (
        "I2 is a refund, not a delivery; nothing can be returned under it"
    )
    table.until_day(3)
    assert table.do("roaster_A", "view_receivables")["late_fees"] == 0.1
    assert "takes 100.1 USD, but cash is 0.0 USD" in table.refusal("farmer_A", "pay_invoice", invoice_id="I2")
    table.deliver("farmer_A", "roaster_B", GREEN, 30, 10.0)
    table.do("roaster_B", "pay_invoice", invoice_id="I3")
    assert table.do("farmer_A", "pay_invoice", invoice_id="I2")["paid"] == 100.2
    table.check_books()


def test_the_last_return_takes_the_remainders() -> None:
    table = Table()
    table.deliver("farmer_A", "roaster_A", GREEN, 3, 3.3333)  # 3 kg at 10.00
    invoice = table.deliver("roaster_A", "roaster_B", GREEN, 3, 5.5555)  # 16.6665, which is 16.67
    credited = [table.do("roaster_B", "return_shipment", invoice_id=invoice, quantity_kg=1)["credit"] for _ in range(3)]
    assert credited == [5.56, 5.56, 5.55], "5.5555 is 5.56; the last takes 16.67 less 11.12"
    returned = [row.amount_micros for row in table.economy.transfers if row.reason == "goods returned"]
    assert returned == [3_333_333, 3_333_333, 3_333_334], "thirds of 10.00"
    assert table.holds("roaster_A", GREEN) == (3, 10.0)
    assert table.holds("roaster_B", GREEN) == (0, 0.0)
    assert table.account("roaster_A", "cost_of_goods_sold") == 0
    table.check_books()


def test_credits_that_were_rounded_up_never_come_to_more_than_the_invoice() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 0.0151)  # 0.151, which is 0.15; a kilogram is 0.02
    credited = [
        table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=1)["credit"] for _ in range(10)
    ]
    assert credited == [0.02] * 7 + [0.01, 0.0, 0.0]
    assert table.account("roaster_A", "payables") == 0
    table.check_books()


def test_the_fourteenth_day_after_issue_still_counts_and_the_fifteenth_does_not() -> None:
    table = Table()
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)  # issued on day 1
    table.until_day(15)
    assert table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=1)["credit"] == 4
    table.until_day(16)
    assert table.refusal("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=1) == (
        "I1 was returnable until day 15; today is day 16"
    )


def test_a_bankrupt_seller_takes_nothing_back() -> None:
    table = Table(**opening(farmer_A={"cash": 60}))
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.until_day(3)
    assert not table.firm("farmer_A").is_live
    assert table.refusal("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=1) == (
        "farmer_A is bankrupt and takes nothing back"
    )


@pytest.mark.parametrize(
    ("invoice", "other_operating"),
    [
        ("I1", -10),  # credited at 4.00, held at 3.00: ten dollars gained
        ("I2", 10),  # credited at 2.00, held at 3.00: ten dollars lost
    ],
)
def test_the_buyer_books_the_difference_between_credit_and_its_average_cost(
    invoice: str, other_operating: float
) -> None:
    table = Table()
    table.sell("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.deliver("farmer_B", "roaster_A", GREEN, 10, 2.0)
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert expenses_of(table, "roaster_A") == {"rent_and_utilities": 60, "other_operating": other_operating}
    assert table.holds("roaster_A", GREEN) == (10, 30.0)
    table.check_books()


def test_the_gain_is_the_same_when_the_refund_is_part_cash_and_part_debt() -> None:
    table = Table(**opening(farmer_A={"cash": 60}))
    table.sell("farmer_B", "roaster_A", GREEN, 10, 2.0)
    invoice = table.deliver("farmer_A", "roaster_A", GREEN, 10, 4.0)
    table.do("roaster_A", "pay_invoice", invoice_id=invoice)
    table.do("farmer_A", "produce_item", item_id=GREEN, quantity=22)
    table.do("roaster_A", "return_shipment", invoice_id=invoice, quantity_kg=10)
    assert table.account("roaster_A", "receivables") == 34, "the seller had 6 of the 40 USD"
    assert expenses_of(table, "roaster_A") == {"rent_and_utilities": 60, "other_operating": -10}
    table.check_books()


def test_payables_and_receivables_show_the_most_urgent_first_with_totals_over_all() -> None:
    table = Table()
    table.sell("farmer_A", "roaster_A", GREEN, 10, 4.0, terms=20)
    table.sell("farmer_B", "roaster_A", GREEN, 5, 4.0, terms=0)
    table.deliver("farmer_A", "roaster_A", GREEN, 1, 4.0, terms=10)
    table.until_day(3)
    seen = table.do("roaster_A", "view_payables")
    assert [(row["invoice_id"], row["to"], row["owed"], row["days_overdue"]) for row in seen["invoices"]] == [
        ("I2", "farmer_B", 20.02, 2),
        ("I3", "farmer_A", 4.0, 0),
        ("I1", "farmer_A", 40.0, 0),
    ]
    totals = {name: seen[name] for name in ("open", "overdue", "total_owed", "late_fees")}
    assert totals == {"open": 3, "overdue": 1, "total_owed": 64.02, "late_fees": 0.02}
    limited = table.do("roaster_A", "view_payables", limit=1)
    assert len(limited["invoices"]) == 1
    assert {name: limited[name] for name in totals} == totals
    overdue = table.do("roaster_A", "view_payables", only_overdue=True)
    assert [row["invoice_id"] for row in overdue["invoices"]] == ["I2"]
    of_one = table.do("roaster_A", "view_payables", counterparty="farmer_A")
    assert ([row["invoice_id"] for row in of_one["invoices"]], of_one["total_owed"]) == (["I3", "I1"], 44.0)
    owed_to_farmer = table.do("farmer_A", "view_receivables", counterparty="roaster_A")
    assert [(row["invoice_id"], row["from"]) for row in owed_to_farmer["invoices"]] == [
        ("I3", "roaster_A"),
        ("I1", "roaster_A"),
    ]


def test_the_trial_balance_shows_ones_own_books_for_a_period_that_ends_now() -> None:
    table = Table(**opening(roaster_A={"stock": stock(green_coffee_kg=(20, 2.0))}))
    table.do("roaster_A", "roast", green_item_id=GREEN, qty_kg=10)
    table.until_day(9)
    seen = {period: table.do("roaster_A", "view_trial_balance", period=period) for period in ("all", "today")}
    assert seen["all"]["cash"] == 15_000 - 10 * 30 - 30
    assert seen["all"]["stock"] == {
        "green_coffee_kg": {"qty": 10, "cost": 20.0, "average_cost": 2.0},
        "roasted_coffee_kg": {"qty": 8, "cost": 50.0, "average_cost": 6.25},
    }
    assert seen["all"]["balance_sheet"] == {
        "cash": 14_670.0,
        "inventory": 70.0,
        "work_in_progress": 0.0,
        "goods_in_transit": 0.0,
        "receivables": 0.0,
        "payables": 0.0,
        "equity": 14_740.0,
    }
    assert seen["all"]["income_statement"]["net_income"] == -300, "10 mornings"
    assert seen["today"]["income_statement"]["net_income"] == -30, "this morning's cost"
    last_week = table.do("roaster_A", "view_trial_balance", period="last_7_days")["income_statement"]
    assert last_week["rent_and_utilities"] == 7 * 30, "days 3 to 9"
    last_month = table.do("roaster_A", "view_trial_balance", period="last_30_days")["income_statement"]
    assert last_month == seen["all"]["income_statement"], "the run is younger than a month"
