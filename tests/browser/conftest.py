"""A site of real processes for a real browser: Daphne, which may be killed and started again, and a worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.request import urlopen

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from coffeebench_site.environment import BASE_DIR
from coffeebench_site.redis_server import unused_port
from simulation.models import Run
from tests.conftest import tests_database
from tests.soak.programs import BEAT
from tests.waiting import PATIENCE_SECONDS, eventually

PATIENCE_MS = 1000 * PATIENCE_SECONDS
# Longer than Playwright's five seconds: servers and workers take part in most of this, and other tests run beside it.
expect.set_options(timeout=PATIENCE_MS)
# When all that shows on a page is drawn.
DRAWN = """() => [...document.querySelectorAll("[data-figure]")].every(
    figure => figure.dataset.points !== undefined || !figure.checkVisibility())
    && !document.querySelector("#comparison .loading")"""
# The browser's own words for a line that breaks, and for one that breaks while it is opened.
BROKEN_LINE = re.compile("net::ERR_|WebSocket is closed before the connection is established")

Found = TypeVar("Found")


@dataclass
class Site:
    """The processes of a site on the tests' database."""

    variables: dict[str, str]
    port: int = field(default_factory=unused_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start_web(self) -> None:
        """Start Daphne and wait until it answers."""
        self.start("web", "daphne", "-v", "0", "-p", str(self.port), "coffeebench_site.asgi:application")
        eventually(self.answers)

    def start_worker(self) -> None:
        """Start the worker that moves runs."""
        self.start("worker", "celery", "--quiet", "-A", "coffeebench_site", "worker", "-Q", "engine", "-P", "threads")

    def start_beat(self) -> None:
        """Start what reminds the worker of all that waits."""
        self.start("beat", "celery", "--quiet", "-A", "coffeebench_site", *BEAT)

    def start(self, name: str, *command: str) -> None:
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", *command], cwd=BASE_DIR, env=self.variables
        )

    def answers(self) -> bool:
        try:
            return bool(urlopen(f"{self.address}/healthz", timeout=PATIENCE_SECONDS / 3).status == 200)
        except OSError:
            return False

    def kill(self, name: str) -> None:
        """End a process as a crash would."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()


@contextmanager
def running_site() -> Iterator[Site]:
    """A site on the tests' database whose web process runs; all its processes end with it."""
    site = Site({**os.environ, "DATABASE_URL": tests_database(), "DJANGO_SETTINGS_MODULE": "tests.settings"})
    try:
        site.start_web()
        yield site
    finally:
        for name in list(site.processes):
            site.kill(name)


@pytest.fixture(scope="session")
def whole_site(django_db_setup: None, browser: Browser) -> Iterator[Site]:
    """One site for all tests of a browser: to start Daphne takes longer than most of them.

    It asks for the browser first: without one there is no need for a site.
    """
    with running_site() as site:
        yield site


@pytest.fixture
def site(whole_site: Site, transactional_db: None) -> Iterator[Site]:
    """A site whose web process runs; a test starts the worker if it needs one."""
    if "web" not in whole_site.processes:
        whole_site.start_web()
    yield whole_site
    if "worker" in whole_site.processes:
        whole_site.kill("worker")


@pytest.fixture
def context(context: BrowserContext) -> BrowserContext:
    """A browser's window, as patient as the tests are."""
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """What the browser complains of: errors, warnings, violations of the policy."""
    found: list[str] = []
    hear_complaints(page, found.append)
    return found


def hear_complaints(page: Page, note: Callable[[str], None]) -> None:
    """Have everything noted that the browser will complain of."""
    page.on("console", lambda message: note(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: note(str(error)))


@pytest.fixture
def visitor(site: Site, page: Page, complaints: list[str]) -> Page:
    """A browser page, empty so far, of somebody who is signed in as staff."""
    client = Client()
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": site.address}])
    return page


def open_run(site: Site, page: Page, run: Run, query: str = "") -> None:
    """A run's page, once it hears of what happens."""
    page.goto(f"{site.address}/runs/{run.pk}/{query}")
    expect(page.locator("#run")).to_have_attribute("data-connected", "true")


def expect_to_fit(page: Page, *widths: int) -> None:
    """Wait for nothing on a page to be wider than its window, in windows of some widths."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(
            "width => innerWidth === width && document.documentElement.scrollWidth <= width", arg=width
        )


def in_thread(work: Callable[[], Found]) -> Found:
    """The outcome of something that the event loop of the browser, which this thread keeps, would forbid."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def hint(run: Run) -> None:
    """Tell the sockets that a run has moved."""
    message = {"type": "run.hint", "event": run.events, "status": run.status}
    in_thread(lambda: async_to_sync(get_channel_layer().group_send)(f"run-{run.pk}", message))
