"""How the answers to many readers share the one thread that serves them all."""

from __future__ import annotations

import asyncio


class Rounds:
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
