"""The retrieval tool as a language model sees it: its definition and its arguments."""

from __future__ import annotations

import keyword
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from bythebook.models.answer import ToolCall
from bythebook.models.search import MAX_RESULTS, MIN_QUERY, SearchFilters

DEFAULT_TOOL_NAME = "search_textbook"
DEFAULT_TOP_K = 5
DESCRIPTION = (
    "Search the book for what it says about a question or topic. Returns passages of the book, "
    "each with its place, how well it fits, and the number to cite it by."
)


def _identifier(name: str) -> str:
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("is not a valid identifier")
    return name


# Language model servers take names of at most 64 characters.
ToolName = Annotated[str, Field(max_length=64), AfterValidator(_identifier)]


class ParameterSchema(BaseModel):
    """JSON Schema of one parameter; what else it says is kept."""

    model_config = ConfigDict(extra="allow")

    type: Literal["string", "integer", "number", "boolean", "array", "object"]
    description: str | None = None


class ParametersSchema(BaseModel):
    """JSON Schema of a tool's parameters."""

    model_config = ConfigDict(extra="allow")

    type: Literal["object"] = "object"
    properties: dict[str, ParameterSchema]
    required: list[str]

    @model_validator(mode="after")
    def _takes_a_query(self) -> Self:
        query = self.properties.get("query")
        if query is None or query.type != "string" or not query.description:
            raise ValueError("query is not defined as a string with a description")
        if "query" not in self.required:
            raise ValueError("query is not required")
        if unknown := set(self.required) - self.properties.keys():
            raise ValueError(f"required but not defined: {', '.join(sorted(unknown))}")
        return self


class RetrievalTool(BaseModel):
    """S0's and S1's tool: what the model may call to read the book."""

    model_config = ConfigDict(extra="forbid")

    name: ToolName = DEFAULT_TOOL_NAME
    description: str = Field(default=DESCRIPTION, min_length=1)
    parameters: ParametersSchema = Field(
        default_factory=lambda: ParametersSchema.model_validate(_parameters())
    )

    def definition(self) -> dict[str, Any]:
        """As Chat Completions takes it."""
        return {"type": "function", "function": self.model_dump(mode="json", exclude_none=True)}


def tool_definition(name: str = DEFAULT_TOOL_NAME) -> dict[str, Any]:
    return RetrievalTool(name=name).definition()


class SearchArguments(BaseModel):
    """What the model gave the tool. An unknown argument is an error, never ignored."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=MIN_QUERY, max_length=2000)
    ]
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=MAX_RESULTS)
    similarity_threshold: float = Field(default=0.0, ge=0, le=1)
    filters: SearchFilters = Field(default_factory=SearchFilters)

    @field_validator("filters", mode="before")
    @classmethod
    def _none_is_none_given(cls, filters: Any) -> Any:
        return {} if filters is None else filters


def _parameters() -> dict[str, Any]:
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
                "description": f"Number of passages to retrieve (default: {DEFAULT_TOP_K}).",
                "default": DEFAULT_TOP_K,
                "minimum": 1,
                "maximum": MAX_RESULTS,
            },
            "similarity_threshold": {
                "type": "number",
                "description": "Least similarity of a passage (0.0-1.0, default: 0.0).",
                "default": 0.0,
                "minimum": 0,
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


class ToolCallRecord(BaseModel):
    """S1's log entry of one call, with its arguments and what went wrong."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool_name: ToolName
    query: str
    results_count: int = Field(ge=0)
    avg_similarity: float = Field(ge=0, le=1)
    timestamp: AwareDatetime
    arguments: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None

    @classmethod
    def of(cls, call: ToolCall) -> Self:
        return cls(
            tool_name=call.name,
            query=call.query,
            results_count=call.results_count,
            avg_similarity=call.average_similarity,
            timestamp=call.timestamp,
            arguments=call.arguments,
            error=call.error,
        )
