"""From chunks to points of the index and back: what is reused, and what the index was made with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bythebook.embedding.embedder import Embedder
from bythebook.errors import ConfigurationError
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    MatchAny,
    MatchValue,
    PointStruct,
    Record,
)
from bythebook.index.sparse import document_terms
from bythebook.index.store import DENSE, SPARSE, VectorStore
from bythebook.models.chunk import CHUNKER_VERSION, BookInfo, DocumentChunk, payload_of
from bythebook.models.passage import NO_CHUNK, chunk_of_payload
from bythebook.models.values import IngestionMode

PAGE = 256

Vector = Sequence[float]
EmbeddingKey = tuple[str, ...]


@dataclass
class KnownPoints:
    """Points of a file that are in the index, and vectors of passages it shares with others."""

    points: dict[str, Record] = field(default_factory=dict)
    vectors: dict[EmbeddingKey, Vector] = field(default_factory=dict)


def book_filter(book_id: str, **equal: str) -> Filter:
    """Points of one book; there is no way to ask for points of any book."""
    conditions = {"book_id": book_id, **equal}
    return Filter(
        must=[
            FieldCondition(key=key, match=MatchValue(value=value))
            for key, value in conditions.items()
        ]
    )


def files_filter(book_id: str, source_files: Sequence[str]) -> Filter:
    """Points of any of these files of a book."""
    of_files = FieldCondition(key="source_file", match=MatchAny(any=sorted(source_files)))
    return Filter(must=[*(book_filter(book_id).must or []), of_files])


async def all_points(
    store: VectorStore, selection: Filter, *, vectors: bool = False
) -> list[Record]:
    found: list[Record] = []
    offset: str | None = None
    while True:
        page, offset = await store.scroll(
            selection, PAGE, offset, with_vectors=[DENSE] if vectors else False
        )
        found += page
        if offset is None:
            return found


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
    own = book_filter(book_id, source_file=source_file)
    for record in await all_points(store, own, vectors=model is not None):
        # What is none of ours is only known to be there, so that it can go.
        known.points[record.id] = Record(id=record.id)
        if is_ours(record):
            known.points[record.id] = record
            _remember(known, record, model)
    if model is None:
        return known
    missing = {
        chunk.metadata.content_hash for chunk in chunks if embedding_key(chunk) not in known.vectors
    }
    if missing:
        same = FieldCondition(key="content_hash", match=MatchAny(any=sorted(missing)))
        in_book = book_filter(book_id).must or []
        for record in await all_points(store, Filter(must=[*in_book, same]), vectors=True):
            if is_ours(record):
                _remember(known, record, model)
    return known


def embedding_key(chunk: DocumentChunk) -> EmbeddingKey:
    """Equal keys have equal vectors: everything the embedder sees."""
    return (*chunk.metadata.heading_path, chunk.text)


def is_ours(record: Record) -> bool:
    """Whether it is a passage; others may write to a server."""
    payload = record.payload or {}
    try:
        chunk_of_payload(record.id, payload)
    except NO_CHUNK:
        return False
    return {"embedding_model", "embedded_at"} <= payload.keys()


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


def check_stamp(
    known: BookInfo | None, mode: IngestionMode, embedding_model: str, collection: str
) -> None:
    """Vectors of two embedders never stand in one book, nor chunks of a newer chunker."""
    if known is None or mode == "recreate":
        return
    if known.embedding_model != embedding_model:
        raise ConfigurationError(
            f"{known.book_id} was indexed with {known.embedding_model}, and the embedder is "
            f"now {embedding_model}.",
            action="Run the same command with --mode recreate, or set BYTHEBOOK_EMBEDDER back.",
        )
    if known.collection_name != collection:
        raise ConfigurationError(
            f"{known.book_id} is in the collection {known.collection_name}, and the setting "
            f"is now {collection}.",
            action="Run the same command with --mode recreate, or set QDRANT_COLLECTION_NAME back.",
        )
    if known.chunker_version > CHUNKER_VERSION:
        raise ConfigurationError(
            f"{known.book_id} was indexed by a newer bythebook (chunks of version "
            f"{known.chunker_version}, and this one makes {CHUNKER_VERSION}).",
            action="Upgrade bythebook (`pip install --upgrade bythebook`), or run the same command "
            "with --mode recreate.",
        )


def can_stay(known: BookInfo | None, embedder: Embedder, collection: str) -> bool:
    """Whether what is stored of a book can be searched, and so stays until each of its files is
    replaced."""
    if known is None:
        return True
    stamp = (known.embedding_model, known.dimension, known.collection_name)
    return stamp == (embedder.name, embedder.dimension, collection)


def is_outdated(known: BookInfo | None) -> bool:
    """Whether an earlier version cut the book."""
    return known is not None and known.chunker_version < CHUNKER_VERSION


def cut_anew(book_id: str) -> str:
    """What becomes of such a book, in one line."""
    return (
        f"{book_id} was cut into passages by an earlier version of bythebook, so every file is "
        "read again."
    )


def check_alone(books: Iterable[BookInfo], collection: str, dimension: int) -> None:
    """Refuse to drop a collection of another dimension that holds more than the book which is to
    be made anew."""
    kept = [
        book.book_id
        for book in books
        if book.collection_name == collection and book.dimension != dimension
    ]
    if len(kept) > 1:
        raise ConfigurationError(
            f"The index holds other vectors for the books {', '.join(kept)}.",
            action="Give this book an index of its own with QDRANT_COLLECTION_NAME, or remove "
            "the others with `bythebook books --remove ID`.",
        )
