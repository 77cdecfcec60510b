"""SerialExecutor on the embedded engine: never two at once, and a read on the spot when it may."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from bythebook.index.edge import SerialExecutor
from extent import PATIENCE

ASKED = ContextVar("ASKED", default="nobody")


class LongWork:
    """Work that goes on in the thread until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go, self.over = (threading.Event() for _ in range(3))

    def work(self) -> None:
        self.begun.set()
        assert self.let_go.wait(PATIENCE)
        self.over.set()


@pytest.fixture
def held() -> Iterator[LongWork]:
    one = LongWork()
    yield one
    one.let_go.set()


async def test_a_read_is_taken_on_the_spot() -> None:
    assert await SerialExecutor().run_inline(threading.current_thread) is threading.current_thread()


async def test_a_read_waits_for_whoever_has_the_turn(held: LongWork) -> None:
    executor = SerialExecutor()
    writing = asyncio.create_task(executor.submit(held.work))
    assert await asyncio.to_thread(held.begun.wait, 30)
    ASKED.set("a reader")
    read = asyncio.create_task(executor.run_inline(lambda: (held.over.is_set(), ASKED.get())))
    await asyncio.sleep(0)
    assert not read.done()
    held.let_go.set()
    assert await read == (True, "a reader")
    await writing


async def test_handed_over_work_is_done_though_nobody_waits_for_it(held: LongWork) -> None:
    executor = SerialExecutor()
    writing = asyncio.create_task(executor.submit(held.work))
    assert await asyncio.to_thread(held.begun.wait, 30)
    writing.cancel()
    held.let_go.set()
    assert await executor.submit(held.over.is_set)


async def test_what_fails_lets_the_next_have_its_turn() -> None:
    executor = SerialExecutor()

    def fail() -> None:
        raise ValueError("no")

    for way in (executor.run_inline, executor.submit):
        with pytest.raises(ValueError, match="no"):
            await way(fail)
    assert await executor.run_inline(lambda: 1) == 1
    assert await executor.submit(lambda: 2) == 2


async def test_it_can_go_on_after_the_end() -> None:
    executor = SerialExecutor()
    done: list[str] = []
    await executor.shutdown(lambda: done.append("nothing was ever begun"))
    await executor.submit(lambda: done.append("first"))
    await executor.shutdown(lambda: done.append("last"))
    await executor.submit(lambda: done.append("again"))
    assert done == ["first", "last", "again"]
