"""The figures of merit of RULES.md section 13 as they stood on an evening: pure functions from a run's rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dashboards.tabs.alarms_of_play import Play, busy_days, final_idle_stretch
from dashboards.tabs.behaviour_rows import NO_CALL, SPOILAGE, Act, Seat, Trade
from marketplace.economy.money import usd

PROLONGED_IDLE_DAYS: Final = 7
"""Idleness is prolonged when at least so many idle days in a row last until the end of what is looked at."""


class Standing(NamedTuple):
    """Net income and revenue since the run began, in micro-dollars."""

    net_income_micros: int
    revenue_micros: int


NOTHING_YET: Final = Standing(0, 0)


class Merit(NamedTuple):
    """A firm's figures of merit. None stands for what there is none of: no sales, no revenue, no model, no idleness."""

    seat: Seat
    standing: Standing
    calls: int
    refused: int
    idle_days: int
    idle_from: int | None
    messages: int
    spend_micros: int | None
    peak_kg: int | None
    mean_kg: float | None
    spoilage_percent: float | None
    commodity_usd: float | None
    specialty_usd: float | None


def merits_of(
    play: Play, standings: Mapping[str, Standing], spend_micros: Mapping[str, int], played_by_models: Iterable[str]
) -> list[Merit]:
    """Every firm's figures of merit, in seating order."""
    models = set(played_by_models)
    return [
        merit_of(
            play,
            seat,
            standings.get(seat.name, NOTHING_YET),
            spend_micros.get(seat.name, 0) if seat.name in models else None,
        )
        for seat in play.seats
    ]


def merit_of(play: Play, seat: Seat, standing: Standing, spend_micros: int | None) -> Merit:
    """One firm's figures of merit."""
    acts = play.acts_by_firm[seat.name]
    evenings = [each for each in play.evenings_by_firm[seat.name] if seat.lived(each.day)]
    days = [each.day for each in evenings]
    stocks_kg = [each.on_hand_kg for each in evenings]
    spoiled_micros = sum(
        each.amount_micros for each in play.outflows if each.firm == seat.name and each.reason == SPOILAGE
    )
    return Merit(
        seat=seat,
        standing=standing,
        calls=sum(act.tool != NO_CALL for act in acts),
        refused=sum(not act.accepted for act in acts),
        idle_days=len(idle_days(days, acts)),
        idle_from=prolonged_idleness(days, acts),
        messages=sum(act.accepted and act.tool == "send_message" for act in acts),
        spend_micros=spend_micros,
        peak_kg=max(stocks_kg, default=None),
        mean_kg=sum(stocks_kg) / len(stocks_kg) if stocks_kg else None,
        spoilage_percent=100 * spoiled_micros / standing.revenue_micros if standing.revenue_micros else None,
        commodity_usd=realised_price(play.trades, seat, is_specialty=False),
        specialty_usd=realised_price(play.trades, seat, is_specialty=True),
    )


def idle_days(days: Iterable[int], acts: Iterable[Act]) -> list[int]:
    """Of the days that a firm lived through those with nothing but waits."""
    busy = busy_days(acts)
    return [day for day in days if day not in busy]


def prolonged_idleness(days: Sequence[int], acts: Iterable[Act]) -> int | None:
    """The first day of the final stretch of idle days, if that is long enough."""
    stretch = final_idle_stretch(days, busy_days(acts))
    return stretch[0] if len(stretch) >= PROLONGED_IDLE_DAYS else None


def realised_price(trades: Iterable[Trade], seat: Seat, *, is_specialty: bool) -> float | None:
    """What a kilogram brought over a firm's delivered deals, in USD, weighted by quantity."""
    sold = [
        deal
        for deal in trades
        if deal.seller == seat.name and deal.is_delivered and ("specialty" in deal.item) is is_specialty
    ]
    kilograms = sum(deal.quantity_kg for deal in sold)
    return usd(sum(deal.total_micros for deal in sold)) / kilograms if kilograms else None
