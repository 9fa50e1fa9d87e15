"""The player's console over HTTP: who gets in, what a form sends, what comes back, and what no page may hold."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from dashboards import words
from dashboards.seat import ending, forms, show
from dashboards.seat.catalogue import WAYS, deed_text
from dashboards.seat.known import known_rows
from dashboards.seat.rules import blocks_of, rules_of
from simulation import control
from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario
from simulation.engine.tools import schemas_for, tools_of
from simulation.models import Ask, Run, Seat, Turn
from simulation.players import briefing
from simulation.seats import comparison, links, verbs
from tests.seat_play import answer_open_turn, move, play, seat_of, seated_run

pytestmark = pytest.mark.django_db

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e<b>bold</b>"
FIRMS = ["farmer_A", "farmer_B", "roaster_A", "roaster_B", "retailer_A", "retailer_B"]


@pytest.fixture
def run() -> Run:
    """A person at roaster_A on the first morning."""
    return seated_run("roaster_A", days=4)


@pytest.fixture
def seat(run: Run) -> Seat:
    """Their seat, taken."""
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    return seat_of(run, "roaster_A")


def address(seat: Seat, rest: str = "") -> str:
    return f"/seat/{links.token_of(seat)}/{rest}"


def act(client: Client, seat: Seat, turn: int, tool: str, **arguments: str) -> dict[str, Any]:
    """Sends a form as the page does, and returns the answer."""
    rationale = arguments.pop("rationale", "")
    posted = {f"arg.{name}": text for name, text in arguments.items()}
    answer = client.post(address(seat, "act/"), {"turn": turn, "tool": tool, "rationale": rationale, **posted})
    assert answer.status_code == 200
    return dict(answer.json())


def pieces(client: Client, seat: Seat) -> dict[str, str]:
    return dict(client.get(address(seat, "parts/")).json()["pieces"])


# Getting in


def test_the_link_opens_a_welcome_page_and_looking_at_it_takes_nothing(client: Client, run: Run) -> None:
    seat = seat_of(run, "roaster_A")
    for _ in range(2):  # a person, and the preview of a link in a chat
        page = client.get(address(seat))
        assert "You are about to run Roaster A" in page.content.decode()
    client.head(address(seat))
    assert seat_of(run, "roaster_A").taken_at is None


def test_only_the_button_takes_the_seat_and_then_the_link_opens_the_console(client: Client, run: Run) -> None:
    seat = seat_of(run, "roaster_A")
    assert client.get(address(seat, "take/")).status_code == 405
    assert client.post(address(seat, "take/")).headers["Location"] == address(seat)
    assert seat_of(run, "roaster_A").taken_at is not None
    assert "You run Roaster A" in client.get(address(seat)).content.decode()
    assert "You run Roaster A" in Client().get(address(seat)).content.decode(), "on another device"


@pytest.mark.parametrize("rest", ["act/", "queue/add/", "queue/start/", "notes/", "beat/", "pause/", "back/"])
def test_at_a_seat_that_nobody_has_taken_nothing_is_done(client: Client, run: Run, rest: str) -> None:
    seat = seat_of(run, "roaster_A")
    sent = {"turn": 1, "tool": "view_listings", "notes": "mine", "is_on": "true"}
    answer = client.post(address(seat, rest), sent)
    assert (answer.status_code, "take it first" in answer.json()["error"]) == (409, True)
    assert seat_of(run, "roaster_A").__dict__.items() >= {"notes": "", "queue": [], "last_seen_at": None}.items()
    turn = verbs.open_turn(seat)
    assert turn is not None
    assert turn.firm_turn == 1


@pytest.mark.parametrize(("information", "words"), [("parity", "takes a slot too"), ("assisted", "looking is free")])
def test_the_welcome_page_says_what_is_shown_for_free(client: Client, information: str, words: str) -> None:
    run = seated_run("roaster_A", information=information, is_practice=True)
    page = client.get(address(seat_of(run, "roaster_A"))).content.decode()
    assert words in re.sub(r"\s+", " ", page)
    assert "Practice: these days do not count" in page


@pytest.mark.parametrize(
    ("absence", "words"),
    [
        ("wait", "You may close the page at any time."),
        ("default", "If you do nothing for 10 minutes while it is your turn, your firm waits for the next day."),
        ("script", "a script plays your firm until you are back."),
        ("model", "a language model plays your firm until you are back."),
    ],
)
def test_the_welcome_page_says_what_becomes_of_whoever_is_away(client: Client, absence: str, words: str) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    Seat.objects.update(absence=absence)
    assert words in client.get(address(seat)).content.decode()


def test_a_void_link_is_gone_and_says_what_to_do_and_nonsense_is_not_found(client: Client, seat: Seat) -> None:
    old = address(seat)
    verbs.reissue(seat)
    gone = client.get(old)
    assert (gone.status_code, "Ask the researcher for the new one" in gone.content.decode()) == (410, True)
    for nonsense in ("/seat/x/", "/seat/1.1~abc/", f"{old[:-4]}/", "/seat/%00/"):
        answer = client.get(nonsense)
        assert (answer.status_code, "no seat for you at this address" in answer.content.decode()) == (404, True)
    assert client.get(address(seat)).status_code == 200, "the new link"


def test_where_a_program_is_to_play_no_page_opens(client: Client) -> None:
    seat = seat_of(seated_run("roaster_A", kind="remote"), "roaster_A")
    for rest in ("", "state/", "briefing/"):
        answer = client.get(address(seat) + rest)
        assert (answer.status_code, "A program plays roaster_A, over HTTP" in answer.content.decode()) == (404, True)
    assert client.post(f"{address(seat)}take/").status_code == 404
    seat.refresh_from_db()
    assert seat.taken_at is None


@pytest.mark.parametrize("rest", ["state/", "parts/", "days/0/", "briefing/", "comparison/"])
def test_a_void_link_opens_nothing_below_it_either(client: Client, seat: Seat, rest: str) -> None:
    verbs.revoke(seat)
    assert client.get(address(seat, rest)).status_code == 410


@pytest.mark.parametrize("rest", ["act/", "queue/start/", "notes/", "beat/", "pause/", "back/", "take/"])
def test_what_changes_something_wants_a_post_a_valid_link_and_a_token_against_forgery(seat: Seat, rest: str) -> None:
    assert Client().get(address(seat, rest)).status_code == 405
    assert Client(enforce_csrf_checks=True).post(address(seat, rest)).status_code == 403
    verbs.revoke(seat)
    assert Client().post(address(seat, rest)).status_code == 410


def test_what_a_seat_opens_is_kept_by_no_cache_and_told_to_no_other_site(client: Client, seat: Seat) -> None:
    for rest in ("", "state/", "parts/", "briefing/"):
        headers = client.get(address(seat, rest)).headers
        assert "no-store" in headers["Cache-Control"]
        assert headers["Referrer-Policy"] == "same-origin"
    assert "sessionid" not in client.cookies


def test_a_seats_link_opens_no_page_of_the_researchers(client: Client, run: Run, seat: Seat) -> None:
    client.get(address(seat))
    for path in ("/", f"/runs/{run.pk}/", "/admin/"):
        assert client.get(path).status_code == 302


# Acting


def test_a_form_left_as_it_is_sends_the_tools_defaults(client: Client, seat: Seat, run: Run) -> None:
    answer = act(client, seat, 1, "post_listing", item_id="roasted_coffee_kg", qty="30", asking_price="9.50")
    assert answer["is_taken"]
    ask = Ask.objects.get(firm=seat.firm, firm_turn=1)
    sent = json.loads(ask.arguments)
    assert sent == {"item_id": "roasted_coffee_kg", "qty": 30, "asking_price": 9.5, "payment_terms_days": 30}
    move(run)
    made = Turn.objects.get(firm=seat.firm)
    assert made.accepted


@pytest.mark.parametrize("role", ["farmer", "roaster", "retailer"])
def test_an_untouched_form_of_any_tool_means_what_the_tool_called_with_nothing_means(role: str) -> None:
    for form in forms.forms_of(schemas_for(f"{role}_A", role, Scenario(), FIRMS)).values():
        filled = forms.read_form(form, role, {})
        model = tools_of(role)[form.name].arguments
        required = {name for name, field in model.model_fields.items() if field.is_required()}
        assert filled.problems.keys() == required, form.name
        if not required:
            assert model(**filled.arguments) == model(), form.name


def test_every_field_of_a_schema_is_asked_for_with_its_limits_and_choices() -> None:
    form = forms.forms_of(schemas_for("roaster_A", "roaster", Scenario(), FIRMS))["make_offer"]
    fields = {field.name: field for field in form.fields}
    assert list(fields) == ["listing_id", "offered_price", "qty", "payment_terms_days", "message"]
    assert (fields["qty"].unit, fields["qty"].hint) == ("kg", "1 to 1,000,000")
    assert (fields["payment_terms_days"].default, fields["payment_terms_days"].is_required) == ("30", False)
    roast = forms.forms_of(schemas_for("roaster_A", "roaster", Scenario(), FIRMS))["roast"]
    assert [value for value, _ in roast.fields[0].choices] == ["green_coffee_kg", "green_specialty_kg"]


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("item_id", "", "is needed"),
        ("item_id", "tea", "choose one of the list"),
        ("qty", "", "is needed"),
        ("qty", "30.5", "“30.5” is not a whole number; write it as 30"),
        ("qty", "0", "must be at least 1"),
        ("qty", "2000000", "must be at most 1,000,000"),
        ("qty", "٣", "“٣” is not a whole number; write it as 30"),
        ("asking_price", "9,50", "“9,50” is not a price; write it with a point, as 9.50"),
        ("asking_price", "1e3", "“1e3” is not a price; write it with a point, as 9.50"),
        ("asking_price", "9.12345", "must have at most 4 decimals"),
        ("payment_terms_days", "-1", "must be at least 0"),
        ("payment_terms_days", "soon", "“soon” is not a whole number; write it as 30"),
    ],
)
def test_a_slip_of_the_finger_is_named_at_its_field_and_costs_no_turn(
    client: Client, seat: Seat, field: str, text: str, problem: str
) -> None:
    good = {"item_id": "roasted_coffee_kg", "qty": "30", "asking_price": "9.50", "payment_terms_days": "30"}
    answer = act(client, seat, 1, "post_listing", **{**good, field: text})
    assert answer == {"problems": {field: problem}}
    turn = verbs.open_turn(seat)
    assert turn is not None
    assert turn.firm_turn == 1


@pytest.mark.parametrize(("text", "number"), [("30", 30), (" 30 ", 30), ("1,200", 1200), ("30.0", 30), ("", 30)])
def test_a_number_is_read_as_people_write_it(text: str, number: int) -> None:
    form = forms.forms_of(schemas_for("roaster_A", "roaster", Scenario(), FIRMS))["make_offer"]
    assert forms.read_form(form, "roaster", {"arg.payment_terms_days": text}).arguments["payment_terms_days"] == number


def test_a_field_that_may_be_empty_and_is_is_not_sent() -> None:
    every = forms.forms_of(schemas_for("roaster_A", "roaster", Scenario(), FIRMS))
    posted = {"arg.recipient": "farmer_A", "arg.title": "Hello", "arg.body": "x", "arg.ref_offer_id": " "}
    assert forms.read_form(every["send_message"], "roaster", posted).arguments == {
        "recipient": "farmer_A",
        "title": "Hello",
        "body": "x",
    }
    assert forms.read_form(every["view_listings"], "roaster", {"arg.item_id": ""}).arguments == {"only_others": False}


def test_the_same_post_twice_is_one_action(client: Client, seat: Seat, run: Run) -> None:
    first, again = (act(client, seat, 1, "view_listings") for _ in range(2))
    assert (first["is_repeat"], again["is_repeat"]) == (False, True)
    move(run)
    assert act(client, seat, 1, "view_listings")["is_repeat"], "after the run has gone on"
    assert Turn.objects.filter(firm=seat.firm).count() == 1


def test_a_second_tab_is_told_what_was_decided_and_where_the_seat_stands(client: Client, seat: Seat, run: Run) -> None:
    act(client, seat, 1, "view_listings")
    move(run)
    answer = act(Client(), seat, 1, "view_deals")
    assert "Turn 1 is decided already, with view_listings; your turn is number 2" in answer["error"]
    assert answer["state"]["turn"] == 2
    assert Turn.objects.filter(firm=seat.firm).count() == 1


@pytest.mark.parametrize("turn", ["", "0", "99", "-1", "1.0", "9" * 30, "²"])
def test_a_turn_that_is_not_open_takes_no_action(client: Client, seat: Seat, turn: str) -> None:
    answer = client.post(address(seat, "act/"), {"turn": turn, "tool": "view_listings"}).json()
    assert "There is no turn" in answer["error"]


@pytest.mark.parametrize("tool", ["", "produce_item", "no_such_tool", HOSTILE])
def test_a_tool_that_the_firm_does_not_have_is_no_action(client: Client, seat: Seat, tool: str) -> None:
    assert act(client, seat, 1, tool) == {"problems": {"tool": "There is no such action."}}


def test_a_study_may_want_a_reason_for_every_action(client: Client, seat: Seat) -> None:
    verbs.set_rules(seat, absence="wait", absence_minutes=10, wants_rationale=True)
    problems = act(client, seat, 1, "view_listings")["problems"]
    assert problems == {"rationale": "This study asks for a reason for every action."}
    assert act(client, seat, 1, "view_listings", rationale="To see prices")["is_taken"]
    assert Ask.objects.get(firm=seat.firm).rationale == "To see prices"


def test_while_the_run_rests_nothing_is_taken_and_the_page_says_that_nothing_is_lost(
    client: Client, seat: Seat, run: Run
) -> None:
    control.pause_run(run.pk, "the researcher is at lunch with a rival")
    assert "nothing was sent" in act(client, seat, 1, "view_listings")["error"]
    state = client.get(address(seat, "state/")).json()
    assert (state["status"], state["turn"]) == ("paused", 1)
    assert "nothing is lost" in state["status_text"]
    assert "lunch" not in json.dumps(state)


# What is shown


def test_results_are_laid_out_with_what_can_be_done_from_a_row(client: Client, seat: Seat, run: Run) -> None:
    answer_open_turn(run, "roaster_A", Decision("view_listings", {}, "What is there?"))
    parts = pieces(client, seat)
    assert "Look at listings" in parts["did"]
    assert "What is there?" in parts["did"]
    assert 'data-act="make_offer"' in parts["did"]
    assert 'data-act="make_offer"' in parts["know"], "and it stays among the looks"
    assert "Day 0 09:00" in parts["know"], "marked with its age"


def test_a_refused_call_says_why(client: Client, seat: Seat, run: Run) -> None:
    answer_open_turn(run, "roaster_A", Decision("roast", {"green_item_id": "green_coffee_kg", "qty_kg": 48}))
    did = pieces(client, seat)["did"]
    assert "Roast 48 kg green coffee" in did
    assert "<b>Refused:</b>" in did
    assert "exceeds the 0 kg of green_coffee_kg on hand" in did


def test_an_offer_that_was_accepted_cannot_be_accepted_from_its_row_again(client: Client, seat: Seat, run: Run) -> None:
    listing = {"item_id": "roasted_coffee_kg", "qty": 30, "asking_price": 9.5}
    answer_open_turn(run, "roaster_A", Decision("post_listing", listing))
    answer_open_turn(run, "roaster_A")
    know = pieces(client, seat)["know"]
    offer = re.search(r'data-act="accept_offer" data-arguments="{&quot;offer_id&quot;: &quot;(O\d+)&quot;}"', know)
    assert offer, "a retailer bids on it within the day"
    assert "Accept 15 kg at 9.50" in know
    answer_open_turn(run, "roaster_A", Decision("accept_offer", {"offer_id": offer[1]}))
    button = f"{{&quot;offer_id&quot;: &quot;{offer[1]}&quot;}}"
    assert button not in pieces(client, seat)["know"]


def test_what_others_write_arrives_as_text(client: Client) -> None:
    run = seated_run("roaster_A", "farmer_A")
    letter = {"recipient": "roaster_A", "title": HOSTILE[:80], "body": HOSTILE}
    verbs.answer(seat_of(run, "farmer_A"), 1, Decision("send_message", letter))
    answer_open_turn(run, "roaster_A", Decision("view_deals", {}, HOSTILE))
    verbs.answer(seat_of(run, "farmer_A"), 2, Decision("wait_for_next_day", {}))
    answer_open_turn(run, "roaster_A", Decision("read_message", {"message_id": "M1"}))
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    parts = pieces(client, seat)
    page = client.get(address(seat)).content.decode()
    for text in (*parts.values(), page):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<b>bold" not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in parts["did"]


def test_the_page_holds_no_inline_script_or_handler(client: Client, seat: Seat) -> None:
    page = client.get(address(seat)).content.decode()
    scripts = re.findall(r"<script\b[^>]*>", page)
    assert all("src=" in script or 'type="application/json"' in script for script in scripts)
    assert not re.search(r"<[^>]+\son[a-z]+=", page)


def test_who_is_waited_for_is_named_and_what_was_sent_is_shown(client: Client) -> None:
    run = seated_run("roaster_A", "retailer_B")
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    act(client, seat, 1, "view_listings")
    state = client.get(address(seat, "state/")).json()
    assert (state["status"], state["waiting_for"], state["turn"]) == ("waiting", ["retailer_B"], None)
    assert "Sent; carried out when all have decided." in pieces(client, seat)["did"]


def test_an_assisted_seat_has_live_panels_and_a_seat_like_a_models_has_none(client: Client) -> None:
    for information, is_shown in (("assisted", True), ("parity", False)):
        run = seated_run("roaster_A", information=information)
        know = pieces(client, seat_of(run, "roaster_A"))["know"]
        assert ("Live panels" in know) is is_shown
        assert ('data-key="panel-view_listings"' in know) is is_shown


def test_the_state_changes_its_mark_when_an_assisted_panel_does(client: Client) -> None:
    run = seated_run("roaster_A", "farmer_A", information="assisted")
    seat = seat_of(run, "roaster_A")
    before = client.get(address(seat, "state/")).json()["panels_mark"]
    verbs.answer(seat, 1, Decision("wait_for_next_day", {}))
    listing = {"item_id": "green_coffee_kg", "qty": 5, "asking_price": 3}
    answer_open_turn(run, "farmer_A", Decision("post_listing", listing))
    assert client.get(address(seat, "state/")).json()["panels_mark"] not in ("", before)


def test_earlier_days_are_fetched_one_by_one(client: Client, seat: Seat, run: Run) -> None:
    answer_open_turn(run, "roaster_A", Decision("view_deals", {}))
    play(run, lambda seat, turn: Decision("wait_for_next_day", {}), turns=1)
    assert 'data-day="0"' in pieces(client, seat)["did"]
    day = client.get(address(seat, "days/0/")).content.decode()
    assert "Look at deals" in day
    assert "data-act" not in day.split("<details")[0], "what is past is not done again from there"
    assert client.get(address(seat, "days/3/")).status_code == 200


def test_nobodys_business_but_the_researchers_is_on_no_page_of_a_seat(client: Client, seat: Seat, run: Run) -> None:
    """The run's name and why it rests, who plays the others, and how far the run as a whole has counted."""
    Run.objects.filter(pk=run.pk).update(name="Secret study seven", players={**run.players, "farmer_B": "passive"})
    answer_open_turn(run, "roaster_A", Decision("view_listings", {}))
    control.pause_run(run.pk, "suspicion about roaster_B")
    for rest in ("", "state/", "parts/", "days/0/", "briefing/"):
        text = client.get(address(seat, rest)).content.decode()
        for secret in ("Secret study", "suspicion", "passive", "heuristic", '"events"', '"step"', '"seed"'):
            assert secret not in text, f"{secret} at {rest or 'the console'}"


# The queue, notes, the stand-in


def test_actions_are_queued_ordered_removed_and_started(client: Client, seat: Seat, run: Run) -> None:
    for tool in ("view_listings", "view_deals", "view_offers"):
        client.post(address(seat, "queue/add/"), {"tool": tool})
    state = client.get(address(seat, "state/")).json()
    assert [one["tool"] for one in state["queue"]] == ["view_listings", "view_deals", "view_offers"]
    assert state["queue_stopped"] == verbs.NOT_STARTED
    assert verbs.open_turn(seat) is not None, "nothing runs before it is started"
    client.post(address(seat, "queue/sooner/"), {"from_end": "1", "tool": "view_offers"})
    client.post(address(seat, "queue/remove/"), {"from_end": "3", "tool": "view_listings"})
    assert [one["tool"] for one in seat_of(run, "roaster_A").queue] == ["view_offers", "view_deals"]
    client.post(address(seat, "queue/start/"))
    assert Ask.objects.get(firm=seat.firm, firm_turn=1).tool == "view_offers"
    client.post(address(seat, "queue/stop/"))
    after = seat_of(run, "roaster_A")
    assert (len(after.queue), after.queue_stopped) == (1, "stopped by you")


def test_a_queue_that_moved_on_is_not_changed_in_the_wrong_place(client: Client, seat: Seat, run: Run) -> None:
    client.post(address(seat, "queue/add/"), {"tool": "view_listings"})
    for from_end, tool in (("1", "view_deals"), ("2", "view_listings"), ("x", "view_listings")):
        answer = client.post(address(seat, "queue/remove/"), {"from_end": from_end, "tool": tool}).json()
        assert answer == {"error": "The queue has moved on meanwhile; nothing was changed."}
    assert len(seat_of(run, "roaster_A").queue) == 1


def test_a_wrong_form_does_not_get_into_the_queue(client: Client, seat: Seat, run: Run) -> None:
    answer = client.post(address(seat, "queue/add/"), {"tool": "roast", "arg.qty_kg": "x"}).json()
    assert answer["problems"].keys() == {"green_item_id", "qty_kg"}
    assert seat_of(run, "roaster_A").queue == []


def test_notes_are_kept_as_they_were_written_and_come_back_on_any_device(client: Client, seat: Seat) -> None:
    client.post(address(seat, "notes/"), {"notes": f"Line one\r\n{HOSTILE}"})
    page = Client().get(address(seat)).content.decode()
    assert "Line one\n&lt;/script&gt;" in page
    answer = client.post(address(seat, "notes/"), {"notes": "x" * 50_001}).json()
    assert "50,000 are allowed" in answer["error"]


def test_a_person_comes_back_from_an_absence_but_not_from_the_researchers_arrangement(
    client: Client, seat: Seat, run: Run
) -> None:
    verbs.hand_over(seat, "script")
    client.post(address(seat, "back/"))
    assert seat_of(run, "roaster_A").driver == "script"
    verbs.hand_over(seat, "script", may_take_back=True)
    assert client.get(address(seat, "state/")).json()["may_take_back"]
    client.post(address(seat, "back/"))
    assert seat_of(run, "roaster_A").driver == "owner"


def test_who_plays_alone_pauses_and_the_time_is_booked_as_paused(client: Client, seat: Seat) -> None:
    assert client.get(address(seat, "state/")).json()["pause"] == "offer"
    paused = client.post(address(seat, "pause/"), {"is_on": "true"}).json()["state"]
    assert (paused["status"], paused["pause"]) == ("paused", "on")
    assert "You have paused the game" in paused["status_text"]
    assert "nothing was sent" in act(client, seat, 1, "view_deals")["error"]
    assert seat.spells.get(ended_at=None).state == "paused"
    again = client.post(address(seat, "pause/"), {"is_on": "false"}).json()["state"]
    assert (again["status"], again["turn"], again["pause"]) == ("your_turn", 1, "offer")
    assert seat.spells.get(ended_at=None).state == "active"


def test_nobody_pauses_what_is_not_theirs_to_pause(client: Client, seat: Seat, run: Run) -> None:
    two = seated_run("roaster_A", "retailer_A")
    verbs.take(seat_of(two, "roaster_A"))
    Seat.objects.filter(pk=seat.pk).update(absence="script")
    for one in (seat_of(two, "roaster_A"), seat):
        assert client.get(address(one, "state/")).json()["pause"] == ""
        assert "not yours alone" in client.post(address(one, "pause/"), {"is_on": "true"}).json()["error"]
        one.run.refresh_from_db()
        assert one.run.is_moving


def test_a_person_lets_no_run_go_on_that_somebody_else_has_paused(client: Client, seat: Seat, run: Run) -> None:
    control.pause_run(run.pk)
    assert client.get(address(seat, "state/")).json()["pause"] == ""
    assert client.post(address(seat, "pause/"), {"is_on": "false"}).json() == {"error": "You have not paused the game."}
    run.refresh_from_db()
    assert run.status == Run.Status.PAUSED


def test_a_sign_of_life_without_a_socket_is_heard(client: Client, seat: Seat, run: Run) -> None:
    before = seat_of(run, "roaster_A").last_seen_at
    client.post(address(seat, "beat/"), {"active": "true"})
    after = seat_of(run, "roaster_A")
    assert after.last_seen_at != before
    assert after.last_active_at == after.last_seen_at


# The briefing


@pytest.mark.parametrize("firm", FIRMS)
def test_the_page_has_the_models_briefing_word_for_word_and_says_how_a_person_plays(client: Client, firm: str) -> None:
    run = seated_run(firm)
    rules = rules_of(seat_of(run, firm))
    scenario = Scenario.model_validate(run.scenario)
    text = briefing.briefing(scenario, firm, briefing.Objective())
    shown = [block.text for block in rules.briefing if block.text]
    shown += [line for block in rules.briefing for line in block.lines]
    assert sorted(shown) == sorted(re.sub(r"^(## |- )", "", line) for line in text.splitlines() if line)
    model = briefing.system_prompt(scenario, firm, briefing.Objective(), memory_tools=False)
    person = briefing.person_briefing(scenario, firm, briefing.Objective(), is_assisted=False, wants_rationale=False)
    same = text + "\n\n"
    assert model.startswith(same)
    assert person.startswith(same)
    assert client.get(address(seat_of(run, firm), "briefing/")).content.decode().count("<h2>") == text.count("## ") + 1


def test_how_a_person_plays_depends_on_what_they_are_shown_and_asked() -> None:
    plain = briefing.answering_person(is_assisted=False, wants_rationale=False)
    assert "does not change by itself" in plain
    assert "You may write a short reason" in plain
    other = briefing.answering_person(is_assisted=True, wants_rationale=True)
    assert "live and free" in other
    assert "You may write a short reason" not in other


def test_the_briefing_is_cut_where_its_lines_say() -> None:
    blocks = blocks_of("Hello.\n\n## Time\n- one\n- two\n\nBye.")
    assert [(block.kind, block.text, block.lines) for block in blocks] == [
        ("paragraph", "Hello.", ()),
        ("heading", "Time", ()),
        ("list", "", ("one", "two")),
        ("paragraph", "Bye.", ()),
    ]


# Words and layouts


def test_every_tool_has_its_own_key_within_a_role_and_none_that_the_console_needs() -> None:
    for role in ("farmer", "roaster", "retailer"):
        keys = [WAYS[name].key for name in tools_of(role)]
        assert len(set(keys)) == len(keys)
        assert not set(keys) & set("rqnh?,.123456")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("roast", {"green_item_id": "green_coffee_kg", "qty_kg": 1200}, "Roast 1,200 kg green coffee"),
        ("roast", {"qty_kg": 48}, "Roast"),
        ("make_offer", {"listing_id": "L3", "offered_price": 3.125, "qty": 5}, "Offer 3.1250 USD/kg for 5 kg of L3"),
        (
            "set_retail_price",
            {"item_id": "roasted_specialty_kg", "price_per_unit": 0},
            "Price ◆ roasted specialty at 0.00 USD/kg",
        ),
        ("some_new_tool", {}, "Some new tool"),
        ("pay_invoice", {"unreadable": "x"}, "Pay an invoice"),
    ],
)
def test_a_call_in_words(tool: str, arguments: dict[str, Any], words: str) -> None:
    assert deed_text(tool, arguments) == words


def test_a_result_that_no_template_knows_is_laid_out_all_the_same() -> None:
    layout = show.laid_out(
        {"ok": True, "odd": 1.5, "things": [{"a_b": 1}, {"c": None}], "names": ["x", "y"]}, "roaster_A"
    )
    assert [cell.text for facts in layout.facts for _, cell in facts.facts] == ["1.50", "x, y"]
    (table,) = layout.tables
    assert (table.title, [header.text for header in table.headers]) == ("Things", ["A b"])


def test_the_choices_of_a_form_are_what_the_firm_has_seen_and_has_not_settled() -> None:
    listings = [
        {"listing_id": "L1", "seller": "farmer_A", "item_id": "green_coffee_kg", "qty": 60, "asking_price": 3.2},
        {"listing_id": "L2", "seller": "roaster_A", "item_id": "roasted_coffee_kg", "qty": 30, "asking_price": 9.5},
    ]
    invoices = [{"invoice_id": f"I{number}", "to": "farmer_A", "owed": 96.0, "due_day": 31} for number in (1, 2)]
    paid = {"tool": "pay_invoice", "arguments": {"invoice_id": "I1"}}
    known = known_rows([{"listings": listings}, {"invoices": invoices}], [paid], "roaster_A")
    assert list(known["listings"]) == ["L1"]
    assert known["listings"]["L1"]["label"] == "farmer_A, 60 kg green coffee at 3.20"
    assert list(known["payables"]) == ["I2"]


# How it ended


def finished(client: Client) -> tuple[Run, Seat]:
    run = seated_run("roaster_A", "retailer_A", days=6)
    play(run)
    return run, seat_of(run, "roaster_A")


def test_after_the_last_day_the_page_shows_the_firms_own_result(client: Client) -> None:
    run, seat = finished(client)
    assert run.status == Run.Status.FINISHED
    page = client.get(address(seat)).content.decode()
    net_income = words.usd_text(seat.firm.net_income_micros / 1_000_000)
    assert f"{net_income} USD" in page
    assert "Daily operating cost" in page


def test_the_same_decisions_earn_what_the_script_in_the_seat_earns(client: Client) -> None:
    """The seats were played by their roles' scripts, so the script in the same seat must come to the same cent."""
    _, seat = finished(client)
    compared = comparison.scripts_in_the_seat(seat)
    script, passive = compared.played
    assert (script.kind, passive.kind) == ("heuristic_roaster", "passive")
    assert script.net_income == seat.firm.net_income_micros / 1_000_000
    assert len(script.net_income_by_day) == 6
    assert passive.net_income < 0, "six mornings of costs and no sale"
    assert compared.replaced == ("retailer_A",)
    text = client.get(address(seat, "comparison/")).content.decode()
    assert "the same as yours" in text
    assert "retailer_A was not played by a script" in text


def test_there_is_no_comparison_while_the_run_goes_on(client: Client, seat: Seat) -> None:
    assert client.get(address(seat, "comparison/")).status_code == 404
    with pytest.raises(comparison.NotCompared):
        comparison.scripts_in_the_seat(seat)


def test_a_run_that_failed_may_go_on_so_its_seat_learns_nothing_of_the_end(
    client: Client, seat: Seat, run: Run
) -> None:
    """No books for free, no comparison on the days to come, and the same turn once the fault is mended."""
    Run.objects.filter(pk=run.pk).update(status=Run.Status.FAILED)
    page = client.get(address(seat)).content.decode()
    assert "You run Roaster A" in page
    assert "the researcher can let it go on" in page
    assert client.get(address(seat, "comparison/")).status_code == 404
    with pytest.raises(comparison.NotCompared):
        comparison.scripts_in_the_seat(seat_of(run, "roaster_A"))
    assert "nothing was sent" in act(client, seat, 1, "view_listings")["error"]
    control.resume_run(run.pk)
    assert act(client, seat, 1, "view_listings")["is_taken"]


def test_a_run_that_was_ended_early_is_compared_up_to_its_last_evening(client: Client, seat: Seat, run: Run) -> None:
    play(run, lambda seat, turn: Decision("wait_for_next_day", {}), turns=2)
    control.cancel_run(run.pk)
    page = client.get(address(seat)).content.decode()
    assert "The researcher has ended the run" in page
    text = client.get(address(seat, "comparison/")).content.decode()
    assert "as of the evening of Day 1" in text


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (-245.9, 48.6, [-250, -200, -150, -100, -50, 0, 50]),
        (0, 0, [0, 1]),
        (0, 8_812.4, [0, 2000, 4000, 6000, 8000, 10000]),
        (-30, 0, [-30, -25, -20, -15, -10, -5, 0]),
    ],
)
def test_the_marks_of_an_axis_are_round_numbers_around_the_range(low: float, high: float, marks: list[float]) -> None:
    assert ending.round_marks(low, high) == marks


def test_the_labels_of_an_axis_keep_apart_and_above_its_foot() -> None:
    assert ending.spread([100, 100, 50], lowest=194) == [100, 115, 50]
    assert ending.spread([194, 190, 194], lowest=194) == [179, 164, 194]
