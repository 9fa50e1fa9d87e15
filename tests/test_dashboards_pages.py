"""The pages: who may see them, what they ask of the database, and what they make of hostile requests."""

import csv
import io
import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.books import MOST_FIRMS_SHOWN
from dashboards.tape import LINES_PER_PAGE
from simulation.engine.scenario import scenario_from
from simulation.models import Call, DayEnd, Event, Run
from tests.small_runs import add_event, add_events, books, end_day, make_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2


def snapshot_in(page: bytes) -> dict[str, Any]:
    """What a page hands to its script."""
    found = re.search(r'<script id="snapshot" type="application/json">(.*?)</script>', page.decode(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def line_numbers(page: bytes) -> list[int]:
    """The numbers of the lines of the tape on a page, without the empty template of a line."""
    return [int(number) for number in re.findall(r'data-number="(\d+)"', page.decode())]


def figure_points(page: bytes, firm: str, measure: str = "net_income") -> tuple[list[int], list[float]]:
    lines = snapshot_in(page)["figures"][measure]["data"]
    (line,) = [line for line in lines if line["meta"]["firm"] == firm]
    return line["x"], line["y"]


# Who may come in

ADDRESSES = [
    "/",
    "/runs/new/",
    "/runs/1/",
    "/runs/1/tape/",
    "/runs/1/tabs/overview/net_income/table/",
    "/runs/1/days.csv",
]
POSTS = [
    "/runs/new/",
    "/runs/new/experiment/",
    "/runs/new/players/",
    "/runs/1/pause/",
    "/runs/1/pace/",
    "/runs/1/cancel/",
    "/runs/1/delete/",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_stranger_is_sent_to_the_login_page_and_comes_back(client: Client, address: str) -> None:
    assert client.get(address).headers["location"] == f"/admin/login/?next={address}"


@pytest.mark.parametrize("address", POSTS)
def test_a_stranger_can_do_nothing(client: Client, address: str) -> None:
    run = make_run(pk=1)
    assert client.post(address).headers["location"] == "/admin/login/?next=/"
    run.refresh_from_db()
    assert run.status == Run.Status.RUNNING


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_user_who_is_not_staff_is_told_so(client: Client, address: str) -> None:
    make_run(pk=1)
    client.force_login(User.objects.create_user("player"))
    answer = client.get(address)
    assert answer.status_code == 403
    assert "for researchers" in answer.content.decode()


def test_a_part_of_a_page_sends_the_whole_page_to_the_login(client: Client) -> None:
    answer = client.get("/runs/1/tape/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/admin/login/")


def test_pages_are_kept_in_no_cache(staff: Client) -> None:
    assert "no-store" in staff.get("/").headers["Cache-Control"]


def test_verbs_want_a_token(staff: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="rosa"))
    run = make_run()
    answer = strict.post(f"/runs/{run.pk}/cancel/")
    assert answer.status_code == 403
    assert "too old to be sent" in answer.content.decode()
    run.refresh_from_db()
    assert run.status == Run.Status.RUNNING


@pytest.mark.parametrize("address", ["/runs/1/pause/", "/runs/1/cancel/", "/runs/1/pace/", "/sign-out/"])
def test_opening_an_address_changes_nothing(staff: Client, address: str) -> None:
    make_run(pk=1)
    assert staff.get(address).status_code == 405


# What does not exist


@pytest.mark.parametrize(
    "address",
    [
        "/runs/1/",
        "/runs/999999999/",
        "/runs/9999999999999999999999/",
        "/runs/-1/",
        "/runs/٣/",
        "/runs/1%00/",
        "/runs/x/",
        "/runs/1/tabs/overview/drop_table/table/",
        "/nowhere/",
    ],
)
def test_what_is_not_there_is_not_found(staff: Client, address: str) -> None:
    answer = staff.get(address)
    assert answer.status_code == 404
    assert "nothing at this address" in answer.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "before=x",
        "before=-1",
        "before=1e3",
        "before=9999999999999999999999",
        "before=%00",
        "before=²",
        "group=drop",
        "group=%00",
        "firm=nobody",
        "firm=%00",
        "firm=%F0%9F%A6%8A",
    ],
)
def test_a_part_of_the_tape_that_makes_no_sense_is_refused(staff: Client, query: str) -> None:
    run = make_run()
    answer = staff.get(f"/runs/{run.pk}/tape/?{query}")
    assert answer.status_code == 400
    assert "makes no sense" in answer.content.decode()


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999999999", "%00"])
def test_a_page_of_the_list_that_is_not_there_is_the_nearest_one(staff: Client, page: str) -> None:
    make_run()
    assert staff.get(f"/?page={page}").status_code == 200


# The list


def test_an_empty_list_says_how_to_fill_it(staff: Client) -> None:
    assert "Start the first run" in staff.get("/").content.decode()


def test_the_list_says_status_and_why_day_players_and_net_income(staff: Client) -> None:
    run = make_run(name="Trial <1>", status="paused", status_reason="paused by a person", seed=7)
    end_day(run, 0, {"roaster_A": -30.0})
    end_day(run, 1, {"roaster_A": -64.68})
    page = staff.get("/").content.decode()
    for text in ("Trial &lt;1&gt;", "Paused", "paused by a person", "1 of 90", "all scripts", "seed 7", "−64.68"):
        assert text in page
    assert page.count("<polyline") == 1


@pytest.mark.parametrize(
    ("players", "text"),
    [
        ({"roaster_A": "passive"}, "roaster_A: passive; the others scripts"),
        (
            dict.fromkeys(["farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B"], "passive"),
            "all passive",
        ),
        (
            dict.fromkeys(["roaster_A", "roaster_B"], "passive"),
            "roaster_A: passive, roaster_B: passive; the others scripts",
        ),
    ],
)
def test_the_list_names_who_stands_out(staff: Client, players: dict[str, str], text: str) -> None:
    run = make_run()
    run.players = {**run.players, **players}
    run.save()
    assert text in staff.get("/").content.decode()


def test_the_list_costs_six_queries_however_many_runs(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        end_day(make_run(), 0, {})
    with django_assert_num_queries(SESSION_AND_USER + 4):  # count, runs, evaluated firms, their evenings
        staff.get("/")


def test_the_list_has_pages(staff: Client) -> None:
    Run.objects.bulk_create(
        Run(name=f"Run {number}", scenario={}, seed=0, days=90, evaluated="roaster_A", players={})
        for number in range(30)
    )
    first, second = staff.get("/").content.decode(), staff.get("/?page=2").content.decode()
    assert (first.count("<tr>"), second.count("<tr>")) == (26, 6)  # with the row of headings
    assert 'rel="next"' in first
    assert 'rel="prev"' in second


def test_the_list_fetches_its_rows_alone(staff: Client) -> None:
    make_run()
    rows = staff.get("/", headers={"HX-Request": "true"}).content.decode()
    assert rows.lstrip().startswith('<div id="runs"')
    assert "<html" not in rows


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"Autumn", "Autumn idle", "Winter"}),
        ("q=autumn", {"Autumn", "Autumn idle"}),
        ("q=out+of+money", {"Winter"}),
        ("status=paused", {"Winter"}),
        ("status=waiting", {"Autumn"}),
        ("player=passive", {"Autumn idle"}),
        ("player=sonnet", {"Winter"}),
        ("q=autumn&player=passive&status=running", {"Autumn idle"}),
        ("q=spring", set()),
        ("q=%25", set()),  # a sign that means anything to the database
        ("status=drop", {"Autumn", "Autumn idle", "Winter"}),
        ("q=%00", {"Autumn", "Autumn idle", "Winter"}),
        ("q=" + "x" * 500, {"Autumn", "Autumn idle", "Winter"}),
    ],
)
def test_the_list_is_filtered_by_name_status_and_player(staff: Client, query: str, names: set[str]) -> None:
    make_run(name="Autumn", waiting_for=["roaster_A"])
    idle = make_run(name="Autumn idle")
    idle.players["roaster_A"] = "passive"
    idle.save()
    winter = make_run(name="Winter", status="paused", status_reason="out of money")
    winter.players["roaster_A"], winter.model_settings["roaster_A"] = "model", {"model": "claude-sonnet-4-6"}
    winter.save()
    page = staff.get(f"/?{query}").content.decode()
    assert set(re.findall(r"<bdi>(.*?)</bdi></a>", page)) == names
    assert ("No run matches" in page) == (not names)


def test_a_run_is_found_by_its_number(staff: Client) -> None:
    runs = [make_run(name=f"Run of {word}") for word in ("beans", "water")]
    page = staff.get(f"/?q={runs[0].pk}").content.decode()
    assert ("beans" in page, "water" in page) == (True, False)


def test_the_pages_of_a_filtered_list_keep_the_filter(staff: Client) -> None:
    Run.objects.bulk_create(
        Run(name=f"Trial {number}", scenario={}, seed=0, days=90, evaluated="", players={}) for number in range(60)
    )
    page = staff.get("/?q=trial&page=2&status=draft").content.decode()
    assert 'href="?q=trial&amp;status=draft&amp;page=1"' in page
    assert 'href="?q=trial&amp;status=draft&amp;page=3"' in page
    assert 'hx-get="/?q=trial&amp;page=2&amp;status=draft"' in page  # what the list fetches when a run has moved


def test_the_list_says_what_models_have_cost(staff: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = make_run(name="With a model")
    run.model_settings = {"roaster_A": {"model": "claude-sonnet-4-6"}}
    run.save()
    make_run(name="Scripts alone")
    shared = {"run": run, "firm": run.firms.first(), "ask_id": 1, "day": 0, "purpose": "decide", "outcome": "used"}
    counts = {"attempt": 1, "latency_ms": 5, "model_asked": "x", "messages_before": 0, "summaries_before": 0}
    Call.objects.create(**shared, **counts, cost_micros=1_230_000, most_micros=9_000_000)
    Call.objects.create(**shared, **counts, cost_micros=None, most_micros=20_000)  # not known: the most it can be
    with django_assert_num_queries(SESSION_AND_USER + 5):
        page = staff.get("/").content.decode()
    assert re.findall(r'runs-spend"[^>]*>(.*?)<', page) == ["–", "1.25"]


def test_the_small_line_of_a_bankrupt_firm_stays_at_its_score(staff: Client) -> None:
    run = make_run()
    for day, amount in enumerate((0.0, -100.0, -400.0)):
        end_day(run, day, {"roaster_A": amount})
    run.firms.filter(name="roaster_A").update(bankrupt_day=1, net_income_micros=-100_000_000)
    assert 'points="0.0,1.0 48.0,23.0 96.0,23.0"' in staff.get("/").content.decode()


def test_the_small_line_ends_where_the_firm_stands(staff: Client) -> None:
    run = make_run()
    for day, amount in enumerate((0.0, -100.0)):
        end_day(run, day, {"roaster_A": amount})
    run.firms.filter(name="roaster_A").update(net_income_micros=-200_000_000)
    assert 'points="0.0,1.0 96.0,23.0"' in staff.get("/").content.decode()  # after the last evening, of the same day
    Run.objects.update(day=2)
    assert 'points="0.0,1.0 48.0,12.0 96.0,23.0"' in staff.get("/").content.decode()


# Deleting a run


def test_a_run_that_rests_is_deleted_when_its_name_or_number_is_typed(staff: Client) -> None:
    other = make_run()
    end_day(other, 0, {})
    for by_name in (True, False):
        run = make_run(name="Of no use", status="paused")
        end_day(run, 0, {})
        page = staff.post(f"/runs/{run.pk}/delete/", {"typed": "Of no use" if by_name else str(run.pk)}, follow=True)
        assert page.redirect_chain == [("/", 302)]
        told = f"Run {run.pk}, Of no use, is deleted: 6 firms, 6 day ends, 1 events."
        assert told in page.content.decode()
    assert list(Run.objects.all()) == [other]
    assert (DayEnd.objects.count(), Event.objects.count()) == (6, 1)


@pytest.mark.parametrize("typed", ["", "of no use", "1", "\0", "x" * 100])
def test_anything_else_deletes_nothing(staff: Client, typed: str) -> None:
    run = make_run(pk=17, name="Of no use", status="finished")
    assert staff.post(f"/runs/{run.pk}/delete/", {"typed": typed}).status_code == 200
    assert Run.objects.exists()


@pytest.mark.parametrize("status", ["running", "waiting"])
def test_a_run_that_moves_is_not_deleted(staff: Client, status: str) -> None:
    run = make_run(status=status)
    assert "pause or cancel it" in staff.get(f"/runs/{run.pk}/delete/").content.decode()
    assert "pause or cancel it" in staff.post(f"/runs/{run.pk}/delete/", {"typed": str(run.pk)}).content.decode()
    assert Run.objects.exists()


def test_asking_to_delete_deletes_nothing(staff: Client) -> None:
    run = make_run(status="finished")
    assert staff.get(f"/runs/{run.pk}/delete/").status_code == 200
    assert Run.objects.exists()
    assert staff.get("/runs/999/delete/").status_code == 404


# A run's page


def test_a_page_costs_six_queries(staff: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = make_run()
    end_day(run, 0, {})
    add_events(run, 300)
    with django_assert_num_queries(SESSION_AND_USER + 4):  # run, firms, evenings, the newest lines
        staff.get(f"/runs/{run.pk}/")


def test_a_page_stands_at_the_number_of_its_last_event(staff: Client) -> None:
    run = make_run()
    add_events(run, 3)
    page = staff.get(f"/runs/{run.pk}/").content
    assert snapshot_in(page)["since"] == 3
    assert line_numbers(page) == [3, 2, 1]


def test_a_page_of_a_long_run_holds_only_the_newest_lines(staff: Client) -> None:
    run = make_run()
    add_events(run, 1000)
    page = staff.get(f"/runs/{run.pk}/").content
    assert line_numbers(page) == list(range(1000, 1000 - LINES_PER_PAGE, -1))


def test_the_tape_goes_back_to_the_first_event_without_gap_or_repetition(staff: Client) -> None:
    run = make_run()
    add_events(run, 450)
    seen = line_numbers(staff.get(f"/runs/{run.pk}/").content)
    while len(seen) < 450:
        seen += line_numbers(staff.get(f"/runs/{run.pk}/tape/?before={seen[-1]}").content)
    assert seen == list(range(450, 0, -1))


def test_a_stretch_of_the_tape_says_up_to_where_it_is_complete(staff: Client) -> None:
    run = make_run()
    add_event(run, "deal_made", "farmer_A", "roaster_A")
    add_event(run, "day_ended")
    page = staff.get(f"/runs/{run.pk}/tape/?group=trade&firm=roaster_A").content
    assert line_numbers(page) == [1]
    assert b'data-upto="2"' in page


def test_the_figure_holds_every_evening(staff: Client) -> None:
    run = make_run()
    end_day(run, 0, {"farmer_A": -25.0})
    end_day(run, 1, {"farmer_A": 12.5})
    page = staff.get(f"/runs/{run.pk}/").content
    assert figure_points(page, "farmer_A") == ([0, 1], [-25.0, 12.5])
    assert figure_points(page, "farmer_A", "cash") == ([0, 1], [14_975.0, 15_012.5])


def test_what_arrives_after_the_last_evening_is_in_the_last_point(staff: Client) -> None:
    run = make_run(days=2)
    end_day(run, 0, {"farmer_A": -25.0})
    end_day(run, 1, {"farmer_A": -50.0})
    figures = {firm: books(90.0 if firm == "farmer_A" else 0.0) for firm in run.players}
    add_event(run, "run_ended", day=1, minute=19 * 60, status="finished", firms=figures)
    page = staff.get(f"/runs/{run.pk}/").content
    assert figure_points(page, "farmer_A") == ([0, 1], [-25.0, 90.0])
    assert "90.00" in staff.get(f"/runs/{run.pk}/tabs/overview/net_income/table/").content.decode()


def test_a_bankrupt_firm_keeps_its_score_though_its_ledger_goes_on(staff: Client) -> None:
    run = make_run()
    end_day(run, 0, {"farmer_A": -25.0})
    end_day(run, 1, {"farmer_A": -30.0})
    run.firms.filter(name="farmer_A").update(bankrupt_day=1, net_income_micros=-28_000_000)
    page = staff.get(f"/runs/{run.pk}/").content
    assert figure_points(page, "farmer_A") == ([0, 1], [-25.0, -28.0])
    assert "Bankrupt on Day 1" in page.decode()


def test_a_card_shows_net_income_cash_debts_and_stock(staff: Client) -> None:
    run = make_run()
    end_day(run, 0, {"retailer_A": -1234.5}, receivables=777.0, payables=88.4)
    run.firms.filter(name="retailer_A").update(stock_kg={"roasted_coffee_kg": 30, "roasted_specialty_kg": 10})
    page = staff.get(f"/runs/{run.pk}/").content.decode()
    card = page[page.index('data-firm="retailer_A"') : page.index('data-firm="retailer_B"')]
    for text in ("−1,234.50", "13,766", "777", "88", "40 of 80 kg", "inline-size: 37.5%", "inline-size: 12.5%"):
        assert text in card


def test_a_page_of_a_run_without_any_row_opens(staff: Client) -> None:
    run = Run.objects.create(name="Bare", scenario={}, seed=0, days=90, evaluated="", players={}, status="failed")
    page = staff.get(f"/runs/{run.pk}/")
    assert page.status_code == 200
    assert snapshot_in(page.content)["figures"]["net_income"]["data"] == []


def test_six_hundred_firms_are_not_all_drawn_but_all_in_the_file(staff: Client) -> None:
    scenario = scenario_from({"roles": {"farmer": {"firms": 594}, "roaster": {"firms": 3}, "retailer": {"firms": 3}}})
    run = make_run(scenario=scenario)
    end_day(run, 0, {})
    page = staff.get(f"/runs/{run.pk}/").content
    drawn = [line["meta"]["firm"] for line in snapshot_in(page)["figures"]["net_income"]["data"]]
    assert len(drawn) == MOST_FIRMS_SHOWN
    assert drawn[-1] == "roaster_A"  # the evaluated firm is always among them
    assert "24 of 600 firms are shown" in page.decode()
    assert staff.get(f"/runs/{run.pk}/days.csv").content.count(b"\r\n") == 601


def test_the_file_has_a_row_a_firm_and_day(staff: Client) -> None:
    run = make_run()
    end_day(run, 0, {"farmer_A": -25.0})
    answer = staff.get(f"/runs/{run.pk}/days.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert (rows[0]["day"], rows[0]["firm"], rows[0]["net_income_usd"]) == ("0", "farmer_A", "-25.0")
    assert "attachment" in answer.headers["Content-Disposition"]


def test_the_file_of_a_firm_has_its_own_books_up_to_the_day(staff: Client) -> None:
    run = make_run()
    for day in range(3):
        end_day(run, day, {})
    answer = staff.get(f"/runs/{run.pk}/days.csv?as=farmer_B&day=1")
    rows = csv.DictReader(io.StringIO(answer.content.decode()))
    assert [(row["day"], row["firm"]) for row in rows] == [("0", "farmer_B"), ("1", "farmer_B")]


# What firms and people write

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(1)>=HYPERLINK("http://x")\u202e{{ 7|add:7 }}'


def test_what_was_written_is_text_wherever_it_appears(staff: Client) -> None:
    run = make_run(name=HOSTILE[:80], status="failed", status_reason=HOSTILE)
    run.firms.update(player=HOSTILE)
    add_event(run, "message_sent", "farmer_A", "roaster_A", message="M1", title=HOSTILE, body=HOSTILE * 100)
    add_event(run, "offer_made", "farmer_A", "roaster_A", offer="O1", listing="L1", message=HOSTILE)
    add_event(run, "shipment_returned", "farmer_A", "roaster_A", reason=HOSTILE)
    for address in ("/", f"/runs/{run.pk}/", f"/runs/{run.pk}/tape/"):
        page = staff.get(address).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "alert(1)" in unescape(page)


def test_no_page_has_a_script_or_handler_of_its_own(staff: Client) -> None:
    run = make_run()
    for address in ("/", "/runs/new/", f"/runs/{run.pk}/"):
        page = staff.get(address).content.decode()
        scripts = re.findall(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", page)
        assert scripts == []
        assert re.findall(r"<[^>]+\son[a-z]+=", page) == []
        assert re.findall(r'(?:src|href)="(?:https?:)?//', page) == []


def test_the_policy_for_browsers_allows_no_inline_script(staff: Client) -> None:
    policy = staff.get("/").headers["Content-Security-Policy"]
    (scripts,) = [part for part in policy.split("; ") if part.startswith("script-src")]
    assert "unsafe" not in scripts


# Verbs


def test_a_run_is_paused_resumed_and_cancelled(staff: Client) -> None:
    run = make_run()
    for verb, status in (("pause", "paused"), ("resume", "running"), ("cancel", "stopped")):
        answer = staff.post(f"/runs/{run.pk}/{verb}/", headers={"HX-Request": "true"})
        assert answer.status_code == 204
        assert json.loads(answer.headers["HX-Trigger"])["run-state"]["status"] == status
        run.refresh_from_db()
        assert run.status == status


def test_a_run_steps_to_the_end_of_its_day(staff: Client) -> None:
    run = make_run(status="paused", day=3)
    assert staff.post(f"/runs/{run.pk}/step/", headers={"HX-Request": "true"}).status_code == 204
    run.refresh_from_db()
    assert (run.status, run.stop_after_day) == ("running", 3)


def test_what_is_not_possible_says_why(staff: Client) -> None:
    run = make_run(status="finished")
    answer = staff.post(f"/runs/{run.pk}/pause/", headers={"HX-Request": "true"})
    assert answer.status_code == 409
    assert "is finished" in answer.content.decode()


def test_without_scripts_a_verb_leads_back_to_the_page_and_says_why_not(staff: Client) -> None:
    run = make_run(status="finished")
    page = staff.post(f"/runs/{run.pk}/pause/", follow=True)
    assert page.redirect_chain == [(f"/runs/{run.pk}/", 302)]
    assert "is finished" in page.content.decode()


@pytest.mark.parametrize(("verb", "status"), [("explode", 404), ("pause", 404)])
def test_verbs_that_are_not_there(staff: Client, verb: str, status: int) -> None:
    run_id = make_run().pk if verb == "explode" else 999
    assert staff.post(f"/runs/{run_id}/{verb}/").status_code == status


def test_the_pace_changes_to_one_of_those_offered(staff: Client) -> None:
    run = make_run()
    assert staff.post(f"/runs/{run.pk}/pace/", {"pace": "0.1"}, headers={"HX-Request": "true"}).status_code == 204
    run.refresh_from_db()
    assert run.pace_seconds == 0.1
    assert staff.post(f"/runs/{run.pk}/pace/", {"pace": "nan"}).status_code == 400


def test_a_pace_of_its_own_is_shown_too(staff: Client) -> None:
    page = staff.get(f"/runs/{make_run(pace_seconds=0.25).pk}/").content.decode()
    assert '<option value="0.25" selected>0.25 seconds a day</option>' in page


@pytest.mark.parametrize(
    ("status", "buttons"),
    [
        ("draft", {"start", "step", "cancel", "delete"}),
        ("running", {"pause", "cancel"}),
        ("waiting", {"pause", "cancel"}),
        ("paused", {"resume", "step", "cancel", "delete"}),
        ("failed", {"resume", "cancel", "delete"}),
        ("finished", {"delete"}),
        ("stopped", {"delete"}),
    ],
)
def test_only_what_is_possible_is_offered(staff: Client, status: str, buttons: set[str]) -> None:
    run = make_run(status=status)
    page = staff.get(f"/runs/{run.pk}/").content.decode()
    assert set(re.findall(r'data-verb="(\w+)"(?! hidden)', page)) == buttons


def test_a_waiting_run_says_for_whom(staff: Client) -> None:
    run = make_run(status="waiting", waiting_for=["roaster_A"])
    assert "roaster_A (heuristic_roaster)" in staff.get(f"/runs/{run.pk}/").content.decode()


def test_an_error_page_needs_nothing() -> None:
    from django.template.loader import render_to_string

    for name in ("400.html", "403.html", "404.html", "500.html", "403_csrf.html"):
        assert "To the runs" in render_to_string(name)
