"""What a reader can choose from in each book, found out once and again when the book changes."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from bythebook.database.tables import files
from bythebook.database.transaction import reading
from bythebook.errors import BookError
from bythebook.ingestion.points import book_filter
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.reading.numbers import natural_key
from bythebook.server.modules import module_titles
from bythebook.suggestions import suggest

logger = logging.getLogger(__name__)

# Seconds that a reader waits for questions of books that nobody has asked for yet.
PATIENCE = 1.5


@dataclass(frozen=True)
class Facets:
    """Values that occur in a book, in their order; modules with their titles."""

    modules: tuple[tuple[str, str], ...] = ()
    hardware_tiers: tuple[int, ...] = ()
    proficiency_levels: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShelvedBook:
    """A book, what it can be narrowed down to, and questions to begin with."""

    info: BookInfo
    facets: Facets
    suggestions: tuple[str, ...]


@dataclass
class _Known:
    state: object
    facets: Facets
    suggesting: asyncio.Task[tuple[str, ...]]


class Shelf:
    """The books of a library as a reader sees them."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[str, _Known] = {}
        self._titles: dict[str, tuple[object, dict[str, str]]] = {}
        # One book after another: making questions is work, and answers go first.
        self._one_at_a_time = asyncio.Lock()
        self._looking = asyncio.Lock()

    async def close(self) -> None:
        for known in self._known.values():
            known.suggesting.cancel()
        tasks = [known.suggesting for known in self._known.values()]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._known.clear()

    async def books(self, infos: list[BookInfo]) -> list[ShelvedBook]:
        """These books. Suggestions that take too long are left out this time."""
        async with self._looking:
            found = [await self._look_at(info) for info in infos]
        if tasks := [known.suggesting for known in found]:
            await asyncio.wait(tasks, timeout=PATIENCE)
        return [
            ShelvedBook(info, known.facets, _result(known.suggesting))
            for info, known in zip(infos, found, strict=True)
        ]

    async def module_titles(self, book_id: str) -> dict[str, str]:
        """By the module's id."""
        recent = {book.book_id: book for book in await self.library.recent_books()}
        state = _state(recent[book_id]) if book_id in recent else None
        known, titles = self._titles.get(book_id, (None, {}))
        if known is None or known != state:
            titles = await module_titles(self.library.engine, book_id)
            self._titles[book_id] = (state, titles)
        return titles

    async def _look_at(self, book: BookInfo) -> _Known:
        state = _state(book)
        known = self._known.get(book.book_id)
        if known is not None and known.state == state and not _has_failed(known.suggesting):
            return known
        if known is not None:
            known.suggesting.cancel()
        facets = await self._facets(book.book_id)
        suggesting = asyncio.create_task(self._suggest(book))
        self._known[book.book_id] = _Known(state, facets, suggesting)
        return self._known[book.book_id]

    async def _suggest(self, book: BookInfo) -> tuple[str, ...]:
        async with self._one_at_a_time:
            try:
                return await suggest(self.library, book)
            except BookError as problem:
                logger.warning("No questions for %s can be suggested: %s", book.book_id, problem)
                raise
            except Exception:
                logger.exception("No questions for %s can be suggested", book.book_id)
                raise

    async def _facets(self, book_id: str) -> Facets:
        """From the index, which counts the values of its fields without reading passages."""
        store = await self.library.store()
        in_book = book_filter(book_id)

        async def values(field: str) -> list[Any]:
            return sorted(await store.facet(field, in_book))

        return Facets(
            modules=await self._modules(book_id, set(await values("module"))),
            hardware_tiers=tuple(await values("hardware_tier")),
            proficiency_levels=tuple(await values("proficiency_level")),
            layers=tuple(await values("layer")),
        )

    async def _modules(self, book_id: str, present: set[str]) -> tuple[tuple[str, str], ...]:
        """In reading order, with their titles."""
        first = func.min(files.c.source_file)
        query = select(files.c.module, first).where(files.c.book_id == book_id)
        async with reading(self.library.engine) as connection:
            rows = (await connection.execute(query.group_by(files.c.module))).all()
        titles = await module_titles(self.library.engine, book_id)
        in_order = [module for module, _ in sorted(rows, key=lambda row: natural_key(row[1]))]
        return tuple(
            (module, titles[module])
            for module in in_order
            if module in present and module in titles
        )


def _state(book: BookInfo) -> object:
    """Another one when the book is."""
    return (
        book.total_files,
        book.total_chunks,
        book.last_full_ingest,
        book.last_incremental_update,
    )


def _has_failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _result(task: asyncio.Task[tuple[str, ...]]) -> tuple[str, ...]:
    return task.result() if task.done() and not _has_failed(task) else ()
