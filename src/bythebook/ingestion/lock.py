"""One writer per book: a lock that its process can't leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from bythebook.errors import BusyError, StoreError

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

    def _take(self, book_id: str) -> FileLock:
        """The lock, taken; raises Timeout where somebody else has it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / f"{book_id}.lock")
            lock.acquire(blocking=False)
        except Timeout:
            raise
        except OSError as problem:
            raise StoreError(
                f"The lock of {book_id} can't be taken: {problem.strerror or problem}.",
                action="Check that the data folder (BYTHEBOOK_HOME) can be written to.",
            ) from problem
        return lock

    @asynccontextmanager
    async def writing(self, book_id: str) -> AsyncIterator[None]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                lock = self._take(book_id)
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
        try:
            self._take(book_id).release()
        except Timeout:
            return True
        return False


def being_written(book_id: str) -> BusyError:
    return BusyError(
        f"Another ingest of {book_id} is running.",
        action="Wait until it ends; `bythebook jobs` shows how far it is.",
        details={"book_id": book_id},
    )
