"""Writes a book's index to one file."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

from bythebook.errors import InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import Record
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import PAGE, book_filter
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.moving.archive import BOOK, FILES, FORMAT, POINTS, VECTORS, Manifest, OnPassage
from bythebook.moving.writing import PartWriter


async def export_book(
    library: Library, book_id: str, file: Path, on_passage: OnPassage = lambda _done, _all: None
) -> Manifest:
    """Write the book to the file, which appears only when it is whole."""
    book = await library.book(book_id)
    if await asyncio.to_thread(file.exists):
        raise InputError(f"{file} is there already.", action="Name another file, or remove it.")
    store = await library.store()
    unfinished = file.with_name(f"{file.name}.part")
    try:
        # Nobody may change the book between its first passage and its last.
        async with library.locks.writing(book_id):
            state = await library.catalog.state(book_id, library.settings.collection)
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
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
        unfinished.rename(file)
    except OSError as problem:
        raise InputError(
            f"{file} can't be written: {problem.strerror}.", action="Choose another place."
        ) from problem
    finally:
        unfinished.unlink(missing_ok=True)
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
