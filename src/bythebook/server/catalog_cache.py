"""Books as readers see them, with filters and suggested questions, cached until a book changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bythebook.errors import BookError
from bythebook.index.store import book_filter
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.models.examples import example
from bythebook.models.values import (
    HARDWARE_TIERS,
    LAYERS,
    PROFICIENCY_LEVELS,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bythebook.suggestions import suggest

logger = logging.getLogger(__name__)

# Seconds that a reader waits for questions of books that nobody has asked for yet.
TIMEOUT_SECONDS = 1.5


class Module(BaseModel):
    """A part of a book; `id` is what `module_filter` takes."""

    id: str
    title: str


class ShownBook(BaseModel):
    """A book and what it can be narrowed down to: values that occur in it. `hardware_tiers`,
    `proficiency_levels` and `layers` are empty where all pages have the same."""

    model_config = ConfigDict(json_schema_extra=example("book"))

    book_id: str
    title: str
    language: str
    chunks: int = Field(ge=0, description="Passages in the index.")
    files: int = Field(ge=0)
    base_url: str | None = Field(description="Address that the book's pages stand under.")
    modules: list[Module]
    hardware_tiers: list[HardwareTier]
    proficiency_levels: list[ProficiencyLevel]
    layers: list[TeachingLayer]
    suggestions: list[str] = Field(
        max_length=6, description="Questions to begin with, which the book answers."
    )


@dataclass
class _CachedBook:
    state: object
    # Values that occur in it, by the names that they have in a ShownBook.
    facets: dict[str, list[Any]]
    suggesting: asyncio.Task[list[str]]


class CatalogCache:
    """The books of a library as a reader sees them."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[str, _CachedBook] = {}
        self._titles: dict[str, tuple[object, dict[str, str]]] = {}
        # One book after another: making questions is work, and answers go first.
        self._one_at_a_time = asyncio.Lock()
        self._updating = asyncio.Lock()

    async def close(self) -> None:
        for known in self._known.values():
            known.suggesting.cancel()
        tasks = [known.suggesting for known in self._known.values()]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._known.clear()

    async def books(self, infos: list[BookInfo]) -> list[ShownBook]:
        """These books. Suggestions that take too long are left out this time."""
        async with self._updating:
            found = [await self._cached(info) for info in infos]
        if tasks := [known.suggesting for known in found]:
            await asyncio.wait(tasks, timeout=TIMEOUT_SECONDS)
        return [
            ShownBook(
                book_id=info.book_id,
                title=info.title,
                language=info.language,
                chunks=info.total_chunks,
                files=info.total_files,
                base_url=info.base_url or None,
                suggestions=_result(known.suggesting),
                **known.facets,
            )
            for info, known in zip(infos, found, strict=True)
        ]

    async def module_titles(self, book_id: str) -> dict[str, str]:
        """By the module's id."""
        recent = {book.book_id: book for book in await self.library.recent_books()}
        state = _state(recent[book_id]) if book_id in recent else None
        known, titles = self._titles.get(book_id, (None, {}))
        if known is None or known != state:
            titles = await self.library.known.module_titles(book_id)
            self._titles[book_id] = (state, titles)
        return titles

    async def _cached(self, book: BookInfo) -> _CachedBook:
        state = _state(book)
        known = self._known.get(book.book_id)
        if known is not None and known.state == state and not _has_failed(known.suggesting):
            return known
        if known is not None:
            known.suggesting.cancel()
        facets = await self._facets(book.book_id)
        suggesting = asyncio.create_task(self._suggest(book))
        self._known[book.book_id] = _CachedBook(state, facets, suggesting)
        return self._known[book.book_id]

    async def _suggest(self, book: BookInfo) -> list[str]:
        async with self._one_at_a_time:
            try:
                return list(await suggest(self.library, book))
            except BookError as problem:
                logger.warning("No questions for %s can be suggested: %s", book.book_id, problem)
                raise
            except Exception:
                logger.exception("No questions for %s can be suggested", book.book_id)
                raise

    async def _facets(self, book_id: str) -> dict[str, list[Any]]:
        """From the index, which counts the values of its fields without reading passages."""
        store = await self.library.store()

        async def choices(field: str, known: Collection[Any]) -> list[Any]:
            """A book that is no course has the same default on every page: nothing to choose."""
            values = await store.facet(field, book_filter(book_id))
            found = sorted(value for value in values if value in known)
            return found if len(found) > 1 else []

        present = set(await store.facet("module", book_filter(book_id)))
        titles = await self.library.known.module_titles(book_id)
        return {
            "modules": [Module(id=id, title=titles[id]) for id in titles if id in present],
            "hardware_tiers": await choices("hardware_tier", HARDWARE_TIERS),
            "proficiency_levels": await choices("proficiency_level", PROFICIENCY_LEVELS),
            "layers": await choices("layer", LAYERS),
        }


def _state(book: BookInfo) -> object:
    """Differs when the book has changed."""
    return (
        book.total_files,
        book.total_chunks,
        book.last_full_ingest,
        book.last_incremental_update,
    )


def _has_failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _result(task: asyncio.Task[list[str]]) -> list[str]:
    return task.result() if task.done() and not _has_failed(task) else []
