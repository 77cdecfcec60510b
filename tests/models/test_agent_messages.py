"""A request to the agent and its response: every field, default, bound and rule."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.answer import Citation, CitationEntry
from bythebook.models.chat_messages import AgentRequest, AgentResponse
from bythebook.models.chunk import Span
from bythebook.models.retrieval_tool import RetrievalTool
from models.samples import (
    UUID1,
    UUID4,
    answer,
    has_fields,
    passage,
    refusal,
    refuses,
    requires,
)

# RetrievalTool

TOOL: dict[str, Any] = {
    "name": "search_knowledge_base",
    "description": "Searches the textbook.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for."}},
        "required": ["query"],
    },
}


def test_tool_has_every_field() -> None:
    has_fields(RetrievalTool, name="string", description="string", parameters="object")
    assert RetrievalTool(**TOOL).model_dump() == TOOL


@pytest.mark.parametrize("name", ["", "1st", "with space", "with-dash", "class", "a" * 65, "größe"])
def test_tool_name_is_an_identifier(name: str) -> None:
    refuses(RetrievalTool, TOOL, name=name)


def test_longest_tool_name() -> None:
    assert RetrievalTool(**{**TOOL, "name": "a" * 64}).name == "a" * 64


def test_our_tool_is_such_a_tool() -> None:
    made = RetrievalTool(name="search_knowledge_base").model_dump(mode="json")
    assert made["parameters"]["type"] == "object"
    assert made["parameters"]["properties"]["query"]["type"] == "string"
    assert made["parameters"]["required"] == ["query"]


# AgentRequest

REQUEST: dict[str, Any] = {
    "id": UUID1,
    "message": "What is a node?",
    "timestamp": "2025-12-25T10:00:00Z",
    "metadata": {"page": "intro"},
}


def test_request_fields_and_defaults() -> None:
    has_fields(
        AgentRequest, id="string", message="string", timestamp="string", metadata="AgentMetadata"
    )
    requires(AgentRequest, REQUEST, "message")
    before = datetime.now(UTC)
    made = AgentRequest(message="What is a node?")
    assert before <= made.timestamp <= datetime.now(UTC)
    assert uuid.UUID(made.id) and made.id != AgentRequest(message="x").id
    assert made.metadata.model_dump(exclude_unset=True) == {}


@given(st.integers(1, 2000))
def test_request_message_of_any_allowed_length(length: int) -> None:
    assert len(AgentRequest(message="x" * length).message) == length


@pytest.mark.parametrize("message", ["", "   ", "\n\t", "x" * 2001, " " * 2000 + "x", None])
def test_request_message_bounds(message: Any) -> None:
    refuses(AgentRequest, REQUEST, message=message)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "no-uuid"),
        ("id", UUID1.replace("-", "")),
        ("timestamp", "2025-12-25T10:00:00"),
        ("timestamp", "yesterday"),
        ("metadata", []),
        ("colour", "red"),
    ],
)
def test_request_refuses(field: str, value: Any) -> None:
    refuses(AgentRequest, REQUEST, field=field, **{field: value})


# AgentResponse


def test_response_fields_and_defaults() -> None:
    has_fields(
        AgentResponse,
        id="string",
        request_id="string",
        content="string",
        citations="array",
        tool_calls="array",
        timestamp="string",
        status="string",
    )
    values = {"request_id": UUID1, "content": "Yes.", "status": "success"}
    requires(AgentResponse, values, "request_id", "content", "status")
    made = AgentResponse.model_validate(values)
    assert uuid.UUID(made.id) and made.timestamp.tzinfo
    assert made.citations == [] and made.tool_calls == []


@pytest.mark.parametrize("status", ["success", "fallback"])
def test_response_status(status: str) -> None:
    values = {"request_id": UUID1, "content": "Yes.", "status": status}
    assert AgentResponse.model_validate(values).status == status


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("status", "done"),
        ("status", "error"),
        ("status", None),
        ("id", "x"),
        ("request_id", "x"),
        ("citations", [{"id": UUID4}]),
        ("citations", None),
        ("tool_calls", [{"name": "x"}]),
    ],
)
def test_response_refuses(field: str, value: Any) -> None:
    values = {"request_id": UUID1, "content": "Yes.", "status": "success"}
    refuses(AgentResponse, values, **{field: value})


def test_response_belongs_to_its_request() -> None:
    request = AgentRequest(message="What is a node?")
    told = answer()
    made = AgentResponse.of(told, request, {"page": "intro"})
    assert (made.id, made.request_id, made.content) == (told.id, request.id, told.text)
    assert [citation.number for citation in made.citations] == [1, 2]
    assert [call.tool_name for call in made.tool_calls] == ["search_textbook"]
    assert (made.timestamp, made.status) == (told.created_at, "success")


def test_refusal_has_no_citations() -> None:
    assert AgentResponse.of(refusal(), AgentRequest(message="x"), {}).citations == []


# Citation

CITED = CitationEntry.of(Citation(1, passage(), 47, 70, 0.8)).model_dump()


def test_citation_fields() -> None:
    has_fields(
        CitationEntry,
        id="string",
        source_file_path="string",
        source_url="string",
        chapter="string",
        page_number="integer|null",
        text_preview="string",
        confidence_score="number",
    )
    required = {name for name, field in CitationEntry.model_fields.items() if field.is_required()}
    assert required >= {
        "id",
        "source_file_path",
        "source_url",
        "chapter",
        "text_preview",
        "confidence_score",
    }
    assert CITED["page_number"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "x"),
        ("source_file_path", ""),
        ("text_preview", ""),
        ("confidence_score", -0.01),
        ("confidence_score", 1.01),
        ("confidence_score", float("nan")),
        ("page_number", 0),
    ],
)
def test_citation_bounds(field: str, value: Any) -> None:
    refuses(CitationEntry, CITED, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("confidence_score", 0.0), ("confidence_score", 1.0), ("page_number", 1)]
)
def test_citation_bounds_are_inclusive(field: str, value: Any) -> None:
    assert CitationEntry.model_validate({**CITED, field: value})


def test_citation_tells_where_the_quote_stands() -> None:
    made = CitationEntry.of(Citation(3, passage(), 47, 70, 0.8))
    assert made.quote == made.text_preview == "Nodes talk over topics."
    assert (made.number, made.start, made.end) == (3, 47, 70)
    assert made.source_spans == [(51, 74)]
    assert made.source_file_path == "module-1/chapter-3/02-nodes.md"
    assert (made.chapter, made.section) == ("Chapter 3: Communication", "3.2 What a node is")
    assert made.source_url == "https://b.example/nodes#s0"
    assert made.passage_id == passage().id


def test_citation_of_two_stretches() -> None:
    made = CitationEntry.of(Citation(1, passage(), 2, 69, 0.8, ((2, 6), (53, 69))))
    assert made.quote == "node … talk over topics"
    assert made.stretches == [(2, 6), (53, 69)]
    assert CitationEntry.of(Citation(1, passage(), 2, 6, 0.8)).stretches == [(2, 6)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quote", "other"),
        ("start", 46),
        ("end", 71),
        ("stretches", []),
        ("stretches", [(47, 60), (50, 70)]),
        ("stretches", [(47, 69)]),
        ("stretches", [(47, 50), (52, 70)]),
    ],
)
def test_citation_offsets_fit(field: str, value: Any) -> None:
    refuses(CitationEntry, CITED, **{field: value})


def test_citation_of_text_in_two_parts_of_the_file() -> None:
    parts = [Span(start=10, end=30, at=0), Span(start=40, end=90, at=20)]
    made = CitationEntry.of(Citation(1, passage(spans=parts), 5, 46, 0.8))
    assert made.source_spans == [(15, 30), (40, 66)]


def test_long_quote_has_a_shorter_preview() -> None:
    long = " ".join(f"word{number}" for number in range(100))
    made = CitationEntry.of(Citation(1, passage(text=long), 0, len(long), 0.8))
    assert made.quote == long
    assert len(made.text_preview) <= 200 and made.text_preview.endswith("…")
    assert long.startswith(made.text_preview[:-1] + " ")
