"""What ingestion writes: every field, bound, default and rule."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from bythebook.index.store import PAYLOAD_INDEXES
from bythebook.models.chunk import (
    DocumentChunk,
    DocumentMetadata,
    chunk_id,
    lesson_key,
    parent_id,
    payload_of,
)
from bythebook.models.job import IngestionJob, IngestionRecord, IngestionState
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchQuery, SearchResponse, SearchResult

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
HASH = "ab" * 32
TEXT = "A node is a process that performs computation."


def metadata(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "book_id": "physical-ai-robotics",
        "module": "ros2",
        "chapter": 3,
        "lesson": 2,
        "hardware_tier": 1,
        "source_file": "module-1/chapter-3/02-nodes.md",
        "parent_doc_id": parent_id("x"),
        "chunk_index": 0,
        "total_chunks": 1,
        "content_hash": HASH,
        "source_file_hash": HASH,
        "title": "Nodes",
        "chapter_title": "Communication",
        "heading_path": ["Nodes"],
        "url": "https://b.example/nodes",
        "spans": [{"start": 0, "end": 46, "at": 0}],
    }
    return {**values, **changes}


def chunk(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": chunk_id("k", HASH),
        "text": TEXT,
        "metadata": metadata(),
        "word_count": 8,
        "token_count": 10,
        "char_count": 46,
    }
    return {**values, **changes}


def test_ids_follow_the_formulas() -> None:
    key = lesson_key("physical-ai-robotics", "ros2", 3, 2)
    assert chunk_id(key, HASH) == str(
        uuid.uuid5(NAMESPACE, f"physical-ai-robotics:ros2:3:2:{HASH[:16]}")
    )
    assert parent_id(key) == str(uuid.uuid5(NAMESPACE, "physical-ai-robotics:ros2:3:2:parent"))
    assert chunk_id(key, HASH, 2) == str(
        uuid.uuid5(NAMESPACE, f"physical-ai-robotics:ros2:3:2:{HASH[:16]}:2")
    )


def test_chunk_defaults_and_bounds() -> None:
    made = DocumentChunk(**chunk())
    assert (made.metadata.proficiency_level, made.metadata.layer) == ("A2", "L1")
    assert made.metadata.version == 1 and made.metadata.section_title is None
    assert made.metadata.created_at.tzinfo and made.metadata.updated_at.tzinfo
    for wrong in (
        {"text": "too short"},
        {"word_count": 0},
        {"token_count": 0},
        {"char_count": 0},
        {"id": "no-uuid"},
    ):
        with pytest.raises(ValidationError):
            DocumentChunk(**chunk(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"book_id": ""},
        {"module": ""},
        {"chapter": -1},
        {"lesson": -1},
        {"hardware_tier": 5},
        {"hardware_tier": 0},
        {"proficiency_level": "D1"},
        {"layer": "L5"},
        {"chunk_index": -1},
        {"total_chunks": 0},
        {"prev_chunk_id": "x"},
        {"content_hash": "short"},
        {"source_file": ""},
    ],
)
def test_metadata_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DocumentMetadata(**metadata(**wrong))


def test_payload_has_every_field_and_every_index() -> None:
    payload = payload_of(DocumentChunk(**chunk()))
    fields = """book_id module chapter lesson hardware_tier proficiency_level layer parent_doc_id
        content_hash source_file_hash text section_title source_file chunk_index total_chunks
        prev_chunk_id next_chunk_id word_count token_count version created_at updated_at"""
    assert set(fields.split()) <= payload.keys()
    indexed = """book_id module chapter lesson hardware_tier proficiency_level layer parent_doc_id
        content_hash source_file_hash"""
    assert set(indexed.split()) <= set(PAYLOAD_INDEXES)


def record(path: str, file_hash: str, *ids: str) -> IngestionRecord:
    return IngestionRecord(
        source_file=path,
        file_hash=file_hash,
        chunk_ids=list(ids),
        chunk_count=len(ids),
        ingested_at=datetime.now(UTC),
        book_id="b",
        module="m",
        chapter=0,
        lesson=0,
        parent_doc_id=parent_id("x"),
        url="/",
        chunker_version=1,
    )


def test_state_compares_files() -> None:
    state = IngestionState(
        book_id="b",
        collection_name="c",
        records={
            "same.md": record("same.md", "1", "i", "j"),
            "edited.md": record("edited.md", "2", "k"),
            "gone.md": record("gone.md", "3", "l"),
        },
    )
    current = {"same.md": "1", "edited.md": "9", "new.md": "4"}
    assert state.get_changed_files(current) == (["new.md"], ["edited.md"], ["gone.md"])
    assert state.get_chunks_to_delete(["edited.md", "gone.md", "new.md"]) == ["k", "l"]
    assert state.total_chunks == 4
    assert state.last_full_ingest is None and state.last_incremental_update is None


def test_job_rules() -> None:
    now = datetime.now(UTC)
    fields: dict[str, Any] = {
        "job_id": 1,
        "book_id": "b",
        "mode": "incremental",
        "status": "running",
        "started_at": now,
    }
    assert IngestionJob(**fields).completed_at is None
    ended = {"status": "completed", "completed_at": now, "duration_seconds": 1}
    counts = {"files_processed": 2, "files_skipped": 3, "total_files": 5}
    job = IngestionJob(**{**fields, **ended, **counts})
    assert job.error_message is None
    for wrong in (
        {"status": "completed"},
        {"status": "running", "completed_at": now},
        {"status": "sleeping"},
        {"mode": "partial"},
        {"chunks_created": -1},
        {"chunks_deleted": -1},
        {**ended, "files_processed": 1, "total_files": 5},
    ):
        with pytest.raises(ValidationError):
            IngestionJob(**{**fields, **wrong})


def test_search_query_defaults_and_bounds() -> None:
    query = SearchQuery(text="What is a node?")
    assert query.book_id == "physical-ai-robotics"
    assert (query.hardware_tier_filter, query.limit) == (1, 5)
    optional = """module_filter chapter_min chapter_max lesson_filter proficiency_levels
        layer_filter parent_doc_id"""
    assert all(getattr(query, name) is None for name in optional.split())
    fields: list[dict[str, Any]] = [
        {"text": "no"},
        {"limit": 0},
        {"limit": 21},
        {"hardware_tier_filter": 5},
    ]
    for wrong in fields:
        with pytest.raises(ValidationError):
            SearchQuery(**{"text": "What is a node?", **wrong})


def test_search_result_and_response() -> None:
    made = DocumentChunk(**chunk())
    good = SearchResult.of(Passage(made, "m", score=0.9))
    weak = SearchResult.of(Passage(made, "m", score=0.2))
    fields = """text score source_file section_title module chapter lesson hardware_tier
        proficiency_level layer chunk_index total_chunks parent_doc_id prev_chunk_id next_chunk_id
        content_hash"""
    assert set(fields.split()) <= good.model_dump().keys()
    shared: dict[str, Any] = {
        "query": "q",
        "total_found": 2,
        "hardware_tier_filter": 1,
        "module_filter": None,
        "book_id": "b",
        "retrieval_time_ms": 1.5,
    }
    assert SearchResponse(results=[good, weak], **shared).results == [good, weak]
    with pytest.raises(ValidationError):
        SearchResponse(results=[weak, good], **shared)
