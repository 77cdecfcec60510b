"""The retrieval tool as a language model sees it: definition, arguments, result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import (
    AwareDatetime,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from bythebook.models.passage import Passage
from bythebook.models.search_messages import MAX_RESULTS, MIN_QUERY, SearchFilters
from bythebook.models.values import ClosedModel, FrozenModel, ToolName

DEFAULT_TOOL_NAME = "search_textbook"
DEFAULT_TOP_K = 5
DESCRIPTION = (
    "Search the book for what it says about a question or topic. Returns passages of the book, "
    "each with its place, how well it fits, and the number to cite it by."
)


class RetrievalTool(ClosedModel):
    """The tool: what the model may call to read the book."""

    name: ToolName = DEFAULT_TOOL_NAME
    description: str = Field(default=DESCRIPTION, min_length=1)
    parameters: dict[str, Any] = Field(
        default_factory=lambda: _parameters(), description="JSON Schema of the arguments."
    )

    @classmethod
    @lru_cache(maxsize=64)  # its schema takes longer to make than a search
    def of(cls, name: str, top_k: int, threshold: float) -> Self:
        """The tool with the defaults that hold where the model leaves an argument out."""
        return cls(name=name, parameters=_parameters(top_k, threshold))

    def definition(self) -> dict[str, Any]:
        """As Chat Completions takes it."""
        return {"type": "function", "function": self.model_dump()}


class SearchArguments(ClosedModel):
    """What the model gave the tool; what it left out is as the question's asker has it. An unknown
    argument is an error, never ignored."""

    query: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=MIN_QUERY, max_length=2000)
    ]
    top_k: int | None = Field(default=None, ge=1, le=MAX_RESULTS)
    similarity_threshold: float | None = Field(default=None, ge=0, le=1)
    filters: SearchFilters = Field(default_factory=SearchFilters)

    @field_validator("filters", mode="before")
    @classmethod
    def _none_is_none_given(cls, filters: Any) -> Any:
        return {} if filters is None else filters


def _parameters(top_k: int = DEFAULT_TOP_K, threshold: float = 0.0) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The question or topic to search for, understandable by itself: "
                "names instead of words that point back.",
            },
            "top_k": {
                "type": "integer",
                "description": f"Number of passages to retrieve (default: {top_k}).",
                "default": top_k,
                "minimum": 1,
                "maximum": MAX_RESULTS,
            },
            "similarity_threshold": {
                "type": "number",
                "description": f"Least similarity of a passage ({threshold}-1.0, "
                f"default: {threshold}).",
                "default": threshold,
                "minimum": threshold,
                "maximum": 1,
            },
            "filters": {
                "type": "object",
                "description": "Where to look; only when the reader asked for it.",
                "properties": _filter_properties(),
                "additionalProperties": False,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def _filter_properties() -> dict[str, Any]:
    """From the filters themselves, in the plain form that small models understand."""
    return {
        name: _plain(schema)
        for name, schema in SearchFilters.model_json_schema()["properties"].items()
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the alternative null: a filter that is not wanted is left out."""
    (kind,) = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    merged = {**kind, **schema}
    return {key: merged[key] for key in merged if key not in ("anyOf", "title", "default")}


class ToolCall(FrozenModel):
    """One search made for an answer: what it went by, what came of it, and what went wrong."""

    tool_name: ToolName
    query: str
    results_count: int = Field(ge=0)
    avg_similarity: float = Field(
        ge=0, le=1, description="Mean score of the results, 0 without any."
    )
    timestamp: AwareDatetime
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="The arguments that were used; of a failed call, those the model gave.",
    )
    error: str | None = None
    total_chunks_found: int = Field(
        default=0, ge=0, description="Passages that the filters left to be searched."
    )
    retrieval_time_ms: float = Field(default=0.0, ge=0)


# Finer differences mean nothing to a reader of the JSON and cost tokens.
DECIMALS = 3


class ToolResult(ClosedModel):
    """One passage, with what a language model can use of it."""

    cite: int = Field(ge=1, description="The number to cite the passage by.")
    chunk_text: str = Field(min_length=1)
    page_title: str = Field(min_length=1)
    section_heading: str | None = None
    source_url: str = Field(min_length=1)
    similarity_score: float = Field(ge=0, le=1)
    rank: int = Field(ge=1)


class ToolResponse(ClosedModel):
    """Passages, best first, or why there are none."""

    results: list[ToolResult]
    total_results: int = Field(ge=0)
    query: str
    # How long it took is in the record of the call: here it would make equal prompts different.
    total_chunks_found: int = Field(
        default=0,
        ge=0,
        description="Passages of the book that were searched: those the filters leave.",
    )
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
        cls,
        passages: Sequence[Passage],
        query: str,
        numbers: Mapping[str, int] | None = None,
        total_found: int = 0,
    ) -> Self:
        """`numbers` says by which number each passage id is cited; without it, by its rank."""
        results = [
            _result(passage, rank, numbers[passage.id] if numbers else rank)
            for rank, passage in enumerate(passages, 1)
        ]
        return cls(
            results=results,
            total_results=len(results),
            query=query,
            total_chunks_found=total_found,
        )

    @classmethod
    def failed(cls, error: str, query: str) -> Self:
        return cls(results=[], total_results=0, query=query, error=error)

    def to_json(self) -> str:
        if self.error is not None:
            fields: dict[str, Any] = {"error": self.error, "query": self.query}
        else:
            fields = self.model_dump(exclude={"error"})
        return json.dumps(fields, indent=2, ensure_ascii=False)


def _result(passage: Passage, rank: int, cite: int) -> ToolResult:
    place = passage.metadata
    return ToolResult(
        cite=cite,
        chunk_text=passage.text,
        page_title=place.title or place.source_file,
        section_heading=place.section_title or None,
        source_url=place.url or place.source_file,
        similarity_score=round(passage.score, DECIMALS),
        rank=rank,
    )
