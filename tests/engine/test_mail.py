"""Letters between firms (RULES.md section 11)."""

from typing import Any

import pytest

from simulation.engine.decision import WAIT
from tests.engine.table import GREEN, Table, to


def test_a_letter_is_listed_by_its_title_and_its_body_is_read_with_read_message() -> None:
    table = Table()
    sent = table.do(
        "roaster_A", "send_message", recipient="farmer_A", title="Green?", body="Any left?\nWe take 20 kg. ☕"
    )
    assert sent == {"ok": True, "message_id": "M1"}
    row = {"message_id": "M1", "from": "roaster_A", "to": "farmer_A", "day": 0, "title": "Green?", "unread": True}
    assert table.do("farmer_A", "view_messages") == {"ok": True, "messages": [row], "unread_in_all": 1}
    assert table.do("farmer_A", "read_message", message_id="M1") == {
        "ok": True,
        "message_id": "M1",
        "from": "roaster_A",
        "to": "farmer_A",
        "day": 0,
        "title": "Green?",
        "body": "Any left?\nWe take 20 kg. ☕",
        "ref_listing_id": None,
        "ref_offer_id": None,
    }
    assert table.do("farmer_A", "view_messages") == {
        "ok": True,
        "messages": [{**row, "unread": False}],
        "unread_in_all": 0,
    }


def test_reading_ones_own_letter_does_not_mark_it_read_for_the_other() -> None:
    table = Table()
    table.do("roaster_A", "send_message", recipient="farmer_A", title="Green?", body="Any left?")
    assert table.do("roaster_A", "read_message", message_id="M1")["body"] == "Any left?"
    assert table.do("roaster_A", "view_messages")["unread_in_all"] == 0, "what one wrote is not unread"
    assert table.do("farmer_A", "view_messages")["unread_in_all"] == 1


def test_a_letter_may_refer_to_any_listing_and_to_an_offer_one_made_or_received() -> None:
    table = Table()
    offer = table.offer("farmer_A", "roaster_A", GREEN, 10, 3.0)
    table.do(
        *("farmer_A", "send_message"),
        recipient="roaster_A",
        title="Your offer",
        body="A little more?",
        ref_listing_id="L1",
        ref_offer_id=offer,
    )
    read = table.do("roaster_A", "read_message", message_id="M1")
    assert (read["ref_listing_id"], read["ref_offer_id"]) == ("L1", "O1")
    table.do("roaster_B", "send_message", recipient="roaster_A", title="L1", body="Dear.", ref_listing_id="L1")


LETTER = {"recipient": "farmer_A", "title": "Green?", "body": "Any left?"}
REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "roaster_A",
        "send_message",
        {**LETTER, "recipient": "roaster_A"},
        "there is no other firm 'roaster_A'; the others",
    ),
    (
        "roaster_A",
        "send_message",
        {**LETTER, "recipient": "baker_A"},
        "there is no other firm 'baker_A'; the others are",
    ),
    ("roaster_A", "send_message", {**LETTER, "recipient": "all"}, "there is no other firm 'all'"),
    ("roaster_A", "send_message", {**LETTER, "title": ""}, "title should have at least 1 character"),
    ("roaster_A", "send_message", {**LETTER, "title": "  "}, "title must not be empty"),
    ("roaster_A", "send_message", {**LETTER, "title": "x" * 81}, "title should have at most 80 characters"),
    ("roaster_A", "send_message", {**LETTER, "title": "a\0b"}, "title must not contain a null byte"),
    ("roaster_A", "send_message", {**LETTER, "title": "a\ud800"}, "title should be a valid string"),
    ("roaster_A", "send_message", {**LETTER, "body": ""}, "body should have at least 1 character"),
    ("roaster_A", "send_message", {**LETTER, "body": "\n"}, "body must not be empty"),
    ("roaster_A", "send_message", {**LETTER, "body": "x" * 10_001}, "body should have at most 10000 characters"),
    ("roaster_A", "send_message", {**LETTER, "body": "x" * 1_000_000}, "a text of 1000000 characters exceeds"),
    ("roaster_A", "send_message", {**LETTER, "ref_listing_id": "L9"}, "there is no listing 'L9'"),
    ("roaster_A", "send_message", {**LETTER, "ref_offer_id": "O9"}, "roaster_A made and received no offer 'O9'"),
    ("roaster_A", "send_message", {**LETTER, "ref_offer_id": "O1"}, "roaster_A made and received no offer 'O1'"),
    ("roaster_A", "send_message", {"recipient": "farmer_A", "title": "Green?"}, "body is missing"),
    ("roaster_A", "read_message", {"message_id": "M9"}, "roaster_A sent and received no message 'M9'"),
    ("roaster_A", "read_message", {"message_id": "M1"}, "roaster_A sent and received no message 'M1'"),
    ("roaster_A", "view_messages", {"counterparty": "roaster_A"}, "there is no other firm 'roaster_A'"),
    ("roaster_A", "view_messages", {"since_day": -1}, "since_day should be greater than or equal to 0, not -1"),
    ("roaster_A", "view_messages", {"limit": 0}, "limit should be greater than or equal to 1, not 0"),
    ("roaster_A", "view_messages", {"limit": 101}, "limit should be less than or equal to 100, not 101"),
]


@pytest.mark.parametrize(("firm", "tool", "arguments", "words"), REFUSALS, ids=[ascii(row[3])[:45] for row in REFUSALS])
def test_a_letter_that_cannot_be_is_refused_in_words(
    firm: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    table = Table()
    table.offer("farmer_A", "roaster_B", GREEN, 10, 3.0)
    table.do("farmer_A", "send_message", recipient="roaster_B", title="Your offer", body="For you alone.")
    assert table.refusal(firm, tool, **arguments).startswith(words)


@pytest.mark.parametrize("title", ["x", "x" * 80, "☕" * 80, "\N{GRINNING FACE}" * 80])
def test_a_title_may_have_up_to_eighty_characters_of_any_kind(title: str) -> None:
    table = Table()
    table.do("roaster_A", "send_message", **{**LETTER, "title": title})
    assert table.do("farmer_A", "view_messages")["messages"][0]["title"] == title


def test_messages_are_listed_newest_first_ten_at_a_time_and_by_firm_or_day() -> None:
    table = Table()
    for number in range(11):
        table.do("roaster_A", "send_message", **{**LETTER, "title": f"No. {number}"})
    table.until_day(1)
    table.do("farmer_A", "send_message", recipient="roaster_B", title="To another", body="Hi.")

    def titles(**arguments: Any) -> list[str]:
        return [row["title"] for row in table.do("farmer_A", "view_messages", **arguments)["messages"]]

    assert titles() == ["To another", *(f"No. {number}" for number in range(10, 1, -1))]
    assert len(titles(limit=100)) == 12
    assert titles(limit=1) == ["To another"]
    assert titles(counterparty="roaster_A", limit=2) == ["No. 10", "No. 9"]
    assert titles(counterparty="roaster_B") == ["To another"]
    assert titles(since_day=1) == ["To another"]
    assert titles(since_day=2) == []


def test_an_observation_counts_unread_letters_by_sender_and_names_the_oldest_day() -> None:
    table = Table()
    assert table.observation("farmer_A")["unread_messages"] == {"by_sender": {}, "oldest_day": None}
    table.step(roaster_A=to("send_message", **LETTER), farmer_A=WAIT)
    table.until_day(1)
    table.step(roaster_A=to("send_message", **LETTER), retailer_A=to("send_message", **LETTER))
    seen = table.observation("farmer_A")["unread_messages"]
    assert seen == {"by_sender": {"roaster_A": 2, "retailer_A": 1}, "oldest_day": 0}


def test_letters_are_counted_by_recipient_and_refused_ones_are_not() -> None:
    table = Table()
    table.do("roaster_A", "send_message", **LETTER)
    table.do("roaster_A", "send_message", **{**LETTER, "recipient": "farmer_B"})
    table.refusal("roaster_A", "send_message", **{**LETTER, "body": ""})
    activity = table.world.seats["roaster_A"].activity
    assert activity.messages_to == {"farmer_A": 1, "farmer_B": 1}
    assert (activity.messages_sent, activity.refused_calls, activity.calls_by_tool["send_message"]) == (2, 1, 3)
