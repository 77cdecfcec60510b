"""A search request and its response, as they enter and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    computed_field,
    model_validator,
)

from bythebook.models.chunk import Uuid, now
from bythebook.models.passage import Passage, level_of, path_of
from bythebook.models.values import (
    HARDWARE_TIERS,
    ProficiencyLevel,
    TeachingLayer,
    UtcDatetime,
    or_null,
)

MIN_QUERY = 3
MAX_QUERY = 2000
MAX_RESULTS = 20
# Beyond any book, and within what the index can compare.
MAX_NUMBER = 1_000_000


def has_words(text: str) -> bool:
    """Whether there is anything in it that a search can look for."""
    return any(character.isalnum() for character in text)


def _searchable(text: str) -> str:
    if not has_words(text):
        raise ValueError("has no words")
    return text


SearchText = Annotated[
    str, Field(min_length=MIN_QUERY, max_length=MAX_QUERY), AfterValidator(_searchable)
]


class SearchFilters(BaseModel):
    """Where to look; every given filter must match. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, strict=True)

    # The highest tier excludes nothing.
    hardware_tier_filter: int = Field(
        default=HARDWARE_TIERS[-1], ge=1, le=4, description="This tier or lower."
    )
    module_filter: str | None = None
    chapter_min: int | None = Field(default=None, ge=0, le=MAX_NUMBER)
    chapter_max: int | None = Field(default=None, ge=0, le=MAX_NUMBER)
    lesson_filter: int | None = Field(default=None, ge=0, le=MAX_NUMBER)
    proficiency_levels: list[ProficiencyLevel] | None = Field(default=None, min_length=1)
    layer_filter: TeachingLayer | None = None
    parent_doc_id: Uuid | None = None
    prefix: str | None = Field(
        default=None, min_length=1, description="Start of the page's path or address."
    )

    @model_validator(mode="after")
    def _chapters_in_order(self) -> Self:
        low, high = self.chapter_min, self.chapter_max
        if low is not None and high is not None and low > high:
            raise ValueError("chapter_min is above chapter_max")
        return self


class SearchQuery(SearchFilters):
    """What to look for, in which book, and where in it."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"text": "message types", "limit": 3}},
    )

    # A chat calls it its message.
    text: SearchText = Field(validation_alias=AliasChoices("text", "message"))
    book_id: str = Field(
        default="physical-ai-robotics",
        json_schema_extra=or_null,
        description="Default over HTTP: the only book, or the configured one.",
    )
    hardware_tier_filter: int = Field(default=1, ge=1, le=4, description="This tier or lower.")
    limit: int = Field(default=5, ge=1, le=MAX_RESULTS)

    @model_validator(mode="before")
    @classmethod
    def _null_names_no_book(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("book_id", "") is None:
            return {name: value for name, value in given.items() if name != "book_id"}
        return given

    @property
    def filters(self) -> SearchFilters:
        """Where to look, without what to look for."""
        chosen = self.model_dump(include=set(SearchFilters.model_fields))
        return SearchFilters.model_validate(chosen)


class PassageEntry(BaseModel):
    """A passage of the book and its place."""

    id: str
    text: str
    source_file: str
    section_title: str | None
    module: str
    chapter: int
    lesson: int
    hardware_tier: int
    proficiency_level: str
    layer: str
    chunk_index: int
    total_chunks: int
    parent_doc_id: str | None
    prev_chunk_id: str | None
    next_chunk_id: str | None
    content_hash: str | None
    title: str
    chapter_title: str
    heading_path: list[str]
    url: str
    spans: list[tuple[int, int, int]]

    @classmethod
    def of(cls, passage: Passage, **more: Any) -> Self:
        place = passage.metadata
        fields = place.model_dump(include=set(PassageEntry.model_fields) - {"spans"})
        spans = [(span.start, span.end, span.at) for span in place.spans]
        return cls(id=passage.id, text=passage.text, spans=spans, **fields, **more)


class SearchResult(PassageEntry):
    """A passage that was found, with the address and the raw evidence beside it."""

    score: float = Field(ge=0, le=1)
    cosine: float
    bm25: float

    @classmethod
    def of(cls, passage: Passage, **more: Any) -> Self:
        evidence = {"score": passage.score, "cosine": passage.cosine, "bm25": passage.bm25}
        return super().of(passage, **evidence, **more)


class SearchResponse(BaseModel):
    """Results, best first, and how the search went."""

    query: str
    results: list[SearchResult]
    total_found: int = Field(ge=0, description="Passages that the filters leave to be searched.")
    hardware_tier_filter: int
    module_filter: str | None
    book_id: str
    filter_applied: str | None = Field(default=None, description="The prefix of pages, if any.")
    retrieved_at: UtcDatetime = Field(default_factory=now)
    retrieval_time_ms: float = Field(ge=0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def average_score(self) -> float:
        """The mean score of the results."""
        scores = [result.score for result in self.results]
        return min(sum(scores) / len(scores), 1.0) if scores else 0.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def has_sufficient_context(self) -> bool:
        """At least three results of a mean of .75: medium confidence or better."""
        return level_of(self.average_score, len(self.results)) in ("high", "medium")

    @classmethod
    def of(
        cls, query: SearchQuery, passages: Sequence[Passage], total: int, milliseconds: float
    ) -> Self:
        return cls(
            query=query.text,
            results=[SearchResult.of(passage) for passage in passages],
            total_found=total,
            hardware_tier_filter=query.hardware_tier_filter,
            module_filter=query.module_filter,
            book_id=query.book_id,
            filter_applied=query.prefix,
            retrieval_time_ms=round(milliseconds, 3),
        )

    @model_validator(mode="after")
    def _best_first(self) -> Self:
        scores = [result.score for result in self.results]
        if scores != sorted(scores, reverse=True):
            raise ValueError("results are not ordered by score")
        return self


class ContextPassage(PassageEntry):
    """A passage as it is shown to a reader."""

    path: list[str] = Field(description="Module, chapter, page and headings above the passage.")
    html: str | None = Field(
        default=None,
        description="The text as safe HTML, if requested; the cited words are in `mark`.",
    )
    has_file: bool = Field(
        default=False, description="Whether `GET /source/{chunk_id}` has its PDF for this caller."
    )

    @classmethod
    def shown(
        cls,
        passage: Passage,
        modules: Mapping[str, str],
        html: str | None = None,
        *,
        has_file: bool = False,
    ) -> Self:
        path = path_of(passage.metadata, modules)
        return cls.of(passage, path=path, html=html, has_file=has_file)


class ContextResponse(BaseModel):
    """A passage with those around it, in reading order."""

    book_id: str
    chunk_id: str
    passages: list[ContextPassage]


class LessonResponse(BaseModel):
    """Every passage of a lesson, in reading order."""

    book_id: str
    parent_doc_id: str
    title: str
    url: str
    html: str | None = Field(
        default=None,
        description="The whole text as safe HTML, if requested; the cited words are in `mark`.",
    )
    passages: list[PassageEntry]
