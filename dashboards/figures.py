"""Figures: pure functions from rows to what plotly.js draws.

A figure says what is drawn: the lines, their colours, the festival's band. The page's script goes on from there: it
appends days as they end, picks the colours of the theme, and places the labels at the line ends, which needs pixels.
Colours are `#rrggbb`, since plotly.js draws others silently in its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from dashboards.books import Evening
from dashboards.colours import style_of
from marketplace.economy.money import usd

Figure = dict[str, Any]

FEW_DAYS: Final = 8
"""On an axis of at most so many every one is written."""


class Measure(NamedTuple):
    """A figure of the books that is drawn over the days."""

    column: str
    title: str
    switch: str


MEASURES: Final = {
    "net_income": Measure("net_income_micros", "Net income by firm since the run began, USD", "Net income"),
    "cash": Measure("cash_micros", "Cash by firm at each day’s end, USD", "Cash"),
    "equity": Measure("equity_micros", "Equity by firm at each day’s end, USD", "Equity"),
    "inventory": Measure("inventory_micros", "Stock by firm at each day’s end, at cost, USD", "Stock"),
}


class Band(NamedTuple):
    """Days, first to last, that a chart marks."""

    name: str
    first_day: int
    last_day: int


class Frame(NamedTuple):
    """What a chart over days is drawn in: how many days, which of them are marked, who is looked at."""

    days: int
    firms: Sequence[str]
    evaluated: str
    festival: Band | None


def label(text: str) -> str:
    """Text for plotly.js, which reads a little HTML in every label."""
    return escape(text, quote=False)


def firms_over_days(evenings: Iterable[Evening], frame: Frame, measure: Measure) -> Figure:
    """A line a firm over the days, in USD; the evaluated firm's is thicker and drawn last, above the others."""
    series: dict[str, tuple[list[int], list[float]]] = {firm: ([], []) for firm in frame.firms}
    for evening in evenings:
        if evening.firm in series:
            days, amounts = series[evening.firm]
            days.append(evening.day)
            amounts.append(usd(getattr(evening, measure.column)))
    order = sorted(frame.firms, key=lambda firm: firm == frame.evaluated)
    return {
        "data": [line(firm, *series[firm], is_evaluated=firm == frame.evaluated) for firm in order],
        "layout": layout(frame, measure),
    }


def line(firm: str, days: list[int], amounts: list[float], *, is_evaluated: bool) -> dict[str, Any]:
    """One firm's line. `meta` is for the page's script: whose it is, and its colour in either theme."""
    style = style_of(firm)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(firm),
        "x": days,
        "y": amounts,
        "line": {"color": style.light, "dash": style.dash, "width": 3.5 if is_evaluated else 1.75},
        "hovertemplate": "%{y:,.2f} USD",
        "meta": {
            "key": firm,
            "days": "x",
            "firm": firm,
            "light": style.light,
            "dark": style.dark,
            "evaluated": is_evaluated,
        },
    }


def days_axis(days: int) -> dict[str, Any]:
    """The axis of a run's days; a single one stands in the middle."""
    axis = {
        "title": {"text": "Day"},
        "range": [0, days - 1] if days > 1 else [-0.5, 0.5],
        "zeroline": False,
        "unifiedhovertitle": {"text": "Day %{x}"},
    }
    # Where days are few plotly.js would write parts of them, rounded: 0 0 0 1 1 1.
    return axis | {"dtick": 1} if days <= FEW_DAYS else axis


def layout(frame: Frame, measure: Measure) -> dict[str, Any]:
    """Axes of fixed days, so that nothing jumps while lines grow, and the festival's band."""
    return {
        "title": {"text": label(measure.title)},
        "meta": {"axis": "days", "labels": True, "unit": "USD"},
        "showlegend": False,
        "hovermode": "x unified",
        "dragmode": "zoom",
        "margin": {"l": 64, "r": 24, "t": 12, "b": 40},
        "xaxis": days_axis(frame.days),
        "yaxis": {"title": {"text": "USD"}, "tickformat": ",.0f", "zeroline": True, "zerolinewidth": 1.5},
        "shapes": [festival_band(frame.festival)] if frame.festival else [],
    }


def festival_band(festival: Band) -> dict[str, Any]:
    """A pale band from the morning of the first day to the evening of the last, with its name at the top."""
    return {
        "name": "festival",
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": festival.first_day - 0.5,
        "x1": festival.last_day + 0.5,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": "#F3E7D3",
        "label": {"text": label(festival.name.replace("_", " ")), "textposition": "top center", "font": {"size": 11}},
    }


SPARK_WIDTH: Final = 96
SPARK_HEIGHT: Final = 24


class Spark(NamedTuple):
    """A small line: the points of an SVG polyline, and the height of its zero line."""

    points: str
    zero: float


def spark_of(amounts: Sequence[float]) -> Spark | None:
    """A small line of some amounts, drawn in a box of 96 × 24 that always holds zero; None below two amounts."""
    if len(amounts) < 2:
        return None
    low, high = min(0.0, *amounts), max(0.0, *amounts)
    span = (high - low) or 1.0
    step = SPARK_WIDTH / (len(amounts) - 1)

    def height(amount: float) -> float:
        return round(1 + (high - amount) / span * (SPARK_HEIGHT - 2), 1)

    points = " ".join(f"{index * step:.1f},{height(amount)}" for index, amount in enumerate(amounts))
    return Spark(points, height(0.0))
