"""What models cost: the sums, the forecast and its words, the header that tells them live, the page, the file."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboards.alarms import alarms_text, flags_by_day, flags_by_firm, together
from dashboards.feed import read_page
from dashboards.live import live_state_of
from dashboards.spend_words import reasons_of, spend_state
from dashboards.words import duration_text, small_usd_text
from simulation import asking
from simulation.models import Call, Run
from simulation.players.llm.settings import Limits
from simulation.spend import forecast_of, spend_by_day, spend_by_firm, total_of, under_way_micros
from tests.small_runs import add_event, end_day, make_run
from tests.talk_rows import BEGAN, add_ask, add_call, add_turn, firm_of, make_model_run, play_day

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
USD = 1_000_000
MINUTE = 60


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def plain(html: str) -> str:
    """The text of a page without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def days_played(run: Run, costs_usd: list[float], minutes_each: float = 10) -> Run:
    """A run with full days of these costs, standing at the morning after."""
    for day, cost in enumerate(costs_usd):
        play_day(run, day, cost_micros=round(cost * USD), at_seconds=(day + 1) * minutes_each * MINUTE)
    run.day = len(costs_usd)
    run.save()
    return run


# Sums


def test_sums_are_by_day_and_by_firm_and_the_same_together() -> None:
    run = make_model_run("roaster_A", "farmer_A")
    for day in range(3):
        for firm in ("roaster_A", "farmer_A"):
            add_call(add_ask(run, add_turn(run, firm, day=day)))
    by_day, by_firm = spend_by_day(run), spend_by_firm(run)
    assert [day.spend.known_micros for day in by_day.values()] == [24_600] * 3
    assert by_firm[firm_of(run, "farmer_A").pk].input_tokens == 9000
    total = total_of(by_firm.values())
    assert total == total_of(day.spend for day in by_day.values())
    assert (total.calls, total.cached_tokens, total.reasoning_tokens, total.latency_ms) == (6, 12_000, 240, 9000)


def test_an_unknown_cost_counts_with_its_bound_as_budgets_count_it_and_is_told_apart() -> None:
    run = make_model_run()
    ask = add_ask(run, add_turn(run))
    add_call(ask, outcome="failed", cost_micros=None, most_micros=50_000)  # timed out: it may be billed
    add_call(ask, outcome="failed", cost_micros=None, most_micros=0)  # turned away
    add_call(ask, outcome="unused")
    add_call(ask)
    total = total_of(spend_by_firm(run).values())
    assert (total.known_micros, total.unsure_micros, total.unpriced) == (24_600, 50_000, 0)
    assert (total.calls, total.failed, total.unused) == (4, 2, 1)
    assert total.counted_micros == asking.spent_micros(run)


def test_what_is_under_way_is_what_the_budgets_reserve() -> None:
    run = make_model_run()
    add_call(add_ask(run, add_turn(run)))
    add_ask(run, reserved_micros=70_000)
    assert under_way_micros(run) == 70_000
    assert asking.spent_micros(run) == total_of(spend_by_firm(run).values()).counted_micros + 70_000


def test_nothing_spent_is_nothing() -> None:
    run = make_model_run()
    assert spend_by_day(run) == {}
    assert total_of([]).counted_micros == 0
    assert under_way_micros(run) == 0


# The forecast


def test_there_is_no_forecast_before_the_first_full_day_nor_after_the_end() -> None:
    run = make_model_run(days=90)
    play_day(run, 0)
    assert forecast_of(run, spend_by_day(run)) is None
    run.day = 1
    assert forecast_of(run, spend_by_day(run)) is not None
    run.status = Run.Status.FINISHED
    assert forecast_of(run, spend_by_day(run)) is None


def test_steady_days_go_on_as_they_are() -> None:
    run = days_played(make_model_run(days=90), [2.0] * 10)
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert (forecast.days_left, forecast.recent_days) == (80, 5)
    assert (forecast.cost.day_micros, forecast.cost.likely_micros) == (2 * USD, 180 * USD)
    assert (forecast.cost.rise_micros, forecast.cost.rising_micros) == (0, 180 * USD)
    assert (forecast.time.day_seconds, forecast.time.seconds_left) == (600, 80 * 600)
    assert forecast.time.ends_at == BEGAN + timedelta(minutes=900)


def test_the_cost_is_told_from_the_last_five_days() -> None:
    run = days_played(make_model_run(days=20), [50.0] * 5 + [1.0] * 5)
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert forecast.cost.likely_micros == (250 + 5 + 10) * USD
    assert forecast.cost.rise_micros == 0  # days that get cheaper are not taken to go on doing so


def test_days_that_get_dearer_give_a_second_sum() -> None:
    run = days_played(make_model_run(days=20), [1.0 + 0.5 * day for day in range(10)])
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert forecast.cost.day_micros == 4_500_000  # 3.50 to 5.50
    assert forecast.cost.likely_micros == round((32.5 + 45) * USD)
    assert forecast.cost.rise_micros == 500_000
    assert forecast.cost.rising_micros == round(sum(1.0 + 0.5 * day for day in range(20)) * USD)


def test_what_today_has_cost_already_is_not_counted_twice() -> None:
    run = days_played(make_model_run(days=10), [2.0] * 4, minutes_each=10)
    play_day(run, 4, cost_micros=round(0.5 * USD), at_seconds=44 * MINUTE)
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert forecast.cost.likely_micros == 20 * USD
    assert forecast.time.seconds_left == 56 * MINUTE
    assert forecast.time.ends_at == BEGAN + timedelta(minutes=100)


def test_one_long_pause_does_not_move_the_forecast_of_time() -> None:
    run = make_model_run(days=10)
    for day, end_minutes in enumerate((10, 20, 620, 630, 640)):
        play_day(run, day, at_seconds=end_minutes * MINUTE)
    run.day = 5
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.time.day_seconds == 600
    assert forecast.time.ends_at == BEGAN + timedelta(minutes=690)


def test_a_day_without_a_call_cost_nothing() -> None:
    run = make_model_run(days=4)
    play_day(run, 0, cost_micros=2 * USD, at_seconds=600)
    run.day = 2
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert forecast.cost.likely_micros == 4 * USD
    assert forecast.time.day_seconds == 300


def test_an_unknown_price_leaves_the_time_alone_to_be_told() -> None:
    run = days_played(make_model_run(days=10), [1.0] * 2)
    Call.objects.filter(run=run, day=0).update(cost_micros=None, most_micros=None)
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is None
    assert forecast.time.day_seconds == 600
    assert "The price of some calls is not known, so the cost cannot be told." in reasons_of(run, forecast)
    state = spend_state(run)
    assert state["spent"] == "at least 1.00 USD"
    assert state["note"] == "2 calls have no known price"
    assert state["forecast"] == ""


@pytest.mark.parametrize(
    ("budget_usd", "day"),
    [(1000, None), (180, None), (179, 89), (25, 12), (20, 10), (19, 10)],
)
def test_the_day_on_which_the_budget_ends_is_told(budget_usd: float, day: int | None) -> None:
    run = days_played(make_model_run(days=90, limits=Limits(budget_usd=budget_usd)), [2.0] * 10)
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert forecast.cost is not None
    assert forecast.cost.budget_day == day


def test_the_forecast_says_what_it_is_based_on() -> None:
    run = days_played(make_model_run(days=20), [1.0 + 0.5 * day for day in range(10)])
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    text = " ".join(reasons_of(run, forecast))
    assert "10 days of 20 are still to be played" in text
    assert "The last 5 days played in full cost 4.50 USD each" in text
    assert "the run costs 77.50 USD in all" in text
    assert "Over the last 10 days each day cost 0.5000 USD more" in text
    assert "it costs 115.00 USD in all" in text
    assert "the middle one took 10 min: 1 h 40 min of play are left" in text


def test_a_forecast_from_the_first_day_for_the_last_speaks_of_one_day() -> None:
    run = days_played(make_model_run(days=2), [0.11])
    forecast = forecast_of(run, spend_by_day(run))
    assert forecast is not None
    assert reasons_of(run, forecast) == [
        "1 day of 2 is still to be played to its end.",
        "The one day played in full cost 0.11 USD. If the days to come do too, the run costs 0.22 USD in all.",
        "The one day played in full took 10 min: 10 min of play are left. Pauses come on top.",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min"), (187_200, "2 d 4 h")],
)
def test_a_stretch_of_time_is_said_at_a_glance(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(("micros", "text"), [(None, "–"), (0, "0.0000"), (12_345, "0.0123"), (-5, "0.0000")])
def test_the_cost_of_a_call_is_written_to_the_hundredth_of_a_cent(micros: int | None, text: str) -> None:
    assert small_usd_text(micros) == text


# The header of a run's page


def test_the_header_says_what_is_spent_of_the_budget_and_what_may_come(staff: Client) -> None:
    run = days_played(make_model_run(days=90, limits=Limits(budget_usd=25)), [2.0] * 10)
    text = plain(page(staff, f"/runs/{run.pk}/"))
    assert "spend 20.00 of 25.00 USD" in text
    assert "about 180 in all" in text
    assert "13 h 20 min of play left" in text
    assert "at this rate the budget lasts until Day 12 of 90" in text


def test_a_run_of_scripts_has_no_spend_in_its_header(staff: Client) -> None:
    html = page(staff, f"/runs/{make_run().pk}/")
    assert "run-spend" not in html
    assert live_state_of(make_run())["spend"] is None


def test_the_socket_tells_of_money_though_no_event_came() -> None:
    run = make_model_run()
    add_event(run, "day_ended")
    ask = add_ask(run)
    first = read_page(run.pk, 0, "")
    assert first is not None
    assert read_page(run.pk, 1, first.state) is None
    add_call(ask, outcome="failed", cost_micros=None, most_micros=2 * USD)
    second = read_page(run.pk, 1, first.state)
    assert second is not None
    assert json.loads(second.text)["state"]["spend"]["spent"] == "2.00 USD"
    assert "2.00 USD of it for calls without an answer" in json.loads(second.text)["state"]["spend"]["note"]


def test_who_is_waited_for_is_told_with_since_when_and_what_trouble_there_is(staff: Client) -> None:
    run = make_model_run("roaster_A", "farmer_A", "retailer_A")
    answered = add_ask(run, firm="retailer_A")
    add_ask(run, firm="farmer_A", trouble="RateLimitError: slow <down>", not_before=timezone.now())
    add_ask(run, firm="roaster_A")
    answered.answered_at = timezone.now()
    answered.save()
    waiting = live_state_of(run)["waiting"]
    assert [each["who"] for each in waiting] == ["farmer_A (openai/gpt-5.5)", "roaster_A (openai/gpt-5.5)"]
    assert [bool(each["again"]) for each in waiting] == [True, False]
    assert all(each["since"] for each in waiting)
    html = page(staff, f"/runs/{run.pk}/")
    assert "farmer_A (openai/gpt-5.5): RateLimitError: slow &lt;down&gt;" in html


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("roaster_A: AuthenticationError: wrong key", "Check the key in the workers’ environment"),
        ("roaster_A: the environment variable OPENAI_API_KEY is not set", "Set the variable where the workers"),
        ("roaster_A: NotFoundError: no such model", "Check the model’s name and address"),
        ("roaster_A: RateLimitError: You exceeded your current quota", "Check the account’s limits and credit"),
        ("roaster_A: BadRequestError: temperature", "See what the provider says, then Resume"),
    ],
)
def test_a_run_that_a_provider_stopped_says_why_and_what_to_do(staff: Client, reason: str, advice: str) -> None:
    run = make_model_run(status="paused", paused_by="provider", status_reason=reason)
    text = plain(page(staff, f"/runs/{run.pk}/"))
    assert reason in text
    assert advice in text
    assert 'data-verb="resume">' in page(staff, f"/runs/{run.pk}/")


def test_a_run_that_tries_again_by_itself_says_when(staff: Client) -> None:
    again = timezone.now() + timedelta(minutes=15)
    run = make_model_run(status="paused", paused_by="provider", status_reason="Overloaded", resume_at=again)
    text = plain(page(staff, f"/runs/{run.pk}/"))
    assert "It tries again by itself; Resume tries at once." in text
    assert f"It tries again at {again:%H:%M:%S} UTC." in text
    assert live_state_of(run)["again"] == again.isoformat()


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("the run's budget of 1.00 USD is reached", "under Spend, or with “manage.py set_budget 7 --run USD”, then"),
        ("the budget of day 3 of 1.00 USD is reached", "“manage.py set_budget 7 --day USD”, then Resume."),
        ("roaster_A's budget of 1.00 USD is reached", "“manage.py set_budget 7 --firm roaster_A=USD”, then Resume."),
    ],
)
def test_a_run_whose_budget_is_reached_says_how_to_raise_it(staff: Client, reason: str, advice: str) -> None:
    run = make_model_run(pk=7, status="paused", paused_by="budget", status_reason=reason)
    assert advice in plain(page(staff, f"/runs/{run.pk}/"))


def test_a_pause_by_a_person_needs_no_advice(staff: Client) -> None:
    run = make_model_run(status="paused", paused_by="person", status_reason="paused by a person")
    assert live_state_of(run)["advice"] == ""


# What models did wrong


def test_misbehaviour_is_counted_by_kind_and_firm() -> None:
    run = make_model_run("roaster_A", "farmer_A")
    for flags in (["no tool call"], ["no tool call", "cut at the token limit"], [], ["several calls"]):
        add_ask(run, add_turn(run), flags=flags)
    add_ask(run, add_turn(run, "farmer_A", day=3), flags=["several calls"])
    counted = flags_by_firm(run)
    roaster, farmer = firm_of(run, "roaster_A"), firm_of(run, "farmer_A")
    assert counted[roaster.pk] == {"no tool call": 2, "cut at the token limit": 1, "several calls": 1}
    assert flags_by_day(run, farmer) == {3: {"several calls": 1}}
    assert together(flags_by_day(run, roaster).values()) == counted[roaster.pk]
    roaster.refused_calls = 12
    text = alarms_text(counted[roaster.pk], roaster.refused_calls)
    assert text.startswith("refused 12 · no tool call 2 · ")


def test_cards_show_alarms_and_the_socket_brings_them_up_to_date(staff: Client) -> None:
    run = make_model_run()
    run.firms.filter(name="farmer_B").update(refused_calls=1200)
    add_ask(run, add_turn(run), flags=["no tool call"])
    html = page(staff, f"/runs/{run.pk}/")
    assert re.search(r'<p class="card-alarms" data-slot="alarms"[^>]*>no tool call 1</p>', html)
    assert "refused 1,200" in html
    add_ask(run, add_turn(run), flags=["no tool call"])
    add_event(run, "day_ended")
    news = read_page(run.pk, 0, "")
    assert news is not None
    assert json.loads(news.text)["standings"]["roaster_A"]["alarms"] == "no tool call 2"


def test_cards_of_a_past_day_have_the_alarms_of_then(
    staff: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = make_model_run()
    for day in range(3):
        add_ask(run, add_turn(run, day=day), flags=["no tool call"])
        add_turn(run, "farmer_B", day=day, accepted=False)
    with django_assert_max_num_queries(12):
        past = staff.get(f"/runs/{run.pk}/alarms.json?day=1").json()
    assert past["firms"] | {"farmer_A": ""} == dict.fromkeys(run.players, "") | {
        "roaster_A": "no tool call 2",
        "farmer_B": "refused 2",
    }
    assert staff.get(f"/runs/{run.pk}/alarms.json?day=1&as=farmer_A").json() == {"count": 0, "firms": {"farmer_A": ""}}


def test_the_page_is_told_how_many_alarms_the_tab_behaviour_has(staff: Client) -> None:
    run = make_run()
    for day in range(3):
        end_day(run, day, {})
    page_of_tab = page(staff, f"/runs/{run.pk}/tabs/behaviour/")
    assert staff.get(f"/runs/{run.pk}/alarms.json").json() == {"count": 6, "firms": {}}
    assert 'data-alarms="6"' in page_of_tab
    assert staff.get(f"/runs/{run.pk}/alarms.json?day=1").json()["count"] == 0


# The page and the file


def test_the_page_adds_up_by_firm_and_by_day(staff: Client) -> None:
    run = make_model_run("roaster_A", "farmer_A", limits=Limits(budget_usd=250, day_budget_usd=5), days=90)
    for day in range(2):
        for firm in ("roaster_A", "farmer_A"):
            add_call(add_ask(run, add_turn(run, firm, day=day)), cost_micros=2 * USD, at_seconds=600 * (day + 1))
    run.day = 2
    run.save()
    text = plain(page(staff, f"/runs/{run.pk}/spend/"))
    assert "8.00 of 250.00 USD" in text
    assert "Ends about Mon 2 Nov, 00:00 UTC" in text  # 90 days of ten minutes, from 09:00
    assert "At most 5.00 USD in one simulated day." in text
    assert "farmer_A openai/gpt-5.5 4.00 – 2 0 0 6,000 67 200 80 1.5" in text
    assert "All 8.00 250.00 4 0 0 12,000 400 160" in text
    assert "Day 1 4.00 2 0 0 6,000 67 200 80 1.5" in text


def test_the_page_says_what_will_fill_it(staff: Client) -> None:
    assert "No language model plays in this run" in page(staff, f"/runs/{make_run().pk}/spend/")
    fresh = plain(page(staff, f"/runs/{make_model_run().pk}/spend/"))
    assert "0.00 USD" in fresh
    assert "The first full day will tell" in fresh
    assert "No call yet." in fresh


def test_an_unknown_price_is_unknown_and_not_zero(staff: Client) -> None:
    run = make_model_run()
    add_call(add_ask(run, add_turn(run)), cost_micros=None, most_micros=None)
    text = plain(page(staff, f"/runs/{run.pk}/spend/"))
    assert "at least 0.00 USD" in text
    assert "roaster_A openai/gpt-5.5 not known" in text


def test_the_page_costs_seven_queries_however_long_the_run(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = days_played(make_model_run("roaster_A", "farmer_A", days=90), [1.0] * 12)
    with django_assert_num_queries(SESSION_AND_USER + 5):  # run, by day, by firm, under way, firms
        page(staff, f"/runs/{run.pk}/spend/")


def test_the_page_of_a_run_costs_three_queries_more_where_models_play(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = days_played(make_model_run(days=90), [1.0] * 12)
    end_day(run, 11, {})
    with django_assert_num_queries(SESSION_AND_USER + 4 + 3):  # spend, who is waited for, flags
        page(staff, f"/runs/{run.pk}/")


def test_a_read_costs_three_queries_more_where_models_play(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = days_played(make_model_run(days=90), [1.0] * 3)
    add_event(run, "day_ended")
    with django_assert_num_queries(3 + 3):
        news = read_page(run.pk, 0, "")
    assert news is not None
    with django_assert_num_queries(1 + 2):
        assert read_page(run.pk, 1, news.state) is None


def rows_in(client: Client, run: Run) -> list[dict[str, Any]]:
    answer = client.get(f"/runs/{run.pk}/calls.csv")
    assert f'filename="coffeebench-run-{run.pk}-calls.csv"' in answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_budgets_are_set_where_the_spend_is_seen(staff: Client) -> None:
    run = make_model_run("roaster_A", "farmer_A", limits=Limits(budget_usd=10), status="paused", paused_by="budget")
    assert 'value="10"' in page(staff, f"/runs/{run.pk}/spend/")
    sent = {"run": "300", "day": "", "firm_roaster_A": "12.5", "firm_farmer_A": ""}
    answer = staff.post(f"/runs/{run.pk}/budgets/", sent, follow=True)
    assert "The budgets are set. The run still rests" in plain(answer.content.decode())
    run.refresh_from_db()
    assert (run.limits["budget_usd"], run.limits["day_budget_usd"], run.status) == (300, None, "paused")
    assert run.model_settings["roaster_A"]["budget_usd"] == 12.5
    assert run.model_settings["farmer_A"]["budget_usd"] is None


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"run": "a lot"}, "An amount from 0 to 1,000,000 USD, please"),
        ({"run": "-1"}, "An amount from 0 to 1,000,000 USD, please"),
        ({"run": "nan"}, "An amount from 0 to 1,000,000 USD, please"),
        ({"firm_roaster_A": "1e9"}, "An amount from 0 to 1,000,000 USD, please"),
        ({"run": "5", "day": "6"}, "day_budget_usd 6.0 exceeds budget_usd 5.0"),
    ],
)
def test_budgets_that_cannot_be_are_refused_and_nothing_changes(
    staff: Client, sent: dict[str, str], words: str
) -> None:
    run = make_model_run(limits=Limits(budget_usd=10))
    answer = staff.post(f"/runs/{run.pk}/budgets/", sent)
    assert answer.status_code == 422
    text = plain(answer.content.decode())
    assert "No budget was changed" in text
    assert words in text
    run.refresh_from_db()
    assert run.limits["budget_usd"] == 10


def test_a_budget_for_a_model_of_unknown_price_is_refused(staff: Client) -> None:
    run = make_model_run(settings={"model": "openai/unheard-of"})
    answer = staff.post(f"/runs/{run.pk}/budgets/", {"run": "5"})
    assert "no price is known for openai/unheard-of" in plain(answer.content.decode())


def test_a_run_that_is_over_has_no_budgets_to_set(staff: Client) -> None:
    run = make_model_run(status="finished")
    assert "spends nothing any more" in plain(page(staff, f"/runs/{run.pk}/spend/"))
    answer = staff.post(f"/runs/{run.pk}/budgets/", {"run": "5"})
    assert answer.status_code == 422
    run.refresh_from_db()
    assert run.limits["budget_usd"] is None


def test_only_staff_sets_budgets_and_only_by_a_form_of_ours(staff: Client) -> None:
    run = make_model_run()
    assert staff.get(f"/runs/{run.pk}/budgets/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="rosa"))
    assert strict.post(f"/runs/{run.pk}/budgets/", {"run": "5"}).status_code == 403
    stranger = Client()
    assert stranger.post(f"/runs/{run.pk}/budgets/", {"run": "5"}).status_code == 302
    run.refresh_from_db()
    assert run.limits["budget_usd"] is None


def test_the_file_has_a_row_a_call_with_what_it_cost(staff: Client) -> None:
    run = make_model_run()
    ask = add_ask(run, add_turn(run, day=2))
    add_call(ask, outcome="failed", cost_micros=None, most_micros=50_000, error="no answer within 300 s")
    add_call(ask, attempt=2)
    other = make_model_run()
    add_call(add_ask(other, add_turn(other)))
    failed, used = rows_in(staff, run)
    assert (failed["outcome"], failed["cost_usd"], failed["cost_at_most_usd"]) == ("failed", "", "0.05")
    assert (used["turn"], used["day"], used["firm"], used["attempt"]) == ("1", "2", "roaster_A", "2")
    assert (used["cost_usd"], used["input_tokens"], used["cached_tokens"]) == ("0.0123", "3000", "2000")
    assert used["ended_at"].startswith("2026-11-01T09:00:00.000")
    assert "chatcmpl" not in str(used)


def test_no_cell_of_the_file_is_a_formula(staff: Client) -> None:
    run = make_model_run()
    hostile = '=HYPERLINK("http://x","y")'
    add_call(
        add_ask(run, add_turn(run)), model_answered=hostile, error=f"\n{hostile}", finish_reason="@x", model_asked="+1"
    )
    (row,) = rows_in(staff, run)
    assert (row["model_answered"], row["finish_reason"], row["model_asked"]) == (f"'{hostile}", "'@x", "'+1")
    assert row["error"].startswith("'")


@pytest.mark.parametrize("address", ["/runs/1/spend/", "/runs/1/calls.csv"])
def test_only_staff_sees_what_models_cost(client: Client, address: str) -> None:
    make_run(pk=1)
    assert client.get(address).headers["location"] == f"/admin/login/?next={address}"
    client.force_login(User.objects.create_user("player"))
    assert client.get(address).status_code == 403
