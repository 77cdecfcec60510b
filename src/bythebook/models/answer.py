"""An answer as it exists inside: what was said, what it rests on, and how sure that is."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from bythebook.models.chunk import now
from bythebook.models.confidence import ConfidenceMetrics
from bythebook.models.passage import Passage
from bythebook.models.place import label_of

Status = Literal["success", "error", "fallback"]
# Sections that are named where the book is silent.
MAX_NEAREST = 3


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


@dataclass(frozen=True)
class Sentence:
    """`answer.text[start:end]` and the numbers of the citations that bear it."""

    start: int
    end: int
    citations: tuple[int, ...]
    support: float


@dataclass(frozen=True)
class ToolCall:
    """One search made for an answer."""

    name: str
    query: str
    arguments: dict[str, object]
    results_count: int
    average_similarity: float
    timestamp: datetime = field(default_factory=now)
    error: str | None = None


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
    notes: tuple[str, ...] = ()
    small_talk: bool = False
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=now)

    @property
    def queries(self) -> tuple[str, ...]:
        """What was searched for, each once."""
        made = dict.fromkeys(call.query for call in self.tool_calls if call.error is None)
        return tuple(made) or (self.question,)
