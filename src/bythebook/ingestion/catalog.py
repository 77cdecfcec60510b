"""Books and their files as the database keeps them: which there are, and writing them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bythebook.database.engine import Database, readable, reading, transaction
from bythebook.database.tables import books, files, given_titles, storable
from bythebook.errors import BookNotFound, InputError
from bythebook.models.chunk import BookInfo, now
from bythebook.models.job import IngestionRecord, IngestionState
from bythebook.reading.slugs import humanise, natural_key

# How long a book is taken to be as it was.
RECENT_S = 1.0

COUNTS = (
    select(
        files.c.book_id,
        func.count().label("total_files"),
        func.sum(files.c.chunk_count).label("total_chunks"),
    )
    .group_by(files.c.book_id)
    .subquery()
)
BOOKS = (
    select(
        books,
        given_titles.c.title.label("given_title"),
        func.coalesce(COUNTS.c.total_files, 0).label("total_files"),
        func.coalesce(COUNTS.c.total_chunks, 0).label("total_chunks"),
    )
    .outerjoin(given_titles, given_titles.c.book_id == books.c.book_id)
    .outerjoin(COUNTS, COUNTS.c.book_id == books.c.book_id)
    .order_by(books.c.book_id)
)


@dataclass(frozen=True)
class Page:
    """A page of a book, and how many passages it has."""

    parent_doc_id: str
    title: str
    url: str
    source_file: str
    passages: int


class KnownBooks:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._changes = 0
        self._recent: tuple[float, int, list[BookInfo]] = (-RECENT_S, 0, [])

    def note_change(self) -> None:
        """What was read before is not recent any more."""
        self._changes += 1

    async def all(self) -> list[BookInfo]:
        return readable("book", await self.database.look_up(BOOKS), _book)

    async def get(self, book_id: str) -> BookInfo:
        known = await self.all()
        for book in known:
            if book.book_id == book_id:
                return book
        names = ", ".join(book.book_id for book in known)
        raise BookNotFound(
            f"There is no book {book_id!r} in the index.",
            action=f"Choose one of: {names}." if names else "Run `bythebook ingest PATH` first.",
        )

    async def recent(self) -> list[BookInfo]:
        """As they were a second ago, if another process has changed them since or one of them is
        being ingested. A reader needs little of a book, and counting its files would take as long
        as a search."""
        read_at, changes, known = self._recent
        if not known or changes != self._changes or monotonic() - read_at >= RECENT_S:
            read_at, changes = monotonic(), self._changes
            known = await self.all()
            self._recent = (read_at, changes, known)
        return known

    async def get_recent(self, book_id: str) -> BookInfo:
        recent = {book.book_id: book for book in await self.recent()}
        return recent.get(book_id) or await self.get(book_id)

    async def confirm(self, book_id: str, source: str) -> None:
        """An ingest found it as the last one left it."""
        try:
            await self.database.change(
                update(books)
                .where(books.c.book_id == book_id)
                .values(source=source, last_incremental_update=now())
            )
        finally:
            self.note_change()

    async def files(self, book_id: str) -> list[str]:
        """Paths of its pages."""
        query = select(files.c.source_file).where(files.c.book_id == book_id)
        rows = await self.database.look_up(query)
        return [row["source_file"] for row in rows]

    async def pages(self, book_id: str) -> list[Page]:
        """All pages of a book, in reading order."""
        columns = (
            *(files.c.source_file, files.c.parent_doc_id, files.c.placement, files.c.url),
            files.c.chunk_count,
        )
        rows = await self.database.look_up(select(*columns).where(files.c.book_id == book_id))
        return [
            Page(
                parent_doc_id=row["parent_doc_id"],
                title=_title(row) or row["source_file"],
                url=row["url"],
                source_file=row["source_file"],
                passages=row["chunk_count"],
            )
            for row in sorted(rows, key=lambda row: natural_key(row["source_file"]))
        ]

    async def lessons(self, book_id: str) -> list[Page]:
        """Those with passages."""
        return [page for page in await self.pages(book_id) if page.passages]

    async def module_titles(self, book_id: str) -> dict[str, str]:
        """By the module's id, in reading order: the title of the page above its chapters, else its
        name made readable. Pages in no module have the book's id for one, which is left out."""
        of_book = files.c.book_id == book_id
        first = func.min(files.c.source_file).label("first")
        grouped = select(files.c.module, first).where(of_book).group_by(files.c.module)
        rows = await self.database.look_up(grouped)
        modules = [row["module"] for row in sorted(rows, key=lambda row: natural_key(row["first"]))]
        titles = {module: humanise(module) for module in modules if module != book_id}
        overviews = (
            select(files.c.module, files.c.placement)
            .where(of_book, files.c.chapter == 0, files.c.lesson == 0)
            .order_by(files.c.source_file.desc())
        )
        for row in await self.database.look_up(overviews):
            if row["module"] in titles:
                titles[row["module"]] = _title(row) or titles[row["module"]]
        return titles

    async def pages_with_prefix(self, book_id: str, prefix: str) -> list[str]:
        """Parent ids of the pages whose path or address begins so."""
        matches = (
            c.startswith(prefix, autoescape=True) for c in (files.c.source_file, files.c.url)
        )
        query = select(files.c.parent_doc_id).where(files.c.book_id == book_id, or_(*matches))
        rows = await self.database.look_up(query)
        return [row["parent_doc_id"] for row in rows]

    async def page_at(self, book: BookInfo, address: str) -> str | None:
        """The parent id of the page with this address; on a copy of the site, such as the one that
        its author has open while writing, the page with its path."""
        addresses = _addresses(book.base_url, storable(address))
        query = select(files.c.parent_doc_id, files.c.url).where(
            files.c.book_id == book.book_id, files.c.url.in_(addresses)
        )
        rows = await self.database.look_up(query)
        rows = sorted(rows, key=lambda row: addresses.index(row["url"]))
        return rows[0]["parent_doc_id"] if rows else None


# No chunker has this version.
NONE_KNOWN = 0
DELETE_FILE = delete(files).where(
    files.c.book_id == bindparam("of"), files.c.source_file == bindparam("named")
)


class Catalog:
    """Writes books and files."""

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


def _addresses(base_url: str | None, address: str) -> list[str]:
    """As the book may write a page's address, the likeliest first."""
    try:
        own, base = urlsplit(address.strip()), urlsplit(base_url or "")
    except ValueError:
        return [address]
    path = own.path.removesuffix("index.html").rstrip("/").removesuffix(".html")
    endings = [f"{path}/", path, f"{path}.html", f"{path}/index.html"]
    sites = dict.fromkeys([f"{own.scheme}://{own.netloc}", f"{base.scheme}://{base.netloc}"])
    return [f"{site}{ending}" for site in sites for ending in endings]


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


def requested_book(known: Sequence[BookInfo], configured: str | None) -> BookInfo:
    """The book that a request means which names none."""
    if chosen := [book for book in known if book.book_id == configured] or known[:1]:
        if len(known) == 1 or chosen[0].book_id == configured:
            return chosen[0]
        raise InputError(
            f"There are several books: {', '.join(book.book_id for book in known)}.",
            action="Name one in `book_id`.",
            details={"field": "book_id"},
        )
    raise BookNotFound("There is no book yet.", action="Ingest one with `bythebook ingest PATH`.")


def _title(row: dict[str, Any]) -> str | None:
    title: str | None = row["placement"].get("title")
    return title


def _book(row: dict[str, Any]) -> BookInfo:
    title = row.pop("given_title") or row["title"]
    return BookInfo.model_validate({**row, "title": title})
