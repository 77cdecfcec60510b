"""An answer as it exists inside, and its citations."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from bythebook.models.chunk import now
from bythebook.models.passage import ConfidenceMetrics, Passage, excerpt, label_of
from bythebook.models.retrieval_tool import ToolCall
from bythebook.models.values import AnyUuid, ClosedModel, FrozenModel

# A question that ends in an error has no answer; its error says `"status": "error"`.
Status = Literal["success", "fallback"]
ABOUT_STATUS = (
    "`success`: an answer by the configured answerer. `fallback`: what is said in place of one, "
    "that is a refusal, a reply to a greeting, the book quoted because the language model failed, "
    "or as much of its answer as there was when it failed. A question that can't be answered for "
    "another reason gets an error, of which the status is `error`."
)
# Sections that are named where the book is silent.
MAX_NEAREST = 3
# In a list of sources, before the place of one.
PLACE_INDENT = "    "


class NextStep(FrozenModel):
    """Where a reader goes from a refusal, by the settings `BYTHEBOOK_REFUSAL_LINK` and
    `BYTHEBOOK_REFUSAL_LINK_TEXT`."""

    text: str
    url: str


@dataclass(frozen=True)
class Citation:
    """What a marker `[number]` points to. `passage.text[start:end]` holds all that is quoted;
    `stretches` are its parts where several sentences rest on the same passage."""

    number: int
    passage: Passage
    start: int
    end: int
    confidence: float
    stretches: tuple[tuple[int, int], ...] = ()
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        return self.stretches or ((self.start, self.end),)

    @property
    def quote(self) -> str:
        return " … ".join(self.passage.text[start:end] for start, end in self.parts)

    @property
    def label(self) -> str:
        """Page and heading that the quoted words stand under."""
        return label_of(self.passage.metadata, self.start)

    @property
    def url(self) -> str:
        return self.passage.metadata.url_at(self.start)

    @property
    def source_spans(self) -> list[tuple[int, int]]:
        """Where the quoted text stands in the source file; in parts where markup was taken out."""
        found: list[tuple[int, int]] = []
        for start, end in self.parts:
            for span in self.passage.metadata.spans:
                left = max(start, span.at)
                right = min(end, span.at + span.end - span.start)
                if left < right:
                    found.append((span.start + left - span.at, span.start + right - span.at))
        return found


class Sentence(FrozenModel):
    """`answer.text[start:end]`, the citations that support it, and how well they do."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    citations: tuple[int, ...]
    support: float = Field(ge=0, le=1)


@dataclass(frozen=True)
class Answer:
    """`text` holds the released sentences with their markers; `notes` is what bythebook itself has
    to say about it. A refusal has no citations, and `should_answer` of its confidence is false or
    nothing that was written could be verified. `small_talk` answers a greeting or thanks: nothing
    was asked."""

    question: str
    text: str
    status: Status
    refused: bool
    citations: tuple[Citation, ...]
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    confidence: ConfidenceMetrics
    model: str
    tokens_used: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    removed: int = 0
    # Sentences of the book that stand in for a model's.
    quoted: int = 0
    notes: tuple[str, ...] = ()
    small_talk: bool = False
    next_step: NextStep | None = None
    # Of a refusal: what comes closest, one passage of each section, although it does not answer.
    nearest: tuple[Passage, ...] = ()
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=now)

    @property
    def queries(self) -> tuple[str, ...]:
        """What was searched for, each once."""
        return tuple(dict.fromkeys(call.query for call in self.tool_calls if call.error is None))

    def format_with_sources(self) -> str:
        """The text and below it what its markers point to: address and score, then the place."""
        if not self.citations:
            return self.text + "".join(self._closest())
        listed = (
            f"[{cited.number}] {cited.url} (score: {cited.passage.score:.2f})\n"
            f"{PLACE_INDENT}{cited.label}"
            for cited in self.citations
        )
        return self.text + "\n".join(["", "---", "**Sources:**", *listed])

    def _closest(self) -> Iterator[str]:
        for number, passage in enumerate(self.nearest):
            place = passage.metadata
            yield "" if number else "\n\n**Closest sections:**"
            yield f"\n- {place.url}\n{PLACE_INDENT}{label_of(place)}"


MAX_PREVIEW = 200
BETWEEN = " … "  # what `Citation.quote` puts between stretches


class CitationEntry(ClosedModel):
    """What `[number]` in the text points to. All that is quoted stands in `[start:end]` of the
    passage; `quote` joins its `stretches`. Each of `source_spans` is a range of the source file."""

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
            stretches=list(citation.parts),
            source_spans=citation.source_spans,
            passage_id=citation.passage.id,
        )
