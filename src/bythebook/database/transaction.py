"""Using the database: what goes wrong with it is told as a StoreError."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import JSON, Engine, Executable, bindparam, create_engine, event, text
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.types import TypeEngine

from bythebook.database.tables import UtcDateTime
from bythebook.errors import StoreError

# Seconds for a connection and all that is done with it: nobody waits for a database that hangs.
PATIENCE = 60

_readers: WeakKeyDictionary[AsyncEngine, Engine] = WeakKeyDictionary()

# Of each engine, and of each event loop that uses it.
_writers: WeakKeyDictionary[
    AsyncEngine, WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
] = WeakKeyDictionary()


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection to change things: all of it is kept, or nothing. On SQLite the first statement
    must be one that writes; after a read, somebody else's change makes writing impossible."""
    async with told(engine), _one_writer(engine), engine.begin() as connection:
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
    async with told(engine), engine.connect() as connection:
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


async def look_up(engine: AsyncEngine, query: Executable) -> list[dict[str, Any]]:
    """The few rows that an index leads to. SQLite has them sooner than a thread that could be asked
    for them, so they are read here and now, unless the database is held by somebody."""
    at_once = reader_of(engine)
    if at_once is not None:
        with suppress(SQLAlchemyError, OSError), at_once.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]
    async with reading(engine) as patient:
        return [dict(row) for row in (await patient.execute(query)).mappings()]


async def execute(
    connection: AsyncConnection, query: str, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What a statement in SQL returns."""
    typed = [bindparam(name, value, _type_of(value)) for name, value in values.items()]
    result = await connection.execute(text(query).bindparams(*typed))
    return [dict(row) for row in result.mappings()] if result.returns_rows else []


def _type_of(value: Any) -> TypeEngine[Any] | None:
    """Of a value that would not be stored as the tables want it; None leaves it to SQLAlchemy."""
    if isinstance(value, datetime):
        return UtcDateTime()
    return JSON() if isinstance(value, list | dict) else None


@asynccontextmanager
async def told(engine: AsyncEngine) -> AsyncIterator[None]:
    """What goes wrong inside is told as a StoreError; nothing inside may take long."""
    try:
        async with asyncio.timeout(PATIENCE):
            yield
    except Exception as problem:
        if not is_failure(engine, problem):
            raise
        raise StoreError(
            f"The {engine.dialect.name} database can't be used: {reason(problem)}.",
            action="Try again in a moment; `bythebook doctor` tells more.",
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


def reason(problem: BaseException) -> str:
    """What the driver said, in one line and without the address."""
    lines = str(getattr(problem, "orig", None) or problem).splitlines()
    return lines[0].rstrip(".") if lines else "it does not answer"
