"""Which books there are, for those who read them."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

from bythebook.database.database import Database
from bythebook.database.database_file import as_told
from bythebook.errors import BookNotFound
from bythebook.models.book import BookInfo
from bythebook.models.chunk import now

# How long a book is taken to be as it was.
RECENT_S = 1.0

TIMES = ("last_full_ingest", "last_incremental_update")

BOOKS = """
SELECT
    books.*,
    coalesce(counts.total_files, 0) AS total_files,
    coalesce(counts.total_chunks, 0) AS total_chunks
FROM books LEFT JOIN (
    SELECT book_id, count(*) AS total_files, sum(chunk_count) AS total_chunks
    FROM files GROUP BY book_id
) AS counts ON counts.book_id = books.book_id
ORDER BY books.book_id
"""
PAGES = """
SELECT parent_doc_id FROM files
WHERE book_id = :book_id
AND (source_file LIKE :start ESCAPE '/' OR url LIKE :start ESCAPE '/')
"""
FILES = "SELECT source_file FROM files WHERE book_id = :book_id"
CONFIRM = """
UPDATE books SET source = :source, last_incremental_update = :now WHERE book_id = :book_id
"""


class KnownBooks:
    """Without SQLAlchemy where the database is a file."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._changes = 0
        self._recent: tuple[float, int, list[BookInfo]] = (-RECENT_S, 0, [])

    def note_change(self) -> None:
        """What was read before is not recent any more."""
        self._changes += 1

    async def all(self) -> list[BookInfo]:
        return [_book(row) for row in await self.database.look_up(BOOKS)]

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
            await self.database.change(CONFIRM, book_id=book_id, source=source, now=now())
        finally:
            self.note_change()

    async def files(self, book_id: str) -> list[str]:
        """Paths of its pages."""
        rows = await self.database.look_up(FILES, book_id=book_id)
        return [row["source_file"] for row in rows]

    async def pages_with_prefix(self, book_id: str, prefix: str) -> list[str]:
        """Parent ids of the pages whose path or address begins so."""
        start = prefix.replace("/", "//").replace("%", "/%").replace("_", "/_") + "%"
        rows = await self.database.look_up(PAGES, book_id=book_id, start=start)
        return [row["parent_doc_id"] for row in rows]


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


def _book(row: dict[str, Any]) -> BookInfo:
    return BookInfo.model_validate(as_told(row, TIMES, ("background",)))
