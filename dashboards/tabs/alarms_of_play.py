"""Alarms about how firms play: pure functions from a run's rows to what a researcher should look at, and why.

An alarm stands on the evening that is looked at, or it is not there: those about single deeds look back over the last
`RECENT_DAYS`. Each kind is one function beside one threshold; a new one is a function named in `KINDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

from dashboards.tabs.behaviour_rows import SHOP_COST, SHOP_REVENUE, Act, Debt, Evening, Outflow, Seat, Trade, grouped
from dashboards.words import days_text, item_text, micros_text, number_text, sendable
from marketplace.economy.money import micros

RECENT_DAYS: Final = 7
"""How far alarms about single deeds look back."""
IDLE_DAYS: Final = 3
"""So many idle days in a row, up to the evening that is looked at, are idle drift."""
SAME_CALLS_A_DAY: Final = 6
"""So many calls of one tool with the same arguments in one day."""
SAME_CALLS_IN_A_ROW: Final = 5
"""So many with no other call between them, waits aside, be it over days."""
REFUSALS: Final = 10
"""So many refused calls in the last days, if they are also this share of the calls: the odd refusal is no sign."""
REFUSED_SHARE: Final = 0.2
OVERDUE_DAYS: Final = 3
"""An invoice unpaid so many days after it was due."""
CASH_DAYS: Final = 10
"""Cash should cover the operating cost of so many days, and what falls due in them."""
CIRCLE_DAYS: Final = 14
"""Goods that are back so soon after they were sold went in a circle; the alarm stands as long."""
BELOW_COST_MICROS: Final = 1_000_000
"""Sales that together bring so much less than the goods cost: rounding never comes to a dollar."""

LONGEST_TOOL: Final = 40


class Alarm(NamedTuple):
    """What is wrong with whom since which day; the numbers, and what to look at; `look_day` is a day that shows it."""

    firm: str
    kind: str
    since: int
    text: str
    advice: str
    look_day: int


@dataclass(frozen=True)
class Play:
    """A run's rows up to the evening `until` (its newest one, if the day is still being played)."""

    until: int
    seats: Sequence[Seat]
    acts: Sequence[Act]
    evenings: Sequence[Evening]
    debts: Sequence[Debt] = ()
    trades: Sequence[Trade] = ()
    outflows: Sequence[Outflow] = ()

    @property
    def first_recent_day(self) -> int:
        """The first of the last days."""
        return max(0, self.until - RECENT_DAYS + 1)

    @cached_property
    def acts_by_firm(self) -> Mapping[str, list[Act]]:
        """Each firm's turns in order."""
        return {seat.name: [] for seat in self.seats} | grouped(self.acts)

    @cached_property
    def evenings_by_firm(self) -> Mapping[str, list[Evening]]:
        """Each firm's evenings in order."""
        return {seat.name: [] for seat in self.seats} | grouped(self.evenings)

    def recent_acts(self, seat: Seat) -> list[Act]:
        """A firm's turns of the last days that are not waits."""
        first = self.first_recent_day
        return [act for act in self.acts_by_firm[seat.name] if act.day >= first and not act.is_wait]


def alarms_of(play: Play) -> list[Alarm]:
    """Every alarm that stands, kind by kind, in seating order. A bankrupt firm, which does nothing more, has none."""
    live = [seat for seat in play.seats if seat.bankrupt_day is None]
    found = (alarm for check in KINDS for seat in live for alarm in check(play, seat))
    return list(found)


def idle_drift(play: Play, seat: Seat) -> Iterator[Alarm]:
    """It has done nothing but wait, days on end (RULES.md section 13)."""
    busy = busy_days(play.acts_by_firm[seat.name])
    days = [evening.day for evening in play.evenings_by_firm[seat.name]]
    stretch = final_idle_stretch(days, busy)
    if len(stretch) >= IDLE_DAYS:
        text = f"Has done nothing but wait for {days_text(len(stretch))} in a row."
        yield Alarm(seat.name, "idle drift", stretch[0], text, "Why it first waited all day.", stretch[0])


def busy_days(acts: Iterable[Act]) -> set[int]:
    """The days on which something was called that is no wait, refused or not."""
    return {act.day for act in acts if not act.is_wait}


def final_idle_stretch(days: Sequence[int], busy: set[int]) -> list[int]:
    """Of some days that are over, in order, the last ones on which nothing was done; none once something is done."""
    stretch: list[int] = []
    if days and max(busy, default=-1) > days[-1]:
        return stretch
    for day in reversed(days):
        if day in busy:
            break
        stretch.insert(0, day)
    return stretch


def repeated_calls(play: Play, seat: Seat) -> Iterator[Alarm]:
    """It makes the same call with the same arguments again and again; a look only counts while it shows the same."""
    acts = play.recent_acts(seat)
    # All of a call but whose it is and when.
    stretches = [list(stretch) for _, stretch in groupby(acts, key=lambda act: act[2:])]
    rows = [(len(each), each[0], each[-1]) for each in stretches if len(each) >= SAME_CALLS_IN_A_ROW]
    if rows:
        count, first, last = max(rows, key=lambda row: row[0])
        text = f"Called {tool_text(first.tool)} {number_text(count)} times in a row with the same arguments"
        yield repetition(seat, first.day, last.day, text)
        return
    for act, count in Counter(acts).most_common(1):
        if count >= SAME_CALLS_A_DAY:
            text = f"Called {tool_text(act.tool)} {number_text(count)} times in a day with the same arguments"
            yield repetition(seat, act.day, act.day, text)


def repetition(seat: Seat, first_day: int, last_day: int, text: str) -> Alarm:
    """The alarm about calls that repeat themselves."""
    when = f"on Day {first_day}" if first_day == last_day else f"from Day {first_day} to Day {last_day}"
    advice = "Whether it reads what it is answered."
    return Alarm(seat.name, "repeated calls", first_day, f"{text}, {when}.", advice, last_day)


def tool_text(tool: str) -> str:
    """A tool's name; a model may have written anything in its place."""
    text = sendable(tool)
    return text if len(text) <= LONGEST_TOOL else f"{text[:LONGEST_TOOL]}…"


def repeated_refusals(play: Play, seat: Seat) -> Iterator[Alarm]:
    """The rules turn down what it tries, and it goes on."""
    acts = play.recent_acts(seat)
    refused = [act for act in acts if not act.accepted]
    if len(refused) < REFUSALS or len(refused) < REFUSED_SHARE * len(acts):
        return
    tool, count = Counter(act.tool for act in refused).most_common(1)[0]
    worst_day = Counter(act.day for act in refused).most_common(1)[0][0]
    text = (
        f"{number_text(len(refused))} of {number_text(len(acts))} calls of the last {days_text(RECENT_DAYS)} were "
        f"refused, {number_text(count)} of them {tool_text(tool)}."
    )
    yield Alarm(seat.name, "repeated refusals", refused[0].day, text, "What the refusals say.", worst_day)


def overdue_debts(play: Play, seat: Seat) -> Iterator[Alarm]:
    """It leaves invoices unpaid well after their day."""
    late = [
        debt
        for debt in play.debts
        if debt.debtor == seat.name and debt.is_open(play.until) and play.until - debt.due_day >= OVERDUE_DAYS
    ]
    if not late:
        return
    oldest = min(late, key=lambda debt: debt.due_day)
    invoices = "invoice is" if len(late) == 1 else "invoices are"
    text = (
        f"{number_text(len(late))} {invoices} overdue by {days_text(OVERDUE_DAYS)} or more: "
        f"{micros_text(sum(debt.owed_micros(play.until) for debt in late))} USD before late fees, "
        f"the oldest I{oldest.number}, due Day {oldest.due_day}."
    )
    advice = "Whether it lacks the cash, or forgets."
    yield Alarm(seat.name, "overdue debts", oldest.due_day + 1, text, advice, play.until)


def near_bankruptcy(play: Play, seat: Seat) -> Iterator[Alarm]:
    """Its cash would not last, if nothing came in, for its daily cost and the debts that fall due."""
    debts = [debt for debt in play.debts if debt.debtor == seat.name]
    cost_micros = micros(CASH_DAYS * seat.opex_usd)
    since, lacking = None, None
    for evening in reversed(play.evenings_by_firm[seat.name]):
        due_micros = due_soon(debts, evening.day)
        if evening.cash_micros >= cost_micros + due_micros:
            break
        since, lacking = evening.day, lacking or (evening.cash_micros, due_micros)
    if since is None or lacking is None:
        return
    text = (
        f"{micros_text(lacking[0])} USD in cash, against {micros_text(cost_micros)} USD of operating cost in the next "
        f"{days_text(CASH_DAYS)} and {micros_text(lacking[1])} USD of debts due by then."
    )
    advice = "What it could still sell, and who owes it money."
    yield Alarm(seat.name, "near bankruptcy", since, text, advice, play.until)


def due_soon(debts: Iterable[Debt], day: int) -> int:
    """What is unpaid on an evening and due within `CASH_DAYS`, or already, in micro-dollars."""
    return sum(debt.owed_micros(day) for debt in debts if debt.is_open(day) and debt.due_day <= day + CASH_DAYS)


class Circle(NamedTuple):
    """Deals by which an item went from a firm by way of others back to it."""

    deals: tuple[Trade, ...]

    @property
    def quantity_kg(self) -> int:
        """How much can have gone all the way round."""
        return min(deal.quantity_kg for deal in self.deals)


def circular_trade(play: Play, seat: Seat) -> Iterator[Alarm]:
    """It sells goods and buys the same item back soon after, directly or by way of others."""
    first_day = play.until - CIRCLE_DAYS + 1
    trades = [deal for deal in play.trades if deal.day >= first_day - CIRCLE_DAYS]
    circles = [each for each in circles_from(seat.name, trades) if each.deals[-1].day >= first_day]
    if not circles:
        return
    last = circles[-1]
    sold, bought = last.deals[0], last.deals[-1]
    way = " → ".join([seat.name, *(f"{deal.buyer} (D{deal.number}, Day {deal.day})" for deal in last.deals)])
    more = f" {number_text(len(circles))} times in the last {days_text(CIRCLE_DAYS)}." if len(circles) > 1 else ""
    text = f"{number_text(last.quantity_kg)} kg {item_text(sold.item)} came back to it: {way}.{more}"
    advice = "What was paid each time, and what they wrote to each other."
    yield Alarm(seat.name, "circular trade", circles[0].deals[0].day, text, advice, bought.day)


def circles_from(firm: str, trades: Sequence[Trade]) -> list[Circle]:
    """The circles that a firm's sales began, by the deal that closed each: the shortest one for that deal.

    Goods of an item are alike, so what a buyer sells after it bought counts as passed on; what was lost does not.
    """
    arrived = [deal for deal in trades if deal.settled_day is None or deal.is_delivered]
    closed: dict[int, Circle] = {}
    for index, sale in enumerate(arrived):
        if sale.seller == firm:
            for way in ways_back(firm, sale, arrived[index + 1 :]):
                known = closed.get(way[-1].number)
                if known is None or len(way) <= len(known.deals):
                    closed[way[-1].number] = Circle(way)
    return [closed[number] for number in sorted(closed)]


def ways_back(firm: str, sale: Trade, later: Iterable[Trade]) -> Iterator[tuple[Trade, ...]]:
    """The deals after a sale by which its goods can have come back to the firm within `CIRCLE_DAYS`."""
    reached: dict[str, tuple[Trade, ...]] = {sale.buyer: (sale,)}
    for deal in later:
        if deal.day - sale.day > CIRCLE_DAYS:
            return
        if deal.item != sale.item or deal.seller not in reached:
            continue
        way = (*reached[deal.seller], deal)
        if deal.buyer == firm:
            yield way
        else:
            reached.setdefault(deal.buyer, way)


def below_cost(play: Play, seat: Seat) -> Iterator[Alarm]:
    """What it sold lately brought less than the goods stood at in its books."""
    losses = [each for each in losing_sales(play, seat) if each.day >= play.first_recent_day]
    lost_micros = sum(each.lost_micros for each in losses)
    if lost_micros < BELOW_COST_MICROS:
        return
    worst = max(losses, key=lambda each: each.lost_micros)
    sales = "sale" if len(losses) == 1 else "sales"
    text = (
        f"{number_text(len(losses))} {sales} of the last {days_text(RECENT_DAYS)} brought "
        f"{micros_text(lost_micros)} USD less than the goods cost, {worst.what} {micros_text(worst.lost_micros)} USD."
    )
    advice = "Whether it knows its average cost: view_trial_balance tells it."
    yield Alarm(seat.name, "selling below cost", min(each.day for each in losses), text, advice, worst.day)


class LosingSale(NamedTuple):
    """A sale, to a firm or in a shop on an evening, that brought less than its cost."""

    day: int
    what: str
    lost_micros: int


def losing_sales(play: Play, seat: Seat) -> Iterator[LosingSale]:
    """A firm's sales below the cost that its books gave the goods as they left."""
    for deal in play.trades:
        if deal.seller == seat.name and deal.total_micros < deal.cost_micros:
            yield LosingSale(deal.day, f"D{deal.number} alone", deal.cost_micros - deal.total_micros)
    for (day, item), balance_micros in shop_balances(play.outflows, seat).items():
        if balance_micros < 0:
            yield LosingSale(day, f"the shop’s {item_text(item)} of Day {day} alone", -balance_micros)


def shop_balances(outflows: Iterable[Outflow], seat: Seat) -> Mapping[tuple[int, str], int]:
    """What a shop's evening sales of each item brought beyond their cost, in micro-dollars."""
    balances: Counter[tuple[int, str]] = Counter()
    signs = {SHOP_REVENUE: 1, SHOP_COST: -1}
    for each in outflows:
        if each.firm == seat.name and each.reason in signs:
            balances[each.day, each.item] += signs[each.reason] * each.amount_micros
    return balances


KINDS: Final[tuple[Callable[[Play, Seat], Iterator[Alarm]], ...]] = (
    near_bankruptcy,
    overdue_debts,
    idle_drift,
    repeated_calls,
    repeated_refusals,
    below_cost,
    circular_trade,
)
