"""How this process uses the machine: threads, memory, and child processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bythebook.errors import Overloaded

if TYPE_CHECKING:
    from ctypes import CDLL

_DONT_NEED = 4  # MADV_DONTNEED
_MAPPINGS = Path("/proc/self/maps")
LOWEST_PRIORITY = 19
ATTEMPTS = 2

T = TypeVar("T")


def give_back_freed() -> None:
    """Return freed memory to the system. Opening an index or loading a model leaves much."""
    if (system := _system()) is not None:
        system.malloc_trim(0)


def give_back_pages(folder: Path) -> None:
    """Return the memory of files below `folder` that are mapped and shared with the disk's cache.
    Nothing is lost: what is needed is mapped again when it is used. Nobody may unmap one of these
    files meanwhile."""
    if (system := _system()) is None or not _MAPPINGS.exists():
        return
    below = f"{folder.resolve()}/"
    with _MAPPINGS.open(encoding="utf-8", errors="surrogateescape", newline="\n") as mappings:
        for line in mappings:
            extent, access, _offset, _device, _inode, *name = line.split(maxsplit=5)
            if name and name[0].startswith(below) and access.endswith("s"):
                start, end = (int(address, 16) for address in extent.split("-"))
                system.madvise(start, end - start, _DONT_NEED)


@cache
def _system() -> CDLL | None:
    """The C library, where it is the one that has these calls."""
    if sys.platform != "linux":
        return None
    import ctypes

    system = ctypes.CDLL(None)
    if not hasattr(system, "malloc_trim"):
        return None
    system.malloc_trim.argtypes = [ctypes.c_size_t]
    system.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return system


class Processes:
    """Background processes, started with the first work and replaced when they die: one less than
    `threads`, or than cores if that is 0."""

    def __init__(self, threads: int = 0) -> None:
        self._count = max(1, (threads or os.cpu_count() or 1) - 1)
        self._pool = self._start()

    async def run(self, work: Callable[..., T], *args: object, attempts: int = ATTEMPTS) -> T:
        """Run `work` in one of the processes. When one dies, all that waits begins again: work that
        must survive others' crashes needs more attempts."""
        loop = asyncio.get_running_loop()
        for _ in range(attempts):
            pool = self._pool
            try:
                return await loop.run_in_executor(pool, work, *args)
            except BrokenProcessPool:
                if self._pool is pool:
                    self._pool = self._start()
        raise Overloaded(
            f"A process that reads and embeds in the background died {attempts} times.",
            action="Give the machine more memory, or leave out the file that makes it crash.",
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def _start(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._count, mp_context=spawn, initializer=_run_in_background)


def _run_in_background() -> None:
    with suppress(OSError, AttributeError):  # a system that has no priorities is no reason to fail
        os.nice(LOWEST_PRIORITY)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't tell its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
