"""What stands around a passage: its neighbours by the chain, its whole lesson in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bythebook.errors import BookNotFound
from bythebook.index.qdrant_models import Record
from bythebook.index.store import DENSE, VectorStore, all_points, book_filter
from bythebook.models.chunk import Span
from bythebook.models.passage import NO_CHUNK, Passage, chunk_of_payload
from bythebook.retrieval.filters import (
    SWITCHING_PAUSE,
    SWITCHING_RETRIES,
    mixes_states,
    newest_states,
)

MAX_NEIGHBOURS = 10

log = logging.getLogger(__name__)


def passages_of(records: Iterable[Record]) -> list[Passage]:
    """Whoever shares a server may have put in something else: that is left out."""
    found: list[Passage] = []
    others: list[str] = []
    for record in records:
        try:
            payload = record.payload or {}
            chunk = chunk_of_payload(record.id, payload)
            found.append(Passage(chunk, embedding_model=str(payload["embedding_model"])))
        except NO_CHUNK as problem:
            others.append(f"{record.id} ({type(problem).__name__})")
    if others:
        log.warning("%d points of the index are no passages, such as %s", len(others), others[0])
    return found


async def find_passage(store: VectorStore, book_id: str, chunk_id: str) -> Passage:
    """A passage by its id, if it is one of this book."""
    found = await _in_book(store, book_id, [chunk_id])
    if not found:
        raise BookNotFound(
            f"There is no passage {chunk_id} in {book_id}.",
            action="Search again; its page may have changed.",
        )
    return found[0]


async def with_vectors(store: VectorStore, passages: Sequence[Passage]) -> list[Passage]:
    """The same with their vectors, which a search does not bring: only an answer's confidence asks
    for them. A passage that has just gone keeps none."""
    wanted = [passage.id for passage in passages]
    records = await store.retrieve(wanted, with_payload=False, with_vectors=[DENSE])
    vectors: dict[str, tuple[float, ...]] = {}
    for record in records:
        vector = (record.vector or {})[DENSE]
        assert isinstance(vector, Sequence)
        vectors[record.id] = tuple(vector)
    return [replace(passage, vector=vectors.get(passage.id)) for passage in passages]


async def surroundings(
    store: VectorStore, book_id: str, passage: Passage, before: int = 1, after: int = 1
) -> list[Passage]:
    """The passage with up to `before` and `after` neighbours, in reading order."""
    earlier = await _walk(store, book_id, passage, "prev_chunk_id", before)
    later = await _walk(store, book_id, passage, "next_chunk_id", after)
    return [*reversed(earlier), passage, *later]


async def whole_lesson(store: VectorStore, book_id: str, parent_doc_id: str) -> list[Passage]:
    """Every passage of a lesson in order."""
    for _ in range(SWITCHING_RETRIES):
        records = await all_points(store, book_filter(book_id, parent_doc_id=parent_doc_id))
        passages = passages_of(records)
        if not mixes_states(passages):
            break
        await asyncio.sleep(SWITCHING_PAUSE)
    if not passages:
        raise BookNotFound(
            f"There is no lesson {parent_doc_id} in {book_id}.",
            action="Search again; the page may have been removed.",
        )
    return sorted(newest_states(passages), key=lambda passage: passage.metadata.chunk_index)


async def _walk(
    store: VectorStore, book_id: str, passage: Passage, link: str, steps: int
) -> list[Passage]:
    found: list[Passage] = []
    for _ in range(min(steps, MAX_NEIGHBOURS)):
        target: str | None = getattr(passage.metadata, link)
        if target is None:
            break
        neighbours = await _in_book(store, book_id, [target])
        if not neighbours:
            break
        passage = neighbours[0]
        found.append(passage)
    return found


async def _in_book(store: VectorStore, book_id: str, ids: Sequence[str]) -> list[Passage]:
    records = await store.retrieve(ids)
    return [passage for passage in passages_of(records) if passage.metadata.book_id == book_id]


def lesson_text(passages: Sequence[Passage]) -> str:
    """The passages of a lesson as one text."""
    return whole_text(passages)[0]


def whole_text(passages: Sequence[Passage]) -> tuple[str, list[Span]]:
    """The passages of a lesson as one text, and where its parts stand in the source. A passage
    repeats the end of the one before it so that it can be understood alone; here that is left
    out."""
    text = ""
    parts: list[Span] = []
    seen = 0
    for passage in passages:
        spans = passage.metadata.spans
        cut = 0
        for span in spans:
            if span.start >= seen:
                break
            cut = span.at + min(seen, span.end) - span.start
        seen = max([seen, *(span.end for span in spans)])
        piece = passage.text[cut:].strip()
        if not piece:
            continue
        cut = passage.text.index(piece, cut)
        text += "\n\n" if text else ""
        for span in spans:
            first = max(span.at, cut)
            last = min(span.at + span.end - span.start, cut + len(piece))
            if first < last:
                start = span.start + first - span.at
                parts.append(
                    Span(start=start, end=start + last - first, at=len(text) + first - cut)
                )
        text += piece
    return text, parts


def stretches_in(
    parts: Sequence[Span], passage: Passage, stretches: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where stretches of a passage stand in the text that `whole_text` made of its lesson."""
    own = [
        (span.start + max(start - span.at, 0), min(span.start + end - span.at, span.end))
        for start, end in stretches
        for span in passage.metadata.spans
        if start < span.at + span.end - span.start and span.at < end
    ]
    return [
        (part.at + max(start - part.start, 0), part.at + min(end, part.end) - part.start)
        for start, end in own
        for part in parts
        if start < part.end and part.start < end
    ]
