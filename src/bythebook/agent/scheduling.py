"""How long a model is waited for, when it is left alone, and how turns share one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class OutOfTime(TimeoutError):
    """Says what did not happen in time, and the setting that holds the limit."""

    def __init__(self, what: str, setting: str) -> None:
        super().__init__(what)
        self.what = what
        self.setting = setting


def no_first_token(seconds: float) -> OutOfTime:
    what = f"The language model did not begin to answer within {seconds:g} seconds."
    return OutOfTime(what, "MODEL_FIRST_TOKEN_TIMEOUT")


def silent_too_long(seconds: float) -> OutOfTime:
    what = f"The language model was silent for {seconds:g} seconds."
    return OutOfTime(what, "MODEL_SILENCE_TIMEOUT")


def no_completion(seconds: float) -> OutOfTime:
    what = f"The language model did not answer within {seconds:g} seconds."
    return OutOfTime(what, "COMPLETION_TIMEOUT")


@asynccontextmanager
async def finish_before(deadline: float, problem: OutOfTime) -> AsyncIterator[None]:
    """What is done here ends before the deadline, on the loop's clock, or in the problem."""
    timer = asyncio.timeout_at(deadline)
    try:
        async with timer:
            yield
    except TimeoutError as late:
        if not timer.expired():  # it is somebody else's
            raise
        raise problem from late


async def stream_before(
    stream: AsyncGenerator[T], deadline: float, problem: OutOfTime
) -> AsyncGenerator[T]:
    """The stream, as long as it ends in time: a trickle must not last forever."""
    async with aclosing(stream):
        while True:
            try:
                # Not around the loop: the clock must not end what is done with an item.
                async with finish_before(deadline, problem):
                    item = await anext(stream)
            except StopAsyncIteration:
                return
            yield item


async def with_silence_limit(
    pieces: AsyncIterable[Any], begin_by: float, first: float, silence: float
) -> AsyncIterator[Any]:
    """The pieces of a reply, as long as the first words come in time, and then each next piece."""
    clock = asyncio.get_running_loop().time
    coming = aiter(pieces)
    has_started = False
    while True:
        limit = (
            (clock() + silence, silent_too_long(silence))
            if has_started
            else (begin_by, no_first_token(first))
        )
        try:
            async with finish_before(*limit):
                piece = await anext(coming)
        except StopAsyncIteration:
            return
        has_started = has_started or _has_content(piece)
        yield piece


def _has_content(piece: Any) -> bool:
    """Some servers send an empty piece, with the role, before they have read anything."""
    match piece:
        case {"choices": [{"delta": {**delta}, **rest}, *_]}:
            said = any(value for name, value in delta.items() if name != "role")
            return said or bool(rest.get("finish_reason"))
    return True


class Breaker:
    """Opens after `failures` in a row and closes after `seconds`: then one attempt is let through,
    and its outcome decides."""

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures = failures
        self.seconds = seconds
        self._clock = clock
        self._failed = 0
        self._opened_at: float | None = None

    @property
    def open_for(self) -> float:
        """Seconds until an attempt is let through again; 0 when it may go."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self.seconds - self._clock())

    def succeeded(self) -> None:
        self._failed = 0
        self._opened_at = None

    def failed(self) -> None:
        self._failed += 1
        if self._failed >= self.failures:
            self._opened_at = self._clock()


class FairTurns:
    """One long step of an answer in a round of the event loop.

    A reader waits a second for an answer, but for a page or a search the blink of an eye. When many
    answers have something to do at once, whatever else came in gets its turn between two of them.
    """

    def __init__(self) -> None:
        self._step = asyncio.Lock()

    async def next(self) -> None:
        """Return in a round in which no other answer takes a step, in the order of asking."""
        await self._step.acquire()
        asyncio.get_running_loop().call_soon(self._step.release)
