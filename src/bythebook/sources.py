"""Where books come from: a folder or file, a web site, or a git repository."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.database.database import Database
from bythebook.errors import NotAllowed
from bythebook.fetching.address import find_address, stored_address
from bythebook.ingestion.lock import FileLocks
from bythebook.reading.layout import Book, find_book
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.fetching.crawl import OnFetch
    from bythebook.models.book import BookInfo
    from bythebook.models.job import IngestionJob


FIND = "SELECT source FROM allowed_sources WHERE book_id = :book_id AND source = :source"
ALLOW = """
INSERT INTO allowed_sources (book_id, source) VALUES (:book_id, :source)
ON CONFLICT (book_id, source) DO NOTHING
"""
FORGET = "DELETE FROM allowed_sources WHERE book_id = :book_id"


class AllowedSources:
    """The folders and addresses that an operator named for each book. What a book or a job says of
    itself is no proof: it may have come with an import or a backup, which somebody else wrote. So
    this is kept apart from the books, and nothing that writes those can allow anything."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def has(self, book_id: str, source: str) -> bool:
        return bool(await self.database.look_up(FIND, book_id=book_id, source=source))

    async def allow(self, book_id: str, source: str) -> None:
        if not await self.has(book_id, source):
            await self.database.change(ALLOW, book_id=book_id, source=source)

    async def forget(self, book_id: str) -> None:
        await self.database.change(FORGET, book_id=book_id)

    async def check(self, book_id: str, source: str) -> None:
        """To be asked when the source is read, not when it is stored: a folder may have been
        replaced by a link in between."""
        action = (
            f"Run `bythebook ingest PATH --book {book_id}` once, where the service runs, with the "
            "folder or address that is meant."
        )
        if not await self.has(book_id, source):
            raise NotAllowed(
                f"Nobody allowed this service to read {book_id} from where it says it is: that "
                "came with an import or a backup.",
                action=action,
                details={"book_id": book_id},
            )
        if stored_address(source) is None and not await asyncio.to_thread(_is_itself, source):
            raise NotAllowed(
                f"The path that {book_id} is read from leads elsewhere than it did.",
                action=action,
                details={"book_id": book_id},
            )


class Sources(AllowedSources):
    """What is to be ingested. Fetching is slow to import, and most books are folders."""

    def __init__(self, settings: Settings, database: Database) -> None:
        super().__init__(database)
        self.settings = settings
        # What is fetched is kept in the home, so the lock is there.
        self.locks = FileLocks(settings.home)

    async def named_book(
        self, source: str, book_id: str | None, on_fetch: OnFetch
    ) -> tuple[Book, str]:
        """From where an operator says that it is, which may be read from now on."""
        book, kept = await self.fetched_book(source, book_id, on_fetch)
        await self.allow(book.book_id, kept)
        return book, kept

    async def book_of(
        self, job: IngestionJob, before: Callable[[], Awaitable[None]] | None = None
    ) -> Book:
        """The book of a job that was queued, if it may be read from there."""
        await self.check(job.book_id, job.source or "")
        if before is not None:
            await before()
        return (await self.fetched_book(job.source or "", job.book_id))[0]

    async def fetched_book(
        self, source: str, book_id: str | None, on_fetch: OnFetch = lambda _report: None
    ) -> tuple[Book, str]:
        """The book, fetched first if it is elsewhere, and its source as it is to be stored."""
        if (address := find_address(source)) is None:
            return await asyncio.to_thread(_book_in, Path(source), book_id)
        from bythebook.fetching.fetch import fetch, kept_book

        async with self.locks.writing(address.key):
            fetched = await fetch(address, self.settings, on_fetch)
            home = self.settings.home
            return await asyncio.to_thread(kept_book, address, home, book_id, fetched), address.text

    async def kept_book(self, source: str, book_id: str | None) -> Book:
        """The book as it is here; nobody elsewhere is asked."""
        if (address := find_address(source)) is None:
            return await asyncio.to_thread(find_book, Path(source), book_id)
        from bythebook.fetching.fetch import kept_book

        return await asyncio.to_thread(kept_book, address, self.settings.home, book_id)

    async def forget_book(self, book: BookInfo, others: Iterable[BookInfo]) -> None:
        """Remove what was fetched for a book, unless one of the others is made of the same."""
        await self.forget(book.book_id)
        address = stored_address(book.source)
        needed = [stored_address(other.source) for other in others]
        if address and address.key not in {other.key for other in needed if other}:
            from bythebook.fetching.fetch import forget

            async with self.locks.writing(address.key):
                await asyncio.to_thread(forget, address, self.settings.home)


def _book_in(path: Path, book_id: str | None) -> tuple[Book, str]:
    return find_book(path, book_id), str(path.resolve())


def _is_itself(source: str) -> bool:
    try:
        return str(Path(source).resolve()) == source
    except (OSError, RuntimeError, ValueError):  # a circle of links, or no name of a file
        return False
