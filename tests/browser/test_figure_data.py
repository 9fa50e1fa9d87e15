"""How the page cuts figures at a day, adds up sums, appends what is new and draws bars, reckoned by hand."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

CALL = "async ([file, name, ...given]) => (await import(`/static/js/run/${file}.js`))[name](...given)"

DEALS = {
    "type": "scatter",
    "x": [0, 1, 1, 3],
    "y": [3.5, 3.4, 3.3, 3.6],
    "customdata": [["a", 1], ["b", 2], ["c", 3], ["d", 4]],
    "marker": {"size": [1, 2, 3, 4], "color": "#111111"},
    "meta": {"key": "green", "days": [0, 1, 1, 3], "light": ["#000000"] * 4, "dark": "#ffffff"},
}
FLOWS = {
    "type": "sankey",
    "link": {"source": [0, 0], "target": [1, 2], "value": [0, 0]},
    "meta": {"key": "goods", "into": "link.value", "sums": [[0, 0, 30], [0, 1, 5], [2, 0, 10], [3, 1, 7]]},
}
HEAT = {"type": "heatmap", "z": [[0, 0], [0, 0]], "meta": {"into": "z", "columns": 2, "sums": [[0, 1, 1], [4, 2, 3]]}}


@pytest.fixture(scope="module")
def call(whole_site: Site, browser: Browser) -> Iterator[Any]:
    """Calls a function of one of the page's modules, on one page for all."""
    page = browser.new_page()
    page.goto(f"{whole_site.address}/healthz")
    yield lambda name, *given, file="figure_data": page.evaluate(CALL, [file, name, *given])
    page.close()


def test_every_array_of_the_points_is_cut_at_the_day(call: Any) -> None:
    cut = call("cutTrace", DEALS, 1)
    assert (cut["x"], cut["y"]) == ([0, 1, 1], [3.5, 3.4, 3.3])
    assert cut["customdata"] == [["a", 1], ["b", 2], ["c", 3]]
    assert cut["marker"] == {"size": [1, 2, 3], "color": "#111111"}
    assert call("cutTrace", DEALS, 9) == DEALS


def test_days_in_no_order_are_cut_too(call: Any) -> None:
    trace = {"x": ["p", "q", "r"], "y": [1, 2, 3], "meta": {"days": [4, 0, 2]}}
    assert call("cutTrace", trace, 2)["x"] == ["q", "r"]


def test_days_along_a_heat_map_cut_its_rows(call: Any) -> None:
    trace = {"x": [0, 1, 2], "z": [[1, 2, 3], [4, 5, 6]], "meta": {"days": "x"}}
    assert call("cutTrace", trace, 1)["z"] == [[1, 2], [4, 5]]


@pytest.mark.parametrize(
    ("day", "first", "values"), [(0, 0, [30, 5]), (2, 0, [40, 5]), (9, 0, [40, 12]), (9, 1, [10, 7]), (1, 1, [0, 0])]
)
def test_sums_are_added_up_from_the_first_day_to_the_last(call: Any, day: int, first: int, values: list[int]) -> None:
    assert call("cutTrace", FLOWS, day, first)["link"]["value"] == values


def test_sums_of_a_heat_map_find_their_row_and_column(call: Any) -> None:
    assert call("cutTrace", HEAT, 3)["z"] == [[0, 1], [0, 0]]
    assert call("cutTrace", HEAT, 4)["z"] == [[0, 1], [3, 0]]


def test_a_reference_line_is_never_cut(call: Any) -> None:
    trace = {"x": [0, 9], "y": [5, 5], "meta": {"days": "x", "whole": True}}
    assert call("cutTrace", trace, 3) == trace


def test_what_is_new_takes_the_place_of_an_unfinished_day(call: Any) -> None:
    news = {
        **DEALS,
        "x": [3, 3],
        "y": [3.6, 3.7],
        "customdata": [["d", 4], ["e", 5]],
        "marker": {"size": [4, 5], "color": "#111111"},
        "meta": {"key": "green", "days": [3, 3], "light": ["#000001"] * 2, "dark": "#ffffff"},
    }
    figures = {"prices": {"data": [DEALS], "layout": {"a": 1}}}
    result = call("appended", figures, {"prices": {"data": [news], "layout": {"a": 2}}}, 2)["prices"]
    (trace,) = result["data"]
    assert result["layout"] == {"a": 2}
    assert trace["x"] == [0, 1, 1, 3, 3]
    assert trace["y"] == [3.5, 3.4, 3.3, 3.6, 3.7]
    assert trace["customdata"][-2:] == [["d", 4], ["e", 5]]
    assert trace["marker"]["size"] == [1, 2, 3, 4, 5]
    assert trace["meta"]["days"] == [0, 1, 1, 3, 3]
    assert trace["meta"]["light"] == ["#000000"] * 3 + ["#000001"] * 2


def test_new_sums_follow_the_old_ones_and_new_traces_are_added(call: Any) -> None:
    news = {
        **FLOWS,
        "link": {"source": [0, 0, 1], "target": [1, 2, 2], "value": [0, 0, 0]},
        "meta": {**FLOWS["meta"], "sums": [[3, 1, 8], [3, 2, 1]]},  # type: ignore[dict-item]
    }
    other = {"type": "bar", "x": ["a"], "y": [1], "meta": {"key": "other"}}
    result = call("appended", {"flow": {"data": [FLOWS]}}, {"flow": {"data": [news, other]}}, 2)["flow"]["data"]
    assert result[0]["meta"]["sums"] == [[0, 0, 30], [0, 1, 5], [2, 0, 10], [3, 1, 8], [3, 2, 1]]
    assert result[0]["link"]["target"] == [1, 2, 2]
    assert result[1] == other


def test_a_trace_of_which_nothing_is_new_stays(call: Any) -> None:
    result = call("appended", {"prices": {"data": [DEALS]}}, {"prices": {"data": []}}, 3)
    assert result["prices"]["data"] == [DEALS]


def test_points_are_counted_without_references(call: Any) -> None:
    reference = {"x": [0, 9], "y": [5, 5], "meta": {"reference": True}}
    assert call("pointsIn", {"data": [DEALS, reference]}) == 4
    assert call("pointsIn", {"data": []}) == 0


BARS: dict[str, Any] = {
    "type": "bar",
    "x": [3, 4],
    "width": 0.8,
    "hovertemplate": "%{y:,d} kg",
    "marker": {"color": "#111111"},
}
DAYS: dict[str, Any] = {
    "barmode": "stack",
    "margin": {"l": 64, "r": 24, "t": 12, "b": 40},
    "yaxis": {"title": {"text": "kg"}},
}


def test_bars_on_top_of_each_other_are_one_outline_each_and_say_what_they_are(call: Any) -> None:
    lower, upper = BARS | {"y": [5, 2]}, BARS | {"y": [1, 0]}
    below, below_said, above, above_said = call("outlined", [lower, upper], DAYS, file="bars")
    assert below["x"] == pytest.approx([2.6, 2.6, 3.4, 3.4, 2.6, 2.6, 3.6, 3.6, 4.4, 4.4, 3.6, 3.6])
    assert below["y"] == [0, 5, 5, 0, 0, 0, 0, 2, 2, 0, 0, 0]
    assert above["y"] == [0, 6, 6, 5, 5, 0]  # from the axis up to its place, around, and back; nothing is no bar
    assert (below_said["x"][::2], below_said["y"][::2], below_said["text"][::2]) == ([3, 4], [5, 2], [5, 2])
    assert (above_said["y"][::2], above_said["text"][::2]) == ([6, 2], [1, 0])
    assert above_said["hovertemplate"] == "%{text:,d} kg"


def test_bars_that_a_legend_can_take_away_stay_bars(call: Any) -> None:
    bars = [BARS | {"y": [5, 2]}]
    assert call("outlined", bars, DAYS | {"showlegend": True}, file="bars") == bars


def test_large_amounts_and_long_names_get_the_room_they_take(call: Any) -> None:
    lines = [{"type": "scatter", "y": [1_250_000_000]}]
    matrix = [{"type": "heatmap", "x": ["farmer_A", "farmer_B"], "y": ["view market aggregate"], "z": [[1, 2]]}]
    usual = call("writingAround", DAYS, [{"type": "scatter", "y": [120]}], 800, file="margins")
    assert usual["margin"] == DAYS["margin"] | {"autoexpand": False}
    assert call("writingAround", DAYS, lines, 800, file="margins")["margin"]["l"] > 100
    wide, narrow = (call("writingAround", DAYS, matrix, width, file="margins") for width in (800, 300))
    assert wide["margin"]["l"] == narrow["margin"]["l"] > 140
    assert (wide["tickangle"], narrow["tickangle"]) == (0, -30)
    assert narrow["margin"]["b"] > wide["margin"]["b"]


def test_a_label_leaves_the_top_to_the_name_of_the_festival(call: Any) -> None:
    lines = [{"name": name, "x": [0, 1], "y": [0, 100], "line": {"color": "#66B98A"}, "meta": {}} for name in "AB"]

    def tops(*, is_named_above: bool) -> list[int]:
        look = {"isNarrow": True, "theme": {"ink": "rgb(35, 28, 23)"}, "isNamedAbove": is_named_above}
        return [-note["yshift"] for note in call("labelsOf", lines, [0, 100], 200, look, file="labels")]

    assert tops(is_named_above=False) == [0, 15]
    assert tops(is_named_above=True) == [25, 40]
