"""The researcher's monitor: how seats and participants are shown, who is first, what helps them, and who may look."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboards.monitor.people import SORTS, counts_of, people_of
from dashboards.monitor.seen import Rank, Seen, seats_with_last_turn, seen_of
from dashboards.templatetags.monitor import span
from simulation import control
from simulation.engine.decision import WAIT, Decision
from simulation.models import Run, Seat
from simulation.players.llm.settings import ModelSettings
from simulation.seats import clocks, links, verbs
from simulation.studies import links as study_links
from simulation.studies import verbs as study_verbs
from simulation.studies.models import Participant
from tests.seat_play import answer_open_turn, move, play, seat_of, seated_run
from tests.study_plans import Stage, again, invited, small_study, walk_to

pytestmark = pytest.mark.django_db

HOSTILE = "=HYPERLINK(\"http://x\")<script>alert('seat')</script>\N{RIGHT-TO-LEFT OVERRIDE}"
MODEL = ModelSettings.model_validate({"model": "openai/gpt-5.5"})


def seen(run: Run, firm: str = "roaster_A", *, later: float = 0) -> Seen:
    """A seat as the monitor sees it, so many seconds from now."""
    seats = seats_with_last_turn().filter(run=run, firm__name=firm)
    (found,) = seen_of(seats, timezone.now() + timedelta(seconds=later))
    return found


def address(seat: Seat, verb: str = "") -> str:
    return f"/runs/{seat.run_id}/seats/{seat.pk}/" + (f"{verb}/" if verb else "")


def page_of(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return str(response.content.decode())


# How a seat is seen.


def test_an_open_turn_is_the_seats_and_counts_from_when_it_was_opened() -> None:
    run = seated_run("roaster_A", "farmer_A")
    seat = seen(run)
    turn = verbs.open_turn(seat.seat)
    assert turn is not None
    assert (seat.doing, seat.since) == ("has the turn", turn.created_at)
    assert seat.last is None


def test_who_has_answered_waits_for_those_who_have_not() -> None:
    run = seated_run("roaster_A", "farmer_A")
    turn = answer_open_turn(run, "roaster_A")
    seat = seen(run)
    turn.refresh_from_db()
    assert seat.doing == "waits for farmer_A"
    assert seat.since == turn.answered_at
    assert seat.last is not None
    assert (seat.last.tool, seat.last.accepted) == ("wait_for_next_day", None)  # stored, not carried out yet


def test_the_last_action_says_whether_it_was_refused_and_who_decided_it() -> None:
    run = seated_run("roaster_A")
    answer_open_turn(run, "roaster_A", Decision("accept_offer", {"offer_id": "O99"}, ""))
    last = seen(run).last
    assert last is not None
    assert (last.tool, last.accepted, last.decided_by) == ("accept_offer", False, "human")
    seat = seat_of(run, "roaster_A")
    verbs.answer(seat, 2, WAIT, by=verbs.TIMEOUT)
    move(run)
    last = seen(run).last
    assert last is not None
    assert (last.tool, last.accepted, last.decided_by) == ("wait_for_next_day", True, "timeout")


@pytest.mark.parametrize(
    ("seen_for", "active_for", "taken", "rank", "trouble"),
    [
        # seconds since the last sign of life, and since something was done
        (5, 5, True, Rank.PLAYS, ""),
        (5, 90, True, Rank.IDLE, "idle"),
        (90, 90, True, Rank.AWAY, "away"),
        (None, None, False, Rank.AWAY, "not taken"),
    ],
)
def test_whoever_lets_everybody_wait_is_told_by_how(
    seen_for: float | None, active_for: float | None, taken: bool, rank: Rank, trouble: str
) -> None:
    run = seated_run("roaster_A")
    now = timezone.now() + timedelta(minutes=3)  # the turn has been open for so long
    Seat.objects.update(
        taken_at=run.created_at if taken else None,
        last_seen_at=None if seen_for is None else now - timedelta(seconds=seen_for),
        last_active_at=None if active_for is None else now - timedelta(seconds=active_for),
    )
    (seat,) = seen_of(seats_with_last_turn(), now)
    assert (seat.rank, seat.trouble) == (rank, trouble)


@pytest.mark.parametrize(
    ("status", "paused_by", "rank", "doing"),
    [
        ("paused", "person", Rank.WAITS, "the run is paused in their turn"),
        ("paused", "player", Rank.WAITS, "has paused their game"),
        ("paused", "provider", Rank.TROUBLE, "the run is paused in their turn"),
        ("paused", "budget", Rank.TROUBLE, "the run is paused in their turn"),
        ("failed", "", Rank.TROUBLE, "the run has failed"),
        ("finished", "", Rank.OVER, "the run is finished"),
        ("stopped", "", Rank.OVER, "the run was stopped"),
    ],
)
def test_a_run_that_rests_says_so_and_needs_help_unless_a_person_paused_it(
    status: str, paused_by: str, rank: Rank, doing: str
) -> None:
    run = seated_run("roaster_A")
    Run.objects.update(status=status, paused_by=paused_by)
    seat = seen(run)
    assert (seat.rank, seat.doing) == (rank, doing)


def test_a_seat_that_was_handed_over_keeps_nobody_waiting_for_its_person() -> None:
    run = seated_run("roaster_A")
    verbs.hand_over(seat_of(run, "roaster_A"), "script")
    seat = seen(run, later=3600)
    assert (seat.doing, seat.rank, seat.rule_at) == ("the script decides", Rank.WAITS, None)


def test_the_rule_for_absence_is_announced_and_put_off_by_an_extension() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    assert seen(run).rule_at is None  # everybody waits
    verbs.set_rules(seat, absence="script", absence_minutes=10, wants_rationale=False)
    turn = verbs.open_turn(seat)
    assert turn is not None
    assert seen(run).rule_at == turn.created_at + timedelta(minutes=10)
    verbs.extend(seat, 60)
    seat.refresh_from_db()
    assert seat.extended_until is not None
    assert seen(run).rule_at == seat.extended_until + timedelta(minutes=10)


def test_the_bar_of_times_is_whole_and_shows_what_the_clocks_count() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    verbs.take(seat)
    answer_open_turn(run, "roaster_A")
    found = seen(run, later=500)
    parts = found.spent()
    assert sum(part.percent for part in parts) == pytest.approx(100)
    assert {part.state: part.seconds for part in parts} == clocks.seconds_by_state(found.seat, found.now)
    assert parts[-1].from_percent + parts[-1].percent == pytest.approx(100)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (-3, "0:00"), (65.9, "1:05"), (3725, "1:02:05"), (187_800, "2 d 04:10")],
)
def test_a_stretch_of_time_is_written_to_the_second(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_seats_cost_the_same_few_queries_however_many_runs_they_are_in() -> None:
    counts = []
    for _ in range(2):
        run = seated_run("roaster_A", "farmer_A", days=1)
        answer_open_turn(run, "roaster_A")
        with CaptureQueriesContext(connection) as queries:
            for seat in seen_of(seats_with_last_turn(), timezone.now()):
                assert seat.doing
                assert seat.last is not None or seat.has_turn
                assert seat.path
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 5


# The page of a run's seats.


def test_the_page_of_a_new_run_gives_the_link_until_somebody_sits_down(staff: Client) -> None:
    response = staff.get("/runs/new/")
    assert response.status_code == 200
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    link = f"http://testserver/seat/{links.token_of(seat)}/"
    for path in (f"/runs/{run.pk}/", f"/runs/{run.pk}/seats/?part=strip", f"/runs/{run.pk}/seats/"):
        page = page_of(staff, path)
        assert link in page, path
    strip = page_of(staff, f"/runs/{run.pk}/")
    assert "is played by a person: give them this link" in strip
    assert f'href="/runs/{run.pk}/seats/"' in strip
    assert staff.get(link).status_code == 200  # it opens the seat
    verbs.take(seat)
    strip = page_of(staff, f"/runs/{run.pk}/")
    assert link not in strip
    assert f'href="/runs/{run.pk}/seats/"' in strip
    assert link in page_of(staff, f"/runs/{run.pk}/seats/")


def test_a_programs_seat_gives_its_token(staff: Client) -> None:
    run = seated_run("roaster_A", kind="remote")
    page = page_of(staff, f"/runs/{run.pk}/")
    assert "is played by a program: give it this token" in page
    assert f'value="{links.token_of(seat_of(run, "roaster_A"))}"' in page
    assert "http://testserver/api/seat/" in page_of(staff, f"/runs/{run.pk}/seats/")


def test_a_run_without_seats_has_no_strip_and_an_empty_page_that_says_how_to_get_one(staff: Client) -> None:
    scenario = small_study().rules()
    run = control.create_run(name="scripts", scenario=scenario, seed=0, players={})
    assert "seats" not in page_of(staff, f"/runs/{run.pk}/")
    assert "Nobody sits here" in page_of(staff, f"/runs/{run.pk}/seats/")


def test_strangers_see_no_seats_and_do_nothing() -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    study = small_study()
    paths = [
        f"/runs/{run.pk}/seats/",
        f"/runs/{run.pk}/seats/?part=live",
        address(seat),
        f"/studies/{study.pk}/monitor/",
    ]
    visitor = Client()
    visitor.force_login(User.objects.create_user("visitor"))
    for path in paths:
        response = Client().get(path)
        assert response.status_code == 302
        assert "/login/" in response.headers["Location"]
        assert visitor.get(path).status_code == 403
    for client, status in ((Client(), 302), (visitor, 403)):
        assert client.post(address(seat, "hand-over"), {"driver": "script"}).status_code == status
    seat.refresh_from_db()
    assert seat.driver == "owner"
    rosa = Client(enforce_csrf_checks=True)
    rosa.force_login(User.objects.create_user("rosa", is_staff=True))
    assert rosa.post(address(seat, "hand-over"), {"driver": "script"}).status_code == 403


def test_looking_changes_nothing_and_is_kept_by_no_cache(staff: Client) -> None:
    run = seated_run("roaster_A")
    before = list(Seat.objects.values())
    for path in (f"/runs/{run.pk}/seats/", f"/runs/{run.pk}/seats/?part=live", f"/runs/{run.pk}/"):
        assert "no-store" in staff.get(path).headers["Cache-Control"]
    assert list(Seat.objects.values()) == before
    assert staff.get(address(seat_of(run, "roaster_A"), "hand-over")).status_code == 405


# What helps.


def test_each_verb_does_one_thing_and_says_what(staff: Client) -> None:
    run = seated_run("roaster_A", models={"roaster_A": MODEL})
    seat = seat_of(run, "roaster_A")
    verbs.set_rules(seat, absence="wait", absence_minutes=10, wants_rationale=False, label="P7")
    rules = {"absence": "model", "absence_minutes": "3", "wants_rationale": "on", "label": "P8"}
    steps: list[tuple[str, dict[str, str], dict[str, Any], str]] = [
        ("nudge", {"text": " Still there? "}, {"nudge": "Still there?"}, "P7 (roaster_A) is told: Still there?"),
        ("hand-over", {"driver": "model"}, {"driver": "model"}, "A model plays for P7 (roaster_A)"),
        ("hand-back", {}, {"driver": "owner"}, "P7 (roaster_A) plays again"),
        ("hand-over", {"driver": "script"}, {"driver": "script"}, "A script plays"),
        ("revoke", {}, {"is_revoked": True}, "is void"),
        ("reissue", {}, {"is_revoked": False, "link_number": 2}, "has a new link"),
        ("rules", rules, {"absence": "model", "absence_minutes": 3, "wants_rationale": True, "label": "P8"}, "changed"),
    ]
    for verb, sent, values, words in steps:
        page = staff.post(address(seat, verb), sent, follow=True)
        assert words in unescape(page.content.decode()), verb
        seat.refresh_from_db()
        assert {name: getattr(seat, name) for name in values} == values
    staff.post(address(seat, "extend"), {"minutes": "30"})
    seat.refresh_from_db()
    assert seat.extended_until is not None
    assert timedelta(minutes=29) < seat.extended_until - timezone.now() <= timedelta(minutes=30)


@pytest.mark.parametrize(
    ("verb", "sent", "says"),
    [
        ("nudge", {"text": "  "}, "Write what"),
        ("nudge", {}, "Write what"),
        ("extend", {"minutes": "soon"}, "Whole minutes"),
        ("extend", {"minutes": "٣"}, "Whole minutes"),
        ("extend", {"minutes": "0"}, "1 to 10,080"),
        ("extend", {"minutes": "9" * 5000}, "Whole minutes"),
        ("hand-over", {"driver": "owner"}, "a script or a model"),
        ("hand-over", {"driver": "model"}, "No language model"),
        ("hand-over", {"driver": HOSTILE * 9}, "a script or a model"),
        ("rules", {"absence": "sleep", "absence_minutes": "5"}, "none of"),
        ("rules", {"absence": "model", "absence_minutes": "5"}, "No language model"),
        ("rules", {"absence": "wait"}, "Whole minutes"),
    ],
)
def test_what_cannot_be_done_says_why_and_changes_nothing(
    staff: Client, verb: str, sent: dict[str, str], says: str
) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    before = Seat.objects.values().get()
    page = staff.post(address(seat, verb), sent, follow=True).content.decode()
    assert says in unescape(page)
    part = staff.post(address(seat, verb), sent, headers={"HX-Request": "true"})
    assert part.status_code == 409
    assert says in part.content.decode()
    assert part.headers["Content-Type"].startswith("text/plain")
    assert Seat.objects.values().get() == before


def test_a_part_of_the_page_is_told_in_a_header_that_any_words_fit_into(staff: Client) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    text = f"Weiter, bitte – {HOSTILE}"
    response = staff.post(address(seat, "nudge"), {"text": f"{text}\r\nX-Evil: 1"}, headers={"HX-Request": "true"})
    assert response.status_code == 204
    assert "X-Evil" not in response.headers
    assert text in json.loads(response.headers["HX-Trigger"])["monitor-done"]["words"]


@pytest.mark.parametrize("verb", ["promote", "take", "answer", "delete"])
def test_a_verb_that_is_none_and_a_seat_of_another_run_are_not_found(staff: Client, verb: str) -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    assert staff.post(address(seat, verb)).status_code == 404
    other = seated_run("farmer_A")
    assert staff.post(f"/runs/{other.pk}/seats/{seat.pk}/revoke/").status_code == 404
    assert staff.get(f"/runs/{other.pk}/seats/{seat.pk}/").status_code == 404


def test_a_seat_of_a_study_is_revoked_and_reissued_with_its_participant(staff: Client) -> None:
    (ada,) = invited(small_study(), "ada")
    seat = walk_to(ada, Stage.GAME).seat
    assert seat
    old = study_links.path_of(again(ada))
    assert old in page_of(staff, f"/runs/{seat.run_id}/seats/")
    staff.post(address(seat, "revoke"))
    assert again(ada).is_revoked
    assert old not in page_of(staff, f"/runs/{seat.run_id}/seats/")
    staff.post(address(seat, "reissue"))
    assert study_links.path_of(again(ada)) in page_of(staff, f"/runs/{seat.run_id}/seats/")
    staff.post(address(seat, "rules"), {"absence": "script", "absence_minutes": "5", "label": "other"})
    seat.refresh_from_db()
    assert (seat.absence, seat.label) == ("script", "ada")


def test_hostile_labels_nudges_and_names_of_tools_are_text_on_every_page(staff: Client) -> None:
    study = small_study()
    (ada,) = invited(study, HOSTILE)
    seat = walk_to(ada, Stage.GAME).seat
    assert seat
    run = move(seat.run)
    answer_open_turn(run, "roaster_A", Decision(HOSTILE, {"x": HOSTILE}, "x" * 10_000))
    verbs.write_notes(seat, HOSTILE + "x" * 10_000)
    verbs.nudge(seat, HOSTILE)
    verbs.set_queue(seat_of(run, "roaster_A"), [WAIT, WAIT])
    for path in (f"/runs/{run.pk}/seats/", f"/runs/{run.pk}/", f"/studies/{study.pk}/monitor/", address(seat)):
        page = page_of(staff, path)
        assert "<script>alert(" not in page, path
        assert "x" * 1000 not in page, path
    assert "<bdi>=HYPERLINK(" in page_of(staff, f"/studies/{study.pk}/monitor/")


# The participants of a study.


def at_stages() -> tuple[Any, dict[str, Participant]]:
    """A study with somebody at every kind of place, all last seen just now unless the name says otherwise."""
    study = small_study(quiz_pass_mark=3, persons=["roaster_A", "roaster_B"])
    names = ("invited", "quiz", "lost", "first", "second", "done", "declined", "deleted")
    people = dict(zip(names, invited(study, *names), strict=True))
    stages = {"first": Stage.WAITING, "second": Stage.GAME, "quiz": Stage.QUIZ, "lost": Stage.WAITING}
    for name, stage in stages.items():
        walk_to(people[name], stage)
    study_verbs.decline(people["declined"])
    study_verbs.delete_participant_data(people["deleted"])
    Participant.objects.filter(pk=people["done"].pk).update(stage=Stage.DONE, consented_at=study.created_at)
    now = timezone.now()
    Participant.objects.exclude(pk=people["lost"].pk).update(last_seen_at=now)
    first = again(people["first"]).seat
    assert first
    move(first.run)
    return study, people


def ranks(study: Any, now: datetime) -> dict[str, Rank]:
    return {person.participant.label.split()[0]: person.rank for person in people_of(study, now)}


def test_those_who_need_help_are_first_and_of_these_the_longest_waiting() -> None:
    study, people = at_stages()
    now = timezone.now()
    second = again(people["second"]).seat
    assert second
    verbs.take(second)
    assert ranks(study, now) == {
        "invited": Rank.INVITED,
        "quiz": Rank.READS,
        "lost": Rank.LOST,  # left the waiting room
        "first": Rank.AWAY,  # has the turn and never opened the seat
        "second": Rank.PLAYS,
        "done": Rank.OVER,
        "declined": Rank.OVER,
        "deleted": Rank.OVER,
    }
    found = people_of(study, now)
    in_order = [person.participant.label for person in sorted(found, key=SORTS["stuck"][1])]
    assert in_order[:5] == ["first", "lost", "second", "quiz", "invited"]
    assert dict(counts_of(found)) == {
        "need help": 2,
        "play": 1,
        "wait": 0,
        "read or answer": 1,
        "invited": 1,
        "through": 3,
    }
    assert [person.trouble for person in found if person.trouble] == ["not here", "not taken"]


def test_labels_are_sorted_as_people_count() -> None:
    study = small_study()
    invited(study, "P10", "P9", "ada")
    found = sorted(people_of(study, timezone.now()), key=SORTS["label"][1])
    assert [person.participant.label for person in found] == ["P9", "P10", "ada"]


def test_whoever_has_played_out_and_left_before_the_last_questions_is_missed() -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    seat = walk_to(ada, Stage.GAME).seat
    assert seat
    play(move(seat.run))
    assert ranks(study, timezone.now() + timedelta(minutes=4)) == {"ada": Rank.READS}
    assert ranks(study, timezone.now() + timedelta(minutes=6)) == {"ada": Rank.LOST}


def test_a_table_that_nobody_holds_up_and_that_does_not_move_needs_help() -> None:
    run = seated_run("roaster_A")
    turn = verbs.open_turn(seat_of(run, "roaster_A"))
    assert turn is not None
    verbs.answer(seat_of(run, "roaster_A"), turn.firm_turn, WAIT)  # and no worker comes to carry it out
    assert (seen(run).rank, seen(run).trouble) == (Rank.WAITS, "")
    late = seen(run, later=200)
    assert (late.rank, late.trouble, late.doing) == (Rank.TROUBLE, "stands still", "waits for the run to move")
    Run.objects.update(not_before=timezone.now() + timedelta(hours=1))
    assert seen(run, later=200).rank == Rank.WAITS  # a paced day


def test_the_monitor_shows_each_row_and_its_help_where_there_is_a_seat(staff: Client) -> None:
    study, people = at_stages()
    page = page_of(staff, f"/studies/{study.pk}/monitor/")
    rows = re.findall(r'data-row="(\d+)"', page)
    assert len(rows) == 8
    assert rows[0] == str(people["first"].pk)
    first = again(people["first"]).seat
    assert first
    assert f'href="{address(first)}"' in page
    assert page.count("data-open-seat") == 2
    part = page_of(staff, f"/studies/{study.pk}/monitor/?part=live&sort=label&page=99")
    assert "<html" not in part
    assert "data-row" in part
    assert "Nobody yet" in page_of(staff, f"/studies/{small_study().pk}/monitor/")


def test_the_study_costs_the_same_few_queries_however_many_take_part() -> None:
    study = small_study()
    counts = []
    for label in ("ada", "bo", "cy"):
        walk_to(invited(study, label)[0], Stage.GAME)
        with CaptureQueriesContext(connection) as queries:
            for person in people_of(study, timezone.now()):
                assert person.rank <= Rank.OVER
                assert person.doing
                assert person.participant.get_stage_display()
        counts.append(len(queries))
    assert counts[0] == counts[2] <= 6


def test_a_paused_run_is_resumed_from_the_card_of_a_seat(staff: Client) -> None:
    run = seated_run("roaster_A")
    seat = seat_of(run, "roaster_A")
    page = page_of(staff, address(seat))
    assert f'action="/runs/{run.pk}/pause/"' in page
    staff.post(f"/runs/{run.pk}/pause/")
    page = page_of(staff, address(seat))
    assert "the run is paused in their turn" in page
    assert f'action="/runs/{run.pk}/resume/"' in page
