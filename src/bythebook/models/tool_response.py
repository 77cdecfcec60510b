"""What the retrieval tool gives back to the language model, as S1 defines it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bythebook.models.identity import AnyUuid, new_id
from bythebook.models.passage import Passage

# Finer differences mean nothing to a reader of the JSON and cost tokens.
DECIMALS = 3


class ToolResult(BaseModel):
    """One passage. The fields S1 keeps from the model are left out of the JSON."""

    model_config = ConfigDict(extra="forbid")

    cite: int = Field(ge=1, description="The number to cite the passage by.")
    chunk_text: str = Field(min_length=1)
    page_title: str = Field(min_length=1)
    section_heading: str | None = None
    source_url: str = Field(min_length=1)
    similarity_score: float = Field(ge=0, le=1)
    rank: int = Field(ge=1)
    query_id: AnyUuid = Field(exclude=True)
    breadcrumb: str | None = Field(default=None, exclude=True)
    chunk_index: int = Field(ge=0, exclude=True)
    metadata: dict[str, Any] = Field(default_factory=dict, exclude=True)


class ToolResponse(BaseModel):
    """Passages, best first, or why there are none."""

    model_config = ConfigDict(extra="forbid")

    results: list[ToolResult]
    total_results: int = Field(ge=0)
    query: str
    error: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.error is not None and self.results:
            raise ValueError("a failed search has no results")
        if self.total_results != len(self.results):
            raise ValueError("total_results is not the number of results")
        return self

    @classmethod
    def of(
        cls, passages: Sequence[Passage], query: str, numbers: Mapping[str, int] | None = None
    ) -> Self:
        """`numbers` says by which number each passage id is cited; without it, by its rank."""
        query_id = new_id()
        results = [
            _result(passage, rank, numbers[passage.id] if numbers else rank, query_id)
            for rank, passage in enumerate(passages, 1)
        ]
        return cls(results=results, total_results=len(results), query=query)

    @classmethod
    def failed(cls, error: str, query: str) -> Self:
        return cls(results=[], total_results=0, query=query, error=error)

    def to_json(self) -> str:
        if self.error is not None:
            fields: dict[str, Any] = {"error": self.error, "query": self.query}
        else:
            fields = self.model_dump(exclude={"error"})
        return json.dumps(fields, indent=2, ensure_ascii=False)


def _result(passage: Passage, rank: int, cite: int, query_id: str) -> ToolResult:
    place = passage.metadata
    return ToolResult(
        cite=cite,
        chunk_text=passage.text,
        page_title=place.title or place.source_file,
        section_heading=place.section_title or None,
        source_url=place.url or place.source_file,
        similarity_score=round(passage.score, DECIMALS),
        rank=rank,
        query_id=query_id,
        breadcrumb=" › ".join(place.heading_path) or None,
        chunk_index=place.chunk_index,
        metadata=place.model_dump(mode="json", include={"book_id", "module", "chapter", "lesson"}),
    )
