"""Opening the database: made whole, kept, refused when it is not ours to read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.engine import Connection

from bythebook.database.engine import open_database
from bythebook.database.tables import metadata
from bythebook.errors import ConfigurationError, StoreError


def address(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder / 'books' / 'test.db'}"


async def test_the_migrations_make_the_tables(tmp_path: Path) -> None:
    def differences(connection: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    engine = await open_database(address(tmp_path))
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


async def test_two_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    engines = await asyncio.gather(*(open_database(address(tmp_path)) for _ in range(4)))
    for engine in engines:
        await engine.dispose()


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    engine = await open_database(address(tmp_path))
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await engine.dispose()
    with pytest.raises(StoreError, match="newer bythebook"):
        await open_database(address(tmp_path))


async def test_garbage_is_told(tmp_path: Path) -> None:
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "test.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="can't be opened"):
        await open_database(address(tmp_path))
    with pytest.raises(ConfigurationError, match="DATABASE_URL"):
        await open_database("what is this")
