"""A farmer of our own making: it keeps its store stocked, shows large lots, and asks a markup that follows its stock.

Of the scenario it uses what every firm may know (RULES.md section 11): what is grown, at what cost, how much a day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import Scenario
from simulation.engine.tools import Result
from simulation.players.base import DayPlanner, call

# The least markup it accepts about pays the rent of a farmer that sells all it can grow; it lists at more than that.
LEAST_MARKUP, LISTED_FULL_MARKUP, LISTED_EMPTY_MARKUP = 1.4, 1.6, 2.0
LONGEST_TERMS_DAYS = 30
RESERVE_SHARE_OF_CASH = 0.1
MOST_INVOICES_SEEN = 100


class Crop(NamedTuple):
    """What a farmer knows of an item it grows: USD per kg, kg a day, and the share of its store it is worth."""

    cost: float
    daily_cap_kg: int
    share_of_store: float


class HeuristicFarmer(DayPlanner):
    """Lists what is on hand and not listed yet, grows what its store lacks, and answers offers as they come.

    An offer of the afternoon is answered that afternoon: accepted the next morning, it would disturb a HeuristicRoaster
    halfway down its list.
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.crops = crops_of(scenario)
        self.seen: dict[str, Any] = {}
        self.cash = 0.0
        self.reserve: float | None = None
        self.was_done = False
        self.invoices: list[dict[str, Any]] = []
        self.late_payers: set[str] = set()
        self.answered: set[str] = set()
        self.turned_away: set[str] = set()
        self.ever_sold: set[str] = set()
        self.grown_today_kg: dict[str, int] = {}
        # Kilograms accepted since the last observation, by item and by listing.
        self.gone_kg: Counter[str] = Counter()

    def read(self, view: View) -> None:
        """Keeps the newest observation, and whether the last call was done."""
        self.was_done = view.result is not None and view.result["ok"]
        super().read(view)
        if view.observation is not None:
            self.seen = view.observation
            self.cash = self.seen["cash"]
            self.gone_kg.clear()

    def learn(self, call_made: Decision, result: Result) -> None:
        """Takes in what no observation tells."""
        match call_made.tool:
            case "view_payables":
                self.invoices = result["invoices"]
            case "view_receivables":
                self.late_payers = {invoice["from"] for invoice in result["invoices"]}
            case "pay_invoice":
                self.cash = result["cash"]
            case "produce_item":
                self.cash -= result["cost"]

    def plan(self, view: View) -> Iterator[Decision]:
        """Lists first, since roasters look at the market early; then grows, and sells for as long as offers come."""
        if not self.seen:
            return
        self._begin_day()
        yield from self._list_harvest()
        yield from self._grow()
        yield from self._see_to_debts()
        while True:
            seen = self.seen
            yield from self._answer_offers()
            if self.seen is seen:
                yield WAIT
            yield from self._grow()

    def _begin_day(self) -> None:
        if self.reserve is None:
            self.reserve = RESERVE_SHARE_OF_CASH * self.cash
        self.grown_today_kg = dict.fromkeys(self.crops, 0)
        self.answered, self.turned_away, self.late_payers = set(), set(), set()

    def _list_harvest(self) -> Iterator[Decision]:
        """Whole days' harvests only, and two at a time of what sells.

        Roasters who each bid for one listing a day, and all for the same one, then find enough on it for two of them,
        and no remainder of a kilogram stays behind to be the cheapest on the market.
        """
        for item, crop in self.crops.items():
            on_hand_kg, _ = self._held_kg(item)
            unlisted_kg = on_hand_kg - self._listed_kg(item)
            harvest_kg = min(crop.daily_cap_kg, self.seen["stock"]["cap"] // 4)
            lot_kg = harvest_kg * (2 if item in self.ever_sold else 1)
            if harvest_kg and unlisted_kg >= lot_kg:
                quantity_kg = unlisted_kg // harvest_kg * harvest_kg
                yield call("post_listing", item_id=item, qty=quantity_kg, asking_price=self._asking_price(item))

    def _asking_price(self, item: str) -> float:
        """The fuller the store, the cheaper."""
        fullness = min(1.0, self._held_kg(item)[0] / self._goal_kg(item))
        markup = LISTED_EMPTY_MARKUP + (LISTED_FULL_MARKUP - LISTED_EMPTY_MARKUP) * fullness
        return max(0.01, round(markup * self.crops[item].cost, 2))

    def _grow(self) -> Iterator[Decision]:
        """Fills the store up to its goals, not for a handful of kilograms, and never with money it owes."""
        room_kg, owed = self.seen["stock"]["headroom"], self.seen["payables"]["total_owed"]
        for item, crop in self.crops.items():
            lacking_kg = int(self._goal_kg(item)) - sum(self._held_kg(item))
            quantity_kg = min(lacking_kg, crop.daily_cap_kg - self.grown_today_kg[item], room_kg)
            if quantity_kg >= max(1, crop.daily_cap_kg / 3) and self._can_spend(owed + quantity_kg * crop.cost):
                self.grown_today_kg[item] += quantity_kg
                room_kg -= quantity_kg
                yield call("produce_item", item_id=item, quantity=quantity_kg)

    def _answer_offers(self) -> Iterator[Decision]:
        """Accepts what pays, best price first. Who has no room for a lot today is asked again tomorrow."""
        while offer := self._best_offer():
            self.answered.add(offer["offer_id"])
            self.gone_kg.update({offer["item_id"]: offer["qty"], offer["listing_id"]: offer["qty"]})
            yield call("accept_offer", offer_id=offer["offer_id"])
            if self.was_done:
                self.ever_sold.add(offer["item_id"])
            else:
                self.turned_away.add(offer["bidder"])

    def _best_offer(self) -> dict[str, Any] | None:
        left_kg = {row["listing_id"]: row["qty"] for row in self.seen["your_open_listings"]}
        fitting = [
            offer
            for offer in self.seen["offers_to_you"]
            if self._is_good(offer)
            and offer["qty"] <= left_kg.get(offer["listing_id"], 0) - self.gone_kg[offer["listing_id"]]
            and offer["qty"] <= self._held_kg(offer["item_id"])[0] - self.gone_kg[offer["item_id"]]
        ]
        return max(fitting, key=lambda offer: float(offer["offered_price"]), default=None)

    def _is_good(self, offer: dict[str, Any]) -> bool:
        crop = self.crops.get(offer["item_id"])
        return (
            crop is not None
            and offer["offered_price"] >= LEAST_MARKUP * crop.cost
            and offer["payment_terms_days"] <= LONGEST_TERMS_DAYS
            and offer["offer_id"] not in self.answered
            and offer["bidder"] not in self.late_payers | self.turned_away
        )

    def _see_to_debts(self) -> Iterator[Decision]:
        """Finds out who owes it money too long, and pays what it owes itself, which is a refund at most."""
        if self.seen["receivables"]["overdue"]:
            yield call("view_receivables", only_overdue=True, limit=MOST_INVOICES_SEEN)
        if self.seen["payables"]["open"]:
            yield call("view_payables")
            for invoice in self.invoices:
                if self._can_spend(invoice["owed"]):
                    yield call("pay_invoice", invoice_id=invoice["invoice_id"])

    def _can_spend(self, amount: float) -> bool:
        return self.cash - amount >= (self.reserve or 0.0)

    def _goal_kg(self, item: str) -> float:
        """What it would hold, under way included; of what nobody has bought yet a day's harvest to be seen by."""
        crop = self.crops[item]
        return crop.share_of_store * self.seen["stock"]["cap"] if item in self.ever_sold else crop.daily_cap_kg

    def _held_kg(self, item: str) -> tuple[int, int]:
        """On hand, and under way."""
        row = self.seen["stock"]["items"].get(item)
        return (row["on_hand"], row["in_flight"]) if row else (0, 0)

    def _listed_kg(self, item: str) -> int:
        return sum(row["qty"] for row in self.seen["your_open_listings"] if row["item_id"] == item)


def crops_of(scenario: Scenario) -> dict[str, Crop]:
    """What can be grown, the dearest first, with shares of a store: twice as dear, half the kilograms."""
    grown = {name: item.production for name, item in scenario.items.items() if item.production}
    weights = {name: 1 / max(0.01, growing.cost) for name, growing in grown.items() if growing.daily_cap_kg}
    return {
        # A store full of the cheap one would leave no room for the dear one, so that is seen to first.
        name: Crop(grown[name].cost, grown[name].daily_cap_kg, weights[name] / sum(weights.values()))
        for name in sorted(weights, key=lambda name: weights[name])
    }
