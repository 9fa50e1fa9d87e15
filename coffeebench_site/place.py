"""Where a site stands: its folder, which one site may use at a time, and its port."""

import errno
import fcntl
import os
import socket
from pathlib import Path

from coffeebench_site.environment import Environment, read_if_there

ANY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104


class CannotStart(Exception):
    """A start that cannot succeed; the message says why, and what to do about it."""


def take_folder(environment: Environment) -> int:
    """Lock VAR_DIR for this process and write down who has it.

    The kernel gives the lock back when the process ends, however it ends.

    Returns:
        The descriptor that holds the lock as long as it is open.

    Raises:
        CannotStart: if another site runs from this folder, or it cannot be written to.
    """
    file = environment.var_dir / "site.lock"
    try:
        environment.var_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotStart(f"CoffeeBench runs from this folder already: {owner(file)}.") from None
    except OSError as error:
        raise CannotStart(f"The folder {environment.var_dir} cannot be used: {error}.") from None
    os.truncate(lock, 0)
    os.write(lock, f"process {os.getpid()}, {page_address(environment)}".encode())
    return lock


def owner(file: Path) -> str:
    """Who holds the lock, in the owner's own words."""
    return read_if_there(file) or "another process is just starting it"


def listen(environment: Environment) -> socket.socket:
    """Take the port.

    Raises:
        CannotStart: if another program has it, or HOST is no address of this machine.
    """
    host, port = environment.host, environment.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        raise CannotStart(why_not(error, host, port)) from None
    return listener


def why_not(error: OSError, host: str, port: int) -> str:
    """In words why a port could not be taken, and what would work."""
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken by another program; choose another: make run PORT={port + 1}"
    if error.errno == errno.EACCES:
        return f"Port {port} may be taken by root only; choose one from 1024: make run PORT=8000"
    return f"HOST={host} is no address of this machine ({error.strerror or error})."


def page_address(environment: Environment) -> str:
    """Where a browser on this machine finds the site."""
    return f"http://{bracketed(page_host(environment))}:{environment.port}/"


def page_host(environment: Environment) -> str:
    """HOST, or this machine's own address where HOST stands for all of them."""
    return "127.0.0.1" if environment.host in ANY_ADDRESS else environment.host


def bracketed(host: str) -> str:
    """A host as addresses of pages write it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def hosts_to_allow(environment: Environment) -> list[str]:
    """ALLOWED_HOSTS, and the host we listen on, which must work without naming it twice."""
    own = set() if environment.host in ANY_ADDRESS else {bracketed(environment.host)}
    return sorted({*environment.allowed_hosts, *own})
