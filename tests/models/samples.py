"""Passages and answers, and how to check a model's fields."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from bythebook.models.answer import Answer, Citation, Sentence
from bythebook.models.chunk import DocumentChunk, DocumentMetadata, Span, chunk_id, now, parent_id
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.passage import Passage
from bythebook.models.retrieval_tool import ToolCall
from bythebook.retrieval.calibration import assess

TEXT = "A node is a process that performs computation. Nodes talk over topics."
UUID1 = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
UUID4 = "550e8400-e29b-41d4-a716-446655440000"


def passage(number: int = 0, text: str = TEXT, score: float = 0.9, **changes: Any) -> Passage:
    """The n-th passage of a page; the source file has four characters before it."""
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    values: dict[str, Any] = {
        "book_id": "physical-ai-robotics",
        "module": "ros2",
        "chapter": 3,
        "lesson": 2,
        "hardware_tier": 1,
        "source_file": "module-1/chapter-3/02-nodes.md",
        "parent_doc_id": parent_id("x"),
        "chunk_index": number,
        "total_chunks": 20,
        "content_hash": content_hash,
        "source_file_hash": content_hash,
        "title": "Nodes",
        "chapter_title": "Chapter 3: Communication",
        "section_title": "3.2 What a node is",
        "heading_path": ["Nodes", "3.2 What a node is"],
        "url": f"https://b.example/nodes#s{number}",
        "spans": [Span(start=4, end=4 + len(text), at=0)],
    }
    words = len(text.split())
    chunk = DocumentChunk(
        id=chunk_id(f"key:{number}", content_hash),
        text=text,
        metadata=DocumentMetadata(**{**values, **changes}),
        word_count=words,
        token_count=max(1, int(words * 1.3)),
        char_count=len(text),
    )
    return Passage(chunk, "built-in", score=score)


def passages(count: int, score: float = 0.9) -> tuple[Passage, ...]:
    return tuple(
        passage(number, f"Passage number {number} says something.", score)
        for number in range(count)
    )


def sentence(start: int, end: int, *citations: int, support: float = 1.0) -> Sentence:
    return Sentence(start=start, end=end, citations=citations, support=support)


def tool_call(query: str) -> ToolCall:
    return ToolCall(
        tool_name="search_textbook",
        query=query,
        arguments={"query": query},
        results_count=5,
        avg_similarity=0.9,
        timestamp=now(),
    )


def answer(**changes: Any) -> Answer:
    """Two sentences, each with a citation of its own passage."""
    found = (passage(0), passage(1, "Topics carry typed messages."), *passages(5)[2:])
    text = "A node is a process. [1] Topics carry typed messages. [2]"
    values: dict[str, Any] = {
        "question": "What is a node?",
        "text": text,
        "status": "success",
        "refused": False,
        "citations": (
            Citation(1, found[0], 0, 46, 0.8),
            Citation(2, found[1], 0, 28, 0.7),
        ),
        "sentences": (sentence(0, 24, 1, support=0.9), sentence(25, len(text), 2)),
        "passages": found,
        "confidence": assess(found),
        "model": "gpt-4o-mini",
        "tokens_used": 321,
        "tool_calls": (tool_call("node"),),
        "removed": 1,
        "notes": ("One sentence was removed.",),
    }
    return Answer(**{**values, **changes})


def refusal(**changes: Any) -> Answer:
    values: dict[str, Any] = {
        "text": "I don't have information about that in the book content.",
        "refused": True,
        "citations": (),
        "sentences": (),
        "passages": (),
        "confidence": assess(()),
    }
    return answer(**{**values, **changes})


def conversation(turns: int) -> Conversation:
    made = Conversation(id=UUID4)
    for number in range(turns):
        call = tool_call(f"query {number}")
        made.add(
            Turn(
                f"Question {number}?",
                f"Answer {number}. [1]",
                sources=(f"Page {number} › Section",),
                confidence=0.9,
                tool_calls=(call,),
                model="gpt-4o-mini",
            )
        )
    return made


def refuses(
    model: type[BaseModel], valid: dict[str, Any], /, *, field: str = "", **wrong: Any
) -> None:
    """The valid values pass, and with the wrong ones it is these that are named."""
    model.model_validate(valid)
    with pytest.raises(ValidationError) as caught:
        model.model_validate({**valid, **wrong})
    places = [str(error["loc"][0]) if error["loc"] else "" for error in caught.value.errors()]
    assert set(places) <= {field or next(iter(wrong)), ""}


def requires(model: type[BaseModel], valid: dict[str, Any], /, *names: str) -> None:
    """Each of these fields must be given, and no other."""
    model.model_validate(valid)
    needed = {name for name, field in model.model_fields.items() if field.is_required()}
    assert needed == set(names)
    for name in names:
        with pytest.raises(ValidationError, match="Field required"):
            model.model_validate({key: value for key, value in valid.items() if key != name})


def has_fields(model: type[BaseModel], /, **types: str) -> None:
    """The fields and their JSON types, as the model's own schema tells them."""
    schema = model.model_json_schema(mode="serialization")["properties"]
    for name, kind in types.items():
        options = schema[name].get("anyOf", [schema[name]])
        found = {option.get("type") or option["$ref"].rpartition("/")[2] for option in options}
        assert found == {*kind.split("|")}, name
