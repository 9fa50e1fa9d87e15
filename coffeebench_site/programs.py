"""The programs that a site is made of, as commands with their environment."""

import os
import sys
from dataclasses import dataclass
from typing import Any

from coffeebench_site.environment import BASE_DIR, Environment
from coffeebench_site.place import hosts_to_allow
from coffeebench_site.redis_server import RedisServer
from coffeebench_site.service import Program

SITE = "coffeebench_site"
REDIS, WEB, ENGINE, LLM, BEAT = "redis", "web", "engine", "llm", "beat"
WORKERS = (ENGINE, LLM)

# Workers first, so that they can still write down what they are at; Redis last.
STOP_ORDER = ((ENGINE, LLM, BEAT), (WEB,), (REDIS,))

# Advice for servers that fill their machine's memory; ours holds a few kilobytes.
OVERCOMMIT_ADVICE = "WARNING Memory overcommit must be enabled"
# Its danger is code in pickled tasks. Ours are JSON, and whoever is root knows it.
IGNORE_ROOT_ADVICE = "ignore:You're running the worker with superuser privileges:UserWarning"


@dataclass(frozen=True)
class Programs:
    """What to run for a site with this environment, its Redis and its socket."""

    environment: Environment
    redis_url: str
    listener: int

    def prepare(self) -> Program:
        """Brings database, static files, admin and demo up to date, and ends."""
        return self.python("prepare", f"{SITE}.prepare")

    def web(self) -> Program:
        """The web process. It is handed a socket that listens already.

        So nobody can take the port meanwhile, and a browser that comes while the process
        is started again waits a moment instead of being refused.
        """
        command = ["daphne", "--fd", str(self.listener), "-v", "0", f"{SITE}.asgi:application"]
        return self.python(WEB, *command, pass_fds=(self.listener,))

    def engine(self) -> Program:
        """The worker that moves runs forward: short tasks, no network."""
        return self.worker(ENGINE, self.environment.engine_threads)

    def llm(self) -> Program:
        """The worker that waits for models: many at once, each for minutes."""
        return self.worker(LLM, self.environment.llm_threads)

    def worker(self, queue: str, threads: int) -> Program:
        """A worker of one queue, in a process of its own."""
        pool = ["-Q", queue, "-P", "threads", "-c", str(threads), "-n", f"{queue}@%h"]
        quiet = ["--without-gossip", "--without-mingle"]  # workers have nothing to tell each other
        return self.python(
            queue,
            *["celery", "--quiet", "-A", SITE, "worker", *pool, *quiet],
            stop_seconds=self.environment.stop_seconds,
        )

    def beat(self) -> Program:
        """The clock that calls for the sweep; one, since two would call twice."""
        return self.python(BEAT, "celery", "--quiet", "-A", SITE, "beat", "--pidfile", "")

    def python(self, name: str, *command: str, **more: Any) -> Program:
        """A Python module run in the folder of manage.py with this site's environment."""
        return Program(name, [sys.executable, "-m", *command], BASE_DIR, self.variables(), **more)

    def variables(self) -> dict[str, str]:
        """The environment of every Python process of the site."""
        warnings = [os.environ.get("PYTHONWARNINGS", ""), IGNORE_ROOT_ADVICE]
        return {
            "DJANGO_SETTINGS_MODULE": f"{SITE}.settings",
            **os.environ,
            "VAR_DIR": str(self.environment.var_dir),
            "ALLOWED_HOSTS": ",".join(hosts_to_allow(self.environment)),
            "REDIS_URL": self.redis_url,
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": ",".join(filter(None, warnings)),
        }


def redis_program(server: RedisServer) -> Program:
    """Our own Redis, in the folder where it keeps its file."""
    return Program(REDIS, server.command, server.folder, dict(os.environ), expected=OVERCOMMIT_ADVICE)
