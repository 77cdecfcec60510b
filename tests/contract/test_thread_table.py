"""The table of conversations, on SQLite and PostgreSQL, and what the service writes to it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import inspect, select, text, update
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from booktext import CANARIES, WriteBook
from bythebook.database.engine import open_database
from bythebook.database.tables import threads
from bythebook.models.chunk import now
from server.running import running, until

QUESTION = "What is a canary?"
# Type on PostgreSQL, and whether it may be null.
COLUMNS = {
    "thread_id": ("UUID", False),
    "messages": ("JSONB", False),
    "created_at": ("TIMESTAMP", False),
    "updated_at": ("TIMESTAMP", False),
    "topic_summary": ("TEXT", True),
    "metadata": ("JSONB", True),
}


async def test_the_columns_of_the_table(engine: AsyncEngine) -> None:
    def look(connection: Connection) -> tuple[dict[str, Any], Any]:
        found = inspect(connection)
        columns = {column["name"]: column for column in found.get_columns("conversation_threads")}
        return columns, found.get_pk_constraint("conversation_threads")["constrained_columns"]

    async with engine.connect() as connection:
        columns, key = await connection.run_sync(look)
    assert key == ["thread_id"]
    assert {name: column["nullable"] for name, column in columns.items()} == {
        name: nullable for name, (_, nullable) in COLUMNS.items()
    }
    for name in ("created_at", "updated_at", "metadata"):
        assert columns[name]["default"], name
    if engine.dialect.name == "postgresql":
        assert {name: str(column["type"]) for name, column in columns.items()} == {
            name: kind for name, (kind, _) in COLUMNS.items()
        }
        assert columns["created_at"]["type"].timezone and columns["updated_at"]["type"].timezone


async def test_a_conversation_is_a_row_until_it_is_idle_or_deleted(
    tmp_path: Path, write_book: WriteBook, database_url: str
) -> None:
    """Written by one request and the next, archived when idle, brought back by use, deleted."""
    write_book({f"canary/{name}": content for name, content in CANARIES.items()})
    how: dict[str, Any] = {"database_url": database_url}
    watching = await open_database(database_url)

    async def rows(table: str) -> list[Any]:
        async with watching.connect() as connection:
            found = await connection.execute(text(f"SELECT * FROM {table}"))
            return list(found.mappings())

    async with running(tmp_path / "home", **how) as up:
        await up.service.library.ingest(tmp_path / "book" / "canary", book_id="canary")
        session = (await up.ask(QUESTION)).json()["session_id"]
        (first,) = await rows("conversation_threads")
        assert str(first["thread_id"]).replace("-", "") == session.replace("-", "")
        await up.ask(QUESTION, session_id=session)
        (row,) = await rows("conversation_threads")
        kept = row["messages"]
        kept = json.loads(kept) if isinstance(kept, str) else kept
        assert [message["role"] for message in kept] == ["user", "assistant"] * 2
        assert row["created_at"] == first["created_at"] < row["updated_at"]
        history = (await up.http.get(f"/session/{session}/history")).json()
    async with running(tmp_path / "home", **how, thread_idle_minutes=0.001) as up:

        async def archived() -> bool:
            return not await rows("conversation_threads")

        await until(archived)
        assert (await up.http.get(f"/session/{session}/history")).json() == history
    async with running(tmp_path / "home", **how) as up:
        await up.ask("hello", session_id=session)
        assert len(await rows("conversation_threads")) == 1
        resumed = (await up.http.get(f"/session/{session}/history")).json()
        assert resumed["messages"][:4] == history["messages"] and len(resumed["messages"]) == 6
        assert (await up.http.delete(f"/session/{session}")).status_code == 204
        assert await rows("conversation_threads") == []
        assert (await up.http.get(f"/session/{session}/history")).status_code == 404
    await watching.dispose()


async def test_a_conversation_rests_after_an_hour(
    tmp_path: Path, write_book: WriteBook, database_url: str
) -> None:
    """As the settings are where nothing was said of it."""
    write_book({f"canary/{name}": content for name, content in CANARIES.items()})
    how: dict[str, Any] = {"database_url": database_url}
    minutes = (58, 62)
    async with running(tmp_path / "home", **how) as up:
        await up.service.library.ingest(tmp_path / "book" / "canary", book_id="canary")
        sessions = [(await up.ask("hello")).json()["session_id"] for _ in minutes]
        async with up.service.library.engine.begin() as connection:
            for session, since in zip(sessions, minutes, strict=True):
                aged = update(threads).where(threads.c.thread_id == session)
                await connection.execute(aged.values(updated_at=now() - timedelta(minutes=since)))
    async with running(tmp_path / "home", **how) as up:

        async def left() -> list[str] | None:
            async with up.service.library.engine.connect() as connection:
                found = (await connection.execute(select(threads.c.thread_id))).scalars().all()
            return [str(each) for each in found] if len(found) < len(sessions) else None

        assert await until(left) == sessions[:1]
