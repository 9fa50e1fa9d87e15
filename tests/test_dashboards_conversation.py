"""What a model saw and did: its requests made again to the byte, its turns, its days; and scripts' by replay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import Future
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards import given as given_module
from dashboards import turn_page
from dashboards.conversation import nearest
from dashboards.sent import sent_with
from dashboards.told import arguments_of, gist_of
from marketplace.admin import showing
from marketplace.rows import key_of
from simulation import runner
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Event, Run, Turn
from simulation.players.llm import provider
from simulation.players.llm.provider import Reply
from simulation.store import rebuild
from tests.model_server.conversation import read_conversation
from tests.model_server.running import RunningServer, running_model_server
from tests.seat_play import played_by_scripts
from tests.simulation.test_asking import model, play, started
from tests.small_runs import add_event, make_run
from tests.talk_rows import add_ask, add_call, add_messages, add_turn, answer_of, firm_of, make_model_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e{{ 7|add:7 }}"


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RunningServer]:
    """One model server for the module."""
    with running_model_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer) -> RunningServer:
    """It, with no faults set."""
    shared_server.configure(faults=[])
    return shared_server


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def plain(html: str) -> str:
    """The text of a page without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


# What was sent, made again to the byte

SHORT: dict[str, Any] = {"context": {"limit_tokens": 2600, "opening_steps": 2, "last_steps": 4}}
NEWEST: dict[str, Any] = {"context": {"strategy": "last_tokens", "keep_tokens": 1500}}
REQUESTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "all of it": ({}, []),
    "summarised": (SHORT, []),
    "the newest": (NEWEST, []),
    "not even one step fits": ({"context": {"strategy": "last_tokens", "keep_tokens": 10}}, []),
    "too long for the provider": (
        {"context": {"strategy": "none", "opening_steps": 1, "last_steps": 2}},
        [{"kind": "context_length", "tokens": 2700}],
    ),
    "several calls": ({}, [{"kind": "several_calls", "every": 3}]),
    "no call": ({}, [{"kind": "no_call", "every": 3}]),
    "broken arguments": ({}, [{"kind": "malformed_arguments", "every": 2}]),
    "null bytes": ({}, [{"kind": "null_bytes"}]),
    "lone surrogates": ({}, [{"kind": "lone_surrogates"}]),
    "trouble": (
        SHORT,
        [{"kind": "rate_limit", "every": 3, "retry_after": 0}, {"kind": "error_500", "every": 7}],
    ),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_a_request_made_again_is_what_the_server_received(server: RunningServer, case: str) -> None:
    settings, faults = REQUESTS[case]
    server.configure(faults=faults)
    received = len(server.log())
    run = play(started({"roaster_A": model(server, **settings)}, days=2))
    assert ChatSummary.objects.filter(run=run).exists() == (
        case in ("summarised", "trouble", "too long for the provider")
    )
    assert requests_made_again(run) == [entry["digest"] for entry in server.log(received)]


def requests_made_again(run: Run) -> list[str]:
    """The hash of every request of a run, as the server makes it of model, tools and messages."""
    calls = Call.objects.filter(run=run).select_related("ask", "firm").order_by("pk")
    return [digest_of(call, sent_with(run, call).as_json) for call in calls]


def digest_of(call: Call, body: dict[str, Any]) -> str:
    return read_conversation({"model": call.model_asked.removeprefix("openai/"), **body}).digest


def test_so_is_a_request_after_notes_of_the_models_own(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    received = len(server.log())
    asked: list[object] = []
    original = provider.start

    def with_notes(*arguments: Any) -> Future[Reply]:
        answer: Future[Reply] = Future()
        reply = original(*arguments).result()
        asked.append(reply)
        if len(asked) % 3 != 1 or not arguments[2]:
            answer.set_result(reply)
            return answer
        function = {"name": "store_note", "arguments": json.dumps({"key": "price", "text": "3.49"})}
        call = {"id": f"note_{len(asked)}", "type": "function", "function": function}
        message = {"role": "assistant", "content": "To remember.", "tool_calls": [call]}
        answer.set_result(reply._replace(message=message))
        return answer

    monkeypatch.setattr(provider, "start", with_notes)
    settings = {"memory_tools": True, "context": SHORT["context"] | {"limit_tokens": 1500, "last_steps": 3}}
    run = play(started({"roaster_A": model(server, **settings)}, days=4))
    assert ChatMessage.objects.filter(run=run, content__contains="store_note").count() > 2
    summaries = Call.objects.filter(run=run, purpose="summarise")
    in_between = [call for call in summaries if Call.objects.filter(ask=call.ask, pk__lt=call.pk).exists()]
    assert in_between  # a summary asked for after a note, in the middle of a turn
    assert requests_made_again(run) == [entry["digest"] for entry in server.log(received)]


def test_a_call_that_a_worker_died_with_had_sent_what_the_next_attempt_sent(server: RunningServer) -> None:
    run = started({"roaster_A": model(server)}, days=1)
    runner.advance(run.pk, seconds=60)
    Ask.objects.filter(run=run).update(lease_owner="gone", reserved_micros=70)
    play(run, rounds=2)
    lost, next_attempt = Call.objects.filter(run=run).select_related("ask", "firm").order_by("pk")[:2]
    assert lost.error.startswith("the worker died")
    assert lost.messages_before < next_attempt.messages_before
    assert sent_with(run, lost).as_json == sent_with(run, next_attempt).as_json


def test_the_file_of_a_request_holds_what_was_sent(staff: Client, server: RunningServer) -> None:
    received = len(server.log())
    run = play(started({"roaster_A": model(server, **SHORT)}, days=1))
    for call, entry in zip(Call.objects.filter(run=run).order_by("pk"), server.log(received), strict=True):
        answer = staff.get(f"/runs/{run.pk}/calls/{call.pk}/request.json")
        assert "attachment" in answer.headers["Content-Disposition"]
        body = answer.json()
        assert body.pop("model") == call.model_asked
        assert digest_of(call, body) == entry["digest"]


def test_every_page_of_a_real_run_opens(staff: Client, server: RunningServer) -> None:
    server.configure(faults=[{"kind": "several_calls", "every": 4}, {"kind": "error_500", "every": 5}])
    run = play(started({"roaster_A": model(server, **SHORT)}, days=2))
    for turn in Turn.objects.filter(run=run):
        page(staff, f"/runs/{run.pk}/turns/{turn.number}/")
    for call in Call.objects.filter(run=run):
        page(staff, f"/runs/{run.pk}/calls/{call.pk}/")
    days = [page(staff, f"/runs/{run.pk}/firms/{name}/{day}/") for name in run.players for day in range(2)]
    marks = sum(day.count("Summarised here.") for day in days)
    assert marks == ChatSummary.objects.filter(run=run).count() > 0
    page(staff, f"/runs/{run.pk}/spend/")


def test_no_key_is_on_any_page(staff: Client, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "hush-hush-4711-never-tell")
    server.configure(faults=[{"kind": "invalid_key", "calls": [4]}])
    run = play(started({"roaster_A": model(server, key_variable="MY_SECRET_KEY")}, days=1))
    assert run.status == Run.Status.PAUSED
    call = Call.objects.filter(run=run, outcome="failed").get()
    for address in ("", "spend/", f"calls/{call.pk}/", f"turns/{call.ask.number}/", "firms/roaster_A/", "calls.csv"):
        assert "hush-hush" not in page(staff, f"/runs/{run.pk}/{address}")
    assert "MY_SECRET_KEY" in page(staff, f"/runs/{run.pk}/calls/{call.pk}/")  # its variable's name is told


# A turn


def told_turn_run(**flags: Any) -> tuple[Run, Ask]:
    """A run of one turn: tried twice, answered, with a late second answer."""
    run = make_model_run()
    turn = add_turn(run)
    ask = add_ask(run, turn, **flags)
    add_call(ask, outcome="failed", cost_micros=None, most_micros=0, error="RateLimitError: slow down", raw="")
    add_call(ask, attempt=2)
    add_call(ask, attempt=2, outcome="unused", cost_micros=700)
    add_messages(ask, {"role": "user", "content": '{"woken_by": ["a new day"]}'}, answer_of(ask))
    return run, ask


def test_a_turn_shows_decision_result_calls_and_what_they_came_to(staff: Client) -> None:
    run, ask = told_turn_run(flags=["several calls"])
    html = page(staff, f"/runs/{run.pk}/turns/{ask.number}/")
    text = plain(html)
    for words in (
        "roaster_A · Turn 1 · Day 0 · Mon 09:00",
        "several calls",
        "Because it is cheap.",
        "make_offer listing_id L1 qty 30",
        "Result: offer_id O1",
        "3 calls to the model",
        "0.0130 USD · 6,000 tokens in, 4,000 cached · 200 out · 4.5 s · 3 calls, 1 failed, 1 unused",
        "RateLimitError: slow down",
        "answered too late to be used",
        "Model that answered gpt-5.5-2026-10-01",
        "of them reasoning 40",
        "Finish reason tool_calls",
        '"id": "chatcmpl-1"',
        "You sell coffee.",
        "1 message after the system prompt",
        "new at this turn",
    ):
        assert words in text, words
    assert html.count('class="message message-new"') == 1


def test_a_refused_call_says_why(staff: Client) -> None:
    run = make_model_run()
    turn = add_turn(run, accepted=False, result='{"ok": false, "error": "You have no cash left."}')
    add_call(add_ask(run, turn))
    text = plain(page(staff, f"/runs/{run.pk}/turns/1/"))
    assert "Refused : You have no cash left." in text
    assert "refused" in plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/0/"))


def test_a_turn_without_a_call_says_that_it_waited(staff: Client) -> None:
    run = make_model_run()
    add_call(add_ask(run, add_turn(run, tool="", arguments="{}", rationale=""), flags=["no tool call"]))
    text = plain(page(staff, f"/runs/{run.pk}/turns/1/"))
    assert "No tool call, which counts as waiting." in text
    assert "No reason given." in text


def test_an_open_turn_shows_attempts_and_what_the_model_was_sent(staff: Client) -> None:
    run = make_model_run()
    ask = add_ask(run, attempts=2, trouble="RateLimitError: slow down")
    add_call(ask, outcome="failed", error="RateLimitError: slow down", cost_micros=None, most_micros=0, raw="")
    text = plain(page(staff, f"/runs/{run.pk}/turns/{ask.number}/"))
    assert "Not answered yet." in text
    assert "attempt 2" in text
    assert '"a new day"' in text
    assert "kept once it is answered" in text
    assert "Waiting for the answer since" in plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/"))


def test_an_answer_that_is_not_applied_yet_is_shown(staff: Client) -> None:
    run = make_model_run()
    ask = add_ask(run, tool="send_message", arguments='{"recipient": "farmer_A"}', rationale="Hello.")
    Ask.objects.filter(pk=ask.pk).update(answered_at=ask.created_at)
    add_call(ask)
    for address in (f"turns/{ask.number}/", "firms/roaster_A/0/"):
        text = plain(page(staff, f"/runs/{run.pk}/{address}"))
        assert "send_message recipient farmer_A" in text
        assert "Answered, and not applied yet" in text


def test_turns_lead_to_the_firms_turns_before_and_after(staff: Client) -> None:
    run = make_model_run("roaster_A", "farmer_A")
    for firm, day in (("roaster_A", 0), ("farmer_A", 0), ("roaster_A", 1), ("farmer_A", 1), ("roaster_A", 2)):
        add_turn(run, firm, day=day)
    html = page(staff, f"/runs/{run.pk}/turns/3/")
    assert re.findall(r'rel="(\w+)" href="/runs/\d+/turns/(\d+)/"', html) == [("prev", "1"), ("next", "5")]


def test_a_long_request_shows_its_newest_messages_and_leads_to_all(staff: Client) -> None:
    run = make_model_run()
    for index in range(10):
        ask = add_ask(run, add_turn(run, minute=540 + 30 * index))
        add_call(ask)
        add_messages(ask, {"role": "user", "content": f'{{"round": {index}}}'}, answer_of(ask))
    html = page(staff, f"/runs/{run.pk}/turns/10/")
    assert "11 earlier messages" in html
    assert re.findall(r'id="message-(\d+)"', html) == [str(number) for number in range(12, 20)]
    call = Call.objects.latest("pk")
    whole = page(staff, f"/runs/{run.pk}/calls/{call.pk}/")
    assert re.findall(r'id="message-(\d+)"', whole) == [str(number) for number in range(1, 20)]
    assert "earlier message" not in whole


def test_all_messages_of_a_call_are_found_page_by_page(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_page, "MESSAGES_ON_A_PAGE", 4)
    run = make_model_run()
    for _ in range(5):
        ask = add_ask(run, add_turn(run))
        add_call(ask)
        add_messages(ask, {"role": "user", "content": "{}"}, answer_of(ask))
    first = address = f"/runs/{run.pk}/calls/{Call.objects.latest('pk').pk}/"
    seen: list[str] = []
    while address:
        html = page(staff, address)
        seen = re.findall(r'id="message-(\d+)"', html) + seen
        assert (f'href="{first}#messages">The newest messages' in html) == (address != first)
        earlier = re.search(r'href="([^"#]+)#messages">\d+ earlier message', html)
        address = earlier[1] if earlier else ""
    assert seen == [str(number) for number in range(1, 10)]
    assert staff.get(f"{first}?before=x").status_code == 400


def test_a_turn_costs_so_many_queries_whatever_lies_before_it(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run, _ = told_turn_run()
    for day in range(1, 30):
        ask = add_ask(run, add_turn(run, day=day))
        add_call(ask)
        add_messages(ask, {"role": "user", "content": "{}"}, answer_of(ask))
    for number in (1, 30):
        # run, turn, ask, calls, conversation, messages, the turns before and after
        with django_assert_num_queries(SESSION_AND_USER + 8):
            page(staff, f"/runs/{run.pk}/turns/{number}/")


# From the tape to a turn


def test_a_line_of_the_tape_leads_to_the_turn_behind_it(staff: Client) -> None:
    run = make_model_run()
    add_turn(run, tool="post_listing", result='{"ok": true, "listing_id": "L7"}')
    add_turn(run, tool="send_message", result='{"ok": true, "message_id": "M2"}')  # in the same minute
    listed = add_event(run, "listing_posted", "roaster_A", listing="L7")
    sent = add_event(run, "message_sent", "roaster_A", "farmer_A", message="M2", title="Hello")
    add_event(run, "batch_landed", "roaster_A", batch="B1")
    html = page(staff, f"/runs/{run.pk}/")
    assert re.findall(r'href="(/runs/\d+/events/\d+/turn/)"', html) == [
        f"/runs/{run.pk}/events/{event.number}/turn/" for event in (sent, listed)
    ]
    for event, number in ((listed, 1), (sent, 2)):
        answer = staff.get(f"/runs/{run.pk}/events/{event.number}/turn/")
        assert answer.headers["location"] == f"/runs/{run.pk}/turns/{number}/"


def test_every_deed_on_the_tape_of_a_played_run_has_its_turn(staff: Client) -> None:
    run = played_by_scripts(days=3)
    deeds = Event.objects.filter(run=run, kind__in=["listing_posted", "offer_made", "deal_made", "invoice_paid"])
    assert deeds.count() > 20
    for event in deeds:
        location = staff.get(f"/runs/{run.pk}/events/{event.number}/turn/").headers["location"]
        turn = Turn.objects.get(pk=key_of(run.pk, int(location.split("/")[-2])))
        assert turn.firm_id == event.firm_id
        assert turn.tool in ("post_listing", "make_offer", "accept_offer", "pay_invoice")


def test_cards_lead_to_conversations(staff: Client) -> None:
    run = make_run()
    assert f'href="/runs/{run.pk}/firms/retailer_B/"' in page(staff, f"/runs/{run.pk}/")


# A firm's days


def test_a_day_shows_its_turns_in_order_and_no_others(staff: Client) -> None:
    run = make_model_run("roaster_A", "farmer_A", days=90)
    for day in (3, 4, 5):
        for firm in ("farmer_A", "roaster_A"):
            turn = add_turn(run, firm, day=day, rationale=f"{firm} on {day}")
            add_call(add_ask(run, turn))
    html = page(staff, f"/runs/{run.pk}/firms/roaster_A/4/")
    text = plain(html)
    assert re.findall(r'id="turn-(\d+)"', html) == ["4"]
    assert "roaster_A on 4" in text
    assert "roaster_A · Day 4 · Fri" in text
    assert "Observation: woken by a new day" in text
    assert "0.0123 USD · 3,000 tokens in, 2,000 cached · 100 out · 1.5 s" in text
    assert re.findall(r'rel="(\w+)" href="/runs/\d+/firms/roaster_A/(\d+)/"', html)[:2] == [
        ("prev", "3"),
        ("next", "5"),
    ]
    assert "What every request begins with: the system prompt (16 characters) and 1 tools" in text


def test_the_latest_day_is_the_one_that_opens(staff: Client) -> None:
    run = make_model_run()
    add_turn(run, day=7)
    assert "roaster_A · Day 7" in plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/"))
    run.firms.filter(name="roaster_A").update(bankrupt_day=7)
    run.day = 20
    run.save()
    assert "roaster_A · Day 7" in plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/"))


def test_a_day_is_jumped_to(staff: Client) -> None:
    run = make_model_run()
    answer = staff.get(f"/runs/{run.pk}/firms/roaster_A/?day=12")
    assert answer.headers["location"] == f"/runs/{run.pk}/firms/roaster_A/12/"
    for nonsense in ("-1", "1e3", "x", "9" * 30, "%00"):
        assert staff.get(f"/runs/{run.pk}/firms/roaster_A/?day={nonsense}").status_code == 400


def test_days_that_show_nothing_say_what_would(staff: Client) -> None:
    run = make_model_run(days=30, status="running", day=3)
    assert "Day 9 has not come yet" in page(staff, f"/runs/{run.pk}/firms/roaster_A/9/")
    assert "No turn yet on Day 3" in page(staff, f"/runs/{run.pk}/firms/roaster_A/3/")
    run.firms.filter(name="roaster_A").update(bankrupt_day=2)
    assert "It went bankrupt on Day 2" in page(staff, f"/runs/{run.pk}/firms/roaster_A/3/")
    draft = make_model_run(status="draft")
    assert "Start the run" in page(staff, f"/runs/{draft.pk}/firms/roaster_A/")


def test_a_day_that_is_still_played_says_so(staff: Client) -> None:
    run = make_model_run()
    add_call(add_ask(run, add_turn(run, day=1)))
    assert "This day is still being played." in page(staff, f"/runs/{run.pk}/firms/roaster_A/1/")
    assert "still being played" not in page(staff, f"/runs/{run.pk}/firms/roaster_A/0/")


def summarised_run() -> tuple[Run, Ask]:
    """Three days of two messages each, of which the first two days' were summarised on the third."""
    run = make_model_run()
    for day in range(3):
        ask = add_ask(run, add_turn(run, day=day), flags=["several calls"] if day == 1 else [])
        add_call(ask, summaries_before=int(day == 2))
        add_messages(ask, {"role": "user", "content": f'{{"day": {day}}}'}, answer_of(ask))
    text = f"Position: day 2. {HOSTILE}"
    ChatSummary.objects.create(run=run, firm_id=ask.firm_id, number=1, ask=ask, first=1, until=4, text=text)
    return run, ask


def test_a_summary_is_marked_where_it_was_made_with_what_it_stands_for(staff: Client) -> None:
    run, ask = summarised_run()
    html = page(staff, f"/runs/{run.pk}/firms/roaster_A/2/")
    text = plain(html)
    assert "Summarised here. From now on 3 messages (numbers 2 to 4, Day 0 to Day 1)" in text
    assert "Position: day 2." in text
    assert html.index("Summarised here.") < html.index("Because it is cheap.")
    for day in (0, 1):
        other = plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/{day}/"))
        assert "Summarised here." not in other
        assert "Summarised on 2" in other
        assert "Flagged on 1" in other
    turn = plain(page(staff, f"/runs/{run.pk}/turns/{ask.number}/"))
    assert "the summary that stands for messages 2 to 4" in turn
    assert "the summary, in place of the middle" in turn


def test_only_the_flagged_days_nearest_to_the_page_are_named() -> None:
    assert nearest([5, 5, 1, 9], 2) == ([1, 5, 9], 0)
    days, others = nearest(range(100), 50)
    assert (days[0], days[-1], len(days), others) == (38, 61, 24, 76)


def test_notes_of_a_models_own_stand_in_their_turn(staff: Client) -> None:
    run = make_model_run(settings={"memory_tools": True})
    ask = add_ask(run, add_turn(run))
    function = {"name": "store_note", "arguments": '{"key": "price", "text": "3.49"}'}
    note = {"role": "assistant", "content": "", "tool_calls": [{"id": "n1", "type": "function", "function": function}]}
    add_call(ask)
    add_call(ask, messages_before=3)
    told = {"role": "tool", "tool_call_id": "n1", "content": '{"ok":true}'}
    add_messages(ask, {"role": "user", "content": "{}"}, note, told, answer_of(ask))
    text = plain(page(staff, f"/runs/{run.pk}/firms/roaster_A/0/"))
    assert 'Its own notes: store_note {"key": "price", "text": "3.49"} { "ok": true }' in text
    assert text.count("Its own notes") == 1


def test_a_day_costs_so_many_queries_however_long_the_run(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run, _ = summarised_run()
    for day in range(3, 30):
        for minute in (540, 570, 600):
            add_call(add_ask(run, add_turn(run, day=day, minute=minute)))
    # run, firms, summaries, flags, conversation, turns, asks, calls
    with django_assert_num_queries(SESSION_AND_USER + 8):
        page(staff, f"/runs/{run.pk}/firms/roaster_A/20/")
    with django_assert_num_queries(SESSION_AND_USER + 8 + 2):  # the summaries' texts, and their first and last days
        page(staff, f"/runs/{run.pk}/firms/roaster_A/2/")
    with django_assert_num_queries(SESSION_AND_USER + 3):  # run, firms, turns
        page(staff, f"/runs/{run.pk}/firms/farmer_A/20/")


# Scripts


def test_a_scripts_day_shows_decisions_and_results(staff: Client) -> None:
    run = played_by_scripts()
    html = page(staff, f"/runs/{run.pk}/firms/farmer_A/1/")
    turns = list(Turn.objects.filter(run=run, firm__name="farmer_A", day=1).order_by("pk"))
    assert re.findall(r'id="turn-(\d+)"', html) == [str(turn.number) for turn in turns]
    assert all(turn.tool in html for turn in turns)
    assert "tokens in" not in html


def test_what_a_script_was_given_is_seen_again_by_replay(staff: Client) -> None:
    run = played_by_scripts()
    for turn in Turn.objects.filter(run=run, firm__name="retailer_A"):
        html = page(staff, f"/runs/{run.pk}/turns/{turn.number}/given/")
        assert ("Observation: woken by" in html) or ("The result of its last call" in html)
    first = Turn.objects.filter(run=run, firm__name="retailer_A", day=1).order_by("pk").first()
    assert first is not None
    text = plain(page(staff, f"/runs/{run.pk}/turns/{first.number}/"))
    assert "woken by" in text
    assert '"day": 1' in text
    assert "the run was replayed from its decisions up to here" in text


def test_what_is_replayed_is_what_a_model_at_that_seat_was_given(server: RunningServer) -> None:
    run = play(started({"roaster_A": model(server)}, days=2))
    for ask in Ask.objects.filter(run=run):
        seen = given_module.given_by_replay(run, "roaster_A", ask.day)[ask.step]
        assert seen._asdict() == json.loads(ask.given)


def test_a_day_is_replayed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = played_by_scripts()
    replays: list[int] = []

    def counted(*arguments: Any) -> Any:
        replays.append(1)
        return rebuild(*arguments)

    monkeypatch.setattr(given_module, "rebuild", counted)
    for _ in range(3):
        given_module.given_by_replay(run, "farmer_A", 1)
    assert len(replays) == 1


def test_a_run_of_other_rules_says_that_it_cannot_be_replayed(staff: Client) -> None:
    run = played_by_scripts(days=1)
    Run.objects.filter(pk=run.pk).update(rules_version="0")
    text = plain(page(staff, f"/runs/{run.pk}/turns/1/"))
    assert "was begun under version 0 of the rules" in text
    assert "Result" in text


def test_decisions_that_fit_no_run_are_told_and_do_not_break_the_page(staff: Client) -> None:
    run = make_run(rules_version="1")
    add_turn(run, decided_by="recorded")
    assert "cannot be replayed" in page(staff, f"/runs/{run.pk}/turns/1/")


# What was written


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"qty": 3, "terms": {"days": 2}}', [("qty", "3"), ("terms", '{"days": 2}')]),
        ("[1]", [("", "[1]")]),
        ("[" * 5000, [("", "[" * 5000)]),
        ("", []),
        ('{"x": NaN, "y": "\\ud800"}', [("x", "NaN"), ("y", "?")]),
    ],
)
def test_arguments_are_shown_by_name_and_nonsense_as_it_stands(text: str, shown: list[tuple[str, str]]) -> None:
    assert [tuple(argument) for argument in arguments_of(text)] == shown


@pytest.mark.parametrize(
    ("result", "gist"),
    [
        ('{"ok": true, "offer_id": "O1"}', "offer_id O1"),
        ('{"ok": true, "listings": [1, 2]}', "listings (2)"),
        ('{"ok": true}', "done"),
        ("[" * 5000, "[" * 160),
        ("no JSON", "no JSON"),
    ],
)
def test_a_result_is_told_in_one_line(result: str, gist: str) -> None:
    assert gist_of(result) == gist


def hostile_run() -> tuple[Run, Call]:
    """A run in which everything that a model, a provider or a person can write is an attack."""
    run = make_model_run(name=HOSTILE[:80], settings={"memory_tools": True})
    run.firms.update(player=HOSTILE)
    Conversation.objects.filter(run=run).update(system=HOSTILE)
    turn = add_turn(
        run,
        tool=HOSTILE[:60],
        arguments=json.dumps({HOSTILE: HOSTILE + "\ud800"}),
        rationale=HOSTILE,
        accepted=False,
        result=json.dumps({"ok": False, "error": HOSTILE}),
    )
    ask = add_ask(
        run, turn, flags=[HOSTILE], given=json.dumps({"result": None, "observation": {"woken_by": [HOSTILE]}})
    )
    call = add_call(
        ask,
        error=HOSTILE,
        raw=json.dumps({"said": HOSTILE + "\ud800"}),
        model_answered=HOSTILE,
        finish_reason=HOSTILE[:40],
    )
    add_messages(ask, {"role": "user", "content": HOSTILE}, {**answer_of(ask), "thinking_blocks": [HOSTILE]})
    add_call(ask, messages_before=2)
    add_ask(run, trouble=HOSTILE)
    return run, call


class Handlers(HTMLParser):
    """Finds every attribute that would run something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]


def handlers_in(html: str) -> list[str]:
    parser = Handlers()
    parser.feed(html)
    return parser.found


def test_a_handler_that_a_text_smuggles_in_would_be_found() -> None:
    assert handlers_in('<p title="<img onerror=x>">safe</p><img src=x onerror=y>') == ["img onerror"]


def test_what_was_written_is_text_wherever_it_appears(staff: Client) -> None:
    run, call = hostile_run()
    for address in ("", "firms/roaster_A/0/", "turns/1/", "turns/1/given/", "turns/2/", f"calls/{call.pk}/", "spend/"):
        html = page(staff, f"/runs/{run.pk}/{address}")
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert handlers_in(html) == []
        assert re.findall(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", html) == []
        if address:
            assert "alert(1)" in unescape(html)
    assert staff.get(f"/runs/{run.pk}/calls/{call.pk}/request.json").json()["messages"][0]["content"] == HOSTILE


# Who may come in, and what is not there

ADDRESSES = [
    "/runs/1/firms/roaster_A/",
    "/runs/1/firms/roaster_A/0/",
    "/runs/1/turns/1/",
    "/runs/1/turns/1/given/",
    "/runs/1/calls/1/",
    "/runs/1/calls/1/request.json",
    "/runs/1/events/1/turn/",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_staff_comes_in(client: Client, address: str) -> None:
    make_run(pk=1)
    assert client.get(address).headers["location"] == f"/admin/login/?next={address}"
    client.force_login(User.objects.create_user("player"))
    assert client.get(address).status_code == 403


@pytest.mark.parametrize("address", ADDRESSES)
def test_pages_are_only_read(staff: Client, address: str) -> None:
    assert staff.post(address).status_code == 405


@pytest.mark.parametrize(
    "address",
    [
        "/runs/9/firms/roaster_A/",
        "/runs/1/firms/nobody/",
        "/runs/1/firms/roaster_A/90/",
        "/runs/1/firms/roaster_A/9999999999/",
        "/runs/1/firms/%00/",
        "/runs/1/turns/1/",
        "/runs/1/turns/1/given/",
        "/runs/1/turns/0/",
        "/runs/1/turns/9999999999/",
        "/runs/1/calls/999999/",
        "/runs/1/events/1/turn/",
        "/runs/1/events/7/turn/",
    ],
)
def test_what_is_not_there_is_not_found(staff: Client, address: str) -> None:
    add_event(make_run(pk=1), "day_ended")
    assert staff.get(address).status_code == 404


def test_a_call_is_found_in_its_own_run_only(staff: Client) -> None:
    run, other = make_model_run(), make_model_run()
    call = add_call(add_ask(run, add_turn(run)))
    assert staff.get(f"/runs/{other.pk}/calls/{call.pk}/").status_code == 404


# The cabinet

DRAWERS = (Ask, Call, Conversation, ChatMessage, ChatSummary)


@pytest.mark.parametrize("drawer", DRAWERS, ids=lambda drawer: str(drawer.__name__))
def test_every_drawer_of_talk_opens_and_so_does_every_row_in_it(staff: Client, drawer: Any) -> None:
    run, _ = summarised_run()
    hostile_run()
    for address in (
        showing.list_url(drawer),
        showing.list_url(drawer, run=run.pk),
        showing.list_url(drawer, run=run.pk, firm="roaster_A", day="0-1", purpose="decide", q="roaster_A"),
        showing.list_url(drawer, run=run.pk, q="';--", firm=HOSTILE, day="-1"),
    ):
        assert "<script>alert" not in page(staff, address)
    for key in drawer.objects.values_list("pk", flat=True):
        assert "<script>alert" not in page(staff, showing.row_url(drawer, key))
    assert staff.get(showing.row_url(drawer, 999_999)).status_code == 302


@pytest.mark.parametrize("drawer", DRAWERS, ids=lambda drawer: str(drawer.__name__))
def test_nothing_in_them_can_be_added_changed_or_deleted(drawer: Any) -> None:
    summarised_run()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    url = showing.row_url(drawer, drawer.objects.values_list("pk", flat=True)[0])
    assert client.post(url, {"raw": "1"}).status_code == 403
    assert client.get(url.replace("/change/", "/delete/")).status_code == 403
    assert client.post(url.replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert client.get(f"{showing.list_url(drawer)}add/").status_code == 403


def test_a_drawer_shows_the_rows_of_the_run_that_is_chosen(staff: Client) -> None:
    run, _ = summarised_run()
    other = make_model_run()
    add_call(add_ask(other, add_turn(other)), model_answered="another one")
    assert "another one" not in page(staff, showing.list_url(Call, run=run.pk))
    text = plain(page(staff, showing.list_url(Call, run=run.pk)))
    assert "calls 3 cost, USD 0.0369" in text
    row = plain(page(staff, showing.row_url(Call, Call.objects.latest("pk").pk)))
    assert "another one" in row
    assert f"Run {other.pk}" in row


def test_a_runs_page_in_the_cabinet_tells_of_its_models(staff: Client) -> None:
    run = make_model_run(status="paused", paused_by="provider")
    text = plain(page(staff, showing.row_url(Run, run.pk)))
    assert "Paused by provider" in text
    assert "openai/gpt-5.5 × 1" in text
    assert '"strategy": "summarise"' in text
    assert firm_of(run, "roaster_A").name in text
