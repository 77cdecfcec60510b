"""Where books come from: a folder or file, a web site, or a git repository."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.fetching.address import find_address, stored_address
from bythebook.ingestion.lock import FileLocks
from bythebook.reading.layout import Book, find_book
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.fetching.crawl import OnFetch


class Sources:
    """What is to be ingested. Fetching is slow to import, and most books are folders."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # What is fetched is kept in the home, so the lock is there.
        self.locks = FileLocks(settings.home)

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

    async def forget(self, source: str, others: Iterable[str]) -> None:
        """Remove what was fetched for a book, unless one of the others is made of the same."""
        address = stored_address(source)
        needed = [stored_address(other) for other in others]
        if address and address.key not in {other.key for other in needed if other}:
            from bythebook.fetching.fetch import forget

            async with self.locks.writing(address.key):
                await asyncio.to_thread(forget, address, self.settings.home)


def _book_in(path: Path, book_id: str | None) -> tuple[Book, str]:
    return find_book(path, book_id), str(path.resolve())
