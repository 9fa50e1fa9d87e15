"""The server as tests use it: started as a process of its own, asked what it saw, told what to do next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from coffeebench_site.service import die_with_parent
from tests.waiting import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).resolve().parents[2]


class RunningServer:
    """A server that answers. `api_base` is what clients are given."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.api_base = f"{url}/v1"

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """Its requests, oldest first: the fields of tests.model_server.bookkeeping.Entry."""
        rows: list[dict[str, Any]] = self._ask(f"/log?after={after}")["requests"]
        return rows

    def stats(self) -> dict[str, Any]:
        """Totals over its requests."""
        return self._ask("/stats")

    def configure(self, **fields: Any) -> None:
        """Replaces fields of its Config, such as `faults`, for all requests from now on."""
        self._ask("/config", fields)

    @contextmanager
    def holding_until_in_work(self, count: int) -> Iterator[None]:
        """Within the block, answers are held back until so many requests are in work at once, which must come."""
        self.configure(faults=[{"kind": "hold"}])
        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(self._let_go_at, count)
            yield
        watching.result()

    def _let_go_at(self, count: int) -> None:
        try:
            eventually(lambda: bool(self.stats()["in_work"] == count))
        finally:
            self.configure(faults=[])

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self.url}{path}", data), timeout=PATIENCE_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


@contextmanager
def running_model_server(config: Mapping[str, Any] | None = None, port: int = 0) -> Iterator[RunningServer]:
    """A model server with a Config's fields; on a free port unless one is given. It ends with the block."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(dict(config or {}), file)
        file.flush()
        command = [sys.executable, "-m", "tests.model_server", "--port", str(port), "--config", file.name]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=partial(die_with_parent, os.getpid())
        )
        assert process.stdout is not None
        with process:
            url = process.stdout.readline().strip()
            assert url, "the model server did not start"
            try:
                yield RunningServer(process, url)
            finally:
                process.terminate()
