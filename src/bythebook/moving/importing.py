"""Puts a book that somebody exported into the index."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bythebook.errors import ConfigurationError, InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import PointStruct, SparseVector
from bythebook.ingestion.points import PAGE, book_filter
from bythebook.library import Library
from bythebook.models.chunk import CHUNKER_VERSION
from bythebook.models.passage import chunk_of_payload
from bythebook.models.state import IngestionRecord
from bythebook.moving.archive import (
    DAMAGED,
    FILES,
    LONGEST_LINE,
    POINTS,
    VECTORS,
    Manifest,
    OnPassage,
    not_ours,
    opened,
    read_manifest,
)
from bythebook.reading.layout import check_book_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BYTES_OF_FLOAT = 4
# Kept by the database itself, or different where the book goes.
NOT_STORED = {"book_id", "total_chunks", "total_files", "collection_name"}


async def import_book(
    library: Library,
    file: Path,
    *,
    replace: bool = False,
    on_passage: OnPassage = lambda _done, _all: None,
) -> Manifest:
    """Put the book of a file into the index. Either all of it is there afterwards or none."""
    with opened(file) as archive:
        manifest = read_manifest(archive, file)
        book_id = check_book_id(manifest.book.book_id)
        _check_fits(library, manifest)
        known = {book.book_id for book in await library.books()}
        if book_id in known and not replace:
            raise InputError(
                f"The index has a book {book_id} already.",
                action="Give --replace to put this one in its place.",
            )
        reading = _Reading(archive, file, manifest)
        reading.check_digests()
        records = list(reading.records())
        store = await library.store()
        in_book = book_filter(book_id)
        async with library.locks.writing(book_id):
            await store.delete(in_book)
            await library.catalog.forget_book(book_id)
            try:
                done = 0
                for points in reading.points():
                    await store.replace(points, [], durable=False)
                    done += len(points)
                    on_passage(done, manifest.passages)
                await store.flush()
                values = manifest.book.model_dump(
                    exclude={"book_id", "total_chunks", "total_files"}
                )
                background = manifest.background.model_dump() if manifest.background else None
                values |= {"collection_name": library.settings.collection, "background": background}
                await library.catalog.save_book(book_id, values)
                await library.catalog.save_files(records)
            except BaseException:
                await store.delete(in_book)
                await library.catalog.forget_book(book_id)
                raise
    return manifest


def _stored(library: Library, manifest: Manifest) -> dict[str, Any]:
    background = manifest.background.model_dump() if manifest.background else None
    return {
        **manifest.book.model_dump(exclude=NOT_STORED),
        "collection_name": library.settings.collection,
        "background": background,
    }


def _check_fits(library: Library, manifest: Manifest) -> None:
    book = manifest.book
    if (book.embedding_model, book.dimension) != (
        library.embedder.name,
        library.embedder.dimension,
    ):
        raise ConfigurationError(
            f"The book was indexed with {book.embedding_model}, and the embedder here is "
            f"{library.embedder.name}.",
            action="Set BYTHEBOOK_EMBEDDER to the same, or ingest the book's own files.",
        )
    if book.chunker_version != CHUNKER_VERSION:
        raise ConfigurationError(
            f"The book was cut into passages by version {book.chunker_version}, and this "
            f"bythebook has version {CHUNKER_VERSION}.",
            action="Export it again with the same version of bythebook.",
        )


class _Reading:
    """The parts of a file, believed only as far as they are checked."""

    def __init__(self, archive: zipfile.ZipFile, file: Path, manifest: Manifest) -> None:
        self.archive, self.file, self.manifest = archive, file, manifest

    def check_digests(self) -> None:
        """Before anything is written: a file that was damaged on the way is refused as a whole."""
        try:
            for name in (FILES, POINTS, VECTORS):
                digest = hashlib.sha256()
                with self.archive.open(name) as part:
                    while data := part.read(2**20):
                        digest.update(data)
                if digest.hexdigest() != self.manifest.sha256.get(name):
                    raise not_ours(self.file)
        except DAMAGED as problem:
            raise not_ours(self.file) from problem

    def records(self) -> Iterator[IngestionRecord]:
        for line in self._lines(FILES):
            try:
                record = IngestionRecord.model_validate_json(line)
            except ValidationError as problem:
                raise not_ours(self.file) from problem
            if record.book_id != self.manifest.book.book_id:
                raise not_ours(self.file)
            yield record

    def points(self) -> Iterator[list[PointStruct]]:
        """In pages, each passage checked as if it had just been read from the book."""
        import numpy as np

        size = self.manifest.book.dimension * BYTES_OF_FLOAT
        page: list[PointStruct] = []
        total = 0
        with self.archive.open(VECTORS) as vectors:
            for line in self._lines(POINTS):
                data = vectors.read(size)
                if len(data) != size:
                    raise not_ours(self.file)
                page.append(self._point(line, np.frombuffer(data, "<f4")))
                total += 1
                if len(page) == PAGE:
                    yield page
                    page = []
            if vectors.read(1) or total != self.manifest.passages:
                raise not_ours(self.file)
        if page:
            yield page

    def _point(self, line: bytes, vector: NDArray[np.float32]) -> PointStruct:
        import numpy as np

        try:
            entry: dict[str, Any] = json.loads(line)
            chunk = chunk_of_payload(entry["id"], entry["payload"])
            sparse = SparseVector(
                indices=[int(index) for index in entry["indices"]],
                values=[float(value) for value in entry["values"]],
            )
        except (*DAMAGED, TypeError, AttributeError, ArithmeticError) as problem:
            raise not_ours(self.file) from problem
        is_ours = chunk.metadata.book_id == self.manifest.book.book_id
        if (
            not is_ours
            or not np.isfinite(vector).all()
            or len(sparse.indices) != len(sparse.values)
        ):
            raise not_ours(self.file)
        return PointStruct(
            id=chunk.id, vector={DENSE: vector.tolist(), SPARSE: sparse}, payload=entry["payload"]
        )

    def _lines(self, name: str) -> Iterator[bytes]:
        with self.archive.open(name) as part:
            while line := part.readline(LONGEST_LINE):
                if not line.endswith(b"\n"):
                    raise not_ours(self.file)
                yield line
