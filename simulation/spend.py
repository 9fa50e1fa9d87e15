"""What a run's models have cost, and what the rest may cost and when it may end, told from the days played so far.

Costs are counted as the budgets count them: a call whose cost is not known stands for the most it can have cost. Only
reading is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import fmean, linear_regression, median
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max, Q, QuerySet, Sum

from marketplace.economy.money import micros
from marketplace.rows import key_of
from simulation.models import Ask, Call, Run

RECENT_DAYS: Final = 5
TREND_DAYS: Final = 10
FEWEST_FOR_A_TREND: Final = 3
CLEARLY_DEARER: Final = 1.1


class Spend(NamedTuple):
    """What some calls came to."""

    calls: int = 0
    failed: int = 0
    unused: int = 0
    known_micros: int = 0
    unsure_micros: int = 0
    """The most that calls of unknown cost can have cost: budgets count it, a bill may not."""
    unpriced: int = 0
    """Calls of which neither the cost nor its bound is known."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    latency_ms: int = 0

    @property
    def counted_micros(self) -> int:
        """What budgets count."""
        return self.known_micros + self.unsure_micros


class DaySpend(NamedTuple):
    """What a simulated day's calls came to, and when the last of them was over."""

    spend: Spend
    last_at: datetime


def _sums() -> dict[str, Any]:
    """The aggregates of a Spend, in the order of its fields; all of columns that lie before a row's long texts."""
    unknown = Q(cost_micros=None)
    return {
        "n_calls": Count("pk"),
        "n_failed": Count("pk", filter=Q(outcome=Call.Outcome.FAILED)),
        "n_unused": Count("pk", filter=Q(outcome=Call.Outcome.UNUSED)),
        "known": Sum("cost_micros"),
        "unsure": Sum("most_micros", filter=unknown),
        "unpriced": Count("pk", filter=unknown & Q(most_micros=None)),
        "tokens_in": Sum("input_tokens"),
        "tokens_cached": Sum("cached_tokens"),
        "tokens_out": Sum("output_tokens"),
        "tokens_reasoning": Sum("reasoning_tokens"),
        "milliseconds": Sum("latency_ms"),
    }


def _spend(numbers: Iterable[int | None]) -> Spend:
    return Spend(*(number or 0 for number in numbers))


def _calls(run: Run) -> QuerySet[Call]:
    return Call.objects.filter(run=run).order_by()


def spend_by_day(run: Run) -> dict[int, DaySpend]:
    """What each day's calls came to, in order; days without a call are left out. One query."""
    rows = _calls(run).values_list("day").annotate(**_sums(), last=Max("created_at")).order_by("day")
    return {day: DaySpend(_spend(numbers), last_at) for day, *numbers, last_at in rows}


def spend_by_firm(run: Run) -> dict[int, Spend]:
    """What each firm's calls came to, by the firm's key. One query."""
    rows = _calls(run).values_list("firm_id").annotate(**_sums()).order_by("firm_id")
    return {firm: _spend(numbers) for firm, *numbers in rows}


def total_of(spends: Iterable[Spend]) -> Spend:
    """All together."""
    return Spend(*(sum(numbers) for numbers in zip(Spend(), *spends, strict=True)))


def under_way_micros(run: Run) -> int:
    """The most that the calls under way can cost, which budgets count too. One query."""
    waiting = Ask.objects.filter(pk__gt=key_of(run.pk, run.turns), pk__lt=key_of(run.pk + 1, 0))
    return waiting.aggregate(sum=Sum("reserved_micros"))["sum"] or 0


class CostForecast(NamedTuple):
    """What a run may cost in all.

    `likely_micros`: if each day to come costs the mean of the recent ones. `rising_micros`: if days go on getting
    dearer as the last ones did, as they do while conversations grow; the same where no such rise is clear.
    """

    day_micros: int
    likely_micros: int
    rise_micros: int
    rising_micros: int
    budget_day: int | None
    """The day on which the run's budget is reached if days cost what the recent ones did; None if it is not."""


class TimeForecast(NamedTuple):
    """How long a run may still play, pauses not counted, and when that is over if it plays on at once."""

    day_seconds: float
    seconds_left: float
    ends_at: datetime


class Forecast(NamedTuple):
    """How a run may go on, and how many full days that is told from. `cost` is None where a price is unknown."""

    days_left: int
    recent_days: int
    trend_days: int
    cost: CostForecast | None
    time: TimeForecast


def forecast_of(run: Run, days: Mapping[int, DaySpend]) -> Forecast | None:
    """The forecast of a run that has played a full day with models and is not over; None of any other."""
    if run.is_over or run.day < 1 or run.started_at is None or not days:
        return None
    is_priced = not any(day.spend.unpriced for day in days.values())
    return Forecast(
        days_left=run.days - run.day,
        recent_days=min(RECENT_DAYS, run.day),
        trend_days=min(TREND_DAYS, run.day),
        cost=_cost_forecast(run, days) if is_priced else None,
        time=_time_forecast(run, run.started_at, days),
    )


def _cost_forecast(run: Run, days: Mapping[int, DaySpend]) -> CostForecast:
    costs = [days[day].spend.counted_micros if day in days else 0 for day in range(run.day + 1)]
    today = costs.pop()
    day_micros = round(fmean(costs[-RECENT_DAYS:]))
    likely = sum(costs) + max(today, day_micros) + day_micros * (run.days - run.day - 1)
    rise, rising = _rise(costs, run.days)
    if rising <= likely * CLEARLY_DEARER:
        rise, rising = 0, likely
    return CostForecast(day_micros, likely, rise, rising, _budget_day(run, sum(costs), day_micros))


def _rise(costs: Sequence[int], days: int) -> tuple[int, int]:
    """By how much the last days' costs rose a day, and what all days cost together if they go on so."""
    recent = costs[-TREND_DAYS:]
    if len(recent) < FEWEST_FOR_A_TREND:
        return 0, 0
    slope, start = linear_regression(range(len(costs) - len(recent), len(costs)), recent)
    return round(slope), sum(costs) + round(sum(start + slope * day for day in range(len(costs), days)))


def _budget_day(run: Run, spent_micros: int, day_micros: int) -> int | None:
    budget_usd = run.limits.get("budget_usd")
    if budget_usd is None or not day_micros:
        return None
    whole_days = max(0, micros(budget_usd) - spent_micros) // day_micros
    return run.day + whole_days if run.day + whole_days < run.days else None


def _time_forecast(run: Run, started_at: datetime, days: Mapping[int, DaySpend]) -> TimeForecast:
    """A day's time is the median of the recent ones, which one pause does not move; a day without a call took none."""
    ends = [started_at]
    for day in range(run.day):
        ends.append(max(ends[-1], days[day].last_at if day in days else ends[-1]))
    lengths = [(end - start).total_seconds() for start, end in pairwise(ends)]
    day_seconds = median(lengths[-RECENT_DAYS:])
    latest = max(ends[-1], days[run.day].last_at if run.day in days else ends[-1])
    into_today = min(day_seconds, (latest - ends[-1]).total_seconds())
    seconds_left = day_seconds * (run.days - run.day) - into_today
    return TimeForecast(day_seconds, seconds_left, latest + timedelta(seconds=seconds_left))
