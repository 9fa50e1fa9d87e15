"""The commands, as a person at a terminal uses them."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from simulation.models import Run, Turn
from simulation.store import differences
from tests.commands import said
from tests.waiting import PATIENCE_SECONDS, eventually

TRACES = Path(__file__).parent.parent / "traces"
ALL_PASSIVE = [f"--player={role}_{letter}=passive" for role in ("farmer", "roaster", "retailer") for letter in "AB"]


@pytest.mark.django_db
def test_firms_that_do_nothing_end_at_the_published_net_incomes() -> None:
    figures = json.loads(said("simulate", *ALL_PASSIVE, "--json"))
    assert figures["status"] == "finished"
    assert {name: firm["net_income"] for name, firm in figures["firms"].items()} == {
        "farmer_A": -2292.00, "farmer_B": -2292.00,
        "roaster_A": -2764.68, "roaster_B": -2764.68,
        "retailer_A": -4300.00, "retailer_B": -4300.00,
    }  # fmt: skip
    assert figures["firms"]["roaster_A"]["idle_days"] == 90
    assert differences(Run.objects.get(pk=figures["run"])) == []


@pytest.mark.django_db
def test_simulate_prints_a_line_a_firm_with_units() -> None:
    text = said("simulate", "--days=3", "--seed=5")
    assert "net income, USD" in text
    assert "roaster_A   heuristic_roaster" in text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "late_fe=1"], "late_fe: unknown key"),
        (["--set", "loss=3"], "loss: input should be less than or equal to 1"),
        (["--set", "nonsense"], "a setting is written key=value"),
        (["--days", "0"], "days: input should be greater than or equal to 1"),
        (["--scenario", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--player", "roaster_Z=passive"], "roaster_Z"),
        (["--player", "roaster_A=genius"], "genius"),
        (["--player", "roaster_A"], "roaster_A"),
        (["--seed", str(2**70)], "out of range"),
        (["--resume", "404"], "there is no run 404"),
    ],
)
def test_simulate_refuses_by_name_and_keeps_nothing(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        said("simulate", *arguments)
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_scenario_file_and_settings_change_the_run(tmp_path: Path) -> None:
    file = tmp_path / "dear.toml"
    file.write_text('name = "dear"\ndays = 2\n[roles.roaster]\nopex = 100\n')
    figures = json.loads(said("simulate", *ALL_PASSIVE, f"--scenario={file}", "--set=days=1", "--json"))
    assert figures["firms"]["roaster_A"]["net_income"] == -100
    assert figures["firms"]["farmer_A"]["net_income"] == -25


@pytest.mark.django_db
def test_a_finished_run_has_nothing_to_resume() -> None:
    run_id = json.loads(said("simulate", "--days=1", "--json"))["run"]
    with pytest.raises(CommandError, match="nothing left to play"):
        said("simulate", f"--resume={run_id}")


@pytest.mark.django_db
def test_check_trace_says_ok_and_can_save() -> None:
    text = said("check_trace", str(TRACES / "first-week.json.gz"), str(TRACES / "corners.json.gz"), "--save")
    assert re.search(r"^first-week: ok, 222 decisions in \d+\.\d+ s", text, re.MULTILINE)
    runs = Run.objects.all()
    assert len(runs) == 2
    assert all(differences(run) == [] for run in runs)


def changed_trace(tmp_path: Path, change: Any) -> str:
    """A copy of first-week with something wrong."""
    trace = json.loads(gzip.decompress((TRACES / "first-week.json.gz").read_bytes()))
    change(trace)
    file = tmp_path / "wrong.json.gz"
    file.write_bytes(gzip.compress(json.dumps(trace).encode()))
    return str(file)


def swap_first_two(trace: dict[str, Any]) -> None:
    trace["decisions"][0], trace["decisions"][1] = trace["decisions"][1], trace["decisions"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap_first_two, "decision 1: recorded for farmer_B at minute 540, but farmer_A is asked at minute 540"),
        (lambda t: t["decisions"].pop(), "the record ends after 221 decisions"),
        (lambda t: t["decisions"][0].__setitem__(4, "error"), r"decision 1 \(farmer_A produce_item at minute 540\)"),
        (lambda t: t["decisions"][2][5].update(listing="L9"), "listing: got L1, recorded L9"),
        (lambda t: t["day_ends"][3]["firms"]["roaster_A"].update(cash=1.0), "day 3: roaster_A cash: got"),
        (lambda t: t["day_ends"][3]["sales"].pop(), "day 3: consumer sales"),
        (lambda t: t["shipments"][3].__setitem__(2, "lost"), "shipment 4: got"),
        (lambda t: t["result"]["farmer_A"].update(revenue=0.0), "farmer_A at the end: revenue"),
        (lambda t: t["loyalty"].update(retailer_A=1.0), "loyalty: got"),
        (lambda t: t.update(seed=13), "got"),
    ],
)
def test_check_trace_names_the_first_difference(
    tmp_path: Path, change: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("check_trace", changed_trace(tmp_path, change), stdout=out)
    assert error.value.returncode == 1
    assert re.search(words, out.getvalue()), out.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a gzipped JSON file"),
        (b"\x1f\x8b broken", "wrong.json.gz"),
        (b"[1, 2", "not a gzipped JSON file"),
        (b"{}", "not a trace: format"),
        (b"\xff\xfe", "not a gzipped JSON file"),
        (gzip.compress(b'{"format": "coffeebench-trace/2"}', mtime=0), "not a trace"),
    ],
)
def test_a_file_that_is_no_trace_is_said_so(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "wrong.json.gz"
    file.write_bytes(content)
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("check_trace", str(file), stderr=err)
    assert words in err.getvalue()


def test_check_trace_of_a_missing_file_says_so() -> None:
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("check_trace", "nowhere.json.gz", stderr=err)
    assert "nowhere.json.gz: No such file" in err.getvalue()


@pytest.mark.django_db
def test_verify_run_says_identical_or_lists_differences() -> None:
    run_id = json.loads(said("simulate", "--days=2", "--json"))["run"]
    assert f"run {run_id}: identical" in said("verify_run", str(run_id))
    Turn.objects.filter(run_id=run_id).update(minute=1)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_run", str(run_id), "404", stdout=out)
    assert "minute is 1, rebuilt 540" in out.getvalue()
    assert "run 404: there is no such run" in out.getvalue()


def manage(*arguments: str) -> list[str]:
    """A command as a process of its own."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


# A command whose runs take a tenth of a second a step, so that no machine has played one before it is interrupted.
SLOWLY = """
import sys, time, django
django.setup()
from django.core.management import execute_from_command_line
from simulation import runner
play_step = runner.Game.play_step
def play_slowly(*given):
    time.sleep(0.1)
    play_step(*given)
runner.Game.play_step = play_slowly
execute_from_command_line(sys.argv)
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_simulation_can_go_on_and_ends_as_if_undisturbed(
    kill: signal.Signals, site_variables: dict[str, str]
) -> None:
    arguments = [sys.executable, "-c", SLOWLY, "simulate", "--days=60", "--seed=4", "--set=evaluated="]
    process = subprocess.Popen(arguments, env=site_variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(Turn.objects.exists)
    process.send_signal(kill)
    assert process.wait(PATIENCE_SECONDS) != 0
    run = Run.objects.get()
    assert run.day < 59
    assert run.status == (Run.Status.PAUSED if kill == signal.SIGINT else Run.Status.RUNNING)
    assert differences(run) == []
    subprocess.run(manage("simulate", f"--resume={run.pk}", "--json"), env=site_variables, check=True)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert differences(run) == []


def test_bench_prints_the_agreed_object() -> None:
    printed = subprocess.run(manage("bench", "--json", "--rounds=1"), check=True, capture_output=True).stdout
    results = json.loads(printed)
    assert results.keys() == {"replay_90", "play_90", "play_365"}
    assert results["replay_90"]["decisions"] == 3923
    assert all(result["memory_s"] > 0 and result["saved_s"] > 0 for result in results.values())
