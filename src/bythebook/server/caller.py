"""Who is calling, and which books are theirs."""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.errors import BookNotFound, InputError
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.models.key import ApiKey


@dataclass(frozen=True)
class Caller:
    """Who sent a request; without a key it is someone on this machine."""

    key: ApiKey | None

    @property
    def id(self) -> str | None:
        return self.key.key_id if self.key else None

    @property
    def is_admin(self) -> bool:
        return self.key is None or self.key.allows("admin")

    @property
    def is_bound(self) -> bool:
        """Whether only certain books are theirs."""
        return self.key is not None and self.key.books is not None

    def may_read(self, book_id: str) -> bool:
        return self.key is None or self.key.may_read(book_id)

    async def book(self, library: Library, book_id: str | None) -> BookInfo:
        """A book by its id, or the one this caller must mean; others' books do not exist."""
        if book_id is None:
            return await self._only_book(library)
        if not self.may_read(book_id):
            raise unknown_book(book_id)
        try:
            return await library.recent_book(book_id)
        except BookNotFound as problem:
            raise unknown_book(book_id) from problem

    async def _only_book(self, library: Library) -> BookInfo:
        own = {
            book.book_id: book
            for book in await library.recent_books()
            if self.may_read(book.book_id)
        }
        configured = library.settings.book_id
        if configured in own:
            return own[configured]
        if not own:
            raise BookNotFound(
                "There is no book yet.",
                action="Ingest one with `bythebook ingest PATH` or `POST /ingestion/trigger`.",
            )
        if len(own) > 1:
            raise InputError(
                f"There are several books: {', '.join(own)}.",
                action="Name one in `book_id`.",
                details={"field": "book_id"},
            )
        (book,) = own.values()
        return book


def unknown_book(book_id: str) -> BookNotFound:
    """The same for a book that is not there and one that the key may not see."""
    return BookNotFound(
        f"There is no book {book_id!r}.",
        action="`GET /books` lists the books.",
        details={"field": "book_id"},
    )
