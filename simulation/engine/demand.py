"""Chance and consumers: the run's one random stream, and what shops sell in an evening (RULES.md sections 7 and 10)."""

from __future__ import annotations

import random
from typing import NamedTuple

from marketplace.economy.economy import Economy, ItemSales
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from marketplace.economy.retail import sell_to_consumers
from marketplace.economy.rules import ConsumerDemand
from simulation.engine.scenario import Scenario


class Chance:
    """Everything random in a run, drawn in the order that makes the same seed give the same run (section 10)."""

    def __init__(self, scenario: Scenario, seed: int, retailers: list[str]) -> None:
        stream = random.Random(seed)
        self.noise = {
            name: [stream.gauss(0, scenario.demand_sigma) for _ in range(scenario.days + 2)]
            for name, item in scenario.items.items()
            if item.consumers
        }
        self.loyalty = {name: stream.uniform(scenario.loyalty_low, scenario.loyalty_high) for name in retailers}
        self.draw = stream.random


class Shelf(NamedTuple):
    """What a shop brings to an evening's market for one item."""

    price: float
    loyalty: float
    stock_kg: int


def shares_of_demand(
    demand: ConsumerDemand, shelves: list[Shelf], noise: float, festival: float, ceiling_kg: float, reference_kg: float
) -> list[int]:
    """Kilograms each shop sells of one item, by the published formula, on floats as Python rounds (section 7)."""
    reservation = demand.reservation_price
    mean_price = sum(shelf.price for shelf in shelves) / len(shelves)
    wanted = max(0.0, festival * demand.base_demand_kg + noise) * max(0.0, 1 - mean_price / reservation)
    market = min(festival * ceiling_kg * demand.base_demand_kg / reference_kg, wanted)
    appeals = [max(0.0, 1 - shelf.price / reservation) * shelf.loyalty for shelf in shelves]
    appeal = sum(appeals)
    floor_kg = round(demand.floor_kg)
    return [
        min(
            (round(market * own / appeal) if market and appeal else 0)
            + (floor_kg if shelf.price <= reservation else 0),
            shelf.stock_kg,
        )
        for shelf, own in zip(shelves, appeals, strict=True)
    ]


def sell_in_the_evening(economy: Economy, scenario: Scenario, chance: Chance, retailers: list[Firm], day: int) -> None:
    """Every consumer item in catalogue order, every live shop that shows and holds it in seating order."""
    festival = scenario.festival_factor(day)
    sold_today: dict[str, ItemSales] = {}
    economy.sold_on_day.append(sold_today)
    for name, item in scenario.items.items():
        if item.consumers is None:
            continue
        shops = [shop for shop in retailers if shop.is_live and shop.shelf.get(name) and shop.on_hand(name)]
        if not shops:
            continue
        shelves = [Shelf(usd(shop.shelf[name]), chance.loyalty[shop.name], shop.on_hand(name)) for shop in shops]
        sold = shares_of_demand(
            item.consumers,
            shelves,
            chance.noise[name][day],
            festival,
            scenario.demand_ceiling_kg,
            scenario.reference_demand_kg,
        )
        sales = [
            sell_to_consumers(economy, shop, name, quantity_kg)
            for shop, quantity_kg in zip(shops, sold, strict=True)
            if quantity_kg
        ]
        sold_today[name] = ItemSales(sum(sold), sum(sale.revenue_micros for sale in sales))
