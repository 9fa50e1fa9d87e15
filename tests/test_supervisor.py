"""`make run`, with real processes: what it says, what it survives, and that it leaves nothing behind.

A start costs as much as a hundred other tests: what needs one of its own, or kills, is part of the soak.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from coffeebench_site.environment import BASE_DIR, Environment
from coffeebench_site.redis_server import unused_port
from tests.settings import SESSION
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

START_SECONDS = 180.0
COMPLAINT = re.compile(r"WARN|ERROR|CRITICAL|Traceback|Exception|Error\b")

# Words in the command of each program by which it is told from the others.
MARKS = {"redis": "-server", "web": "daphne", "engine": "engine@", "llm": "llm@", "beat": " beat "}


class Site:
    """A started supervisor with a folder of its own, and what it has printed so far."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.port = int(variables.get("PORT") or unused_port())
        self.address = f"http://127.0.0.1:{self.port}/"
        self.output = folder.with_suffix(".out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "coffeebench_site.supervisor"],
                cwd=BASE_DIR,
                env={**clean_environment(), "VAR_DIR": str(folder), "PORT": str(self.port), **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> str:
        """All that has been printed on the terminal."""
        return self.output.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until something has been printed."""
        eventually(lambda: text in self.said() or self.has_ended(text), START_SECONDS)

    def has_ended(self, text: str) -> bool:
        """False, or a failure that shows why the text will never come."""
        if self.process.poll() is not None:
            pytest.fail(f"ended without saying {text!r}, but: {self.said()}")
        return False

    def line(self, label: str) -> str:
        """What the banner says beside a label."""
        return str(re.findall(rf"^  {label} +(.+)$", self.said(), re.M)[-1])

    def log(self, name: str) -> str:
        """The log of one program."""
        return (self.folder / "log" / f"{name}.log").read_text()

    def health(self) -> dict[str, object]:
        """What the page of health says, be it good or bad."""
        try:
            with urllib.request.urlopen(f"{self.address}healthz", timeout=START_SECONDS) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as bad:
            return dict(json.load(bad))

    def pid(self, name: str) -> int:
        """The process of one of the programs."""
        return next(pid for pid, command in processes_of(self.folder).items() if MARKS[name] in command)

    def kill(self, name: str) -> None:
        """Kill one of the programs without warning, once it is there."""
        eventually(lambda: any(MARKS[name] in command for command in processes_of(self.folder).values()))
        os.kill(self.pid(name), signal.SIGKILL)

    def wait_until_back(self, name: str, gone: int) -> None:
        """Wait until another process has taken the place of the one that is gone."""
        eventually(lambda: any(MARKS[name] in command for pid, command in self.others(gone)))
        eventually(self.is_well)

    def others(self, gone: int) -> list[tuple[int, str]]:
        """The processes of this site except one."""
        return [(pid, command) for pid, command in processes_of(self.folder).items() if pid != gone]

    def is_well(self) -> bool:
        """Whether every part works."""
        return {name.split("@")[0] for name in self.health()["workers"]} == {"engine", "llm"}  # type: ignore[attr-defined]

    def is_whole(self) -> bool:
        """Whether every program runs and every part works."""
        return len(processes_of(self.folder)) == len(MARKS) and self.is_well()

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        """Ask the supervisor to end; returns its exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(START_SECONDS)


def clean_environment() -> dict[str, str]:
    """The environment of a person at a terminal: nothing of ours is set."""
    ours = {name.upper() for name in Environment.model_fields} | {SESSION, "DJANGO_SETTINGS_MODULE"}
    return {name: value for name, value in os.environ.items() if name not in ours}


def processes_of(folder: Path) -> dict[int, str]:
    """The commands of all processes that were started for a site's folder, but for its supervisor's.

    They have the folder among their variables. Redis writes its title over those, but works in the folder.
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            works_in = (process / "cwd").readlink()
        except OSError:  # ended meanwhile
            continue
        is_ours = f"VAR_DIR={folder}".encode() in variables or works_in.is_relative_to(folder)
        if is_ours and "coffeebench_site.supervisor" not in command:
            found[int(process.name)] = command
    return found


@contextmanager
def running(folder: Path, **variables: str) -> Iterator[Site]:
    """A site that is ready, and is stopped at the end however the test ends."""
    site = Site(folder, **variables)
    try:
        site.wait_for("Ctrl-C stops it.")
        yield site
    finally:
        if site.process.poll() is None:
            site.stop(signal.SIGTERM)


def assert_stops_without_complaint(site: Site, which: signal.Signals) -> None:
    """A signal ends a site, and nothing of it is left but its data."""
    assert len(processes_of(site.folder)) == len(MARKS)
    assert site.stop(which) == 0
    assert site.said().endswith("Stopped.\n")
    assert processes_of(site.folder) == {}
    assert complaints(site) == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that a start makes when it finds nothing."""
    folder = tmp_path_factory.mktemp("prepared") / "var"
    command = [sys.executable, "-m", "coffeebench_site.prepare"]
    subprocess.run(command, cwd=BASE_DIR, env={**clean_environment(), "VAR_DIR": str(folder)}, check=True)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A folder of a test's own in which a start has little left to prepare."""
    return shutil.copytree(prepared, tmp_path / "var")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for the tests that only look, or that break what is repaired by itself."""
    with running(tmp_path_factory.mktemp("shared") / "var") as site:
        yield site


def test_everything_runs_when_the_banner_is_there(site: Site) -> None:
    assert site.line("Open") == site.address
    assert len(processes_of(site.folder)) == len(MARKS)
    eventually(site.is_well)  # a worker that is held up for long counts as gone meanwhile


def test_the_printed_password_opens_the_admin(site: Site) -> None:
    assert "Site administration" in log_in(site, site.line("User"), site.line("Password"))


def test_pages_find_their_hashed_and_compressed_files(site: Site) -> None:
    manifest = json.loads((site.folder / "static" / "staticfiles.json").read_text())
    name = manifest["paths"]["plotly/plotly.min.js"]
    request = urllib.request.Request(f"{site.address}static/{name}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert "immutable" in response.headers["Cache-Control"]
        assert len(response.read()) < 2_000_000


def test_a_start_leaves_no_complaint_in_any_log(site: Site) -> None:
    eventually(lambda: "simulation.sweep" in site.log("engine"))
    assert complaints(site) == []


def test_nobody_else_can_read_the_data(site: Site) -> None:
    assert site.folder.stat().st_mode & 0o077 == 0


def test_a_second_start_in_the_same_folder_says_who_runs(site: Site) -> None:
    second = Site(site.folder.parent / "second", VAR_DIR=str(site.folder))
    assert second.process.wait(START_SECONDS) == 1
    assert f"CoffeeBench runs from this folder already: process {site.process.pid}, {site.address}." in second.said()


def test_a_taken_port_is_said_before_anything_starts(site: Site, tmp_path: Path) -> None:
    second = Site(tmp_path / "var", PORT=str(site.port))
    assert second.process.wait(START_SECONDS) == 1
    assert (
        f"Port {site.port} is taken by another program; choose another: make run PORT={site.port + 1}" in second.said()
    )
    assert [file.name for file in second.folder.iterdir()] == ["site.lock"]


@pytest.mark.soak
@pytest.mark.parametrize("name", ["engine", "llm", "beat", "web", "redis"])
def test_a_killed_program_is_started_again(site: Site, name: str) -> None:
    gone = site.pid(name)
    site.kill(name)
    site.wait_for(f"{name} was killed by SIGKILL; starting it again in 1 s.")
    site.wait_until_back(name, gone)


def test_a_visitor_waits_while_the_web_process_is_started_again(site: Site) -> None:
    site.kill("web")
    assert site.health()["database"] == "ok"


def test_workers_go_on_after_redis_was_killed(site: Site) -> None:
    swept = site.log("engine").count("succeeded")
    gone = site.pid("redis")
    site.kill("redis")
    site.wait_until_back("redis", gone)
    eventually(lambda: site.log("engine").count("succeeded") > swept)
    assert "In Celery 5.1" not in site.log("engine")


def test_interrupting_it_stops_everything_without_complaint(folder: Path) -> None:
    with running(folder) as site:
        assert_stops_without_complaint(site, signal.SIGINT)


@pytest.mark.soak
def test_a_second_start_finds_the_data_and_the_password_again(folder: Path) -> None:
    with running(folder) as first:
        password = first.line("Password")
        redis_address = (first.folder / "redis-url").read_text()
        cookies = CookieJar()
        log_in(first, "admin", password, cookies)
        assert_stops_without_complaint(first, signal.SIGHUP)
    with running(folder, PORT=str(first.port)) as second:
        assert second.line("Password") == password
        assert (second.folder / "redis-url").read_text() == redis_address
        assert "Site administration" in fetch(second, "admin/", cookies)  # still logged in
        assert_stops_without_complaint(second, signal.SIGTERM)


@pytest.mark.soak
def test_nothing_outlives_a_killed_supervisor(folder: Path) -> None:
    with running(folder) as site:
        site.process.kill()
        site.process.wait()
        eventually(lambda: processes_of(site.folder) == {})
    with running(folder):
        pass


@pytest.mark.soak
def test_a_start_can_be_broken_off(tmp_path: Path) -> None:
    site = Site(tmp_path / "var")
    eventually(lambda: (site.folder / "log" / "prepare.log").exists(), START_SECONDS)
    assert site.stop() == 0
    assert processes_of(site.folder) == {}
    with running(tmp_path / "var"):
        pass


@pytest.mark.soak
def test_two_signals_stop_at_once(folder: Path) -> None:
    with running(folder, STOP_SECONDS="600") as site:
        os.kill(site.pid("llm"), signal.SIGSTOP)  # a worker that will not end when asked
        site.process.send_signal(signal.SIGINT)
        site.wait_for("Stopping")
        assert site.stop() == 0
    assert processes_of(site.folder) == {}


@pytest.mark.soak
def test_a_worker_that_does_not_end_is_killed_in_time(folder: Path) -> None:
    with running(folder, STOP_SECONDS="1") as site:
        os.kill(site.pid("llm"), signal.SIGSTOP)
        assert site.stop() == 0
    assert "llm did not end in 1 s: killed." in site.said()
    assert processes_of(site.folder) == {}


def test_a_redis_that_does_not_answer_is_said(tmp_path: Path) -> None:
    site = Site(tmp_path / "var", REDIS_URL=f"redis://127.0.0.1:{unused_port()}/0")
    assert site.process.wait(START_SECONDS) == 1
    assert "The Redis server that REDIS_URL names does not answer." in site.said()


@pytest.mark.soak
def test_a_redis_that_is_there_is_used(folder: Path, redis_server: str) -> None:
    with running(folder, REDIS_URL=redis_server) as site:
        assert not (site.folder / "redis").exists()


def test_a_database_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    site = Site(tmp_path / "var", DATABASE_URL=f"postgresql://nobody:hunter2@127.0.0.1:{unused_port()}/none")
    assert site.process.wait(START_SECONDS) == 1
    assert "The database could not be prepared: " in site.said()
    assert "hunter2" not in site.said()
    assert processes_of(site.folder) == {}


def test_nonsense_is_refused_before_anything_starts(tmp_path: Path) -> None:
    site = Site(tmp_path / "var", HOST="http://here")
    assert site.process.wait(START_SECONDS) == 1
    assert site.said() == "HOST must be a host name or IP address of this machine, not 'http://here'.\n"
    assert not site.folder.exists()


def test_a_host_of_another_machine_is_refused(tmp_path: Path) -> None:
    site = Site(tmp_path / "var", HOST="192.0.2.1")  # kept for documentation: nobody's address
    assert site.process.wait(START_SECONDS) == 1
    assert "HOST=192.0.2.1 is no address of this machine" in site.said()


@pytest.mark.soak
def test_the_demo_run_survives_a_storm_of_kills(tmp_path: Path) -> None:
    seconds = float(os.environ.get("SOAK_SECONDS", "600"))
    kills = int(os.environ.get("SOAK_KILLS", "60"))
    dice = random.Random(os.environ.get("SOAK_SEED", "0"))
    with running(tmp_path / "var") as site:
        for _ in range(kills):
            name = dice.choice(sorted(MARKS))
            site.kill(name)
            time.sleep(seconds / kills * dice.uniform(0.5, 1.5))
        eventually(site.is_whole, 90)
        assert site.stop() == 0
    verify = [sys.executable, "manage.py", "verify_run", "1"]
    environment = {**clean_environment(), "VAR_DIR": str(site.folder)}
    result = subprocess.run(verify, cwd=BASE_DIR, env=environment, capture_output=True, text=True)
    assert (result.returncode, "identical" in result.stdout) == (0, True), result.stdout + result.stderr


def complaints(site: Site) -> list[str]:
    """Lines in the logs, or on the terminal, that would worry a reader."""
    texts = [site.said(), *(file.read_text() for file in (site.folder / "log").iterdir())]
    return [line for text in texts for line in text.splitlines() if COMPLAINT.search(line)]


def log_in(site: Site, name: str, password: str, cookies: CookieJar | None = None) -> str:
    """Log in to the admin as a browser would; returns the page that follows."""
    cookies = CookieJar() if cookies is None else cookies
    page = fetch(site, "admin/login/", cookies)
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token, "next": "/admin/"}
    return fetch(site, "admin/login/", cookies, urllib.parse.urlencode(form).encode())


def fetch(site: Site, path: str, cookies: CookieJar, form: bytes | None = None) -> str:
    """A page's text, with the cookies of a browser."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    with opener.open(f"{site.address}{path}", form) as response:
        return str(response.read().decode())
