"""One writer per book: a lock that its process can't leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from bythebook.errors import BusyError


class BookLocks:
    """File locks of the operating system, which end with their process however it ends."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "locks"

    def _lock(self, book_id: str) -> FileLock:
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / f"{book_id}.lock")

    @contextmanager
    def writing(self, book_id: str) -> Iterator[None]:
        lock = self._lock(book_id)
        try:
            lock.acquire(timeout=0.5)  # `is_writing` may hold it for an instant
        except Timeout as problem:
            raise BusyError(
                f"Another ingest of {book_id} is running.",
                action="Wait until it ends; `bythebook jobs` shows how far it is.",
            ) from problem
        try:
            yield
        finally:
            lock.release()

    def is_writing(self, book_id: str) -> bool:
        lock = self._lock(book_id)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        return False
