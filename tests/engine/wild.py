"""Play at random: firms that call anything with anything, and a world that checks itself after every decision."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from marketplace.economy.economy import Economy
from marketplace.economy.firm import Firm
from marketplace.economy.trading import DELIVERED
from simulation.engine import tools
from simulation.engine.decision import NO_CALL, WAIT, Decision
from simulation.engine.scenario import Scenario
from simulation.engine.world import Outcome, Seat, Step, World
from tests.engine.checks import Auditor, snapshot, storable


class Hostile:
    """An object that cannot be printed, compared or kept in a set."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise RuntimeError("printed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __bool__(self) -> bool:
        raise RuntimeError("asked whether it is true")


def nested(depth: int) -> list[Any]:
    """[[[…]]]"""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def in_itself() -> list[Any]:
    """A list that is its own element."""
    value: list[Any] = []
    value.append(value)
    return value


HOSTILE: list[Any] = [
    *(None, True, False, "", " ", "0", "12", "null", "NaN", b"bytes", (), [], {}, set(), object(), Hostile()),
    *(float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0, 0.0, 0.5, 30.0, 30.5, 1e15, 1e18),
    *(-1, -(10**6), 10**6, 10**6 + 1, 10**17, 10**18, 2**63, 10**400, -(10**5000), 0.001, 0.01, 0.00001, 3.14159),
    *(99_999.9999, 100_000, 100_000.0001, Decimal(3), 3j, "x" * 61, "x" * 20_001, "x" * 1_000_000, "\0", "L\0"),
    *("\ud800", "L\udfff", "O٣", "L1\n", "L 1", "l1", "L01", "L-1", "L+1", "L1e3", "L999999999", "L9999999999"),
    *("unknown", "roaster_Z", "roaster_A\0", "'; DROP TABLE run; --", "<script>alert(1)</script>", "☕" * 80),
    *([1, 2], {"a": 1}, {1: 2}, {None: 3}, {10**5000: 1}, {"\ud800": 1}, {"unreadable": "\0\ud800"}, len, str),
    *(nested(4), nested(100_000), in_itself(), {"a": {"b": {"c": {"d": 1}}}}, list(range(41)), {"x" * 100: 1}),
]
STRANGE_KEYS: list[Any] = [
    *("extra", "", "\0", "\ud800", "qty ", "QTY", "economy", "firm", "self", "x" * 1000, "unreadable"),
    *(1, None, 10**5000, (), 1.5, float("nan")),
]
STRANGE_TOOLS: list[Any] = ["", "unknown", "post_listing ", "POST_LISTING", "call", "__init__", "\0", "\ud800", "☕"]


class Wild:
    """Decides at random for whoever is asked: mostly calls that make sense, some that are nearly right, some junk."""

    def __init__(self, chance: random.Random, economy: Economy) -> None:
        self.chance = chance
        self.economy = economy
        self.makers: dict[str, Callable[[Firm], dict[str, Any]]] = {
            "post_listing": self._listing,
            "make_offer": self._offer,
            "withdraw_offer": lambda firm: {"offer_id": self._one_of(firm.offers_out, "O")},
            "accept_offer": lambda firm: {"offer_id": self._one_of(firm.offers_in, "O")},
            "send_message": self._letter,
            "read_message": lambda firm: {"message_id": self._one_of(firm.unread, "M")},
            "pay_invoice": lambda firm: {"invoice_id": self._one_of(firm.payables, "I")},
            "return_shipment": self._return,
            "produce_item": lambda firm: {"item_id": self._item("green"), "quantity": self._kilograms()},
            "roast": self._roast,
            "set_retail_price": lambda firm: {"item_id": self._item("roasted"), "price_per_unit": self._price() * 4},
        }

    def decide(self, name: str) -> Decision:
        """One decision of a firm."""
        chance, firm = self.chance, self.economy.firm_named[name]
        throw = chance.random()
        if throw < 0.12:
            return WAIT if throw < 0.1 else NO_CALL
        tool: Any = self._tool(firm)
        arguments: Any = self.makers[tool](firm) if tool in self.makers else self._look(tool)
        if throw > 0.8:
            arguments = self._spoil(arguments)
        if throw > 0.97:
            tool, arguments = self._nonsense(tool, arguments)
        rationale = chance.choice(HOSTILE) if throw > 0.95 else "because"
        return Decision(tool, arguments, rationale)

    def _tool(self, firm: Firm) -> str:
        """Mostly one that has something to work on now."""
        chance = self.chance
        if firm.offers_in and chance.random() < 0.4:
            return "accept_offer"
        if chance.random() < 0.05:
            return chance.choice(ALL_TOOLS)
        tool = chance.choice(BUSY_TOOLS[firm.role])
        for _ in range(3):
            if HAS_WORK.get(tool, bool)(firm):
                break
            tool = chance.choice(BUSY_TOOLS[firm.role])
        return tool

    def _spoil(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """One argument wrong, missing or too many."""
        chance = self.chance
        arguments = dict(arguments)
        throw = chance.random()
        if arguments and throw < 0.7:
            arguments[chance.choice(list(arguments))] = chance.choice(HOSTILE)
        elif arguments and throw < 0.85:
            del arguments[chance.choice(list(arguments))]
        else:
            arguments[chance.choice(STRANGE_KEYS)] = chance.choice(HOSTILE)
        return arguments

    def _nonsense(self, tool: Any, arguments: Any) -> tuple[Any, Any]:
        """No tool of that name, or arguments that are no object."""
        chance = self.chance
        if chance.random() < 0.5:
            return chance.choice(STRANGE_TOOLS + HOSTILE), arguments
        return tool, chance.choice(HOSTILE)

    def _item(self, kind: str = "") -> str:
        """An item of the catalogue, mostly of the kind that fits."""
        items = list(self.economy.rules.items)
        fitting = [item for item in items if item.startswith(kind)]
        return self.chance.choice(fitting if self.chance.random() < 0.9 else items)

    def _kilograms(self) -> int:
        return self.chance.choice((1, 2, 3, 5, 10, 17, 30, 50, 60))

    def _price(self) -> float:
        """A price of goods between firms, round or with decimals."""
        return round(self.chance.uniform(0.01, 20), self.chance.choice((0, 2, 4))) or 0.01

    def _terms(self) -> int:
        return self.chance.choice((0, 0, 1, 2, 5, 30))

    def _one_of(self, rows: Any, prefix: str) -> str:
        """The id of one of the rows that fit; now and then of any row, or of none."""
        chance = self.chance
        if rows and chance.random() < 0.9:
            return str(chance.choice(list(rows)).id)
        return f"{prefix}{chance.randint(0, 40)}"

    def _listing(self, firm: Firm) -> dict[str, Any]:
        held = [item for item, holding in firm.holdings.items() if holding.quantity_kg]
        item = self.chance.choice(held) if held and self.chance.random() < 0.9 else self._item()
        most_kg = max(1, firm.on_hand(item))
        quantity_kg = self.chance.choice((most_kg, (most_kg + 1) // 2, most_kg + 1))
        listing = {"item_id": item, "qty": quantity_kg, "asking_price": self._price()}
        return listing if self.chance.random() < 0.5 else {**listing, "payment_terms_days": self._terms()}

    def _offer(self, firm: Firm) -> dict[str, Any]:
        others = [listing for listing in self.economy.open_listings if listing.seller is not firm]
        listing = self.chance.choice(others) if others else None
        quantity_kg = self.chance.randint(1, listing.remaining_kg + 1) if listing else 1
        return {
            "listing_id": listing.id if listing else "L1",
            "offered_price": self._price(),
            "qty": quantity_kg,
            "payment_terms_days": self._terms(),
        }

    def _roast(self, firm: Firm) -> dict[str, Any]:
        held = [item for item in firm.holdings if item.startswith("green") and firm.on_hand(item)]
        item = self.chance.choice(held) if held else self._item("green")
        return {"green_item_id": item, "qty_kg": min(self._kilograms(), firm.on_hand(item) + 1)}

    def _letter(self, firm: Firm) -> dict[str, Any]:
        recipient = self.chance.choice(self.economy.firms).name
        letter = {"recipient": recipient, "title": "Green?", "body": "Any left?\n☕"}
        return letter if self.chance.random() < 0.8 else {**letter, "ref_listing_id": "L1", "ref_offer_id": "O1"}

    def _return(self, firm: Firm) -> dict[str, Any]:
        received = [one for one in self.economy.invoices[-30:] if one.debtor is firm and one.deal]
        held = [one for one in received if one.deal and firm.on_hand(one.deal.item)] or received
        invoice = self.chance.choice(held) if held else None
        most_kg = min(invoice.returnable_kg, firm.on_hand(invoice.deal.item)) if invoice and invoice.deal else 1
        quantity_kg = self.chance.choice((1, max(1, most_kg), most_kg + 1))
        return {"invoice_id": invoice.id if invoice else "I1", "quantity_kg": quantity_kg, "reason": "stale"}

    def _look(self, tool: str) -> dict[str, Any]:
        chance = self.chance
        arguments: dict[str, Any] = {}
        if tool in ("view_payables", "view_receivables", "view_messages") and chance.random() < 0.5:
            arguments = {"counterparty": chance.choice(self.economy.firms).name, "limit": chance.randint(1, 100)}
        if tool == "view_trial_balance":
            arguments = {"period": chance.choice(("all", "today", "last_7_days", "last_30_days", "ever"))}
        if tool == "view_market_aggregate":
            arguments = {"days_back": chance.randint(0, 366)}
        return arguments


ALL_TOOLS = list(dict.fromkeys(name for role in ("farmer", "roaster", "retailer") for name in tools.tools_of(role)))
_EVERYBODY = 3 * ["post_listing", "make_offer", "make_offer", "pay_invoice", "return_shipment"]
BUSY_TOOLS = {
    "farmer": [*tools.tools_of("farmer"), *_EVERYBODY, *6 * ["produce_item"]],
    "roaster": [*tools.tools_of("roaster"), *_EVERYBODY, *6 * ["roast"]],
    "retailer": [*tools.tools_of("retailer"), *_EVERYBODY, *2 * ["set_retail_price"]],
}

HAS_WORK: dict[str, Callable[[Firm], bool]] = {
    "withdraw_offer": lambda firm: bool(firm.offers_out),
    "accept_offer": lambda firm: bool(firm.offers_in),
    "read_message": lambda firm: bool(firm.unread),
    "pay_invoice": lambda firm: bool(firm.payables),
    "return_shipment": lambda firm: any(deal.buyer is firm and deal.status == DELIVERED for deal in firm.deals),
    "post_listing": lambda firm: firm.on_hand_kg > 0,
    "roast": lambda firm: any(firm.on_hand(item) for item in firm.holdings if item.startswith("green")),
}


class WatchedWorld(World):
    """A world that checks itself: refusals change nothing, answers can be stored, and what section 4 says holds."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(scenario, seed)
        self.outcomes: list[Outcome] = []
        self.answers: list[bytes] = []
        self._auditor = Auditor(self.economy)
        self._before: list[Any] | None = None

    def open_step(self) -> Step | None:
        step = super().open_step()
        self._before = None
        self._auditor.check()
        return step

    def _apply(self, step: Step, seat: Seat, decision: Decision) -> Outcome:
        before = self._before or snapshot(self.economy)
        outcome = super()._apply(step, seat, decision)
        self._before = snapshot(self.economy)
        if not outcome.result["ok"]:
            assert outcome.result.keys() == {"ok", "error"}
            assert isinstance(outcome.result["error"], str)
            assert self._before == before, f"refused, and yet something changed: {outcome}"
        self.outcomes.append(outcome)
        self.answers.append(storable(outcome.result))
        assert seat.firm.cash_micros >= 0, f"a call took more cash than there was: {outcome}"
        return outcome


def play_at_random(scenario: Scenario, seed: int, most_calls: int) -> WatchedWorld:
    """A world that random firms moved to its end, or until so many calls were made."""
    world = WatchedWorld(scenario, seed)
    chance = random.Random(seed)
    wild = Wild(chance, world.economy)
    while world.turns < most_calls and (step := world.open_step()):
        storable(world.view(chance.choice(step.firms)).observation)
        world.apply({firm: wild.decide(firm) for firm in step.firms})
    world.open_step()
    return world


def stored(outcome: Outcome) -> str:
    """A decision as a database would keep it."""
    return json.dumps(outcome.decision)


def replay_from_text(scenario: Scenario, seed: int, texts: list[str]) -> tuple[World, list[bytes]]:
    """A plain world led by stored decisions alone, and what it answered."""
    world = World(scenario, seed)
    decisions = iter(texts)
    answers = []
    for _ in range(len(texts)):
        step = world.open_step()
        if step is None:
            break
        taken = list(itertools.islice(decisions, len(step.firms)))
        if not taken:
            break
        outcomes = world.apply(
            {name: Decision(*json.loads(text)) for name, text in zip(step.firms, taken, strict=True)}
        )
        answers += [storable(outcome.result) for outcome in outcomes]
    return world, answers


def tally_of(world: WatchedWorld) -> Counter[str]:
    """What happened in a world, counted: calls, accepted calls by tool, and events by kind."""
    tally: Counter[str] = Counter(event.kind for event in world.economy.events)
    tally["calls"] = sum(seat.activity.calls for seat in world.seats.values())
    tally["refused"] = sum(seat.activity.refused_calls for seat in world.seats.values())
    tally.update(f"ok {one.decision.tool}" for one in world.outcomes if one.result["ok"])
    tally["refund invoices"] = sum(invoice.deal is None for invoice in world.economy.invoices)
    return tally
