"""The example program and the lines of its documentation, against a site of real processes."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from examples import remote_player
from marketplace.models import Firm
from simulation import control
from simulation.engine.decision import Decision
from simulation.engine.observation import View
from simulation.engine.scenario import scenario_from
from simulation.models import Ask, Run, Turn
from simulation.players.registry import KINDS, Kind
from simulation.seats import door
from simulation.seats.links import token_of
from simulation.store import differences
from tests.browser.conftest import Site, running_site
from tests.seat_play import decisions, ledger, move, seat_of
from tests.waiting import PATIENCE_SECONDS, eventually

PLAYER = Path(settings.BASE_DIR) / "examples" / "remote_player.py"
DAYS = 8


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    """Daphne and a worker on the tests' database."""
    with running_site() as site:
        site.start_worker()
        site.start_beat()
        yield site


def new_run(player: str, days: int = DAYS) -> Run:
    """A run that is started, with this kind of player at roaster_A."""
    scenario = scenario_from({"days": days})
    run = control.create_run(name="remote", scenario=scenario, seed=5, players={"roaster_A": player})
    return control.start_run(run.pk)


def start_player(site: Site, run: Run) -> subprocess.Popen[bytes]:
    """The example program, playing roaster_A."""
    variables = {**os.environ, "SEAT_TOKEN": token_of(seat_of(run, "roaster_A"))}
    return subprocess.Popen([sys.executable, str(PLAYER), site.address], env=variables, stdout=subprocess.DEVNULL)


def turns(run: Run) -> int:
    """How many turns roaster_A has had."""
    return Turn.objects.filter(run=run, firm__name="roaster_A").count()


class Inside:
    """The example's policy as a script of the engine."""

    def decide(self, view: View) -> Decision:
        """What the program would post."""
        given = json.loads(json.dumps({"result": view.result, "observation": view.observation}))
        posted = remote_player.decide({"time": door.time_of(Ask(minute=view.minute)), **given})
        return Decision(posted["tool"], posted["arguments"], posted["rationale"])


def books(run: Run) -> tuple[list[Any], list[Any]]:
    """What was decided and answered, and the ledger."""
    return decisions(run), ledger(run)


def test_a_program_plays_a_whole_run_and_loses_and_doubles_nothing_when_it_or_the_site_is_killed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run("remote")
    for more in (12, 30):
        player = start_player(site, run)
        eventually(lambda more=more: turns(run) > more)  # type: ignore[misc]
        player.kill()
        player.wait()
    player = start_player(site, run)
    eventually(lambda: turns(run) > 45)
    site.kill("web")
    site.kill("worker")
    site.start_web()
    site.start_worker()
    assert player.wait(2 * PATIENCE_SECONDS) == 0
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED

    site.kill("worker")  # it does not know the kind, and would take the run
    monkeypatch.setitem(KINDS, "example", Kind("example", ("roaster",), lambda scenario, firm: Inside(), "the same"))
    inside = move(new_run("example"))
    assert inside.status == Run.Status.FINISHED
    assert books(run) == books(inside)
    assert differences(run) == []
    own = Turn.objects.filter(run=run, firm__name="roaster_A")
    assert set(own.values_list("decided_by", flat=True)) == {"remote"}
    assert Firm.objects.get(run=run, name="roaster_A").player == run.players["roaster_A"] == "remote"
    sold = own.filter(tool="accept_offer", accepted=True).count(), own.filter(tool="roast", accepted=True).count()
    assert min(sold) > 0, "a policy that never trades would prove little"


def test_a_program_without_a_valid_token_ends_with_the_reason(site: Site) -> None:
    variables = {**os.environ, "SEAT_TOKEN": "1.1~nonsense"}
    ended = subprocess.run([sys.executable, str(PLAYER), site.address], env=variables, capture_output=True)
    assert ended.returncode == 1
    assert b"This link opens no seat" in ended.stderr


def test_the_documented_lines_run_as_they_stand(site: Site, tmp_path: Path) -> None:
    run = new_run("remote", days=2)
    text = (Path(settings.BASE_DIR) / "docs" / "remote.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    (tmp_path / ".curlrc").write_text("fail\nwrite-out = \\n\n", encoding="utf-8")
    variables = {
        **os.environ,
        "CURL_HOME": str(tmp_path),
        "SITE": site.address,
        "SEAT_TOKEN": token_of(seat_of(run, "roaster_A")),
    }
    ended = subprocess.run(["bash", "-euc", lines], env=variables, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told, state, turn, receipt, history = map(json.loads, ended.stdout.splitlines())
    assert "POST /api/seat/turn/NUMBER/" in told["briefing"]
    assert (state["turn"], turn["turn"], receipt) == (1, 1, {"turn": 1, "repeat": False})
    assert history["turns"] == [] or history["turns"][0]["tool"] == "view_listings"


def test_the_example_is_short_and_needs_nothing_installed() -> None:
    source = PLAYER.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 60
    imported = {
        (name.name if isinstance(node, ast.Import) else str(node.module)).split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported <= sys.stdlib_module_names
