"""A citation as it leaves: S0's fields, and exactly where the quoted text stands."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bythebook.models.answer import Citation
from bythebook.models.excerpt import excerpt
from bythebook.models.identity import AnyUuid

MAX_PREVIEW = 200
BETWEEN = " … "  # what `Citation.quote` puts between stretches


class CitationEntry(BaseModel):
    """What `[number]` in the text points to. All that is quoted stands in `[start:end]` of the
    passage; `quote` joins its `stretches`. Each of `source_spans` is a range of the source file."""

    model_config = ConfigDict(extra="forbid")

    id: AnyUuid
    source_file_path: str = Field(min_length=1)
    source_url: str
    chapter: str
    page_number: int | None = Field(default=None, ge=1)
    text_preview: str = Field(min_length=1, max_length=MAX_PREVIEW)
    confidence_score: float = Field(ge=0, le=1)

    number: int = Field(ge=1)
    section: str | None = None
    quote: str = Field(min_length=1)
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    stretches: list[tuple[int, int]] = Field(min_length=1)
    source_spans: list[tuple[int, int]]
    passage_id: AnyUuid

    @model_validator(mode="after")
    def _offsets_fit(self) -> Self:
        offsets = [offset for stretch in self.stretches for offset in stretch]
        if offsets != sorted(set(offsets)) or (offsets[0], offsets[-1]) != (self.start, self.end):
            raise ValueError("the stretches are not in order between start and end")
        quoted = sum(end - start for start, end in self.stretches)
        if quoted + len(BETWEEN) * (len(self.stretches) - 1) != len(self.quote):
            raise ValueError("the stretches are not as long as the quote")
        return self

    @classmethod
    def of(cls, citation: Citation) -> Self:
        place = citation.passage.metadata
        return cls(
            id=citation.id,
            source_file_path=place.source_file,
            source_url=citation.url,
            chapter=place.chapter_title or place.title,
            page_number=place.page_at(citation.start),
            text_preview=excerpt(citation.quote, MAX_PREVIEW),
            confidence_score=citation.confidence,
            number=citation.number,
            section=place.section_at(citation.start),
            quote=citation.quote,
            start=citation.start,
            end=citation.end,
            stretches=list(citation.stretches) or [(citation.start, citation.end)],
            source_spans=citation.source_spans,
            passage_id=citation.passage.id,
        )
