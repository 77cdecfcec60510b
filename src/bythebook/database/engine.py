"""Opening the database and bringing it up to date."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from filelock import AsyncFileLock
from sqlalchemy import event, inspect, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bythebook.database.tables import REVISION
from bythebook.errors import ConfigurationError, StoreError

MIGRATIONS = Path(__file__).parent / "migrations"


async def open_database(url: str) -> AsyncEngine:
    """An engine on a database with today's tables; a newer database is refused."""
    try:
        address = make_url(url)
    except SQLAlchemyError as problem:
        raise ConfigurationError(
            "DATABASE_URL is not a database address.",
            action="Give one such as sqlite+aiosqlite:///path or postgresql+asyncpg://host/name.",
        ) from problem
    sqlite = address.get_backend_name() == "sqlite"
    if sqlite and address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_async_engine(address, connect_args={"timeout": 30} if sqlite else {})
    if sqlite:
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    # Several may open a new database at once: the first makes it, the others wait.
    on_disk = sqlite and address.database
    lock = AsyncFileLock(f"{address.database}.lock", timeout=60) if on_disk else nullcontext()
    try:
        async with lock, engine.begin() as connection:
            if await connection.run_sync(_revision) != REVISION:
                await connection.run_sync(_migrate)
    except (SQLAlchemyError, OSError) as problem:
        await engine.dispose()
        shown = address.render_as_string(hide_password=True)
        raise StoreError(
            f"The database {shown} can't be opened: {_reason(problem)}.",
            action="Check that it exists, is not damaged and may be written to.",
        ) from problem
    except BaseException:
        await engine.dispose()
        raise
    return engine


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "orig", problem)).splitlines()[0].rstrip(".")


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # WAL lets readers go on beside a writer; NORMAL survives a killed process.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return str(found) if found else None


def _config() -> Any:
    from alembic.config import Config  # slow to import, and needed only after an upgrade

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    config = _config()
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    revision = _revision(connection)
    if revision is not None and revision not in {script.revision for script in scripts}:
        raise StoreError(
            "The database was made by a newer bythebook.",
            action="Upgrade bythebook, or point BYTHEBOOK_HOME at another folder.",
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
