"""HeuristicRoaster of the paper (RULES.md section 13): one list a day, fixed margins on assumed costs, no messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulation.engine.decision import Decision
from simulation.engine.observation import View
from simulation.engine.tools import Result
from simulation.players.base import DayPlanner, call

COMMODITY_GREEN, SPECIALTY_GREEN = "green_coffee_kg", "green_specialty_kg"
COMMODITY, SPECIALTY = "roasted_coffee_kg", "roasted_specialty_kg"
ASSUMED_COST = {COMMODITY_GREEN: 2.0, SPECIALTY_GREEN: 10.0, COMMODITY: 5.88, SPECIALTY: 18.30}
LEAST_MARKUP, LISTED_MARKUP = 1.2, 1.5
ROAST_AT_MOST_KG, BUY_AT_MOST_KG = 50, 30


class HeuristicRoaster(DayPlanner):
    """Looks around at the head of its list, then acts on what it saw there.

    It reads only the newest thing it was given: an observation that follows a result hides that result from it. Stock
    and cash are those of the last trial balance it read, be it an earlier day's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cash = 0.0
        self.stock: dict[str, int] = {}
        self.own_listings: set[str] = set()
        self.seen: dict[str, list[dict[str, Any]]] = {}

    def read(self, view: View) -> None:
        """Only a result with no observation after it; what it saw of the market is forgotten overnight."""
        if view.observation is None:
            super().read(view)
        if view.day != self.day:
            self.seen = {}

    def learn(self, call_made: Decision, result: Result) -> None:
        """Remembers what the four looks and its own postings showed."""
        match call_made.tool:
            case "view_trial_balance":
                self.cash = result["cash"]
                self.stock = {item: holding["qty"] for item, holding in result["stock"].items()}
            case "view_listings":
                self.seen["listings"] = result["listings"]
            case "view_offers":
                self.seen["offers"] = result["incoming"]
            case "view_payables":
                self.seen["invoices"] = result["invoices"]
            case "post_listing":
                self.own_listings.add(result["listing_id"])

    def plan(self, view: View) -> Iterator[Decision]:
        """The nine steps of the list."""
        for look in ("view_trial_balance", "view_listings", "view_offers", "view_payables"):
            yield call(look)
        yield from self._accept_good_offers()
        for invoice in self.seen.get("invoices", []):
            yield call("pay_invoice", invoice_id=invoice["invoice_id"])
        yield from self._roast()
        yield from self._list_stock()
        yield from self._buy_green()

    def _accept_good_offers(self) -> Iterator[Decision]:
        for offer in self.seen.get("offers", []):
            is_own = offer["listing_id"] in self.own_listings
            if is_own and offer["offered_price"] >= LEAST_MARKUP * ASSUMED_COST[offer["item_id"]]:
                yield call("accept_offer", offer_id=offer["offer_id"])

    def _roast(self) -> Iterator[Decision]:
        specialty_kg = self.stock.get(SPECIALTY_GREEN, 0)
        if specialty_kg:
            yield call("roast", green_item_id=SPECIALTY_GREEN, qty_kg=specialty_kg)
        commodity_kg = min(self.stock.get(COMMODITY_GREEN, 0), ROAST_AT_MOST_KG)
        if commodity_kg:
            yield call("roast", green_item_id=COMMODITY_GREEN, qty_kg=commodity_kg)

    def _list_stock(self) -> Iterator[Decision]:
        for item in (SPECIALTY, COMMODITY):
            if self.stock.get(item):
                price = round(LISTED_MARKUP * ASSUMED_COST[item], 2)
                yield call("post_listing", item_id=item, qty=self.stock[item], asking_price=price)

    def _buy_green(self) -> Iterator[Decision]:
        green = [listing for listing in self.seen.get("listings", []) if listing["item_id"] == COMMODITY_GREEN]
        if not green:
            return
        cheapest = min(green, key=lambda listing: listing["asking_price"])
        quantity_kg = min(cheapest["qty"], BUY_AT_MOST_KG)
        if cheapest["asking_price"] * quantity_kg <= self.cash:
            yield call(
                "make_offer",
                listing_id=cheapest["listing_id"],
                offered_price=cheapest["asking_price"],
                qty=quantity_kg,
            )
