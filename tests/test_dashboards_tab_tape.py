"""The tab Tape: every event, filtered, paged both ways, with its cause; and its download."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.tabs import tape, tape_search
from dashboards.tabs.pages import ROWS_PER_PAGE
from dashboards.tabs.tape_causes import DONE_BY
from dashboards.tape import GROUPS, Line, lines_of, rows_of
from marketplace.models import Batch, Deal, Firm, Listing, Message, Offer
from marketplace.rows import in_run, key_of
from simulation.models import Event, Run, Turn
from tests.looks import look
from tests.rows import FORMULA, SCRIPT, LittleRun
from tests.small_runs import add_event, make_run
from tests.talk_rows import add_turn
from tests.wild_runs import wild_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
RUN_AND_FIRMS = 2


@pytest.fixture
def run() -> Run:
    return wild_run()


def context_of(run: Run, until: int | None = None, knower: str = "", **asked: str | int) -> dict[str, Any]:
    """What the tab shows."""
    return tape.context(look(run, urlencode(asked), until, knower))


def numbers(context: dict[str, Any]) -> list[int]:
    return [told.line.number for told in context["told_lines"]]


def all_numbers(run: Run, **asked: Any) -> list[int]:
    """The numbers on every page, from the newest back."""
    context = context_of(run, **asked)
    found = numbers(context)
    while context["page"].earlier:
        context = context_of(run, **asked, before=context["page"].earlier)
        found += numbers(context)
    return found


def pages_of(run: Run) -> Iterator[dict[str, Any]]:
    """What the tab shows on each of its pages, from the newest back."""
    context = context_of(run)
    yield context
    while context["page"].earlier:
        context = context_of(run, before=context["page"].earlier)
        yield context


def every_line(run: Run) -> list[Line]:
    """The whole tape, newest first, by no filter at all."""
    names = dict(Firm.objects.filter(run=run).values_list("pk", "name"))
    return lines_of(rows_of(Event.objects.filter(**in_run(run.pk)).order_by("-pk")), names)


# Pages


def test_the_pages_hold_every_event_once_in_both_directions(run: Run) -> None:
    everything = [line.number for line in every_line(run)]
    assert len(everything) > 3 * ROWS_PER_PAGE
    assert all_numbers(run) == everything == list(range(run.events, 0, -1))
    context = context_of(run, before=ROWS_PER_PAGE)
    forth = numbers(context)
    while context["page"].later:
        context = context_of(run, since=context["page"].later)
        forth = numbers(context) + forth
    assert forth == everything[-len(forth) :]
    assert forth[0] == run.events


def test_a_page_past_the_end_leads_back_to_the_newest(staff: Client) -> None:
    run = LittleRun().run
    html = staff.get(f"/runs/{run.pk}/tabs/tape/?before=1").content.decode()
    assert "Nothing on the tape from here on" in html
    assert "Latest" in html


# Filters, each against every line looked at by itself


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_shows_its_kinds_alone(run: Run, group: str) -> None:
    expected = [line.number for line in every_line(run) if line.kind in GROUPS[group].kinds]
    assert expected
    assert all_numbers(run, group=group) == expected


def test_a_firm_shows_what_it_did_and_what_was_done_to_it(run: Run) -> None:
    expected = [line.number for line in every_line(run) if "roaster_A" in (line.firm, line.other)]
    assert all_numbers(run, firm="roaster_A") == expected


def test_days_are_cut_at_both_ends_and_at_the_day_that_is_shown(run: Run) -> None:
    lines = every_line(run)
    assert all_numbers(run, **{"from": 3, "to": 5}) == [line.number for line in lines if 3 <= line.day <= 5]
    assert all_numbers(run, until=4) == [line.number for line in lines if line.day <= 4]
    assert all_numbers(run, until=4, to=9) == [line.number for line in lines if line.day <= 4]
    assert all_numbers(run, **{"from": 5, "to": 3}) == []


@pytest.mark.parametrize(
    "text", ["roasted", "ROASTED COFFEE", "d1", "any left", "roaster_a", "☕", " kg roasted", "zzz", "%_"]
)
def test_a_text_is_found_where_a_reader_sees_it(run: Run, text: str) -> None:
    expected = [
        line.number
        for line in every_line(run)
        if text.lower() in f"{line.firm} {line.other} {line.text} {line.body}".lower()
    ]
    assert all_numbers(run, text=text) == expected
    assert bool(expected) == (text not in ("zzz", "%_"))


def test_filters_work_together(run: Run) -> None:
    expected = [
        line.number
        for line in every_line(run)
        if line.group == "trade" and "farmer_A" in (line.firm, line.other) and line.day >= 2 and "offers" in line.text
    ]
    assert expected
    assert all_numbers(run, group="trade", firm="farmer_A", text="offers", **{"from": 2}) == expected


def test_a_long_search_stops_and_says_where_to_go_on(run: Run, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape_search, "STRETCH", 100)
    monkeypatch.setattr(tape_search, "MOST_LOOKED_AT", 200)
    expected = [line.number for line in every_line(run) if "bankrupt" in line.text]
    found, before, looks = [], 0, 0
    while True:
        context = context_of(run, text="is bankrupt", before=before or run.events + 1)
        found += numbers(context)
        before, looks = context["found"].goes_on, looks + 1
        if not before:
            break
    assert found == expected
    assert looks > 2
    html = staff.get(f"/runs/{run.pk}/tabs/tape/?text=zzz").content.decode()
    assert "as far as it was looked through" in html
    assert "Look further back" in html
    forth = context_of(run, text="zzz", since=1)["found"]
    assert (forth.goes_on, forth.is_upwards) == (201, True)


@pytest.mark.parametrize(
    "query", ["group=gossip", "firm=nobody", "from=x", "to=-1", "before=1e9", f"text={'x' * 201}", "day=x", "as=nobody"]
)
def test_a_question_that_makes_no_sense_is_refused(staff: Client, query: str) -> None:
    run = LittleRun().run
    for address in ("tabs/tape/", "tape.csv"):
        assert staff.get(f"/runs/{run.pk}/{address}?{query}").status_code == (
            200 if query.startswith("before") and "csv" in address else 400
        )


# Causes


def test_every_event_has_the_turn_that_caused_it_or_a_rule(run: Run) -> None:
    made: dict[str, Any] = {"listing": Listing, "offer": Offer, "deal": Deal, "message": Message}
    turns = {turn.number: turn for turn in Turn.objects.filter(run=run)}
    checked: set[str] = set()
    for first in range(run.events, 0, -ROWS_PER_PAGE):
        for told in context_of(run, before=first + 1)["told_lines"]:
            event = Event.objects.get(pk=key_of(run.pk, told.line.number))
            turn = turns.get(told.cause.turn)
            assert turn or told.cause.rule, f"{event.kind} has no cause"
            if turn is None:
                continue
            checked.add(event.kind)
            assert turn.accepted
            if event.kind.startswith("batch"):
                assert turn.pk == Batch.objects.get(pk=key_of(run.pk, int(event.data["batch"][1:]))).turn_id
            elif event.kind.startswith("shipment") and event.kind != "shipment_returned":
                assert turn.pk == Deal.objects.get(pk=key_of(run.pk, int(event.data["deal"][1:]))).turn_id
            else:
                tool, name = DONE_BY.get(
                    event.kind, ("accept_offer", "")
                )  # an offer is turned down by accepting another
                assert (turn.tool, turn.firm_id, turn.minute) == (tool, event.firm_id, event.minute)
                if name in made and event.kind != "offer_withdrawn":
                    row = made[name].objects.get(pk=key_of(run.pk, int(event.data[name][1:])))
                    assert turn.pk == row.turn_id
    assert len(checked) > 10


def test_offers_are_turned_down_by_the_turn_that_sold_out_their_own_listing(run: Run) -> None:
    listings = {f"{offer.label}": offer.listing_id for offer in Offer.objects.filter(**in_run(run.pk))}
    found = 0
    for told in (each for page in pages_of(run) for each in page["told_lines"]):
        if told.line.kind == "offer_rejected" and told.cause.turn:
            turn = Turn.objects.get(pk=key_of(run.pk, told.cause.turn))
            offer = re.findall(r"O\d+", told.line.text)[0]
            assert listings[json.loads(turn.arguments)["offer_id"]] == listings[offer]
            found += 1
    assert found


def test_of_two_prices_of_a_minute_each_has_its_own_turn() -> None:
    run = make_run()
    for price in (20.0, 22.5):
        result = json.dumps({"ok": True, "prices": {"roasted_coffee_kg": price}}, separators=(",", ":"))
        add_turn(run, "retailer_A", tool="set_retail_price", arguments="{}", result=result)
        add_event(run, "price_set", "retailer_A", item="roasted_coffee_kg", price=price)
    assert [told.cause.turn for told in context_of(run)["told_lines"]] == [2, 1]


def test_the_page_links_an_event_to_its_turn(staff: Client) -> None:
    run = LittleRun().run
    html = staff.get(f"/runs/{run.pk}/tabs/tape/").content.decode()
    rows = re.findall(r'data-key="(\d+)".*?</li>', html, re.DOTALL)
    assert rows == ["3", "2", "1"]
    assert 'href="/runs/7/turns/3/"' in html  # the letter
    assert "RULES 3" in html  # the evening


# As a firm knew it


def test_a_firm_sees_its_own_side_listings_evenings_and_bankruptcies_of_earlier_days(run: Run) -> None:
    lines = {line.number: line for line in every_line(run)}
    for until in (2, 9, run.day):
        seen = set(all_numbers(run, until=until, knower="roaster_B"))
        expected = {
            number
            for number, line in lines.items()
            if line.day <= until
            and (
                "roaster_B" in (line.firm, line.other)
                or line.kind in ("listing_posted", "day_ended", "run_ended")
                or (line.kind == "bankrupt" and line.day < until)
            )
        }
        assert seen == expected
        assert len(seen) < sum(line.day <= until for line in lines.values())


def test_a_firm_is_led_to_its_own_turns_alone(run: Run) -> None:
    own = {turn.number for turn in Turn.objects.filter(run=run, firm__name="roaster_B")}
    led = 0
    for first in range(run.events, 0, -ROWS_PER_PAGE):
        for told in context_of(run, knower="roaster_B", before=first + 1)["told_lines"]:
            assert not told.cause.turn or told.cause.turn in own
            led += bool(told.cause.turn)
    assert led > 20


def test_filters_of_others_show_a_firm_no_more(run: Run) -> None:
    for number in all_numbers(run, knower="roaster_B", firm="farmer_A"):
        event = Event.objects.select_related("firm", "other").get(pk=key_of(run.pk, number))
        names = (event.firm and event.firm.name, event.other and event.other.name)
        assert "farmer_A" in names
        assert "roaster_B" in names or event.kind in ("listing_posted", "bankrupt")


# The download


async def all_of(response: Any) -> list[bytes]:
    return [piece async for piece in response]


def rows_in(staff: Client, run: Run, query: str = "") -> list[list[str]]:
    response = staff.get(f"/runs/{run.pk}/tape.csv?{query}")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    text = b"".join(async_to_sync(all_of)(response)).decode()
    return list(csv.reader(io.StringIO(text)))


def test_the_download_holds_every_line_of_the_filter_oldest_first(staff: Client, run: Run) -> None:
    headings, *rows = rows_in(staff, run)
    assert headings == ["event", "day", "weekday", "time", "kind", "firm", "other", "what", "text"]
    assert [int(row[0]) for row in rows] == list(range(1, run.events + 1))
    for query, asked in (
        ("group=trade&firm=farmer_A&from=2&to=9", {"group": "trade", "firm": "farmer_A", "from": 2, "to": 9}),
        ("text=bankrupt", {"text": "bankrupt"}),
    ):
        _, *rows = rows_in(staff, run, f"{query}&before=3&since=4")
        assert [int(row[0]) for row in rows] == all_numbers(run, **asked)[::-1]
    _, *rows = rows_in(staff, run, "day=5&as=roaster_A")
    assert [int(row[0]) for row in rows] == all_numbers(run, until=5, knower="roaster_A")[::-1]


def test_no_cell_of_the_download_is_a_formula(staff: Client) -> None:
    run = make_run()
    for body in (FORMULA, "+1", "-1", "@SUM(A1)", "\t=1", "  =1"):
        add_event(run, "message_sent", "roaster_A", "retailer_A", message="M1", title=body, body=body)
    _, *rows = rows_in(staff, run)
    assert len(rows) == 6
    for row in rows:
        assert not any(cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) for cell in row)
        assert row[8].startswith("'")


# What it costs, and what it lets through


def test_the_tab_costs_so_many_queries_however_long_the_tape(
    staff: Client, run: Run, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for query in ("", "before=300", "group=goods", "firm=farmer_A&text=kg", "as=farmer_A&day=9"):
        # events, turns, deals, batches, deals that sold out a listing
        with django_assert_max_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + 5) as seen:
            staff.get(f"/runs/{run.pk}/tabs/tape/?{query}")
        assert len(seen) >= SESSION_AND_USER + RUN_AND_FIRMS + 2


def test_hostile_words_are_text_on_the_tape(staff: Client) -> None:
    run = LittleRun().run
    for query in ("", "text=%3Cscript", "text=%22%3E%3Cscript%3E"):
        html = staff.get(f"/runs/{run.pk}/tabs/tape/?{query}").content.decode()
        assert "<script" not in html
    html = staff.get(f"/runs/{run.pk}/tabs/tape/?text=%22%3E%3Cscript%3E").content.decode()
    assert "&quot;&gt;&lt;script&gt;" in html
    assert SCRIPT not in html


def test_strangers_get_nothing(client: Client) -> None:
    run = LittleRun().run
    assert client.get(f"/runs/{run.pk}/tape.csv").status_code == 302
    client.force_login(User.objects.create_user("sam"))
    assert client.get(f"/runs/{run.pk}/tape.csv").status_code == 403
    assert client.get("/runs/99/tape.csv").status_code == 403


def test_an_empty_tape_says_what_will_fill_it(staff: Client) -> None:
    html = staff.get(f"/runs/{make_run().pk}/tabs/tape/").content.decode()
    assert "Nothing here yet. The first trades usually come on day 0 or 1." in html
