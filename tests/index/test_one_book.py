"""An index of one book is searched without asking each point which book it is of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge

from bythebook.index.edge import EdgeStore
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    IdfCorpusParams,
    MatchValue,
    PointStruct,
    QueryRequest,
    SearchParams,
    SparseVector,
)
from bythebook.index.store import DENSE, SPARSE
from index.index_samples import DIMENSION, SAMPLES, dense, sample, where

ATLAS = [point for point in SAMPLES if (point.payload or {})["book_id"] == "atlas"]
OTHERS = [point for point in SAMPLES if point not in ATLAS]


@pytest.fixture
async def store(quick_path: Path) -> AsyncIterator[EdgeStore]:
    store = EdgeStore(quick_path / "index")
    await store.open(DIMENSION)
    await store.replace(ATLAS, [])
    yield store
    await store.close()


def requests(book: str, *more: FieldCondition) -> list[QueryRequest]:
    in_book = Filter(must=[FieldCondition(key="book_id", match=MatchValue(value=book))])
    words = SparseVector(indices=[1, 2, 3, 4, 5], values=[1.0] * 5)
    params = SearchParams(idf=IdfCorpusParams(corpus=in_book))
    chosen = Filter(must=[*in_book.must, *more])
    return [
        QueryRequest(query=dense(1), using=DENSE, filter=chosen, limit=500),
        QueryRequest(query=words, using=SPARSE, filter=chosen, params=params, limit=500),
    ]


async def ids(store: EdgeStore, book: str, *more: FieldCondition) -> list[set[str]]:
    return [{hit.id for hit in hits} for hits in await store.query_batch(requests(book, *more))]


def ids_of(points: Sequence[PointStruct]) -> set[str]:
    return {point.id for point in points}


async def test_the_same_is_found_whether_or_not_there_is_another_book(store: EdgeStore) -> None:
    chapter = FieldCondition(key="chapter", match=MatchValue(value=1))
    alone = [await ids(store, "atlas"), await ids(store, "atlas", chapter)]
    assert alone[0][0] == ids_of(ATLAS) and 0 < len(alone[1][0]) < len(ATLAS)
    await store.replace(OTHERS, [])
    assert [await ids(store, "atlas"), await ids(store, "atlas", chapter)] == alone


async def test_another_book_that_comes_is_never_among_the_hits(store: EdgeStore) -> None:
    await ids(store, "atlas")  # the index knows by now that it holds one book
    await store.replace(OTHERS, [])
    assert (await ids(store, "atlas"))[0] == ids_of(ATLAS)
    assert (await ids(store, "botany"))[0] == ids_of(OTHERS)
    await store.delete(where("book_id", "atlas"))
    assert (await ids(store, "botany"))[0] == ids_of(OTHERS)
    assert await ids(store, "atlas") == [set(), set()]


async def test_a_point_of_no_book_is_of_no_book(store: EdgeStore) -> None:
    stray = sample(9_000)
    await store.replace([replace(stray, payload={"text": "of no book"})], [])
    assert (await ids(store, "atlas"))[0] == ids_of(ATLAS)


async def test_a_book_that_is_not_there_has_nothing(store: EdgeStore) -> None:
    assert await ids(store, "no-such-book") == [set(), set()]


async def test_the_condition_is_dropped_only_for_the_one_book(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    plain = qdrant_edge.QueryBatchRequest

    def noted(batch: list[Any]) -> Any:
        asked.append([request.filter is None for request in batch])
        return plain(batch)

    monkeypatch.setattr(qdrant_edge, "QueryBatchRequest", noted)
    await ids(store, "atlas")
    await ids(store, "botany")
    await store.replace(OTHERS, [])
    await ids(store, "atlas")
    assert asked == [[True, True], [False, False], [False, False]]
