"""Starting runs with seats from a terminal, and the links of their seats."""

from __future__ import annotations

import json
import re

import pytest
from django.core.management import CommandError

from simulation import control
from simulation.links import LinkError
from simulation.models import Run
from simulation.seats import verbs
from simulation.seats.links import seat_of
from tests import seat_play
from tests.commands import said

pytestmark = pytest.mark.django_db


def tokens_in(text: str) -> dict[str, str]:
    """Firm → the token that a command printed for it."""
    return dict(re.findall(r"^  (\w+), \w+: (?:SEAT_TOKEN=|\S+/seat/)([^\s/]+)", text, re.MULTILINE))


def test_simulate_does_not_begin_what_nobody_here_could_play() -> None:
    for kind in ("human", "remote"):
        with pytest.raises(CommandError, match=r"roaster_A would wait here for ever .* give --start"):
            said("simulate", f"--player=roaster_A={kind}")
    assert not Run.objects.exists()


def test_simulate_starts_a_run_with_seats_on_the_site_and_prints_what_opens_them() -> None:
    told = said("simulate", "--player=roaster_A=remote", "--player=farmer_A=human", "--days=2", "--start")
    run = Run.objects.get()
    assert (run.status, run.day) == (Run.Status.RUNNING, 0)
    assert f"Run {run.pk}," in told
    opened = {firm: seat_of(token).firm.name for firm, token in tokens_in(told).items()}
    assert opened == {"farmer_A": "farmer_A", "roaster_A": "roaster_A"}
    assert "farmer_A, human: http://127.0.0.1:8000/seat/" in told


def test_simulate_starts_a_run_of_scripts_on_the_site_too() -> None:
    number = json.loads(said("simulate", "--days=2", "--start", "--json"))["run"]
    assert Run.objects.get(pk=number).status == Run.Status.RUNNING


def test_simulate_goes_on_with_no_run_that_is_played_at_seats() -> None:
    run = seat_play.seated_run("roaster_A")
    control.pause_run(run.pk)
    with pytest.raises(CommandError, match="goes on only on the site: resume it on its page"):
        said("simulate", f"--resume={run.pk}")
    run.refresh_from_db()
    assert run.status == Run.Status.PAUSED
    with pytest.raises(CommandError, match="resumed on its page"):
        said("simulate", f"--resume={run.pk}", "--start")


def test_seat_links_prints_each_seat_with_its_link() -> None:
    run = seat_play.seated_run("roaster_A", players={"farmer_B": "remote"})
    told = said("seat_links", str(run.pk), "--host=https://coffee.example/")
    assert "  roaster_A, human: https://coffee.example/seat/" in told
    assert {firm: seat_of(token).firm.name for firm, token in tokens_in(told).items()} == {
        "farmer_B": "farmer_B",
        "roaster_A": "roaster_A",
    }


def test_seat_links_reissues_and_revokes() -> None:
    run = seat_play.seated_run("roaster_A", "farmer_A")
    before = tokens_in(said("seat_links", str(run.pk)))
    after = tokens_in(said("seat_links", str(run.pk), "--reissue=roaster_A"))
    assert before["roaster_A"] != after["roaster_A"]
    assert before["farmer_A"] == after["farmer_A"]
    with pytest.raises(LinkError):
        seat_of(before["roaster_A"])
    told = said("seat_links", str(run.pk), "--revoke=farmer_A")
    assert "farmer_A, human: its link is revoked; --reissue farmer_A makes another" in told
    with pytest.raises(LinkError):
        seat_of(before["farmer_A"])
    assert verbs.open_turn(seat_of(after["roaster_A"])) is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["404"], "there is no run 404"),
        (["--reissue=retailer_A"], "retailer_A has no seat in run .*; those with one are roaster_A"),
    ],
)
def test_seat_links_refuses_by_name(arguments: list[str], words: str) -> None:
    run = seat_play.seated_run("roaster_A")
    numbered = arguments if arguments[0].isdecimal() else [str(run.pk), *arguments]
    with pytest.raises(CommandError, match=words):
        said("seat_links", *numbered)


def test_a_run_of_scripts_has_no_links() -> None:
    run = seat_play.seated_run()
    with pytest.raises(CommandError, match="has no seats"):
        said("seat_links", str(run.pk))
