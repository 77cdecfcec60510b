"""Export and import of one book, with its vectors, as one file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import ConfigurationError, InputError
from bythebook.index.qdrant_models import PointStruct, Record
from bythebook.index.store import DENSE, SPARSE, VectorStore, book_filter, point_pages
from bythebook.library import Library
from bythebook.models.chunk import CHUNKER_VERSION, Background, BookInfo
from bythebook.models.job import IngestionRecord
from bythebook.models.values import check_book_id
from bythebook.moving.file_parts import PartReader, PartWriter, whole_archive

FORMAT = 1
BOOK, FILES, POINTS, VECTORS = "book.json", "files.jsonl", "points.jsonl", "vectors.f32"
PARTS = (FILES, POINTS, VECTORS)

OnPassage = Callable[[int, int], None]


class ArchiveManifest(BaseModel):
    """What the file holds; `sha256` are the digests of its other parts."""

    format: int
    book: BookInfo
    background: Background | None = None
    passages: int = Field(ge=0)
    files: int = Field(ge=0)
    sha256: dict[str, str]


def read_archive_manifest(reader: PartReader) -> ArchiveManifest:
    manifest = reader.manifest(BOOK, ArchiveManifest)
    if set(reader.archive.namelist()) != {BOOK, *PARTS}:
        raise reader.broken()
    if manifest.format != FORMAT:
        raise InputError(
            f"{reader.file} has the format {manifest.format}, and this bythebook reads {FORMAT}.",
            action="Update bythebook, or export the book again.",
        )
    return manifest


def open_export(file: Path) -> PartReader:
    return PartReader(file, lambda: not_ours(file))


def not_ours(file: Path) -> InputError:
    return InputError(
        f"{file} is not a complete export of bythebook.",
        action="Get it again, or make it with `bythebook export BOOK FILE`.",
    )


async def export_book(
    library: Library, book_id: str, file: Path, on_passage: OnPassage = lambda _done, _all: None
) -> ArchiveManifest:
    """Write the book to the file, which appears only when it is whole."""
    book = await library.book(book_id)
    store = await library.store()
    with whole_archive(file, library.settings.disk_reserve) as archive:
        # Nobody may change the book between its first passage and its last.
        async with library.locks.writing(book_id):
            state = await library.catalog.state(book_id, library.settings.collection)
            writing = PartWriter(archive)
            records = _records(store, book, on_passage)
            passages = await writing.points(POINTS, VECTORS, records)
            writing.lines(FILES, (each.model_dump_json() for each in state.records.values()))
        manifest = ArchiveManifest(
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
    done = 0
    async for page in point_pages(store, book_filter(book.book_id), with_vectors=[DENSE, SPARSE]):
        for record in page:
            yield record
        done += len(page)
        on_passage(done, book.total_chunks)


async def import_book(
    library: Library,
    file: Path,
    *,
    replace: bool = False,
    on_passage: OnPassage = lambda _done, _all: None,
) -> ArchiveManifest:
    """Put the book of a file into the index. Either all of it is there afterwards or none."""
    with open_export(file) as reader:
        manifest = read_archive_manifest(reader)
        book_id = check_book_id(manifest.book.book_id)
        _check_fits(library, manifest)
        known = {book.book_id for book in await library.books()}
        if book_id in known and not replace:
            raise InputError(
                f"The index has a book {book_id} already.",
                action="Use --replace to replace it.",
            )
        reader.check_digests(PARTS, manifest.sha256)
        records = list(records_of(reader, manifest))
        store = await library.store()
        in_book = book_filter(book_id)
        async with library.locks.writing(book_id):
            await store.delete(in_book)
            await library.catalog.forget_book(book_id)
            try:
                done = 0
                for points in points_of(reader, manifest):
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


def _check_fits(library: Library, manifest: ArchiveManifest) -> None:
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


def points_of(reading: PartReader, manifest: ArchiveManifest) -> Iterator[list[PointStruct]]:
    return reading.points(
        POINTS,
        VECTORS,
        book_id=manifest.book.book_id,
        dimension=manifest.book.dimension,
        passages=manifest.passages,
    )


def records_of(reading: PartReader, manifest: ArchiveManifest) -> Iterator[IngestionRecord]:
    for line in reading.lines(FILES):
        try:
            record = IngestionRecord.model_validate_json(line)
        except ValidationError as problem:
            raise reading.broken() from problem
        if record.book_id != manifest.book.book_id:
            raise reading.broken()
        yield record
