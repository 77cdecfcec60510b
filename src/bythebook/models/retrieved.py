"""What was retrieved for a question, as S0 and S4 show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bythebook.models.chunk import Sha256
from bythebook.models.confidence import LEVELS, TOLERANCE
from bythebook.models.passage import Passage

MAX_CHUNKS = 10
OPENAI_DIMENSION = 1536
_, _SUFFICIENT, _ = LEVELS

Score = Annotated[float, Field(ge=0, le=1)]


class ContextChunk(BaseModel):
    """S0's chunk of a context."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1)
    score: Score
    source_url: str = Field(min_length=1)
    source_file_path: str = Field(min_length=1)
    chunk_index: int = Field(ge=0)

    @classmethod
    def of(cls, passage: Passage) -> Self:
        place = passage.metadata
        return cls(
            content=passage.text,
            score=passage.score,
            source_url=place.url or place.source_file,
            source_file_path=place.source_file,
            chunk_index=place.chunk_index,
        )


class RetrievedContext(BaseModel):
    """S0's context. An empty retrieval has none: it is refused instead."""

    model_config = ConfigDict(extra="forbid")

    query: str
    chunks: list[ContextChunk] = Field(min_length=1)
    total_chunks_found: int = Field(ge=0)
    retrieval_time_ms: float = Field(ge=0)

    @classmethod
    def of(
        cls, passages: Sequence[Passage], query: str, total_found: int, milliseconds: float
    ) -> Self:
        return cls(
            query=query,
            chunks=[ContextChunk.of(passage) for passage in passages],
            total_chunks_found=total_found,
            retrieval_time_ms=milliseconds,
        )


class ChunkMetadata(BaseModel):
    """S4's metadata of a chunk."""

    model_config = ConfigDict(extra="forbid")

    chapter: str
    section: str
    url: str
    chunk_index: int = Field(ge=0)
    content_hash: Sha256

    @classmethod
    def of(cls, passage: Passage) -> Self:
        place = passage.metadata
        return cls(
            chapter=place.chapter_title or place.title,
            section=place.section_title or place.title,
            url=place.url,
            chunk_index=place.chunk_index,
            content_hash=place.content_hash,
        )


class RetrievalResult(BaseModel):
    """S4's result. Its 1536 dimensions are those of one embedder; here `dimension` says how many
    the configured one has."""

    model_config = ConfigDict(extra="forbid")

    chunks: list[str] = Field(max_length=MAX_CHUNKS)
    scores: list[Score]
    metadata: list[ChunkMetadata]
    average_score: Score
    has_sufficient_context: bool
    query_embedding: list[float]
    dimension: int = Field(default=OPENAI_DIMENSION, ge=1)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not len(self.chunks) == len(self.scores) == len(self.metadata):
            raise ValueError("chunks, scores and metadata are not equally many")
        if not math.isclose(self.average_score, mean(self.scores), abs_tol=TOLERANCE):
            raise ValueError("average_score is not the mean of the scores")
        if self.has_sufficient_context != is_sufficient(self.average_score, len(self.chunks)):
            raise ValueError("has_sufficient_context does not follow from score and number")
        if len(self.query_embedding) != self.dimension:
            raise ValueError(f"query_embedding has not {self.dimension} dimensions")
        return self

    @classmethod
    def of(cls, passages: Sequence[Passage], query_embedding: Sequence[float]) -> Self:
        """Of passages with the same text the best stays, and the best ten of all."""
        best: dict[str, Passage] = {}
        for passage in sorted(passages, key=lambda passage: -passage.score):
            best.setdefault(passage.metadata.content_hash, passage)
        kept = list(best.values())[:MAX_CHUNKS]
        average = mean([passage.score for passage in kept])
        return cls(
            chunks=[passage.text for passage in kept],
            scores=[passage.score for passage in kept],
            metadata=[ChunkMetadata.of(passage) for passage in kept],
            average_score=average,
            has_sufficient_context=is_sufficient(average, len(kept)),
            query_embedding=list(query_embedding),
            dimension=len(query_embedding),
        )


def mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0


def is_sufficient(average: float, chunks: int) -> bool:
    """S4's rule is that of medium confidence."""
    _, least_average, least_chunks = _SUFFICIENT
    return average >= least_average and chunks >= least_chunks
