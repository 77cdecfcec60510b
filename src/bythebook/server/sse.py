"""A response that goes on: Server-Sent Events with signs of life, until the client leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

logger = logging.getLogger(__name__)

HEARTBEAT = b": still here\n\n"
# A client that takes nothing for so long is treated as gone.
SEND_TIMEOUT = 30.0
HEADERS = {
    # Proxies that collect or compress a stream would hold it back.
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}

T = TypeVar("T")


class EventStream(Response):
    """Sends what `events` yields; closing it, which ends its work, when the client has left."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[bytes], heartbeat: float, headers: dict[str, str]
    ) -> None:
        super().__init__(headers={**HEADERS, **headers})
        # Its length is not known.
        del self.headers["content-length"]
        self.events = events
        self.heartbeat = heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        try:
            await _first_of(self._write(send), _until_gone(receive))
        except TimeoutError:
            logger.info("A client took nothing for %g seconds; its stream was ended", SEND_TIMEOUT)

    async def _write(self, send: Send) -> None:
        """What comes in the same moment is sent together: each piece costs as much as all."""
        waiting = bytearray()
        news = asyncio.Event()

        async def collect() -> None:
            async with aclosing(self.events) as events:
                async for event in events:
                    waiting.extend(event)
                    news.set()

        collecting = asyncio.create_task(collect())
        collecting.add_done_callback(lambda _: news.set())
        try:
            ended = False
            while not ended:
                try:
                    async with asyncio.timeout(self.heartbeat):
                        await news.wait()
                except TimeoutError:
                    if not news.is_set():
                        waiting.extend(HEARTBEAT)
                news.clear()
                ended = collecting.done()
                more = not ended or collecting.exception() is not None
                body = bytes(waiting)
                waiting.clear()
                async with asyncio.timeout(SEND_TIMEOUT):
                    await send({"type": "http.response.body", "body": body, "more_body": more})
        finally:
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)
        collecting.result()


async def while_connected(request: Request, work: Awaitable[T]) -> T | None:
    """The result of the work; None, and the work is cancelled, when the client leaves first."""
    return await _first_of(work, _until_gone(request.receive))


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first_of(work: Awaitable[T], leaving: Awaitable[None]) -> T | None:
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)
