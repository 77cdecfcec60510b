"""Files whose passages are not in the index any more, though the database says so."""

from __future__ import annotations

from bythebook.index.store import VectorStore
from bythebook.ingestion.catalog import Catalog
from bythebook.ingestion.points import book_filter


async def forget_missing_files(store: VectorStore, catalog: Catalog, collection: str) -> int:
    """After a rebuild: the next ingest reads again what was lost. Returns how many files."""
    forgotten = 0
    for book in await catalog.known.all():
        if book.collection_name != collection:
            continue
        indexed = await store.facet("source_file", book_filter(book.book_id), limit=1_000_000)
        state = await catalog.state(book.book_id, collection)
        lost = [
            file
            for file, record in state.records.items()
            if indexed.get(file, 0) != record.chunk_count
        ]
        if lost:
            await catalog.doubt(book.book_id, lost)
        for file in lost:
            await catalog.forget_file(book.book_id, file)
        forgotten += len(lost)
    return forgotten
