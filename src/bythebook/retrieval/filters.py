"""Filters as Qdrant conditions, how many passages they leave, and pages that are being switched."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.index.qdrant_models import (
    Condition,
    FieldCondition,
    Filter,
    MatchAny,
    MatchValue,
    Range,
)
from bythebook.index.store import VectorStore
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchFilters, SearchQuery
from bythebook.models.values import HARDWARE_TIERS

MAX_COUNTS = 1000


def make_filter(query: SearchQuery, pages: Sequence[str] | None = None) -> Filter:
    """Every filter of the query must match; `pages` are those a prefix was resolved to."""
    conditions: list[Condition] = [
        FieldCondition(key="book_id", match=MatchValue(value=query.book_id)),
    ]
    if query.hardware_tier_filter < HARDWARE_TIERS[-1]:  # the highest excludes nothing
        tiers = Range(lte=query.hardware_tier_filter)
        conditions.append(FieldCondition(key="hardware_tier", range=tiers))
    for key, value in (
        ("module", query.module_filter),
        ("lesson", query.lesson_filter),
        ("layer", query.layer_filter),
        ("parent_doc_id", query.parent_doc_id),
    ):
        if value is not None:
            conditions.append(FieldCondition(key=key, match=MatchValue(value=value)))
    if query.chapter_min is not None or query.chapter_max is not None:
        chapters = Range(gte=query.chapter_min, lte=query.chapter_max)
        conditions.append(FieldCondition(key="chapter", range=chapters))
    if query.proficiency_levels is not None:
        levels = MatchAny(any=list(query.proficiency_levels))
        conditions.append(FieldCondition(key="proficiency_level", match=levels))
    if pages is not None:
        conditions.append(FieldCondition(key="parent_doc_id", match=MatchAny(any=list(pages))))
    return Filter(must=conditions)


class PassageCounts:
    """How many passages of a book filters leave, remembered while the book stays the same: to count
    takes as long as to search, and readers choose the same few filters again and again."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._books: dict[str, tuple[object, dict[str, int]]] = {}

    async def of(self, book: BookInfo, filters: SearchFilters, selection: Filter) -> int:
        """`selection` is what the filters are for the index."""
        if filters == SearchFilters():
            return book.total_chunks
        state = (book.total_chunks, book.last_full_ingest, book.last_incremental_update)
        known_state, counts = self._books.get(book.book_id, (None, {}))
        if known_state != state or len(counts) >= MAX_COUNTS:
            counts = {}
            self._books[book.book_id] = (state, counts)
        chosen = filters.model_dump_json(exclude_defaults=True)
        if chosen not in counts:
            counts[chosen] = await self._store.count(selection)
        return counts[chosen]


SWITCHING_RETRIES = 5
SWITCHING_PAUSE = 0.02


def mixes_states(passages: Sequence[Passage]) -> bool:
    """Whether passages of one page come from two states of its file."""
    states: dict[str, str] = {}
    for passage in passages:
        place = passage.metadata
        if states.setdefault(place.source_file, place.source_file_hash) != place.source_file_hash:
            return True
    return False


def newest_states(passages: Sequence[Passage]) -> list[Passage]:
    """Of each page only what was written last."""
    newest: dict[str, Passage] = {}
    for passage in passages:
        known = newest.setdefault(passage.metadata.source_file, passage)
        if passage.metadata.updated_at > known.metadata.updated_at:
            newest[passage.metadata.source_file] = passage
    return [
        passage
        for passage in passages
        if passage.metadata.source_file_hash
        == newest[passage.metadata.source_file].metadata.source_file_hash
    ]


def without_repeats(passages: Sequence[Passage]) -> list[Passage]:
    """Of passages with the same text only the first stays."""
    first: dict[str, Passage] = {}
    for passage in passages:
        first.setdefault(passage.metadata.content_hash, passage)
    return list(first.values())
