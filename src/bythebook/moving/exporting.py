"""Writes a book's index to one file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import Record
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import PAGE, book_filter
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.moving.archive import BOOK, FILES, FORMAT, POINTS, VECTORS, Manifest, OnPassage
from bythebook.moving.writing import PartWriter, whole_archive


async def export_book(
    library: Library, book_id: str, file: Path, on_passage: OnPassage = lambda _done, _all: None
) -> Manifest:
    """Write the book to the file, which appears only when it is whole."""
    book = await library.book(book_id)
    store = await library.store()
    with whole_archive(file) as archive:
        # Nobody may change the book between its first passage and its last.
        async with library.locks.writing(book_id):
            state = await library.catalog.state(book_id, library.settings.collection)
            writing = PartWriter(archive)
            records = _records(store, book, on_passage)
            passages = await writing.points(POINTS, VECTORS, records)
            writing.lines(FILES, (each.model_dump_json() for each in state.records.values()))
        manifest = Manifest(
            format=FORMAT,
            book=book,
            background=book.background,
            passages=passages,
            files=len(state.records),
            sha256=writing.digests,
        )
        archive.writestr(BOOK, manifest.model_dump_json(indent=2))
    return manifest


async def _records(
    store: VectorStore, book: BookInfo, on_passage: OnPassage
) -> AsyncIterator[Record]:
    """Every point of a book, ordered by id."""
    offset: str | None = None
    done = 0
    while True:
        page, offset = await store.scroll(
            book_filter(book.book_id), PAGE, offset, True, [DENSE, SPARSE]
        )
        for record in page:
            yield record
        done += len(page)
        on_passage(done, book.total_chunks)
        if offset is None:
            return
