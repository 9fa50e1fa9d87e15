"""The site's background programs as processes of a soak test's own, on the tests' database and Redis."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

QUIET = ("--without-gossip", "--without-mingle")
ENGINE = ("worker", "-Q", "engine", "-P", "threads", "-c", "2", "-n", "engine@soak", *QUIET)
LLM = ("worker", "-Q", "llm", "-P", "threads", "-c", "16", "-n", "llm@soak", *QUIET)
BEAT = ("beat", "--pidfile", "")


def start(*arguments: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Starts a Celery program of the site."""
    return _start_module("celery", "--quiet", "-A", "coffeebench_site", *arguments, variables=variables)


def start_web(port: int, *, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Starts the site's web process."""
    application = "coffeebench_site.asgi:application"
    return _start_module("daphne", "-p", str(port), "-v", "0", application, variables=variables)


def _start_module(*command: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        env={**variables, "DJANGO_SETTINGS_MODULE": "coffeebench_site.settings"},
        cwd=settings.BASE_DIR,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def program(*arguments: str, variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery program of the site, killed on the way out if it still runs."""
    process = start(*arguments, variables=variables)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
