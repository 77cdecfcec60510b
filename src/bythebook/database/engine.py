"""The database of DATABASE_URL: opened and brought up to date, read and changed. What goes wrong is
a StoreError."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Executable, create_engine, event, inspect, text
from sqlalchemy.engine import URL, Connection, ExceptionContext, make_url
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
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bythebook.errors import ConfigurationError, StoreError
from bythebook.files import disk_full, is_full

Rows = list[dict[str, Any]]
T = TypeVar("T")
# What is raised where a row is none that we write.
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError)

log = logging.getLogger(__name__)

# The newest migration.
REVISION = "0011"
# WAL lets readers go on beside a writer; NORMAL survives a killed process.
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")
DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
EXAMPLES = "Give one such as postgresql://user:password@host/name or sqlite:///path."
# Parameters of a PostgreSQL address that have another name in our driver.
RENAMED = {"sslmode": "ssl"}
PARAMETERS = {"host", "port", "ssl", "target_session_attrs", "passfile"}


def database_address(url: str) -> URL:
    """An address with the driver we use."""
    try:
        address = make_url(url)
    except (SQLAlchemyError, ValueError) as problem:
        raise ConfigurationError(
            "DATABASE_URL is not a database address.", action=EXAMPLES
        ) from problem
    backend = address.drivername.partition("+")[0]
    if backend not in DRIVERS:
        raise ConfigurationError(
            f"DATABASE_URL names {backend!r}, which can't be used here.", action=EXAMPLES
        )
    address = address.set(drivername=DRIVERS[backend])
    return _for_asyncpg(address) if address.get_backend_name() == "postgresql" else address


def _for_asyncpg(address: URL) -> URL:
    query = {RENAMED.get(name, name): value for name, value in address.query.items()}
    unknown = sorted(query.keys() - PARAMETERS)
    if unknown:
        raise ConfigurationError(
            f"DATABASE_URL has parameters that can't be used here: {', '.join(unknown)}.",
            action=f"Leave them out; known are {', '.join(sorted(PARAMETERS))}.",
        )
    return address.set(query=query)


VERSION = text("SELECT version_num FROM alembic_version")
MIGRATIONS = Path(__file__).parent / "migrations"
# Any number that no other program on the same PostgreSQL database is likely to lock.
MIGRATION_LOCK = 0x6279746865626F6B
# Requests beyond these wait; a PostgreSQL server has 100 connections unless told otherwise, and
# several services may share it.
CONNECTIONS = 20
SECONDS_TO_CONNECT = 10


class Database:
    """An open database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @classmethod
    async def open(cls, url: str) -> Self:
        """Brought up to date; a newer database is refused."""
        return cls(await open_database(url))

    @property
    def is_shared(self) -> bool:
        """Whether it is on a server, for others to use as well."""
        return self.engine.dialect.name == "postgresql"

    async def look_up(self, query: Executable, **values: Any) -> Rows:
        """The few rows that an index leads to."""
        return await look_up(self.engine, query, values)

    async def change(self, query: Executable, **values: Any) -> Rows:
        """What one statement that writes returns."""
        async with transaction(self.engine) as connection:
            result = await connection.execute(query, values)
            return [dict(row) for row in result.mappings()] if result.returns_rows else []

    async def close(self) -> None:
        await self.engine.dispose()


async def open_database(url: str) -> AsyncEngine:
    """An engine on a database with today's tables; a newer database is refused."""
    engine = make_engine(url)
    address = engine.url
    file = address.database if address.get_backend_name() == "sqlite" else None
    if file and await _is_up_to_date(engine):
        return engine
    from filelock import AsyncFileLock  # slow to import, and needed only here

    # Several may open a new database at once: the first makes it, the others wait.
    lock = AsyncFileLock(f"{file}.lock", timeout=60) if file else nullcontext()
    try:
        async with lock, engine.begin() as connection:
            if await connection.run_sync(_revision) != REVISION:
                await _bring_up_to_date(connection)
    except Exception as problem:
        await engine.dispose()
        if not isinstance(problem, SQLAlchemyError) and not is_failure(engine, problem):
            raise
        if has_no_room(engine, problem):
            raise disk_full("the database") from problem
        shown = address.render_as_string(hide_password=True)
        raise StoreError(
            f"The database {shown} can't be opened: {reason(problem)}.",
            action="Check that it exists, is not damaged and may be written to.",
        ) from problem
    except BaseException:
        await engine.dispose()
        raise
    return engine


async def _is_up_to_date(engine: AsyncEngine) -> bool:
    """Where in doubt, it is not."""
    with suppress(SQLAlchemyError, StoreError):
        return await look_up(engine, VERSION) == [{"version_num": REVISION}]
    return False


def make_engine(url: str) -> AsyncEngine:
    """For a database that is up to date."""
    address = database_address(url)
    if address.get_backend_name() == "postgresql":
        return create_async_engine(
            address,
            connect_args={"timeout": SECONDS_TO_CONNECT},
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=60,
            # A connection that the server has closed is replaced before anybody notices.
            pool_pre_ping=True,
        )
    if address.database and address.database != ":memory:":
        file = Path(address.database)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)  # it holds what readers asked
    engine = create_async_engine(address, connect_args={"timeout": 30})
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "handle_error", _drop_read_only)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _drop_read_only(context: ExceptionContext) -> None:
    """A connection that was made while the file could only be read never writes, so that it must
    not stay once the disk can be written to again."""
    original = context.original_exception
    if getattr(original, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(VERSION).scalar()
    return str(found) if found else None


async def _bring_up_to_date(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":
        lock = text("SELECT pg_advisory_xact_lock(:number)")
        await connection.execute(lock, {"number": MIGRATION_LOCK})
    else:
        # Python begins a transaction on SQLite only before it changes rows; without this one a
        # process that is killed would leave half of the tables.
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    await connection.run_sync(_migrate)


def _migrate(connection: Connection) -> None:
    """All that is missing; nothing where somebody else has just done it."""
    from alembic import command  # slow to import, and needed only after an upgrade
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    revision = _revision(connection)
    if revision is not None and revision not in {script.revision for script in scripts}:
        raise StoreError(
            "The database was made by a newer bythebook.",
            action="Upgrade this one (`pip install --upgrade bythebook`), or use another database "
            "(BYTHEBOOK_HOME or DATABASE_URL).",
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


# Seconds for a connection and all that is done with it: nobody waits for a database that hangs.
TIMEOUT = 60
# Bytes of the file that SQLite maps beside a database.
MAPPED = 32_768
POSTGRES_FULL = "53100"

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
