"""HeuristicRoaster beyond the recorded trace: what it overlooks, what it forgets, and where its margins lie."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.players.base import call
from simulation.players.heuristic_roaster import HeuristicRoaster
from tests.players.playing import play, scenario, scripts

Result = dict[str, Any]

# What every call gives when there is nothing to see.
EMPTY: Result = {
    "ok": True,
    "cash": 0.0,
    "stock": {},
    "listings": [],
    "incoming": [],
    "invoices": [],
    "listing_id": "L7",
}
STOCK: Result = {
    "ok": True,
    "cash": 15_000.0,
    "stock": {"roasted_coffee_kg": {"qty": 30}, "green_coffee_kg": {"qty": 70}},
}
WOKEN = {"woken_by": ["something happened"]}


def listing(number: int, price: float, quantity_kg: int, item: str = "green_coffee_kg") -> Result:
    """A row as view_listings gives it."""
    return {"listing_id": f"L{number}", "item_id": item, "asking_price": price, "qty": quantity_kg}


def offer(number: int, price: float, on: str = "L7", item: str = "roasted_coffee_kg") -> Result:
    """A row as view_offers gives it."""
    return {"offer_id": f"O{number}", "listing_id": on, "item_id": item, "offered_price": price, "qty": 5}


class Day:
    """One roaster led through days by hand: each turn hands it the result of the call before."""

    def __init__(self) -> None:
        self.roaster = HeuristicRoaster()
        self.answers: dict[str, Result] = {}
        self.hidden: set[str] = set()
        self.result: Result | None = None

    def run(self, day: int) -> list[Decision]:
        """The calls of a day. After a tool in `hidden` an observation comes with the result."""
        calls: list[Decision] = []
        woken = True
        while not calls or calls[-1] != WAIT:
            minute = day * 1440 + 540 + 30 * len(calls)
            made = self.roaster.decide(View("roaster_A", "roaster", minute, self.result, WOKEN if woken else None))
            self.result = self.answers.get(made.tool, EMPTY)
            woken = made.tool in self.hidden
            calls.append(made)
        return calls


LOOKS = [call("view_trial_balance"), call("view_listings"), call("view_offers"), call("view_payables")]


def test_an_empty_day_is_four_looks_and_a_wait() -> None:
    assert Day().run(0) == [*LOOKS, WAIT]


def test_it_roasts_at_most_50_kg_and_lists_all_roasted_stock_at_one_and_a_half_times_cost() -> None:
    day = Day()
    day.answers = {"view_trial_balance": STOCK, "post_listing": {"ok": True, "listing_id": "L7"}}
    assert day.run(0)[4:-1] == [
        call("roast", green_item_id="green_coffee_kg", qty_kg=50),
        call("post_listing", item_id="roasted_coffee_kg", qty=30, asking_price=8.82),
    ]


def test_an_observation_that_follows_a_result_hides_it() -> None:
    day = Day()
    day.answers, day.hidden = {"view_trial_balance": STOCK}, {"view_trial_balance"}
    assert day.run(0) == [*LOOKS, WAIT]


def test_stock_it_read_outlives_the_night_and_what_it_saw_of_the_market_does_not() -> None:
    day = Day()
    market = {"ok": True, "listings": [listing(1, 3.0, 30)]}
    day.answers = {"view_trial_balance": STOCK, "view_listings": market}
    assert [made.tool for made in day.run(0)[4:-1]] == ["roast", "post_listing", "make_offer"]
    day.hidden = {"view_trial_balance", "view_listings"}
    assert [made.tool for made in day.run(1)[4:-1]] == ["roast", "post_listing"]


def test_a_refused_call_is_not_repeated_that_day() -> None:
    day = Day()
    refused = {"ok": False, "error": "qty 30 exceeds the 4 kg of roasted_coffee_kg on hand"}
    day.answers = {"view_trial_balance": STOCK, "roast": refused, "post_listing": refused}
    assert [made.tool for made in day.run(0)[4:]] == ["roast", "post_listing", "wait_for_next_day"]


def test_woken_again_it_goes_on_where_it_was_and_begins_nothing_anew() -> None:
    day = Day()
    day.answers = {"view_trial_balance": STOCK}
    day.run(0)
    assert day.roaster.decide(View("roaster_A", "roaster", 900, None, WOKEN)) == WAIT


@pytest.mark.parametrize(
    ("price", "accepted"),
    [
        (7.05, False),
        (7.055, False),
        (7.056, True),  # 1.2 × the 5.88 it takes its cost to be
        (8.82, True),
    ],
)
def test_it_accepts_an_offer_from_one_and_a_fifth_times_cost(price: float, accepted: bool) -> None:
    day = Day()
    day.answers = {"view_trial_balance": STOCK, "post_listing": {"ok": True, "listing_id": "L7"}}
    day.run(0)
    day.answers["view_offers"] = {"ok": True, "incoming": [offer(1, price)]}
    assert (call("accept_offer", offer_id="O1") in day.run(1)) is accepted


def test_a_listing_whose_result_was_hidden_is_never_known_as_its_own() -> None:
    day = Day()
    day.answers = {"view_trial_balance": STOCK, "post_listing": {"ok": True, "listing_id": "L7"}}
    day.hidden = {"post_listing"}
    day.run(0)
    day.hidden = set()
    day.answers["view_offers"] = {"ok": True, "incoming": [offer(1, 8.82), offer(2, 8.82, on="L8")]}
    day.answers["post_listing"] = {"ok": True, "listing_id": "L8"}
    assert "accept_offer" not in {made.tool for made in day.run(1)}
    assert [made for made in day.run(2) if made.tool == "accept_offer"] == [call("accept_offer", offer_id="O2")]


@pytest.mark.parametrize(
    ("listings", "cash", "bid"),
    [
        ([], 100.0, None),
        ([listing(1, 30.0, 10, "green_specialty_kg")], 1000.0, None),
        ([listing(1, 3.1, 60), listing(2, 3.0, 60), listing(3, 3.0, 60)], 90.0, ("L2", 3.0, 30)),
        ([listing(1, 3.0, 60)], 89.99, None),  # 30 kg or none: it does not try for less
        ([listing(1, 2.9, 4), listing(2, 3.0, 60)], 500.0, ("L1", 2.9, 4)),
        ([listing(1, 99.0, 30)], 5000.0, ("L1", 99.0, 30)),  # it never asks itself whether that pays
    ],
)
def test_it_bids_once_on_the_cheapest_commodity_green(
    listings: list[Result], cash: float, bid: tuple[str, float, int] | None
) -> None:
    day = Day()
    day.answers = {
        "view_trial_balance": {"ok": True, "cash": cash, "stock": {}},
        "view_listings": {"ok": True, "listings": listings},
    }
    bids = [made.arguments for made in day.run(0) if made.tool == "make_offer"]
    assert [(made["listing_id"], made["offered_price"], made["qty"]) for made in bids] == ([bid] if bid else [])


def test_it_pays_every_open_payable_in_the_order_shown() -> None:
    day = Day()
    day.answers = {"view_payables": {"ok": True, "invoices": [{"invoice_id": "I9"}, {"invoice_id": "I2"}]}}
    assert day.run(0)[4:-1] == [call("pay_invoice", invoice_id="I9"), call("pay_invoice", invoice_id="I2")]


def test_it_never_sends_a_message() -> None:
    paper = scenario(days=30)
    played = play(paper, scripts(paper))
    assert not [one for one in played.outcomes if one.decision.tool in ("send_message", "read_message")]
