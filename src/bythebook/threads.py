"""Conversations in the database: added to, read, archived when idle, deleted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, delete, func, insert, literal, select, union_all, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import UNREADABLE, look_up, reading, transaction
from bythebook.database.tables import (
    archived_messages,
    archived_threads,
    asked_questions,
    storable,
    storable_json,
    threads,
)
from bythebook.errors import InputError, StoreError
from bythebook.models.chunk import now
from bythebook.models.conversation import MAX_LIVE_TURNS, Conversation, ConversationThread, Turn

Row = dict[str, Any]
# In a thread's metadata: the language model that wrote its summary.
SUMMARIZED_BY = "summarized_by"
FIELDS = ("thread_id", "messages", "created_at", "updated_at", "topic_summary", "metadata")


@dataclass(frozen=True)
class Thread:
    """A kept conversation. `metadata` is what its first turn brought along."""

    conversation: Conversation
    metadata: dict[str, Any]
    is_archived: bool


class StartedByAnother(Exception):
    """Somebody else began the thread meanwhile: with another key, or about another book."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        super().__init__("the thread was begun by somebody else")
        self.metadata = metadata


class Threads:
    """The threads of a database; any number of processes may use them at once."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def load(self, thread_id: str) -> Thread | None:
        """The conversation to go on with, live or archived."""
        row = await self._find(thread_id)
        if row is None:
            return None
        conversation = _conversation(row, row["archived_count"] // 2)
        return Thread(conversation, row["metadata"] or {}, row["is_archived"])

    async def view(self, thread_id: str) -> ConversationThread | None:
        """As clients see it."""
        row = await self._find(thread_id)
        return None if row is None else _view(row)

    async def append(
        self,
        thread_id: str,
        turn: Turn,
        *,
        metadata: dict[str, Any],
        is_new: bool,
        labels: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add a question with its answer. False when the conversation was not new and is gone:
        what was deleted meanwhile stays deleted. `metadata` says whose a new conversation is,
        `labels` what its reader said of it now. Raises StartedByAnother where a new one has other
        `metadata` by now: another process may have begun it while this one answered."""
        known = _canonical(thread_id)
        if known is None:
            raise InputError(
                f"{thread_id!r} can't name a conversation.", action="Give a UUID of version 4."
            )
        turn = replace(turn, question=storable(turn.question), answer=storable(turn.answer))
        async with transaction(self.engine) as connection:
            row = await _lock_row(connection, known, turn.asked_at)
            if row is None:
                row = await _restore_archived(connection, known)
            begun = (row["metadata"] or {}) if row and is_new else metadata
            if any(begun.get(name) != value for name, value in metadata.items()):
                raise StartedByAnother(begun)
            if row is None and is_new:
                row = _empty(known, turn.asked_at) | {"metadata": metadata}
            if row is None:
                await connection.execute(_rows(threads, known))
                return False
            row["metadata"] = {**(row["metadata"] or {}), **storable_json(dict(labels or {}))}
            await _write(connection, await _archive_oldest(connection, row), turn)
        return True

    async def summarize(self, thread_id: str, summary: str, by: str) -> None:
        """Keep a language model's summary, which then stays; a thread that is gone or archived by
        now is left alone."""
        async with transaction(self.engine) as connection:
            row = await _lock_row(connection, thread_id, now())
            mine = threads.c.thread_id == thread_id
            if row is None:
                await connection.execute(delete(threads).where(mine))
                return
            metadata = {**(row["metadata"] or {}), SUMMARIZED_BY: by}
            changed = update(threads).where(mine)
            await connection.execute(
                changed.values(topic_summary=storable(summary), metadata=metadata)
            )

    async def delete(self, thread_id: str) -> bool:
        """Delete all there is of a conversation, and what is noted of its questions; whether there
        was one."""
        known = _canonical(thread_id)
        if known is None:
            return False
        async with transaction(self.engine) as connection:
            found = await _lock_row(connection, known, now()) is not None
            for table in (archived_threads, archived_messages, threads):
                gone = await connection.execute(_rows(table, known))
                found = found or (table is archived_threads and gone.rowcount > 0)
            await connection.execute(
                delete(asked_questions).where(asked_questions.c.session_id == known)
            )
        return found

    async def archive_idle(self, idle: timedelta) -> int:
        """Move the threads that nobody has used for so long to the archive; how many."""
        before = now() - idle
        async with reading(self.engine) as connection:
            found = await connection.execute(
                select(threads.c.thread_id).where(threads.c.updated_at < before)
            )
            idle_threads = list(found.scalars())
        return sum([await self._archive(thread_id, before) for thread_id in idle_threads])

    async def _archive(self, thread_id: str, before: datetime) -> bool:
        async with transaction(self.engine) as connection:
            # It may have been used since it was found.
            still_idle = _rows(threads, thread_id).where(threads.c.updated_at < before)
            row = (await connection.execute(still_idle.returning(threads))).mappings().first()
            if row is None:
                return False
            values = {**row, "metadata": row["metadata"] or {}, "archived_at": now()}
            await connection.execute(insert(archived_threads).values(**values))
            return True

    async def _find(self, thread_id: str) -> Row | None:
        known = _canonical(thread_id)
        if known is None:
            return None
        # One statement: between two, a thread may move from one table to the other.
        earlier = (
            select(func.count())
            .where(archived_messages.c.thread_id == known)
            .scalar_subquery()
            .label("archived_count")
        )
        query = union_all(
            *(
                select(
                    *(table.c[name] for name in FIELDS),
                    literal(table is archived_threads).label("is_archived"),
                    earlier,
                ).where(table.c.thread_id == known)
                for table in (threads, archived_threads)
            )
        )
        found = await look_up(self.engine, query)
        return found[0] if found else None


def _canonical(thread_id: str) -> str | None:
    try:
        found = uuid.UUID(thread_id)
    except ValueError:
        return None
    return str(found) if found.version == 4 else None


def _rows(table: Table, thread_id: str) -> Any:
    return delete(table).where(table.c.thread_id == thread_id)


def _empty(thread_id: str, at: datetime) -> Row:
    return {
        "thread_id": thread_id,
        "messages": [],
        "created_at": at,
        "updated_at": at,
        "topic_summary": None,
        "metadata": {},
    }


async def _lock_row(connection: AsyncConnection, thread_id: str, at: datetime) -> Row | None:
    """The live row, held until the end of the transaction; None where it had to be made."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    made = dialect.insert(threads).values(_empty(thread_id, at))
    # An update that changes nothing holds the row that is there; DO NOTHING would not.
    held = made.on_conflict_do_update(
        index_elements=[threads.c.thread_id], set_={"thread_id": made.excluded.thread_id}
    )
    row = (await connection.execute(held.returning(threads))).mappings().one()
    return dict(row) if row["messages"] else None


async def _restore_archived(connection: AsyncConnection, thread_id: str) -> Row | None:
    taken = _rows(archived_threads, thread_id).returning(archived_threads)
    row = (await connection.execute(taken)).mappings().first()
    return {name: row[name] for name in FIELDS} if row else None


async def _archive_oldest(connection: AsyncConnection, row: Row) -> Row:
    """The row with its oldest exchanges moved away, so that one more fits."""
    live = row["messages"]
    too_many = max(0, len(live) - 2 * (MAX_LIVE_TURNS - 1))
    if not too_many:
        return row
    of_thread = archived_messages.c.thread_id == row["thread_id"]
    counted = await connection.execute(
        select(func.count()).select_from(archived_messages).where(of_thread)
    )
    first = counted.scalar_one()
    moved = [
        {"thread_id": row["thread_id"], "position": first + number, "message": message}
        for number, message in enumerate(live[:too_many])
    ]
    await connection.execute(insert(archived_messages), moved)
    return {**row, "messages": live[too_many:]}


async def _write(connection: AsyncConnection, row: Row, turn: Turn) -> None:
    conversation = _conversation(row)
    conversation.add(turn)
    thread = ConversationThread.of(conversation, row["metadata"])
    values = {
        "messages": [
            storable_json(message.model_dump(mode="json", exclude_defaults=True))
            for message in thread.messages
        ],
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "topic_summary": thread.topic_summary,
        "metadata": thread.metadata,
    }
    mine = threads.c.thread_id == row["thread_id"]
    await connection.execute(update(threads).where(mine).values(**values))


def _view(row: Row) -> ConversationThread:
    values = {name: row[name] for name in FIELDS}
    try:
        return ConversationThread.model_validate({**values, "metadata": row["metadata"] or {}})
    except UNREADABLE as problem:  # somebody else wrote the row
        raise StoreError(
            f"The conversation {row['thread_id']} can't be read.",
            action="Begin a new one.",
        ) from problem


def _conversation(row: Row, earlier: int = 0) -> Conversation:
    return Conversation(
        id=row["thread_id"],
        turns=_view(row).turns(),
        created_at=row["created_at"],
        topic_summary=row["topic_summary"] or "",
        earlier=earlier,
        summarized_by=(row["metadata"] or {}).get(SUMMARIZED_BY, ""),
    )
