"""The run's page by parts: tabs as of a day and as a firm knew it, numbers behind figures, what doing nothing costs."""

import csv
import io
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.books import Evening, evenings_of, last_event
from dashboards.cards import evenings_on_cards
from dashboards.figure_rows import rows_behind
from dashboards.kept_answers import KeptAnswers
from dashboards.passive import MOST_FIRM_DAYS, passive_of
from dashboards.snapshot import firms_of
from dashboards.tabs import TABS, overview
from dashboards.tabs.overview_figures import HEADROOM_USD
from dashboards.tabs_views import look_at
from marketplace.economy.money import usd
from marketplace.models import Firm
from simulation.engine.scenario import scenario_from
from simulation.models import Event, Run, Turn
from tests.rows import FORMULA, SCRIPT, LittleRun
from tests.small_runs import add_event, end_day, make_run
from tests.wild_runs import wild_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
RUN_AND_FIRMS = 2
MOST_QUERIES_OF_A_TAB = 6


def played(days: int = 4) -> Run:
    """A run of some evenings: on day N farmer_A has −10 × N."""
    run = make_run()
    for day in range(days):
        end_day(run, day, {"farmer_A": -10.0 * day})
    return run


def lines_of(figure: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["meta"]["key"]: line for line in figure["data"]}


# What is asked


@pytest.mark.parametrize(
    ("query", "until", "is_live"),
    [("", 3, True), ("day=1", 1, False), ("day=0", 0, False), ("day=3", 3, False), ("day=99", 3, True)],
)
def test_a_look_is_at_a_day_or_at_the_present(query: str, until: int, is_live: bool) -> None:
    run = played()
    look = look_at(run, firms_of(run), QueryDict(query))
    assert (look.until, look.is_live) == (until, is_live)


NONSENSE = ("day=x", "day=-1", "day=1e9", "day=9999999999", "day=%C2%B2", "as=nobody", "as=%00", "after=x")


@pytest.mark.parametrize("query", NONSENSE)
@pytest.mark.parametrize(
    "address", ["", "tape/", "tabs/overview/", "tabs/overview/figures.json", "tabs/overview/cash.csv"]
)
def test_a_look_that_makes_no_sense_is_refused(staff: Client, address: str, query: str) -> None:
    assert staff.get(f"/runs/{played(1).pk}/{address}?{query}").status_code == 400


@pytest.mark.parametrize(
    "address",
    ["tabs/nothing/", "tabs/nothing/figures.json", "tabs/overview/nothing.csv", "tabs/overview/nothing/table/"],
)
def test_what_is_not_there_is_not_found(staff: Client, address: str) -> None:
    assert staff.get(f"/runs/{played(1).pk}/{address}").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "alarms.json",
        "tabs/overview/",
        "tabs/overview/figures.json",
        "tabs/overview/cash.csv",
        "tabs/overview/cash/table/",
        "delete/",
    ],
)
def test_strangers_see_none_of_it(client: Client, address: str) -> None:
    run = played(1)
    assert client.get(f"/runs/{run.pk}/{address}").status_code == 302
    client.force_login(User.objects.create_user("visitor"))
    assert client.get(f"/runs/{run.pk}/{address}").status_code == 403


# Tabs


@pytest.mark.parametrize("tab", list(TABS))
def test_a_page_that_opens_at_a_tab_costs_at_most_twelve_queries(
    staff: Client, tab: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = LittleRun().run
    for look, most in (("", 12), ("&day=0&as=roaster_A", 13)):  # the lines of the tape that are shown are one more
        with django_assert_max_num_queries(most):
            assert staff.get(f"/runs/{run.pk}/?tab={tab}{look}").status_code == 200


@pytest.mark.parametrize(
    ("query", "is_early"),
    [("tab=market", True), ("tab=market&day=1", True), ("tab=overview", False), ("tab=market&as=roaster_A", False)],
)
def test_a_page_has_its_charts_fetched_while_the_browser_reads_it(staff: Client, query: str, is_early: bool) -> None:
    run = played(2)
    early = f'<link rel="preload" as="fetch" crossorigin href="/runs/{run.pk}/tabs/market/figures.json">'
    assert (early in staff.get(f"/runs/{run.pk}/?{query}").content.decode()) == is_early


@pytest.mark.parametrize("tab", list(TABS))
@pytest.mark.parametrize("what", ["", "figures.json"])
def test_a_tab_costs_few_queries(
    staff: Client, tab: str, what: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = LittleRun().run
    with django_assert_max_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + MOST_QUERIES_OF_A_TAB):
        assert staff.get(f"/runs/{run.pk}/tabs/{tab}/{what}?day=0&as=roaster_A").status_code == 200


@pytest.mark.parametrize("tab", list(TABS))
def test_words_of_firms_are_no_markup_and_no_formula_in_any_tab(staff: Client, tab: str) -> None:
    run = LittleRun().run
    assert SCRIPT not in staff.get(f"/runs/{run.pk}/?tab={tab}").content.decode()
    figures = staff.get(f"/runs/{run.pk}/tabs/{tab}/figures.json").json()
    for name in figures:
        rows = csv.reader(io.StringIO(staff.get(f"/runs/{run.pk}/tabs/{tab}/{name}.csv").content.decode()))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))]
        assert SCRIPT not in staff.get(f"/runs/{run.pk}/tabs/{tab}/{name}/table/").content.decode()


@pytest.mark.parametrize("tab", list(TABS))
def test_every_tab_opens_of_a_run_of_which_nothing_is_there(staff: Client, tab: str) -> None:
    run = Run.objects.create(name="Bare", scenario={}, seed=0, days=90, evaluated="", players={}, status="failed")
    for address in (f"?tab={tab}", f"tabs/{tab}/", f"tabs/{tab}/figures.json"):
        assert staff.get(f"/runs/{run.pk}/{address}").status_code == 200, address


def test_a_firm_knows_its_own_books_alone() -> None:
    run = played()
    look = look_at(run, firms_of(run), QueryDict("as=farmer_A"))
    figure = overview.figures(look)["cash"]
    assert list(lines_of(figure)) == ["farmer_A"]


def test_figures_after_a_day_hold_the_later_ones() -> None:
    run = played()
    look = look_at(run, firms_of(run), QueryDict("after=1"))
    line = lines_of(overview.figures(look)["net_income"])["farmer_A"]
    assert (line["x"], line["y"]) == ([2, 3], [-20.0, -30.0])


def test_figures_that_many_ask_for_are_made_once_and_anew_when_the_run_moves(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = played()
    address = f"/runs/{run.pk}/tabs/overview/figures.json"
    first = staff.get(address).json()
    with django_assert_num_queries(SESSION_AND_USER + RUN_AND_FIRMS):
        assert staff.get(address).json() == first
    end_day(run, 4, {"farmer_A": -1.0})
    assert lines_of(staff.get(address).json()["cash"])["farmer_A"]["x"] == [0, 1, 2, 3, 4]


def test_only_the_newest_answers_are_kept() -> None:
    kept = KeptAnswers(most=2)
    made: list[str] = []

    def answer(text: str) -> str:
        return kept.get(text, lambda: made.append(text) or text)  # type: ignore[func-returns-value]

    assert [answer(text) for text in "abaca"] == list("abaca")
    assert made == ["a", "b", "c"]  # b went when c came, a was asked for in between
    answer("b")
    assert made == ["a", "b", "c", "b"]


def test_the_tape_of_a_day_ends_in_its_evening(staff: Client) -> None:
    run = played()
    page = staff.get(f"/runs/{run.pk}/tape/?day=1").content.decode()
    assert "Day 1 is over" in page
    assert "Day 2 is over" not in page


def test_the_tape_of_a_firm_has_what_it_took_part_in(staff: Client) -> None:
    run = make_run()
    add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg")
    add_event(run, "deal_made", "farmer_B", "roaster_B", item="green_coffee_kg")
    page = staff.get(f"/runs/{run.pk}/tape/?as=roaster_A").content.decode()
    assert ("farmer_A" in page, "farmer_B" in page) == (True, False)


def test_the_tape_of_a_firm_has_what_all_are_told_and_leads_to_no_turn_of_another(staff: Client) -> None:
    run = make_run()
    add_event(run, "listing_posted", "farmer_A", item="green_coffee_kg", listing="L1")
    add_event(run, "listing_posted", "roaster_A", item="roasted_coffee_kg", listing="L2")
    add_event(run, "bankrupt", "retailer_B", day=1)
    add_event(run, "day_ended", day=2)
    page = staff.get(f"/runs/{run.pk}/tape/?as=roaster_A&day=1").content.decode()
    assert ("(L1)" in page, "(L2)" in page, "is bankrupt" in page) == (True, True, False)
    assert re.findall(r"/events/(\d+)/turn/", page) == ["2"]
    assert "is bankrupt" in staff.get(f"/runs/{run.pk}/tape/?as=roaster_A&day=2").content.decode()


def test_the_tape_of_a_firm_tells_no_letter_before_it_is_read_and_no_reason_of_a_return(staff: Client) -> None:
    run = make_run()
    add_event(run, "message_sent", "farmer_A", "roaster_A", message="M1", title="Frost", body="Hands off")
    add_event(run, "shipment_returned", "farmer_A", "roaster_A", item="green_coffee_kg", reason="Mouldy")
    add_event(run, "offer_made", "farmer_A", "roaster_A", item="green_coffee_kg", message="Take it")
    for knower, told in (("farmer_A", [True, True, True]), ("roaster_A", [False, False, True])):
        for address in ("tape/?", "?", "tabs/tape/?"):
            page = staff.get(f"/runs/{run.pk}/{address}as={knower}").content.decode()
            assert "Frost" in page
            assert [words in page for words in ("Hands off", "Mouldy", "Take it")] == told, address
    found = [staff.get(f"/runs/{run.pk}/tabs/tape/?text=mouldy{more}").content for more in ("", "&as=roaster_A")]
    assert [b"tape-row-text" in page for page in found] == [True, False]


@pytest.mark.parametrize("tab", list(TABS))
def test_as_a_firm_knew_it_a_tab_leads_to_its_own_turns_alone_and_to_no_record(staff: Client, tab: str) -> None:
    run = wild_run()
    turns = {turn.number: turn.firm.name for turn in Turn.objects.filter(run=run).select_related("firm")}
    events = {event.number: event.firm_id for event in Event.objects.filter(run=run)}
    own = {firm.name: firm.pk for firm in firms_of(run)}
    for knower in ("farmer_A", "roaster_A"):
        for day in ("", "3"):
            page = staff.get(f"/runs/{run.pk}/tabs/{tab}/?as={knower}&day={day}&within=start").content.decode()
            assert "/admin/" not in page
            assert {turns[int(number)] for number in re.findall(r"/turns/(\d+)/", page)} <= {knower}
            assert {events[int(number)] for number in re.findall(r"/events/(\d+)/turn/", page)} <= {own[knower]}
            assert set(re.findall(r"/firms/(\w+)/", page)) <= {knower}


def test_a_page_opens_as_the_firm_knew_the_run(staff: Client) -> None:
    run = played(4)
    add_event(run, "price_set", "retailer_A", day=3, item="roasted_coffee_kg", price=20)
    add_event(run, "price_set", "farmer_A", day=3, item="green_coffee_kg", price=2)
    incomes = r'data-slot="net_income">([^<]*)<'
    page = staff.get(f"/runs/{run.pk}/?as=farmer_A").content.decode()
    assert re.findall(incomes, page) == ["−30.00", *["–"] * 5]
    assert re.findall(r"/firms/(\w+)/", page) == ["farmer_A"]
    lines = page.split('id="tape-lines"')[1].split("<template")[0]
    assert ("green coffee" in lines, "roasted coffee" in lines) == (True, False)
    assert page.count("Not known to farmer_A") == 5
    assert re.findall(incomes, staff.get(f"/runs/{run.pk}/?as=farmer_A&day=1").content.decode())[0] == "−10.00"


def test_a_page_that_opens_at_a_day_has_the_cards_and_the_tape_of_its_evening(staff: Client) -> None:
    run = played(4)
    Firm.objects.filter(run=run, name="farmer_B").update(bankrupt_day=2)
    early, later = (staff.get(f"/runs/{run.pk}/?day={day}").content.decode() for day in (1, 2))
    assert 'data-slot="net_income">−10.00<' in early
    assert ("Day 1 is over" in early, "Day 2 is over" in early) == (True, False)
    assert ('data-slot="bankrupt">Bankrupt' in early, 'data-slot="bankrupt">Bankrupt' in later) == (False, True)


def test_of_the_evaluated_firm_alone_the_passive_line_is_drawn(staff: Client) -> None:
    run = played()
    for knower, is_drawn in (("roaster_A", True), ("farmer_A", False)):
        figure = staff.get(f"/runs/{run.pk}/tabs/overview/figures.json?as={knower}").json()["net_income"]
        assert ("headroom" in lines_of(figure)) == is_drawn


# Cards


def test_cards_have_every_evening_of_their_firm() -> None:
    run = make_run()
    end_day(run, 0, {"farmer_A": -25.125}, receivables=90.0)
    end_day(run, 1, {"farmer_A": 3.0}, payables=8.0)
    firms = firms_of(run)
    evenings = evenings_of(run, firms, last_event(run))
    evenings[0] = evenings[0]._replace(stock_kg={"green_coffee_kg": 7, "green_specialty_kg": 2})
    assert evenings_on_cards(firms, evenings)["farmer_A"] == {
        "day": [0, 1],
        "net_income": [-25.12, 3.0],
        "cash": [14_974.88, 15_003.0],
        "receivables": [90.0, 0.0],
        "payables": [0.0, 8.0],
        "plain_kg": [7, 0],
        "specialty_kg": [2, 0],
    }


def test_the_books_at_the_end_keep_their_stock() -> None:
    run = make_run(days=1)
    end_day(run, 0, {})
    books = {
        "net_income": 1.0,
        "cash": 2.0,
        "equity": 3.0,
        "revenue": 0,
        "inventory": 0,
        "receivables": 0,
        "payables": 0,
    }
    add_event(run, "run_ended", status="finished", firms={"farmer_A": {**books, "stock_kg": {"green_coffee_kg": 9}}})
    (evening,) = [each for each in evenings_of(run, firms_of(run), last_event(run)) if each.firm == "farmer_A"]
    assert evening == Evening("farmer_A", 0, 1_000_000, 2_000_000, 3_000_000, 0, 0, 0, 0, {"green_coffee_kg": 9})


# What doing nothing costs


def test_a_roaster_that_waits_loses_what_the_rules_say() -> None:
    passive = passive_of(make_run())
    assert passive.days == tuple(range(90))
    assert usd(passive.net_income_micros[-1]) == -2764.68  # RULES.md section 13
    assert usd(passive.net_income_micros[0]) == -30.0  # the first day's rent


@pytest.mark.parametrize(
    "fields", [{"evaluated": ""}, {"evaluated": "nobody_A"}, {"rules_version": "0"}, {"scenario": {"days": "many"}}]
)
def test_where_it_cannot_be_told_there_is_no_such_line(fields: dict[str, Any]) -> None:
    run = make_run()
    for name, value in fields.items():
        setattr(run, name, value)
    assert passive_of(run).days == ()


def test_a_line_that_takes_too_long_to_tell_is_left_out() -> None:
    run = make_run(days=MOST_FIRM_DAYS // 6 + 1)
    assert passive_of(run).days == ()


def test_net_income_is_held_against_doing_nothing_and_the_papers_headroom() -> None:
    run = make_run()
    lines = lines_of(overview.figures(look_at(run, firms_of(run), QueryDict()))["net_income"])
    assert lines["passive"]["y"][-1] == -2764.68
    assert lines["headroom"]["y"] == [HEADROOM_USD, HEADROOM_USD]
    assert lines["headroom"]["meta"]["offScale"]


@pytest.mark.parametrize("settings", [{"days": 89}, {"evaluated": "farmer_A"}, {"late_fee": 0.002}])
def test_other_runs_have_no_headroom_of_the_paper(settings: dict[str, Any]) -> None:
    run = make_run(scenario=scenario_from(settings))
    lines = lines_of(overview.figures(look_at(run, firms_of(run), QueryDict()))["net_income"])
    assert "headroom" not in lines
    assert "passive" in lines


# The numbers behind figures

TITLES = {"xaxis": {"title": {"text": "Day"}}, "yaxis": {"title": {"text": "USD/kg"}}}


def test_lines_over_days_are_a_column_each() -> None:
    lines = [
        {"name": "a &amp; b", "x": [0, 1, 2], "y": [1.5, 2.5, 3.5], "meta": {"days": "x"}},
        {"name": "late", "x": [1], "y": [9.0], "meta": {"days": [1]}},
    ]
    assert rows_behind({"data": lines, "layout": TITLES}, 0, 1) == [
        ["Day", "a & b", "late"],
        [0, 1.5, None],
        [1, 2.5, 9.0],
    ]


def test_points_tell_their_day_and_what_is_said_of_them() -> None:
    points = {
        "name": "green",
        "x": [0, 0, 2],
        "y": [3.5, 3.4, 3.3],
        "customdata": [["D1", 30], ["D2", 20], ["D3", 10]],
        "meta": {"days": [0, 0, 2], "titles": ["Deal"]},
    }
    assert rows_behind({"data": [points], "layout": {"yaxis": TITLES["yaxis"]}}, 0, 1) == [
        ["Series", "Day", "x", "USD/kg", "Deal", "Detail 2"],
        ["green", 0, 0, 3.5, "D1", 30],
        ["green", 0, 0, 3.4, "D2", 20],
    ]


def test_where_in_its_day_a_point_is_drawn_is_not_told_as_its_day() -> None:
    deal = {"name": "green", "x": [11.875], "y": [3.5], "meta": {"days": [12]}}
    figure = {"data": [deal], "layout": TITLES}
    assert rows_behind(figure, 0, 12) == [["Series", "Day", "USD/kg"], ["green", 12, 3.5]]


def test_a_level_has_its_amount_on_every_day_of_the_lines() -> None:
    line = {"name": "shop", "x": [0, 1, 2], "y": [18.0, None, 20.0], "meta": {"days": "x"}}
    level = {"name": "reservation", "x": [-0.5, 89.5], "y": [30, 30], "meta": {"reference": True}}
    figure = {"data": [level, line], "layout": {"meta": {"unit": "USD/kg"}}}
    headings = ["Day", "reservation, USD/kg", "shop, USD/kg"]
    assert rows_behind(figure, 0, 1) == [headings, [0, 30, 18.0], [1, 30, None]]


def test_every_line_over_days_names_its_unit_in_the_sheet(staff: Client) -> None:
    run = wild_run()
    for tab in TABS:
        figures = staff.get(f"/runs/{run.pk}/tabs/{tab}/figures.json").json()
        for name, figure in figures.items():
            headings = rows_behind(figure, 0, run.day)[0]
            assert headings[0] != "Day" or all(", " in heading for heading in headings[1:]), (tab, name, headings)


def test_sums_are_rows_of_what_they_are_of() -> None:
    meta = {
        "into": "link.value",
        "sums": [[0, 0, 30], [1, 1, 5], [2, 0, 10], [9, 1, 99]],
        "labels": [["farmer_A", "roaster_A"], ["roaster_A", "retailer_A"]],
        "titles": ["From", "To"],
        "value": "kg",
    }
    figure = {"data": [{"type": "sankey", "meta": meta}], "layout": {}}
    headings = ["From", "To", "kg"]
    assert rows_behind(figure, 0, 2) == [headings, ["farmer_A", "roaster_A", 40], ["roaster_A", "retailer_A", 5]]
    assert rows_behind(figure, 1, 2) == [headings, ["farmer_A", "roaster_A", 10], ["roaster_A", "retailer_A", 5]]


def test_sums_of_a_heat_map_and_of_bars_are_named_by_its_axes() -> None:
    heat = {
        "type": "heatmap",
        "x": ["to A", "to B"],
        "y": ["A", "B"],
        "meta": {"into": "z", "columns": 2, "sums": [[0, 1, 2]]},
    }
    assert rows_behind({"data": [heat], "layout": {}}, 0, 0) == [["y", "x", "Value"], ["A", "to B", 2]]
    bars = {"type": "bar", "name": "roast", "x": ["A"], "meta": {"into": "y", "sums": [[0, 0, 2], [1, 0, 3]]}}
    layout = {"yaxis": {"title": {"text": "Calls"}}}
    assert rows_behind({"data": [bars], "layout": layout}, 0, 5) == [["Series", "x", "Calls"], ["roast", "A", 5]]


NO_SUMS: dict[str, Any] = {"sums": [], "value": "kg"}


@pytest.mark.parametrize(
    ("trace", "headings"),
    [
        ({"type": "heatmap", "x": [], "y": [], "meta": {**NO_SUMS, "into": "z", "columns": 0}}, ["From", "To", "kg"]),
        ({"type": "sankey", "meta": {**NO_SUMS, "into": "v", "labels": [], "titles": ["Firm"]}}, ["Firm", "kg"]),
        ({"type": "scatter", "name": "deals", "x": [], "y": []}, ["Series", "To", "From"]),
        (None, ["To", "From"]),
    ],
)
def test_the_sheet_of_an_empty_figure_has_its_headings(trace: dict[str, Any] | None, headings: list[str]) -> None:
    layout = {"xaxis": {"title": {"text": "To"}}, "yaxis": {"title": {"text": "From"}}}
    assert rows_behind({"data": [trace] if trace else [], "layout": layout}, 0, 5) == [headings]


def test_cells_of_a_heat_map_are_rows() -> None:
    heat = {"type": "heatmap", "x": [0, 1], "y": ["A"], "z": [[4, None]], "meta": {"days": "x", "value": "calls"}}
    assert rows_behind({"data": [heat], "layout": {}}, 0, 5) == [["y", "x", "calls"], ["A", 0, 4]]


def test_a_formula_in_a_label_is_text_in_the_sheet(staff: Client) -> None:
    run = make_run()
    end_day(run, 0, {})
    run.firms.filter(name="farmer_A").update(name=FORMULA)
    text = staff.get(f"/runs/{run.pk}/tabs/overview/cash.csv").content.decode()
    assert f"'{FORMULA[:10]}" in text


def test_the_sheet_of_a_figure_ends_at_the_day(staff: Client) -> None:
    run = played()
    answer = staff.get(f"/runs/{run.pk}/tabs/overview/cash.csv?day=1&as=farmer_A")
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert rows == [["Day", "farmer_A, USD"], ["0", "15000.0"], ["1", "14990.0"]]
    assert f"run-{run.pk}-cash-day-1.csv" in answer.headers["Content-Disposition"]
