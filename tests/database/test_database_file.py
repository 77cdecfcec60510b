"""A database that is a file is looked into by itself; whatever is in the way, the engine tells."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from bythebook.database.database import Database
from bythebook.database.database_file import as_told, file_of
from bythebook.errors import StoreError
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.reading.source import SETTLED_NS
from bythebook.settings import Settings

ADD = """
INSERT INTO jobs (
    book_id, mode, status, started_at, warnings, files_processed, files_skipped, files_failed,
    files_deleted, total_files, files_to_process, chunks_created, chunks_deleted, chunks_embedded
) VALUES ('a', 'full', 'queued', :now, :warnings, 0, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING status
"""
VERSION = "SELECT version_num FROM alembic_version WHERE version_num <> :other"
ASK = """
import asyncio, sys
from bythebook import Assistant, Library

async def ask():
    async with await Library.open() as library, Assistant(library) as assistant:
        return await assistant.ask("What is a node?")

print(asyncio.run(ask()).text)
assert "sqlalchemy" not in sys.modules
"""
INGEST = """
import asyncio, sys
from bythebook import Library

async def ingest():
    async with await Library.open() as library:
        return await library.ingest(sys.argv[1])

print(asyncio.run(ingest()).files_skipped)
assert "sqlalchemy" not in sys.modules
"""


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///books.db", "books.db"),
        ("sqlite+aiosqlite:////data/100% #1.db", "/data/100% #1.db"),
        ("sqlite:///books.db?timeout=3", None),
        ("sqlite:///:memory:", None),
        ("sqlite://", None),
        ("postgresql://user:password@host/name", None),
    ],
)
def test_which_file(url: str, file: str | None) -> None:
    assert file_of(url) == (Path(file) if file else None)


async def opened(file: Path) -> Database:
    """One that is up to date, and has no engine yet."""
    url = f"sqlite:///{file}"
    await (await Database.open(url)).close()
    database = await Database.open(url)
    assert "engine" not in vars(database)
    return database


async def test_values_are_never_part_of_a_query(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    assert len(await database.look_up(VERSION, other="' OR ''='")) == 1
    assert "engine" not in vars(database)
    await database.close()


async def test_a_file_that_is_held_is_waited_for(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
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
        waiting = asyncio.create_task(database.change(ADD, now=now(), warnings=["one"]))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        holder.execute("COMMIT")
        assert await waiting == [{"status": "queued"}]
        assert holder.execute("SELECT count(*) FROM jobs").fetchall() == [(1,)]
    await database.close()


async def test_both_ways_store_the_same(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    values = {
        "now": datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=5))),
        "warnings": ["ä"],
    }
    await database.change(ADD, **values)
    assert "engine" not in vars(database)
    assert database.engine
    await database.change(ADD, **values)
    one, other = await database.look_up("SELECT * FROM jobs")
    assert {**one, "job_id": 2} == other
    assert one["started_at"] == "2026-01-01 22:04:00.000000" and one["warnings"] == '["\\u00e4"]'
    told = as_told(one, ("started_at", "completed_at"), ("warnings",))
    assert told["started_at"] == values["now"] and told["warnings"] == ["ä"]
    await database.close()


async def test_a_file_that_breaks_is_told(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    (tmp_path / "test.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError, match="can't be used"):
        await database.look_up(VERSION, other="")
    with pytest.raises(StoreError, match="can't be used"):
        await database.change(ADD, now=now(), warnings=[])
    await database.close()


async def test_neither_an_answer_nor_an_ingest_with_nothing_to_do_needs_sqlalchemy(
    write_book: WriteBook, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOME", str(home))
    root = write_book(small_book())
    await asyncio.sleep(SETTLED_NS / 1e9)
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(root)
    for program in (ASK, INGEST):
        command = [sys.executable, "-c", program, str(root)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
