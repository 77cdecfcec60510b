"""Every field, default, bound and rule of what is asked and answered over HTTP."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.answer import Citation, Sentence
from bythebook.models.chat_messages import ChatRequest, ChatResponse, Source
from bythebook.models.search_messages import SearchFilters, SearchQuery
from bythebook.retrieval.calibration import assess
from models.samples import (
    UUID1,
    UUID4,
    answer,
    has_fields,
    passage,
    passages,
    refusal,
    refuses,
    requires,
    sentence,
)

# ChatRequest

REQUEST: dict[str, Any] = {
    "message": "How do ROS 2 nodes communicate?",
    "session_id": UUID4,
    "stream": False,
    "top_k": 5,
    "similarity_threshold": 0.7,
}


def test_request_fields_and_defaults() -> None:
    has_fields(
        ChatRequest,
        message="string",
        session_id="string|null",
        stream="boolean",
        top_k="integer|null",
        similarity_threshold="number|null",
        book_id="string|null",
        filters="SearchFilters|null",
    )
    requires(ChatRequest, REQUEST, "message")
    made = ChatRequest(message="What is URDF?")
    assert uuid.UUID(made.session_id).version == 4
    assert made.session_id != ChatRequest(message="What is URDF?").session_id
    assert made.stream is False
    assert (made.top_k, made.similarity_threshold) == (None, None)  # the settings decide
    assert made.book_id is None and made.filters == SearchFilters()


@given(st.integers(1, 1000))
def test_request_message_of_any_allowed_length(length: int) -> None:
    assert len(ChatRequest(message="x" * length).message) == length


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", ""),
        ("message", " \n\t"),
        ("message", "x" * 1001),
        ("message", None),
        ("session_id", "x"),
        ("session_id", UUID1),
        ("session_id", UUID4.replace("-", "")),
        ("session_id", f"{{{UUID4}}}"),
        ("session_id", "550e8400-e29b-41d4-c716-446655440000"),
        ("stream", "perhaps"),
        ("top_k", 0),
        ("top_k", 11),
        ("top_k", 2.5),
        ("similarity_threshold", -0.01),
        ("similarity_threshold", 1.01),
        ("similarity_threshold", float("nan")),
        ("book_id", ""),
        ("filters", {"colour": "red"}),
        ("filters", {"hardware_tier_filter": 5}),
        ("filters", {"chapter_min": 4, "chapter_max": 3}),
        ("limit", 5),
    ],
)
def test_request_refuses(field: str, value: Any) -> None:
    refuses(ChatRequest, REQUEST, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", "x"),
        ("message", "x" * 1000),
        ("stream", True),
        ("top_k", 1),
        ("top_k", 10),
        ("similarity_threshold", 0.0),
        ("similarity_threshold", 1.0),
        ("book_id", "my-book"),
    ],
)
def test_request_takes(field: str, value: Any) -> None:
    assert getattr(ChatRequest.model_validate({**REQUEST, field: value}), field) == value


def test_request_is_stripped_and_its_session_has_one_form() -> None:
    made = ChatRequest(message="  What is URDF?\n", session_id=UUID4.upper())
    assert (made.message, made.session_id) == ("What is URDF?", UUID4)


def test_null_is_not_given() -> None:
    made = ChatRequest.model_validate({"message": "x", "session_id": None, "filters": None})
    assert uuid.UUID(made.session_id).version == 4 and made.filters == SearchFilters()


def test_filters_are_those_of_a_search() -> None:
    beyond = {"text", "book_id", "limit"}
    assert set(SearchFilters.model_fields) == set(SearchQuery.model_fields) - beyond
    filters = {"module_filter": "ros2", "hardware_tier_filter": 2, "layer_filter": "L1"}
    made = ChatRequest.model_validate({**REQUEST, "filters": filters})
    query = SearchQuery(text="nodes", **made.filters.model_dump())
    assert (query.module_filter, query.hardware_tier_filter, query.layer_filter) == (
        "ros2",
        2,
        "L1",
    )


# ChatResponse

RESPONSE: dict[str, Any] = ChatResponse.of(answer(), UUID4).model_dump()
REFUSED: dict[str, Any] = ChatResponse.of(refusal(), UUID4).model_dump()


def test_response_fields() -> None:
    has_fields(
        ChatResponse,
        response="string",
        confidence="number",
        sources="array",
        session_id="string",
        timestamp="string",
        confidence_level="string",
        should_answer="boolean",
        refused="boolean",
        status="string",
        citations="array",
        sentences="array",
        notes="array",
        removed_sentences="integer",
        model="string",
        tokens_used="integer",
        metrics="ConfidenceMetrics",
        searched="string",
        nearest="array",
    )
    optional = {"timestamp", "nearest", "next_step", "answer_id", "html"}
    requires(ChatResponse, RESPONSE, *(RESPONSE.keys() - optional))


def test_response_of_the_inside() -> None:
    told = answer()
    made = ChatResponse.of(told, UUID4)
    assert (made.response, made.session_id) == (told.text, UUID4)
    assert made.confidence == pytest.approx(0.9)
    assert (made.confidence_level, made.should_answer, made.refused) == ("high", True, False)
    assert [source.chunk_text for source in made.sources] == [
        told.citations[0].passage.text,
        told.citations[1].passage.text,
    ]
    assert [cited.number for cited in made.citations] == [1, 2]
    assert [(each.start, each.end, each.citations) for each in made.sentences] == [
        (0, 24, (1,)),
        (25, len(told.text), (2,)),
    ]
    assert (made.notes, made.removed_sentences) == (["One sentence was removed."], 1)
    assert (made.model, made.tokens_used, made.status) == ("gpt-4o-mini", 321, "success")
    assert datetime.fromisoformat(made.timestamp) == told.created_at.replace(
        microsecond=told.created_at.microsecond // 1000 * 1000
    )
    assert made.timestamp.endswith("Z")
    assert ChatResponse.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("response", ""),
        ("confidence", -0.01),
        ("confidence", 1.01),
        ("session_id", UUID1),
        ("timestamp", "yesterday"),
        ("timestamp", "2025-12-17"),
        ("timestamp", "2025-12-17T14:23:45.123"),
        ("timestamp", "2025-12-17 14:23:45Z"),
        ("timestamp", "2025-13-17T14:23:45Z"),
        ("confidence_level", "certain"),
        ("tokens_used", -1),
        ("removed_sentences", -1),
        ("status", "done"),
        ("status", "error"),
    ],
)
def test_response_bounds(field: str, value: Any) -> None:
    refuses(ChatResponse, RESPONSE, **{field: value})


@pytest.mark.parametrize("time", ["2025-12-17T14:23:45.123Z", "2025-12-17T14:23:45+01:00"])
def test_response_timestamp_is_iso_with_a_zone(time: str) -> None:
    assert ChatResponse.model_validate({**RESPONSE, "timestamp": time}).timestamp == time


def test_response_timestamp_is_generated() -> None:
    without = {name: value for name, value in RESPONSE.items() if name != "timestamp"}
    made = ChatResponse.model_validate(without)
    assert datetime.fromisoformat(made.timestamp).tzinfo and made.timestamp.endswith("Z")


@pytest.mark.parametrize(
    ("field", "value"),
    [("confidence", 0.8), ("confidence_level", "medium"), ("should_answer", False)],
)
def test_response_matches_its_metrics(field: str, value: Any) -> None:
    refuses(ChatResponse, RESPONSE, field="", **{field: value})


@pytest.mark.parametrize("changed", [{"sources": [], "citations": []}, {"refused": True}])
def test_an_answer_has_sources_and_a_refusal_none(changed: dict[str, Any]) -> None:
    refuses(ChatResponse, RESPONSE, field="", **changed)


def test_refusal() -> None:
    made = ChatResponse.model_validate(REFUSED)
    assert made.refused and not made.should_answer
    assert (made.confidence, made.confidence_level) == (0.0, "insufficient")
    assert made.sources == [] and made.citations == []
    refuses(ChatResponse, REFUSED, refused=False, field="")


def test_good_retrieval_and_nothing_verified() -> None:
    """`should_answer` follows from the retrieval, `refused` from what became of it."""
    made = ChatResponse.of(refusal(confidence=assess(passages(5)), removed=3), UUID4)
    assert made.should_answer and made.confidence_level == "high"
    assert made.refused and made.sources == [] and made.removed_sentences == 3


def test_citations_are_numbered_as_the_sources() -> None:
    for numbers in ([2, 1], [1, 3], [1, 1]):
        citations = [
            {**cited, "number": number}
            for cited, number in zip(RESPONSE["citations"], numbers, strict=True)
        ]
        refuses(ChatResponse, RESPONSE, citations=citations, field="")
    refuses(ChatResponse, RESPONSE, citations=RESPONSE["citations"][:1], field="")


@pytest.mark.parametrize(
    "wrong",
    [sentence(0, 999, 1), sentence(5, 5, 1), sentence(0, 5, 3)],
)
def test_sentences_are_in_the_response_and_cite_its_list(wrong: Sentence) -> None:
    entry = wrong.model_dump(mode="json")
    refuses(ChatResponse, RESPONSE, sentences=[entry], field="")


# Source

SOURCE: dict[str, Any] = {
    "chunk_text": "ROS 2 nodes use a distributed publish-subscribe architecture...",
    "similarity_score": 0.92,
    "chapter": "Chapter 3: Robot Operating System 2",
    "section": "3.2 ROS 2 Communication Patterns",
    "url": "https://example.com/textbook/chapter3#section3-2",
    "chunk_index": 15,
}


def test_source_fields_and_bounds() -> None:
    has_fields(
        Source,
        chunk_text="string",
        similarity_score="number",
        chapter="string",
        section="string",
        url="string",
        chunk_index="integer",
    )
    requires(Source, SOURCE, *SOURCE)
    assert Source.model_validate({**SOURCE, "chunk_text": "x" * 500})
    refuses(Source, SOURCE, chunk_text="x" * 501)
    refuses(Source, SOURCE, similarity_score=1.01)
    refuses(Source, SOURCE, similarity_score=-0.01)
    refuses(Source, SOURCE, chunk_index=-1)


def test_source_of_a_citation() -> None:
    made = Source.of(Citation(1, passage(7), 0, 10, 0.8))
    assert (made.chapter, made.section) == ("Chapter 3: Communication", "3.2 What a node is")
    assert (made.url, made.chunk_index) == ("https://b.example/nodes#s7", 7)
    assert made.similarity_score == 0.9


def test_source_of_a_page_without_sections() -> None:
    assert Source.of(Citation(1, passage(section_title=None), 0, 10, 0.8)).section == "Nodes"


@given(st.lists(st.text("ab \n", min_size=1, max_size=30), min_size=1, max_size=80), st.data())
def test_source_is_short_and_shows_the_quote(words: list[str], data: st.DataObject) -> None:
    text = "Beginning of it. " + " ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    shown = Source.of(Citation(1, passage(text=text), start, end, 0.8)).chunk_text
    assert len(shown) <= 500
    assert shown.strip("…") in text
    if len(text) <= 500:
        assert shown == text


def test_source_of_a_long_passage_shows_what_was_quoted_far_below() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(60))
    start = text.index("Sentence number 50")
    shown = Source.of(Citation(1, passage(text=text), start, start + 27, 0.8)).chunk_text
    assert shown.startswith("…Sentence number 50 is here.") and len(shown) <= 500
