"""What a player is told before the first morning, in the words of `prompts/` and with the numbers of its run.

A person reads the briefing, a model the briefing and how to answer. Both are made from what RULES.md section 11 calls
public and from the firm's own opening position; of a hidden number at most whether it is zero shows.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from marketplace.economy.economy import firm_names
from marketplace.economy.rules import ROLES, Item, Role, RoleRules, Rules, Usd
from simulation.engine.clock import (
    CALLS_PER_DAY,
    CLOSING_MINUTE,
    MINUTES_PER_CALL,
    OPENING_MINUTE,
    clock_text,
    date_text,
)
from simulation.engine.scenario import Scenario
from simulation.engine.tools import tools_of
from simulation.players.prompts import filled, filled_lines

MOST_OBJECTIVE_TEXT = 10_000
# One round of the alphabet; of more firms the first and the last name say it all.
MOST_NAMES_LISTED = 26

Values = dict[str, object]


def without_controls(text: Any) -> Any:
    """Text of a form or a file without what no prompt should hold; line ends and tabs stay."""
    if not isinstance(text, str):
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = (one for one in lines if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs"))
    return "".join(kept).strip()


class Objective(Rules):
    """What a firm's player is asked to achieve. Whatever it is, the score stays the ledger's net income."""

    kind: Literal["net_income", "revenue", "stress", "text"] = "net_income"
    revenue_target: Annotated[Usd, Field(gt=0, description="USD, of the stress test")] = 50_000.0
    text: Annotated[
        str,
        Field(max_length=MOST_OBJECTIVE_TEXT, description="the objective in words, of the kind `text`"),
        BeforeValidator(without_controls),  # outermost: it comes first, and the length is counted in characters
    ] = ""

    @model_validator(mode="after")
    def _has_its_text(self) -> Self:
        if self.kind == "text" and not self.text:
            raise ValueError("an objective of the kind text needs a text")
        return self


def briefing(scenario: Scenario, firm_name: str, objective: Objective) -> str:
    """The economy, the firm and its objective, worded the same for models and persons.

    Raises KeyError where the scenario seats no firm of that name.
    """
    role = roles_by_firm(scenario)[firm_name]
    own = scenario.opening_of(firm_name, role)
    aim = {"firm": firm_name, "revenue_target": number(objective.revenue_target), "text": objective.text}
    return filled(
        "shared",
        {
            "firm": firm_name,
            "role": role,
            "objective": filled(f"objective_{objective.kind}", aim),
            "role_part": _role_part(scenario, role, own),
            "firms": _firms(scenario, firm_name),
            "items": "\n".join(f"- {name}: {_item(scenario, name, item)}." for name, item in scenario.items.items()),
            "ends_with_you": firm_name == scenario.evaluated,
            **_position(own),
            **_time(scenario),
            **_trade(scenario, role),
            **_consumers(scenario),
        },
    )


def system_prompt(scenario: Scenario, firm_name: str, objective: Objective, memory_tools: bool) -> str:
    """The briefing, and how a model answers. The same arguments give the same bytes, so that caches hit."""
    values: Values = {"minutes_per_call": MINUTES_PER_CALL, "memory_tools": memory_tools}
    return f"{briefing(scenario, firm_name, objective)}\n\n{filled('answering_model', values)}\n"


def person_briefing(
    scenario: Scenario, firm_name: str, objective: Objective, *, is_assisted: bool, wants_rationale: bool
) -> str:
    """The same briefing, word for word, and how a person plays."""
    answering = answering_person(is_assisted=is_assisted, wants_rationale=wants_rationale)
    return f"{briefing(scenario, firm_name, objective)}\n\n{answering}\n"


def answering_person(*, is_assisted: bool, wants_rationale: bool) -> str:
    """How a person plays, on a page that shows looks for free or does not, with reasons asked for or left to them."""
    values: Values = {
        "minutes_per_call": MINUTES_PER_CALL,
        "is_assisted": is_assisted,
        "is_as_a_model": not is_assisted,
        "wants_rationale": wants_rationale,
        "may_give_reason": not wants_rationale,
    }
    return filled("answering_person", values)


def answering_program(*, wants_rationale: bool) -> str:
    """How a program plays over HTTP."""
    reasons = {"wants_rationale": wants_rationale, "may_give_reason": not wants_rationale}
    return filled("answering_program", {"minutes_per_call": MINUTES_PER_CALL, **reasons})


def roles_by_firm(scenario: Scenario) -> dict[str, Role]:
    """The role of every firm, in seating order."""
    return dict(firm_names(scenario))


def _position(own: RoleRules) -> Values:
    stock = [
        f"{number(held.quantity_kg)} kg {item} at a cost of {number(held.unit_cost)} USD a kg"
        for item, held in own.stock.items()
        if held.quantity_kg
    ]
    return {
        "cash": number(own.cash),
        "stock": series(stock),
        "opex": number(own.opex),
        "storage_cap": number(own.storage_cap_kg),
    }


def _role_part(scenario: Scenario, role: Role, own: RoleRules) -> str:
    items = scenario.items
    prices = [f"{item} {number(price)} USD" for item, price in own.prices.items() if price and items[item].consumers]
    return filled(
        role,
        {
            "grown": series([name for name, item in items.items() if item.production]),
            "roasted": series([name for name, item in items.items() if item.roasting]),
            "consumed": series([name for name, item in items.items() if item.consumers]),
            "prices": series(prices),
        },
    )


def _firms(scenario: Scenario, firm_name: str) -> str:
    """A line for each role: how many firms it has, and their names."""
    names: dict[Role, list[str]] = {role: [] for role in ROLES}
    for name, role in roles_by_firm(scenario).items():
        names[role].append(name)
    return "\n".join(f"- {role}s ({len(names[role])}): {_names(names[role], firm_name)}" for role in ROLES)


def _names(names: list[str], firm_name: str) -> str:
    """All names of a role, or, of hundreds, the first and the last."""
    if len(names) > MOST_NAMES_LISTED:
        return f"{names[0]} to {names[-1]}, lettered A to Z, then AA, AB and so on"
    return ", ".join(f"{name} (you)" if name == firm_name else name for name in names) or "none"


def _item(scenario: Scenario, name: str, item: Item) -> str:
    """How an item is made, what is made of it, and what consumers pay at most."""
    makers = ((other, rules.roasting) for other, rules in scenario.items.items())
    products = [other for other, roasting in makers if roasting and roasting.green_item == name]
    values: Values = {
        "is_grown": item.production,
        "is_roasted": item.roasting,
        "has_product": products,
        "product": series(products),
        "is_consumed": item.consumers,
        "is_idle": not (item.production or item.roasting or item.consumers or products),
    }
    if item.production:
        values["growing_cost"] = number(item.production.cost)
        values["growing_cap"] = number(item.production.daily_cap_kg)
        values["growing_lag"] = mornings_later(item.production.lag_days)
    if item.roasting:
        values["green"] = item.roasting.green_item
        values["labour"] = number(item.roasting.labour)
        values["output"] = number(item.roasting.output_per_input)
        values["roasting_lag"] = mornings_later(item.roasting.lag_days)
    if item.consumers:
        values["reservation_price"] = number(item.consumers.reservation_price)
    return "; ".join(filled_lines("item", values))


def _time(scenario: Scenario) -> Values:
    return {
        "days": counted(scenario.days, "day"),
        "last_day": number(scenario.days - 1),
        "first_date": date_text(0),
        "opening": clock_text(OPENING_MINUTE),
        "closing": clock_text(CLOSING_MINUTE),
        "minutes_per_call": MINUTES_PER_CALL,
        "calls_per_day": CALLS_PER_DAY,
    }


def _trade(scenario: Scenario, role: Role) -> Values:
    usual_terms_days = tools_of(role)["make_offer"].arguments.model_fields["payment_terms_days"].default
    return {
        "roast_cap": number(scenario.roast_daily_cap_kg),
        "payment_terms": counted(usual_terms_days, "day"),
        "delivery": _delivery(scenario),
        "can_be_late": scenario.delay,
        "can_be_lost": scenario.loss,
        "has_late_fees": scenario.late_fee,
        "late_fee_percent": percent(scenario.late_fee),
        "return_window": counted(scenario.return_window_days, "day"),
        "refund_terms": counted(scenario.refund_terms_days, "day"),
        "goes_stale": scenario.spoilage,
    }


def _delivery(scenario: Scenario) -> str:
    """When goods arrive: one time for all, or one for the goods of each role."""
    senders: dict[int, list[str]] = {}
    for role in ROLES:
        rules = scenario.roles.get(role)
        if rules and rules.firms:
            days = scenario.delivery_days + rules.delivery_extra_days
            senders.setdefault(days, []).append(f"{role}s")
    if len(senders) == 1:
        return mornings_later(*senders)
    return series([f"{mornings_later(days)} from {series(roles)}" for days, roles in senders.items()])


def _consumers(scenario: Scenario) -> Values:
    """That there are loyalty, floor demand and a festival, but none of their figures."""
    retailers = scenario.roles.get("retailer")
    has_shops = bool(retailers and retailers.firms)
    floors = [item.consumers.floor_kg for item in scenario.items.values() if item.consumers]
    festival = scenario.festival
    values: Values = {
        "has_shops": has_shops,
        "has_no_shops": not has_shops,
        "has_loyalty": has_shops and scenario.loyalty_low < scenario.loyalty_high,
        "has_floor": has_shops and any(map(round, floors)),
        "has_festival": has_shops and festival,
    }
    if festival:
        values["festival"] = festival.name
        values["festival_first_day"] = number(festival.first_day)
        values["festival_last_day"] = number(festival.last_day)
    return values


def number(value: float) -> str:
    """A number as it is written for people, to its last digit: 15,000 or 5.88."""
    return format(Decimal(str(value)).normalize(), ",f")


def percent(fraction: float) -> str:
    """The per cents of a fraction, to the last digit: 0.1 for 0.001."""
    return format((Decimal(str(fraction)) * 100).normalize(), ",f")


def counted(how_many: int, what: str) -> str:
    """1 day, 2 days."""
    return f"{number(how_many)} {what}" if how_many == 1 else f"{number(how_many)} {what}s"


def mornings_later(days: int) -> str:
    """When something started today comes in: this morning is over, so the next one is the first."""
    return f"{counted(max(1, days), 'morning')} later"


def series(parts: list[str]) -> str:
    """The parts as a sentence has them: a, b and c; nothing, where there are none."""
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
