"""What an MCP client may use of a library, and how a question of its reaches an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from bythebook.errors import BookNotFound, InputError
from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.models.book import BookInfo
from bythebook.models.key import Scope


@dataclass(frozen=True)
class Answered:
    """An answer; `answer_id` names it for feedback where it was noted."""

    answer: Answer
    answer_id: str | None = None


class Desk(Protocol):
    """One client's place at the library."""

    @property
    def default_book(self) -> str | None:
        """The book that is meant when none is named, if that is set."""

    def may(self, *scopes: Scope) -> bool:
        """Whether the client has one of these scopes."""

    def library(self) -> AbstractAsyncContextManager[Library]:
        """The library, open for as long as it is used."""

    async def books(self) -> list[BookInfo]:
        """The client's books."""

    async def ask(self, question: str, book: BookInfo) -> Answered:
        """The answer to a question by itself; what went wrong is raised."""

    def searched(self) -> None:
        """Count a search."""


async def find_book(desk: Desk, book_id: str | None) -> BookInfo:
    """A book of the client by its id, or the one it must mean."""
    own = {book.book_id: book for book in await desk.books()}
    if book_id is None:
        configured = desk.default_book
        return own[configured] if configured in own else _only(list(own.values()))
    if book_id not in own:
        raise BookNotFound(
            f"There is no book {book_id!r}.",
            action=f"Choose one of: {', '.join(own)}." if own else "Ask for one to be ingested.",
        )
    return own[book_id]


def _only(books: Sequence[BookInfo]) -> BookInfo:
    if not books:
        raise BookNotFound(
            "There is no book yet.", action="Ingest one with `bythebook ingest PATH`."
        )
    if len(books) > 1:
        raise InputError(
            f"There are several books: {', '.join(book.book_id for book in books)}.",
            action="Name one in `book_id`.",
            details={"field": "book_id"},
        )
    return books[0]
