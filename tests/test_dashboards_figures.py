"""Figures, tables and words against numbers reckoned by hand."""

import re
from typing import Any

import pytest

from dashboards.books import Evening, days_table, sheet_of
from dashboards.colours import letter_index, style_of
from dashboards.figures import MEASURES, Band, Frame, firms_over_days, label, spark_of
from dashboards.sheets import csv_text
from dashboards.words import item_text, moment_text, number_text, sign_of, usd_text, weekday_of
from simulation.cells import safe_cell

FIRMS = ["farmer_A", "roaster_A", "roaster_B"]


def evening(firm: str, day: int, net_income: int, cash: int = 0) -> Evening:
    stock = 3 * cash  # no sense in it, only to be told apart
    return Evening(firm, day, net_income, cash, 0, 0, inventory_micros=stock, receivables_micros=0, payables_micros=0)


EVENINGS = [
    evening("farmer_A", 0, -25_000_000, 14_940_000_000),
    evening("roaster_A", 0, -30_000_000, 14_970_000_000),
    evening("roaster_B", 0, 1, 15_000_000_000),
    evening("farmer_A", 1, -49_500_000, 14_880_000_000),
    evening("roaster_A", 1, 120_250_000, 15_120_250_000),
]
FRAME = Frame(90, FIRMS, "roaster_A", Band("spring_break", 40, 53))


def lines_by_firm(measure: str) -> dict[str, dict[str, Any]]:
    figure = firms_over_days(EVENINGS, FRAME, MEASURES[measure])
    return {line["meta"]["firm"]: line for line in figure["data"]}


def test_a_line_has_a_point_a_day_in_usd() -> None:
    lines = lines_by_firm("net_income")
    assert (lines["farmer_A"]["x"], lines["farmer_A"]["y"]) == ([0, 1], [-25.0, -49.5])
    assert (lines["roaster_A"]["x"], lines["roaster_A"]["y"]) == ([0, 1], [-30.0, 120.25])
    assert (lines["roaster_B"]["x"], lines["roaster_B"]["y"]) == ([0], [0.000001])


def test_each_measure_draws_its_own_column() -> None:
    assert lines_by_firm("cash")["farmer_A"]["y"] == [14_940.0, 14_880.0]
    assert lines_by_firm("equity")["farmer_A"]["y"] == [0.0, 0.0]
    assert lines_by_firm("inventory")["farmer_A"]["y"] == [44_820.0, 44_640.0]


def test_a_line_says_to_the_page_what_it_is_to_cut_it_and_to_name_it() -> None:
    meta = lines_by_firm("cash")["roaster_A"]["meta"]
    assert (meta["key"], meta["days"], meta["light"], meta["dark"]) == ("roaster_A", "x", "#A4501C", "#EB8B47")


def test_firms_outside_the_frame_are_not_drawn() -> None:
    figure = firms_over_days([*EVENINGS, evening("retailer_A", 0, 5)], FRAME, MEASURES["net_income"])
    assert len(figure["data"]) == 3


def test_the_evaluated_firm_is_drawn_last_and_thicker() -> None:
    figure = firms_over_days(EVENINGS, FRAME, MEASURES["net_income"])
    assert [line["meta"]["firm"] for line in figure["data"]] == ["farmer_A", "roaster_B", "roaster_A"]
    assert [line["line"]["width"] for line in figure["data"]] == [1.75, 1.75, 3.5]


def test_the_festival_is_a_named_band_over_its_whole_days() -> None:
    (band,) = firms_over_days([], FRAME, MEASURES["net_income"])["layout"]["shapes"]
    assert (band["x0"], band["x1"], band["label"]["text"]) == (39.5, 53.5, "spring break")


def test_without_a_festival_there_is_no_band_and_without_evenings_no_point() -> None:
    figure = firms_over_days([], Frame(1, FIRMS, "", None), MEASURES["net_income"])
    assert figure["layout"]["shapes"] == []
    axis = figure["layout"]["xaxis"]
    assert (axis["range"], axis["dtick"]) == ([-0.5, 0.5], 1)  # its one day, once, in the middle
    assert [line["y"] for line in figure["data"]] == [[], [], []]


def test_the_axis_holds_all_days_from_the_start_so_that_nothing_jumps() -> None:
    assert firms_over_days([], FRAME, MEASURES["cash"])["layout"]["xaxis"]["range"] == [0, 89]


@pytest.mark.parametrize(("days", "step"), [(8, 1), (9, None)])
def test_few_days_are_written_one_by_one(days: int, step: int | None) -> None:
    frame = Frame(days, FIRMS, "", None)
    assert firms_over_days([], frame, MEASURES["cash"])["layout"]["xaxis"].get("dtick") == step


def test_labels_are_no_markup() -> None:
    assert label("<b>&amp;</b> 'x'") == "&lt;b&gt;&amp;amp;&lt;/b&gt; 'x'"


@pytest.mark.parametrize(
    ("firm", "light", "dash"),
    [
        ("farmer_A", "#1B7F4B", "solid"),
        ("farmer_B", "#66B98A", "dash"),
        ("roaster_A", "#A4501C", "solid"),
        ("roaster_B", "#DE955A", "dash"),
        ("retailer_A", "#1F5FA8", "solid"),
        ("retailer_B", "#72A9E4", "dash"),
    ],
)
def test_a_firm_has_its_colour_and_line(firm: str, light: str, dash: str) -> None:
    assert style_of(firm).light == light
    assert style_of(firm).dash == dash


def test_more_firms_continue_the_series() -> None:
    styles = [style_of(f"roaster_{letter}") for letter in "ABCDEF"]
    assert len({style.light for style in styles}) == len({style.dark for style in styles}) == 6
    assert len({style.dash for style in styles}) == 6
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for style in styles for colour in style[:2])


@pytest.mark.parametrize(("letters", "index"), [("A", 0), ("Z", 25), ("AA", 26), ("XB", 625), ("", 0), ("<", 0)])
def test_letters_count_from_nothing(letters: str, index: int) -> None:
    assert letter_index(letters) == index


def test_a_spark_always_holds_zero() -> None:
    spark = spark_of([0.0, -10.0, 10.0])
    assert spark is not None
    assert spark.points == "0.0,12.0 48.0,23.0 96.0,1.0"  # 1 px of air above and below
    assert spark.zero == 12.0


def test_a_spark_of_gains_alone_stands_on_zero() -> None:
    spark = spark_of([5.0, 10.0])
    assert spark is not None
    assert (spark.points, spark.zero) == ("0.0,12.0 96.0,1.0", 23.0)


@pytest.mark.parametrize("amounts", [[], [1.0]])
def test_a_spark_needs_two_amounts(amounts: list[float]) -> None:
    assert spark_of(amounts) is None


def test_a_spark_of_nothing_but_zeros_is_flat() -> None:
    spark = spark_of([0.0, 0.0])
    assert spark is not None
    assert spark.points == "0.0,1.0 96.0,1.0"


def test_the_table_has_a_row_a_day_and_a_gap_where_there_are_no_books() -> None:
    rows = days_table(EVENINGS, FIRMS, "net_income_micros")
    assert [tuple(row) for row in rows] == [(0, [-25.0, -30.0, 0.000001]), (1, [-49.5, 120.25, None])]


def test_the_sheet_names_units_and_has_a_row_a_firm_and_day() -> None:
    rows = sheet_of(EVENINGS[:1])
    assert rows[0][:4] == ["day", "firm", "net_income_usd", "cash_usd"]
    assert rows[1][:4] == [0, "farmer_A", -25.0, 14_940.0]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", '=HYPERLINK("http://x")', " =1", "\n=1", "\uff1d1", "'=1"]
)
def test_a_formula_in_a_cell_is_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["roaster_A", "", "a=b", -2764.68, 3, None])
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert safe_cell(value) == value


def test_a_sheet_keeps_negative_numbers_as_numbers() -> None:
    assert csv_text([["=x", -1.5]]) == "'=x,-1.5\r\n"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (1234.5, "1,234.50"),
        (-12, "−12.00"),
        (0, "0.00"),
        (-0.001, "0.00"),
        (-0.005001, "−0.01"),
        (1e9, "1,000,000,000.00"),
    ],
)
def test_amounts_are_grouped_and_signed_by_a_true_minus(amount: float, text: str) -> None:
    assert usd_text(amount) == text


def test_whole_numbers_are_grouped() -> None:
    assert number_text(12_000) == "12,000"


@pytest.mark.parametrize(
    ("amount_micros", "sign"), [(5_000, "even"), (5_001, "gain"), (-4_999, "even"), (-5_001, "loss")]
)
def test_the_sign_is_that_of_the_cents_shown(amount_micros: int, sign: str) -> None:
    assert sign_of(amount_micros) == sign


def test_a_moment_is_a_day_a_weekday_and_a_time() -> None:
    assert moment_text(0) == "Day 0 · Mon 00:00"
    assert moment_text(11 * 1440 + 14 * 60 + 30) == "Day 11 · Fri 14:30"
    assert weekday_of(7 * 1440 + 540) == "Mon"


@pytest.mark.parametrize(
    ("item", "text"), [("green_coffee_kg", "green coffee"), ("roasted_specialty_kg", "◆ roasted specialty")]
)
def test_a_specialty_carries_a_diamond(item: str, text: str) -> None:
    assert item_text(item) == text
