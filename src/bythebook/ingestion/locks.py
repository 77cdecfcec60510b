"""One writer per book: in this home, and in a PostgreSQL that several homes share."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import reading, store_errors
from bythebook.database.tables import jobs, plans
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

    def _take(self, book_id: str) -> FileLock | None:
        """The lock, taken; nothing where somebody else has it."""
        lock = FileLock(self.folder / f"{book_id}.lock")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            return None
        except OSError as problem:
            raise StoreError(
                f"The lock of {book_id} can't be taken: {problem.strerror or problem}.",
                action="Check that the data folder (BYTHEBOOK_HOME) can be written to.",
            ) from problem
        return lock

    @asynccontextmanager
    async def writing(self, book_id: str) -> AsyncIterator[None]:
        for _ in range(ATTEMPTS):
            if (lock := self._take(book_id)) is not None:
                break
            await asyncio.sleep(PAUSE)
        else:
            raise being_written(book_id)
        try:
            yield
        finally:
            lock.release()

    async def is_writing(self, book_id: str) -> bool:
        return await asyncio.to_thread(self._is_writing, book_id)

    def _is_writing(self, book_id: str) -> bool:
        lock = self._take(book_id)
        if lock is not None:
            lock.release()
        return lock is None


def being_written(book_id: str) -> BusyError:
    return BusyError(
        f"Another ingest of {book_id} is running.",
        action="Wait until it ends; `bythebook jobs` shows how far it is.",
        details={"book_id": book_id},
    )


# Seconds between looks at the connection that holds a lock: a lock ends with its connection.
WATCH = 10.0


class DatabaseLocks:
    """Advisory locks, which end with the connection of their process however it ends. Workers that
    share a job hold the book's lock together, and between two shares the job's plan holds it."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def writing(self, book_id: str) -> AsyncIterator[None]:
        async with self.held(book_id):
            if await self.is_planned(book_id):
                raise being_written(book_id)
            yield

    @asynccontextmanager
    async def held(self, book_id: str, *, shared: bool = False) -> AsyncIterator[None]:
        """The lock itself, alone or together with others who share it."""
        kind = "lock_shared" if shared else "lock"
        connection = self.engine.connect()
        async with store_errors(self.engine):
            await connection.start()
        try:
            async with store_errors(self.engine):
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                for _ in range(ATTEMPTS):
                    if await _try(connection, book_id, kind):
                        break
                    await asyncio.sleep(PAUSE)
                else:
                    raise being_written(book_id)
            async with _while_connected(connection):
                yield
        finally:
            await asyncio.shield(_let_go(connection))

    async def is_writing(self, book_id: str) -> bool:
        async with reading(self.engine) as connection:
            is_free = await _try(connection, book_id, "xact_lock")
        return not is_free or await self.is_planned(book_id)

    async def is_planned(self, book_id: str) -> bool:
        """Whether workers have a plan for it, which they keep alive as long as one of them is."""
        query = (
            select(plans.c.job_id)
            .join(jobs, jobs.c.job_id == plans.c.job_id)
            .where(
                plans.c.book_id == book_id,
                plans.c.held_until > func.now(),
                jobs.c.status == "running",
            )
        )
        async with reading(self.engine) as connection:
            return (await connection.execute(query)).first() is not None


async def _try(connection: AsyncConnection, book_id: str, kind: str) -> bool:
    """Whether the lock could be taken."""
    query = text(f"SELECT pg_try_advisory_{kind}(:key)")
    return bool((await connection.execute(query, {"key": _key(book_id)})).scalar_one())


def _key(book_id: str) -> int:
    """A number that no other program on the same database is likely to lock."""
    digest = hashlib.sha256(b"bythebook book " + book_id.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@asynccontextmanager
async def _while_connected(connection: AsyncConnection) -> AsyncIterator[None]:
    """Ends what is done inside when the connection, and the lock with it, is lost."""
    limit = asyncio.timeout(None)
    try:
        async with limit:
            watching = asyncio.create_task(_watch(connection, limit))
            try:
                yield
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
    except TimeoutError as problem:
        if not limit.expired():
            raise
        raise StoreError(
            "The connection to the database was lost, and the lock of the book with it.",
            action="Run the same command again; what was finished before is kept.",
        ) from problem


async def _watch(connection: AsyncConnection, limit: asyncio.Timeout) -> None:
    try:
        while True:
            await asyncio.sleep(WATCH)
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError):
        limit.reschedule(asyncio.get_running_loop().time())


async def _let_go(connection: AsyncConnection) -> None:
    try:
        await connection.execute(text("SELECT pg_advisory_unlock_all()"))
    except (SQLAlchemyError, OSError):
        await connection.invalidate()
    finally:
        await connection.close()
