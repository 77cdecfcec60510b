"""A passage as it was found, where it stands in the book, and how sure a set of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from bythebook.models.chunk import WORD, DocumentChunk, DocumentMetadata
from bythebook.models.values import FrozenModel

CUT = "…"


def excerpt(text: str, limit: int, shown: tuple[int, int] = (0, 0)) -> str:
    """At most `limit` characters: from the beginning, or from where `shown` begins if it would
    otherwise not be seen whole."""
    if len(text) <= limit:
        return text
    first, last = shown
    if last < limit:
        return text[: _last_word_end(text, limit) or limit - 1] + CUT
    rest = text[first:]
    if len(rest) < limit:
        return CUT + rest
    return CUT + rest[: _last_word_end(rest, limit - 1) or limit - 2] + CUT


def shortened(text: str, limit: int) -> str:
    """The text on one line; nothing at all if not even its first word has room."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = _last_word_end(line, limit)
    return line[:end] + CUT if end else ""


def _last_word_end(text: str, limit: int) -> int:
    """Where the last word ends that leaves room for the sign of the cut; 0 if none does."""
    ends = (word.end() for word in WORD.finditer(text, 0, limit))
    return max((end for end in ends if end < limit), default=0)


NO_TITLES: Mapping[str, str] = MappingProxyType({})


def label_of(place: DocumentMetadata, offset: int | None = None) -> str:
    """How a person names the place of a passage, or of a character in it: page, then section. In a
    file that is a whole book, the chapter stands between them."""
    section = place.section_title if offset is None else place.section_at(offset)
    headings = place.heading_path if offset is None else place.headings_at(offset)
    has_chapters = place.chapter_title in place.heading_path[1:2]
    chapter = headings[1] if has_chapters and len(headings) > 1 else None
    return " › ".join(dict.fromkeys(filter(None, (place.title, chapter, section))))


def path_of(place: DocumentMetadata, modules: Mapping[str, str] = NO_TITLES) -> list[str]:
    """Module, chapter, page and headings down to the passage, each name once. `modules` has the
    titles of modules; one without a title is left out. In a file that is a whole book, the chapter
    is one of its headings."""
    is_heading = place.chapter_title in place.heading_path[1:2]
    names = [
        modules.get(place.module),
        None if is_heading else place.chapter_title,
        place.title,
        *place.heading_path,
        place.section_title,
    ]
    path: dict[str, str] = {}
    for name in names:
        if name:
            path.setdefault(name.casefold(), name)
    return list(path.values())


_CHUNK_FIELDS = ("text", "word_count", "token_count", "char_count")
_METADATA_FIELDS = frozenset(DocumentMetadata.model_fields)


@dataclass(frozen=True)
class Passage:
    """A chunk and how well it fits a question. `score` never rises along a list; `cosine` and
    `bm25` are the raw evidence. A passage that was not searched for has no score."""

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


# What is raised where a payload is none of ours.
NO_CHUNK = (KeyError, TypeError, ValueError)


def chunk_of_payload(point_id: str, payload: dict[str, Any]) -> DocumentChunk:
    """The chunk back from what Qdrant keeps of it."""
    metadata = {name: value for name, value in payload.items() if name in _METADATA_FIELDS}
    metadata["spans"] = [{"start": a, "end": b, "at": at} for a, b, at in payload["spans"]]
    own = {name: payload[name] for name in _CHUNK_FIELDS}
    return DocumentChunk.model_validate({"id": point_id, "metadata": metadata, **own})


def is_passage(point_id: str, payload: dict[str, Any] | None) -> bool:
    """Whether a point is one of ours; others may write to a server."""
    try:
        chunk_of_payload(point_id, payload or {})
    except NO_CHUNK:
        return False
    return payload is not None and {"embedding_model", "embedded_at"} <= payload.keys()


ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]

# Mean score and number of passages each level takes, best first.
LEVELS: tuple[tuple[ConfidenceLevel, float, int], ...] = (
    ("high", 0.85, 5),
    ("medium", 0.75, 3),
    ("low", 0.60, 2),
)
TOLERANCE = 1e-6


def level_of(average: float, passages: int) -> ConfidenceLevel:
    for level, least_average, least_passages in LEVELS:
        if average >= least_average and passages >= least_passages:
            return level
    return "insufficient"


class ConfidenceMetrics(FrozenModel):
    """All on calibrated scores; level and decision follow from the others."""

    average_similarity: float = Field(ge=0, le=1)
    min_similarity: float = Field(ge=0, le=1)
    max_similarity: float = Field(ge=0, le=1)
    num_chunks: int = Field(ge=0)
    chunk_diversity: float = Field(ge=0, le=1)
    confidence_level: ConfidenceLevel
    should_answer: bool

    @model_validator(mode="after")
    def _follows_the_rules(self) -> Self:
        low, high = self.min_similarity - TOLERANCE, self.max_similarity + TOLERANCE
        if not low <= self.average_similarity <= high:
            raise ValueError("average_similarity is not between the least and the greatest")
        if self.confidence_level != level_of(self.average_similarity, self.num_chunks):
            raise ValueError("confidence_level does not follow from average and number of chunks")
        if self.should_answer != (self.confidence_level != "insufficient"):
            raise ValueError("should_answer does not follow from confidence_level")
        return self
