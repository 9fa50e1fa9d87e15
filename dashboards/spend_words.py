"""What a run's models cost and may cost yet, in words: for the header of a run's page and for the page of its spend."""

from __future__ import annotations

from typing import Any

from dashboards.words import days_text, duration_text, micros_text, number_text, small_usd_text, usd_text
from marketplace.economy.money import MICROS_PER_USD, usd
from simulation.models import Run
from simulation.spend import CostForecast, Forecast, Spend, TimeForecast, forecast_of, spend_by_day, total_of


def spend_state(run: Run) -> dict[str, Any]:
    """What the header says of a run's models, in words. One query."""
    days = spend_by_day(run)
    total = total_of(day.spend for day in days.values())
    forecast = forecast_of(run, days)
    return {
        "spent": spent_text(run, total),
        "percent": percent_of_budget(run, total),
        "note": uncertainty_of(total),
        "forecast": glance_text(forecast.cost) if forecast and forecast.cost else "",
        "left": f"{duration_text(forecast.time.seconds_left)} of play left" if forecast else "",
        "ends": forecast.time.ends_at.isoformat() if forecast and run.status == Run.Status.RUNNING else None,
        "warning": warning_of(run, forecast),
    }


def spent_text(run: Run, total: Spend) -> str:
    """112.40 of 250.00 USD."""
    budget_usd = run.limits.get("budget_usd")
    of_budget = "" if budget_usd is None else f" of {usd_text(budget_usd)}"
    at_least = "at least " if total.unpriced else ""
    return f"{at_least}{micros_text(total.counted_micros)}{of_budget} USD"


def percent_of_budget(run: Run, total: Spend) -> float | None:
    """How much of the run's budget is spent; None without one."""
    budget_usd = run.limits.get("budget_usd")
    if not budget_usd:
        return None
    return min(100.0, round(100 * usd(total.counted_micros) / float(budget_usd), 1))


def uncertainty_of(total: Spend) -> str:
    """What is not known for sure about a sum."""
    parts = []
    if total.unpriced:
        parts.append(f"{number_text(total.unpriced)} calls have no known price")
    if total.unsure_micros:
        parts.append(
            f"{micros_text(total.unsure_micros)} USD of it for calls without an answer, which may not be billed"
        )
    return "; ".join(parts)


def glance_text(cost: CostForecast) -> str:
    """About 245–290 in all: whole dollars, unless there are few."""
    decimals = 0 if cost.likely_micros >= 10 * MICROS_PER_USD else 2
    ends = (number_text(usd(amount), decimals) for amount in (cost.likely_micros, cost.rising_micros))
    return f"about {'–'.join(dict.fromkeys(ends))} in all"


def range_text(cost: CostForecast) -> str:
    """245.10, or 245.10–290.40 where days get dearer."""
    ends = dict.fromkeys((micros_text(cost.likely_micros), micros_text(cost.rising_micros)))
    return "–".join(ends)


def warning_of(run: Run, forecast: Forecast | None) -> str:
    """Whether the money will not last."""
    if forecast is None or forecast.cost is None or forecast.cost.budget_day is None:
        return ""
    return f"at this rate the budget lasts until Day {forecast.cost.budget_day} of {run.days}"


def reasons_of(run: Run, forecast: Forecast) -> list[str]:
    """What the forecast is based on, in sentences."""
    are, their = ("is", "its") if forecast.days_left == 1 else ("are", "their")
    sentences = [f"{days_text(forecast.days_left)} of {run.days} {are} still to be played to {their} end."]
    if forecast.cost:
        sentences += cost_reasons(forecast.cost, forecast.recent_days, forecast.trend_days)
    else:
        sentences.append("The price of some calls is not known, so the cost cannot be told.")
    return [*sentences, time_reason(forecast.time, forecast.recent_days)]


def time_reason(time: TimeForecast, recent_days: int) -> str:
    """What the forecast of the time is based on."""
    recent = f"Of the last {days_text(recent_days)} played in full the middle one"
    took = f"{recent if recent_days > 1 else 'The one day played in full'} took {duration_text(time.day_seconds)}"
    return f"{took}: {duration_text(time.seconds_left)} of play are left. Pauses come on top."


def cost_reasons(cost: CostForecast, recent_days: int, trend_days: int) -> list[str]:
    """What the forecast of the cost is based on."""
    day = f"{micros_text(cost.day_micros)} USD"
    rate = f"The last {days_text(recent_days)} played in full cost {day} each, on average."
    if recent_days == 1:
        rate = f"The one day played in full cost {day}."
    sentences = [f"{rate} If the days to come do too, the run costs {micros_text(cost.likely_micros)} USD in all."]
    if cost.rise_micros:
        sentences.append(
            f"Over the last {days_text(trend_days)} each day cost {small_usd_text(cost.rise_micros)} USD more than the "
            "one before, as conversations grow. If that goes on to the end, which summaries of them usually prevent, "
            f"it costs {micros_text(cost.rising_micros)} USD in all."
        )
    return sentences
