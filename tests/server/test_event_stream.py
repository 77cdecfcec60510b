"""What goes over the wire, message by message."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bythebook.server.sse import HEARTBEAT, EventStream

SCOPE = {"type": "http"}


async def never_gone() -> Any:
    await asyncio.Event().wait()


async def sent(
    events: AsyncGenerator[bytes], heartbeat: float = 10, beaten: asyncio.Event | None = None
) -> list[tuple[bytes, bool]]:
    """Bodies, and whether more was said to follow; what was raised is the last."""
    bodies: list[tuple[bytes, bool]] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            bodies.append((message["body"], message["more_body"]))
            if beaten and message["body"] == HEARTBEAT:
                beaten.set()

    try:
        await EventStream(events, heartbeat, {})(SCOPE, never_gone, send)
    except RuntimeError as problem:
        bodies.append((str(problem).encode(), True))
    return bodies


async def test_what_comes_at_once_is_sent_at_once() -> None:
    async def events() -> AsyncGenerator[bytes]:
        yield b"a"
        yield b"b"
        await asyncio.sleep(0.01)
        yield b"c"
        yield b"d"

    assert await sent(events()) == [(b"ab", True), (b"cd", False)]


async def test_signs_of_life_come_only_when_nothing_else_does() -> None:
    beaten = asyncio.Event()

    async def events() -> AsyncGenerator[bytes]:
        await beaten.wait()
        yield b"a"

    *before, last = await sent(events(), heartbeat=0.05, beaten=beaten)
    assert before and set(before) == {(HEARTBEAT, True)} and last == (b"a", False)


async def test_what_comes_in_the_moment_of_a_sign_of_life_is_one() -> None:
    async def events() -> AsyncGenerator[bytes]:
        # What holds the loop up for longer makes both due in the same moment.
        asyncio.get_running_loop().call_soon(time.sleep, 0.2)
        await asyncio.sleep(0.04)
        yield b"a"

    assert await sent(events(), heartbeat=0.05) == [(b"a", False)]


@pytest.mark.parametrize("pause", [0, 0.01])
async def test_a_stream_that_breaks_is_not_said_to_have_ended(pause: float) -> None:
    async def events() -> AsyncGenerator[bytes]:
        yield b"a"
        await asyncio.sleep(pause)
        raise RuntimeError("broken")

    bodies = await sent(events())
    assert bodies[-1] == (b"broken", True)
    assert b"".join(body for body, _ in bodies[:-1]) == b"a" and all(more for _, more in bodies)


async def test_whoever_leaves_ends_the_work() -> None:
    ended = asyncio.Event()

    async def events() -> AsyncGenerator[bytes]:
        try:
            yield b"a"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def gone() -> Any:
        await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        pass

    await EventStream(events(), 10, {})(SCOPE, gone, send)
    assert ended.is_set()
