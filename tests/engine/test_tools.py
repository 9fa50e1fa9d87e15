"""The tools: who has which, their schemas, what they refuse, and that none tells what a firm must not know."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from simulation.engine import tools
from simulation.engine.decision import MOST_TEXT, NO_CALL, Decision, readable
from simulation.engine.scenario import Scenario, scenario_from
from simulation.engine.tools.registry import Tool
from tests.engine.checks import snapshot, storable
from tests.engine.table import GREEN, ROASTED, SPECIAL_GREEN, SPECIAL_ROASTED, Table, stock, to
from tests.engine.wild import HOSTILE, nested

FIRMS = ["farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B"]
COMMON = {
    *("post_listing", "view_listings", "make_offer", "withdraw_offer", "accept_offer", "view_offers", "view_deals"),
    *("send_message", "view_messages", "read_message", "view_payables", "view_receivables", "pay_invoice"),
    *("return_shipment", "view_trial_balance", "view_market_aggregate", "wait_for_next_day"),
}
OWN = {
    "farmer": {"produce_item"},
    "roaster": {"roast"},
    "retailer": {"set_retail_price", "view_consumer_sales"},
}


@pytest.mark.parametrize("role", OWN)
def test_every_role_has_the_common_tools_and_its_own(role: str) -> None:
    assert set(tools.tools_of(role)) == COMMON | OWN[role]


def test_there_are_twenty_one_tools_in_all() -> None:
    assert len({name for role in OWN for name in tools.tools_of(role)}) == 21


def schemas(role: str, scenario: Scenario | None = None) -> dict[str, dict[str, Any]]:
    """What a model that plays the first firm of a role is given, by tool."""
    given = tools.schemas_for(f"{role}_A", role, scenario or Scenario(), FIRMS)
    return {one["name"]: one for one in given}


ITEM = {"type": "string", "enum": [GREEN, ROASTED, SPECIAL_GREEN, SPECIAL_ROASTED]}
KILOGRAMS = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
PRICE = {"type": "number", "minimum": 0.01, "maximum": 100_000}
TERMS = {"type": "integer", "minimum": 0, "maximum": 365, "default": 30}
ID = {"type": "string", "minLength": 2, "maxLength": 20}
OTHERS = {"type": "string", "enum": [name for name in FIRMS if name != "roaster_A"]}
NOTE = {"type": "string", "maxLength": 10_000, "default": ""}
DAY = {"type": "integer", "minimum": 0, "maximum": 100_000}
INVOICES = {
    "only_overdue": {"type": "boolean", "default": False},
    "counterparty": OTHERS,
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
}
# Role, tool, what it takes, and what of that it must be given.
SCHEMAS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    (
        "roaster",
        "post_listing",
        {"item_id": ITEM, "qty": KILOGRAMS, "asking_price": PRICE, "payment_terms_days": TERMS},
        ["item_id", "qty", "asking_price"],
    ),
    ("roaster", "view_listings", {"item_id": ITEM, "only_others": {"type": "boolean", "default": False}}, []),
    (
        "roaster",
        "make_offer",
        {"listing_id": ID, "offered_price": PRICE, "qty": KILOGRAMS, "payment_terms_days": TERMS, "message": NOTE},
        ["listing_id", "offered_price", "qty"],
    ),
    ("roaster", "withdraw_offer", {"offer_id": ID}, ["offer_id"]),
    ("roaster", "accept_offer", {"offer_id": ID}, ["offer_id"]),
    (
        "roaster",
        "view_offers",
        {"direction": {"type": "string", "enum": ["both", "incoming", "outgoing"], "default": "both"}},
        [],
    ),
    ("roaster", "view_deals", {}, []),
    (
        "roaster",
        "send_message",
        {
            "recipient": OTHERS,
            "title": {"type": "string", "minLength": 1, "maxLength": 80},
            "body": {"type": "string", "minLength": 1, "maxLength": 10_000},
            "ref_listing_id": ID,
            "ref_offer_id": ID,
        },
        ["recipient", "title", "body"],
    ),
    (
        "roaster",
        "view_messages",
        {
            "counterparty": OTHERS,
            "since_day": DAY,
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        },
        [],
    ),
    ("roaster", "read_message", {"message_id": ID}, ["message_id"]),
    ("roaster", "view_payables", INVOICES, []),
    ("roaster", "view_receivables", INVOICES, []),
    ("roaster", "pay_invoice", {"invoice_id": ID}, ["invoice_id"]),
    (
        "roaster",
        "return_shipment",
        {"invoice_id": ID, "quantity_kg": KILOGRAMS, "reason": NOTE},
        ["invoice_id", "quantity_kg"],
    ),
    (
        "roaster",
        "view_trial_balance",
        {"period": {"type": "string", "enum": ["all", "today", "last_7_days", "last_30_days"], "default": "all"}},
        [],
    ),
    (
        "roaster",
        "view_market_aggregate",
        {"days_back": {"type": "integer", "minimum": 1, "maximum": 365, "default": 7}},
        [],
    ),
    ("roaster", "wait_for_next_day", {}, []),
    (
        "roaster",
        "roast",
        {"green_item_id": {"type": "string", "enum": [GREEN, SPECIAL_GREEN]}, "qty_kg": KILOGRAMS},
        ["green_item_id", "qty_kg"],
    ),
    (
        "farmer",
        "produce_item",
        {"item_id": {"type": "string", "enum": [GREEN, SPECIAL_GREEN]}, "quantity": KILOGRAMS},
        ["item_id", "quantity"],
    ),
    (
        "retailer",
        "set_retail_price",
        {
            "item_id": {"type": "string", "enum": [ROASTED, SPECIAL_ROASTED]},
            "price_per_unit": {"type": "number", "minimum": 0, "maximum": 100_000},
        },
        ["item_id", "price_per_unit"],
    ),
    ("retailer", "view_consumer_sales", {"since_day": DAY}, []),
]


def test_the_schemas_of_all_tools_are_checked_here() -> None:
    assert len({tool for _, tool, _, _ in SCHEMAS}) == len(SCHEMAS) == 21


@pytest.mark.parametrize(("role", "tool", "properties", "required"), SCHEMAS, ids=[row[1] for row in SCHEMAS])
def test_a_schema_says_what_the_signature_says(
    role: str, tool: str, properties: dict[str, Any], required: list[str]
) -> None:
    parameters = schemas(role)[tool]["parameters"]
    described = parameters["properties"]
    bare = {
        name: {key: value for key, value in field.items() if key != "description"} for name, field in described.items()
    }
    assert bare == properties
    assert parameters["required"] == required
    assert (parameters["type"], parameters["additionalProperties"]) == ("object", False)
    assert parameters.keys() == {"type", "properties", "required", "additionalProperties"}, (
        "nothing to look up elsewhere"
    )


@pytest.mark.parametrize("role", OWN)
def test_the_description_is_the_docstring_and_every_schema_is_plain_json(role: str) -> None:
    for name, schema in schemas(role).items():
        one = tools.tools_of(role)[name]
        assert isinstance(one, Tool)
        assert schema["description"] == one.function.__doc__
        assert json.loads(json.dumps(schema, allow_nan=False)) == schema


def test_the_choices_of_a_schema_are_those_of_the_runs_scenario() -> None:
    tea = {"production": {"cost": 1, "daily_cap_kg": 5, "lag_days": 1}}
    scenario = scenario_from({"items": {"tea_kg": tea}})
    assert schemas("farmer", scenario)["produce_item"]["parameters"]["properties"]["item_id"]["enum"] == [
        *(GREEN, SPECIAL_GREEN, "tea_kg")
    ]
    assert "tea_kg" in schemas("roaster", scenario)["view_listings"]["parameters"]["properties"]["item_id"]["enum"]
    assert schemas("farmer")["produce_item"]["parameters"]["properties"]["item_id"]["enum"] == [GREEN, SPECIAL_GREEN]


NAN, INFINITY = math.nan, math.inf
LISTING = {"item_id": GREEN, "qty": 5, "asking_price": 3.0}
REFUSALS: list[tuple[Any, Any, str]] = [
    ("qty", 0, "qty should be greater than or equal to 1, not 0"),
    ("qty", -5, "qty should be greater than or equal to 1, not -5"),
    ("qty", 1.5, "qty should be a valid integer, not 1.5"),
    ("qty", "5", "qty should be a valid integer, not '5'"),
    ("qty", True, "qty should be a valid integer, not True"),
    ("qty", None, "qty should be a valid integer, not None"),
    ("qty", NAN, "qty should be a valid integer, not nan"),
    ("qty", INFINITY, "qty should be a valid integer, not inf"),
    ("qty", 1e308, "qty should be a valid integer, not 1e+308"),
    ("qty", 1_000_001, "qty should be less than or equal to 1000000, not 1000001"),
    ("qty", 10**17, "qty should be less than or equal to 1000000, not 100000000000000000"),
    ("qty", 10**400, "a number has too many digits"),
    ("qty", [5], "qty should be a valid integer, not [5]"),
    ("qty", {"kg": 5}, "qty should be a valid integer, not {'kg': 5}"),
    ("qty", {5}, "set is not JSON"),
    ("qty", b"5", "bytes is not JSON"),
    ("qty", nested(4), "arguments are nested more than 3 deep"),
    ("qty", nested(100_000), "arguments are nested more than 3 deep"),
    ("qty", list(range(41)), "41 values exceed the 40 allowed"),
    ("asking_price", 0, "asking_price should be greater than or equal to 0.01, not 0"),
    ("asking_price", 0.0099, "asking_price should be greater than or equal to 0.01, not 0.0099"),
    ("asking_price", -3, "asking_price should be greater than or equal to 0.01, not -3"),
    ("asking_price", 100_000.0001, "asking_price should be less than or equal to 100000, not 100000.0001"),
    ("asking_price", 1e308, "asking_price should be less than or equal to 100000, not 1e+308"),
    ("asking_price", 3.00001, "asking_price must have at most 4 decimals, not 3.00001"),
    ("asking_price", NAN, "asking_price should be a finite number, not nan"),
    ("asking_price", INFINITY, "asking_price should be a finite number, not inf"),
    ("asking_price", -INFINITY, "asking_price should be a finite number, not -inf"),
    ("asking_price", "3", "asking_price should be a valid number, not '3'"),
    ("asking_price", True, "asking_price should be a valid number, not True"),
    ("asking_price", None, "asking_price should be a valid number, not None"),
    ("payment_terms_days", -1, "payment_terms_days should be greater than or equal to 0, not -1"),
    ("payment_terms_days", 366, "payment_terms_days should be less than or equal to 365, not 366"),
    ("payment_terms_days", 0.5, "payment_terms_days should be a valid integer, not 0.5"),
    ("payment_terms_days", None, "payment_terms_days should be a valid integer, not None"),
    ("item_id", 5, "item_id should be a valid string, not 5"),
    ("item_id", "", "there is no item ''; the items are green_coffee_kg"),
    ("item_id", "\0", r"there is no item '\x00'; the items are"),
    ("item_id", "\ud800", "item_id should be a valid string, unable to parse raw data as a unicode string"),
    ("item_id", "x" * 61, "item_id should have at most 60 characters, not 'xxx"),
    ("item_id", "x" * 1_000_000, "a text of 1000000 characters exceeds the 20000 allowed"),
    ("quantity", 5, "unknown argument quantity"),
    ("\0", 5, r"unknown argument \x00"),
    ("x" * 61, 5, "'xxxxx"),
    (5, 5, "5 is not the name of an argument"),
    (None, 5, "None is not the name of an argument"),
    (10**5000, 5, "<int> is not the name of an argument"),
    ("unreadable", "as a player says", "as a player says"),
]


@pytest.mark.parametrize(("name", "value", "words"), REFUSALS, ids=[f"{row[2][:50]!a}" for row in REFUSALS])
def test_an_argument_that_cannot_be_is_refused_by_name(name: Any, value: Any, words: str) -> None:
    table = Table()
    before = snapshot(table.economy)
    result = table.step(farmer_A=Decision("post_listing", {**LISTING, name: value}))["farmer_A"]
    assert result["error"].startswith(words)
    assert snapshot(table.economy) == before
    storable(result)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qty", 1),
        ("qty", 60),
        ("qty", 5.0),  # JSON knows no difference between 5 and 5.0
        ("asking_price", 3),
        ("asking_price", 0.01),
        ("asking_price", 100_000),
        ("asking_price", 2.0001),
        ("payment_terms_days", 0),
        ("payment_terms_days", 365),
    ],
)
def test_an_argument_at_the_edge_of_what_can_be_is_taken_as_it_is(name: str, value: float) -> None:
    table = Table()
    table.do("farmer_A", "post_listing", **{**LISTING, name: value})
    row = table.do("farmer_A", "view_listings")["listings"][0]
    assert row == {"listing_id": "L1", "seller": "farmer_A", "payment_terms_days": 30, **LISTING, name: value}


def test_everything_missing_is_named_at_once() -> None:
    assert Table().refusal("farmer_A", "post_listing", qty=5) == "item_id is missing; asking_price is missing"


def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    words = Table().refusal("roaster_A", "fly_to_mars", speed=3)
    assert words.startswith("roaster_A has no tool 'fly_to_mars'; its tools are post_listing, view_listings")
    assert "produce_item" not in words


def test_arguments_of_a_call_that_takes_none_are_refused_too() -> None:
    assert Table().refusal("roaster_A", "wait_for_next_day", until=3) == "unknown argument until"


@pytest.mark.parametrize("arguments", [None, {}])
def test_no_arguments_may_be_left_out_altogether(arguments: Any) -> None:
    assert Table().step(farmer_A=Decision("view_deals", arguments))["farmer_A"]["ok"]


@pytest.mark.parametrize("value", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_whatever_is_sent_as_tool_arguments_or_reason_is_made_fit_to_be_stored(value: Any) -> None:
    for decision in (
        Decision(value, {}),
        Decision("view_deals", value),
        Decision("view_deals", {}, value),
        Decision("view_deals", {"limit": value}),
    ):
        fit = readable(decision)
        text = json.dumps(fit)
        assert json.dumps(readable(Decision(*json.loads(text)))) == text, "stored and read again it is the same"
        assert len(text) < 13 * MOST_TEXT, "a character can take 12 in JSON"
        storable([fit.tool, fit.rationale])


@pytest.mark.parametrize("tool", ["", None])
def test_an_empty_tool_is_no_call(tool: Any) -> None:
    assert readable(Decision(tool, {})) == NO_CALL


def leaves(value: Any) -> Iterator[Any]:
    """Every number and text inside a plain value, keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


# Figures that occur nowhere else: odd cents of cash and cost, and chances that no page may show.
ODD_OPENINGS = {
    "farmer_A": {"cash": 15_111.13, "opex": 25.17, "stock": stock(green_coffee_kg=(71, 2.0319))},
    "farmer_B": {"cash": 15_222.29, "opex": 25.31, "stock": stock(green_coffee_kg=(73, 2.0537))},
    "roaster_A": {"cash": 15_333.31, "opex": 30.41, "stock": stock(roasted_coffee_kg=(41, 5.8771))},
    "roaster_B": {"cash": 15_444.47, "opex": 30.53, "stock": stock(roasted_coffee_kg=(43, 5.8913))},
    "retailer_A": {
        "cash": 15_555.59,
        "opex": 50.67,
        "stock": stock(roasted_coffee_kg=(28, 10.0133), roasted_specialty_kg=(7, 23.0177)),
        "prices": {ROASTED: 18.0391, SPECIAL_ROASTED: 50.0717},
    },
    "retailer_B": {
        "cash": 15_666.61,
        "opex": 50.79,
        "stock": stock(roasted_coffee_kg=(29, 10.0351), roasted_specialty_kg=(9, 23.0393)),
        "prices": {ROASTED: 18.0559, SPECIAL_ROASTED: 50.0931},
    },
}
HIDDEN_PARAMETERS: dict[str, Any] = {
    "loss": 0.0137,
    "delay": 0.0719,
    "demand_sigma": 0.5123,
    "demand_ceiling_kg": 131.77,
}


def busy_table() -> Table:
    """Three mornings of trade, letters and offers between all firms, in figures of which each occurs once."""
    table = Table(
        **HIDDEN_PARAMETERS,
        reference_demand_kg=81.23,
        festival={"first_day": 1, "strength": 1.7311},
        firms=ODD_OPENINGS,
    )
    table.world.chance.draw = lambda: 0.5  # all arrives; the chances stay what they are
    price = 3.0
    for buyer in FIRMS:
        for seller in ("farmer_A", "farmer_B"):
            if buyer == seller:
                continue
            price += 0.0123
            listing = table.do(seller, "post_listing", item_id=GREEN, qty=2, asking_price=3.5)["listing_id"]
            for_two, for_one = (
                {
                    "listing_id": listing,
                    "offered_price": round(price + higher, 4),
                    "qty": qty,
                    "message": f"only-for {buyer} {seller}",
                }
                for higher, qty in ((0.0, 1), (0.0051, 1))
            )
            offer = table.do(buyer, "make_offer", **for_two)["offer_id"]
            table.do(buyer, "make_offer", **for_one)
            table.do(seller, "accept_offer", offer_id=offer)
            letter = {"title": f"only-for {buyer} {seller}", "body": f"only-for {buyer} {seller}"}
            table.do(seller, "send_message", recipient=buyer, **letter)
            if table.due().minute % 1440 > 15 * 60:
                table.until_day(table.world.day + 1)
    table.do("farmer_A", "produce_item", item_id=SPECIAL_GREEN, quantity=3)
    table.until_day(table.world.day + 1)
    return table


def own_figures(table: Table, firm: Firm) -> set[float]:
    """The figures of a firm's books, offers, deals, invoices and shop."""
    economy = table.economy
    micros = {*firm.balances.values(), *(-amount for amount in firm.balances.values()), *firm.shelf.values()}
    micros |= {holding.cost_micros for holding in firm.holdings.values()}
    for offer in economy.offers:
        if firm in (offer.bidder, offer.listing.seller):
            micros.add(offer.price_micros)
    for deal in firm.deals:
        micros |= {deal.price_micros, deal.total_micros}
        if deal.seller is firm:
            micros.add(deal.cost_micros)
    micros |= {batch.cost_micros for batch in economy.batches if batch.firm is firm}
    for sale in firm.sales:
        micros |= {sale.price_micros, sale.revenue_micros}
    return {usd(amount) for amount in micros}


def all_that_is_shown_to(table: Table, firm: Firm) -> list[Any]:
    """The firm's observation, its schemas, and the answer of every tool to every id there is."""
    economy = table.economy
    ids = {
        "accept_offer": ("offer_id", [offer.id for offer in economy.offers if offer.listing.seller is not firm]),
        "withdraw_offer": ("offer_id", [offer.id for offer in economy.offers if offer.bidder is not firm]),
        "pay_invoice": ("invoice_id", [invoice.id for invoice in economy.invoices if invoice.debtor is not firm]),
        "read_message": ("message_id", [message.id for message in economy.messages]),
    }
    shown: list[Any] = [
        table.view(firm.name).observation,
        tools.schemas_for(firm.name, firm.role, table.world.scenario, FIRMS),
    ]
    for name in tools.tools_of(firm.role):
        if name.startswith("view_"):
            shown.append(tools.call(economy, firm, name, {}))
        for number in ids.get(name, ("", []))[1]:
            shown.append(tools.call(economy, firm, name, {ids[name][0]: number}))
    for other in FIRMS:
        for name in ("view_messages", "view_payables", "view_receivables"):
            shown.append(tools.call(economy, firm, name, {"counterparty": other, "limit": 100}))
    shown.append(tools.call(economy, firm, "view_market_aggregate", {"days_back": 365}))
    return shown


@pytest.mark.parametrize("name", FIRMS)
def test_nothing_a_firm_is_shown_tells_what_it_must_not_know(name: str) -> None:
    table = busy_table()
    world, firm = table.world, table.firm(name)
    theirs = set().union(*(own_figures(table, other) for other in table.economy.firms if other is not firm))
    chances = {*world.chance.loyalty.values(), *(value for noise in world.chance.noise.values() for value in noise)}
    hidden = {figure for figure in theirs - own_figures(table, firm) if figure % 0.5}  # 3.50 is asked in public
    hidden |= chances | {*HIDDEN_PARAMETERS.values(), 81.23, 1.7311, 80.0 * 1.7311, 15.0 * 1.7311}
    assert len(hidden) > 100
    shown = list(leaves(all_that_is_shown_to(table, firm)))
    numbers = {float(leaf) for leaf in shown if isinstance(leaf, int | float)}
    assert numbers & hidden == set()
    texts = [leaf for leaf in shown if isinstance(leaf, str)]
    private = {text for text in texts if "only-for" in text}
    assert private, "letters and offers of its own are there"
    assert {text for text in private if name not in text} == set()
    told = " ".join(texts)
    assert [figure for figure in hidden if abs(figure) > 100 and str(figure) in told] == []


@pytest.mark.parametrize(
    "change",
    [
        {"loss": 0.5},
        {"delay": 0.5},
        {"festival": {"strength": 9}},
        {"demand_sigma": 9},
        {"demand_ceiling_kg": 9},
        {"loyalty_high": 9},
        {"firms": {"farmer_B": {"cash": 9_999, "opex": 9, "storage_cap_kg": 9}}},
        {"firms": {"retailer_B": {"stock": stock(roasted_coffee_kg=(9, 9.0)), "prices": {ROASTED: 9}}}},
    ],
    ids=lambda change: json.dumps(change)[:40],
)
def test_what_a_firm_sees_is_the_same_whatever_it_must_not_know(change: dict[str, Any]) -> None:
    def shown(**changes: Any) -> list[Any]:
        table = Table(**changes)
        table.step(roaster_B=to("post_listing", item_id=ROASTED, qty=9, asking_price=9))
        table.step(roaster_B=to("send_message", recipient="roaster_A", title="Hi", body="Hi"))
        return all_that_is_shown_to(table, table.firm("roaster_A"))

    assert shown(**change) == shown()
