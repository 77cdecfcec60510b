"""Which books a reader is told of, and how soon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bythebook.database.engine import Database
from bythebook.errors import BookNotFound
from bythebook.ingestion import catalog as module
from bythebook.ingestion.catalog import Catalog, KnownBooks
from bythebook.models.chunk import BookInfo, now

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


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


async def test_what_this_process_changes_is_seen_at_once(database: Database) -> None:
    known = KnownBooks(database)
    catalog = Catalog(known)
    assert await known.recent() == []
    await catalog.save_book("one", VALUES)
    assert [book.book_id for book in await known.recent()] == ["one"]
    await catalog.save_book("one", {"title": "Renamed"})
    assert (await known.get_recent("one")).title == "Renamed"
    await catalog.forget_book("one")
    assert await known.recent() == []
    with pytest.raises(BookNotFound):
        await known.get_recent("one")


async def test_what_another_process_changes_is_seen_soon(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RECENT_S", 3600.0)
    known = KnownBooks(database)
    catalog, other = Catalog(known), Catalog(KnownBooks(database))
    await catalog.save_book("one", VALUES)
    assert len(await known.recent()) == 1
    await other.save_book("one", {"title": "Renamed"})
    await other.save_book("two", VALUES)
    assert (await known.get_recent("one")).title == "A book"
    assert (await known.get_recent("two")).book_id == "two"  # a new one at once
    assert (await known.get("one")).title == "Renamed"
    monkeypatch.setattr(module, "RECENT_S", 0.0)
    assert (await known.get_recent("one")).title == "Renamed"
    assert len(await known.recent()) == 2


async def test_a_book_is_told_as_it_was_saved(database: Database) -> None:
    known = KnownBooks(database)
    then = now()
    background = {"passages": 3, "evidence": [(0.5, 0.25, 0.0)]}
    times = {"last_full_ingest": then, "last_incremental_update": None}
    await Catalog(known).save_book("one", {**VALUES, **times, "background": background})
    told = BookInfo.model_validate(
        {**VALUES, **times, "book_id": "one", "total_files": 0, "total_chunks": 0}
        | {"background": background}
    )
    assert await known.get("one") == told
