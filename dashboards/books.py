"""The books at each day's end, as figures, tables and sheets want them: one query for a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dashboards.tape import EventRow, Filter, rows_before
from marketplace.economy.money import micros, usd
from marketplace.models import Firm
from marketplace.rows import in_run
from simulation.models import DayEnd, Run

# A chart with more lines, or a page with more cards, tells nobody anything: larger runs show these many firms.
MOST_FIRMS_SHOWN: Final = 24


class Evening(NamedTuple):
    """A firm's books after one evening, in micro-dollars."""

    firm: str
    day: int
    net_income_micros: int
    cash_micros: int
    equity_micros: int
    revenue_micros: int
    inventory_micros: int
    receivables_micros: int
    payables_micros: int
    stock_kg: Mapping[str, int] = MappingProxyType({})

    def amounts(self) -> tuple[int, ...]:
        """The amounts, in micro-dollars and in the order of `AMOUNTS`."""
        return tuple(getattr(self, name) for name in AMOUNTS)


AMOUNTS: Final = Evening._fields[2:-1]


def evenings_of(run: Run, firms: Sequence[Firm], end: EventRow | None) -> list[Evening]:
    """Every evening of some firms, day by day in seating order, and how they stood when the run ended. One query.

    A bankrupt firm's net income is its frozen score, as on the tape, although its ledger goes on (RULES.md section 9).
    `end` is the run's last event: when that is its end, its books replace those of its day, for what arrives after
    the last evening is booked on the last day.
    """
    by_key = {firm.pk: firm for firm in firms}
    rows = DayEnd.objects.filter(**in_run(run.pk)).order_by("pk").values_list("firm_id", "day", *AMOUNTS, "stock_kg")
    evenings = [as_scored(Evening(by_key[row[0]].name, *row[1:]), by_key[row[0]]) for row in rows if row[0] in by_key]
    ending = closing_books(end, firms)
    replaced = {(evening.firm, evening.day) for evening in ending}
    return [*(evening for evening in evenings if (evening.firm, evening.day) not in replaced), *ending]


def as_scored(evening: Evening, firm: Firm) -> Evening:
    """The evening with the net income that counts."""
    if firm.bankrupt_day is None or evening.day < firm.bankrupt_day:
        return evening
    return evening._replace(net_income_micros=firm.net_income_micros)


def since_day(evenings: Iterable[Evening], after: int) -> list[Evening]:
    """Those after a day."""
    return [evening for evening in evenings if evening.day > after]


def closing_books(end: EventRow | None, firms: Sequence[Firm]) -> list[Evening]:
    """The firms' books as the end of a run tells them; none if the event is another."""
    if end is None or end.kind != "run_ended":
        return []
    books = end.data["firms"]
    return [closing_evening(firm.name, end.day, books[firm.name]) for firm in firms if firm.name in books]


def closing_evening(firm: str, day: int, books: Mapping[str, Any]) -> Evening:
    """A firm's books as an event tells them, in USD."""
    amounts = {name: micros(books[name.removesuffix("_micros")]) for name in AMOUNTS}
    return Evening(firm, day, stock_kg=books.get("stock_kg", {}), **amounts)


def last_event(run: Run) -> EventRow | None:
    """A run's newest event. One query."""
    return next(iter(rows_before(run.pk, run.events + 1, Filter(), limit=1)), None)


def shown_firms(firms: Sequence[Firm], evaluated: str) -> list[Firm]:
    """The firms a page shows, in seating order: all, or the evaluated one and the first of the others."""
    if len(firms) <= MOST_FIRMS_SHOWN:
        return list(firms)
    others = [firm for firm in firms if firm.name != evaluated][: MOST_FIRMS_SHOWN - 1]
    return sorted([*others, *(firm for firm in firms if firm.name == evaluated)], key=lambda firm: firm.pk)


def last_evenings(evenings: Iterable[Evening]) -> dict[str, Evening]:
    """Each firm's newest evening."""
    return {evening.firm: evening for evening in evenings}


class DayRow(NamedTuple):
    """A line of the table behind the chart: a day, and an amount in USD for each firm (None: no books that day)."""

    day: int
    amounts: list[float | None]


def kilograms_of(stock_kg: Mapping[str, int]) -> tuple[int, int]:
    """Plain and specialty goods of a stock, together and in kg."""
    specialty_kg = sum(quantity for item, quantity in stock_kg.items() if "specialty" in item)
    return sum(stock_kg.values()) - specialty_kg, specialty_kg


def days_table(evenings: Iterable[Evening], firms: Sequence[str], measure: str) -> list[DayRow]:
    """The table behind a chart: a row a day, a column a firm, in USD."""
    by_day: dict[int, dict[str, float]] = {}
    for evening in evenings:
        by_day.setdefault(evening.day, {})[evening.firm] = usd(getattr(evening, measure))
    return [DayRow(day, [found.get(firm) for firm in firms]) for day, found in sorted(by_day.items())]


def sheet_of(evenings: Iterable[Evening]) -> list[list[Any]]:
    """The rows of the download: headings, then a row for each firm and day, amounts in USD."""
    headings = ["day", "firm", *(f"{name.removesuffix('_micros')}_usd" for name in AMOUNTS)]
    return [headings, *([each.day, each.firm, *map(usd, each.amounts())] for each in evenings)]
