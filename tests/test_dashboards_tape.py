"""Events as sentences, and the stretches of the tape that pages ask for."""

from typing import Any

import pytest

from dashboards.tape import (
    GROUP_OF,
    SENTENCES,
    EventRow,
    Filter,
    last_actions,
    lines_of,
    rows_after,
    rows_before,
    sentence,
)
from marketplace.models import Firm
from marketplace.rows import number_of
from simulation.models import Event
from tests.small_runs import add_event, add_events, make_run


def row(kind: str, **data: Any) -> EventRow:
    return EventRow(1_000_000_001, 540, 0, kind, None, None, data)


TRADE = {"item": "roasted_coffee_kg", "quantity_kg": 30, "price": 9.5, "listing": "L12", "offer": "O7", "deal": "D3"}


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        (
            "listing_posted",
            {**TRADE, "terms_days": 30},
            "lists 30 kg roasted coffee at 9.50 USD/kg, 30 days to pay (L12)",
        ),
        (
            "offer_made",
            {**TRADE, "terms_days": 1},
            "offers 9.50 USD/kg for 30 kg roasted coffee, 1 day to pay (O7 on L12)",
        ),
        ("offer_withdrawn", TRADE, "withdraws O7 on L12"),
        ("offer_rejected", TRADE, "turns down O7 on L12"),
        (
            "deal_made",
            {**TRADE, "total": 1285.0, "terms_days": 0},
            "sells 30 kg roasted coffee at 9.50 USD/kg: 1,285.00 USD, 0 days to pay (D3)",
        ),
        (
            "price_set",
            {"item": "roasted_specialty_kg", "price": 50},
            "sells ◆ roasted specialty at 50.00 USD/kg from now on",
        ),
        ("price_set", {"item": "roasted_specialty_kg", "price": 0.0}, "takes ◆ roasted specialty off the shelf"),
        (
            "batch_started",
            {"batch": "B1", "input_kg": 0, "item": "green_coffee_kg", "quantity_kg": 30, "cost": 60.0, "due_day": 3},
            "produces 30 kg green coffee for 60.00 USD, ready Day 3 (B1)",
        ),
        (
            "batch_started",
            {
                "batch": "B2",
                "input_item": "green_coffee_kg",
                "input_kg": 48,
                "item": "roasted_coffee_kg",
                "quantity_kg": 41,
                "cost": 144.0,
                "due_day": 13,
            },
            "roasts 48 kg green coffee into 41 kg roasted coffee for 144.00 USD, ready Day 13 (B2)",
        ),
        ("bankrupt", {"cash": -25.0}, "is bankrupt, with −25.00 USD in cash"),
        ("day_ended", {}, "Day 0 is over"),
        ("run_ended", {"status": "finished"}, "The run is over: finished"),
    ],
)
def test_an_event_is_a_sentence(kind: str, data: dict[str, Any], text: str) -> None:
    assert sentence(row(kind, **data)) == text


@pytest.mark.parametrize("kind", [kind for kind, _ in Event.KINDS])
def test_every_kind_has_words_and_a_group(kind: str) -> None:
    assert kind in SENTENCES
    assert kind in GROUP_OF


def test_a_kind_or_value_nobody_knows_is_no_error() -> None:
    assert sentence(row("comet_seen")) == "comet seen"
    assert sentence(row("offer_withdrawn")) == "withdraws ? on ?"


def test_text_of_a_firm_is_never_a_template() -> None:
    assert sentence(row("message_sent", message="M1", title="{price} {0} %s {deal.__class__}")) == (
        "writes M1: {price} {0} %s {deal.__class__}"
    )


@pytest.mark.django_db
def test_a_line_says_who_to_whom_and_when() -> None:
    run = make_run()
    add_event(run, "message_sent", "roaster_A", "farmer_B", day=11, minute=870, message="M1", title="Hello", body="<b>")
    names = dict(Firm.objects.values_list("pk", "name"))
    (line,) = lines_of(rows_after(run.pk, 0, 1, 10), names)
    assert (line.number, line.firm, line.other, line.day, line.clock) == (1, "roaster_A", "farmer_B", 11, "14:30")
    assert (line.text, line.body, line.is_action) == ("writes M1: Hello", "<b>", True)


@pytest.mark.django_db
def test_half_a_surrogate_pair_does_not_break_a_page() -> None:
    run = make_run()
    add_event(run, "message_sent", "roaster_A", "farmer_B", message="M1", title="a\ud800b", body="\udfff")
    (line,) = lines_of(rows_after(run.pk, 0, 1, 10), {})
    assert (line.text, line.body) == ("writes M1: a?b", "?")


def numbers(rows: list[EventRow]) -> list[int]:
    return [number_of(each.pk) for each in rows]


@pytest.mark.django_db
def test_stretches_begin_and_end_where_they_are_asked_to() -> None:
    run, other = make_run(), make_run()
    add_events(run, 10)
    add_events(other, 10)
    assert numbers(rows_after(run.pk, 3, 6, 100)) == [4, 5, 6]
    assert numbers(rows_after(run.pk, 3, 10, 2)) == [4, 5]
    assert numbers(rows_after(run.pk, 10, 10, 2)) == []
    assert numbers(rows_before(run.pk, 4, Filter())) == [3, 2, 1]
    assert numbers(rows_before(run.pk, 11, Filter(), limit=2)) == [10, 9]


@pytest.mark.django_db
def test_a_filter_takes_kinds_together_and_firms_on_either_side() -> None:
    run = make_run()
    add_event(run, "offer_made", "roaster_A", "farmer_A")
    add_event(run, "deal_made", "farmer_A", "roaster_A")
    add_event(run, "deal_made", "farmer_B", "roaster_B")
    add_event(run, "message_sent", "farmer_A", "farmer_B")
    farmer = Firm.objects.get(run=run, name="farmer_A").pk
    assert numbers(rows_before(run.pk, 5, Filter(group="trade"))) == [3, 2, 1]
    assert numbers(rows_before(run.pk, 5, Filter(firm_key=farmer))) == [4, 2, 1]
    assert numbers(rows_before(run.pk, 5, Filter("trade", farmer))) == [2, 1]


@pytest.mark.django_db
def test_the_last_action_of_a_firm_is_what_it_did_and_not_what_befell_it() -> None:
    run = make_run()
    add_event(run, "listing_posted", "farmer_A", item="green_coffee_kg")
    add_event(run, "spoiled", "farmer_A", item="green_coffee_kg")
    names = dict(Firm.objects.values_list("pk", "name"))
    found = last_actions(lines_of(rows_before(run.pk, 3, Filter()), names))
    assert found["farmer_A"].kind == "listing_posted"
