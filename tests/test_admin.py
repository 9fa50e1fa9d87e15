"""The filing cabinet: what it shows, what it finds, what it refuses, and how little it asks of the database."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from marketplace.admin import showing
from marketplace.admin.drawer import drawers
from marketplace.admin.finding import read_label, read_number
from marketplace.admin.question import WINDOW, read_downward, read_upward
from marketplace.models import Deal, Firm, Invoice, Listing, Message, Offer, Transfer
from marketplace.rows import RunRow, key_of
from simulation.models import DayEnd, Event, Run, Turn
from tests.rows import FORMULA, RETAILER, REVERSED, ROASTER, SCRIPT, LittleRun

pytestmark = pytest.mark.django_db

MODELS: list[type[Any]] = [model for model in RunRow.__subclasses__() if admin.site.is_registered(model)]


@pytest.fixture
def little(db: None) -> LittleRun:
    return LittleRun()


@pytest.fixture
def client(db: None) -> Client:
    """A researcher's browser: a staff account, with no permission beside."""
    client = Client()
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    return client


def listed(client: Client, model: type[Any], **filters: object) -> str:
    """The list of a model, which must answer."""
    response = client.get(showing.list_url(model, **filters))
    assert response.status_code == 200, filters
    return response.content.decode()


def page(client: Client, model: type[Any], key: int, **params: int | str) -> str:
    """The page of a row, which must answer."""
    response = client.get(showing.row_url(model, key), params)
    assert response.status_code == 200
    return response.content.decode()


def labels(html: str) -> list[str]:
    """The ids in the first column of a page's table."""
    body = html.split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return re.findall(r'<tr><td class="label"><a href="[^"]+">([^<]+)</a>', body)


def plain(html: str) -> str:
    """The text of a page without its tags, spaces made single."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.replace('<span class="micros">', "")).split())


# What is written, and how.


@pytest.mark.parametrize(
    ("amount_micros", "text"),
    [
        (0, "0.00"),
        (1_234_500_000, "1,234.50"),
        (-12_000_000, "−12.00"),
        (123_456, "0.123456"),
        (12_345_678, "12.345678"),
        (5_882_000, "5.882"),
        (-1, "−0.000001"),
        (9_007_199_254_740_993, "9,007,199,254.740993"),
        (None, "–"),
    ],
)
def test_money_is_written_to_the_cent_and_beyond_it_exactly(amount_micros: int | None, text: str) -> None:
    assert showing.money(amount_micros) == text
    assert re.sub("<[^>]+>", "", showing.amount(amount_micros)) == text


@pytest.mark.parametrize(
    ("minute", "text"),
    [(0, "Day 0 · Mon 00:00"), (12 * 1440 + 870, "Day 12 · Sat 14:30"), (89 * 1440 + 540, "Day 89 · Sat 09:00")],
)
def test_time_is_the_day_its_weekday_and_the_clock(minute: int, text: str) -> None:
    assert showing.moment(minute) == text


@pytest.mark.parametrize(
    ("typed", "name", "run_id"),
    [
        ("L12", "L12", None),
        (" l12 ", "L12", None),
        ("7:L12", "L12", 7),
        ("run 7 L12", "L12", 7),
        ("run7:t99", "T99", 7),
        ("7 turn 40", "turn 40", 7),
        ("event 3", "event 3", None),
    ],
)
def test_a_row_is_named_as_players_name_it(typed: str, name: str, run_id: int | None) -> None:
    label = read_label(typed)
    assert label is not None
    assert (label.name, label.run_id) == (name, run_id)


@pytest.mark.parametrize(
    "typed", ["", "L", "12", "Q7", "L12 L13", "99999999999:L1", "L1234567890", "roaster_A", "٣:L٣"]
)
def test_what_names_no_row_is_no_label(typed: str) -> None:
    assert read_label(typed) is None


def test_a_large_number_is_a_key_in_full_and_a_small_one_an_ordinal() -> None:
    assert read_number("7000000012", Listing) == (Listing, 12, 7)
    assert read_number("12", Listing) == (Listing, 12, None)
    assert read_number("9" * 30, Listing) is None


# Lists.


def test_every_drawer_opens_and_so_does_every_row_in_it(client: Client, little: LittleRun) -> None:
    for model in MODELS:
        listed(client, model)
        for key in model.objects.values_list("pk", flat=True):
            page(client, model, key)
    assert page(client, Run, little.run.pk)
    assert client.get("/admin/").status_code == 200


def test_an_empty_cabinet_says_what_will_fill_it(client: Client, db: None) -> None:
    assert "No transfers yet. A run writes them as it goes." in listed(client, Transfer)
    assert "python manage.py simulate" in client.get("/admin/").content.decode()


def test_the_newest_row_comes_first_with_units_in_the_header(client: Client, little: LittleRun) -> None:
    html = listed(client, Transfer)
    assert labels(html)[:2] == ["T16", "T15"]
    assert "amount, USD" in html
    assert "Day 1 · Tue 19:00" in html
    assert "run 7" in html


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"run": 7}, 16),
        ({"run": 8}, 0),
        ({"run": 7, "firm": "roaster_A"}, 9),
        ({"firm": key_of(7, ROASTER)}, 9),
        ({"run": 7, "day": 0}, 7),
        ({"run": 7, "day": "0-1"}, 16),
        ({"day": 1}, 9),
        ({"run": 7, "account": "cash"}, 10),
        ({"run": 7, "account": "cost_of_goods_sold"}, 2),
        ({"run": 7, "account": "net_income"}, 8),
        ({"run": 7, "item": "roasted_coffee_kg"}, 7),
        ({"item": "roasted_coffee_kg"}, 7),
        ({"run": 7, "firm": "retailer_A", "day": 1, "account": "inventory", "item": "roasted_coffee_kg"}, 2),
        ({"run": 7, "deal": "D1"}, 6),
        ({"deal": key_of(7, 1)}, 6),
        ({"run": 7, "turn": 6}, 2),
        ({"run": 7, "q": "I1"}, 5),
        ({"q": "7:B1"}, 1),
        ({"run": 7, "q": "T3"}, 1),
        ({"q": "run 7 T3"}, 1),
        ({"q": str(key_of(7, 3))}, 1),
        ({"q": "T3"}, 2),
        ({"q": "run 7"}, 16),
        ({"run": 7, "q": "retailer_A"}, 7),
        ({"run": 7, "q": "nobody"}, 0),
        ({"q": "D1"}, 0),
    ],
)
def test_filters_and_searches_work_alone_and_together(
    client: Client, little: LittleRun, filters: dict[str, object], expected: int
) -> None:
    other = LittleRun(9)
    Transfer.objects.filter(run=other.run, day=1).delete()
    Transfer.objects.filter(run=other.run).exclude(pk=other.key(3)).update(item="", day=2)
    Transfer.objects.filter(pk=other.key(3)).update(day=2)
    assert len(labels(listed(client, Transfer, **filters))) == expected


HOSTILE = [
    {"run": "abc"},
    {"run": "-1"},
    {"run": "0"},
    {"run": "9" * 30},
    {"run": "9223372036"},
    {"run": "9223372035"},
    {"run": "7; drop table marketplace_transfer"},
    {"run": "\x00"},
    {"run": 7, "firm": "\x00"},
    {"run": 7, "firm": "nobody"},
    {"firm": "roaster_A"},
    {"firm": "9" * 30},
    {"firm": "12"},
    {"run": 7, "day": "-1"},
    {"run": 7, "day": "9" * 30},
    {"run": 7, "day": "999999-0"},
    {"run": 7, "day": "999999"},
    {"run": 7, "day": "१२"},
    {"run": 7, "account": "';--"},
    {"run": 7, "account": "\x00"},
    {"run": 7, "item": "' OR 1=1 --"},
    {"run": 7, "item": "x" * 5000},
    {"run": 7, "deal": "L1"},
    {"run": 7, "deal": "9" * 30},
    {"deal": "D1"},
    {"run": 7, "turn": "';--"},
    {"q": "\x00"},
    {"q": "%"},
    {"q": "x" * 100_000},
    {"q": SCRIPT},
    {"q": "9" * 19},
    {"q": "99999999999:L1"},
    {"run": 7, "before": "abc"},
    {"run": 7, "before": "-1"},
    {"run": 7, "before": "9" * 30},
    {"run": 7, "after": "9" * 19},
    {"before": "0"},
    {"o": "1.2.-99"},
    {"p": "99999999"},
    {"all": ""},
    {"e": "1"},
    {"_to_field": "password"},
    {"_popup": "1"},
    {"run__scenario__contains": "x"},
    {"debit__regex": "(a+)+$"},
    {"status": "';--"},
    {"kind": "';--"},
    {"accepted": "maybe"},
    {"tool": SCRIPT},
]


@pytest.mark.parametrize("params", HOSTILE, ids=lambda params: str(params)[:40])
def test_hostile_parameters_are_ignored_or_answered_in_words(
    client: Client, little: LittleRun, params: dict[str, object]
) -> None:
    for model in (Transfer, Turn, Run):
        assert SCRIPT not in listed(client, model, **params)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.__name__))
def test_no_drawer_minds_nonsense_in_all_its_filters_at_once(
    client: Client, little: LittleRun, model: type[Any]
) -> None:
    names = ("firm", "day", "account", "item", "status", "kind", "role", "player", "turn", "deal", "listing", "before")
    for nonsense in ("';--", "-1", "9" * 30, SCRIPT, "\x00"):
        assert SCRIPT not in listed(client, model, run=7, **dict.fromkeys(names, nonsense))
        assert SCRIPT not in listed(client, model, run=7, q=nonsense)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"run": "abc"}, "A run is a whole number, from 1. Left out."),
        ({"run": "9" * 30}, "There is no such run. Left out."),
        ({"run": 8}, "There is no run 8."),
        ({"run": 7, "day": "-1"}, "A day is a whole number from 0; several are written 0-12. Left out."),
        ({"run": 7, "account": "';--"}, "is not one of the available choices. Left out."),
        ({"run": 7, "firm": "nobody"}, "Run 7 has no such firm. It has roaster_A, retailer_A. Left out."),
        ({"firm": "roaster_A"}, "Choose a run first, then one of its firms. Left out."),
        ({"deal": "D1"}, "Choose a run first, or write it as 7:D1. Left out."),
        ({"run": 7, "q": "L1"}, "Open L1 of run 7 (listing)"),
        ({"q": "L1"}, "Choose a run to find L1, or write 7:L1."),
        ({"q": "roaster_A"}, "Firms are found by their names once a run is chosen."),
    ],
)
def test_a_value_that_makes_no_sense_is_named_beside_its_field(
    client: Client, little: LittleRun, params: dict[str, object], words: str
) -> None:
    assert words in plain(listed(client, Transfer, **params))


def test_firms_and_items_become_menus_once_a_run_is_chosen(client: Client, little: LittleRun) -> None:
    assert "<option" not in listed(client, Turn).split('id="filter_firm"')[1].split("</div>")[0]
    html = listed(client, Transfer, run=7)
    assert '<option value="retailer_A">retailer_A</option>' in html
    assert '<option value="roasted_coffee_kg">roasted_coffee_kg</option>' in html


def test_messages_are_searched_by_their_words(client: Client, little: LittleRun) -> None:
    assert labels(listed(client, Message, run=7, q="free beans")) == ["M1"]
    assert labels(listed(client, Message, q="FREE beans")) == ["M1"]
    assert labels(listed(client, Message, q="nothing of it")) == []


def test_a_list_shows_sums_of_what_is_filtered_once_a_run_bounds_them(client: Client, little: LittleRun) -> None:
    assert "Choose a run to see sums." in listed(client, Transfer)
    assert "transfers 16 amounts, USD 3,943.145678" in plain(listed(client, Transfer, run=7))
    cash = plain(listed(client, Transfer, run=7, firm="roaster_A", account="cash"))
    assert "debits of cash, USD 1,092.00 credits of cash, USD 72.345678 balance of cash, USD 1,019.654322" in cash


def test_a_group_of_accounts_adds_up_to_its_figure(client: Client, little: LittleRun) -> None:
    text = plain(listed(client, Transfer, run=7, firm="roaster_A", account="net_income"))
    # 92 earned, less 58.80 of goods and twice 30 of rent: income stands on the credit side.
    assert "balance of net income, USD 26.80" in text


def test_sums_beyond_64_bits_are_exact(client: Client, little: LittleRun) -> None:
    Transfer.objects.filter(run=little.run).update(amount_micros=2**63 - 1)
    assert "147,573,952,589,676.412912" in plain(listed(client, Transfer, run=7))
    assert "BROKEN" not in page(client, Firm, little.key(ROASTER))


# Pages of a list.


def test_pages_are_walked_without_losing_or_repeating_a_row(client: Client, little: LittleRun) -> None:
    rows = Transfer.objects.filter(run=little.run)
    seen, before = [], None
    while True:
        found = read_downward(rows, before, 5, None)
        seen += [row.number for row in found.rows]
        if found.before is None:
            break
        before = found.before
    assert seen == list(range(16, 0, -1))
    oldest = read_upward(rows, 0, 5, None)
    assert [row.number for row in oldest.rows] == [5, 4, 3, 2, 1]
    assert (oldest.before, oldest.after) == (None, little.key(5))


def test_a_search_without_a_run_stops_after_so_many_rows_and_goes_on_from_there(little: LittleRun) -> None:
    rows = Transfer.objects.filter(reason="opening stock")
    seen, before, pages = [], None, 0
    while True:
        found = read_downward(rows, before, 5, window=4)
        seen += [row.number for row in found.rows]
        pages += 1
        if found.before is None:
            break
        before = found.before
    assert seen == [2]
    assert pages == 4
    upward = read_upward(rows, 0, 5, window=4)
    assert [row.number for row in upward.rows] == [2]
    assert upward.after == little.key(4)


def test_a_list_that_stopped_looking_says_so(
    client: Client, little: LittleRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WINDOW >= 100_000
    monkeypatch.setattr("marketplace.admin.question.WINDOW", 4)
    html = listed(client, Transfer, day=0)
    assert "Only so many rows are looked through at a time" in html
    assert "older" in html
    assert "Only so many" not in listed(client, Transfer, run=7, day=0)


# Rows and what is behind them.


def hrefs(html: str) -> set[str]:
    """Where a page leads."""
    return set(re.findall(r'href="([^"]+)"', html.replace("&amp;", "&")))


def test_a_transfer_leads_down_to_the_words_that_caused_it(client: Client, little: LittleRun) -> None:
    html = page(client, Transfer, little.key(14))
    assert {showing.row_url(Deal, little.key(1)), showing.row_url(Invoice, little.key(1))} <= hrefs(html)
    assert {showing.row_url(Turn, little.key(number)) for number in (1, 2, 4, 6)} <= hrefs(html)
    text = plain(html)
    assert "turn 6 of retailer_A brought it about: pay_invoice invoice_id I1 Pay early, sleep well." in text
    assert "turn 1 of roaster_A posted the listing" in text
    assert "Stock is money asleep." in text


def test_a_transfer_of_the_clock_says_that_no_turn_is_behind_it(client: Client, little: LittleRun) -> None:
    assert "No turn is behind it: the clock did it." in page(client, Transfer, little.key(4))


def test_a_batch_of_transfers_leads_to_the_turn_that_started_it(client: Client, little: LittleRun) -> None:
    assert "turn 5 of roaster_A brought it about" in plain(page(client, Transfer, little.key(7)))


def test_a_deal_leads_to_its_offer_listing_invoices_transfers_and_firms(client: Client, little: LittleRun) -> None:
    html = page(client, Deal, little.key(1))
    rows: list[tuple[type[Any], int]] = [
        (Offer, 1),
        (Listing, 1),
        (Invoice, 1),
        (Firm, ROASTER),
        (Firm, RETAILER),
        (Turn, 4),
    ]
    rows += [(Transfer, number) for number in (6, 10, 11, 12, 13, 14)]
    assert {showing.row_url(model, little.key(number)) for model, number in rows} <= hrefs(html)


def test_a_turn_shows_everything_it_caused_in_the_books_of_all_firms(client: Client, little: LittleRun) -> None:
    paid = page(client, Turn, little.key(6))
    assert {showing.row_url(Transfer, little.key(number)) for number in (13, 14)} <= hrefs(paid)
    assert showing.row_url(Deal, little.key(1)) in hrefs(page(client, Turn, little.key(4)))
    assert showing.row_url(Message, little.key(1)) in hrefs(page(client, Turn, little.key(3)))


def test_an_event_links_the_rows_it_names(client: Client, little: LittleRun) -> None:
    found = hrefs(page(client, Event, little.key(2)))
    assert {showing.row_url(Deal, little.key(1)), showing.row_url(Offer, little.key(1))} <= found
    assert showing.row_url(Turn, little.key(4)) in found


def test_what_players_wrote_is_shown_as_words(client: Client, little: LittleRun) -> None:
    pages = [page(client, model, little.key(1)) for model in (Offer, Message, Event)]
    pages += [page(client, Turn, little.key(number)) for number in range(1, 9)]
    pages += [listed(client, model, run=7) for model in (Offer, Message, Turn, Event)]
    pages += [page(client, Run, 7), client.get("/admin/").content.decode()]
    for html in pages:
        assert SCRIPT not in html
        assert FORMULA not in html
    assert escape(SCRIPT) in pages[0]
    assert f'<span class="words">{REVERSED}</span>' in page(client, Turn, little.key(5))


def test_long_words_are_folded_and_broken_json_is_shown_as_it_stands(client: Client, little: LittleRun) -> None:
    assert "<details>" in page(client, Turn, little.key(7))
    assert "[[[[[[" in page(client, Turn, little.key(8))
    assert "\\ud800" in page(client, Turn, little.key(5))


def test_the_rows_before_and_after_are_one_step_away(client: Client, little: LittleRun) -> None:
    found = hrefs(page(client, Transfer, little.key(5)))
    assert {showing.row_url(Transfer, little.key(4)), showing.row_url(Transfer, little.key(6))} <= found


@pytest.mark.parametrize("key", ["abc", "0", "-1", "9" * 30, "7000000099", "7000000001.5", "%00", "_5F"])
def test_a_row_that_is_not_there_is_said_so(client: Client, little: LittleRun, key: str) -> None:
    response = client.get(f"/admin/marketplace/transfer/{key}/change/", follow=True)
    assert response.status_code == 200
    assert "There is no transfer" in response.content.decode()


# A firm's books.


def test_a_firms_page_adds_its_books_up_from_the_ledger(client: Client, little: LittleRun) -> None:
    text = plain(page(client, Firm, little.key(ROASTER)))
    assert "cash asset 1,092.00 72.345678 1,019.654322" in text
    assert "all accounts 1,550.345678 1,550.345678 0.00" in text
    assert "revenue 92.00 returns 0.00 cost of goods sold 58.80 rent and utilities 60.00" in text
    assert "net income −26.80" in text
    assert "equity 1,149.60" in text


def test_the_identity_of_section_4_is_checked_before_the_readers_eyes(client: Client, little: LittleRun) -> None:
    text = plain(page(client, Firm, little.key(ROASTER)))
    assert "net income so far, USD −26.80" in text
    assert "equity now, USD 1,149.60" in text
    assert "opening equity, USD 1,176.40" in text
    assert "✓ holds exactly" in text
    assert "differs by" not in text


def test_books_that_do_not_add_up_are_called_broken(client: Client, little: LittleRun) -> None:
    Transfer.objects.filter(pk=little.key(10)).update(credit="petty_cash")
    text = plain(page(client, Firm, little.key(ROASTER)))
    assert "✗ BROKEN by −92.00" in text
    assert "petty cash unknown 0.00 92.00 −92.00" in text
    assert "revenue 0.00 92.00 differs by −92.00" in text
    assert "BROKEN by −92.00" in plain(page(client, Run, 7))


def test_a_firms_books_are_read_as_of_any_evening(client: Client, little: LittleRun) -> None:
    text = plain(page(client, Firm, little.key(ROASTER), day=0))
    assert "The books at the end of day 0" in text
    assert "goods in transit asset 58.80 0.00 58.80" in text
    assert "net income −30.00" in text
    assert "goods in transit 58.80 58.80 agrees" in text
    assert "differs by" not in text


def test_an_evening_kept_differently_from_the_ledger_shows(client: Client, little: LittleRun) -> None:
    DayEnd.objects.filter(firm=little.key(ROASTER), day=0).update(cash_micros=1)
    assert "differs by 957.654321" in plain(page(client, Firm, little.key(ROASTER), day=0))


def test_the_score_of_a_bankrupt_firm_is_told_apart_from_its_books(client: Client, little: LittleRun) -> None:
    Firm.objects.filter(pk=little.key(ROASTER)).update(bankrupt_day=0, net_income_micros=-30_000_000)
    text = plain(page(client, Firm, little.key(ROASTER)))
    assert "Its score of −30.00 USD was frozen when it went bankrupt on day 0" in text
    assert "differs by" not in text


@pytest.mark.parametrize("day", ["-1", "abc", "9" * 30, "1.5", "\x00"])
def test_a_day_that_is_none_reads_the_books_of_now(client: Client, little: LittleRun, day: str) -> None:
    text = plain(page(client, Firm, little.key(ROASTER), day=day))
    assert "The books now" in text
    assert "Left out." in text


def test_every_figure_of_a_firm_leads_to_its_transfers(client: Client, little: LittleRun) -> None:
    found = hrefs(page(client, Firm, little.key(ROASTER), day=0))
    account = showing.list_url(Transfer, run=7, firm="roaster_A", day="0-0", account="goods_in_transit")
    net_income = showing.list_url(Transfer, run=7, firm="roaster_A", day="0-0", account="net_income")
    assert {account, net_income} <= found
    assert "balance of net income, USD 30.00" in plain(client.get(net_income).content.decode())


def test_a_runs_page_adds_up_all_its_firms(client: Client, little: LittleRun) -> None:
    text = plain(page(client, Run, 7))
    assert "roaster_A roaster passive trading −26.80 −26.80 1,149.60 holds exactly" in text
    assert "net income so far, USD −91.60" in text
    assert "Transfers 16" in text
    assert "Turns 8" in text


# Who may do what.


def test_nothing_the_engine_owns_can_be_added_changed_or_deleted(little: LittleRun) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    for model in MODELS:
        url = showing.row_url(model, little.key(1))
        assert client.post(url, {"amount_micros": 1}).status_code == 403
        assert client.post(showing.list_url(model), {"action": "delete_selected"}).status_code == 403
        assert client.get(url.replace("/change/", "/delete/")).status_code == 403
        assert client.post(url.replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
        assert client.get(f"{showing.list_url(model)}add/").status_code == 403


def test_only_the_name_of_a_run_changes_and_nothing_the_runner_wrote_meanwhile_is_lost(little: LittleRun) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    with CaptureQueriesContext(connection) as queries:
        response = client.post(showing.row_url(Run, 7), {"name": "renamed", "seed": 99, "status": "draft"})
    assert response.status_code == 302
    (update,) = [query["sql"] for query in queries if query["sql"].startswith('UPDATE "simulation_run"')]
    assert update.count(" = ") == 2  # SET name, WHERE id
    run = Run.objects.get(pk=7)
    assert (run.name, run.seed, run.status) == ("renamed", 0, "running")
    assert client.get(showing.row_url(Run, 7).replace("/change/", "/delete/")).status_code == 403


def test_a_researcher_reads_everything_and_renames_only_if_allowed(client: Client, little: LittleRun) -> None:
    assert "Change the name" not in page(client, Run, 7)
    assert client.post(showing.row_url(Run, 7), {"name": "mine"}).status_code == 403
    User.objects.get(username="rosa").user_permissions.add(Permission.objects.get(codename="change_run"))
    assert "Change the name" in page(client, Run, 7)


def test_who_is_not_staff_sees_nothing(little: LittleRun) -> None:
    client = Client()
    client.force_login(User.objects.create_user("player"))
    for url in ("/admin/", showing.list_url(Transfer), showing.row_url(Transfer, little.key(1))):
        assert client.get(url).status_code == 302


# How little it asks.


def queries_of(client: Client, url: str) -> list[str]:
    """The queries of a request, without those that find out who is asking."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return [query["sql"] for query in captured if "django_session" not in query["sql"] and "auth_" not in query["sql"]]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.__name__))
def test_a_list_costs_the_same_queries_however_many_rows_it_shows(
    client: Client, little: LittleRun, model: type[Any]
) -> None:
    whole_table = queries_of(client, showing.list_url(model))
    of_run = queries_of(client, showing.list_url(model, run=7))
    assert len(whole_table) == 1
    assert len(of_run) <= 4  # the run, its firms, the sums, the rows
    assert not [sql for sql in whole_table if "COUNT(" in sql]
    LittleRun(8)
    assert len(queries_of(client, showing.list_url(model))) == len(whole_table)


def test_an_account_of_a_firm_takes_one_query_more_for_its_two_sides(client: Client, little: LittleRun) -> None:
    url = showing.list_url(Transfer, run=7, firm="roaster_A", account="cash", day="0-1", item="roasted_coffee_kg")
    assert len(queries_of(client, url)) == 5


def test_a_firms_books_are_one_aggregate_query(client: Client, little: LittleRun) -> None:
    queries = queries_of(client, showing.row_url(Firm, little.key(ROASTER)))
    assert len([sql for sql in queries if "SUM(" in sql]) == 1
    assert len(queries) == 3  # the firm, its neighbours, its sums


def test_a_runs_books_are_one_aggregate_query(client: Client, little: LittleRun) -> None:
    queries = queries_of(client, showing.row_url(Run, 7))
    assert len([sql for sql in queries if "SUM(" in sql]) == 1
    assert not [sql for sql in queries if "COUNT(" in sql]
    assert len(queries) == len(drawers(admin.site)) + 3  # the last row of each drawer; the run, its firms, its sums


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="plans are read as SQLite writes them")
@pytest.mark.parametrize(
    "url",
    [
        "/admin/marketplace/transfer/?run=7",
        "/admin/marketplace/transfer/?run=7&firm=roaster_A&day=1&account=cash&item=roasted_coffee_kg",
        "/admin/marketplace/transfer/?run=7&deal=D1",
        "/admin/marketplace/transfer/?q=T3",
        "/admin/marketplace/transfer/7000000014/change/",
        "/admin/marketplace/listing/7000000001/change/",
        "/admin/marketplace/offer/7000000001/change/",
        "/admin/marketplace/deal/7000000001/change/",
        "/admin/marketplace/invoice/7000000001/change/",
        "/admin/marketplace/message/7000000001/change/",
        "/admin/marketplace/batch/7000000001/change/",
        "/admin/marketplace/consumersale/7000000001/change/",
        "/admin/marketplace/firm/7000000001/change/?day=0",
        "/admin/simulation/turn/7000000004/change/",
        "/admin/simulation/event/7000000002/change/",
        "/admin/simulation/dayend/7000000001/change/",
        "/admin/simulation/run/7/change/",
    ],
)
def test_nothing_is_read_from_end_to_end(client: Client, little: LittleRun, url: str) -> None:
    for sql in queries_of(client, url):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            steps = [row[-1] for row in cursor.fetchall()]
        tables = [step for step in steps if step.startswith(("SCAN marketplace_", "SCAN simulation_"))]
        # The newest runs, whose keys "T3" is looked up by, are read from the end of their own index.
        assert not [step for step in tables if "simulation_run" not in step], sql
