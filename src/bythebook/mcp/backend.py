"""What an MCP client may use: the library on this machine, or that of a service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from bythebook.agent.assistant import Assistant
from bythebook.errors import BookNotFound
from bythebook.ingestion.known_books import requested_book
from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.models.chunk import BookInfo
from bythebook.models.key import Scope
from bythebook.settings import Settings


class Backend(Protocol):
    """The library as one client may use it."""

    @property
    def default_book(self) -> str | None:
        """The book that is meant when none is named, if that is set."""

    def may(self, *scopes: Scope) -> bool:
        """Whether the client has one of these scopes."""

    def library(self) -> AbstractAsyncContextManager[Library]:
        """The library, open for as long as it is used."""

    async def books(self) -> list[BookInfo]:
        """The client's books."""

    async def ask(self, question: str, book: BookInfo) -> tuple[Answer, str | None]:
        """The answer to a question by itself, and its id for feedback where it was noted; what
        went wrong is raised."""

    def searched(self) -> None:
        """Count a search."""


async def find_book(backend: Backend, book_id: str | None) -> BookInfo:
    """A book of the client by its id, or the one it must mean."""
    own = {book.book_id: book for book in await backend.books()}
    if book_id is None:
        return requested_book(list(own.values()), backend.default_book)
    if book_id not in own:
        raise BookNotFound(
            f"There is no book {book_id!r}.",
            action=f"Choose one of: {', '.join(own)}." if own else "Ask an operator to add it.",
        )
    return own[book_id]


# Seconds after which an unused library is closed. Clients run for days, and while one process has
# the embedded index open, no other can ingest or ask.
IDLE = 10.0


class LocalBackend:
    """Everything is allowed. The library is opened when it is needed and closed when it is not."""

    def __init__(self, settings: Settings, idle: float = IDLE) -> None:
        self._settings = settings
        self._idle = idle
        self._users = 0
        self._opened: tuple[AsyncExitStack, Assistant] | None = None
        self._changing = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    @property
    def default_book(self) -> str | None:
        return self._settings.book_id

    def may(self, *_scopes: Scope) -> bool:
        return True

    def searched(self) -> None:
        """Nobody counts."""

    async def books(self) -> list[BookInfo]:
        async with self.library() as library:
            return await library.books()

    async def ask(self, question: str, book: BookInfo) -> tuple[Answer, str | None]:
        async with self._assistant() as assistant:
            return await assistant.ask(question, book_id=book.book_id), None

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        async with self._assistant() as assistant:
            yield assistant.library

    @asynccontextmanager
    async def _assistant(self) -> AsyncIterator[Assistant]:
        async with self._changing:
            if self._closing:
                self._closing.cancel()
                self._closing = None
            if self._opened is None:
                self._opened = await self._open()
            self._users += 1
            _, assistant = self._opened
        try:
            yield assistant
        finally:
            self._users -= 1
            if self._users == 0:
                self._closing = asyncio.create_task(self._close_when_idle())

    async def _open(self) -> tuple[AsyncExitStack, Assistant]:
        async with AsyncExitStack() as stack:
            library = await stack.enter_async_context(await Library.open(self._settings))
            assistant = await stack.enter_async_context(Assistant(library))
            return stack.pop_all(), assistant

    async def _close_when_idle(self) -> None:
        await asyncio.sleep(self._idle)
        await asyncio.shield(self.close())

    async def close(self) -> None:
        """Close the library if nobody uses it; whoever comes next opens it again."""
        async with self._changing:
            if self._opened is not None and self._users == 0:
                (stack, _), self._opened = self._opened, None
                await stack.aclose()
