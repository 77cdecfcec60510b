"""All that must hold between the passages of an index, checked against what is really in it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from itertools import pairwise
from math import isclose
from pathlib import Path
from typing import Any

from bythebook.index.store import all_points, book_filter
from bythebook.library import Library
from bythebook.models.chunk import DocumentChunk
from bythebook.models.passage import chunk_of_payload
from bythebook.reading.source import hash_text
from bythebook.settings import Settings

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
# What differs between two indexes of the same book made at different times.
HISTORY = {"version", "created_at", "updated_at", "embedded_at"}


async def chunks_of(library: Library, book_id: str) -> list[DocumentChunk]:
    records = await all_points(await library.store(), book_filter(book_id))
    return [chunk_of_payload(record.id, record.payload or {}) for record in records]


class Numbers(list[float]):
    """A vector. A server normalises it once more, maybe on another processor: its last digits may
    differ."""

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, list)
        pairs = zip(self, other, strict=True)
        return all(isclose(ours, theirs, abs_tol=1e-4) for ours, theirs in pairs)


async def content_of(library: Library, book_id: str) -> dict[str, tuple[dict[str, Any], Numbers]]:
    """Each point's payload, without its history, and its vector."""
    store = await library.store()
    records = await all_points(store, book_filter(book_id), with_vectors=True)
    return {
        record.id: (
            {key: value for key, value in (record.payload or {}).items() if key not in HISTORY},
            Numbers((record.vector or {})["dense"]),  # type: ignore[arg-type]
        )
        for record in records
    }


async def fresh_content(root: Path, home: Path) -> object:
    """What an index holds that was made in one go."""
    async with await Library.open(Settings(home=home)) as other:
        job = await other.ingest(root)
        return await content_of(other, job.book_id)


async def check_invariants(library: Library, book_id: str) -> list[DocumentChunk]:
    """Raises on the first invariant that does not hold."""
    chunks = await chunks_of(library, book_id)
    by_id = {chunk.id: chunk for chunk in chunks}
    lessons: dict[str, list[DocumentChunk]] = defaultdict(list)
    for chunk in chunks:
        place = chunk.metadata
        assert place.book_id == book_id
        assert chunk.text == chunk.text.strip() and len(chunk.text) >= 10
        assert place.content_hash == hash_text(chunk.text)
        assert chunk.token_count == int(chunk.word_count * 1.3) <= 512
        assert chunk.char_count == len(chunk.text)
        assert place.chunk_index < place.total_chunks
        assert (place.prev_chunk_id is None) == (place.chunk_index == 0)
        assert (place.next_chunk_id is None) == (place.chunk_index == place.total_chunks - 1)
        lessons[place.parent_doc_id].append(chunk)
    for lesson in lessons.values():
        lesson.sort(key=lambda chunk: chunk.metadata.chunk_index)
        first = lesson[0].metadata
        assert [chunk.metadata.chunk_index for chunk in lesson] == list(range(first.total_chunks))
        assert len({chunk.metadata.source_file for chunk in lesson}) == 1
        assert len({chunk.metadata.source_file_hash for chunk in lesson}) == 1
        for before, after in pairwise(lesson):
            assert before.metadata.next_chunk_id == after.id
            assert after.metadata.prev_chunk_id == before.id
            assert by_id[before.id].metadata.parent_doc_id == after.metadata.parent_doc_id
    state = await library.catalog.state(book_id, library.settings.collection)
    assert state.total_chunks == len(chunks)
    for record in state.records.values():
        assert record.chunk_count == len(record.chunk_ids)
        for chunk_id in record.chunk_ids:
            place = by_id[chunk_id].metadata
            assert place.source_file == record.source_file
            assert place.source_file_hash == record.file_hash
    assert {chunk.metadata.source_file for chunk in chunks} == {
        file for file, record in state.records.items() if record.chunk_count
    }
    return chunks
