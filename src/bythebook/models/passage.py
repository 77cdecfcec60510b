"""A passage as it was found: the one type for it inside; the seeds' shapes are made at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bythebook.models.chunk import DocumentChunk, DocumentMetadata

_CHUNK_FIELDS = ("text", "word_count", "token_count", "char_count")
_METADATA_FIELDS = frozenset(DocumentMetadata.model_fields)


@dataclass(frozen=True)
class Passage:
    """A chunk and how well it fits a question. `score` is calibrated; `cosine` and `bm25` are the
    raw evidence. A passage that was not searched for has no score."""

    chunk: DocumentChunk
    embedding_model: str
    score: float = 0.0
    cosine: float = 0.0
    bm25: float = 0.0
    vector: tuple[float, ...] | None = None

    @property
    def id(self) -> str:
        return self.chunk.id

    @property
    def text(self) -> str:
        return self.chunk.text

    @property
    def metadata(self) -> DocumentMetadata:
        return self.chunk.metadata


def chunk_of_payload(point_id: str, payload: dict[str, Any]) -> DocumentChunk:
    """The chunk back from what Qdrant keeps of it."""
    metadata = {name: value for name, value in payload.items() if name in _METADATA_FIELDS}
    metadata["spans"] = [{"start": a, "end": b, "at": at} for a, b, at in payload["spans"]]
    own = {name: payload[name] for name in _CHUNK_FIELDS}
    return DocumentChunk.model_validate({"id": point_id, "metadata": metadata, **own})
