"""Writes a book's index to one file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO

from bythebook.errors import InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import Record, SparseVector
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import PAGE, book_filter
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.moving.archive import BOOK, FILES, FORMAT, POINTS, VECTORS, Manifest, OnPassage


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
                writing = _Writing(archive)
                passages = await writing.points(store, book, on_passage)
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


class _Writing:
    """Parts of a file, each with its digest."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.digests: dict[str, str] = {}

    async def points(self, store: VectorStore, book: BookInfo, on_passage: OnPassage) -> int:
        """Passages and vectors; a zip file takes one part at a time, so the store is read twice."""
        done = 0
        with self._part(POINTS) as write:
            async for record in _records(store, book.book_id, [SPARSE]):
                sparse = (record.vector or {})[SPARSE]
                assert isinstance(sparse, SparseVector)
                line = {
                    "id": record.id,
                    "payload": record.payload,
                    "indices": list(sparse.indices),
                    "values": list(sparse.values),
                }
                write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                done += 1
                on_passage(done, 2 * book.total_chunks)
        with self._part(VECTORS) as write:
            import numpy as np

            seen = 0
            async for record in _records(store, book.book_id, [DENSE]):
                write(np.asarray((record.vector or {})[DENSE], "<f4").tobytes())
                seen += 1
                on_passage(done + seen, 2 * book.total_chunks)
        return done

    def lines(self, name: str, lines: Iterator[str]) -> None:
        with self._part(name) as write:
            for line in lines:
                write(line.encode() + b"\n")

    def _part(self, name: str) -> _Part:
        return _Part(self, name)


class _Part:
    """One part while it is written."""

    def __init__(self, writing: _Writing, name: str) -> None:
        self.writing, self.name = writing, name
        self.digest = hashlib.sha256()

    def __enter__(self) -> Callable[[bytes], None]:
        self.stream: IO[bytes] = self.writing.archive.open(self.name, "w", force_zip64=True)

        def write(data: bytes) -> None:
            self.digest.update(data)
            self.stream.write(data)

        return write

    def __exit__(self, *_problem: object) -> None:
        self.stream.close()
        self.writing.digests[self.name] = self.digest.hexdigest()


async def _records(store: VectorStore, book_id: str, vectors: list[str]) -> AsyncIterator[Record]:
    """Every point of a book, ordered by id."""
    offset: str | None = None
    while True:
        with_payload = SPARSE in vectors
        page, offset = await store.scroll(
            book_filter(book_id), PAGE, offset, with_payload, with_vectors=vectors
        )
        for record in page:
            yield record
        if offset is None:
            return
