"""Migration: copies books and conversations from one library to another, such as from the embedded
index and SQLite to servers. Nothing is embedded again, and it can be run again if interrupted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, Table, func, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from bythebook.database.engine import reading, transaction
from bythebook.database.tables import PASSING, books, jobs, metadata
from bythebook.errors import ConfigurationError, StoreError
from bythebook.index.qdrant_models import PointStruct, Record
from bythebook.index.store import DENSE, SPARSE, VectorStore, book_filter, point_pages
from bythebook.library import Library
from bythebook.moving.file_parts import OnStep

# Points of each book that are compared word for word and number for number at the end.
SAMPLE = 50
# Servers may keep vectors with a little less precision.
CLOSE = 1e-4
ROWS = 500


@dataclass
class Moved:
    """What is there now; `written` are the passages that were not there before."""

    passages: dict[str, int] = field(default_factory=dict)
    written: int = 0
    rows: dict[str, int] = field(default_factory=dict)


async def migrate(
    source: Library, target: Library, on_step: OnStep = lambda _what, _done, _all: None
) -> Moved:
    """Copy what is not there yet, take away what should not be, and compare."""
    if target.embedder.name != source.embedder.name:
        raise ConfigurationError(
            "Source and target have different embedders.", action="Use the same one for both."
        )
    moved = Moved()
    if _place(source) != _place(target):
        for book in await source.books():
            async with source.locks.writing(book.book_id):
                await _move_points(source, target, book.book_id, moved, on_step)
    if source.engine.url != target.engine.url:
        for table in metadata.sorted_tables:
            if table in PASSING:
                continue
            on_step(f"Copying {table.name}", 0, 1)
            moved.rows[table.name] = await _move_rows(source, target, table)
    return moved


def _place(library: Library) -> tuple[str | None, str, str]:
    settings = library.settings
    return settings.qdrant_url, str(settings.home), settings.collection


async def _move_points(
    source: Library, target: Library, book_id: str, moved: Moved, on_step: OnStep
) -> None:
    here, there = await source.store(), await target.store()
    in_book = book_filter(book_id)
    total = await here.count(in_book)
    ids: list[str] = []
    async for page in point_pages(here, in_book, with_vectors=[DENSE, SPARSE]):
        new = await _not_there(there, page)
        if new:
            await there.replace([_point(record) for record in new], [], durable=False)
        moved.written += len(new)
        ids += [record.id for record in page]
        on_step(f"Moving {book_id}", len(ids), total)
    await _remove_others(there, book_id, set(ids))
    await there.flush()
    moved.passages[book_id] = await there.count(in_book)
    await _compare(here, there, book_id, ids, moved.passages[book_id])


async def _not_there(store: VectorStore, page: Sequence[Record]) -> list[Record]:
    """Those that the target does not have, or not in this state."""
    wanted = [record.id for record in page]
    known = {record.id: record.payload for record in await store.retrieve(wanted)}
    return [record for record in page if known.get(record.id) != record.payload]


async def _remove_others(store: VectorStore, book_id: str, expected: set[str]) -> None:
    """What an earlier, interrupted move brought and the source no longer has."""
    stale = [
        record.id
        async for page in point_pages(store, book_filter(book_id), with_payload=False)
        for record in page
        if record.id not in expected
    ]
    if stale:
        await store.replace([], stale)


async def _compare(
    here: VectorStore, there: VectorStore, book_id: str, ids: Sequence[str], found: int
) -> None:
    chosen = random.Random(book_id).sample(list(ids), min(SAMPLE, len(ids)))
    left = await here.retrieve(chosen, True, [DENSE, SPARSE])
    right = await there.retrieve(chosen, True, [DENSE, SPARSE])
    same = len(left) == len(right) and all(map(_is_same, left, right))
    if found != len(ids) or not same:
        raise StoreError(
            f"{book_id} did not arrive completely: {found} of {len(ids)} passages"
            + ("." if same else ", some of them changed."),
            action="Run the same command again; nothing was deleted at the source.",
        )


def _is_same(one: Record, other: Record) -> bool:
    return (
        one.id == other.id
        and one.payload == other.payload
        and _numbers(one) == _numbers(other)
        and all(abs(a - b) < CLOSE for a, b in zip(_dense(one), _dense(other), strict=True))
    )


def _numbers(record: Record) -> dict[int, float]:
    sparse: Any = (record.vector or {})[SPARSE]
    return {
        index: round(value, 4) for index, value in zip(sparse.indices, sparse.values, strict=True)
    }


def _dense(record: Record) -> Sequence[float]:
    vector: Any = (record.vector or {})[DENSE]
    return list(vector)


def _point(record: Record) -> PointStruct:
    assert record.vector is not None
    return PointStruct(id=record.id, vector=record.vector, payload=record.payload)


async def _move_rows(source: Library, target: Library, table: Table) -> int:
    """Rows by their key: those that are there already stay as they are."""
    keys = list(table.primary_key.columns)
    async with reading(source.engine) as connection:
        rows = (await connection.execute(select(table).order_by(*keys))).mappings().all()
    for start in range(0, len(rows), ROWS):
        some = [dict(row) for row in rows[start : start + ROWS]]
        async with transaction(target.engine) as connection:
            known = select(*keys).where(tuple_(*keys).in_([_key(keys, row) for row in some]))
            there = {tuple(row) for row in await connection.execute(known)}
            new = [row for row in some if _key(keys, row) not in there]
            if table is books:
                new = [{**row, "collection_name": target.settings.collection} for row in new]
            if new:
                await connection.execute(table.insert(), new)
            if table is jobs:
                await go_on_counting(connection)
    async with reading(target.engine) as connection:
        count = (await connection.execute(select(func.count()).select_from(table))).scalar_one()
    if count < len(rows):
        raise StoreError(
            f"{table.name} did not arrive completely: {count} of {len(rows)} rows.",
            action="Run the same command again; nothing was deleted at the source.",
        )
    return int(count)


def _key(keys: Sequence[Column[Any]], row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key.name] for key in keys)


async def go_on_counting(connection: AsyncConnection) -> None:
    """PostgreSQL counts jobs by itself, and does not see numbers that were given."""
    if connection.dialect.name == "postgresql":
        await connection.execute(
            text(
                "SELECT setval(pg_get_serial_sequence('jobs', 'job_id'), "
                "(SELECT coalesce(max(job_id), 1) FROM jobs))"
            )
        )
