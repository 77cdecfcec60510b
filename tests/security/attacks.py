"""What a stranger without a key can do to the connections of a service, over real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from extent import PATIENCE
from security.hostile import MB

# Asked for without a key, and taken up to 5 MB: GitHub signs what it sends.
OPEN_TO_ALL = "/ingestion/webhook/github"
COMPLETIONS = "/v1/chat/completions"
MOST_SENT = 50_000_000
PIECE = 65_536


@dataclass(frozen=True)
class Attack:
    """So many connections that send `first`, then `again` and again, up to a number of bytes in
    all; who is cut comes back."""

    name: str
    connections: int
    first: bytes
    again: bytes = b""
    every: float = 0.0
    reads: bool = True
    # Whether the service asks for keys: else a stranger's request gets further.
    keyed: bool = False


@dataclass
class Attackers:
    """What became of them so far."""

    number: int
    most_sent: int = MOST_SENT
    bytes_per_second: float = float("inf")
    began: int = 0
    cut: int = 0
    sent: int = 0
    first_answers: set[bytes] = field(default_factory=set)
    all_began: asyncio.Event = field(default_factory=asyncio.Event)
    all_cut: asyncio.Event = field(default_factory=asyncio.Event)
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not self.number:
            self.all_began.set()

    def pause(self) -> float:
        """Seconds until as much may be sent as was sent by now."""
        return self.since + self.sent / self.bytes_per_second - time.monotonic()

    def has_begun(self) -> None:
        self.began += 1
        if self.began == self.number:
            self.all_began.set()

    def was_cut(self) -> None:
        self.cut += 1
        if self.cut == self.number:
            self.all_cut.set()


def _head(path: str, *lines: str) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "")).encode()


_CHUNKED = _head(OPEN_TO_ALL, "Transfer-Encoding: chunked") + b"\r\n"
_MANY = 200

ATTACKS = (
    Attack("nothing sent", _MANY, b""),
    Attack("half a header", _MANY, _head("/chat/run") + b"X-Half: "),
    Attack("a header, byte by byte", _MANY, _head("/chat/run"), b"a", every=0.5),
    Attack("half a body", _MANY, _head(OPEN_TO_ALL, "Content-Length: 900") + b"\r\n{"),
    Attack("a body, byte by byte", _MANY, _CHUNKED, b"1\r\na\r\n", every=0.5),
    Attack("an endless header", 4, _head("/chat/run") + b"X-Long: ", b"a" * PIECE),
    Attack("many headers", 4, _head("/chat/run"), b"a:b\r\n" * (PIECE // 5)),
    Attack("an endless address", 4, b"GET /", b"a" * PIECE),
    Attack("empty lines", 4, b"\r\n", b"\r\n" * (PIECE // 2)),
    Attack("an endless chunk extension", 4, _CHUNKED + b"1;a=", b"a" * PIECE),
    Attack("an endless trailer", 4, _CHUNKED + b"0\r\nX-Long: ", b"a" * PIECE),
    Attack("an endless body", 4, _CHUNKED, b"%x\r\n" % PIECE + b"a" * PIECE + b"\r\n"),
    Attack(
        "a body that was refused",
        4,
        _head("/chat/run", f"Content-Length: {10**10}") + b"\r\n",
        b"a" * PIECE,
    ),
    Attack(
        "answers that nobody reads",
        4,
        b"",
        b"GET /widget.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100,
        every=0.1,
        reads=False,
    ),
)


def _whole(method: str, path: str, body: bytes = b"", *lines: str) -> bytes:
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines]
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


# Whole requests, which are all answered: nobody is cut for them.
REQUESTS = (
    Attack("bodies of quotes", 4, b"", _whole("POST", COMPLETIONS, b'\\"' * (MB // 3))),
    Attack("bodies of brackets", 4, b"", _whole("POST", COMPLETIONS, b"[]" * (MB // 3))),
    Attack(
        "unknown keys",
        4,
        b"",
        _whole("GET", "/books", b"", f"X-API-Key: btb_{'0' * 12}_{'x' * 43}") * 10,
        every=0.05,
        keyed=True,
    ),
)


@asynccontextmanager
async def under(
    attack: Attack,
    url: str,
    most_sent: int = MOST_SENT,
    bytes_per_second: float = float("inf"),
) -> AsyncIterator[Attackers]:
    """The attack goes on, and every connection has been made once."""
    address = urlsplit(url)
    seen = Attackers(attack.connections, most_sent, bytes_per_second)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_attacker(attack, seen, address.hostname or "", address.port or 80))
            for _ in range(attack.connections)
        ]
        try:
            async with asyncio.timeout(PATIENCE):
                await seen.all_began.wait()
            yield seen
        finally:
            for task in tasks:
                task.cancel()


async def _attacker(attack: Attack, seen: Attackers, host: str, port: int) -> None:
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        try:
            await _until_cut(attack, seen, reader, writer)
        finally:
            writer.close()
        seen.was_cut()
        await asyncio.sleep(0.1)


async def _until_cut(
    attack: Attack, seen: Attackers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    sending = asyncio.create_task(_send(attack, seen, writer))
    try:
        with suppress(OSError):
            if attack.reads:
                seen.first_answers.add((await reader.readline()).strip())
                while await reader.read(PIECE):
                    pass
            else:
                await sending
                await writer.wait_closed()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(attack: Attack, seen: Attackers, writer: asyncio.StreamWriter) -> None:
    writer.write(attack.first)
    await writer.drain()
    seen.has_begun()
    while attack.again and seen.sent < seen.most_sent:
        writer.write(attack.again)
        await writer.drain()
        seen.sent += len(attack.again)
        await asyncio.sleep(max(attack.every, seen.pause()))
