"""Many sockets on one run, as a program of its own: so what it costs to watch is not mixed up with what serving costs.

    python -m tests.soak.watching PORT COOKIE RUN SOCKETS

Prints `open` when all are open. A number on its standard input says up to which event they are to follow; then it
prints what became of them as a line of JSON. It reads no more of a page than its head, where the numbers stand, so
that two hundred readers fit beside a server on a small machine; one socket in fifty reads its lines as well.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import struct
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Final

HEAD: Final = re.compile(rb'^\{"type": "page", "since": (\d+), "last": (\d+),')
READS_LINES_EVERY: Final = 50
PATIENCE_SECONDS: Final = 120


@dataclass
class Watched:
    """What one socket heard: the last event, the times when its pages came, and everything that was wrong."""

    last: int = 0
    pages: int = 0
    letters: int = 0
    arrivals: list[tuple[int, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Socket:
    """A WebSocket, as far as it is needed here: text from the server in one piece, short text to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int, path: str, cookie: str) -> Socket:
        """Shakes hands."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            f"Origin: http://127.0.0.1:{port}",
            f"Cookie: sessionid={cookie}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        )
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in answer.partition(b"\r\n")[0], answer
        return cls(reader, writer)

    async def text(self) -> bytes:
        """The next text."""
        while True:
            kind, length = await self.reader.readexactly(2)
            if length == 126:
                (length,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", await self.reader.readexactly(8))
            content = await self.reader.readexactly(length)
            if kind == 0x81:
                return content
            assert kind != 0x88, f"the server closed the socket: {content!r}"
            if kind == 0x89:
                self.send(content, kind=0x8A)

    def send(self, content: bytes, kind: int = 0x81) -> None:
        """Sends a short text; masked with nought, which changes nothing in it."""
        self.writer.write(bytes([kind, 0x80 | len(content)]) + bytes(4) + content)


class Watchers:
    """All sockets of this program."""

    def __init__(self, port: int, cookie: str, run: int, count: int) -> None:
        self.port, self.cookie, self.path = port, cookie, f"/ws/runs/{run}/"
        self.watched = [Watched() for _ in range(count)]

    async def follow(self, number: int, opened: asyncio.Event) -> None:
        """One socket's life."""
        mine = self.watched[number]
        try:
            socket = await Socket.open(self.port, self.path, self.cookie)
            opened.set()
            while True:
                await self.read(socket, mine, reads_lines=number % READS_LINES_EVERY == 0)
        except (AssertionError, OSError, EOFError) as error:
            mine.problems.append(f"{type(error).__name__}: {error}")
            opened.set()

    async def read(self, socket: Socket, mine: Watched, *, reads_lines: bool) -> None:
        """One message; a page is acknowledged, as a browser would."""
        text = await socket.text()
        head = HEAD.match(text)
        if head is None:
            assert text == b'{"type": "idle"}', text[:100]
            return
        since, last = map(int, head.groups())
        if since != mine.last:
            mine.problems.append(f"had {mine.last}, got what follows {since}")
        if reads_lines:
            numbers = [line["number"] for line in json.loads(text)["lines"]]
            if numbers != list(range(since + 1, last + 1)):
                mine.problems.append(f"the lines from {since} to {last} are {numbers}")
        mine.last, mine.pages, mine.letters = last, mine.pages + 1, mine.letters + len(text)
        mine.arrivals.append((last, time.time()))
        socket.send(b'{"have": %d}' % last)

    async def all(self) -> None:
        """From the first handshake to the last event."""
        opened = [asyncio.Event() for _ in self.watched]
        lives = []
        for number, is_open in enumerate(opened):
            lives.append(asyncio.create_task(self.follow(number, is_open)))
            await is_open.wait()
        print("open", flush=True)
        until = int(await asyncio.to_thread(sys.stdin.readline))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(one.last < until and not one.problems for one in self.watched) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        print(json.dumps([asdict(one) for one in self.watched]), flush=True)


if __name__ == "__main__":
    port, cookie, run, count = sys.argv[1:]
    asyncio.run(Watchers(int(port), cookie, int(run), int(count)).all())
