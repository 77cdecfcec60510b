"""What is stored of a book: points of the index, files, jobs, and what must hold between them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import WriteBook, lesson, section, small_book
from bythebook.index.store import all_points, book_filter
from bythebook.library import Library
from bythebook.models.values import IngestionMode
from bythebook.settings import Settings
from contract.shapes import misfits
from invariants import check_invariants

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
POINT = {
    "book_id": "text",
    "module": "text",
    "chapter": "whole",
    "lesson": "whole",
    "section_title": "none|text",
    "hardware_tier": "positive",
    "proficiency_level": "text",
    "layer": "text",
    "source_file": "text",
    "parent_doc_id": "uuid",
    "chunk_index": "whole",
    "total_chunks": "positive",
    "prev_chunk_id": "none|uuid",
    "next_chunk_id": "none|uuid",
    "content_hash": "sha256",
    "source_file_hash": "sha256",
    "version": "positive",
    "created_at": "moment",
    "updated_at": "moment",
    "text": "text",
    "word_count": "positive",
    "token_count": "positive",
    "char_count": "positive",
    "embedded_at": "moment",
    "embedding_model": "text",
}
INDEXED = {
    "book_id": "keyword",
    "module": "keyword",
    "chapter": "integer",
    "lesson": "integer",
    "hardware_tier": "integer",
    "proficiency_level": "keyword",
    "layer": "keyword",
    "parent_doc_id": "keyword",
    "content_hash": "keyword",
    "source_file_hash": "keyword",
}
RECORD = {
    "source_file": "text",
    "file_hash": "sha256",
    "chunk_ids": "some",
    "chunk_count": "positive",
    "ingested_at": "moment",
    "book_id": "text",
    "module": "text",
    "chapter": "whole",
    "lesson": "whole",
}
STATE = {
    "book_id": "text",
    "collection_name": "text",
    "records": "object",
    "last_full_ingest": "none|moment",
    "last_incremental_update": "none|moment",
    "total_chunks": "positive",
}


@pytest.fixture(params=["embedded", "server"])
async def kept(
    request: pytest.FixtureRequest, home: Path, database_url: str
) -> AsyncIterator[Library]:
    """Both kinds of index, with both kinds of database."""
    how: dict[str, Any] = {"home": home, "database_url": database_url}
    if request.param == "server":
        name = f"book-{uuid.uuid4().hex}"
        how |= {"qdrant_url": request.getfixturevalue("qdrant_url"), "collection": name}
    async with await Library.open(Settings(**how)) as library:
        yield library
        if request.param == "server":
            await (await library.store()).drop()


async def test_every_field_that_is_stored(kept: Library, write_book: WriteBook) -> None:
    folder = write_book(small_book())
    await kept.ingest(folder)
    chunks = await check_invariants(kept, "small")
    store = await kept.store()
    points = await all_points(store, book_filter("small"), with_vectors=True)
    assert len(points) == len(chunks) == 8
    for point in points:
        payload = point.payload or {}
        assert misfits(payload, POINT) == [] and misfits({"id": point.id}, {"id": "uuid"}) == []
        assert payload["hardware_tier"] in range(1, 5)
        assert payload["proficiency_level"] in ("A1", "A2", "B1", "B2", "C1", "C2")
        assert payload["layer"] in ("L1", "L2", "L3", "L4")
        assert payload["version"] == 1 and payload["created_at"] == payload["updated_at"]
        file = folder / payload["source_file"]
        assert payload["source_file_hash"] == sha256(file.read_bytes()).hexdigest()
        assert payload["content_hash"] == sha256(payload["text"].encode()).hexdigest()
        assert payload["embedding_model"] == kept.embedder.name
        assert len((point.vector or {})["dense"]) == kept.embedder.dimension  # type: ignore[arg-type]
    state = await kept.catalog.state("small", kept.settings.collection)
    told = state.model_dump(mode="json")
    assert misfits(told, STATE) == []
    assert all(misfits(record, RECORD) == [] for record in told["records"].values())
    for file, record in state.records.items():
        assert (file, "small") == (record.source_file, record.book_id)
        assert record.file_hash == sha256((folder / file).read_bytes()).hexdigest()
    assert state.total_chunks == len(points)


async def test_the_state_says_when_the_book_was_read(kept: Library, write_book: WriteBook) -> None:
    folder = write_book(small_book())

    async def times(mode: IngestionMode) -> tuple[datetime | None, datetime | None]:
        await kept.ingest(folder, mode=mode)
        state = await kept.catalog.state("small", kept.settings.collection)
        return state.last_full_ingest, state.last_incremental_update

    never, first = await times("incremental")
    assert never is None and first is not None
    full, same = await times("full")
    assert full is not None and full > first == same
    again, later = await times("incremental")
    assert later is not None and later > full == again


async def test_ids_follow_from_place_and_content(kept: Library, write_book: WriteBook) -> None:
    folder = write_book(small_book())
    await kept.ingest(folder)
    for chunk in await check_invariants(kept, "small"):
        place = chunk.metadata
        key = f"small:{place.module}:{place.chapter}:{place.lesson}"
        named = f"{key}:{place.content_hash[:16]}"
        assert chunk.id == str(uuid.uuid5(NAMESPACE, named))
        assert place.parent_doc_id == str(uuid.uuid5(NAMESPACE, f"{key}:parent"))


async def test_lessons_of_five_three_and_one_chunk(kept: Library, write_book: WriteBook) -> None:
    """Chains end where lessons do, nothing leads back to itself, and lessons come in order."""
    topics = ("nodes", "topics", "services", "actions", "sensors")
    files = {
        f"m/chapter-1/0{number}-{name}.md": lesson(
            name, *(section(f"{name} {topic}", topic) for topic in topics[:count])
        )
        for number, (name, count) in enumerate({"A": 5, "B": 3, "C": 1}.items(), 1)
    }
    await kept.ingest(write_book(files), book_id="abc")
    chunks = {chunk.id: chunk.metadata for chunk in await check_invariants(kept, "abc")}
    assert len(chunks) == 9 and len({place.parent_doc_id for place in chunks.values()}) == 3
    lengths: list[int] = []
    for first in (key for key, place in chunks.items() if place.prev_chunk_id is None):
        chain, at = [], first
        while at is not None:
            assert at not in chain
            chain.append(at)
            at = chunks[at].next_chunk_id  # type: ignore[assignment]
        whole = await kept.lesson("abc", chunks[first].parent_doc_id)
        assert [passage.id for passage in whole] == chain
        lengths.append(len(chain))
    assert sorted(lengths) == [1, 3, 5]


async def test_an_edit_leaves_no_link_to_what_is_gone(kept: Library, write_book: WriteBook) -> None:
    files = small_book()
    await kept.ingest(write_book(files))
    page = "module-1-ros/chapter-1/01-nodes.md"
    before = {c.id: c.metadata for c in await check_invariants(kept, "small")}
    files[page] = files[page].replace("remark 3 on topics", "another remark on topics")
    job = await kept.ingest(write_book(files))
    after = {c.id: c.metadata for c in await check_invariants(kept, "small")}
    (gone,), (new,) = before.keys() - after.keys(), after.keys() - before.keys()
    assert (job.chunks_created, job.chunks_deleted, job.files_skipped) == (1, 1, 3)
    links = {
        link for place in after.values() for link in (place.prev_chunk_id, place.next_chunk_id)
    }
    assert gone not in links and new in links
    kept_hash = {
        before[each].source_file_hash for each in before if before[each].source_file == page
    }
    assert after[new].source_file_hash not in kept_hash


async def test_the_indexes_of_a_collection(
    qdrant_url: str, home: Path, write_book: WriteBook
) -> None:
    """As the server itself tells them."""
    name = f"book-{uuid.uuid4().hex}"
    given = Settings(home=home, qdrant_url=qdrant_url, collection=name)
    async with await Library.open(given) as library, httpx.AsyncClient(base_url=qdrant_url) as http:
        await library.ingest(write_book(small_book()))
        told = (await http.get(f"/collections/{name}")).json()["result"]
        await (await library.store()).drop()
    found = told["payload_schema"]
    assert {field: found[field]["data_type"] for field in INDEXED} == INDEXED
    assert found["book_id"]["params"]["is_tenant"] is True
    assert not found.keys() & {"text", "section_title", "chunk_index", "word_count", "version"}
    dense = told["config"]["params"]["vectors"]["dense"]
    assert (dense["size"], dense["distance"]) == (library.embedder.dimension, "Cosine")


async def test_defaults_of_a_page_that_says_nothing(kept: Library, write_book: WriteBook) -> None:
    await kept.ingest(
        write_book({"page.md": lesson("Page", section("Part", "nodes"))}), book_id="b"
    )
    (place,) = [chunk.metadata for chunk in await check_invariants(kept, "b")]
    assert (place.hardware_tier, place.proficiency_level, place.layer) == (1, "A2", "L1")
    assert place.version == 1 and place.prev_chunk_id is None and place.next_chunk_id is None
