"""The retrieval tool: its definition, its arguments and its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.retrieval_tool import RetrievalTool, SearchArguments, ToolResponse, ToolResult
from bythebook.models.search_messages import SearchFilters
from models.samples import (
    has_fields,
    passage,
    passages,
    refuses,
    requires,
)

# RetrievalTool: definition


def test_definition_is_a_function_with_a_schema() -> None:
    definition = RetrievalTool(name="retrieve_documentation").definition()
    assert definition["type"] == "function"
    function = definition["function"]
    assert function["name"] == "retrieve_documentation"
    assert function["description"]
    assert function["parameters"]["type"] == "object"
    assert function["parameters"]["required"] == ["query"]
    json.dumps(definition)


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("query", "string", None),
        ("top_k", "integer", 5),
        ("similarity_threshold", "number", 0.0),
        ("filters", "object", None),
    ],
)
def test_definition_of_each_parameter(name: str, kind: str, default: object) -> None:
    schema = RetrievalTool().definition()["function"]["parameters"]["properties"][name]
    assert schema["type"] == kind
    assert schema.get("default") == default
    assert schema["description"]


@pytest.mark.parametrize(
    "name",
    [
        "search_textbook",
        "search_knowledge_base",
        "retrieve_documentation",
        "search_book_content",
    ],
)
def test_every_name_it_may_have(name: str) -> None:
    assert RetrievalTool(name=name).definition()["function"]["name"] == name


def test_default_name() -> None:
    assert RetrievalTool().definition()["function"]["name"] == "search_textbook"


def test_definition_tells_the_bounds_of_the_arguments() -> None:
    properties = RetrievalTool().definition()["function"]["parameters"]["properties"]
    assert set(properties) == set(SearchArguments.model_fields)
    for name in ("top_k", "similarity_threshold"):
        valid = {"query": "node"}
        for bound, beyond in (("minimum", -1), ("maximum", 1)):
            edge = properties[name][bound]
            assert SearchArguments.model_validate({**valid, name: edge})
            refuses(SearchArguments, valid, **{name: edge + beyond})


def test_definition_has_the_filters_of_a_search() -> None:
    filters = RetrievalTool().definition()["function"]["parameters"]["properties"]["filters"]
    assert set(filters["properties"]) == set(SearchFilters.model_fields)
    assert filters["properties"]["layer_filter"]["enum"] == ["L1", "L2", "L3", "L4"]
    assert filters["properties"]["hardware_tier_filter"]["maximum"] == 4
    assert all(isinstance(each["type"], str) for each in filters["properties"].values())
    assert "$ref" not in json.dumps(filters) and "anyOf" not in json.dumps(filters)


# RetrievalTool: arguments

ARGUMENTS: dict[str, Any] = {"query": "What is a node?"}


def test_arguments_defaults() -> None:
    requires(SearchArguments, ARGUMENTS, "query")
    made = SearchArguments.model_validate_json('{"query": "  What is a node?  "}')
    assert made.query == "What is a node?"
    assert (made.top_k, made.similarity_threshold) == (None, None)  # the question's asker decides
    assert made.filters == SearchFilters()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", ""),
        ("query", "   "),
        ("query", "ab"),
        ("query", "x" * 2001),
        ("query", None),
        ("top_k", 0),
        ("top_k", 21),
        ("top_k", 2.5),
        ("similarity_threshold", -0.01),
        ("similarity_threshold", 1.01),
        ("similarity_threshold", float("nan")),
        ("filters", {"colour": "red"}),
        ("filters", {"layer_filter": "L5"}),
        ("filters", "ros2"),
        ("limit", 3),
    ],
)
def test_arguments_bounds(field: str, value: Any) -> None:
    refuses(SearchArguments, ARGUMENTS, **{field: value})


@given(top_k=st.integers(1, 20), threshold=st.floats(0, 1))
def test_arguments_within_bounds(top_k: int, threshold: float) -> None:
    made = SearchArguments(query="node", top_k=top_k, similarity_threshold=threshold)
    assert (made.top_k, made.similarity_threshold) == (top_k, threshold)


def test_no_filters_are_filters_that_exclude_nothing() -> None:
    made = SearchArguments.model_validate({**ARGUMENTS, "filters": None})
    given = made.filters.model_dump(exclude_none=True)
    assert given == {"hardware_tier_filter": 4}


# ToolResponse

RESULTS_FIELDS = [
    "chunk_text",
    "page_title",
    "section_heading",
    "source_url",
    "similarity_score",
    "rank",
]
ONE: dict[str, Any] = {
    "cite": 1,
    "chunk_text": "A node is a process.",
    "page_title": "Nodes",
    "source_url": "https://b.example/nodes",
    "similarity_score": 0.856,
    "rank": 1,
}
RESPONSE: dict[str, Any] = {"results": [ONE], "total_results": 1, "query": "node"}


def test_response_fields_and_defaults() -> None:
    has_fields(
        ToolResponse,
        results="array",
        total_results="integer",
        query="string",
        error="string|null",
    )
    requires(ToolResponse, RESPONSE, "results", "total_results", "query")
    assert ToolResponse.model_validate(RESPONSE).error is None


def test_response_adds_up() -> None:
    refuses(ToolResponse, RESPONSE, total_results=0)
    refuses(ToolResponse, RESPONSE, total_results=2)
    refuses(ToolResponse, RESPONSE, error="down", field="")
    failed = {"results": [], "total_results": 0, "query": "node", "error": "down"}
    assert ToolResponse.model_validate(failed).error == "down"


def test_result_has_every_field() -> None:
    assert list(ToolResult.model_fields) == ["cite", *RESULTS_FIELDS]
    required = {name for name, field in ToolResult.model_fields.items() if field.is_required()}
    assert required == set(ONE)
    assert ToolResult.model_validate(ONE).section_heading is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("chunk_text", ""),
        ("page_title", ""),
        ("source_url", ""),
        ("similarity_score", -0.01),
        ("similarity_score", 1.01),
        ("rank", 0),
        ("cite", 0),
    ],
)
def test_result_bounds(field: str, value: Any) -> None:
    refuses(ToolResult, ONE, **{field: value})


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_result_score_bounds_are_inclusive(score: float) -> None:
    assert ToolResult.model_validate({**ONE, "similarity_score": score})


def test_json_has_exactly_the_fields_and_the_number_to_cite() -> None:
    found = [passage(0, score=0.85649), passage(1, section_title=None, score=0.5)]
    text = ToolResponse.of(found, "What are nodes?", total_found=210).to_json()
    told = json.loads(text)
    assert list(told) == ["results", "total_results", "query", "total_chunks_found"]
    assert (told["total_results"], told["query"]) == (2, "What are nodes?")
    assert told["total_chunks_found"] == 210
    assert all(list(each) == ["cite", *RESULTS_FIELDS] for each in told["results"])
    assert told["results"][0] == {
        "cite": 1,
        "chunk_text": found[0].text,
        "page_title": "Nodes",
        "section_heading": "3.2 What a node is",
        "source_url": "https://b.example/nodes#s0",
        "similarity_score": 0.856,
        "rank": 1,
    }
    assert told["results"][1]["section_heading"] is None
    assert told["results"][1]["rank"] == 2
    assert text == json.dumps(told, indent=2, ensure_ascii=False)


def test_json_of_an_error() -> None:
    text = ToolResponse.failed("Qdrant is down.", "node").to_json()
    assert text == '{\n  "error": "Qdrant is down.",\n  "query": "node"\n}'


def test_json_of_nothing_found() -> None:
    told = json.loads(ToolResponse.of((), "node").to_json())
    assert told == {"results": [], "total_results": 0, "query": "node", "total_chunks_found": 0}


def test_a_passage_found_twice_keeps_its_number() -> None:
    found = passages(3)
    numbers = {found[0].id: 4, found[1].id: 1, found[2].id: 7}
    made = ToolResponse.of(found, "node", numbers)
    assert [(each.cite, each.rank) for each in made.results] == [(4, 1), (1, 2), (7, 3)]


@given(st.text(), st.text(min_size=10).filter(lambda text: bool(text.strip())))
def test_json_gives_back_every_text(query: str, text: str) -> None:
    told = json.loads(ToolResponse.of([passage(text=text)], query).to_json())
    assert told["query"] == query and told["results"][0]["chunk_text"] == text
