"""Which books a reader is told of, and how soon."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.errors import BookNotFound
from bythebook.ingestion import catalog as module
from bythebook.ingestion.catalog import Catalog

VALUES: dict[str, Any] = {
    "title": "A book",
    "embedding_model": "built-in",
    "dimension": 384,
    "chunker_version": 1,
    "language": "en",
    "collection_name": "textbook_chunks",
    "base_url": "",
    "source": "/books/one",
}


async def test_what_this_process_changes_is_seen_at_once(engine: AsyncEngine) -> None:
    catalog = Catalog(engine)
    assert await catalog.recent_books() == []
    await catalog.save_book("one", VALUES)
    assert [book.book_id for book in await catalog.recent_books()] == ["one"]
    await catalog.save_book("one", {"title": "Renamed"})
    assert (await catalog.recent_book("one")).title == "Renamed"
    await catalog.forget_book("one")
    assert await catalog.recent_books() == []
    with pytest.raises(BookNotFound):
        await catalog.recent_book("one")


async def test_what_another_process_changes_is_seen_soon(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RECENT_S", 3600.0)
    catalog, other = Catalog(engine), Catalog(engine)
    await catalog.save_book("one", VALUES)
    assert len(await catalog.recent_books()) == 1
    await other.save_book("one", {"title": "Renamed"})
    await other.save_book("two", VALUES)
    assert (await catalog.recent_book("one")).title == "A book"
    assert (await catalog.recent_book("two")).book_id == "two"  # a new one at once
    assert (await catalog.book("one")).title == "Renamed"
    monkeypatch.setattr(module, "RECENT_S", 0.0)
    assert (await catalog.recent_book("one")).title == "Renamed"
    assert len(await catalog.recent_books()) == 2
