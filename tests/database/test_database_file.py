"""A database that is a file is looked into by itself; whatever is in the way, the engine tells."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bythebook.database.database import Database
from bythebook.database.database_file import file_of
from bythebook.errors import StoreError

VERSION = "SELECT version_num FROM alembic_version WHERE version_num <> :other"
ASK = """
import asyncio, sys
from bythebook import Assistant, Library

async def ask():
    async with await Library.open() as library, Assistant(library) as assistant:
        return await assistant.ask("What is a drone?")

print(asyncio.run(ask()).text)
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


async def test_a_file_that_breaks_is_told(tmp_path: Path) -> None:
    database = await opened(tmp_path / "test.db")
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    (tmp_path / "test.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError, match="can't be used"):
        await database.look_up(VERSION, other="")
    await database.close()


def test_an_answer_needs_no_sqlalchemy(
    ingested_sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shutil.copytree(ingested_sample, tmp_path / "home")
    monkeypatch.setenv("BYTHEBOOK_HOME", str(home))
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
