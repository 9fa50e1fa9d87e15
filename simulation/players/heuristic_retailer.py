"""A retailer of our own making: its prices follow how full its store is, and it stocks up for the festival.

Of the scenario it uses what every firm may know (RULES.md section 11): who sits at the table, which items consumers
buy, above what price they stop buying, and when the festival is. Not how much they want.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marketplace.economy.economy import firm_names
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.engine.decision import Decision
from simulation.engine.observation import View
from simulation.engine.scenario import Scenario
from simulation.engine.tools import Result
from simulation.players.base import DayPlanner, call

# Shelf prices as a way from what the goods cost (0) to where consumers stop buying (1). Halfway earns most where demand
# falls in a straight line.
WAY_WHEN_EMPTY, WAY_WHEN_FULL = 0.75, 0.35
LEAST_PRICE_CHANGE = 0.02

# Of what consumers pay at most: what it pays a seller at most, and what a seller may ask to be bid to at all.
MOST_PAID_SHARE, MOST_ASKED_SHARE = 0.5, 0.625
BIDDING_MINUTE = 13 * 60
SELLERS_A_DAY, LISTINGS_A_SELLER = 2, 2
LEAST_BID_KG, SMALL_LISTING_KG, WORTHWHILE_SELLER_KG = 5, 10, 20
SHUN_DAYS = 10

# Goods take two days from the bid to the shelf, and a roaster some more to make them.
FESTIVAL_LEAD_DAYS, FESTIVAL_STOCK = 8, 2.0

# Of its opening cash: what it keeps when it pays before it must, and when it must.
RESERVE_SHARE_OF_CASH, DUE_RESERVE_SHARE_OF_CASH = 0.1, 0.01
PAYMENTS_A_DAY = 4

Row = dict[str, Any]


class HeuristicRetailer(DayPlanner):
    """Mornings are for the shop, afternoons for buying and paying.

    Offers and payments wake their receiver. A HeuristicRoaster woken while it goes down its list does not read what it
    has just looked up, and forgets which listing is its own; by the afternoon it is done, and its new listings are out.
    """

    def __init__(self, scenario: Scenario, firm_name: str) -> None:
        super().__init__()
        self.reservation_prices = {
            name: item.consumers.reservation_price for name, item in scenario.items.items() if item.consumers
        }
        shops = [name for name, role in firm_names(scenario) if role == "retailer"]
        self.shops, self.place = len(shops), shops.index(firm_name)
        self.shares_of_store = shares_of_store(self.reservation_prices)
        festival = scenario.festival
        self.days_of_much_stock = (
            range(festival.first_day - FESTIVAL_LEAD_DAYS, festival.last_day + 1) if festival else range(0)
        )
        self.minute_of_day = 0
        self.seen: Row = {}
        self.cash = 0.0
        self.opening_cash: float | None = None
        self.average_costs: dict[str, float] = {}
        self.listings: list[Row] = []
        self.invoices: list[Row] = []
        self.pending_yesterday: set[str] = set()
        self.shunned_since: dict[str, int] = {}
        self.waited_for: dict[str, set[str]] = {}

    def read(self, view: View) -> None:
        """Keeps the newest observation and the time of day."""
        super().read(view)
        self.minute_of_day = view.minute % MINUTES_PER_DAY
        if view.observation is not None:
            self.seen = view.observation
            self.cash = self.seen["cash"]

    def learn(self, call_made: Decision, result: Result) -> None:
        """Takes in what no observation tells."""
        match call_made.tool:
            case "view_trial_balance":
                self.average_costs |= {item: holding["average_cost"] for item, holding in result["stock"].items()}
            case "view_listings":
                self.listings = result["listings"]
            case "view_payables":
                self.invoices = result["invoices"]
            case "pay_invoice":
                self.cash = result["cash"]

    def plan(self, view: View) -> Iterator[Decision]:
        """The day: books, prices, invoices, stale bids; then the market, again and again until it is time to bid."""
        if not self.seen:
            return
        if self.opening_cash is None:
            self.opening_cash = self.cash
        yield call("view_trial_balance")
        yield from self._set_prices()
        self.invoices = []
        if self.seen["payables"]["open"]:
            yield call("view_payables")
        yield from self._withdraw_stale_bids()
        if self.invoices or any(self._wanted_kg().values()):
            yield call("view_listings", only_others=True)
            while self.minute_of_day < BIDDING_MINUTE:
                yield call("view_listings", only_others=True)
            yield from self._bid()
            yield from self._pay()

    def _set_prices(self) -> Iterator[Decision]:
        """Nearer to what consumers will bear the emptier the store; small steps are not worth a call."""
        for item, reservation_price in self.reservation_prices.items():
            if item not in self.average_costs:
                continue
            cost = min(self.average_costs[item], reservation_price)
            fullness = min(1.0, self._held_kg(item) / self._goal_kg(item))
            way = WAY_WHEN_EMPTY + (WAY_WHEN_FULL - WAY_WHEN_EMPTY) * fullness
            price = max(0.01, round(cost + (reservation_price - cost) * way, 2))
            if abs(price - self.seen["shelf_prices"].get(item, 0)) > LEAST_PRICE_CHANGE * reservation_price:
                yield call("set_retail_price", item_id=item, price_per_unit=price)

    def _withdraw_stale_bids(self) -> Iterator[Decision]:
        """A bid the seller had a whole day for is taken back, and its listing left alone for some days."""
        offers = {offer["offer_id"]: offer for offer in self.seen["your_offers"]}
        stale = [offer for offer in offers if offer in self.pending_yesterday]
        self.pending_yesterday = set(offers)
        self.shunned_since = {one: since for one, since in self.shunned_since.items() if self.day - since < SHUN_DAYS}
        for offer in stale:
            self.shunned_since[offers[offer]["listing_id"]] = self.day
            yield call("withdraw_offer", offer_id=offer)
            self._forget_bid(offer)

    def _forget_bid(self, offer_id: str) -> None:
        left = [offer for offer in self.seen["your_offers"] if offer["offer_id"] != offer_id]
        self.seen = {**self.seen, "your_offers": left}

    def _bid(self) -> Iterator[Decision]:
        """Bids for each item what is asked, the dearest item first, for as much as it wants and has room for."""
        wanted_kg = self._wanted_kg()
        room_kg = self._room_kg()
        for item in sorted(wanted_kg, key=lambda item: -self.reservation_prices[item]):
            for listing, quantity_kg in self._lots(item, min(wanted_kg[item], room_kg)):
                room_kg -= quantity_kg
                price = min(listing["asking_price"], round(self._most_paid(item), 4))
                yield call("make_offer", listing_id=listing["listing_id"], offered_price=price, qty=quantity_kg)

    def _lots(self, item: str, wanted_kg: int) -> Iterator[tuple[Row, int]]:
        """Which listings to bid on for how many kg: something of every chosen seller, its cheapest and oldest first.

        A HeuristicRoaster lists all its stock anew on every day without acceptances, and on no other. So it is bid to
        daily, lest it list the same stock again and again; but of a few kilograms left it gets a day to list the rest.
        """
        sellers = self._sellers(item)
        for index, listings in enumerate(sellers):
            of_seller_kg = -(-wanted_kg // (len(sellers) - index))
            for listing in listings:
                quantity_kg = min(of_seller_kg, self._fair_share_kg(listing["qty"]))
                if quantity_kg >= min(LEAST_BID_KG, listing["qty"]):
                    of_seller_kg -= quantity_kg
                    wanted_kg -= quantity_kg
                    yield listing, quantity_kg

    def _sellers(self, item: str) -> list[list[Row]]:
        """The listings to bid on by seller, the cheapest first; a seller that shows little is given a day for more."""
        passed_over = {offer["listing_id"] for offer in self.seen["your_offers"]} | self.shunned_since.keys()
        sellers: dict[str, list[Row]] = {}
        for listing in sorted(self.listings, key=lambda listing: listing["asking_price"]):
            is_fit = listing["item_id"] == item and listing["asking_price"] <= self._most_asked(item)
            if is_fit and listing["listing_id"] not in passed_over:
                sellers.setdefault(listing["seller"], []).append(listing)
        small = {name for name, rows in sellers.items() if sum(row["qty"] for row in rows) < WORTHWHILE_SELLER_KG}
        waits = small - self.waited_for.get(item, set())
        self.waited_for[item] = small
        worthwhile = [rows[:LISTINGS_A_SELLER] for name, rows in sellers.items() if name not in waits]
        return worthwhile[:SELLERS_A_DAY]

    def _fair_share_kg(self, quantity_kg: int) -> int:
        """What of a listing is this shop's. The n shares make up the whole: q//n + (q+1)//n + … + (q+n−1)//n = q."""
        if quantity_kg <= SMALL_LISTING_KG:
            return quantity_kg
        return max(LEAST_BID_KG, (quantity_kg + self.place) // self.shops)

    def _pay(self) -> Iterator[Decision]:
        """Pays while cash is ample; what is due also when it is not, short of the next days' rent."""
        for invoice in self.invoices[:PAYMENTS_A_DAY]:
            is_due = invoice["due_day"] <= self.day
            share = DUE_RESERVE_SHARE_OF_CASH if is_due else RESERVE_SHARE_OF_CASH
            if self.cash - invoice["owed"] >= share * (self.opening_cash or 0.0):
                yield call("pay_invoice", invoice_id=invoice["invoice_id"])

    def _wanted_kg(self) -> dict[str, int]:
        """What is missing of each item, bids pending counted as if accepted; less than a bid is nothing."""
        wanted_kg = {}
        for item in self.reservation_prices:
            bid_kg = sum(offer["qty"] for offer in self.seen["your_offers"] if offer["item_id"] == item)
            missing_kg = min(self._room_kg(), int(self._goal_kg(item)) - self._held_kg(item) - bid_kg)
            wanted_kg[item] = missing_kg if missing_kg >= LEAST_BID_KG else 0
        return wanted_kg

    def _room_kg(self) -> int:
        headroom_kg: int = self.seen["stock"]["headroom"]
        bid_kg: int = sum(offer["qty"] for offer in self.seen["your_offers"])
        return headroom_kg - bid_kg

    def _held_kg(self, item: str) -> int:
        """On hand and under way."""
        row = self.seen["stock"]["items"].get(item)
        return row["on_hand"] + row["in_flight"] if row else 0

    def _goal_kg(self, item: str) -> float:
        """What it would hold, under way included; twice as much around the festival, as far as the store allows."""
        share = self.shares_of_store[item] * (FESTIVAL_STOCK if self.day in self.days_of_much_stock else 1.0)
        store_kg: int = self.seen["stock"]["cap"]
        return max(1.0, min(1.0, share) * store_kg)

    def _most_paid(self, item: str) -> float:
        return MOST_PAID_SHARE * self.reservation_prices[item]

    def _most_asked(self, item: str) -> float:
        """Who asks a little too much gets a bid at the most it pays; who asks more is not bothered."""
        return MOST_ASKED_SHARE * self.reservation_prices[item]


def shares_of_store(reservation_prices: dict[str, float]) -> dict[str, float]:
    """Which part of a store is for which item: people buy less of what is dearer."""
    weights = {item: 1 / price for item, price in reservation_prices.items()}
    return {item: weight / sum(weights.values()) for item, weight in weights.items()}
