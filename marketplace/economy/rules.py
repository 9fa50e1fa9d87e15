"""The rules an economy trades under, as validated data: items, recipes, roles and rates (RULES.md sections 1, 2, 5–8).

Amounts are USD, quantities whole kilograms, rates fractions. The economy turns amounts into micro-dollars once, when a
run begins. Unknown keys and impossible values are refused by name.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Role = Literal["farmer", "roaster", "retailer"]
ROLES: tuple[Role, ...] = ("farmer", "roaster", "retailer")


def at_most_six_decimals(amount: float) -> float:
    """Refuses what whole micro-dollars cannot hold."""
    if round(amount, 6) != amount:
        raise ValueError("must have at most 6 decimals")
    return amount


Usd = Annotated[float, Field(ge=0, le=10_000_000, allow_inf_nan=False), AfterValidator(at_most_six_decimals)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Yield = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Kilograms = Annotated[int, Field(ge=0, le=1_000_000)]
Days = Annotated[int, Field(ge=0, le=3650)]
Mornings = Annotated[int, Field(ge=1, le=365)]
Demand = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
ItemId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,38}$")]


class Rules(BaseModel):
    """What every part of a scenario has in common: frozen, strict about names, strict about types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Production(Rules):
    """How farmers make an item: cost per kg, cap per farmer and day, and the days until it lands."""

    cost: Usd
    daily_cap_kg: Kilograms
    lag_days: Mornings


class Roasting(Rules):
    """How roasters make an item: from which green, labour per kg of green, kg out per kg in, days until it lands."""

    green_item: ItemId
    labour: Usd
    output_per_input: Yield
    lag_days: Mornings


class ConsumerDemand(Rules):
    """What consumers want of an item: reservation price, base demand in kg a day, and floor in kg per shop and day."""

    reservation_price: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)]
    base_demand_kg: Demand
    floor_kg: Demand


class Item(Rules):
    """One item of the catalogue, with how it is made and whether consumers buy it."""

    production: Production | None = None
    roasting: Roasting | None = None
    consumers: ConsumerDemand | None = None


class OpeningStock(Rules):
    """What a firm holds before the first morning, and what a kg of it stands at in its books."""

    quantity_kg: Kilograms
    unit_cost: Usd


class RoleRules(Rules):
    """A role's opening position and costs."""

    firms: Annotated[int, Field(ge=0, le=1000)] = 2
    cash: Usd = 15_000.0
    opex: Usd
    storage_cap_kg: Kilograms
    delivery_extra_days: Days = 0
    stock: dict[ItemId, OpeningStock] = {}
    prices: dict[ItemId, Usd] = {}


class FirmRules(Rules):
    """What one firm has that differs from its role."""

    cash: Usd | None = None
    opex: Usd | None = None
    storage_cap_kg: Kilograms | None = None
    stock: dict[ItemId, OpeningStock] | None = None
    prices: dict[ItemId, Usd] | None = None


def paper_items() -> dict[str, Item]:
    """The catalogue of the published benchmark, in catalogue order (section 2)."""
    return {
        "green_coffee_kg": Item(production=Production(cost=2, daily_cap_kg=30, lag_days=2)),
        "roasted_coffee_kg": Item(
            roasting=Roasting(green_item="green_coffee_kg", labour=3, output_per_input=0.85, lag_days=1),
            consumers=ConsumerDemand(reservation_price=30, base_demand_kg=80, floor_kg=5),
        ),
        "green_specialty_kg": Item(production=Production(cost=10, daily_cap_kg=10, lag_days=2)),
        "roasted_specialty_kg": Item(
            roasting=Roasting(green_item="green_specialty_kg", labour=5, output_per_input=0.82, lag_days=1),
            consumers=ConsumerDemand(reservation_price=80, base_demand_kg=15, floor_kg=1),
        ),
    }


def paper_roles() -> dict[Role, RoleRules]:
    """The roles of the published benchmark, in seating order (section 1)."""
    return {
        "farmer": RoleRules(
            opex=25, storage_cap_kg=120, stock={"green_coffee_kg": OpeningStock(quantity_kg=60, unit_cost=2)}
        ),
        "roaster": RoleRules(
            opex=30, storage_cap_kg=120, stock={"roasted_coffee_kg": OpeningStock(quantity_kg=30, unit_cost=5.88)}
        ),
        "retailer": RoleRules(
            opex=50,
            storage_cap_kg=80,
            stock={"roasted_coffee_kg": OpeningStock(quantity_kg=25, unit_cost=10)},
            prices={"roasted_coffee_kg": 18, "roasted_specialty_kg": 50},
        ),
    }


class EconomyRules(Rules):
    """Everything the economy needs to know about how trade works; the defaults are the paper's."""

    items: dict[ItemId, Item] = Field(default_factory=paper_items)
    roles: dict[Role, RoleRules] = Field(default_factory=paper_roles)
    firms: dict[str, FirmRules] = {}
    roast_daily_cap_kg: Kilograms = 50
    delivery_days: Mornings = 1
    delay: Fraction = 0.07
    loss: Fraction = 0.015
    late_fee: Fraction = 0.001
    spoilage: Fraction = 0.005
    return_window_days: Days = 14
    refund_terms_days: Days = 30

    def opening_of(self, firm_name: str, role: Role) -> RoleRules:
        """A firm's own opening position: its role's, with what differs for this firm."""
        own = self.firms.get(firm_name)
        differing = {} if own is None else {key: value for key, value in own if value is not None}
        return self.roles[role].model_copy(update=differing)
