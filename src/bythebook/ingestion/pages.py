"""Files of a book on their way into the index: read, embedded, written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bythebook.embedding.embedder import Embedder
from bythebook.errors import BookError
from bythebook.index.qdrant_models import FieldCondition, Filter, MatchAny, PointStruct, Record
from bythebook.index.sparse import document_terms
from bythebook.index.store import (
    DENSE,
    SPARSE,
    VectorStore,
    all_points,
    book_filter,
    files_filter,
)
from bythebook.ingestion.plan import Due, noted_placement
from bythebook.models.chunk import (
    CHUNKER_VERSION,
    DocumentChunk,
    chunk_ids,
    neighbours,
    now,
    parent_id,
    payload_of,
)
from bythebook.models.job import IngestionJob, IngestionRecord
from bythebook.models.passage import chunk_of_payload, is_passage
from bythebook.reading.document import PLAIN, PageReader
from bythebook.reading.layout import Book
from bythebook.reading.placement import Placement
from bythebook.tracing import note, spanned

if TYPE_CHECKING:
    from bythebook.reading.metadata import Head


Vector = Sequence[float]
EmbeddingKey = tuple[str, ...]


@dataclass
class KnownPoints:
    """Points of a file that are in the index, and vectors of passages it shares with others."""

    points: dict[str, Record] = field(default_factory=dict)
    vectors: dict[EmbeddingKey, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class PageUpdate:
    """A file on its way into the index."""

    file: str
    due: Due
    file_hash: str
    chunks: tuple[DocumentChunk, ...]
    head: Head
    known: KnownPoints

    @property
    def missing(self) -> int:
        """Passages that must be embedded."""
        return sum(embedding_key(one) not in self.known.vectors for one in self.chunks)


@dataclass(frozen=True)
class Embedded:
    """Files with a vector for each of their passages."""

    pages: list[PageUpdate]
    vectors: dict[EmbeddingKey, Vector]


@dataclass
class PageWork:
    """What is done with each file. `tally` counts it. To recreate a book, nothing that the index
    has of it is used again; it is only replaced."""

    book: Book
    store: VectorStore
    embedder: Embedder
    tally: IngestionJob
    max_bytes: int
    reader: PageReader = PLAIN
    # Ids that were written by now.
    written: set[str] = field(default_factory=set)

    async def read(self, file: str, due: Due, *, is_new_book: bool) -> PageUpdate | None:
        """The file as it is now; None if it can't be read, which the tally notes. Of a new
        book the index has nothing yet."""
        if due.head and not is_new_book and (page := await self._renumbered(file, due, due.head)):
            return page
        try:
            found = await asyncio.to_thread(
                self.reader.read, self.book, file, due.placement, self.max_bytes
            )
        except BookError as problem:  # it could be read a moment ago, when the plan was made
            what = problem.message if file in problem.message else f"{file}: {problem.message}"
            self.tally.warnings.append(f"{what} It was skipped. {problem.action}")
            self.tally.files_failed += 1
            return None
        document = found.document
        self.tally.warnings += [f"{file}: {problem}" for problem in document.problems]
        known = KnownPoints()
        if not is_new_book:
            model = None if self._recreates else self.embedder.name
            known = await known_points(self.store, self.book.book_id, file, document.chunks, model)
        return PageUpdate(file, due, found.file_hash, document.chunks, found.head, known)

    @property
    def _recreates(self) -> bool:
        return self.tally.mode == "recreate"

    async def _renumbered(self, file: str, due: Due, head: Head) -> PageUpdate | None:
        """A file that only gets other numbers, from the index."""
        book_id = self.book.book_id
        known = await known_points(self.store, book_id, file, (), self.embedder.name)
        chunks = await asyncio.to_thread(renumbered, known, due.file_hash, book_id, due.placement)
        return PageUpdate(file, due, due.file_hash, chunks, head, known) if chunks else None

    @spanned("embed_batch")
    async def embed(self, pages: Sequence[PageUpdate]) -> Embedded:
        vectors: dict[EmbeddingKey, Vector] = {}
        missing: dict[EmbeddingKey, str] = {}
        for page in pages:
            for chunk in page.chunks:
                key = embedding_key(chunk)
                if key in page.known.vectors:
                    vectors[key] = page.known.vectors[key]
                else:
                    missing[key] = chunk.embedded_text
        missing = {key: text for key, text in missing.items() if key not in vectors}
        if missing:
            embedded = await self.embedder.embed_documents(list(missing.values()))
            vectors |= dict(zip(missing, (one.tolist() for one in embedded), strict=True))
            self.tally.chunks_embedded += len(missing)
            note(chunks=len(missing))
        return Embedded(list(pages), vectors)

    @spanned("write_batch")
    async def write(self, batch: Embedded) -> list[IngestionRecord]:
        """All files of a batch in one switch, since each costs the disk a moment; what the
        database shall know of them."""
        points = await asyncio.to_thread(self._points, batch)
        ids = {point.id for point in points}
        known = {old for page in batch.pages for old in page.known.points}
        # A renumbered neighbour, of another worker perhaps, may by now own an id that a file had.
        stale = sorted(known - ids - self.written)
        own = files_filter(self.book.book_id, [page.file for page in batch.pages])
        await self.store.replace(points, stale, durable=False, within=own)
        self.written |= ids
        self.tally.chunks_created += len(ids - known)
        self.tally.chunks_deleted += len(stale)
        self.tally.files_processed += len(batch.pages)
        return [self._record(page) for page in batch.pages]

    def _points(self, batch: Embedded) -> list[PointStruct]:
        written_at = now()
        return [
            make_point(
                chunk,
                batch.vectors[embedding_key(chunk)],
                model=self.embedder.name,
                language=self.book.language,
                previous=None if self._recreates else page.known.points.get(chunk.id),
                written_at=written_at,
            )
            for page in batch.pages
            for chunk in page.chunks
        ]

    def _record(self, page: PageUpdate) -> IngestionRecord:
        placement = page.due.placement
        return IngestionRecord(
            source_file=page.file,
            file_hash=page.file_hash,
            chunk_ids=[chunk.id for chunk in page.chunks],
            chunk_count=len(page.chunks),
            ingested_at=now(),
            chunker_version=CHUNKER_VERSION,
            book_id=self.book.book_id,
            module=placement.module,
            chapter=placement.chapter,
            lesson=placement.lesson,
            parent_doc_id=parent_id(placement.parent_key(self.book.book_id)),
            url=placement.url,
            head=page.head.to_json(),
            placement=noted_placement(self.book, placement),
            seen=page.due.seen if page.due.file_hash == page.file_hash else None,
        )


async def known_points(
    store: VectorStore,
    book_id: str,
    source_file: str,
    chunks: Sequence[DocumentChunk],
    model: str | None,
) -> KnownPoints:
    """What the index already has for this file: its own points, and equal passages elsewhere in
    the book (a renamed file need not be embedded again). Vectors only of this model, if any."""
    known = KnownPoints()
    wanted = [DENSE] if model is not None else False
    own = book_filter(book_id, source_file=source_file)
    for record in await all_points(store, own, with_vectors=wanted):
        # What is none of ours is only known to be there, so that it can go.
        known.points[record.id] = Record(id=record.id)
        if is_passage(record.id, record.payload):
            known.points[record.id] = record
            _remember(known, record, model)
    if model is None:
        return known
    missing = {
        chunk.metadata.content_hash for chunk in chunks if embedding_key(chunk) not in known.vectors
    }
    if missing:
        same = FieldCondition(key="content_hash", match=MatchAny(any=sorted(missing)))
        in_book = Filter(must=[*book_filter(book_id).must, same])
        for record in await all_points(store, in_book, with_vectors=[DENSE]):
            if is_passage(record.id, record.payload):
                _remember(known, record, model)
    return known


def embedding_key(chunk: DocumentChunk) -> EmbeddingKey:
    """Equal keys have equal vectors: everything the embedder sees."""
    return (*chunk.metadata.heading_path, chunk.text)


def _remember(known: KnownPoints, record: Record, model: str | None) -> None:
    payload = record.payload or {}
    vector = (record.vector or {}).get(DENSE)
    if payload.get("embedding_model") == model and isinstance(vector, Sequence):
        known.vectors[(*payload["heading_path"], payload["text"])] = vector


def make_point(
    chunk: DocumentChunk,
    vector: Vector,
    *,
    model: str,
    language: str,
    previous: Record | None,
    written_at: datetime,
) -> PointStruct:
    """The point of a chunk; one that was there before keeps its age and counts a version up."""
    payload = payload_of(chunk)
    stamp = written_at.isoformat()
    payload |= {
        "embedding_model": model,
        "chunker_version": CHUNKER_VERSION,
        "embedded_at": stamp,
        "created_at": stamp,
        "updated_at": stamp,
    }
    old: dict[str, Any] = (previous.payload or {}) if previous else {}
    if old:
        payload |= {
            "version": int(old["version"]) + 1,
            "created_at": old["created_at"],
            "embedded_at": old["embedded_at"],
        }
    terms = document_terms(chunk.embedded_text, language)
    return PointStruct(id=chunk.id, vector={DENSE: vector, SPARSE: terms}, payload=payload)


def renumbered(
    known: KnownPoints, file_hash: str, book_id: str, placement: Placement
) -> tuple[DocumentChunk, ...]:
    """The file's passages under its new numbers; none unless the index has all of them. It may
    lack one: another file with the same passage that got this file's old number overwrote it."""
    if not all(one.payload for one in known.points.values()):
        return ()
    kept = sorted(
        (chunk_of_payload(one.id, one.payload or {}) for one in known.points.values()),
        key=lambda chunk: chunk.metadata.chunk_index,
    )
    whole = all(
        (chunk.metadata.chunk_index, chunk.metadata.total_chunks) == (index, len(kept))
        and chunk.metadata.source_file_hash == file_hash
        for index, chunk in enumerate(kept)
    )
    if not whole:
        return ()
    ids = chunk_ids(placement.chunk_key(book_id), [one.metadata.content_hash for one in kept])
    shared: dict[str, Any] = {
        "module": placement.module,
        "chapter": placement.chapter,
        "lesson": placement.lesson,
        "parent_doc_id": parent_id(placement.parent_key(book_id)),
        "version": 1,  # of this id
    }
    return tuple(
        chunk.model_copy(
            update={
                "id": ids[index],
                "metadata": chunk.metadata.model_copy(update=shared | neighbours(ids, index)),
            }
        )
        for index, chunk in enumerate(kept)
    )
