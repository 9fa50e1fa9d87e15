"""The export of a study: what is in it and what is not, that its codebook describes it, and that it opens safely."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from simulation import control
from simulation.cells import FORMULA_STARTS
from simulation.engine.decision import WAIT, Decision
from simulation.models import Ask, Run, Seat, Spell, Turn
from simulation.seats import clocks, comparison, links, verbs
from simulation.studies import links as study_links
from simulation.studies import verbs as study_verbs
from simulation.studies.codebook import RUN_SHEETS, STUDY_SHEETS
from simulation.studies.export import CODEBOOK, run_archive, study_archive
from simulation.studies.export_rows import Spent
from simulation.studies.models import Participant, Study
from tests.seat_play import answer_open_turn, move, seated_run
from tests.study_plans import Stage, again, invited, small_study, walk_to

pytestmark = pytest.mark.django_db

FORMULA = '=HYPERLINK("http://example.org","free beans")'
HOSTILE = f'{FORMULA}</td><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}\r\n"x",'
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)

File = list[dict[str, str]]


def files_of(pieces: Iterable[bytes]) -> dict[str, File]:
    """The files of an archive, each as its rows by the names of the columns."""
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        return {name: list(csv.DictReader(text_of(archive, name))) for name in archive.namelist()}


def text_of(archive: zipfile.ZipFile, name: str) -> io.StringIO:
    """A file's text with its line ends as they are."""
    return io.StringIO(archive.read(name).decode("utf-8"), newline="")


def whole(pieces: Iterable[bytes]) -> str:
    """All text of an archive."""
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        return "".join(archive.read(name).decode("utf-8") for name in archive.namelist())


def seat_in_game(participant: Participant) -> Seat:
    """The seat of a participant's game as the tables have it now."""
    seat = again(participant).seat
    assert seat
    return Seat.objects.select_related("run", "firm").get(pk=seat.pk)


@pytest.fixture
def study(db: None) -> Study:
    """Two persons at one table: ada writes to bo and is rude to spreadsheets; both have played to the end."""
    study = small_study(
        persons=["roaster_A", "roaster_B"],
        quiz_pass_mark=3,
        practice_days=1,
        seeds=[5],
        questionnaire=[{"kind": "text", "text": "How?"}, {"kind": "number", "text": "Age?", "is_required": False}],
    )
    ada, bo = invited(study, FORMULA, "bo")
    for one in (ada, bo):
        walk_to(one, Stage.GAME if one == bo else Stage.WAITING)
    run = seat_in_game(ada).run
    move(run)
    message = {"recipient": "roaster_B", "title": FORMULA, "body": "Meet me at the lake."}
    answer_open_turn(run, "roaster_A", Decision("send_message", message, HOSTILE))
    answer_open_turn(run, "roaster_B", Decision("list_messages", {}, ""))
    verbs.take(seat_in_game(ada))
    for one in (ada, bo):
        walk_to(one, Stage.QUESTIONNAIRE)
    study_verbs.hand_in(again(ada), {1: HOSTILE + "x" * 9_000, 2: "-5"})
    return study


def test_every_column_is_in_the_codebook_and_every_line_of_the_codebook_is_a_column(study: Study) -> None:
    files = files_of(study_archive(study))
    described = [(line["file"], line["column"]) for line in files[CODEBOOK] if line["file"] != "all files"]
    with zipfile.ZipFile(io.BytesIO(b"".join(study_archive(study)))) as archive:
        assert archive.namelist() == [CODEBOOK, *(sheet.name for sheet in STUDY_SHEETS)]
        found = [
            (name, column)
            for name in archive.namelist()[1:]
            for column in ["", *next(csv.reader(text_of(archive, name)))]
        ]
    assert described == found
    assert all(line["meaning"] for line in files[CODEBOOK])
    assert all(line["unit"] for line in files[CODEBOOK] if line["column"] and line["file"] != "all files")


def test_every_file_has_rows_and_every_cell_is_of_the_unit_that_the_codebook_gives(study: Study) -> None:
    files = files_of(study_archive(study))
    units = {(line["file"], line["column"]): line["unit"] for line in files[CODEBOOK]}
    for name, rows in files.items():
        assert rows, name
        for row in rows:
            for column, cell in row.items():
                check_cell(units.get((name, column), ""), cell, f"{name} {column}")


def check_cell(unit: str, cell: str, where: str) -> None:
    """Refuses a cell that is not of its unit; an empty one is of any."""
    if not cell:
        return
    if unit in ("count", "simulated day, from 0"):
        assert int(cell) >= 0, where
    elif unit == "0 or 1":
        assert cell in ("0", "1"), where
    elif unit in ("USD", "seconds of wall time"):
        float(cell)
    elif unit == "UTC, ISO 8601":
        assert datetime.fromisoformat(cell).utcoffset() == timedelta(0), where
    elif unit == "JSON":
        json.loads(cell)


def test_a_result_tells_score_treatment_deciders_and_what_scripts_make_of_the_seat(study: Study) -> None:
    ada, bo = files_of(study_archive(study))["results.csv"]
    seat = seat_in_game(study.participants.earliest("pk"))
    heuristic, passive = comparison.scripts_in_the_seat(seat).played
    assert ada["participant"] == f"'{FORMULA}"
    assert (ada["treatment"], ada["seed"], ada["table"], ada["firm"]) == ("parity", "5", "1", "roaster_A")
    assert float(ada["net_income_usd"]) == seat.firm.net_income_micros / 1e6
    assert float(ada["heuristic_net_income_usd"]) == heuristic.net_income
    assert float(ada["passive_net_income_usd"]) == passive.net_income
    assert json.loads(ada["replaced_in_comparison"]) == ["roaster_B"]
    assert int(ada["decided_by_person"]) == Turn.objects.filter(firm=seat.firm).count()
    assert (ada["is_final"], ada["is_pure"], bo["is_pure"]) == ("1", "1", "1")
    assert (ada["messages_sent"], bo["messages_sent"]) == ("1", "0")
    assert float(ada["waiting_seconds"]) + float(ada["active_seconds"]) > 0
    assert bo["active_seconds"] == "0.0"  # never taken: no spells


def test_a_baseline_with_a_decision_of_somebody_else_is_not_pure() -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    walk_to(ada, Stage.GAME)
    move(seat_in_game(ada).run)
    verbs.answer(seat_in_game(ada), 1, WAIT, by=verbs.TIMEOUT)
    walk_to(ada, Stage.DONE)
    (row,) = files_of(study_archive(study))["results.csv"]
    assert (row["is_final"], row["is_pure"]) == ("1", "0")
    assert (row["decided_by_timeout"], row["decided_by_person"]) == ("1", "1")


def test_a_game_that_goes_on_or_was_cancelled_is_no_baseline_and_tells_no_future() -> None:
    study = small_study()
    ada, bo = invited(study, "ada", "bo")
    for one in (ada, bo):
        walk_to(one, Stage.GAME)
    control.cancel_run(seat_in_game(bo).run.pk)
    going, cancelled = files_of(study_archive(study))["results.csv"]
    assert (going["is_final"], cancelled["is_final"]) == ("0", "0")
    assert going["heuristic_net_income_usd"] == going["passive_net_income_usd"] == ""


def test_practice_is_marked_and_in_no_result(study: Study) -> None:
    files = files_of(study_archive(study))
    practice = {row["run"] for row in files["runs.csv"] if row["is_practice"] == "1"}
    assert len(practice) == 2
    assert {row["run"] for row in files["turns.csv"] if row["is_practice"] == "1"} == practice
    assert not practice & {row["run"] for row in files["results.csv"]}


def test_turns_are_numbered_by_the_firm_and_keep_what_was_said_and_by_whom(study: Study) -> None:
    rows = [row for row in files_of(study_archive(study))["turns.csv"] if row["is_practice"] == "0"]
    ada = [row for row in rows if row["firm"] == "roaster_A"]
    assert [row["turn"] for row in ada] == [str(number) for number in range(1, len(ada) + 1)]
    first = ada[0]
    assert (first["day"], first["clock"], first["tool"]) == ("0", "09:00", "send_message")
    assert json.loads(first["arguments"])["body"] == "Meet me at the lake."
    assert first["rationale"] == f"'{HOSTILE}"
    assert (first["accepted"], first["decided_by"]) == ("1", "human")
    assert first["created_at"] <= first["answered_at"]


def test_no_text_begins_as_a_formula_and_numbers_are_left_alone(study: Study) -> None:
    files = files_of(study_archive(study))
    cells = [cell for rows in files.values() for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not is_number(cell)]
    answers = files["questionnaire.csv"]
    stored = study.participants.earliest("pk").answers["1"]
    assert len(stored) > 9_000
    assert answers[0]["answer"] == f"'{stored}"
    assert answers[1]["answer"] == "'-5"  # typed by a person, hence text
    (message,) = [row for row in files["messages.csv"] if row["sender"] == "roaster_A"]
    assert message["title"] == f"'{FORMULA}"[: len(message["title"])]
    assert (message["sender_participant"], message["recipient_participant"]) == (f"'{FORMULA}", "bo")


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_no_link_no_key_and_no_note_is_in_any_file(study: Study) -> None:
    seat = seat_in_game(study.participants.latest("pk"))
    verbs.write_notes(seat, "my own secret note")
    text = whole(study_archive(study))
    for participant in study.participants.all():
        assert study_links.token_of(participant) not in text
    for each in Seat.objects.all():
        assert links.token_of(each) not in text
        assert links.token_of(each).partition("~")[2] not in text
    assert "my own secret note" not in text


def test_a_deleted_participant_is_in_no_file_and_neither_is_what_they_wrote_to_others(study: Study) -> None:
    ada = study.participants.get(label=FORMULA)
    study_verbs.delete_participant_data(ada)
    files = files_of(study_archive(study))
    assert {row["participant"] for row in files["turns.csv"]} == {"bo"}
    assert [row["participant"] for row in files["participants.csv"]] == ["bo"]
    assert [row["participant"] for row in files["results.csv"]] == ["bo"]
    assert not [row for row in files["messages.csv"] if row["sender"] == "roaster_A" and row["is_practice"] == "0"]
    text = whole(study_archive(study))
    assert FORMULA not in text
    assert f"deleted {ada.pk}" not in text


def test_the_spells_of_a_seat_follow_without_gaps_and_sum_to_its_times(study: Study) -> None:
    files = files_of(study_archive(study))
    (result, _) = files["results.csv"]
    spells = [row for row in files["clocks.csv"] if row["run"] == result["run"]]
    assert [row["ended_at"] for row in spells[:-1]] == [row["began_at"] for row in spells[1:]]
    for state in clocks.State:
        total = sum(float(row["seconds"]) for row in spells if row["state"] == state)
        assert total == pytest.approx(float(result[f"{state}_seconds"]), abs=0.01)


def stretch(state: str, began: float, ended: float) -> clocks.Stretch:
    """A stretch between two seconds."""
    return clocks.Stretch(state, 0, BEGAN + timedelta(seconds=began), BEGAN + timedelta(seconds=ended), is_open=False)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        # state active 0–10, idle 10–20, waiting 20–30, active 30–50
        ([(0, 10)], [{"active": 10}]),
        ([(5, 15), (15, 25)], [{"active": 5, "idle": 5}, {"idle": 5, "waiting": 5}]),
        ([(2, 3), (4, 6), (40, 41)], [{"active": 1}, {"active": 2}, {"active": 1}]),
        ([(-5, 1), (45, 99)], [{"active": 1}, {"active": 5}]),
        ([(60, 70)], [{}]),
        ([(8, 8)], [{}]),
    ],
)
def test_the_time_of_a_turn_is_what_the_spells_have_of_it(
    turns: list[tuple[float, float]], expected: list[dict[str, float]]
) -> None:
    spent = Spent(
        iter([stretch("active", 0, 10), stretch("idle", 10, 20), stretch("waiting", 20, 30), stretch("active", 30, 50)])
    )
    at = [(BEGAN + timedelta(seconds=began), BEGAN + timedelta(seconds=ended)) for began, ended in turns]
    found = [{state: seconds for state, seconds in spent.between(*each).items() if seconds} for each in at]
    assert found == expected


def test_a_run_without_a_study_gives_the_same_files_of_its_seats() -> None:
    run = seated_run("roaster_A", "farmer_A", days=1)
    verbs.set_rules(
        run.seats.get(firm__name="farmer_A"), absence="wait", absence_minutes=5, wants_rationale=False, label="x"
    )
    answer_open_turn(run, "roaster_A")
    answer_open_turn(run, "farmer_A")
    files = files_of(run_archive(Run.objects.get(pk=run.pk)))
    assert list(files) == [CODEBOOK, *(sheet.name for sheet in RUN_SHEETS)]
    assert sorted(row["participant"] for row in files["results.csv"]) == ["roaster_A", "x"]
    assert {row["turn"] for row in files["turns.csv"]} == {"1"}


def test_an_export_reads_as_many_queries_for_a_long_game_as_for_a_short_one(study: Study) -> None:
    with CaptureQueriesContext(connection) as short:
        files_of(study_archive(study))
    seat = seat_in_game(study.participants.latest("pk"))
    last = Turn.objects.filter(firm=seat.firm).latest("pk")
    copy_turns(last, 100)
    Spell.objects.bulk_create(
        Spell(seat=seat, state="active", day=1, began_at=BEGAN, ended_at=BEGAN) for _ in range(100)
    )
    with CaptureQueriesContext(connection) as long:
        rows = files_of(study_archive(study))["turns.csv"]
    assert len(rows) > 100
    assert len(long) == len(short)


def copy_turns(last: Turn, count: int) -> None:
    """The same turn so many times more, as if the game had gone on, with reasons that do not pack well."""
    first = Turn.objects.filter(run=last.run).latest("pk").pk + 1
    ask = Ask.objects.get(pk=last.pk)
    for number in range(count):
        last.pk = ask.pk = first + number
        last.rationale = random.Random(number).randbytes(1000).hex()
        last.save(force_insert=True)
        ask.save(force_insert=True)


# The download.


def test_only_staff_get_an_export_and_only_by_looking(client: Client) -> None:
    study = small_study()
    run = seated_run("roaster_A", days=1)
    addresses = (f"/studies/{study.pk}/export.zip", f"/runs/{run.pk}/seats/export.zip")
    for address in addresses:
        assert client.get(address).status_code == 302
    client.force_login(User.objects.create_user("visitor"))
    for address in addresses:
        assert client.get(address).status_code == 403
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    for address in addresses:
        assert client.post(address).status_code == 405
    assert client.get("/studies/999/export.zip").status_code == 404
    unseated = control.create_run(name="x", scenario=study.rules(), seed=0, players={})
    assert client.get(f"/runs/{unseated.pk}/seats/export.zip").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_download_comes_in_pieces_and_is_the_archive() -> None:
    study = small_study()
    (ada,) = invited(study, "ada")
    walk_to(ada, Stage.DONE)
    rosa = User.objects.create_user("rosa", is_staff=True)
    response, pieces = asyncio.run(downloaded(rosa, f"/studies/{study.pk}/export.zip"))
    assert response.headers["Content-Type"] == "application/zip"
    assert f'filename="coffeebench-study-{study.pk}.zip"' in response.headers["Content-Disposition"]
    assert "no-store" in response.headers["Cache-Control"]
    assert files_of(pieces)["participants.csv"][0]["participant"] == "ada"


async def downloaded(user: User, address: str) -> tuple[StreamingHttpResponse, list[bytes]]:
    """A streamed answer as a site on ASGI gives it."""
    client = AsyncClient()
    await sync_to_async(client.force_login)(user)
    response: Any = await client.get(address)
    assert response.is_async  # a plain iterator would be held whole in memory
    return response, [piece async for piece in response]


def test_a_large_archive_is_never_held_whole(study: Study) -> None:
    seat = seat_in_game(study.participants.latest("pk"))
    last = Turn.objects.filter(firm=seat.firm).latest("pk")
    copy_turns(last, 600)
    sizes = [len(piece) for piece in study_archive(study)]
    assert len(sizes) > 3
    assert max(sizes) < 1_000_000
