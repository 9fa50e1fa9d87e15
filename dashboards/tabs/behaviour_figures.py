"""The charts of the tab Behaviour: pure functions from a run's rows to what plotly.js draws.

A trace names itself in `meta.key` and gives the day of each point in `meta.days`, so that the page can append to it and
cut it at the day that is looked at. Where each firm has a row of its own the rows share the axis of days.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from dashboards.colours import style_of
from dashboards.figures import Figure, Frame, Measure, label, layout
from dashboards.tabs.behaviour_merit import idle_days
from dashboards.tabs.behaviour_rows import NO_CALL, SPOILAGE, Act, Evening, Making, Outflow, Seat, Trade, grouped
from marketplace.economy.rules import ROLES
from simulation.engine.tools import tools_of

Trace = dict[str, Any]
Points = Mapping[int, float]

REFUSED_COLOURS: Final = ("#B3261E", "#FF948A")
# How much is left free above a row: a share of its height, and at most a share of the chart's.
ROW_GAP, MOST_GAP = 0.2, 0.04
# Above so many plotly.js finds whole ticks by itself.
MANY: Final = 8
BAR_WIDTH: Final = 0.85
TOOLS: Final = tuple(dict.fromkeys(tool for role in ROLES for tool in tools_of(role)))
NO_TOOL, UNKNOWN_TOOL = "no call at all", "no such tool"
TOOL_ROWS: Final = (*TOOLS, NO_TOOL, UNKNOWN_TOOL)
SCALE_LIGHT: Final = [[0, "#FFFFFF"], [0.001, "#F6EAD6"], [0.5, "#C9884B"], [1, "#5E2C0C"]]
SCALE_DARK: Final = [[0, "#1F1A16"], [0.001, "#3A2A1C"], [0.5, "#B26A2E"], [1, "#FFD9A8"]]


def heat_map(
    key: str, rows: Sequence[str], columns: Sequence[str], counts: Mapping[tuple[int, int], int], after: int
) -> Trace:
    """A matrix of counts by day and place, places row by row, which is added up over the days.

    The darkest colour is the highest sum of the whole run, so that a square keeps its colour while its sum is the same.
    """
    totals: Counter[int] = Counter()
    for (_, place), count in counts.items():
        totals[place] += count
    return {
        "type": "heatmap",
        "x": [label(column) for column in columns],
        "y": [label(row) for row in rows],
        "z": [[0] * len(columns) for _ in rows],
        "texttemplate": "%{z:,d}",
        "colorscale": SCALE_LIGHT,
        "zmin": 0,
        "zmax": max(totals.values(), default=1),
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": f"%{{y}}, %{{x}}: %{{z:,d}} {key}<extra></extra>",
        "meta": {
            "key": key,
            "sums": [[day, place, count] for (day, place), count in sorted(counts.items()) if day > after],
            "into": "z",
            "columns": len(columns),
            "value": key.capitalize(),
            "light": {"colorscale": SCALE_LIGHT},
            "dark": {"colorscale": SCALE_DARK},
        },
    }


def matrix_layout(title: str, across: str, down: str) -> dict[str, Any]:
    """Names along both sides, the first row on top."""
    return {
        "title": {"text": label(title)},
        "showlegend": False,
        "margin": {"l": 40, "r": 12, "t": 12, "b": 40},
        "xaxis": {"title": {"text": across, "standoff": 12}, "type": "category", "fixedrange": True, "showgrid": False},
        "yaxis": {
            "title": {"text": down, "standoff": 12},
            "type": "category",
            "autorange": "reversed",
            "fixedrange": True,
            "showgrid": False,
        },
        "shapes": [],
    }


def calls_by_tool(acts: Iterable[Act], frame: Frame, after: int) -> Figure:
    """How often each firm called each tool; names that are no tool's, which a model may make up, are one row."""
    row_of = {tool: row for row, tool in enumerate(TOOL_ROWS)} | {NO_CALL: TOOL_ROWS.index(NO_TOOL)}
    column_of = {firm: column for column, firm in enumerate(frame.firms)}
    unknown = TOOL_ROWS.index(UNKNOWN_TOOL)
    counts = Counter((act.day, row_of.get(act.tool, unknown) * len(column_of) + column_of[act.firm]) for act in acts)
    rows = [tool.replace("_", " ") for tool in TOOL_ROWS]
    return {
        "data": [heat_map("calls", rows, frame.firms, counts, after)],
        "layout": matrix_layout("Calls by tool and firm, refused ones included", "Firm", "Tool"),
    }


def over_days(frame: Frame, title: str, unit: str, most: float = MANY) -> dict[str, Any]:
    """One chart over the days, of bars: these carry no labels at their ends. `most` is the highest one."""
    axis = {"title": {"text": unit}, "tickformat": ",d", "rangemode": "tozero", "zeroline": True}
    if most < MANY:
        axis |= {"dtick": 1}  # or plotly.js would write halves as whole numbers
    chart = {**layout(frame, Measure("", title, "")), "yaxis": axis, "barmode": "stack"}
    # Half a day more on either side, for the whole bars of the first and the last one.
    days = {**chart["xaxis"], "range": [-0.5, frame.days - 0.5]}
    return {**chart, "xaxis": days, "meta": {"axis": "days", "unit": unit}}


def rows_over_days(frame: Frame, title: str, unit: str) -> dict[str, Any]:
    """A row a firm, the first on top, with one axis of days below all of them."""
    chart = over_days(frame, title, unit)
    height = 1 / max(len(frame.firms), 1)
    for row, firm in enumerate(frame.firms, 1):
        top = 1 - (row - 1) * height
        chart[axis_name("yaxis", row)] = {
            "title": {"text": label(firm), "font": {"size": 11}},
            "domain": [round(max(0.0, top - height), 6), round(top - min(height * ROW_GAP, MOST_GAP), 6)],
            "tickformat": ",d",
            "nticks": 3,
            "rangemode": "tozero",
            "zeroline": True,
            "fixedrange": True,
        }
    chart["xaxis"] = {**chart["xaxis"], "anchor": axis_name("y", len(frame.firms))}
    return chart


def axis_name(start: str, row: int) -> str:
    """yaxis, yaxis2, yaxis3: what plotly.js calls the axis of a row, counted from 1."""
    return start if row == 1 else f"{start}{row}"


def bars(
    key: str, name: str, points: Points, after: int, hover: str, colours: tuple[str, str], width: float = BAR_WIDTH
) -> Trace:
    """A bar a day, of a width in days: plotly.js would make it as wide as two days are apart."""
    days = sorted(day for day in points if day > after)
    return {
        "type": "bar",
        "name": label(name),
        "x": days,
        "y": [points[day] for day in days],
        "width": width,
        "marker": {"color": colours[0]},
        "hovertemplate": hover,
        "meta": {"key": key, "days": days, "light": colours[0], "dark": colours[1]},
    }


def days_line(key: str, name: str, points: Points, after: int, hover: str, line: Mapping[str, Any]) -> Trace:
    """A line over the days in a firm's colour; `line` holds its firm, and how it is drawn."""
    style = style_of(line["firm"])
    days = sorted(day for day in points if day > after)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(name),
        "x": days,
        "y": [points[day] for day in days],
        "line": {"color": style.light, "dash": line.get("dash", style.dash), "width": line.get("width", 1.75)},
        "hovertemplate": hover,
        "meta": {"key": key, "firm": line["firm"], "days": days, "light": style.light, "dark": style.dark},
    }


def colours_of(firm: str) -> tuple[str, str]:
    """A firm's colours on light and dark ground."""
    return style_of(firm).light, style_of(firm).dark


def in_row(trace: Trace, row: int) -> Trace:
    """A trace in the row of its firm, counted from 1."""
    return {**trace, "yaxis": axis_name("y", row)}


def counted(acts: Iterable[Act], wanted: Callable[[Act], bool]) -> dict[str, Counter[int]]:
    """By firm, on how many turns of each day something is so."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for act in acts:
        if wanted(act):
            counts[act.firm][act.day] += 1
    return dict(counts)


def calls_by_day(acts: Sequence[Act], frame: Frame, after: int) -> Figure:
    """Accepted and refused calls of each firm, stacked."""
    accepted = counted(acts, lambda act: act.accepted and act.tool != NO_CALL)
    refused = counted(acts, lambda act: not act.accepted)
    data = []
    for row, firm in enumerate(frame.firms, 1):
        for word, counts, colours in (("accepted", accepted, colours_of(firm)), ("refused", refused, REFUSED_COLOURS)):
            name = f"{firm} {word}"
            hover = f"%{{y}} {word}<extra></extra>"
            data.append(in_row(bars(name, name, counts.get(firm, Counter()), after, hover, colours), row))
    return {"data": data, "layout": rows_over_days(frame, "Calls a day by firm; refused ones red, on top", "Calls")}


def messages_by_day(acts: Iterable[Act], frame: Frame, after: int) -> Figure:
    """Messages that each firm sent, stacked."""
    sent = counted(acts, lambda act: act.accepted and act.tool == "send_message")
    data = [
        bars(firm, firm, sent.get(firm, {}), after, f"%{{y}} from {label(firm)}<extra></extra>", colours_of(firm))
        for firm in frame.firms
    ]
    title = "Messages sent a day, by sender"
    return {"data": data, "layout": over_days(frame, title, "Messages", highest(sent.values()))}


def idle_strip(
    acts: Iterable[Act], evenings: Iterable[Evening], seats: Sequence[Seat], frame: Frame, after: int
) -> Figure:
    """A mark for each day on which a firm did nothing but wait."""
    acts_of = grouped(acts)
    evenings_of = grouped(evenings)
    data = []
    for row, seat in enumerate(seats, 1):
        days = [each.day for each in evenings_of.get(seat.name, []) if seat.lived(each.day)]
        marks = dict.fromkeys(idle_days(days, acts_of.get(seat.name, [])), 1)
        hover = f"{label(seat.name)} idle on Day %{{x}}<extra></extra>"
        data.append(in_row(bars(seat.name, seat.name, marks, after, hover, colours_of(seat.name), width=1), row))
    chart = rows_over_days(frame, "Idle days: days with nothing but waits", "idle")
    for row, seat in enumerate(seats, 1):
        axis = {"title": {"text": ""}, "range": [0, 1], "tickvals": [0.5], "ticktext": [label(seat.name)]}
        chart[axis_name("yaxis", row)] |= {**axis, "showgrid": False}
    return {"data": data, "layout": chart}


def stock_against_cap(
    evenings: Iterable[Evening],
    batches: Sequence[Making],
    trades: Sequence[Trade],
    seats: Sequence[Seat],
    frame: Frame,
    after: int,
) -> Figure:
    """What each firm held at a day's end, and with what was on its way to it, below a line at its cap."""
    evenings_of = grouped(evenings)
    chart = rows_over_days(
        frame, "Stock at each day’s end, kg: on hand; dotted, with what is coming; dashed, the cap", "kg"
    )
    data = []
    for row, seat in enumerate(seats, 1):
        on_hand = {each.day: each.on_hand_kg for each in evenings_of.get(seat.name, [])}
        committed = committed_kg(seat.name, on_hand, batches, trades)
        hover = "%{y:,d} kg with what is coming<extra></extra>"
        line = {"firm": seat.name, "dash": "dot", "width": 1.5}
        name = f"{seat.name} committed"
        data.append(in_row(days_line(name, name, committed, after, hover, line), row))
        line = {"firm": seat.name, "dash": "solid", "width": 2}
        name = f"{seat.name} on hand"
        data.append(in_row(days_line(name, name, on_hand, after, "%{y:,d} kg on hand<extra></extra>", line), row))
        chart["shapes"].append(cap_line(seat, row, frame))
        if seat.cap_kg:
            axis = {"range": [0, round(seat.cap_kg * 1.15)], "tickmode": "array", "tickvals": [0, seat.cap_kg]}
            chart[axis_name("yaxis", row)] |= axis
    return {"data": data, "layout": chart}


def committed_kg(firm: str, on_hand: Points, batches: Iterable[Making], trades: Iterable[Trade]) -> dict[int, float]:
    """On hand, own batches not landed and purchases not delivered, at each day's end (RULES.md section 5)."""
    changes: Counter[int] = Counter()
    spans = [(each.day, each.settled_day, each.quantity_kg) for each in batches if each.firm == firm]
    spans += [(each.day, each.settled_day, each.quantity_kg) for each in trades if each.buyer == firm]
    for first_day, settled_day, quantity_kg in spans:
        changes[first_day] += quantity_kg
        if settled_day is not None:
            changes[settled_day] -= quantity_kg
    coming_kg, day_reached, committed = 0, -1, {}
    for day in sorted(on_hand):
        coming_kg += sum(changes[each] for each in range(day_reached + 1, day + 1))
        day_reached = day
        committed[day] = on_hand[day] + coming_kg
    return committed


def cap_line(seat: Seat, row: int, frame: Frame) -> dict[str, Any]:
    """A thin grey line at what a firm can store."""
    return {
        "name": "cap",
        "type": "line",
        "xref": "x",
        "yref": axis_name("y", row),
        "x0": -0.5,
        "x1": frame.days - 0.5,
        "y0": seat.cap_kg,
        "y1": seat.cap_kg,
        "line": {"width": 1, "dash": "dash"},
    }


def spoilage_by_day(outflows: Iterable[Outflow], frame: Frame, after: int) -> Figure:
    """Kilograms that spoiled in each firm's store, stacked."""
    spoiled: dict[str, Counter[int]] = {firm: Counter() for firm in frame.firms}
    for each in outflows:
        if each.reason == SPOILAGE:
            spoiled[each.firm][each.day] += each.quantity_kg
    data = [
        bars(firm, firm, spoiled[firm], after, f"%{{y:,d}} kg of {label(firm)}<extra></extra>", colours_of(firm))
        for firm in frame.firms
    ]
    title = "Spoiled in the evening, by firm, kg"
    return {"data": data, "layout": over_days(frame, title, "kg", highest(spoiled.values()))}


def highest(counts: Iterable[Mapping[int, int]]) -> int:
    """The highest bar where some counts are stacked day by day."""
    total: Counter[int] = Counter()
    for each in counts:
        total.update(each)
    return max(total.values(), default=0)


def days_since_useful(
    acts: Iterable[Act], evenings: Iterable[Evening], seats: Sequence[Seat], frame: Frame, after: int
) -> Figure:
    """How long ago each firm last changed anything, counted from the eve of Day 0 where it never has."""
    useful = counted(acts, lambda act: act.is_useful)
    evenings_of = grouped(evenings)
    data, most = [], 0
    for seat in seats:
        days = [each.day for each in evenings_of.get(seat.name, []) if seat.lived(each.day)]
        points = days_since(days, useful.get(seat.name, {}))
        most = max(most, *points.values(), 0)
        hover = f"%{{y}} days, {label(seat.name)}<extra></extra>"
        data.append(days_line(seat.name, seat.name, points, after, hover, {"firm": seat.name}))
    title = "Days since a useful action: an accepted call that is no look and no wait"
    chart = over_days(frame, title, "Days", most)
    return {"data": data, "layout": {**chart, "meta": {**chart["meta"], "labels": True}}}


def days_since(days: Iterable[int], useful_days: Iterable[int]) -> dict[int, int]:
    """For each of some days in order how many have passed since the last useful one."""
    useful, last, since = set(useful_days), -1, {}
    for day in days:
        last = day if day in useful else last
        since[day] = day - last
    return since
