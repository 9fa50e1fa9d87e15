"""Two hundred open tabs: none misses anything, and what the run and the server pay for them.

The clock is printed and not asserted: what a machine has to spare is its own business. Run it with `-s` to read it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from dashboards.sign_in import sign_in_path
from simulation import announce, control
from simulation.engine.scenario import scenario_from
from simulation.models import Event, Run
from tests.browser.conftest import running_site
from tests.small_runs import add_event, end_day, make_run
from tests.soak.programs import BEAT, ENGINE, program
from tests.waiting import eventually

SOCKETS = int(os.environ.get("SOAK_SOCKETS", "200"))
DAYS = int(os.environ.get("SOAK_DAYS", "90"))
ROUNDS = int(os.environ.get("SOAK_ROUNDS", "3"))
FEW_SOCKETS = 20
CORES = sorted(os.sched_getaffinity(0))
HINTS = 60
LONGEST_SECONDS = 900

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]


class Site(NamedTuple):
    """A web process and a worker, by their numbers."""

    port: int
    web: int
    worker: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def site(site_variables: dict[str, str]) -> Iterator[Site]:
    with (
        program(*ENGINE, variables=site_variables) as worker,
        program(*BEAT, variables=site_variables),
        running_site() as running,
    ):
        yield Site(running.port, running.processes["web"].pid, worker.pid)


class Crowd:
    """The program of many sockets on one run."""

    def __init__(self, site: Site, run: Run, cookie: str, count: int) -> None:
        arguments = [str(site.port), cookie, str(run.pk), str(count)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.watching", *arguments],
            cwd=settings.BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        os.sched_setaffinity(self.process.pid, {CORES[-1]})
        assert self.process.stdout
        assert self.process.stdout.readline() == "open\n"

    def seen(self, until: int) -> list[dict[str, Any]]:
        """What each socket heard, once all have followed up to an event, or have had time enough to."""
        output, _ = self.process.communicate(f"{until}\n")
        found: list[dict[str, Any]] = json.loads(output)
        return found


@pytest.fixture
def cookie(client: Client) -> str:
    """The session of somebody signed in as staff."""
    client.force_login(User.objects.create_user("watcher", is_staff=True))
    return str(client.cookies["sessionid"].value)


class Round(NamedTuple):
    """What one run took."""

    wall_seconds: float
    worker_seconds: float
    web_seconds: float


def cpu_seconds(process: int) -> float:
    """What a process and its threads have used of any core so far."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def test_two_hundred_watchers_miss_nothing_of_a_run_at_full_speed(site: Site, cookie: str) -> None:
    play(site, new_run(0))  # the worker's imports are not to be counted
    keep_apart(site)
    alone, watched = [], []
    for seed in range(ROUNDS):
        alone.append(play(site, new_run(seed)))
        run = new_run(seed)
        crowd = Crowd(site, run, cookie, SOCKETS)
        before = cpu_seconds(site.web)
        played = play(site, run)
        heard = crowd.seen(run.events)
        watched.append(played._replace(web_seconds=cpu_seconds(site.web) - before))
        check(heard, run)
    report(alone, watched)
    print(f"  each socket got {heard[0]['pages']} pages, {heard[0]['letters'] / 1e6:.1f} MB, of {run.events} events")


def keep_apart(site: Site) -> None:
    """Gives the worker a core of its own and leaves the last one to the web process and its watchers.

    Two hundred clients on the machine of the server take more of its time than the server does; where there are cores
    enough, nobody would wait for theirs. What remains is what watching costs the run itself.
    """
    for process, core in ((site.worker, CORES[0]), (site.web, CORES[-1])):
        for thread in Path(f"/proc/{process}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


def new_run(seed: int) -> Run:
    """A run of scripts, not started."""
    scenario = scenario_from({"days": DAYS})
    return control.create_run(name="watched", scenario=scenario, seed=seed, players={}, pace_seconds=0)


def play(site: Site, run: Run) -> Round:
    """Plays a run to its end, and says what it took."""
    before = cpu_seconds(site.worker), cpu_seconds(site.web)
    control.start_run(run.pk)

    def is_over() -> bool:
        run.refresh_from_db()
        assert run.status in (Run.Status.RUNNING, Run.Status.FINISHED), run.status_reason
        return run.is_over

    eventually(is_over, LONGEST_SECONDS)
    assert run.started_at
    assert run.ended_at
    wall_seconds = (run.ended_at - run.started_at).total_seconds()
    return Round(wall_seconds, cpu_seconds(site.worker) - before[0], cpu_seconds(site.web) - before[1])


def check(watched: list[dict[str, Any]], run: Run) -> None:
    """Every socket ended with the run's last event, and had each of them once and in order."""
    assert run.events == Event.objects.filter(run=run).count()
    assert len(watched) == SOCKETS
    assert [one["problems"] for one in watched if one["problems"]] == []
    assert {one["last"] for one in watched} == {run.events}


def report(alone: list[Round], watched: list[Round]) -> None:
    """Prints medians, and how far apart the rounds lie."""
    print(f"\n{len(alone)} rounds of {DAYS} days, alone and with {SOCKETS} sockets:")
    for name in Round._fields:
        without, with_them = ([getattr(one, name) for one in rounds] for rounds in (alone, watched))
        ratio = statistics.median(with_them) / max(statistics.median(without), 0.001)
        print(f"  {name}: {in_words(without)} alone, {in_words(with_them)} watched, ratio {ratio:.2f}")


def in_words(seconds: list[float]) -> str:
    """The median with the lowest and the highest."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def test_what_is_committed_is_soon_seen_by_twenty_watchers_and_in_a_browser(
    site: Site, cookie: str, page: Page
) -> None:
    run = make_run(status=Run.Status.PAUSED)  # so that no worker plays it meanwhile
    crowd = Crowd(site, run, cookie, FEW_SOCKETS - 1)
    open_run(site, page, run)
    committed = dict(commits(run))
    expect(page.locator("#run")).to_have_attribute("data-seq", str(run.events), timeout=20_000)
    drawn = [(int(number), moment / 1000) for number, moment in page.evaluate("window.drawn")]
    sockets = [pair for one in crowd.seen(run.events) for pair in one["arrivals"]]
    for name, arrivals in (("arrived at a socket", sockets), ("drawn in Chromium", drawn)):
        delays = sorted(moment - committed[number] for number, moment in arrivals if number in committed)
        assert delays, f"nothing {name}"
        print(f"\n{name}: {spread(delays)}")


def open_run(site: Site, page: Page, run: Run) -> None:
    """A researcher's browser on the page of a run, which notes when it has drawn an event."""
    rosa = User.objects.create_user("rosa", is_staff=True)
    page.goto(site.address + sign_in_path(rosa))
    page.get_by_role("button", name="Sign in as rosa").click()
    page.goto(f"{site.address}/runs/{run.pk}/")
    expect(page.locator("#run")).to_have_attribute("data-connected", "true", timeout=20_000)
    page.evaluate(
        """() => {
            window.drawn = [];
            const run = document.querySelector("#run");
            const note = () => requestAnimationFrame(() => window.drawn.push([run.dataset.seq, Date.now()]));
            new MutationObserver(note).observe(run, {attributes: true, attributeFilter: ["data-seq"]});
        }"""
    )


def commits(run: Run) -> Iterator[tuple[int, float]]:
    """Commits an event every tenth of a second, a day's end among ten of them: the number of each, and when it was."""
    for number in range(HINTS):
        if number % 10 == 9:
            end_day(run, number // 10, {"farmer_A": 10.0 * number})
        else:
            add_event(run, "deal_made", "farmer_A", "roaster_A", item="green_coffee_kg", quantity_kg=number + 1)
        moment = time.time()
        announce.progress(run, is_news=False)
        yield run.events, moment
        time.sleep(0.1)


def spread(delays: list[float]) -> str:
    """Median, 95th percentile and most, in milliseconds."""
    half, most_of_them, all_of_them = (
        f"{1000 * delays[min(len(delays) - 1, int(share * len(delays)))]:.0f} ms" for share in (0.5, 0.95, 1)
    )
    return f"median {half}, p95 {most_of_them}, most {all_of_them}, of {len(delays)}"
