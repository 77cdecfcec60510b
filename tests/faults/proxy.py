"""A proxy on the way to a server, which does to the connection whatever can happen to one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["none", "refuse", "slow", "cut", "garbage"]
FAULTS: tuple[Fault, ...] = ("refuse", "slow", "cut", "garbage")
PIECE = 65536
# What comes back before a connection that is cut ends.
CUT_AFTER = 20
GARBAGE = b"\x00\xff\x15HTTP/9.9 banana\r\nContent-Length: -1\r\n\r\n{{{" * 4


@dataclass
class Proxy:
    """Listens on a port of this machine for as long as it is open."""

    host: str
    target: int
    delay: float = 0.3
    fault: Fault = "none"
    port: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def inject(self, fault: Fault) -> None:
        """From now on, also for those that are connected already."""
        self.fault = fault
        if fault != "none":
            for writer in self._writers:
                writer.transport.abort()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self.fault != "refuse":
                await self._connect(reader, writer)
        except OSError:
            pass  # one of the two has gone, and the other is told by the end of its connection
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self.host, self.target)
        try:
            ways = [
                asyncio.create_task(self._pass(reader, back, is_answer=False)),
                asyncio.create_task(self._pass(there, writer, is_answer=True)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            back.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        while piece := await reader.read(PIECE):
            if is_answer and self.fault == "slow":
                await asyncio.sleep(self.delay)
            if is_answer and self.fault == "garbage":
                piece = GARBAGE
            is_cut = is_answer and self.fault == "cut"
            writer.write(piece[:CUT_AFTER] if is_cut else piece)
            await writer.drain()
            if is_cut:
                return


@asynccontextmanager
async def proxy_to(host: str, port: int, delay: float = 0.3) -> AsyncIterator[Proxy]:
    proxy = Proxy(host, port, delay)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for writer in list(proxy._writers):
            writer.transport.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await server.wait_closed()
