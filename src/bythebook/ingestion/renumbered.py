"""A file that is as it was but for its numbers: its passages are in the index already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bythebook.ingestion.points import Known
from bythebook.models.chunk import DocumentChunk, chunk_ids, neighbours, parent_id
from bythebook.models.passage import chunk_of_payload
from bythebook.reading.placement import Placement

NUMBERS = frozenset({"module", "chapter", "lesson", "numbered", "collides"})


def only_renumbered(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two noted placements differ in nothing that a passage's text or address is made
    of."""
    return before.keys() == after.keys() and all(
        before[name] == after[name] for name in after.keys() - NUMBERS
    )


def renumbered(
    known: Known, file_hash: str, book_id: str, placement: Placement
) -> tuple[DocumentChunk, ...]:
    """The file's passages under its new numbers; none unless the index has all of them. It may
    lack one: another file with the same passage that got this file's old number overwrote it."""
    kept = sorted(
        (chunk_of_payload(one.id, one.payload or {}) for one in known.points.values()),
        key=lambda chunk: chunk.metadata.chunk_index,
    )
    whole = all(
        (chunk.metadata.chunk_index, chunk.metadata.total_chunks) == (index, len(kept))
        and chunk.metadata.source_file_hash == file_hash
        for index, chunk in enumerate(kept)
    )
    if not whole:
        return ()
    ids = chunk_ids(placement.chunk_key(book_id), [one.metadata.content_hash for one in kept])
    shared: dict[str, Any] = {
        "module": placement.module,
        "chapter": placement.chapter,
        "lesson": placement.lesson,
        "parent_doc_id": parent_id(placement.parent_key(book_id)),
        "version": 1,  # of this id
    }
    return tuple(
        chunk.model_copy(
            update={
                "id": ids[index],
                "metadata": chunk.metadata.model_copy(update=shared | neighbours(ids, index)),
            }
        )
        for index, chunk in enumerate(kept)
    )
