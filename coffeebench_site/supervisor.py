"""Everything behind `make run`: one process that starts, watches and stops the others.

    python -m coffeebench_site.supervisor

Redis first (unless REDIS_URL names one), then the database, then the web process, the
workers and the clock. Ctrl-C stops them in an order that lets each finish its work.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

from coffeebench_site.environment import (
    Environment,
    EnvironmentRefused,
    read_environment,
    read_if_there,
    write_private,
)
from coffeebench_site.place import (
    ANY_ADDRESS,
    CannotStart,
    hosts_to_allow,
    listen,
    page_address,
    page_host,
    take_folder,
)
from coffeebench_site.prepare import Admin
from coffeebench_site.programs import STOP_ORDER, WORKERS, Programs, redis_program
from coffeebench_site.redis_server import NoRedisServer, answers, prepare_redis_server
from coffeebench_site.service import Program, Service, launch

START_SECONDS = 90.0


class Supervisor:
    """The processes of one site.

    Args:
        environment: the checked variables.
        listener: the socket that the web process will answer on.
    """

    def __init__(self, environment: Environment, listener: socket.socket) -> None:
        self.environment = environment
        self.listener = listener
        self.log_dir = environment.var_dir / "log"
        self.services: dict[str, Service] = {}
        self.stop_requested = asyncio.Event()

    async def run(self) -> None:
        """Start everything, watch it until a signal comes, stop everything.

        Raises:
            CannotStart: after stopping what had been started.
        """
        self.log_dir.mkdir(parents=True, exist_ok=True)
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(which, self.on_signal)
        try:
            await self.unless_stopped(self.start_all())
            await self.stop_requested.wait()
        finally:
            await self.stop_all()

    def on_signal(self) -> None:
        """Stop in order at the first signal, at once at the second."""
        if not self.stop_requested.is_set():
            say("\nStopping (Ctrl-C again to stop at once).")
            self.stop_requested.set()
            return
        for service in self.services.values():
            service.stopping.set()
            service.send(signal.SIGKILL)

    async def unless_stopped(self, work: Coroutine[None, None, None]) -> None:
        """Do some work, and abandon it as soon as a signal comes."""
        working = asyncio.create_task(work)
        waiting = asyncio.create_task(self.stop_requested.wait())
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not working.done():
            working.cancel()
        with suppress(asyncio.CancelledError):
            await working

    async def start_all(self) -> None:
        """Start every process in the order in which they need each other."""
        programs = Programs(
            self.environment,
            redis_url=await self.redis_address(),
            listener=self.listener.fileno(),
        )
        admin = await self.prepare(programs.prepare())
        for program in (programs.web(), programs.engine(), programs.llm(), programs.beat()):
            await self.start(program)
        await self.until_well()
        say(banner(self.environment, admin))

    async def redis_address(self) -> str:
        """The Redis of REDIS_URL, or our own, started now, its address kept in VAR_DIR."""
        if not self.environment.redis_url:
            return await self.start_redis()
        if not answers(self.environment.redis_address):
            raise CannotStart("The Redis server that REDIS_URL names does not answer.")
        return self.environment.redis_address

    async def start_redis(self) -> str:
        """Start our own Redis where it was last time, and wait until it answers."""
        file = self.environment.redis_address_file
        try:
            server = prepare_redis_server(file.parent / "redis", known_address=read_if_there(file))
        except NoRedisServer as error:
            raise CannotStart(str(error)) from None
        write_private(file, server.address)
        await self.start(redis_program(server))
        try:
            async with asyncio.timeout(START_SECONDS):
                while not answers(server.address):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise CannotStart(f"Redis did not start; {self.log_dir}/redis.log says why.") from None
        return server.address

    async def prepare(self, program: Program) -> Admin:
        """Bring database, static files, admin and demo up to date, before anybody looks."""
        log_file = self.log_dir / "prepare.log"
        with log_file.open("wb") as errors:
            process = await launch(program, errors=errors)
            try:
                output, _ = await process.communicate()
            except asyncio.CancelledError:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode:
            raise CannotStart(
                f"The database could not be prepared: {last_line(log_file)}\nAll that was said is in {log_file}."
            )
        return Admin(**json.loads(output))

    async def start(self, program: Program) -> None:
        """Start a program and keep it running from now on."""
        service = Service(program, self.log_dir / f"{program.name}.log", say)
        self.services[program.name] = service
        await service.start()

    async def until_well(self) -> None:
        """Wait until the web process answers and has heard from both workers."""
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await is_well(self.environment):
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise CannotStart(f"The site did not start; {self.log_dir} says why.") from None

    async def stop_all(self) -> None:
        """Stop group by group; a group's members stop side by side."""
        for group in STOP_ORDER:
            running = [self.services[name] for name in group if name in self.services]
            await asyncio.gather(*(service.stop() for service in running))


async def is_well(environment: Environment) -> bool:
    """Whether the page of health answers and names as many workers as we started."""
    try:
        async with asyncio.timeout(5):
            report = json.loads(await health_page(environment))
        return len(report["workers"]) >= len(WORKERS)
    except (OSError, ValueError, LookupError):  # TimeoutError is an OSError
        return False


async def health_page(environment: Environment) -> bytes:
    """The body of /healthz, asked for as a visitor of an allowed host would."""
    host = hosts_to_allow(environment)[0].lstrip(".*") or "localhost"
    request = f"GET /healthz HTTP/1.0\r\nHost: {host}\r\nX-Forwarded-Proto: https\r\n\r\n"
    reader, writer = await asyncio.open_connection(page_host(environment), environment.port)
    try:
        writer.write(request.encode())
        return (await reader.read()).partition(b"\r\n\r\n")[2]
    finally:
        writer.close()


def banner(environment: Environment, admin: Admin) -> str:
    """What a person needs to know once everything runs."""
    address = page_address(environment)
    password = admin.password or "the one you chose (lost it? manage.py changepassword)"
    lines = [
        "",
        "CoffeeBench is running.",
        "",
        f"  Open      {address}",
        *([f"  Sign in   {admin.sign_in_link} (works once)"] if admin.sign_in_link else []),
        f"  Admin     {address}admin/",
        f"  User      {admin.name}",
        f"  Password  {password}",
        f"  Logs      {environment.var_dir / 'log'}",
        "",
    ]
    if environment.host in ANY_ADDRESS:
        names = ", ".join(environment.allowed_hosts)
        lines += [f"Browsers may call this machine {names}; ALLOWED_HOSTS takes other names.", ""]
    return "\n".join([*lines, "Ctrl-C stops it."])


def last_line(file: Path) -> str:
    """The last line of a log that is not empty, where Python puts the reason."""
    text = file.read_text(errors="replace").strip()
    return text.splitlines()[-1] if text else "nothing was said"


def say(text: str) -> None:
    """Print to the terminal, which may be gone."""
    with suppress(OSError):
        print(text, flush=True)


def main() -> None:
    """Take the folder and the port, then run the site until it is told to stop."""
    try:
        environment = read_environment()
        take_folder(environment)
        listener = listen(environment)
        say("Starting CoffeeBench …")
        asyncio.run(Supervisor(environment, listener).run())
    except (EnvironmentRefused, CannotStart) as error:
        sys.exit(str(error))
    say("Stopped.")


if __name__ == "__main__":
    main()
