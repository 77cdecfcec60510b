"""How long a language model is waited for: from its last sign of life, and in all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class OutOfTime(TimeoutError):
    """Says what did not happen in time, and the setting that holds the limit."""

    def __init__(self, what: str, setting: str) -> None:
        super().__init__(what)
        self.what = what
        self.setting = setting


def not_begun(seconds: float) -> OutOfTime:
    what = f"The language model did not begin to answer within {seconds:g} seconds."
    return OutOfTime(what, "MODEL_FIRST_TOKEN_TIMEOUT")


def gone_silent(seconds: float) -> OutOfTime:
    what = f"The language model was silent for {seconds:g} seconds."
    return OutOfTime(what, "MODEL_SILENCE_TIMEOUT")


def not_ended(seconds: float) -> OutOfTime:
    what = f"The language model did not answer within {seconds:g} seconds."
    return OutOfTime(what, "COMPLETION_TIMEOUT")


@asynccontextmanager
async def by(deadline: float, problem: OutOfTime) -> AsyncIterator[None]:
    """What is done here ends before the deadline, on the loop's clock, or in the problem."""
    timer = asyncio.timeout_at(deadline)
    try:
        async with timer:
            yield
    except TimeoutError as late:
        if not timer.expired():  # it is somebody else's
            raise
        raise problem from late


async def all_by(
    stream: AsyncGenerator[T], deadline: float, problem: OutOfTime
) -> AsyncGenerator[T]:
    """The stream, as long as it ends in time: a trickle must not last forever."""
    async with aclosing(stream):
        while True:
            try:
                # Not around the loop: the clock must not end what is done with an item.
                async with by(deadline, problem):
                    item = await anext(stream)
            except StopAsyncIteration:
                return
            yield item


async def alive(
    pieces: AsyncIterable[Any], begin_by: float, first: float, silence: float
) -> AsyncIterator[Any]:
    """The pieces of a reply, as long as the first words come in time, and then each next piece."""
    clock = asyncio.get_running_loop().time
    coming = aiter(pieces)
    begun = False
    while True:
        limit = (clock() + silence, gone_silent(silence)) if begun else (begin_by, not_begun(first))
        try:
            async with by(*limit):
                piece = await anext(coming)
        except StopAsyncIteration:
            return
        begun = begun or _says(piece)
        yield piece


def _says(piece: Any) -> bool:
    """Some servers send an empty piece, with the role, before they have read anything."""
    match piece:
        case {"choices": [{"delta": {**delta}, **rest}, *_]}:
            said = any(value for name, value in delta.items() if name != "role")
            return said or bool(rest.get("finish_reason"))
    return True
