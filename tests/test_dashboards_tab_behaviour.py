"""The tab Behaviour: its alarms, its figures of merit and its charts, against numbers reckoned by hand."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboards.figure_rows import rows_behind
from dashboards.figures import Frame
from dashboards.tabs import alarms_of_play as alarms
from dashboards.tabs import behaviour
from dashboards.tabs import behaviour_figures as charts
from dashboards.tabs.alarms_of_play import Alarm, Play, alarms_of, circles_from
from dashboards.tabs.behaviour_merit import Merit, Standing, idle_days, merits_of, prolonged_idleness
from dashboards.tabs.behaviour_rows import (
    SHOP_COST,
    SHOP_REVENUE,
    SPOILAGE,
    Act,
    Debt,
    Evening,
    Making,
    Outflow,
    Rows,
    Seat,
    Trade,
)
from marketplace.economy.money import micros
from marketplace.models import Batch, ConsumerSale, Deal, Firm, Invoice, Transfer
from marketplace.rows import key_of
from simulation.engine.clock import CLOSING_MINUTE, MINUTES_PER_DAY
from simulation.models import DayEnd, Run
from tests.looks import look
from tests.small_runs import MORNING, add_event, make_run
from tests.talk_rows import add_ask, add_call, add_turn, firm_of, make_model_run

A, B, C = "roaster_A", "roaster_B", "retailer_A"
GREEN, ROASTED, SPECIAL = "green_coffee_kg", "roasted_coffee_kg", "roasted_specialty_kg"
UNTIL = 20


def play(until: int = UNTIL, **rows: Any) -> Play:
    """Rows of three roasters of 30 USD a day; each was rich on every evening, and busy, unless told otherwise."""
    seats = [Seat(name, cap_kg=120, opex_usd=30) for name in (A, B, C)]
    days = range(until + 1)
    busy = [Act(name, day, "view_deals", answer=f"{day}") for name in (A, B, C) for day in days]
    rich = [Evening(name, day, cash_micros=micros(15_000)) for name in (A, B, C) for day in days]
    return Play(**{"until": until, "seats": seats, "acts": busy, "evenings": rich, **rows})


def kinds(found: list[Alarm]) -> list[tuple[str, str, int]]:
    """Firm, kind and first day of some alarms."""
    return [(alarm.firm, alarm.kind, alarm.since) for alarm in found]


def busy_until(last_busy_day: int) -> list[Act]:
    """Turns of three firms: all busy each day, but A only until one, and from then on waiting."""
    others = [Act(name, day, "post_listing", arguments=f"{day}") for name in (B, C) for day in range(UNTIL + 1)]
    mine = [Act(A, day, "post_listing", arguments=f"{day}") for day in range(last_busy_day + 1)]
    waits = [Act(A, day, "wait_for_next_day") for day in range(last_busy_day + 1, UNTIL)]
    return [*others, *mine, *waits, Act(A, UNTIL, "")]


def test_a_quiet_play_raises_no_alarm() -> None:
    assert alarms_of(play()) == []


def test_three_days_of_waits_in_a_row_are_idle_drift_and_two_are_not() -> None:
    found = alarms_of(play(acts=busy_until(UNTIL - 3)))
    assert kinds(found) == [(A, "idle drift", 18)]
    assert "3 days in a row" in found[0].text
    assert alarms_of(play(acts=busy_until(UNTIL - 2))) == []


def test_idle_drift_is_over_with_the_first_call_of_a_day_that_is_still_played() -> None:
    evenings = [Evening(name, day, cash_micros=micros(15_000)) for name in (A, B, C) for day in range(UNTIL)]
    assert kinds(alarms_of(play(acts=busy_until(UNTIL - 4), evenings=evenings))) == [(A, "idle drift", 17)]
    acts = [*busy_until(UNTIL - 4), Act(A, UNTIL, "roast")]
    assert alarms_of(play(acts=acts, evenings=evenings)) == []


def test_a_refused_call_is_no_idleness() -> None:
    acts = busy_until(UNTIL - 3)
    assert alarms_of(play(acts=[*acts, Act(A, UNTIL, "roast", accepted=False)])) == []


def same_calls(count: int, **more: Any) -> list[Act]:
    """Calls of A on Day 18, all alike."""
    return [Act(A, 18, "make_offer", arguments='{"listing_id": "L1"}', **more) for _ in range(count)]


def test_five_same_calls_in_a_row_are_an_alarm_and_four_are_not() -> None:
    found = alarms_of(play(acts=same_calls(5)))
    assert (A, "repeated calls", 18) in kinds(found)
    assert "make_offer 5 times in a row" in next(each.text for each in found if each.kind == "repeated calls")
    assert "repeated calls" not in {each.kind for each in alarms_of(play(acts=same_calls(4)))}


def test_waits_between_same_calls_do_not_break_the_row_even_over_days() -> None:
    acts = [
        act
        for day in range(16, 21)
        for act in (Act(A, day, "roast", arguments='{"qty_kg": 900}'), Act(A, day, "wait_for_next_day"))
    ]
    found = alarms_of(play(acts=acts))
    assert (A, "repeated calls", 16) in kinds(found)
    assert "from Day 16 to Day 20" in next(each.text for each in found if each.kind == "repeated calls")


@pytest.mark.parametrize(("times", "is_alarm"), [(6, True), (5, False)])
def test_six_same_calls_in_a_day_are_an_alarm_even_with_others_between_them(times: int, is_alarm: bool) -> None:
    acts = [act for index in range(times) for act in (*same_calls(1), Act(A, 18, "post_listing", arguments=f"{index}"))]
    assert ("repeated calls" in {each.kind for each in alarms_of(play(acts=acts))}) is is_alarm


def test_a_look_that_shows_something_new_each_time_is_no_repetition() -> None:
    looks = [Act(A, 18, "view_listings", arguments="{}", answer=f"{index}") for index in range(9)]
    assert "repeated calls" not in {each.kind for each in alarms_of(play(acts=looks))}
    same = [Act(A, 18, "view_listings", arguments="{}", answer="nothing") for _ in range(5)]
    assert "repeated calls" in {each.kind for each in alarms_of(play(acts=same))}


def test_same_calls_of_more_than_seven_days_ago_are_forgotten() -> None:
    old = [Act(A, 13, "make_offer", arguments="{}") for _ in range(5)]
    assert "repeated calls" not in {each.kind for each in alarms_of(play(acts=old))}
    assert "repeated calls" in {each.kind for each in alarms_of(play(acts=[act._replace(day=14) for act in old]))}


def test_an_endless_name_of_a_tool_is_cut() -> None:
    acts = [Act(A, 18, "x" * 60, accepted=False) for _ in range(6)]
    assert all(len(each.text) < 120 for each in alarms_of(play(acts=acts)))


def refused(count: int, calls: int) -> list[Act]:
    """So many refused ones among so many different calls of A on Day 19."""
    return [Act(A, 19, "roast", accepted=index >= count, arguments=f"{index}") for index in range(calls)]


@pytest.mark.parametrize(
    ("count", "calls", "is_alarm"), [(10, 50, True), (9, 12, False), (10, 51, False), (12, 12, True)]
)
def test_ten_refusals_that_are_a_fifth_of_the_calls_are_an_alarm(count: int, calls: int, is_alarm: bool) -> None:
    found = alarms_of(play(acts=refused(count, calls)))
    assert ((A, "repeated refusals", 19) in kinds(found)) is is_alarm


def test_refusals_say_how_many_of_what() -> None:
    found = alarms_of(play(acts=refused(11, 20)))
    assert found[-1].text == "11 of 20 calls of the last 7 days were refused, 11 of them roast."


@pytest.mark.parametrize(("due_day", "is_alarm"), [(17, True), (18, False)])
def test_an_invoice_unpaid_three_days_after_its_day_is_an_alarm(due_day: int, is_alarm: bool) -> None:
    debts = [Debt(7, A, micros(120), issued_day=5, due_day=due_day)]
    found = alarms_of(play(debts=debts))
    assert kinds(found) == ([(A, "overdue debts", due_day + 1)] if is_alarm else [])


def test_overdue_debts_say_how_much_and_which_is_the_oldest() -> None:
    debts = [Debt(7, A, micros(120), 5, 12), Debt(4, A, micros(30.5), 3, 10), Debt(9, A, micros(999), 3, 30)]
    (found,) = alarms_of(play(debts=debts))
    assert found.text == (
        "2 invoices are overdue by 3 days or more: 150.50 USD before late fees, the oldest I4, due Day 10."
    )


def test_an_invoice_paid_on_the_day_that_is_looked_at_is_not_overdue() -> None:
    assert alarms_of(play(debts=[Debt(7, A, micros(120), 5, 10, settled_day=UNTIL)])) == []


def with_cash(usd: float, on_days: range) -> list[Evening]:
    """Evenings on which all are rich, but A has less on some days."""
    return [
        Evening(name, day, cash_micros=micros(usd if name == A and day in on_days else 15_000))
        for name in (A, B, C)
        for day in range(UNTIL + 1)
    ]


@pytest.mark.parametrize(("cash", "is_alarm"), [(399.99, True), (400, False)])
def test_cash_below_ten_days_of_cost_and_the_debts_due_in_them_is_near_bankruptcy(cash: float, is_alarm: bool) -> None:
    debts = [Debt(1, A, micros(100), 15, 29), Debt(2, A, micros(5_000), 15, 31), Debt(3, B, micros(5_000), 1, 20)]
    found = alarms_of(play(evenings=with_cash(cash, range(19, 21)), debts=debts))
    assert kinds(found) == ([(A, "near bankruptcy", 19)] if is_alarm else [])


def test_of_an_invoice_whose_goods_went_back_in_part_the_rest_is_owed() -> None:
    back_on_20 = Debt(1, A, micros(1_000), 15, 25, credits=((20, micros(900)),))
    evenings = [Evening(A, day, cash_micros=micros(400)) for day in (19, 20)]
    assert kinds(alarms_of(play(debts=[back_on_20], evenings=evenings))) == []
    assert kinds(alarms_of(play(19, debts=[back_on_20], evenings=evenings[:1]))) == [(A, "near bankruptcy", 19)]
    (late,) = alarms_of(play(debts=[back_on_20._replace(due_day=16)]))
    assert "100.00 USD before late fees" in late.text


def test_near_bankruptcy_says_the_numbers_of_the_evening_that_is_looked_at() -> None:
    (found,) = alarms_of(play(evenings=with_cash(250, range(20, 21))))
    assert found.text == (
        "250.00 USD in cash, against 300.00 USD of operating cost in the next 10 days "
        "and 0.00 USD of debts due by then."
    )


def deal(number: int, day: int, seller: str, buyer: str, **more: Any) -> Trade:
    """A deal of 30 kg of green coffee for 90 USD that cost 60."""
    return Trade(
        **{
            "number": number,
            "day": day,
            "seller": seller,
            "buyer": buyer,
            "item": GREEN,
            "quantity_kg": 30,
            "total_micros": micros(90),
            "cost_micros": micros(60),
            **more,
        }
    )


def test_goods_that_come_back_by_way_of_another_firm_went_in_a_circle() -> None:
    trades = [deal(1, 8, A, B), deal(2, 10, B, C, quantity_kg=20), deal(3, 20, C, A, quantity_kg=25)]
    found = alarms_of(play(trades=trades))
    assert kinds(found) == [(A, "circular trade", 8)]
    assert found[0].text == (
        "20 kg green coffee came back to it: "
        "roaster_A → roaster_B (D1, Day 8) → retailer_A (D2, Day 10) → roaster_A (D3, Day 20)."
    )


@pytest.mark.parametrize(
    "back",
    [
        pytest.param(deal(2, 17, B, A), id="more than a fortnight later"),
        pytest.param(deal(2, 10, B, A, item=ROASTED), id="another item"),
        pytest.param(deal(2, 10, B, C), id="to somebody else"),
        pytest.param(deal(2, 10, C, A), id="from somebody else"),
        pytest.param(deal(2, 10, B, A, settled_day=11), id="lost on the way"),
    ],
)
def test_goods_that_do_not_come_back_are_no_circle(back: Trade) -> None:
    assert circles_from(A, [deal(1, 2, A, B), deal(2, 16, B, A)]) != []
    assert circles_from(A, [deal(1, 2, A, B), back]) == []


def test_what_was_sold_after_it_came_is_no_circle() -> None:
    assert circles_from(A, [deal(1, 8, B, A), deal(2, 9, A, B)]) == []


def test_a_circle_that_closed_more_than_a_fortnight_ago_is_no_alarm_any_more() -> None:
    assert alarms_of(play(trades=[deal(1, 5, A, B), deal(2, 6, B, A)])) == []
    assert kinds(alarms_of(play(trades=[deal(1, 5, A, B), deal(2, 7, B, A)]))) == [(A, "circular trade", 5)]


@pytest.mark.parametrize(("total", "is_alarm"), [(59.0, True), (59.01, False)])
def test_deals_a_dollar_below_cost_are_an_alarm(total: float, is_alarm: bool) -> None:
    found = alarms_of(play(trades=[deal(3, 14, A, B, total_micros=micros(total))]))
    assert kinds(found) == ([(A, "selling below cost", 14)] if is_alarm else [])


def test_deals_and_shop_sales_below_cost_are_added_up_and_the_worst_is_named() -> None:
    outflows = [
        Outflow(C, 19, SHOP_REVENUE, ROASTED, 4, micros(20)),
        Outflow(C, 19, SHOP_COST, ROASTED, 4, micros(40)),
        Outflow(C, 19, SHOP_REVENUE, SPECIAL, 4, micros(90)),
        Outflow(C, 19, SHOP_COST, SPECIAL, 4, micros(40)),
    ]
    (found,) = alarms_of(play(trades=[deal(3, 15, C, B, total_micros=micros(55))], outflows=outflows))
    assert kinds([found]) == [(C, "selling below cost", 15)]
    assert found.text == (
        "2 sales of the last 7 days brought 25.00 USD less than the goods cost, "
        "the shop’s roasted coffee of Day 19 alone 20.00 USD."
    )


def test_a_sale_below_cost_of_eight_days_ago_is_forgotten() -> None:
    assert alarms_of(play(trades=[deal(3, 13, A, B, total_micros=0)])) == []


def test_a_bankrupt_firm_raises_no_alarm() -> None:
    idle = play(acts=busy_until(5), debts=[Debt(7, A, micros(120), 5, 10)])
    assert {each.firm for each in alarms_of(idle)} == {A}
    out = [seat._replace(bankrupt_day=15) if seat.name == A else seat for seat in idle.seats]
    assert alarms_of(Play(UNTIL, out, idle.acts, idle.evenings, idle.debts)) == []


def test_every_alarm_says_where_to_look() -> None:
    found = alarms_of(
        play(
            acts=[*same_calls(12, accepted=False), *(act for act in busy_until(10) if act.firm != A)],
            debts=[Debt(7, B, micros(20_000), 1, 2)],
            trades=[deal(1, 18, C, B, total_micros=0), deal(2, 19, B, C)],
        )
    )
    assert {each.kind for each in found} == {
        "repeated calls",
        "repeated refusals",
        "overdue debts",
        "near bankruptcy",
        "circular trade",
        "selling below cost",
    }
    assert all(each.advice and 0 <= each.look_day <= UNTIL for each in found)
    assert len(alarms.KINDS) == 7


# Figures of merit


def test_idle_days_are_those_with_nothing_but_waits() -> None:
    acts = [Act(A, 0, "wait_for_next_day"), Act(A, 1, ""), Act(A, 2, "roast", accepted=False), Act(A, 4, "view_deals")]
    assert idle_days(range(6), acts) == [0, 1, 3, 5]


@pytest.mark.parametrize(("last_busy_day", "expected"), [(13, 14), (14, None), (-1, 0)])
def test_prolonged_idleness_begins_with_a_final_stretch_of_seven_idle_days(
    last_busy_day: int, expected: int | None
) -> None:
    acts = [Act(A, day, "roast") for day in range(last_busy_day + 1)]
    assert prolonged_idleness(range(21), acts) == expected


def merit(**rows: Any) -> Merit:
    """The figures of merit of A, with 1,000 USD of revenue."""
    standings = {A: Standing(micros(-12.5), micros(1_000))}
    return merits_of(play(until=2, **rows), standings, {A: micros(1.25)}, [A])[0]


def test_figures_of_merit_are_those_reckoned_by_hand() -> None:
    found = merit(
        acts=[
            Act(A, 0, "send_message"),
            Act(A, 0, "send_message", accepted=False),
            Act(A, 1, ""),
            Act(A, 2, "wait_for_next_day"),
            Act(B, 0, "send_message"),
        ],
        evenings=[Evening(A, day, on_hand_kg=kg) for day, kg in enumerate((30, 50, 10))],
        trades=[
            deal(1, 0, A, B, settled_day=1, is_delivered=True),
            deal(2, 0, A, B, quantity_kg=10, total_micros=micros(50), settled_day=1, is_delivered=True),
            deal(3, 0, A, B, total_micros=micros(9_999), settled_day=1),
            deal(4, 2, A, B, total_micros=micros(9_999)),
            deal(5, 0, B, A, total_micros=micros(9_999), settled_day=1, is_delivered=True),
            deal(6, 0, A, C, item=SPECIAL, quantity_kg=2, total_micros=micros(81), settled_day=1, is_delivered=True),
        ],
        outflows=[
            Outflow(A, 0, SPOILAGE, GREEN, 1, micros(12)),
            Outflow(A, 2, SPOILAGE, GREEN, 1, micros(13)),
            Outflow(B, 2, SPOILAGE, GREEN, 1, micros(500)),
        ],
    )
    assert found._replace(seat=Seat(A)) == Merit(
        seat=Seat(A),
        standing=Standing(micros(-12.5), micros(1_000)),
        calls=3,
        refused=1,
        idle_days=2,
        idle_from=None,
        messages=1,
        spend_micros=micros(1.25),
        peak_kg=50,
        mean_kg=30.0,
        spoilage_percent=2.5,
        commodity_usd=3.5,  # (90 + 50) USD for 40 kg; the lost, the travelling and the bought ones are no sales
        specialty_usd=40.5,
    )


def test_what_there_is_none_of_is_none() -> None:
    found = merits_of(play(until=0, acts=[], evenings=[]), {}, {}, [])[0]
    assert found[2:] == (0, 0, 0, None, 0, None, None, None, None, None, None)


# Charts

FRAME = Frame(5, [A, B], A, None)
SEATS = [Seat(A, cap_kg=120), Seat(B, cap_kg=80, bankrupt_day=2)]
ACTS = [
    Act(A, 0, "roast"),
    Act(A, 0, "roast", accepted=False),
    Act(A, 0, "send_message"),
    Act(A, 1, "<b>sell</b>", accepted=False),
    Act(A, 1, ""),
    Act(A, 2, "wait_for_next_day"),
    Act(B, 0, "view_deals"),
    Act(B, 1, "roast"),
]
EVENINGS = [Evening(name, day, on_hand_kg=10 * day) for day in range(4) for name in (A, B)]


def series(figure: dict[str, Any]) -> dict[str, dict[int, float]]:
    """What each trace of a chart draws, by day."""
    assert all(trace["meta"]["days"] == trace["x"] for trace in figure["data"])
    return {trace["meta"]["key"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]}


def test_calls_by_tool_are_added_up_and_names_that_are_no_tool_are_one_row() -> None:
    figure = charts.calls_by_tool(ACTS, FRAME, -1)
    headings, *rows = rows_behind(figure, 0, 1)
    assert headings == ["Tool", "Firm", "Calls"]
    assert sorted(rows) == [
        ["no call at all", A, 1],
        ["no such tool", A, 1],
        ["roast", A, 2],
        ["roast", B, 1],
        ["send message", A, 1],
        ["view deals", B, 1],
    ]
    assert len(figure["data"][0]["z"]) == len(charts.TOOL_ROWS) == len(figure["data"][0]["y"])


def test_the_darkest_square_is_the_highest_sum_of_the_whole_run() -> None:
    assert charts.calls_by_tool(ACTS, FRAME, 1)["data"][0]["zmax"] == 2
    assert charts.calls_by_tool([], FRAME, -1)["data"][0]["zmax"] == 1


def test_sums_after_a_day_are_those_that_are_appended() -> None:
    whole = charts.calls_by_tool(ACTS, FRAME, -1)["data"][0]["meta"]["sums"]
    assert charts.calls_by_tool(ACTS, FRAME, 0)["data"][0]["meta"]["sums"] == [each for each in whole if each[0] > 0]


def test_calls_by_day_are_split_into_accepted_and_refused() -> None:
    assert series(charts.calls_by_day(ACTS, FRAME, -1)) == {
        f"{A} accepted": {0: 2, 2: 1},
        f"{A} refused": {0: 1, 1: 1},
        f"{B} accepted": {0: 1, 1: 1},
        f"{B} refused": {},
    }


def test_each_firm_has_a_row_of_its_own_from_the_top_down() -> None:
    figure = charts.calls_by_day(ACTS, FRAME, -1)
    assert [trace.get("yaxis") for trace in figure["data"]] == ["y", "y", "y2", "y2"]
    assert figure["layout"]["yaxis"]["domain"][0] >= figure["layout"]["yaxis2"]["domain"][1]
    assert figure["layout"]["xaxis"]["anchor"] == "y2"


def test_messages_by_day_are_those_that_were_sent() -> None:
    refused_one = Act(B, 3, "send_message", accepted=False)
    assert series(charts.messages_by_day([*ACTS, refused_one], FRAME, -1)) == {A: {0: 1}, B: {}}


def test_idle_days_are_marked_while_a_firm_is_in_business() -> None:
    figure = charts.idle_strip(ACTS, EVENINGS, SEATS, FRAME, -1)
    assert series(figure) == {A: {2: 1, 3: 1}, B: {}}
    assert {trace["width"] for trace in figure["data"]} == {1}


def test_stock_is_drawn_with_what_is_on_its_way_below_the_cap() -> None:
    batches = [Making(A, 0, 17, settled_day=2), Making(B, 0, 99, settled_day=1)]
    trades = [deal(1, 1, B, A, settled_day=3, is_delivered=True), deal(2, 3, A, B)]
    figure = charts.stock_against_cap(EVENINGS, batches, trades, SEATS, FRAME, -1)
    drawn = series(figure)
    assert drawn[f"{A} on hand"] == {0: 0, 1: 10, 2: 20, 3: 30}
    assert drawn[f"{A} committed"] == {0: 17, 1: 57, 2: 50, 3: 30}
    assert drawn[f"{B} committed"] == {0: 99, 1: 10, 2: 20, 3: 60}
    caps = [(shape["yref"], shape["y0"]) for shape in figure["layout"]["shapes"] if shape["name"] == "cap"]
    assert caps == [("y", 120), ("y2", 80)]


def test_spoilage_is_drawn_in_kilograms_over_all_items() -> None:
    outflows = [
        Outflow(A, 1, SPOILAGE, GREEN, 2, 5),
        Outflow(A, 1, SPOILAGE, ROASTED, 3, 5),
        Outflow(A, 1, SHOP_COST, ROASTED, 9, 5),
        Outflow(B, 2, SPOILAGE, GREEN, 1, 5),
    ]
    assert series(charts.spoilage_by_day(outflows, FRAME, -1)) == {A: {1: 5}, B: {2: 1}}


def test_days_since_a_useful_action_leave_out_looks_waits_and_refusals() -> None:
    drawn = series(charts.days_since_useful(ACTS, EVENINGS, SEATS, FRAME, -1))
    assert drawn == {A: {0: 0, 1: 1, 2: 2, 3: 3}, B: {0: 1, 1: 0}}


def test_points_after_a_day_are_those_of_the_whole_chart() -> None:
    def of_all(after: int) -> list[dict[str, Any]]:
        return [
            charts.calls_by_day(ACTS, FRAME, after),
            charts.idle_strip(ACTS, EVENINGS, SEATS, FRAME, after),
            charts.stock_against_cap(EVENINGS, [Making(A, 0, 17, 3)], [], SEATS, FRAME, after),
            charts.days_since_useful(ACTS, EVENINGS, SEATS, FRAME, after),
        ]

    for whole, news in zip(of_all(-1), of_all(1), strict=True):
        later = {key: {day: y for day, y in each.items() if day > 1} for key, each in series(whole).items()}
        assert series(news) == later


# The rows, and the page


@pytest.fixture
def traded(db: None) -> Run:
    """A deal of Day 0 that arrived on Day 1 and was paid on Day 3, a batch of Days 0 to 2, spoilage, two evenings."""
    run = make_run()
    roaster, retailer = firm_of(run, A), firm_of(run, C)
    turn = add_turn(run, A, tool="accept_offer", arguments='{"offer_id": "O1"}')
    add_turn(run, C, tool="view_listings", arguments="{}", result='{"ok": true, "listings": []}', day=1)
    add_turn(run, A, tool="wait_for_next_day", arguments="{}", day=3)
    common = {"run": run, "turn": turn, "minute": MORNING, "item": ROASTED, "quantity_kg": 10}
    Deal.objects.create(
        pk=key_of(run.pk, 1),
        offer_id=key_of(run.pk, 1),
        seller=roaster,
        buyer=retailer,
        price_micros=micros(9),
        total_micros=micros(90),
        cost_micros=micros(58.8),
        terms_days=1,
        due_day=1,
        status="delivered",
        delays=0,
        settled_minute=MINUTES_PER_DAY + MORNING,
        **common,
    )
    Batch.objects.create(
        pk=key_of(run.pk, 1),
        firm=roaster,
        kind="roast",
        input_kg=12,
        cost_micros=micros(36),
        due_day=2,
        status="landed",
        settled_minute=2 * MINUTES_PER_DAY + MORNING,
        **common,
    )
    Invoice.objects.create(
        pk=key_of(run.pk, 1),
        run=run,
        issuer=roaster,
        debtor=retailer,
        principal_micros=micros(90),
        issued_day=1,
        due_day=2,
        fees_micros=0,
        credited_micros=0,
        paid_micros=micros(90),
        returned_kg=0,
        returned_cost_micros=0,
        status="paid",
        settled_minute=3 * MINUTES_PER_DAY + MORNING,
    )
    Transfer.objects.create(
        pk=key_of(run.pk, 1),
        run=run,
        firm=roaster,
        day=1,
        minute=MINUTES_PER_DAY + 1140,
        debit="spoilage",
        credit="inventory",
        amount_micros=micros(5.88),
        reason=SPOILAGE,
        item=ROASTED,
        quantity_kg=1,
    )
    for day in (0, 1):
        end_day(run, day)
    return run


def end_day(run: Run, day: int) -> None:
    """An evening on which every firm held 30 kg and 15,000 USD, with 10 USD of net income a day."""
    nothing = dict.fromkeys(
        (
            "inventory_micros",
            "work_in_progress_micros",
            "goods_in_transit_micros",
            "receivables_micros",
            "payables_micros",
            "equity_micros",
        ),
        0,
    )
    for firm in Firm.objects.filter(run=run):
        DayEnd.objects.create(
            pk=key_of(run.pk, day * 100 + firm.number),
            run=run,
            firm=firm,
            day=day,
            cash_micros=micros(15_000),
            net_income_micros=micros(10 * (day + 1)),
            revenue_micros=micros(98 * (day + 1)),
            stock_kg={ROASTED: 20, GREEN: 10},
            prices={},
            **nothing,
        )


def test_rows_say_what_was_so_on_the_evening_and_not_what_came_later(traded: Run) -> None:
    then, later = Rows(look(traded), 0), Rows(look(traded), 3)
    assert (then.trades()[0].settled_day, later.trades()[0].settled_day) == (None, 1)
    assert (then.trades()[0].is_delivered, later.trades()[0].is_delivered) == (False, True)
    assert (then.batches()[0].settled_day, later.batches()[0].settled_day) == (None, 2)
    assert (then.debts(), Rows(look(traded), 2).debts()[0].is_open(2), later.debts()[0].is_open(3)) == ([], True, False)
    assert (then.outflows(SPOILAGE), len(later.outflows(SPOILAGE))) == ([], 1)
    assert (len(then.acts(-1)), len(later.acts(-1))) == (1, 3)


def test_what_arrived_after_the_last_evening_was_on_its_way_in_it(traded: Run) -> None:
    Deal.objects.update(minute=MINUTES_PER_DAY + MORNING, settled_minute=MINUTES_PER_DAY + CLOSING_MINUTE)
    (trade,) = Rows(look(traded), 1).trades()
    assert trade.is_delivered
    figure = behaviour.figures(look(traded))["stock"]
    shown = {line["name"]: line["y"] for line in figure["data"]}
    assert (shown[f"{C} on hand"], shown[f"{C} committed"]) == ([30, 30], [30, 40])


def test_credits_of_returns_are_read_with_their_day(traded: Run) -> None:
    Invoice.objects.update(credited_micros=micros(18), status="open", settled_minute=None)
    add_event(traded, "shipment_returned", C, A, day=2, invoice="I1", deal="D1", item=ROASTED, quantity_kg=2, credit=18)
    (debt,) = Rows(look(traded), 3).debts()
    assert (debt.owed_micros(1), debt.owed_micros(2)) == (micros(90), micros(72))
    assert Rows(look(traded), 1).debts()[0].credits == ()


def test_arguments_are_read_of_late_days_only(traded: Run) -> None:
    first, second, third = Rows(look(traded), 3).acts(texts_after=0)
    assert (first.arguments, second.arguments, third.arguments) == ("", "{}", "{}")
    assert (first.answer, second.answer, third.answer) == ("", '{"ok": true, "listings": []}', "")


def test_as_a_firm_knew_it_holds_its_own_rows_and_its_own_deals(traded: Run) -> None:
    mine = Rows(look(traded, knower=C), 3)
    assert [act.firm for act in mine.acts(-1)] == [C]
    assert {each.firm for each in mine.evenings()} == {C}
    assert [each.number for each in mine.trades()] == [1]
    assert mine.batches() == []
    assert mine.outflows(SPOILAGE) == []
    assert Rows(look(traded, knower="farmer_A"), 3).trades() == []
    assert [each.seat.name for each, _ in behaviour.context(look(traded, knower=C))["merits"]] == [C]
    figure = behaviour.figures(look(traded, knower=C))["calls_by_day"]
    assert [trace["name"] for trace in figure["data"]] == [f"{C} accepted", f"{C} refused"]


def test_net_income_of_a_past_evening_is_that_evenings(traded: Run) -> None:
    Firm.objects.filter(run=traded, name=A).update(net_income_micros=micros(999))

    def income(day: int | None) -> int:
        merits: list[Merit] = [each for each, _ in behaviour.context(look(traded, day=day))["merits"]]
        return next(each.standing.net_income_micros for each in merits if each.seat.name == A)

    assert (income(0), income(1), income(None)) == (micros(10), micros(20), micros(999))


def test_a_bankrupt_firms_net_income_is_its_frozen_score(traded: Run) -> None:
    Firm.objects.filter(run=traded, name=A).update(net_income_micros=micros(-77), bankrupt_day=1)
    incomes = [each.net_income_micros for each in Rows(look(traded), 3).evenings() if each.firm == A]
    assert incomes == [micros(10), micros(-77)]


def test_a_bankruptcy_to_come_is_not_told(traded: Run) -> None:
    Firm.objects.filter(run=traded, name=A).update(bankrupt_day=1)
    seats = {each.seat.name: each.seat.bankrupt_day for each, _ in behaviour.context(look(traded, day=0))["merits"]}
    assert seats[A] is None


def test_the_engines_own_counts_agree_with_a_run_of_scripts(db: None) -> None:
    call_command("simulate", "--days", "12", "--seed", "1", "--json", stdout=StringIO())
    run = Run.objects.get()
    context = behaviour.context(look(run))
    firms = {firm.name: firm for firm in Firm.objects.filter(run=run)}
    for merit, _ in context["merits"]:
        firm = firms[merit.seat.name]
        assert (merit.calls, merit.refused) == (firm.calls, firm.refused_calls)
        assert (merit.idle_days, merit.messages) == (firm.idle_days, firm.messages_sent)
        assert merit.standing == (firm.net_income_micros, firm.revenue_micros)
    sold = ConsumerSale.objects.filter(run=run)
    assert sold.exists(), "or the run is too short to say anything about shops"
    # What shops sold is told twice in the tables; alarms read the ledger's.
    rows = Rows(look(run), run.days).outflows(SHOP_COST)
    assert sum(row.amount_micros for row in rows) == sum(sale.cost_micros for sale in sold)


def test_the_tab_takes_five_queries(traded: Run) -> None:
    at = look(traded)
    with CaptureQueriesContext(connection) as queries:
        behaviour.context(at)
    assert len(queries) == 5
    with CaptureQueriesContext(connection) as queries:
        behaviour.figures(at)
    assert len(queries) == 5


def test_model_spend_is_that_of_the_days_up_to_then_and_takes_a_sixth_query(db: None) -> None:
    run = make_model_run()
    add_call(add_ask(run, add_turn(run, day=0)), cost_micros=micros(0.5))
    add_call(add_ask(run, add_turn(run, day=3)), cost_micros=micros(2))
    at = look(run, day=2)
    with CaptureQueriesContext(connection) as queries:
        context = behaviour.context(at)
    assert len(queries) == 6
    spends = {merit.seat.name: merit.spend_micros for merit, _ in context["merits"]}
    assert (spends[A], spends[B]) == (micros(0.5), None)


def test_the_page_counts_its_alarms_and_leads_to_the_turns(traded: Run, client: Client) -> None:
    for _ in range(5):
        add_turn(traded, A, day=3, tool="<b>sell</b>", arguments="{}", accepted=False)
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    page = client.get(f"/runs/{traded.pk}/tabs/behaviour/?day=3").content.decode()
    assert 'data-alarms="1"' in page
    assert "&lt;b&gt;sell&lt;/b&gt; 5 times in a row" in page
    assert "<b>sell" not in page
    assert f"/runs/{traded.pk}/firms/roaster_A/3/" in page


def test_a_run_that_has_not_begun_has_a_page(db: None, client: Client) -> None:
    run = make_run(status=Run.Status.DRAFT)
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    page = client.get(f"/runs/{run.pk}/tabs/behaviour/").content.decode()
    assert 'data-alarms="0"' in page
    assert all(not trace["x"] for trace in behaviour.figures(look(run))["stock"]["data"])
