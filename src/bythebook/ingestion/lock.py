"""One writer per book: a lock that its process can't leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from bythebook.errors import BusyError

# `is_writing` may hold a lock for an instant.
ATTEMPTS = 10
PAUSE = 0.05


class BookLocks(Protocol):
    """Who may write a book. Where the locks are, all who share the books must see them."""

    def writing(self, book_id: str) -> AbstractAsyncContextManager[None]:
        """Nobody else writes the book meanwhile; BusyError if somebody does."""

    async def is_writing(self, book_id: str) -> bool:
        """Whether anybody writes the book."""


class FileLocks:
    """File locks of the operating system, which end with their process however it ends."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "locks"

    def _lock(self, book_id: str) -> FileLock:
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / f"{book_id}.lock")

    @asynccontextmanager
    async def writing(self, book_id: str) -> AsyncIterator[None]:
        lock = self._lock(book_id)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                lock.acquire(blocking=False)
                break
            except Timeout as problem:
                if attempt == ATTEMPTS:
                    raise being_written(book_id) from problem
            await asyncio.sleep(PAUSE)
        try:
            yield
        finally:
            lock.release()

    async def is_writing(self, book_id: str) -> bool:
        return await asyncio.to_thread(self._is_writing, book_id)

    def _is_writing(self, book_id: str) -> bool:
        lock = self._lock(book_id)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        return False


def being_written(book_id: str) -> BusyError:
    return BusyError(
        f"Another ingest of {book_id} is running.",
        action="Wait until it ends; `bythebook jobs` shows how far it is.",
        details={"book_id": book_id},
    )
