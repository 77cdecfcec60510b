"""Work in processes of their own, out of the way of whoever is asking.

Threads of the same process would hold Python's lock between them and the questions; threads with a
low priority even more so, since one that the system lets wait may be holding it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from bythebook.errors import Overloaded

# The last place in the system's scheduling.
LAST = 19
ATTEMPTS = 2

T = TypeVar("T")


class Processes:
    """Processes that begin with the first work and are replaced when they die. There is one less
    of them than `threads`, or than cores if that is 0."""

    def __init__(self, threads: int = 0) -> None:
        self._count = max(1, (threads or os.cpu_count() or 1) - 1)
        self._pool = self._begin()

    async def run(self, work: Callable[..., T], *args: object, attempts: int = ATTEMPTS) -> T:
        """What `work` returns there. All that waits there has to begin again when one of them
        dies, be it for other work than its own: what is to survive that needs more attempts."""
        loop = asyncio.get_running_loop()
        for _ in range(attempts):
            pool = self._pool
            try:
                return await loop.run_in_executor(pool, work, *args)
            except BrokenProcessPool:
                if self._pool is pool:
                    self._pool = self._begin()
        raise Overloaded(
            f"A process that reads and embeds in the background died {attempts} times.",
            action="Give the machine more memory, or leave out the file that makes it crash.",
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def _begin(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._count, mp_context=spawn, initializer=_stay_behind)


def _stay_behind() -> None:
    with suppress(OSError, AttributeError):  # a system that has no priorities is no reason to fail
        os.nice(LAST)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't tell its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
