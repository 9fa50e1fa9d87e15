"""The drawers of seats and spells: all that the tables know of who plays, and no key to a seat."""

from __future__ import annotations

import pytest
from django.test import Client

from simulation.engine.decision import WAIT
from simulation.models import Run, Seat, Spell
from simulation.seats import verbs
from simulation.seats.links import token_of
from tests.seat_play import play, seat_of, seated_run

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run() -> Run:
    """A run that a person, a script in their place and the rule for absence have played."""
    run = seated_run("roaster_A", days=2)
    seat = seat_of(run, "roaster_A")
    verbs.set_rules(seat, absence="script", absence_minutes=7, wants_rationale=False, label="P07")
    verbs.take(seat)
    verbs.write_notes(seat, HOSTILE)
    verbs.nudge(seat, HOSTILE)
    return play(run)


def test_a_seat_is_listed_with_who_plays_it_and_when_it_was_taken(staff: Client, run: Run) -> None:
    for address in ("/admin/simulation/seat/", f"/admin/simulation/seat/?run={run.pk}&firm=roaster_A&driver=owner"):
        text = staff.get(address).content.decode()
        assert "P07" in text
        assert "roaster_A" in text


def test_a_seats_page_shows_its_spells_and_what_was_written_as_words(staff: Client, run: Run) -> None:
    seat = seat_of(run, "roaster_A")
    text = staff.get(f"/admin/simulation/seat/{seat.pk}/change/").content.decode()
    assert "Spells" in text
    assert "waiting for others" in text
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text


def test_spells_are_listed_by_run_firm_day_and_state(staff: Client, run: Run) -> None:
    assert Spell.objects.filter(seat__run=run, day=0, state="active").exists()
    query = f"?run={run.pk}&firm=roaster_A&day=0&state=active"
    text = staff.get(f"/admin/simulation/spell/{query}").content.decode()
    assert "roaster_A" in text
    assert "No spells match" not in text
    assert "No spells match" in staff.get(f"/admin/simulation/spell/?run={run.pk}&day=77").content.decode()


def test_an_ask_says_which_of_the_firms_turns_it_is_and_who_decided(staff: Client) -> None:
    run = seated_run("roaster_A")
    verbs.answer(seat_of(run, "roaster_A"), 1, WAIT, by=verbs.TIMEOUT)
    text = staff.get(f"/admin/simulation/ask/?run={run.pk}&decided_by=timeout").content.decode()
    assert "timeout" in text
    assert "No asks match" not in text


def test_no_page_of_the_cabinet_shows_the_key_of_a_seat(staff: Client, run: Run) -> None:
    seat = seat_of(run, "roaster_A")
    key = token_of(seat).partition("~")[2]
    for address in ("seat/", f"seat/{seat.pk}/change/", "spell/", f"run/{run.pk}/change/", "ask/"):
        response = staff.get(f"/admin/simulation/{address}")
        assert response.status_code == 200
        assert key not in response.content.decode()


@pytest.mark.parametrize("address", ["seat/", "spell/", "seat/{seat}/change/"])
def test_nothing_can_be_changed_there(staff: Client, run: Run, address: str) -> None:
    where = f"/admin/simulation/{address}".format(seat=seat_of(run, "roaster_A").pk)
    assert staff.post(where, {"label": "x"}).status_code == 403
    assert staff.get("/admin/simulation/seat/add/").status_code == 403


@pytest.mark.parametrize("address", ["seat/404/change/", "seat/abc/change/", "seat/999999999999999999999/change/"])
def test_a_seat_that_is_not_there_is_said_so(staff: Client, address: str) -> None:
    response = staff.get(f"/admin/simulation/{address}", follow=True)
    assert "There is no seat" in response.content.decode()


def test_a_list_costs_the_same_queries_however_many_rows_it_shows(
    staff: Client, run: Run, django_assert_num_queries: object
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            staff.get("/admin/simulation/spell/")
            staff.get("/admin/simulation/seat/")
        counts.append(len(queries))
        play(seated_run("roaster_A", "farmer_A", "retailer_A", days=2))
    assert counts[0] == counts[1]
    assert Seat.objects.count() == 7
