"""What tests of every room share: a real Redis, the tests' database for other processes, a browser."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from coffeebench_site.redis_server import answers, prepare_redis_server
from coffeebench_site.service import die_with_parent

# No network, no GPU, no sandbox inside a container.
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put browser tests last: from the first one on, an event loop runs in this thread.

    Playwright keeps it until the session ends, and asynchronous tests cannot run beside it.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session", autouse=True)
def redis_server() -> Iterator[str]:
    """A real Redis for the whole session, at the address that the settings name."""
    server = prepare_redis_server(Path(settings.VAR_DIR) / "redis", known_address=settings.REDIS_URL)
    assert server.address == settings.REDIS_URL, "another program took the port of the tests' Redis"
    process = subprocess.Popen(
        server.command,
        cwd=server.folder,
        stdout=subprocess.DEVNULL,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )
    while not answers(server.address):
        assert process.poll() is None, "the tests' Redis did not start"
        time.sleep(0.02)
    yield server.address
    process.terminate()
    process.wait()


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of a researcher: `client` stays somebody else's."""
    client = Client()
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    return client


@pytest.fixture
def site_variables(transactional_db: None) -> dict[str, str]:
    """The environment in which another process (`manage.py`, Daphne, a worker) sees the tests' database."""
    return {**os.environ, "DATABASE_URL": tests_database()}


def tests_database() -> str:
    """The address of the database that tests write to, which is not the one of the settings."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    login = ":".join(filter(None, [database["USER"], database["PASSWORD"]]))
    return f"postgresql://{login}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """How pytest-playwright starts its browser: the system's Chromium, as `CHROMIUM` or the path names it."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse("no Chromium on this machine: install Debian's package chromium, or set CHROMIUM to its path")
    # The loop that Playwright keeps in this thread is not one that the database could block.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {**browser_type_launch_args, "executable_path": chromium, "args": CHROMIUM_ARGUMENTS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """As people have it who want nothing to move: without a GPU each frame of an animation is drawn by a core."""
    return {**browser_context_args, "reduced_motion": "reduce"}
