"""How the page cuts figures at a day, adds up sums and appends what is new, reckoned by hand."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

CALL = "async ([name, ...given]) => (await import('/static/js/run/figure_data.js'))[name](...given)"

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


@pytest.fixture
def call(site: Site, visitor: Page) -> Any:
    """Calls a function of the module in the page."""
    return lambda name, *given: visitor.evaluate(CALL, [name, *given])


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
