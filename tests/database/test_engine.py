"""Opening the database: made whole, kept, refused when it is not ours to read."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from filelock import FileLock
from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from bythebook.database.engine import (
    MIGRATIONS,
    REVISION,
    Database,
    database_address,
    open_database,
)
from bythebook.database.tables import metadata
from bythebook.errors import ConfigurationError, StoreError
from bythebook.ingestion.jobs import Jobs
from extent import PATIENCE

pytestmark = pytest.mark.usefixtures("with_migrations")


async def test_the_migrations_make_the_tables(database_url: str) -> None:
    def differences(connection: Connection) -> list[Any]:
        how = {"compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=how), metadata))

    engine = await open_database(database_url)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


async def test_the_threads_are_indexed_newest_first(database_url: str) -> None:
    def index_sorting(connection: Connection) -> dict[str | None, Any]:
        found = inspect(connection).get_indexes("conversation_threads")
        return {index["name"]: index.get("column_sorting") for index in found}

    def index_definitions(connection: Connection) -> set[str]:
        query = "SELECT sql FROM sqlite_master WHERE tbl_name = 'conversation_threads'"
        rows = connection.execute(text(query)).scalars()
        return {row for row in rows if row and row.startswith("CREATE INDEX")}

    engine = await open_database(database_url)
    async with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            assert await connection.run_sync(index_sorting) == {
                "idx_threads_updated": {"updated_at": ("desc",)},
                "idx_threads_created": {"created_at": ("desc",)},
            }
        else:
            assert await connection.run_sync(index_definitions) == {
                "CREATE INDEX idx_threads_updated ON conversation_threads (updated_at DESC)",
                "CREATE INDEX idx_threads_created ON conversation_threads (created_at DESC)",
            }
    await engine.dispose()


async def test_several_may_open_a_new_database_at_once(database_url: str) -> None:
    engines = await asyncio.gather(*(open_database(database_url) for _ in range(6)))
    for engine in engines:
        async with engine.connect() as connection:
            found = await connection.execute(text("SELECT version_num FROM alembic_version"))
            assert found.scalars().all() == [REVISION]
        await engine.dispose()


async def test_who_finds_it_up_to_date_waits_for_nobody(tmp_path: Path) -> None:
    file = tmp_path / "library 100% #1.db"
    await (await open_database(f"sqlite:///{file}")).dispose()
    assert file.exists()
    with FileLock(f"{file}.lock"):
        async with asyncio.timeout(PATIENCE):
            engine = await open_database(f"sqlite:///{file}")
        async with engine.connect() as connection:
            assert not (await connection.execute(text("SELECT * FROM jobs"))).all()
        await engine.dispose()


@pytest.mark.parametrize("revision", [None, "0001", "0004"])
async def test_a_migration_that_breaks_off_leaves_nothing_behind(
    database_url: str, revision: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if revision:
        await _made_by(database_url, revision)
    upgrade = command.upgrade

    def broken_upgrade(config: Config, _head: str) -> None:
        upgrade(config, "head")
        raise ConnectionResetError("broken off")

    with monkeypatch.context() as patched:
        patched.setattr(command, "upgrade", broken_upgrade)
        with pytest.raises((StoreError, ConnectionResetError)):
            await open_database(database_url)
    engine = create_async_engine(database_address(database_url))
    async with engine.connect() as connection:
        tables = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    await engine.dispose()
    assert ("api_keys" in tables) == (revision == "0004") and ("books" in tables) == bool(revision)
    await (await open_database(database_url)).dispose()


async def test_rows_of_the_first_version_are_kept(database_url: str) -> None:
    await _made_by(database_url, "0001")
    database = await Database.open(database_url)
    (job,) = await Jobs(database).list()
    assert (job.job_id, job.book_id, job.status, job.source) == (7, "old-book", "failed", None)
    assert job.started_at == datetime(2025, 12, 17, 14, 20, tzinfo=UTC)
    assert job.warnings == ["one"]
    assert await database.look_up(text("SELECT title FROM books")) == [{"title": "Old"}]
    await database.close()


async def _made_by(url: str, revision: str) -> None:
    """A database as an earlier version left it, with a book and a job."""

    def upgrade(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    address = database_address(url)
    if address.get_backend_name() == "sqlite" and address.database:
        Path(address.database).parent.mkdir()
    at = datetime(2025, 12, 17, 14, 20, tzinfo=UTC)
    when = at if address.get_backend_name() == "postgresql" else "2025-12-17 14:20:00.000000"
    numbers = "files_processed, files_skipped, files_failed, files_deleted, total_files"
    more = "files_to_process, chunks_created, chunks_deleted, chunks_embedded"
    engine = create_async_engine(address)
    async with engine.begin() as connection:
        await connection.run_sync(upgrade)
        await connection.execute(
            text(
                "INSERT INTO books (book_id, title, language, base_url, source, collection_name,"
                " embedding_model, dimension, chunker_version)"
                " VALUES ('old-book', 'Old', 'en', '', 'x', 'c', 'm', 384, 1)"
            )
        )
        await connection.execute(
            text(
                f"INSERT INTO jobs (job_id, book_id, mode, status, {numbers}, {more}, started_at,"
                " completed_at, error_message, warnings)"
                " VALUES (7, 'old-book', 'full', 'failed', 0, 0, 0, 0, 0, 0, 0, 0, 0, :at, :at,"
                f" 'it broke', '{json.dumps(['one'])}')"
            ),
            {"at": when},
        )
    await engine.dispose()


async def test_a_newer_database_is_refused(database_url: str) -> None:
    engine = await open_database(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await engine.dispose()
    with pytest.raises(StoreError, match="newer bythebook"):
        await open_database(database_url)


async def test_garbage_is_told(tmp_path: Path) -> None:
    (tmp_path / "test.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="can't be opened"):
        await open_database(f"sqlite:///{tmp_path / 'test.db'}")


async def test_a_server_that_is_not_there_is_told_without_the_password(postgres_url: str) -> None:
    address = database_address(postgres_url)
    for wrong, told in (
        (address.set(port=1), "can't be opened"),
        (address.set(database="nowhere"), '"nowhere" does not exist'),
        (address.set(password="geheim"), "password authentication failed"),
    ):
        url = wrong.render_as_string(hide_password=False)
        with pytest.raises(StoreError, match=told) as caught:
            await open_database(url)
        assert str(wrong.password) not in str(caught.value) and "***" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgres://u:p@h:5433/d", "postgresql+asyncpg://u:p@h:5433/d"),
        ("postgresql://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql+asyncpg://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql+psycopg2://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgres://u@h/d?sslmode=require", "postgresql+asyncpg://u@h/d?ssl=require"),
        ("sqlite:////x/y.db", "sqlite+aiosqlite:////x/y.db"),
        ("sqlite+aiosqlite:////x/y.db", "sqlite+aiosqlite:////x/y.db"),
    ],
)
def test_addresses_as_people_write_them(url: str, meant: str) -> None:
    assert database_address(url).render_as_string(hide_password=False) == meant


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("what is this", "not a database address"),
        ("postgresql://u:geheim@host:port/d", "not a database address"),
        ("mysql://u:geheim@h/d", "'mysql'"),
        ("postgres://u:geheim@h/d?channel_binding=require", "channel_binding"),
        ("postgres://h/d?password=geheim", "parameters that can't be used here: password"),
    ],
)
async def test_other_addresses_are_refused(url: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        await open_database(url)
    assert "DATABASE_URL" in str(caught.value) and "geheim" not in str(caught.value)
