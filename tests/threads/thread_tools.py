"""Turns for the tests of threads, and all that a database holds of one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Table, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import archived_messages, archived_threads, threads
from bythebook.models.chunk import now
from bythebook.models.conversation import Turn
from bythebook.threads import Threads


def turn(name: object, asked: datetime | None = None, answered: datetime | None = None) -> Turn:
    asked = asked or now()
    return Turn(
        f"Question {name}?",
        f"Answer {name}. [1]",
        sources=(f"Page {name} › Section",),
        confidence=0.9,
        asked_at=asked,
        answered_at=answered or asked,
    )


async def start(threads: Threads, thread_id: str, turns: int = 1) -> None:
    for number in range(turns):
        is_new = number == 0
        assert await threads.append(thread_id, turn(number), metadata={"by": "me"}, is_new=is_new)


async def stored(engine: AsyncEngine, thread_id: str) -> list[dict[str, Any]]:
    """Every message of a thread, oldest first, wherever it is; it is in one place only."""
    old = select(archived_messages).where(archived_messages.c.thread_id == thread_id)
    async with engine.connect() as connection:
        moved = (await connection.execute(old.order_by(archived_messages.c.position))).all()
        assert [row.position for row in moved] == [*range(len(moved))]
        live = [
            row.messages
            for table in (threads, archived_threads)
            for row in await connection.execute(
                select(table.c.messages).where(table.c.thread_id == thread_id)
            )
        ]
    assert len(live) == 1
    return [row.message for row in moved] + list(live[0])


def names(messages: list[dict[str, Any]]) -> list[str]:
    """What the turns were called: each question is followed by its own answer."""
    found = []
    for question, answer in zip(messages[::2], messages[1::2], strict=True):
        assert (question["role"], answer["role"]) == ("user", "assistant")
        name = question["content"].removeprefix("Question ").removesuffix("?")
        assert answer["content"] == f"Answer {name}. [1]"
        found.append(name)
    times = [datetime.fromisoformat(message["timestamp"]) for message in messages]
    assert times == sorted(times)
    return found


async def rows_left(engine: AsyncEngine) -> list[int]:
    """How many rows the tables of threads have: live, archived, archived messages."""

    async def count(table: Table) -> int:
        async with engine.connect() as connection:
            found = await connection.execute(select(func.count()).select_from(table))
            return found.scalar_one()

    return [await count(table) for table in (threads, archived_threads, archived_messages)]
