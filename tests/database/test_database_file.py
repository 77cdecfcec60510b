"""A database in a file: values, files that others hold, damage."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from bythebook.database.engine import Database, make_engine
from bythebook.errors import StoreError
from bythebook.models.chunk import now

ADD = text("""
INSERT INTO jobs (
    book_id, mode, status, started_at, warnings, files_processed, files_skipped, files_failed,
    files_deleted, total_files, files_to_process, chunks_created, chunks_deleted, chunks_embedded
) VALUES ('a', 'full', 'queued', :now, '[]', 0, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING status
""")
VERSION = text("SELECT version_num FROM alembic_version WHERE version_num <> :other")


async def opened(file: Path) -> Database:
    return await Database.open(f"sqlite:///{file}")


async def test_values_are_never_part_of_a_query(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    assert len(await database.look_up(VERSION, other="' OR ''='")) == 1
    await database.close()


async def test_a_file_that_is_held_is_waited_for(tmp_path: Path) -> None:
    await (await opened(tmp_path / "test.db")).close()
    database = Database(make_engine(f"sqlite:///{tmp_path / 'test.db'}"))
    with closing(sqlite3.connect(tmp_path / "test.db")) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("CREATE TABLE held (by_whom TEXT)")
        waiting = asyncio.create_task(database.look_up(VERSION, other=""))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert len(await waiting) == 1
    await database.close()


async def test_a_file_that_somebody_writes_is_written_when_they_have_done(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(database.change(ADD, now=now()))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        holder.execute("COMMIT")
        assert await waiting == [{"status": "queued"}]
        assert holder.execute("SELECT count(*) FROM jobs").fetchall() == [(1,)]
    await database.close()


async def test_a_file_that_breaks_is_told(tmp_path: Path) -> None:
    await (await opened(tmp_path / "test.db")).close()
    database = Database(make_engine(f"sqlite:///{tmp_path / 'test.db'}"))
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    (tmp_path / "test.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError, match="can't be used"):
        await database.look_up(VERSION, other="")
    with pytest.raises(StoreError, match="can't be used"):
        await database.change(ADD, now=now())
    await database.close()
