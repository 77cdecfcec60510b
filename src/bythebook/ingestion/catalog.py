"""What the database keeps of books and their files, for those who write them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bythebook.database.session import reading, transaction
from bythebook.database.tables import books, files
from bythebook.ingestion.known_books import KnownBooks
from bythebook.models.job import IngestionRecord, IngestionState

# No chunker has this version.
NONE_KNOWN = 0
DELETE_FILE = delete(files).where(
    files.c.book_id == bindparam("of"), files.c.source_file == bindparam("named")
)


class Catalog:
    """Books and files, written in one place."""

    def __init__(self, known: KnownBooks) -> None:
        self.known = known
        self.engine = known.database.engine

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with transaction(self.engine) as connection:
                yield connection
        finally:
            self.known.note_change()

    async def state(self, book_id: str, collection: str) -> IngestionState:
        known = {book.book_id: book for book in await self.known.all()}
        book = known.get(book_id)
        async with reading(self.engine) as connection:
            rows = await connection.execute(select(files).where(files.c.book_id == book_id))
            records = {
                row["source_file"]: IngestionRecord.model_validate(dict(row))
                for row in rows.mappings()
            }
        return IngestionState(
            book_id=book_id,
            collection_name=collection,
            records=records,
            last_full_ingest=book.last_full_ingest if book else None,
            last_incremental_update=book.last_incremental_update if book else None,
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
        rows = [{"file": file, "now": now} for file, now in seen.items()]
        async with transaction(self.engine) as connection:
            await _note(connection, book_id, rows, seen=bindparam("now"))

    async def doubt(self, book_id: str, doubted: Collection[str]) -> None:
        """Until these files are saved anew they are due: a run that dies may have changed their
        points, and then what is noted of them is not true, even of a file that is changed back.
        Nor is the book what its folder said it was."""
        rows = [{"file": file} for file in doubted]
        async with self._changing() as connection:
            await connection.execute(
                update(books).where(books.c.book_id == book_id).values(seen=None)
            )
            await _note(connection, book_id, rows, chunker_version=NONE_KNOWN)

    async def forget_file(self, book_id: str, source_file: str) -> None:
        async with transaction(self.engine) as connection:
            await connection.execute(DELETE_FILE, {"of": book_id, "named": source_file})

    async def forget_book(self, book_id: str) -> None:
        async with self._changing() as connection:
            await connection.execute(delete(files).where(files.c.book_id == book_id))
            await connection.execute(delete(books).where(books.c.book_id == book_id))


async def write_files(connection: AsyncConnection, records: Sequence[IngestionRecord]) -> None:
    """Replace the rows of these files."""
    if records:
        named = [{"of": record.book_id, "named": record.source_file} for record in records]
        await connection.execute(DELETE_FILE, named)
        await connection.execute(insert(files), [record.model_dump() for record in records])


async def _note(
    connection: AsyncConnection, book_id: str, rows: list[dict[str, Any]], **values: Any
) -> None:
    """The same columns of several files; each row names its file."""
    of_file = (files.c.book_id == book_id, files.c.source_file == bindparam("file"))
    if rows:
        await connection.execute(update(files).where(*of_file).values(**values), rows)


async def _upsert_book(connection: AsyncConnection, book_id: str, values: dict[str, Any]) -> None:
    found = await connection.execute(
        update(books).where(books.c.book_id == book_id).values(**values)
    )
    if found.rowcount == 0:
        await connection.execute(insert(books).values(book_id=book_id, **values))
