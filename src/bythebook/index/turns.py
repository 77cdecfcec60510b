"""Who may use the embedded engine now: one at a time, in one process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from bythebook.errors import StoreError

T = TypeVar("T")


class Turns:
    """What may take long has a thread of its own, where it runs to its end even when the coroutine
    that waits for it is cancelled."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._process = 0

    async def hand_over(self, work: Callable[[], T]) -> T:
        """Do it in the thread, after what was handed over before."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="bythebook-index")
            self._process = os.getpid()
        self._check_process()

        def in_turn() -> T:
            with self._turn:
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, in_turn)

    async def take(self, glance: Callable[[], T]) -> T:
        """Do something short on the spot, unless the thread has its turn.

        The engine holds the interpreter's lock, so that nothing else could go on meanwhile, and
        with two threads competing for that lock it would take twice as long.
        """
        self._check_process()
        if not self._turn.acquire(blocking=False):
            context = copy_context()
            return await self.hand_over(lambda: context.run(glance))
        try:
            return glance()
        finally:
            self._turn.release()

    async def end(self, work: Callable[[], None]) -> None:
        """Do a last thing, if anything was ever done, and let the thread go."""
        if self._thread is not None:
            await self.hand_over(work)
            self._thread.shutdown(wait=False)
            self._thread = None

    def _check_process(self) -> None:
        if self._thread is not None and self._process != os.getpid():
            raise StoreError(
                "The index was opened before this process was forked off.",
                action="Open it in the process that uses it; the embedded index serves only one.",
            )
