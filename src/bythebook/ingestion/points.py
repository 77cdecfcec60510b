"""From chunks to points of the index and back: what is reused, what must be embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import (
    FieldCondition,
    Filter,
    MatchAny,
    MatchValue,
    PointStruct,
    Record,
    SparseVector,
)
from bythebook.index.sparse import document_terms
from bythebook.index.store import VectorStore
from bythebook.models.chunk import CHUNKER_VERSION, DocumentChunk, payload_of

PAGE = 256

Vector = Sequence[float]
EmbeddingKey = tuple[str, ...]


@dataclass
class Known:
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
    store: VectorStore, book_id: str, source_file: str, chunks: Sequence[DocumentChunk], model: str
) -> Known:
    """What the index already has for this file: its own points, and equal passages elsewhere in
    the book (a renamed file need not be embedded again)."""
    known = Known()
    for record in await all_points(
        store, book_filter(book_id, source_file=source_file), vectors=True
    ):
        known.points[record.id] = record
        _remember(known, record, model)
    missing = {
        chunk.metadata.content_hash for chunk in chunks if embedding_key(chunk) not in known.vectors
    }
    if missing:
        same = FieldCondition(key="content_hash", match=MatchAny(any=sorted(missing)))
        in_book = book_filter(book_id).must or []
        for record in await all_points(store, Filter(must=[*in_book, same]), vectors=True):
            _remember(known, record, model)
    return known


def embedding_key(chunk: DocumentChunk) -> EmbeddingKey:
    """Equal keys have equal vectors: everything the embedder sees."""
    return (*chunk.metadata.heading_path, chunk.text)


def _remember(known: Known, record: Record, model: str) -> None:
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
    return PointStruct(
        id=chunk.id,
        vector={
            DENSE: vector,
            SPARSE: SparseVector(indices=terms.indices, values=terms.values),
        },
        payload=payload,
    )
