"""Reading and changing a database; what goes wrong is a StoreError."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Executable, create_engine, event
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.exc import (
    TimeoutError as PoolTimeout,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.errors import StoreError
from bythebook.files import disk_full, is_full

Rows = list[dict[str, Any]]
T = TypeVar("T")
# What is raised where a row is none that we write.
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError)

# Seconds for a connection and all that is done with it: nobody waits for a database that hangs.
TIMEOUT = 60
# Bytes of the file that SQLite maps beside a database.
MAPPED = 32_768
POSTGRES_FULL = "53100"

log = logging.getLogger(__name__)

_readers: WeakKeyDictionary[AsyncEngine, Engine] = WeakKeyDictionary()

# Of each engine, and of each event loop that uses it.
_writers: WeakKeyDictionary[
    AsyncEngine, WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
] = WeakKeyDictionary()


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection to change things: all of it is kept, or nothing. On SQLite the first statement
    must be one that writes; after a read, somebody else's change makes writing impossible."""
    async with store_errors(engine), _one_writer(engine), engine.begin() as connection:
        yield connection


def _one_writer(engine: AsyncEngine) -> AbstractAsyncContextManager[None]:
    """SQLite takes one writer at a time and lets the others try again and again; here they queue.
    Other processes are still left to SQLite."""
    if engine.dialect.name != "sqlite":
        return nullcontext()
    loop = asyncio.get_running_loop()
    return _writers.setdefault(engine, WeakKeyDictionary()).setdefault(loop, asyncio.Lock())


@asynccontextmanager
async def reading(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection to read with."""
    async with store_errors(engine), engine.connect() as connection:
        yield connection


def reader_of(engine: AsyncEngine) -> Engine | None:
    """For an engine on a file of SQLite, another that reads without waiting for anybody."""
    if engine.dialect.name != "sqlite" or not engine.url.database:
        return None
    if engine not in _readers:
        reader = create_engine(
            engine.url.set(drivername="sqlite"),
            connect_args={"timeout": 0},
            isolation_level="AUTOCOMMIT",
        )
        _readers[engine] = reader
        event.listen(engine.sync_engine, "engine_disposed", lambda _engine: reader.dispose())
    return _readers[engine]


async def look_up(
    engine: AsyncEngine, query: Executable, values: Mapping[str, Any] | None = None
) -> Rows:
    """The few rows that an index leads to. SQLite reads them faster than a thread starts, so they
    are read in this one, unless the database is locked."""
    reader = reader_of(engine)
    if reader is not None:
        with suppress(SQLAlchemyError, OSError), reader.connect() as connection:
            return [dict(row) for row in connection.execute(query, values).mappings()]
    async with reading(engine) as waiting:
        return [dict(row) for row in (await waiting.execute(query, values)).mappings()]


def readable(what: str, rows: Iterable[dict[str, Any]], read: Callable[[Any], T]) -> list[T]:
    """Rows as what they stand for. One that can't be read, since somebody else wrote it, is left
    out and takes no other with it."""
    found: list[T] = []
    for row in rows:
        name = next(iter(row.values()))
        try:
            found.append(read(row))
        except UNREADABLE as problem:
            log.warning("The %s %s can't be read (%s)", what, name, type(problem).__name__)
    return found


@asynccontextmanager
async def store_errors(engine: AsyncEngine) -> AsyncIterator[None]:
    """Raise what goes wrong inside as a StoreError; nothing inside may take long."""
    try:
        async with asyncio.timeout(TIMEOUT):
            yield
    except Exception as problem:
        if not is_failure(engine, problem):
            raise
        if has_no_room(engine, problem):
            raise disk_full(f"the {engine.dialect.name} database") from problem
        raise StoreError(
            f"The {engine.dialect.name} database can't be used: {reason(problem)}.",
            action="Try again in a moment; `bythebook doctor` shows details.",
        ) from problem


def is_failure(engine: AsyncEngine, problem: Exception) -> bool:
    """Whether it is the database that failed, and not what was asked of it."""
    if isinstance(problem, SQLAlchemyError):
        mistakes = (IntegrityError, ProgrammingError, DataError, NotSupportedError)
        return isinstance(problem, (DBAPIError, PoolTimeout)) and not isinstance(problem, mistakes)
    if isinstance(problem, OSError):
        return True
    # What happens while connecting reaches us without SQLAlchemy's wrapping.
    driver = getattr(engine.dialect.loaded_dbapi, "asyncpg", None)
    return driver is not None and isinstance(problem, (driver.PostgresError, driver.InterfaceError))


def has_no_room(engine: AsyncEngine, problem: Exception) -> bool:
    """Whether the database failed because its disk is full."""
    original = getattr(problem, "orig", None) or problem
    code = getattr(original, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and engine.url.database:
        # Of the file that it maps, SQLite does not say why it can't be made.
        return shutil.disk_usage(Path(engine.url.database).parent).free < MAPPED
    if code == sqlite3.SQLITE_FULL or is_full(original):
        return True
    return getattr(original, "sqlstate", None) == POSTGRES_FULL


def reason(problem: BaseException) -> str:
    """What the driver said, in one line and without the address."""
    lines = str(getattr(problem, "orig", None) or problem).splitlines()
    return lines[0].rstrip(".") if lines else "it does not answer"
