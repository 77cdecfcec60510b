"""A conversation as it exists inside; the seeds' shapes of it are made in `transcript`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from bythebook.models.answer import Answer, ToolCall
from bythebook.models.chunk import now
from bythebook.models.citation import CitationEntry
from bythebook.models.identity import new_id
from bythebook.models.summary import summarize

# S4: a conversation of so many exchanges has a summary.
SUMMARY_FROM = 5


@dataclass(frozen=True)
class Turn:
    """A question and its answer; `sources[0]` names what `[1]` points to."""

    question: str
    answer: str
    sources: tuple[str, ...] = ()
    refused: bool = False
    confidence: float = 0.0
    tool_calls: tuple[ToolCall, ...] = ()
    asked_at: datetime = field(default_factory=now)
    answered_at: datetime = field(default_factory=now)
    citations: tuple[CitationEntry, ...] = ()

    @classmethod
    def of(cls, answer: Answer, asked_at: datetime | None = None) -> Self:
        labels = {cited.number: cited.label for cited in answer.citations}
        return cls(
            question=answer.question,
            answer=answer.text,
            sources=tuple(labels[number] for number in sorted(labels)),
            refused=answer.refused,
            confidence=answer.confidence.average_similarity,
            tool_calls=answer.tool_calls,
            asked_at=asked_at or answer.created_at,
            answered_at=answer.created_at,
            citations=tuple(CitationEntry.of(cited) for cited in answer.citations),
        )


@dataclass
class Conversation:
    """Turns, oldest first. Old passages are not kept: every turn searches anew. Of a long one that
    was kept, the oldest turns are only counted, as `earlier`."""

    id: str = field(default_factory=new_id)
    turns: list[Turn] = field(default_factory=list)
    created_at: datetime = field(default_factory=now)
    model: str = ""
    topic_summary: str = ""
    earlier: int = 0

    @property
    def count(self) -> int:
        """How many turns there have been."""
        return self.earlier + len(self.turns)

    def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self.count >= SUMMARY_FROM:
            self.topic_summary = summarize(self.turns)

    def window(self, turns: int) -> list[Turn]:
        """The last turns, oldest first."""
        return self.turns[-turns:] if turns > 0 else []

    @property
    def updated_at(self) -> datetime:
        return self.turns[-1].answered_at if self.turns else self.created_at
