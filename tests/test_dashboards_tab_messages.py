"""The tab Messages: threads as they stood, as a firm knew them, a search, and texts that would be more than text."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboards.figure_rows import rows_behind
from dashboards.tabs import messages
from dashboards.tabs.messages_marks import Part, in_context, marked
from dashboards.tabs.messages_rows import PAGE, Text, pattern_of
from marketplace.economy.money import micros
from marketplace.models import Listing, Message, Offer
from marketplace.rows import key_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Run
from tests.looks import look
from tests.small_runs import MORNING, add_event, make_run
from tests.talk_rows import add_turn, firm_of

A, B, FARMER, SHOP = "roaster_A", "roaster_B", "farmer_A", "retailer_A"
GREEN = "green_coffee_kg"
HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(2)> \N{RIGHT-TO-LEFT OVERRIDE}dellecnac & =1+1"


def write(run: Run, sender: str, recipient: str, title: str = "Hello", body: str = "A word.", **more: Any) -> Message:
    """A letter: its row and its event."""
    day, minute = more.pop("day", 0), more.pop("minute", MORNING)
    number = Message.objects.filter(run=run).count() + 1
    add_event(
        run, "message_sent", sender, recipient, day=day, minute=minute, message=f"M{number}", title=title, body=body
    )
    return Message.objects.create(
        pk=key_of(run.pk, number),
        run=run,
        sender=firm_of(run, sender),
        recipient=firm_of(run, recipient),
        title=title,
        body=body,
        minute=day * MINUTES_PER_DAY + minute,
        turn_id=key_of(run.pk, 1),
        **more,
    )


def bid(run: Run, bidder: str, seller: str, text: str, day: int = 0, **more: Any) -> Offer:
    """An offer with a text: listing, offer and event."""
    number = Offer.objects.filter(run=run).count() + 1
    terms = {
        "quantity_kg": 30,
        "price_micros": micros(2.1),
        "terms_days": 30,
        "minute": day * MINUTES_PER_DAY + MORNING,
    }
    common = {"run": run, "turn_id": key_of(run.pk, 1), **terms}
    listing = Listing.objects.create(
        pk=key_of(run.pk, number), seller=firm_of(run, seller), item=GREEN, remaining_kg=30, status="open", **common
    )
    data: dict[str, Any] = {
        "offer": f"O{number}",
        "listing": f"L{number}",
        "item": GREEN,
        "quantity_kg": 30,
        "price": 2.1,
        "terms_days": 30,
    }
    add_event(run, "offer_made", bidder, seller, day=day, message=text, **data)
    values = {"status": "pending", **common, **more}
    return Offer.objects.create(
        pk=key_of(run.pk, number), listing=listing, bidder=firm_of(run, bidder), message=text, **values
    )


def send_back(run: Run, buyer: str, seller: str, reason: str, day: int = 0) -> None:
    """A return with a reason."""
    data: dict[str, Any] = {
        "invoice": "I4",
        "deal": "D3",
        "item": GREEN,
        "quantity_kg": 5,
        "credit": 10.5,
        "refund_invoice": None,
    }
    add_event(run, "shipment_returned", buyer, seller, day=day, reason=reason, **data)


def context(run: Run, query: str = "", **more: Any) -> dict[str, Any]:
    """What the tab's template gets."""
    return messages.context(look(run, query, **more))


def texts(run: Run, query: str = "", **more: Any) -> list[Text]:
    """The texts of a thread."""
    found: list[Text] = context(run, query, **more).get("texts", [])
    return found


@pytest.fixture
def run(db: None) -> Run:
    """A farmer and a roaster write on Days 0 to 3, with an offer and a return between; two roasters once, on Day 1."""
    run = make_run()
    write(run, FARMER, A, "Green coffee", "Thirty kilograms?", read_minute=2 * MINUTES_PER_DAY + MORNING)
    write(run, A, B, "Between us", "Keep prices up.", day=1)
    bid(run, A, FARMER, "For the festival.", day=1, status="accepted", closed_minute=3 * MINUTES_PER_DAY)
    bid(run, B, FARMER, "", day=1)
    send_back(run, A, FARMER, "Mouldy.", day=2)
    write(run, A, FARMER, "Re: Green coffee", "Not at this price.", day=3, listing_id=key_of(run.pk, 1))
    return run


@pytest.fixture
def rosa(client: Client, db: None) -> Client:
    """A signed-in researcher."""
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    return client


def test_a_thread_holds_letters_offers_words_and_reasons_in_order(run: Run) -> None:
    found = texts(run, f"pair={FARMER},{A}")
    assert [(each.row, each.sender, each.moment, each.body) for each in found] == [
        ("M1", FARMER, "Day 0 · Mon 09:00", "Thirty kilograms?"),
        ("O1", A, "Day 1 · Tue 09:00", "For the festival."),
        ("I4", A, "Day 2 · Wed 09:00", "Mouldy."),
        ("M3", A, "Day 3 · Thu 09:00", "Not at this price."),
    ]
    assert [each.is_letter for each in found] == [True, False, False, True]
    assert found[1].about == "on L1: 30 kg green coffee at 2.10 USD/kg, 30 days to pay"
    assert found[2].about == "5 kg green coffee of D3 for 10.50 USD"
    assert found[3].about == "L1: 30 kg green coffee at 2.10 USD/kg, 30 days to pay"


def test_a_letter_about_an_offer_says_its_terms(run: Run) -> None:
    write(run, FARMER, A, day=3, offer_id=key_of(run.pk, 1))
    assert texts(run, f"pair={FARMER},{A}")[-1].about == "O1: 30 kg green coffee at 2.10 USD/kg, 30 days to pay"


def test_offers_without_a_word_are_in_no_thread(run: Run) -> None:
    assert texts(run, f"pair={B},{FARMER}") == []


def test_threads_are_counted_and_the_newest_comes_first(run: Run) -> None:
    found = context(run)
    assert [(each.pair, each.letters, each.notes, each.unread) for each in found["threads"]] == [
        ((FARMER, A), 2, 2, 1),
        ((A, B), 1, 0, 1),
    ]


def test_the_thread_that_began_first_is_open_whatever_is_written_later(run: Run) -> None:
    assert context(run)["thread"].pair == (FARMER, A)
    write(run, B, A, day=4)
    assert context(run)["thread"].pair == (FARMER, A)
    assert context(run)["threads"][0].pair == (A, B)


@pytest.mark.parametrize("order", [f"{FARMER},{A}", f"{A},{FARMER}"])
def test_a_pair_may_be_named_either_way_round(run: Run, order: str) -> None:
    assert len(texts(run, f"pair={order}")) == 4


def test_as_of_a_day_later_texts_are_not_there_and_read_is_what_was_read_by_then(run: Run) -> None:
    assert [each.row for each in texts(run, f"pair={FARMER},{A}", day=1)] == ["M1", "O1"]
    assert [texts(run, day=day)[0].became for day in (1, 2)] == ["unread", "read Day 2 · Wed 09:00"]
    assert [each.unread for each in context(run, day=0)["threads"]] == [1]
    assert [texts(run, f"pair={FARMER},{A}", day=day)[1].became for day in (2, 3)] == [
        "pending",
        "accepted Day 3 · Thu 00:00",
    ]


def test_a_firm_knows_only_the_letters_that_it_sent_or_got(run: Run) -> None:
    assert [each.pair for each in context(run, knower=B)["threads"]] == [(A, B)]
    assert texts(run, f"pair={FARMER},{A}", knower=B) == []
    assert "thread" not in context(run, knower=SHOP)


def test_a_firm_knows_the_body_of_a_letter_once_it_has_read_it(run: Run) -> None:
    unread, read = (texts(run, knower=A, day=day)[0] for day in (0, 2))
    assert (unread.title, unread.body, unread.became) == ("Green coffee", "", "unread")
    assert "Not read by then" in unread.hidden
    assert (read.body, read.hidden) == ("Thirty kilograms?", "")


def test_a_sender_knows_its_own_words_but_not_whether_they_were_read(run: Run) -> None:
    (mine,) = texts(run, knower=FARMER, day=0)
    assert (mine.body, mine.became) == ("Thirty kilograms?", "")
    assert context(run, knower=FARMER, day=0)["threads"][0].unread == 0


def test_a_seller_is_not_told_why_goods_came_back(run: Run) -> None:
    assert texts(run, knower=FARMER)[2].body == ""
    assert "reason" in texts(run, knower=FARMER)[2].hidden
    assert texts(run, knower=A)[2].body == "Mouldy."


def hits(run: Run, words: str, **more: Any) -> list[str]:
    """The rows that a search finds."""
    return [text.row for text, *_ in context(run, f"find={words}", **more)["hits"]]


def test_a_search_finds_titles_and_bodies_in_capitals_or_not_newest_first(run: Run) -> None:
    assert hits(run, "GREEN coffee") == ["M3", "M1"]
    assert hits(run, "kilograms") == ["M1"]
    assert hits(run, "festival") == ["O1"]
    assert hits(run, "mouldy") == ["I4"]
    assert hits(run, "nothing of the kind") == []


def test_a_search_knows_capitals_of_other_alphabets(run: Run) -> None:
    write(run, A, B, "Über Kaffee", day=3)
    assert hits(run, "über") == hits(run, "ÜBER") == ["M4"]


@pytest.mark.parametrize("words", [".*", "%25", "_", "(", "[a-z]", "%5C", "M1"])
def test_a_search_is_for_plain_text_and_for_what_firms_wrote(run: Run, words: str) -> None:
    assert hits(run, words) == []


def test_a_search_finds_nothing_in_what_the_firm_had_not_read(run: Run) -> None:
    assert hits(run, "kilograms", knower=A, day=0) == []
    assert hits(run, "kilograms", knower=A, day=2) == ["M1"]
    assert hits(run, "green", knower=A, day=0) == ["M1"]
    assert hits(run, "prices", knower=FARMER) == []
    assert hits(run, "mouldy", knower=FARMER) == []


def test_a_search_as_of_a_day_finds_nothing_later(run: Run) -> None:
    assert hits(run, "green", day=2) == ["M1"]


def test_a_hit_is_shown_in_its_context_with_every_occurrence_marked() -> None:
    text = "a" * 200 + " Beans and beans " + "b" * 1000
    parts = in_context(text, pattern_of("BEANS"))
    assert [part.text for part in parts if part.is_hit] == ["Beans", "beans"]
    assert (parts[0].text, parts[-1].text) == ("… ", " …")
    assert len("".join(part.text for part in parts)) < 500
    assert "".join(part.text for part in parts[1:-1]) in text


def test_marked_parts_add_up_to_the_text() -> None:
    text = "x<b>x" * 40
    assert "".join(part.text for part in marked(text, pattern_of("<b>"))) == text
    assert marked("none", pattern_of("zz")) == [Part("none", is_hit=False)]
    assert marked("", pattern_of("zz")) == []


@pytest.mark.parametrize(
    "query",
    ["pair=roaster_A", "pair=roaster_A,nobody", "pair=roaster_A,roaster_A", "before=x", "before=-1", "find=%00",
     f"find={'x' * 201}", "pair=roaster_A,roaster_B,farmer_A"],
)  # fmt: skip
def test_questions_that_make_no_sense_are_refused(run: Run, query: str) -> None:
    with pytest.raises(BadRequest):
        context(run, query)


def many(run: Run, count: int) -> None:
    """So many letters from one roaster to another."""
    for index in range(count):
        write(run, A, B, f"Letter {index + 1}", day=5)


def test_a_long_thread_comes_fifty_at_a_time(run: Run) -> None:
    Message.objects.filter(run=run).delete()
    many(run, 2 * PAGE + 9)  # and the one that the two have written already
    newest = context(run, f"pair={A},{B}")
    assert (newest["first"], newest["last"], newest["earlier"], newest["is_newest"]) == (51, 110, 50, True)
    oldest = context(run, f"pair={A},{B}&before={newest['earlier']}")
    assert (oldest["first"], oldest["last"], oldest["earlier"], oldest["later"]) == (1, 50, 0, 100)
    assert oldest["texts"][-1].title == "Letter 49"
    assert newest["texts"][0].title == "Letter 50"
    middle = context(run, f"pair={A},{B}&before={oldest['later']}")
    assert (middle["first"], middle["last"], middle["is_newest"]) == (51, 100, False)


def test_a_place_beyond_the_thread_is_its_end(run: Run) -> None:
    assert context(run, f"pair={FARMER},{A}&before=999")["last"] == 4


def test_a_search_with_many_hits_comes_fifty_at_a_time(run: Run) -> None:
    many(run, PAGE + 3)
    first = context(run, "find=letter")
    assert (len(first["hits"]), first["is_first"]) == (PAGE, True)
    second = context(run, f"find=letter&before={first['earlier']}")
    assert [text.title for text, *_ in second["hits"]] == ["Letter 3", "Letter 2", "Letter 1"]
    assert (second["earlier"], second["is_first"]) == (0, False)


def test_who_writes_to_whom_counts_letters_alone(run: Run) -> None:
    figure = messages.figures(look(run))["who_writes_to_whom"]
    assert rows_behind(figure, 0, 3) == [
        ["From", "To", "Letters"],
        [FARMER, A, 1],
        [A, FARMER, 1],
        [A, B, 1],
    ]
    assert figure["data"][0]["meta"]["sums"] == [[0, 2, 1], [1, 15, 1], [3, 12, 1]]
    news = messages.figures(look(run, after=0))["who_writes_to_whom"]
    assert news["data"][0]["meta"]["sums"] == [[1, 15, 1], [3, 12, 1]]


def test_who_writes_to_whom_as_a_firm_knew_it_leaves_out_the_letters_of_others(run: Run) -> None:
    figure = messages.figures(look(run, knower=B))["who_writes_to_whom"]
    assert figure["data"][0]["meta"]["sums"] == [[1, 15, 1]]


@pytest.mark.parametrize("query", ["", f"pair={FARMER},{A}", "find=o"])
def test_a_thread_and_a_search_take_five_queries(run: Run, query: str) -> None:
    at = look(run, query)
    with CaptureQueriesContext(connection) as queries:
        messages.context(at)
    assert len(queries) == 5
    with CaptureQueriesContext(connection) as queries:
        messages.figures(at)
    assert len(queries) == 1


def test_a_run_in_which_nobody_writes_says_who_would(db: None, rosa: Client) -> None:
    run = make_run()
    page = rosa.get(f"/runs/{run.pk}/tabs/messages/").content.decode()
    assert "No messages yet" in page
    assert "scripts never do" in page
    Run.objects.filter(pk=run.pk).update(status=Run.Status.FINISHED)
    assert "No messages yet" not in rosa.get(f"/runs/{run.pk}/tabs/messages/").content.decode()


def test_hostile_words_stay_words_in_threads_and_searches(run: Run, rosa: Client) -> None:
    long = HOSTILE + "x" * 10_000
    write(run, A, B, "<b>free</b> beans", long, day=4)
    bid(run, A, B, HOSTILE, day=4)
    send_back(run, A, B, HOSTILE, day=4)
    for query in (f"pair={A},{B}", "find=%3Cscript", "find=%3C%2Fp%3E%3Cscript%3E", "find=free"):
        page = rosa.get(f"/runs/{run.pk}/tabs/messages/?{query}").content.decode()
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>free" not in page
        assert "onerror=alert(2)&gt;" in page
        assert 'dir="auto"' in page
    thread = rosa.get(f"/runs/{run.pk}/tabs/messages/?pair={A},{B}").content.decode()
    bodies = [unescape(body) for body in re.findall(r'<p class="letter-body"[^>]*>([^<]*)</p>', thread)]
    assert bodies == ["Keep prices up.", long, HOSTILE, HOSTILE]


def test_the_words_that_were_looked_for_are_escaped_and_marked(run: Run, rosa: Client) -> None:
    write(run, A, B, "Title", "before <i>this</i> after", day=4)
    page = rosa.get(f"/runs/{run.pk}/tabs/messages/?find=%3CI%3Ethis").content.decode()
    assert "before <mark>&lt;i&gt;this</mark>&lt;/i&gt; after" in page
    assert 'value="&lt;I&gt;this"' in page


def test_a_text_leads_to_its_turn(run: Run, rosa: Client) -> None:
    turn = add_turn(run, A, day=4, tool="send_message", arguments="{}", result='{"ok": true, "message_id": "M4"}')
    write(run, A, B, day=4)
    page = rosa.get(f"/runs/{run.pk}/tabs/messages/?pair={A},{B}").content.decode()
    address = f"/runs/{run.pk}/events/{run.events}/turn/"
    assert address in page
    assert rosa.get(address)["Location"] == f"/runs/{run.pk}/turns/{turn.number}/"


def test_a_bad_question_is_answered_with_400(run: Run, rosa: Client) -> None:
    assert rosa.get(f"/runs/{run.pk}/tabs/messages/?pair=x").status_code == 400
