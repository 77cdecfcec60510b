"""A database that fails while it is used: told as such, and used again when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database import engine as module
from bythebook.database.engine import (
    Database,
    look_up,
    make_engine,
    open_database,
    reader_of,
    reading,
    transaction,
)
from bythebook.database.tables import deliveries
from bythebook.errors import StoreError
from bythebook.ingestion.catalog import KnownBooks
from bythebook.models.values import new_id
from bythebook.threads import Threads
from postgres_server import PASSWORD, new_database, postgres_server

ADD = "INSERT INTO webhook_deliveries (digest, received_at) VALUES ('x', CURRENT_TIMESTAMP)"
COUNT = "SELECT count(*) FROM webhook_deliveries"
END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


@pytest.fixture
async def on_postgres(postgres_url: str) -> AsyncIterator[AsyncEngine]:
    async with new_database(postgres_url) as url:
        opened = await open_database(url)
        yield opened
        await opened.dispose()


async def count(engine: AsyncEngine) -> int:
    async with reading(engine) as connection:
        return int((await connection.execute(text(COUNT))).scalar_one())


async def test_all_of_it_is_kept_or_nothing(engine: AsyncEngine) -> None:
    with pytest.raises(RuntimeError):
        async with transaction(engine) as connection:
            await connection.execute(text(ADD))
            raise RuntimeError
    assert await count(engine) == 0
    async with transaction(engine) as connection:
        await connection.execute(text(ADD))
    assert await count(engine) == 1


async def test_what_is_looked_up_is_what_was_written_last(engine: AsyncEngine) -> None:
    digests = select(deliveries.c.digest)
    assert await look_up(engine, digests) == []
    async with transaction(engine) as connection:
        await connection.execute(text(ADD))
        assert await look_up(engine, digests) == []
    assert await look_up(engine, digests) == [{"digest": "x"}]


async def test_a_database_that_is_held_is_waited_for(tmp_path: Path) -> None:
    engine = await open_database(f"sqlite:///{tmp_path / 'held.db'}")
    held: list[str] = []

    def hold(*_: object) -> None:
        held.append("held")
        raise OperationalError("", None, Exception("database is locked"))

    async with transaction(engine) as connection:
        await connection.execute(text(ADD))
    event.listen(reader_of(engine), "before_cursor_execute", hold)
    assert await look_up(engine, select(deliveries.c.digest)) == [{"digest": "x"}]
    assert held == ["held"]
    await engine.dispose()


async def test_what_reads_at_once_is_closed_with_the_rest(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'closed.db'}"
    await (await open_database(url)).dispose()
    engine = make_engine(url)
    opened: list[object] = []
    closed: list[object] = []
    event.listen(reader_of(engine), "connect", lambda connection, _: opened.append(connection))
    event.listen(reader_of(engine), "close", lambda connection, _: closed.append(connection))
    await look_up(engine, select(deliveries.c.digest))
    await engine.dispose()
    assert opened == closed and len(opened) == 1


async def test_a_mistake_of_ours_is_no_failure_of_the_database(engine: AsyncEngine) -> None:
    with pytest.raises(IntegrityError):
        async with transaction(engine) as connection:
            await connection.execute(text(ADD))
            await connection.execute(text(ADD))
    if engine.dialect.name == "postgresql":
        with pytest.raises(ProgrammingError):
            async with reading(engine) as connection:
                await connection.execute(text("SELECT * FROM nowhere"))


async def test_a_hundred_at_once_wait_their_turn(engine: AsyncEngine) -> None:
    assert await asyncio.gather(*(count(engine) for _ in range(100))) == [0] * 100


async def test_connections_that_were_ended_are_replaced(on_postgres: AsyncEngine) -> None:
    assert await asyncio.gather(*(count(on_postgres) for _ in range(5))) == [0] * 5
    async with on_postgres.connect() as connection:
        mine = f"{END_ALL} AND datname = current_database()"
        await connection.execute(text(mine))
    assert await asyncio.gather(*(count(on_postgres) for _ in range(5))) == [0] * 5


async def test_a_connection_that_ends_in_use_is_told(on_postgres: AsyncEngine) -> None:
    with pytest.raises(StoreError, match="The postgresql database can't be used"):
        async with transaction(on_postgres) as connection:
            await connection.execute(text(ADD))
            await connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert await count(on_postgres) == 0


async def test_a_database_that_hangs_is_told(
    on_postgres: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    with pytest.raises(StoreError, match="does not answer"):
        async with reading(on_postgres) as connection:
            await connection.execute(text("SELECT pg_sleep(600)"))
    monkeypatch.undo()
    assert await count(on_postgres) == 0


async def test_a_server_that_is_down_is_told(tmp_path: Path) -> None:
    """A server of its own, because it is stopped."""
    with postgres_server(tmp_path / "postgres") as url:
        database = await Database.open(url)
        engine = database.engine
        assert await count(engine) == 0
    for use in (Threads(engine).load(new_id()), Threads(engine).delete(new_id()), count(engine)):
        with pytest.raises(StoreError, match="can't be used") as caught:
            await use
        assert caught.value.http_status == 503 and PASSWORD not in str(caught.value)
    with pytest.raises(StoreError):
        await KnownBooks(database).all()
    await engine.dispose()


async def test_a_sqlite_file_that_breaks_is_told(tmp_path: Path) -> None:
    engine = await open_database(f"sqlite:///{tmp_path / 'test.db'}")
    await engine.dispose()
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    (tmp_path / "test.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError, match="The sqlite database can't be used"):
        await Threads(engine).load(new_id())
    await engine.dispose()
