"""One program that the supervisor keeps alive: started, logged, started again, stopped."""

import asyncio
import ctypes
import logging
import os
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

LOG_BYTES = 5_000_000
LOG_FILES_KEPT = 3
LONGEST_LINE_BYTES = 1_000_000
RESTART_SECONDS = (1, 2, 4, 8, 16, 30)
HEALTHY_SECONDS = 60.0
PATIENCE_SECONDS = 3.0  # before telling the person at the terminal what takes so long

# A line of our own log format at a level that the person at the terminal should see.
ERROR_LINE = re.compile(r"^\S+ \S+ (ERROR|CRITICAL) ")

# Loaded here, since between fork and exec as little as possible should happen.
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Program:
    """What to run, and where.

    `expected` is text of a line that is no news and stays out of the log; whoever sets it
    says why. `stop_seconds` is how long the program may take to end when asked.
    """

    name: str
    command: list[str]
    folder: Path
    environment: dict[str, str]
    pass_fds: tuple[int, ...] = ()
    expected: str | None = None
    stop_seconds: float = 10.0


class Service:
    """A program that runs until `stop` is called, and is started again if it ends before."""

    def __init__(self, program: Program, log_file: Path, say: Callable[[str], None]) -> None:
        self.program = program
        self.log_file = log_file
        self.say = say
        self.log = RotatingFileHandler(log_file, "a", LOG_BYTES, LOG_FILES_KEPT, delay=True)
        self.stopping = asyncio.Event()
        self.process: Process | None = None
        self.watcher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the program and keep it running from now on."""
        self.process = await launch(self.program)
        self.watcher = asyncio.create_task(self.keep_running(self.process))

    async def keep_running(self, process: Process) -> None:
        """Follow the program; whenever it ends unasked, say so and start it again."""
        failures = 0
        while True:
            started = time.monotonic()
            ending = await self.follow(process)
            if self.stopping.is_set():
                return
            failures = 0 if time.monotonic() - started > HEALTHY_SECONDS else failures
            delay_seconds = RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]
            failures += 1
            self.say(f"{self.program.name} {ending}; starting it again in {delay_seconds} s.")
            if await is_set_within(self.stopping, delay_seconds):
                return
            self.process = process = await launch(self.program)
            if self.stopping.is_set():
                self.send(signal.SIGTERM)

    async def follow(self, process: Process) -> str:
        """Log the program's output until it ends; returns how it ended."""
        assert process.stdout is not None
        last_line = ""
        async for line in lines(process.stdout):
            self.note(line)
            last_line = line.strip() or last_line
        return describe_ending(await process.wait(), last_line)

    def note(self, line: str) -> None:
        """Write one line of output to the log, and an error to the terminal too."""
        if self.program.expected and self.program.expected in line:
            return
        self.log.handle(logging.makeLogRecord({"msg": line}))
        if ERROR_LINE.match(line):
            self.say(f"[{self.program.name}] {line[:300]}")

    async def stop(self) -> None:
        """Ask the program to end, wait, and end it by force when its time is over."""
        self.stopping.set()
        if self.watcher is not None:
            self.send(signal.SIGTERM)
            await self.wait_or_kill()
        self.log.close()

    async def wait_or_kill(self) -> None:
        """Wait for the program's end as long as it may take, then kill it."""
        limit_seconds = self.program.stop_seconds
        if await self.ends_within(min(PATIENCE_SECONDS, limit_seconds)):
            return
        self.say(f"Waiting for {self.program.name} to finish what it is doing, at most {limit_seconds:g} s …")
        if await self.ends_within(max(limit_seconds - PATIENCE_SECONDS, 0.0)):
            return
        self.say(f"{self.program.name} did not end in {limit_seconds:g} s: killed.")
        self.send(signal.SIGKILL)
        await self.ends_within(None)

    async def ends_within(self, seconds: float | None) -> bool:
        """Wait for the program's end, at most some seconds (None: without limit); returns whether it came."""
        assert self.watcher is not None
        done, _ = await asyncio.wait({self.watcher}, timeout=seconds)
        return bool(done)

    def send(self, which: signal.Signals) -> None:
        """Send a signal to the program and what it started, if it runs."""
        if self.process is not None and self.process.returncode is None:
            os.killpg(self.process.pid, which)


async def launch(program: Program, *, errors: int | IO[bytes] = STDOUT) -> Process:
    """Start a program in a process group of its own, its output in a pipe.

    Ctrl-C in the terminal then reaches the supervisor alone, which stops all in order.

    Args:
        program: what to start.
        errors: where its error output goes, if not into the same pipe.
    """
    return await asyncio.create_subprocess_exec(
        *program.command,
        cwd=program.folder,
        env=program.environment,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=errors,
        start_new_session=True,
        pass_fds=program.pass_fds,
        preexec_fn=partial(die_with_parent, os.getpid()) if LIBC else None,
    )


def die_with_parent(parent: int) -> None:
    """In the new process: have the kernel kill it should the supervisor die.

    Killed, not asked: without its supervisor Redis is gone too, and every part of the
    site is made so that a crash loses nothing.
    """
    assert LIBC is not None
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we could ask
        os._exit(1)


async def lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    """The lines of a stream; one that is absurdly long comes in pieces."""
    rest = b""
    while chunk := await stream.read(65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE_BYTES:
            whole, rest = [*whole, rest], b""
        for line in whole:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most some seconds; returns whether it came."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def describe_ending(code: int, last_line: str) -> str:
    """In words how a program ended, from its exit code as Python gives it and the last line it wrote."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code} ({last_line[:300]})" if code else "ended"
