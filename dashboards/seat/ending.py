"""How it ended: the firm's own result, where its money came from and went, and what scripts made of the same seat."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from dashboards import words
from dashboards.seat.access import firm_title
from simulation.models import Seat
from simulation.seats import door
from simulation.seats.comparison import Comparison
from simulation.studies.verbs import next_step_url

Told = dict[str, Any]

CAME: tuple[tuple[str, str], ...] = (("revenue", "Sales"), ("interest_revenue", "Late fees from others"))
WENT: tuple[tuple[str, str], ...] = (
    ("cost_of_goods_sold", "Cost of goods sold"),
    ("rent_and_utilities", "Daily operating cost"),
    ("returns", "Returns from buyers"),
    ("spoilage", "Stale stock"),
    ("other_operating", "Lost shipments, bad debt, losses on returns"),
    ("interest_expense", "Late fees to others"),
)
WIDTH, HEIGHT = 640.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 160.0, 12.0, 26.0


class Part(NamedTuple):
    """A line of where money came from or went, and its share of the largest line in per cent."""

    name: str
    amount: str
    share: float


class Line(NamedTuple):
    """A line of the chart: its name, its points as SVG has them, and where its end is."""

    name: str
    kind: str
    points: str
    label_y: float
    end: str


class Chart(NamedTuple):
    """Net income over days, drawn as SVG: lines, and the marks of both axes."""

    lines: list[Line]
    amounts: list[tuple[float, str]]
    days: list[tuple[float, str]]
    table: list[list[str]]
    zero_y: float


def ending_of(seat: Seat) -> Told:
    """What the page after the last day shows at once."""
    books = door.books(seat)
    statement = books["income_statement"]
    state = door.state(seat)
    largest = max(1.0, *(abs(statement[key]) for key, _ in (*CAME, *WENT)))
    return {
        "state": state,
        "net_income": words.usd_text(books["net_income"]),
        "is_loss": round(books["net_income"], 2) < 0,
        "came": _parts(statement, CAME, largest),
        "went": _parts(statement, WENT, largest),
        "figures": _figures(books),
        "next_url": next_step_url(seat),
        "notes": seat.notes,
        "days": range(seat.run.day, -1, -1) if state["last_turn"] else (),
    }


def _parts(statement: dict[str, float], names: tuple[tuple[str, str], ...], largest: float) -> list[Part]:
    """The lines that are not nothing, the largest first."""
    found = sorted(((statement[key], name) for key, name in names if round(statement[key], 2)), reverse=True)
    return [Part(name, words.usd_text(amount), 100 * abs(amount) / largest) for amount, name in found]


def _figures(books: Told) -> list[tuple[str, str]]:
    figures = [
        ("Cash at the end, USD", words.usd_text(books["cash"])),
        ("Revenue, USD", words.usd_text(books["revenue"])),
        ("Actions", words.number_text(books["calls"])),
        ("Refused actions", words.number_text(books["refused_calls"])),
        ("Days without an action", words.number_text(books["idle_days"])),
    ]
    if books["bankrupt_day"] is not None:
        figures.append(("Bankrupt on", f"Day {books['bankrupt_day']}"))
    return figures


def comparison_of(seat: Seat, comparison: Comparison) -> Told:
    """The firm beside the scripts in its own place, on the same days."""
    own: list[tuple[int, float]] = [(day, amount) for day, amount in door.books(seat)["net_income_by_day"]]
    last_day = own[-1][0] if own else 0
    series = [(firm_title(seat.firm.name), "own", own)]
    for played in comparison.played:
        days = [(day, amount) for day, amount in played.net_income_by_day if day <= last_day]
        series.append((kind_title(played.kind), "passive" if played.kind == "passive" else "script", days))
    rows = [(name, kind, points[-1][1] if points else 0.0) for name, kind, points in series]
    return {
        "rows": [
            (name, kind, words.usd_text(amount), "" if kind == "own" else difference_text(rows[0][2] - amount))
            for name, kind, amount in rows
        ],
        "chart": chart_of(series) if len(own) > 1 else None,
        "replaced": comparison.replaced,
        "last_day": last_day,
        "is_whole": last_day == seat.run.days - 1,
    }


def difference_text(amount: float) -> str:
    """How much more or less the firm itself earned."""
    if not round(amount, 2):
        return "the same as yours"
    return f"you earned {words.usd_text(abs(amount))} {'more' if amount > 0 else 'less'}"


def kind_title(kind: str) -> str:
    """A script as people call it."""
    return "Always waiting" if kind == "passive" else kind.replace("_", " ").title().replace(" ", "")


def chart_of(series: list[tuple[str, str, list[tuple[int, float]]]]) -> Chart:
    """The lines over days, on axes whose marks are round numbers."""
    amounts = [amount for _, _, points in series for _, amount in points]
    last_day = max(1, *(day for _, _, points in series for day, _ in points))
    marks = round_marks(min(0.0, *amounts), max(0.0, *amounts))
    low, high = marks[0], marks[-1]

    def across(day: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * day / last_day, 1)

    def down(amount: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - amount) / (high - low), 1)

    ends = spread([down(points[-1][1]) if points else 0.0 for _, _, points in series], lowest=HEIGHT - BOTTOM)
    lines = [
        Line(
            name,
            kind,
            " ".join(f"{across(day)},{down(amount)}" for day, amount in points),
            ends[place],
            words.dollars_text(points[-1][1]) if points else "",
        )
        for place, (name, kind, points) in enumerate(series)
    ]
    step = max(1, round(last_day / 6))
    by_day = [dict(points) for _, _, points in series]
    table = [
        [str(day), *(words.usd_text(points[day]) if day in points else "–" for points in by_day)]
        for day in range(last_day + 1)
    ]
    return Chart(
        lines,
        [(down(mark), words.dollars_text(mark)) for mark in marks],
        [(across(day), str(day)) for day in range(0, last_day + 1, step)],
        table,
        down(0.0),
    )


def round_marks(low: float, high: float) -> list[float]:
    """Four to seven round numbers that hold a range."""
    span = max(high - low, 1.0)
    power = 1.0
    while span / power > 50:
        power *= 10
    size = next(size for size in (power, 2 * power, 5 * power, 10 * power) if span / size <= 6)
    first = int(low // size)
    last = int(-(-high // size))
    return [size * place for place in range(first, max(last, first + 1) + 1)]


def spread(heights: list[float], *, lowest: float, apart: float = 15.0) -> list[float]:
    """The same heights, moved so far that labels at them do not overlap, and none lies below the lowest."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    placed = list(heights)
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + apart)
    placed[order[-1]] = min(placed[order[-1]], lowest)
    for before, after in reversed(list(pairwise(order))):
        placed[before] = min(placed[before], placed[after] - apart)
    return placed
