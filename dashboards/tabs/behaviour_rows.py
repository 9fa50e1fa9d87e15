"""What the tab Behaviour is made of: a run's rows as plain tuples, which its pure functions take. One query each.

Rows are read up to an evening and say what was so then: what became of a deal, a batch or an invoice later is not in
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import Case, Q, Sum, TextField, Value, When

from dashboards.books import shown_firms
from dashboards.state import storage_cap_kg
from dashboards.tabs.look import Look
from marketplace.economy.money import micros
from marketplace.economy.trading import DELIVERED
from marketplace.models import Batch, Deal, Firm, Invoice, Transfer
from marketplace.rows import in_run, number_of
from simulation.engine.clock import CLOSING_MINUTE, MINUTES_PER_DAY
from simulation.engine.decision import WAIT
from simulation.models import Call, DayEnd, Event, Run, Turn

NO_CALL: Final = ""
READ: Final = "read_message"
LOOKS: Final = "view_"
"""What the names of tools that only show something begin with."""
SPOILAGE, SHOP_REVENUE, SHOP_COST = "spoilage", "consumer sales", "cost of consumer sales"


class Seat(NamedTuple):
    """A firm as the tab looks at it: what it can store, what a day costs it, and when it went bankrupt, if it did."""

    name: str
    player: str = ""
    cap_kg: int = 0
    opex_usd: float = 0.0
    bankrupt_day: int | None = None

    def lived(self, day: int) -> bool:
        """Whether it was in business on the evening of a day."""
        return self.bankrupt_day is None or day < self.bankrupt_day


class Act(NamedTuple):
    """A turn: what a firm called, with its arguments as JSON, and a look's answer (left out where nobody compares)."""

    firm: str
    day: int
    tool: str
    accepted: bool = True
    arguments: str = ""
    answer: str = ""

    @property
    def is_wait(self) -> bool:
        """Whether it did nothing; no call at all counts as a wait (RULES.md section 3)."""
        return self.tool in (NO_CALL, WAIT.tool)

    @property
    def is_useful(self) -> bool:
        """Whether it changed something: accepted, and neither a look nor a wait."""
        return self.accepted and not (self.is_wait or self.tool.startswith(LOOKS) or self.tool == READ)


class Evening(NamedTuple):
    """What a firm held after an evening; net income and revenue since the run began."""

    firm: str
    day: int
    cash_micros: int = 0
    net_income_micros: int = 0
    revenue_micros: int = 0
    on_hand_kg: int = 0


class Trade(NamedTuple):
    """A deal. `settled_day` is the first evening that found its journey ended, in any way; None while they travel."""

    number: int
    day: int
    seller: str
    buyer: str
    item: str
    quantity_kg: int
    total_micros: int
    cost_micros: int
    settled_day: int | None = None
    is_delivered: bool = False


class Debt(NamedTuple):
    """An invoice before late fees. `settled_day` is None while it is open; `credits` are returns, by day and amount."""

    number: int
    debtor: str
    principal_micros: int
    issued_day: int
    due_day: int
    settled_day: int | None = None
    credits: Sequence[tuple[int, int]] = ()

    def owed_micros(self, day: int) -> int:
        """What returns have left of the principal by the evening of a day, in micro-dollars."""
        return self.principal_micros - sum(amount for credited_day, amount in self.credits if credited_day <= day)

    def is_open(self, day: int) -> bool:
        """Whether it was unpaid on the evening of a day."""
        return self.issued_day <= day and (self.settled_day is None or self.settled_day > day)


class Making(NamedTuple):
    """A batch: goods that take room in their firm's store from the day on which they are begun."""

    firm: str
    day: int
    quantity_kg: int
    settled_day: int | None = None


class Outflow(NamedTuple):
    """What the ledger says of goods that left on an evening: spoiled, or sold in a shop (revenue and cost apart)."""

    firm: str
    day: int
    reason: str
    item: str
    quantity_kg: int
    amount_micros: int


def grouped(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """Some rows by their firm."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.firm, []).append(row)
    return found


def firms_looked_at(look: Look) -> list[Firm]:
    """The firms whose behaviour is shown: all that a page shows, or the one as which the run is seen."""
    return [look.knower] if look.knower else shown_firms(look.firms, look.run.evaluated)


def seats_of(run: Run, firms: Sequence[Firm], until: int) -> list[Seat]:
    """The firms as they stood on an evening."""
    return [
        Seat(
            name=firm.name,
            player=firm.player,
            cap_kg=storage_cap_kg(run.scenario, firm.name, firm.role),
            opex_usd=opex_usd(run.scenario, firm.name, firm.role),
            bankrupt_day=firm.bankrupt_day if firm.bankrupt_day is not None and firm.bankrupt_day <= until else None,
        )
        for firm in firms
    ]


def opex_usd(scenario: dict[str, Any], name: str, role: str) -> float:
    """What a day costs a firm under a run's frozen scenario; 0 if it does not say."""
    own = scenario.get("firms", {}).get(name, {}).get("opex")
    return float(own if own is not None else scenario.get("roles", {}).get(role, {}).get("opex", 0))


def texts_of(wanted: Q) -> tuple[Case, Case]:
    """A turn's arguments and a look's answer, of the turns that are wanted: nothing of the others."""
    return (
        Case(When(wanted, then="arguments"), default=Value(""), output_field=TextField()),
        Case(When(wanted & Q(tool__startswith=LOOKS), then="result"), default=Value(""), output_field=TextField()),
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """Reads a run's rows up to an evening: those of the firms that are looked at, and the deals they can know of."""

    look: Look
    until: int

    @property
    def where(self) -> dict[str, Any]:
        """The filter for the run's rows."""
        return in_run(self.look.run.pk)

    @property
    def end_minute(self) -> int:
        """The first minute that is not seen any more."""
        return (self.until + 1) * MINUTES_PER_DAY

    def names(self) -> dict[int, str]:
        """The firms that are looked at, by key."""
        return {firm.pk: firm.name for firm in firms_looked_at(self.look)}

    def day_by_then(self, minute: int | None) -> int | None:
        """The first evening that found something at its end, if that had come by then.

        What arrives after the last evening, which saw it on its way, is booked at its closing (RULES.md section 3).
        """
        if minute is None or minute >= self.end_minute:
            return None
        return (minute + MINUTES_PER_DAY - CLOSING_MINUTE) // MINUTES_PER_DAY

    def acts(self, texts_after: int | None = None) -> list[Act]:
        """Every turn in order; arguments and the answers of looks, which can be long, only of the days after one."""
        names = self.names()
        turns = Turn.objects.filter(**self.where, day__lte=self.until).order_by("pk")
        texts = () if texts_after is None else texts_of(Q(day__gt=texts_after))
        rows = turns.values_list("firm_id", "day", "tool", "accepted", *texts)
        return [Act(names[firm], *rest) for firm, *rest in rows if firm in names]

    def evenings(self) -> list[Evening]:
        """Every evening in order; a bankrupt firm's net income is its frozen score (RULES.md section 9)."""
        firms = {firm.pk: firm for firm in firms_looked_at(self.look)}
        columns = ("firm_id", "day", "cash_micros", "net_income_micros", "revenue_micros", "stock_kg")
        rows = DayEnd.objects.filter(**self.where, day__lte=self.until).order_by("pk").values_list(*columns)
        return [
            Evening(
                firms[key].name,
                day,
                cash,
                net_income
                if firms[key].bankrupt_day is None or day < firms[key].bankrupt_day
                else firms[key].net_income_micros,
                revenue,
                sum(stock_kg.values()),
            )
            for key, day, cash, net_income, revenue, stock_kg in rows
            if key in firms
        ]

    def trades(self) -> list[Trade]:
        """The deals made by then, in order of acceptance; of the firm as which one looks, its own."""
        names = self.look.names
        known = self.look.of_knower("seller", "buyer")
        deals = Deal.objects.filter(known, **self.where, minute__lt=self.end_minute)
        columns = ("quantity_kg", "total_micros", "cost_micros", "settled_minute", "status")
        rows = deals.order_by("pk").values_list("pk", "minute", "seller_id", "buyer_id", "item", *columns)
        return [
            Trade(
                number_of(key),
                minute // MINUTES_PER_DAY,
                names[seller],
                names[buyer],
                item,
                quantity_kg,
                total,
                cost,
                self.day_by_then(settled),
                self.day_by_then(settled) is not None and status == DELIVERED,
            )
            for key, minute, seller, buyer, item, quantity_kg, total, cost, settled, status in rows
        ]

    def debts(self) -> list[Debt]:
        """The invoices issued by then to the firms that are looked at. One query; two where goods were returned."""
        names = self.names()
        invoices = Invoice.objects.filter(**self.where, debtor__in=names, issued_day__lte=self.until).order_by("pk")
        columns = ("pk", "debtor_id", "principal_micros", "issued_day", "due_day", "settled_minute", "credited_micros")
        rows = list(invoices.values_list(*columns))
        returned = self.credits() if any(credited for *_, credited in rows) else {}
        return [
            Debt(
                number_of(key),
                names[debtor],
                principal,
                issued,
                due,
                self.day_by_then(settled),
                returned.get(number_of(key), ()),
            )
            for key, debtor, principal, issued, due, settled, _ in rows
        ]

    def credits(self) -> dict[int, list[tuple[int, int]]]:
        """What returns took off each invoice by then, by its number: day and micro-dollars. One query."""
        found: dict[int, list[tuple[int, int]]] = {}
        returns = Event.objects.filter(**self.where, kind="shipment_returned", day__lte=self.until).order_by("pk")
        for day, data in returns.values_list("day", "data"):
            found.setdefault(int(data["invoice"][1:]), []).append((day, micros(data["credit"])))
        return found

    def batches(self) -> list[Making]:
        """The batches begun by then."""
        names = self.names()
        rows = Batch.objects.filter(**self.where, minute__lt=self.end_minute).order_by("pk")
        return [
            Making(names[firm], minute // MINUTES_PER_DAY, quantity_kg, self.day_by_then(settled))
            for firm, minute, quantity_kg, settled in rows.values_list(
                "firm_id", "minute", "quantity_kg", "settled_minute"
            )
            if firm in names
        ]

    def outflows(self, *reasons: str) -> list[Outflow]:
        """What the ledger says, for some reasons, of goods that spoiled or were sold in shops."""
        names = self.names()
        rows = Transfer.objects.filter(**self.where, day__lte=self.until, reason__in=reasons).order_by("pk")
        columns = ("firm_id", "day", "reason", "item", "quantity_kg", "amount_micros")
        return [Outflow(names[firm], *rest) for firm, *rest in rows.values_list(*columns) if firm in names]

    def spend_micros(self) -> dict[str, int]:
        """What the firms' models have cost so far, as far as it is known. No query where no model plays."""
        names = self.names()
        if not self.look.run.model_settings:
            return {}
        calls = Call.objects.filter(run=self.look.run, day__lte=self.until).order_by()
        sums = calls.values_list("firm_id").annotate(known=Sum("cost_micros"))
        return {names[firm]: known or 0 for firm, known in sums if firm in names}
