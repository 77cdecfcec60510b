"""What the database knows of books and their files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.tables import books, files
from bythebook.database.transaction import look_up, reading, transaction
from bythebook.errors import BookNotFound
from bythebook.models.book import BookInfo
from bythebook.models.state import IngestionRecord, IngestionState

# How long a book is taken to be as it was.
RECENT_S = 1.0
DELETE_FILE = delete(files).where(
    files.c.book_id == bindparam("of"), files.c.source_file == bindparam("named")
)


class Catalog:
    """Books and files, read and written in one place."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._changes = 0
        self._recent: tuple[float, int, list[BookInfo]] = (-RECENT_S, 0, [])

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with transaction(self.engine) as connection:
                yield connection
        finally:
            self._changes += 1

    async def books(self) -> list[BookInfo]:
        counts = (
            select(
                files.c.book_id,
                func.count().label("total_files"),
                func.sum(files.c.chunk_count).label("total_chunks"),
            )
            .group_by(files.c.book_id)
            .subquery()
        )
        query = (
            select(
                books,
                func.coalesce(counts.c.total_files, 0).label("total_files"),
                func.coalesce(counts.c.total_chunks, 0).label("total_chunks"),
            )
            .join(counts, counts.c.book_id == books.c.book_id, isouter=True)
            .order_by(books.c.book_id)
        )
        return [BookInfo.model_validate(row) for row in await look_up(self.engine, query)]

    async def recent_books(self) -> list[BookInfo]:
        """As they were a second ago, if another process has changed them since or one of them is
        being ingested. A reader needs little of a book, and counting its files would take as long
        as a search."""
        read_at, changes, known = self._recent
        if not known or changes != self._changes or monotonic() - read_at >= RECENT_S:
            read_at, changes = monotonic(), self._changes
            known = await self.books()
            self._recent = (read_at, changes, known)
        return known

    async def recent_book(self, book_id: str) -> BookInfo:
        recent = {book.book_id: book for book in await self.recent_books()}
        return recent.get(book_id) or await self.book(book_id)

    async def book(self, book_id: str) -> BookInfo:
        known = await self.books()
        for book in known:
            if book.book_id == book_id:
                return book
        names = ", ".join(book.book_id for book in known)
        raise BookNotFound(
            f"There is no book {book_id!r} in the index.",
            action=f"Choose one of: {names}." if names else "Run `bythebook ingest PATH` first.",
        )

    async def state(self, book_id: str, collection: str) -> IngestionState:
        async with reading(self.engine) as connection:
            book = (
                (await connection.execute(select(books).where(books.c.book_id == book_id)))
                .mappings()
                .first()
            )
            rows = await connection.execute(select(files).where(files.c.book_id == book_id))
            records = {
                row["source_file"]: IngestionRecord.model_validate(dict(row))
                for row in rows.mappings()
            }
        return IngestionState(
            book_id=book_id,
            collection_name=collection,
            records=records,
            last_full_ingest=book["last_full_ingest"] if book else None,
            last_incremental_update=book["last_incremental_update"] if book else None,
        )

    async def save_book(self, book_id: str, values: dict[str, Any]) -> None:
        async with self._changing() as connection:
            await _upsert_book(connection, book_id, values)

    async def save_files(self, records: Sequence[IngestionRecord]) -> None:
        """Replace the rows of these files in one transaction."""
        if records:
            async with transaction(self.engine) as connection:
                await write_files(connection, records)

    async def note_seen(self, book_id: str, seen: Mapping[str, list[int]]) -> None:
        """What the folder says of files whose rows need no other change."""
        if not seen:
            return
        of_file = update(files).where(
            files.c.book_id == book_id, files.c.source_file == bindparam("file")
        )
        async with transaction(self.engine) as connection:
            await connection.execute(
                of_file.values(seen=bindparam("now")),
                [{"file": file, "now": now} for file, now in seen.items()],
            )

    async def forget_file(self, book_id: str, source_file: str) -> None:
        async with transaction(self.engine) as connection:
            await connection.execute(DELETE_FILE, {"of": book_id, "named": source_file})

    async def forget_book(self, book_id: str) -> None:
        async with self._changing() as connection:
            await connection.execute(delete(files).where(files.c.book_id == book_id))
            await connection.execute(delete(books).where(books.c.book_id == book_id))

    async def pages_with_prefix(self, book_id: str, prefix: str) -> list[str]:
        """Parent ids of the pages whose path or address begins so."""
        starts = files.c.source_file.startswith(prefix, autoescape=True) | files.c.url.startswith(
            prefix, autoescape=True
        )
        query = select(files.c.parent_doc_id).where(files.c.book_id == book_id, starts)
        async with reading(self.engine) as connection:
            return [row[0] for row in await connection.execute(query)]


def only_book(known: Sequence[BookInfo]) -> BookInfo:
    """The book to use when none is named."""
    if not known:
        raise BookNotFound(
            "There is no book in the index.", action="Run `bythebook ingest PATH` first."
        )
    if len(known) > 1:
        names = ", ".join(book.book_id for book in known)
        raise BookNotFound(
            f"There are several books: {names}.",
            action="Name one with --book, or set BYTHEBOOK_BOOK.",
        )
    return known[0]


async def write_files(connection: AsyncConnection, records: Sequence[IngestionRecord]) -> None:
    """Replace the rows of these files."""
    if records:
        named = [{"of": record.book_id, "named": record.source_file} for record in records]
        await connection.execute(DELETE_FILE, named)
        await connection.execute(insert(files), [record.model_dump() for record in records])


async def _upsert_book(connection: AsyncConnection, book_id: str, values: dict[str, Any]) -> None:
    found = await connection.execute(
        update(books).where(books.c.book_id == book_id).values(**values)
    )
    if found.rowcount == 0:
        await connection.execute(insert(books).values(book_id=book_id, **values))
