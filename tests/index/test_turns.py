"""Turns on the embedded engine: never two at once, and a glance on the spot when it may."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from bythebook.index.turns import Turns

ASKED = ContextVar("ASKED", default="nobody")


class Held:
    """Work that goes on in the thread until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go, self.over = (threading.Event() for _ in range(3))

    def work(self) -> None:
        self.begun.set()
        assert self.let_go.wait(30)
        self.over.set()


@pytest.fixture
def held() -> Iterator[Held]:
    one = Held()
    yield one
    one.let_go.set()


async def test_a_glance_is_taken_on_the_spot() -> None:
    assert await Turns().take(threading.current_thread) is threading.current_thread()


async def test_a_glance_waits_for_whoever_has_the_turn(held: Held) -> None:
    turns = Turns()
    writing = asyncio.create_task(turns.hand_over(held.work))
    assert await asyncio.to_thread(held.begun.wait, 30)
    ASKED.set("a reader")
    glance = asyncio.create_task(turns.take(lambda: (held.over.is_set(), ASKED.get())))
    await asyncio.sleep(0)
    assert not glance.done()
    held.let_go.set()
    assert await glance == (True, "a reader")
    await writing


async def test_handed_over_work_is_done_though_nobody_waits_for_it(held: Held) -> None:
    turns = Turns()
    writing = asyncio.create_task(turns.hand_over(held.work))
    assert await asyncio.to_thread(held.begun.wait, 30)
    writing.cancel()
    held.let_go.set()
    assert await turns.hand_over(held.over.is_set)


async def test_what_fails_lets_the_next_have_its_turn() -> None:
    turns = Turns()

    def fail() -> None:
        raise ValueError("no")

    for way in (turns.take, turns.hand_over):
        with pytest.raises(ValueError, match="no"):
            await way(fail)
    assert await turns.take(lambda: 1) == 1
    assert await turns.hand_over(lambda: 2) == 2


async def test_it_can_go_on_after_the_end() -> None:
    turns = Turns()
    done: list[str] = []
    await turns.end(lambda: done.append("nothing was ever begun"))
    await turns.hand_over(lambda: done.append("first"))
    await turns.end(lambda: done.append("last"))
    await turns.hand_over(lambda: done.append("again"))
    assert done == ["first", "last", "again"]
