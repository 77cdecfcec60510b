"""What a connection may send, how long it may take, and what its client is told."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from bythebook.server.connection import ConnectionConfig
from extent import PATIENCE
from server.conftest import Serve
from server.running import Running, until

JSON = "Content-Type: application/json"
WEBHOOK = "/ingestion/webhook/github"
LARGE = 4_900_000


@dataclass(frozen=True)
class Wire:
    """One connection, by the byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes | str) -> None:
        for part in parts:
            self.writer.write(part.encode() if isinstance(part, str) else part)
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        """The next response: its status, headers and JSON."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            body = await self.reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, json.loads(body)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


@asynccontextmanager
async def wire(up: Running) -> AsyncIterator[Wire]:
    address = urlsplit(up.server.address)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def head(line: str, *headers: str) -> str:
    return "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""))


def chunked(*parts: str, last: str = "0\r\n\r\n") -> str:
    return "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts) + last


async def figures(up: Running) -> dict[str, float]:
    text = (await up.http.get("/metrics")).text
    found = re.findall(r'^bythebook_connections_cut_total\{why="(\w+)"\} (\S+)$', text, re.M)
    return {why: float(count) for why, count in found}


@pytest.mark.parametrize(
    "headers", [["X-Long: " + "a" * 40_000], [f"X-{number}: a" for number in range(200)]]
)
async def test_headers_have_a_limit(up: Running, headers: list[str]) -> None:
    async with wire(up) as one:
        await one.send(head("GET /info", *headers))
        status, said, problem = await one.answer()
        assert status == 431 and problem["error"] == "E011" and problem["suggested_action"]
        assert problem["request_id"] == said["x-request-id"]
        assert said["x-content-type-options"] == "nosniff"
        assert await one.is_closed()
    async with wire(up) as other:
        await other.send(head("GET /v1/models", *headers))
        status, _, problem = await other.answer()
        assert status == 431 and problem["error"]["code"] == "E011"
    assert (await figures(up))["large"] == 2
    assert (await up.http.get("/info", headers={"X-Long": "a" * 20_000})).status_code == 200


async def test_a_request_that_is_not_whole_in_time_is_told(serve: Serve) -> None:
    async with serve(header_seconds=0.3, body_seconds=0.3) as up:
        halves = {
            "headers": "GET /info HTTP/1.1\r\nX-Half: ",
            "body": head(f"POST {WEBHOOK}", "Content-Length: 9") + "{",
        }
        for part, text in halves.items():
            async with wire(up) as one:
                await one.send(text)
                status, said, problem = await one.answer()
                assert status == 408 and problem["error"] == "E014"
                assert part in problem["message"] and said["connection"] == "close"
                assert await one.is_closed()
        async with wire(up) as silent:
            assert await silent.is_closed()
        async with wire(up) as lines:
            await lines.send(head("GET /info"))
            assert (await lines.answer())[0] == 200
            await lines.send("\r\n")
            assert (await lines.answer())[0] == 408
        assert (await figures(up))["slow"] == 4


async def test_what_comes_at_once_does_not_time_out_at_once(serve: Serve) -> None:
    async with serve(header_seconds=1000) as up, AsyncExitStack() as stack:
        assert isinstance(up.server.config, ConnectionConfig)
        waiting = up.server.config.manager.waiting
        before = set(waiting)
        for _ in range(30):
            await stack.enter_async_context(wire(up))

        async def timers() -> list[asyncio.TimerHandle]:
            found = [one._timer for one in waiting if one not in before and one._timer]
            return found if len(found) == 30 else []

        times = [timer.when() for timer in await until(timers)]
        # Spread over a hundred seconds.
        assert max(times) - min(times) > 20


async def test_what_is_no_request_is_told(up: Running) -> None:
    async with wire(up) as one:
        await one.send("Hello!\r\n\r\n")
        status, _, problem = await one.answer()
        assert status == 400 and problem["error"] == "E005"
        assert await one.is_closed()


async def test_requests_sent_ahead_are_answered_in_order(up: Running) -> None:
    async with wire(up) as one:
        asked = [str(number) for number in range(300)]
        posted = head("POST /chat/run", "Content-Length: 2", "X-Request-ID: last") + "{}"
        await one.send(*(head("GET /info", f"X-Request-ID: {name}") for name in asked), posted)
        for name in asked:
            status, headers, _ = await one.answer()
            assert status == 200 and headers["x-request-id"] == name
        status, headers, problem = await one.answer()
        assert status == 400 and headers["x-request-id"] == "last" and problem["error"] == "E005"


async def test_chunked_bodies_are_read_and_their_trailers_are_no_headers(up: Running) -> None:
    body = json.dumps({"message": "x" * 2000, "top_k": 0})
    posted = head("POST /chat/run", JSON, "Transfer-Encoding: chunked", "X-Request-ID: mine")
    async with wire(up) as one:
        await one.send(posted, chunked(*body))
        status, headers, problem = await one.answer()
        assert status == 400 and problem["details"]["field"] in ("message", "top_k")
        trailer = "0;a=b\r\nX-Request-ID: another\r\nX-Request-ID: another\r\n\r\n"
        await one.send(posted, chunked(body, last=trailer), head("GET /info"))
        status, headers, _ = await one.answer()
        assert status == 400 and headers["x-request-id"] == "mine"
        status, headers, _ = await one.answer()
        assert status == 200 and headers["x-request-id"] != "another"
        unnamed = head("POST /chat/run", "Transfer-Encoding: chunked")
        await one.send(unnamed, chunked(body, last=trailer))
        _, headers, _ = await one.answer()
        assert headers["x-request-id"] != "another"


async def test_half_a_body_takes_no_place(serve: Serve) -> None:
    async with serve(max_concurrent=1) as up, wire(up) as one, wire(up) as two:
        for each in (one, two):
            await each.send(head(f"POST {WEBHOOK}", "Content-Length: 9") + "{")
        for _ in range(3):
            assert (await up.http.get("/info")).status_code == 200
            assert (await up.http.post("/chat/run", json={})).status_code == 400
        await one.send("12345678")
        # The secret is not set, so it is refused; but not for want of a place.
        assert (await one.answer())[0] not in (408, 503)


async def test_the_oldest_waiting_connection_makes_room(serve: Serve) -> None:
    async with serve(max_connections=10) as up, AsyncExitStack() as stack:
        idle, half = [await stack.enter_async_context(wire(up)) for _ in range(2)]
        await idle.send(head("GET /info"))
        assert (await idle.answer())[0] == 200
        await half.send("GET /info HTTP/1.1\r\n")
        for _ in range(12):
            further = await stack.enter_async_context(wire(up))
            await further.send("GET ")
        status, _, problem = await half.answer()
        assert status == 503 and problem["error"] == "E012"
        assert await idle.is_closed()
        assert (await up.http.get("/info")).status_code == 200
        assert (await figures(up))["room"] >= 4


async def test_large_bodies_leave_room_for_others(serve: Serve) -> None:
    async def told(one: Wire) -> int:
        await one.send(head(f"POST {WEBHOOK}", f"Content-Length: {LARGE + 1}"), b" " * LARGE)
        return (await one.answer())[0]

    async def is_room_again() -> bool:
        again = await up.http.post(WEBHOOK, content=b" " * LARGE)
        return bool(again.json()["error"] != "E012")

    async with serve(body_seconds=600) as up:
        async with AsyncExitStack() as stack:
            wires = [await stack.enter_async_context(wire(up)) for _ in range(16)]
            asked = [asyncio.create_task(told(one)) for one in wires]
            # There is room for thirteen of them.
            async with asyncio.timeout(PATIENCE):
                done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert {task.result() for task in done} == {503}
            assert (await up.http.post("/chat/run", json={})).status_code == 400
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        assert await until(is_room_again)


async def test_a_refused_body_is_read_a_little_and_the_connection_goes_on(serve: Serve) -> None:
    async with serve() as up:
        await up.service.keys.create("reader", ("read",))
        async with wire(up) as one:
            await one.send(head("POST /chat/run", "Content-Length: 900000"))
            assert (await one.answer())[0] == 401
            await one.send(b" " * 900_000, head("GET /health"))
            assert (await one.answer())[0] == 200


async def test_no_other_protocol_is_spoken(up: Running) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    async with wire(up) as one:
        await one.send(head("GET /info", *upgrade, "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA=="))
        status, headers, _ = await one.answer()
        assert status == 200 and headers["connection"] == "close"
        assert await one.is_closed()
    # What follows is never taken for a request of its own.
    hidden = head("GET /info")
    async with wire(up) as other:
        h2c = ("Connection: Upgrade", "Upgrade: h2c", f"Content-Length: {len(hidden)}")
        await other.send(head("POST /chat/run", JSON, *h2c))
        await other.send(hidden)
        assert (await other.answer())[0] == 400
        assert await other.is_closed()


async def test_a_refused_connection_is_told_once_and_closed(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    posted = head(f"POST {WEBHOOK}", "Transfer-Encoding: chunked") + "1;a="
    # The limit is passed by the last of what is sent.
    too_much = posted.ljust(33_000, "a")
    async with serve(max_connections=10, body_seconds=600) as up, AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(wire(up)) for _ in range(2)]
        await one.send(too_much)
        assert (await one.answer())[0] == 431
        assert await one.is_closed()
        await two.send(too_much)
        assert (await two.answer())[0] == 431
        for _ in range(12):
            await stack.enter_async_context(wire(up))
        assert await two.is_closed()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
