"""An answer and its context as text with a list of sources below, as S2's terminal prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from bythebook.models.answer import Answer
from bythebook.models.chunk import now
from bythebook.models.passage import Passage

NOTHING_FOUND = "No relevant content found in the book."


class PrintedSource(BaseModel):
    """S2's RetrievalResult."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: int = Field(ge=1)
    score: float = Field(ge=0, le=1)
    source_url: str
    content: str = Field(min_length=1)

    @classmethod
    def of(cls, passage: Passage, rank: int, url: str = "") -> Self:
        return cls(
            rank=rank,
            score=passage.score,
            source_url=url or passage.metadata.url or passage.metadata.source_file,
            content=passage.text,
        )


def sources_footer(sources: Sequence[PrintedSource]) -> str:
    """Begins on a new line, so that it can stand directly behind the answer."""
    if not sources:
        return ""
    listed = (
        f"[{number}] {source.source_url} (score: {source.score:.2f})"
        for number, source in enumerate(sources, 1)
    )
    return "\n".join(["", "---", "**Sources:**", *listed])


class RetrievalContext(BaseModel):
    """What was retrieved for one question; `filter_applied` is the prefix of the pages searched."""

    model_config = ConfigDict(extra="forbid")

    query: str
    results: list[PrintedSource]
    retrieved_at: AwareDatetime = Field(default_factory=now)
    filter_applied: str | None = None

    @classmethod
    def of(cls, passages: Sequence[Passage], query: str, prefix: str | None = None) -> Self:
        results = [PrintedSource.of(passage, rank) for rank, passage in enumerate(passages, 1)]
        return cls(query=query, results=results, filter_applied=prefix)

    def format_for_agent(self) -> str:
        if not self.results:
            return NOTHING_FOUND
        lines: list[str] = []
        for number, result in enumerate(self.results, 1):
            lines.append(f"[{number}] Source: {result.source_url}")
            lines.append(f"    Score: {result.score:.2f}")
            lines.append(f"    Content: {result.content}")
            lines.append("")
        return "\n".join(lines)

    def format_sources_footer(self) -> str:
        return sources_footer(self.results)


class PrintedAnswer(BaseModel):
    """S2's AgentResponse; `sources[n - 1]` is what `[n]` in the content points to."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1)
    sources: list[PrintedSource]
    model: str
    tokens_used: int = Field(ge=0)
    retrieval_count: int = Field(ge=0)
    created_at: AwareDatetime = Field(default_factory=now)

    @classmethod
    def of(cls, answer: Answer) -> Self:
        return cls(
            content=answer.text,
            sources=[
                PrintedSource.of(cited.passage, cited.number, cited.url)
                for cited in answer.citations
            ],
            model=answer.model,
            tokens_used=answer.tokens_used,
            retrieval_count=len(answer.passages),
            created_at=answer.created_at,
        )

    def format_with_sources(self) -> str:
        return self.content + sources_footer(self.sources)
