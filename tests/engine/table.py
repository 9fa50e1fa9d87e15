"""A table at which stories are told: a small world in which the test decides for every firm."""

from typing import Any

from marketplace.economy import ledger
from marketplace.economy.firm import Firm
from marketplace.economy.money import usd
from simulation.engine.clock import MINUTES_PER_DAY, clock_text
from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import scenario_from
from simulation.engine.tools import Result
from simulation.engine.world import Step, World
from tests.engine.checks import check_books, snapshot

GREEN, ROASTED = "green_coffee_kg", "roasted_coffee_kg"
SPECIAL_GREEN, SPECIAL_ROASTED = "green_specialty_kg", "roasted_specialty_kg"

CALM = {"loss": 0, "delay": 0, "spoilage": 0}
LOOK = Decision("view_deals", {})


def to(tool: str, **arguments: Any) -> Decision:
    """The decision to make a call."""
    return Decision(tool, arguments)


def letter_to(firm: str) -> Decision:
    """The decision to write a few words to a firm."""
    return to("send_message", recipient=firm, title="Hello", body="Wake up.")


def opening(**firms: dict[str, Any]) -> dict[str, Any]:
    """Firms that start otherwise than their role: `opening(farmer_A={"cash": 10})`."""
    return {"firms": firms}


def stock(**items: tuple[int, float]) -> dict[str, Any]:
    """An opening stock: item=(kilograms, USD per kg)."""
    return {item: {"quantity_kg": quantity_kg, "unit_cost": cost} for item, (quantity_kg, cost) in items.items()}


class Table:
    """A world in which nothing is lost, late or stale unless the story says so."""

    def __init__(self, *, seed: int = 0, **changes: Any) -> None:
        self.world = World(scenario_from({**CALM, **changes}), seed)
        self.economy = self.world.economy

    def due(self) -> Step:
        """The step that is open, or the next one; the run must not be over."""
        step = self.world.open_step()
        assert step is not None, "the run is over"
        return step

    @property
    def time(self) -> str:
        """The day and hour of the open step: 0 09:30."""
        minute = self.due().minute
        return f"{minute // MINUTES_PER_DAY} {clock_text(minute)}"

    def step(self, others: Decision = WAIT, **decisions: Decision) -> dict[str, Result]:
        """One step: the named firms, which must be due, do as they are told, all others wait."""
        firms = self.due().firms
        assert decisions.keys() <= set(firms), f"{sorted(decisions)} must be due, but {firms} are"
        outcomes = self.world.apply({firm: decisions.get(firm, others) for firm in firms})
        return {outcome.firm: outcome.result for outcome in outcomes}

    def call(self, firm: str, tool: str, **arguments: Any) -> Result:
        """The firm's next turn of the day. Whoever is due before or beside it looks around, and so stays on."""
        day = self.due().minute // MINUTES_PER_DAY
        while firm not in self.due().firms:
            self.step(others=LOOK)
        assert self.due().minute // MINUTES_PER_DAY == day, f"{firm} has no turn left on day {day}"
        return self.step(others=LOOK, **{firm: to(tool, **arguments)})[firm]

    def do(self, firm: str, tool: str, **arguments: Any) -> Result:
        """A call that must be accepted."""
        result = self.call(firm, tool, **arguments)
        assert result["ok"], result["error"]
        return result

    def refusal(self, firm: str, tool: str, **arguments: Any) -> str:
        """The words in which a call is refused, as it must be; nothing else may come of it."""
        before = snapshot(self.economy)
        result = self.call(firm, tool, **arguments)
        assert not result["ok"], result
        assert snapshot(self.economy) == before, "refused, and yet something changed"
        return str(result["error"])

    def view(self, firm: str) -> View:
        """What the firm, which must be due, is given."""
        assert firm in self.due().firms
        return self.world.view(firm)

    def observation(self, firm: str) -> dict[str, Any]:
        """What the firm, which must have been woken, is shown."""
        seen = self.view(firm).observation
        assert seen is not None
        return seen

    def until_day(self, day: int) -> None:
        """Everybody waits until 09:00 of a later day."""
        while self.due().minute < day * MINUTES_PER_DAY:
            self.step()

    def play_out(self) -> None:
        """Everybody waits until the run is over."""
        while self.world.open_step():
            self.step()

    def firm(self, name: str) -> Firm:
        """A firm by name."""
        return self.economy.firm_named[name]

    def cash(self, name: str) -> float:
        """A firm's cash in USD."""
        return usd(self.firm(name).cash_micros)

    def holds(self, name: str, item: str) -> tuple[int, float]:
        """Kilograms of an item in a firm's store, and what they cost it in all, in USD."""
        holding = self.firm(name).holdings[item]
        return holding.quantity_kg, usd(holding.cost_micros)

    def account(self, name: str, account: str) -> float:
        """Debits less credits of one of a firm's accounts, in USD."""
        return usd(self.firm(name).balances[account])

    def offer(
        self, seller: str, buyer: str, item: str, qty: int, price: float, terms: int = 30, listed: int | None = None
    ) -> str:
        """The seller lists (`listed` kg, or just what is asked for), the buyer bids; returns the id of the offer."""
        listing = self.do(seller, "post_listing", item_id=item, qty=listed or qty, asking_price=price)["listing_id"]
        return self.bid(buyer, listing, qty, price, terms)

    def bid(self, buyer: str, listing: str, qty: int, price: float, terms: int = 30) -> str:
        """A bid on a listing; returns the id of the offer."""
        bid = self.do(buyer, "make_offer", listing_id=listing, offered_price=price, qty=qty, payment_terms_days=terms)
        return str(bid["offer_id"])

    def sell(self, seller: str, buyer: str, item: str, qty: int, price: float, terms: int = 30) -> str:
        """A listing, a bid and its acceptance: the goods travel. Returns the id of the deal."""
        offer = self.offer(seller, buyer, item, qty, price, terms)
        return str(self.do(seller, "accept_offer", offer_id=offer)["deal_id"])

    def deliver(self, seller: str, buyer: str, item: str, qty: int, price: float, terms: int = 30) -> str:
        """A sale, and the wait until it has arrived the next morning; returns the id of the invoice."""
        self.sell(seller, buyer, item, qty, price, terms)
        self.until_day(self.due().minute // MINUTES_PER_DAY + 1)
        return self.economy.invoices[-1].id

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """What the tape says of these kinds of event, in order."""
        return [event.data for event in self.economy.events if event.kind in kinds]

    def check_books(self) -> None:
        """Section 4's identity, exactly, and stock as the accounts have it."""
        check_books(self.economy)


def expenses_of(table: Table, firm: str) -> dict[str, float]:
    """A firm's expense accounts that are not zero, in USD."""
    return {name: amount for name in ledger.EXPENSES if (amount := table.account(firm, name))}
