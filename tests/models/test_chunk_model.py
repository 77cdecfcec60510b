"""A chunk's own rules: counts, ids, what it refuses."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bythebook.models.chunk import (
    NAMESPACE,
    DocumentChunk,
    DocumentMetadata,
    Span,
    chunk_id,
    count_words,
    lesson_key,
    parent_id,
    payload_of,
    tokens_of_words,
)

ID = str(uuid.uuid4())
HASH = "0" * 64


def metadata(**changes: Any) -> DocumentMetadata:
    values: dict[str, Any] = {
        "book_id": "book",
        "module": "ros2",
        "chapter": 1,
        "lesson": 2,
        "hardware_tier": 1,
        "source_file": "a.md",
        "parent_doc_id": ID,
        "chunk_index": 0,
        "total_chunks": 1,
        "content_hash": HASH,
        "source_file_hash": HASH,
        "title": "Title",
        "chapter_title": "Chapter",
        "heading_path": ["Title", "Part"],
        "url": "/a",
        "spans": [Span(start=3, end=17, at=0)],
    }
    return DocumentMetadata(**values | changes)


def chunk(**changes: Any) -> DocumentChunk:
    values: dict[str, Any] = {
        "id": ID,
        "text": "Some text here",
        "metadata": metadata(),
        "word_count": 3,
        "token_count": 3,
        "char_count": 14,
    }
    return DocumentChunk(**values | changes)


def test_defaults() -> None:
    made = metadata()
    assert (made.proficiency_level, made.layer, made.version) == ("A2", "L1", 1)
    assert made.prev_chunk_id is made.next_chunk_id is made.section_title is None
    assert made.created_at.tzinfo is not None


@pytest.mark.parametrize(
    "changes",
    [
        *[{"book_id": ""}, {"module": ""}, {"chapter": -1}, {"lesson": -1}, {"hardware_tier": 5}],
        *[{"proficiency_level": "D1"}, {"layer": "L5"}, {"source_file": ""}, {"chunk_index": -1}],
        *[{"parent_doc_id": "x"}, {"total_chunks": 0}, {"content_hash": "0" * 63}, {"version": 0}],
        *[{"prev_chunk_id": f"{ID}\n"}, {"spans": []}, {"unknown": 1}],
        *[{"created_at": "2024-01-01T00:00:00"}],
    ],
)
def test_metadata_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        metadata(**changes)


@pytest.mark.parametrize(
    "changes",
    [{"id": "x"}, {"text": "too short"}, {"word_count": 0}, {"token_count": 0}, {"char_count": 0}],
)
def test_a_chunk_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        chunk(**changes)


def test_the_embedder_sees_the_headings_above() -> None:
    assert chunk().embedded_text == "Title › Part\nSome text here"


def test_the_payload_is_flat_json() -> None:
    payload = payload_of(chunk())
    assert payload["spans"] == [[3, 17, 0]]
    assert payload["text"] == "Some text here"
    assert payload["book_id"] == "book"
    assert isinstance(payload["created_at"], str)
    fields = {*DocumentMetadata.model_fields, "text", "word_count", "token_count", "char_count"}
    assert set(payload) == fields


def test_the_formulas_of_ids() -> None:
    key = lesson_key("book", "ros2", 1, 2)
    assert parent_id(key) == str(uuid.uuid5(NAMESPACE, "book:ros2:1:2:parent"))
    assert chunk_id(key, "a" * 64) == str(uuid.uuid5(NAMESPACE, f"book:ros2:1:2:{'a' * 16}"))
    assert chunk_id(key, "a" * 64, 3) == str(uuid.uuid5(NAMESPACE, f"book:ros2:1:2:{'a' * 16}:3"))
    assert lesson_key("book", "ros2", 1, 2, "slug") == "book:ros2:1:2:slug"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("one two\nthree", 3), ("漢字 kana", 3), ("a漢b", 3), ("🤖 ok", 2), ("a\u00a0b", 2)],
)
def test_words(text: str, expected: int) -> None:
    assert count_words(text) == expected


@given(st.text())
def test_text_has_words_just_when_it_has_anything(text: str) -> None:
    assert (count_words(text) > 0) == bool(text.strip())
    assert count_words(text) >= len(text.split())


def test_tokens() -> None:
    assert [tokens_of_words(count) for count in (0, 1, 2, 10, 394)] == [0, 1, 2, 13, 512]
