"""The numbers behind any figure, as the rows of a table: made of what is drawn, so that they cannot differ from it.

Lines over days give a row a day and a column a line. Everything else gives a row a point, or a row a sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import unescape
from typing import Any, Final

from dashboards.figures import Figure

SERIES: Final = "Series"
DAY: Final = "Day"
VALUE: Final = "Value"

Trace = dict[str, Any]
Row = dict[str, Any]


def rows_behind(figure: Figure, first: int, until: int) -> list[list[Any]]:
    """Headings, then the rows of what a figure shows of days up to one; sums are added up from the day `first` on."""
    traces, layout = figure["data"], figure.get("layout", {})
    if traces and all(is_level(trace) or is_line_over_days(trace) for trace in traces):
        unit = layout.get("meta", {}).get("unit", "")
        always = [DAY, *(line_title(trace, unit) for trace in traces)]
        return as_table(days_of_lines(traces, unit, until), always)
    titles = (axis_title(layout, "xaxis", "x"), axis_title(layout, "yaxis", "y"))
    rows = [row for trace in traces for row in rows_of_trace(trace, titles, first, until)]
    if rows:
        return as_table(rows)
    return as_table([], always=[heading for trace in traces for heading in columns_of(trace, titles)] or titles)


def as_table(rows: Sequence[Row], always: Sequence[str] = ()) -> list[list[Any]]:
    """Rows that name their cells, under the headings of all of them."""
    headings = list(dict.fromkeys([*always, *(heading for row in rows for heading in row)]))
    return [headings, *([row.get(heading) for heading in headings] for row in rows)]


def axis_title(layout: dict[str, Any], axis: str, otherwise: str) -> str:
    """What an axis counts."""
    title = layout.get(axis, {}).get("title", {})
    text = title.get("text") if isinstance(title, dict) else title
    return plain_text(str(text or otherwise))


def name_of(trace: Trace) -> str:
    """What a trace is called."""
    return plain_text(str(trace.get("name") or trace.get("meta", {}).get("key", "")))


def plain_text(text: str) -> str:
    """A label without the little HTML that plotly.js reads in it."""
    return unescape(text.replace("<br>", " · "))


def plain(value: Any) -> Any:
    """A value; a label without its HTML."""
    return plain_text(value) if isinstance(value, str) else value


def days_in(trace: Trace) -> Sequence[int] | None:
    """The day of each of a trace's points; None where it has none."""
    days = trace.get("meta", {}).get("days")
    found: Sequence[int] | None = trace["x"] if days == "x" else days
    return found


def is_line_over_days(trace: Trace) -> bool:
    """Whether a trace has one amount a day."""
    days, amounts = days_in(trace), trace.get("y", [])
    if days is None or trace.get("type", "scatter") not in ("scatter", "bar"):
        return False
    return list(days) == list(trace["x"]) and len(set(days)) == len(days) == len(amounts)


def is_level(trace: Trace) -> bool:
    """Whether a trace is a reference line of one amount, the same on every day."""
    return bool(trace.get("meta", {}).get("reference")) and len(set(trace["y"])) == 1


def line_title(trace: Trace, unit: str) -> str:
    """What heads a line's column: its name and its unit."""
    return f"{name_of(trace)}, {unit}" if unit else name_of(trace)


def days_of_lines(traces: Sequence[Trace], unit: str, until: int) -> list[Row]:
    """A row a day, with the amount of each line; levels have theirs on every day of the others."""
    by_day: dict[int, Row] = {}
    for trace in traces:
        if not is_level(trace):
            for day, amount in zip(trace["x"], trace["y"], strict=True):
                if day <= until:
                    by_day.setdefault(day, {DAY: day})[line_title(trace, unit)] = amount
    levels = {line_title(trace, unit): trace["y"][0] for trace in traces if is_level(trace)}
    return [{**by_day[day], **levels} for day in sorted(by_day)]


def rows_of_trace(trace: Trace, titles: tuple[str, str], first: int, until: int) -> list[Row]:
    """The rows of one trace."""
    if "sums" in trace.get("meta", {}):
        return rows_of_sums(trace, titles, first, until)
    if trace.get("type") == "heatmap":
        return rows_of_cells(trace, titles, until)
    return rows_of_points(trace, titles, until)


def columns_of(trace: Trace, titles: tuple[str, str]) -> list[str]:
    """The headings of a trace, where it has no row yet to name them."""
    meta = trace.get("meta", {})
    if trace.get("type") != "heatmap" and "sums" not in meta:
        return [SERIES, *titles]
    of_what = meta.get("titles", []) if "labels" in meta else titles[::-1]
    return [*of_what, value_title(trace, titles)]


def rows_of_points(trace: Trace, titles: tuple[str, str], until: int) -> list[Row]:
    """A row a point: its day, where it lies, what is written at it."""
    days = days_in(trace)
    count = len(days if days is not None else trace.get("x") or trace.get("y") or [])
    columns = {titles[0]: trace.get("x"), titles[1]: trace.get("y"), "Text": trace.get("text")}
    shown = {title: values for title, values in columns.items() if isinstance(values, list) and len(values) == count}
    if days is not None:
        shown.pop(DAY, None)  # where a point lies within its day is for the eye
    rows = []
    for index in range(count):
        if days is not None and days[index] > until:
            continue
        row: Row = {SERIES: name_of(trace), DAY: days[index]} if days is not None else {SERIES: name_of(trace)}
        row |= {title: plain(values[index]) for title, values in shown.items()}
        rows.append(row | details(trace, index))
    return rows


def details(trace: Trace, index: int) -> Row:
    """What the figure tells of a point when one points at it."""
    data = trace.get("customdata")
    if not isinstance(data, list) or index >= len(data):
        return {}
    values = data[index] if isinstance(data[index], list) else [data[index]]
    titles = trace.get("meta", {}).get("titles", [])
    return {
        titles[place] if place < len(titles) else f"Detail {place + 1}": plain(value)
        for place, value in enumerate(values)
    }


def rows_of_cells(trace: Trace, titles: tuple[str, str], until: int) -> list[Row]:
    """A row a cell of a heat map."""
    columns, lines = trace.get("x", []), trace.get("y", [])
    days = days_in(trace)
    return [
        {titles[1]: plain(lines[row]), titles[0]: plain(columns[column]), value_title(trace): value}
        for row, values in enumerate(trace.get("z", []))
        for column, value in enumerate(values)
        if value is not None and (days is None or days[column if len(days) == len(columns) else row] <= until)
    ]


def rows_of_sums(trace: Trace, titles: tuple[str, str], first: int, until: int) -> list[Row]:
    """A row for everything that is added up, in the order of its places."""
    totals: dict[int, float] = defaultdict(int)
    for day, index, value in trace["meta"]["sums"]:
        if first <= day <= until:
            totals[index] += value
    return [
        ({SERIES: name_of(trace)} if trace.get("name") else {})
        | place_of(trace, titles, index)
        | {value_title(trace, titles): round(totals[index], 6)}
        for index in sorted(totals)
    ]


def place_of(trace: Trace, titles: tuple[str, str], index: int) -> Row:
    """What a sum is of, in words."""
    meta = trace["meta"]
    if "labels" in meta:
        label = meta["labels"][index]
        names = meta.get("titles", [])
        parts = label if isinstance(label, list | tuple) else [label]
        return {
            names[place] if place < len(names) else f"Of {place + 1}": plain(part) for place, part in enumerate(parts)
        }
    if meta["into"] == "z":
        row, column = divmod(index, meta["columns"])
        return {titles[1]: plain(trace["y"][row]), titles[0]: plain(trace["x"][column])}
    if meta["into"] == "x":
        return {titles[1]: plain(trace["y"][index])}
    return {titles[0]: plain(trace["x"][index])}


def value_title(trace: Trace, titles: tuple[str, str] = ("x", "y")) -> str:
    """What the amounts of a sum or a cell are."""
    meta = trace.get("meta", {})
    if "value" in meta:
        return str(meta["value"])
    return {"x": titles[0], "y": titles[1]}.get(meta.get("into", ""), VALUE)
