"""Puts a book that somebody exported into the index."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from bythebook.errors import ConfigurationError, InputError
from bythebook.index.models import PointStruct
from bythebook.ingestion.points import book_filter
from bythebook.library import Library
from bythebook.models.book_id import check_book_id
from bythebook.models.chunk import CHUNKER_VERSION
from bythebook.models.state import IngestionRecord
from bythebook.moving.archive import (
    FILES,
    POINTS,
    VECTORS,
    Manifest,
    OnPassage,
    not_ours,
    opened,
    read_manifest,
)
from bythebook.moving.reading import PartReader


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
        reading = checked(archive, file, manifest)
        records = list(records_of(reading, manifest))
        store = await library.store()
        in_book = book_filter(book_id)
        async with library.locks.writing(book_id):
            await store.delete(in_book)
            await library.catalog.forget_book(book_id)
            try:
                done = 0
                for points in points_of(reading, manifest):
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


def checked(archive: zipfile.ZipFile, file: Path, manifest: Manifest) -> PartReader:
    """The parts of a file that is as it was written."""
    reading = PartReader(archive, lambda: not_ours(file))
    reading.check_digests((FILES, POINTS, VECTORS), manifest.sha256)
    return reading


def records_of(reading: PartReader, manifest: Manifest) -> Iterator[IngestionRecord]:
    for line in reading.lines(FILES):
        try:
            record = IngestionRecord.model_validate_json(line)
        except ValidationError as problem:
            raise reading.broken() from problem
        if record.book_id != manifest.book.book_id:
            raise reading.broken()
        yield record


def points_of(reading: PartReader, manifest: Manifest) -> Iterator[list[PointStruct]]:
    return reading.points(
        POINTS,
        VECTORS,
        book_id=manifest.book.book_id,
        dimension=manifest.book.dimension,
        passages=manifest.passages,
    )
