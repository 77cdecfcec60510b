"""Locks of books in PostgreSQL, seen by every process on the same database, whatever its home."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.tables import jobs, plans
from bythebook.database.transaction import reading, told
from bythebook.errors import StoreError
from bythebook.ingestion.lock import ATTEMPTS, PAUSE, being_written

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
        connection = self.engine.connect()
        async with told(self.engine):
            await connection.start()
        try:
            async with told(self.engine):
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                await _acquire(connection, book_id, shared)
            async with _while_connected(connection):
                yield
        finally:
            await asyncio.shield(_let_go(connection))

    async def is_writing(self, book_id: str) -> bool:
        try:
            async with reading(self.engine) as connection:
                await _acquire(connection, book_id, shared=False, kind="xact_", attempts=1)
        except _Taken:
            return True
        return await self.is_planned(book_id)

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


class _Taken(Exception):
    """Somebody else has the lock."""


async def _acquire(
    connection: AsyncConnection,
    book_id: str,
    shared: bool,
    kind: str = "",
    attempts: int = ATTEMPTS,
) -> None:
    function = f"pg_try_advisory_{kind}lock" + ("_shared" if shared else "")
    for attempt in range(1, attempts + 1):
        found = await connection.execute(text(f"SELECT {function}(:key)"), {"key": _key(book_id)})
        if found.scalar_one():
            return
        if attempt < attempts:
            await asyncio.sleep(PAUSE)
    if kind:
        raise _Taken
    raise being_written(book_id)


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
