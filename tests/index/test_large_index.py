"""What has grown large is rewritten when tidying up; nobody notices but by the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.index import edge_folder
from bythebook.index.edge import EdgeStore
from bythebook.index.qdrant_models import (
    QuantizationSearchParams,
    QueryRequest,
    ScoredPoint,
    SearchParams,
)
from bythebook.index.store import DENSE, SPARSE
from index.index_samples import DIMENSION, dense, point_id, sample, sparse, where

POINTS = 1000
ROUNDED = SearchParams(exact=True, quantization=QuantizationSearchParams(rescore=True))
TWICE = SearchParams(
    exact=True, quantization=QuantizationSearchParams(rescore=True, oversampling=2.0)
)
BARE = SearchParams(exact=True, quantization=QuantizationSearchParams(rescore=False))


def rewritten(folder: Path) -> bool:
    return any((folder / "segments").glob("*/vector_storage-dense/matrix.dat"))


async def found(store: EdgeStore) -> list[list[ScoredPoint]]:
    requests = [
        QueryRequest(query=query, using=using, filter=where("book_id", "atlas"), limit=20)
        for query, using in ((dense("asked"), DENSE), (sparse("asked"), SPARSE))
    ]
    return await store.query_batch(requests)


def rounded(hits: list[list[ScoredPoint]]) -> list[list[tuple[str, float]]]:
    return [[(hit.id, round(hit.score, 4)) for hit in half] for half in hits]


async def test_a_large_index_finds_the_same_after_tidying_up(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_folder, "_LARGE_KB", 10)
    folder = quick_path / "index"
    store = EdgeStore(folder)
    await store.open(DIMENSION)
    await store.replace([sample(number) for number in range(POINTS)], [])
    before = rounded(await found(store))
    assert not rewritten(folder)
    await store.optimize()
    assert rewritten(folder) and rounded(await found(store)) == before
    await store.close()
    await store.open(DIMENSION)
    assert rounded(await found(store)) == before

    await store.replace([sample(POINTS)], [point_id(1), before[0][0][0]])
    assert await store.count() == POINTS - 1
    after = {hit for hit, _ in rounded(await found(store))[0]}
    assert before[0][0][0] not in after
    await store.optimize()
    await store.close()
    await store.open(DIMENSION)
    assert await store.count() == POINTS - 1
    assert {hit for hit, _ in rounded(await found(store))[0]} == after
    await store.close()


async def test_of_twice_as_many_the_vectors_choose_the_same(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scores are those of the vectors themselves, unless somebody wants the rounded ones."""
    store = EdgeStore(quick_path / "index")
    monkeypatch.setattr(edge_folder, "_LARGE_KB", 10)
    await store.open(DIMENSION)
    await store.replace([sample(number) for number in range(POINTS)], [])
    await store.optimize()

    async def nearest(seed: int, params: SearchParams | None) -> list[tuple[str, float]]:
        request = QueryRequest(query=dense(seed), using=DENSE, limit=20, params=params)
        return [(hit.id, hit.score) for hits in await store.query_batch([request]) for hit in hits]

    for seed in range(20):
        exact = await nearest(seed, SearchParams(exact=True))
        assert await nearest(seed, None) == exact
        assert await nearest(seed, TWICE) == exact
        once = dict(await nearest(seed, ROUNDED))
        assert len(once.keys() & dict(exact).keys()) >= 15
        assert {id: score for id, score in exact if id in once}.items() <= once.items()
        assert set(await nearest(seed, BARE)) != set(exact)
    await store.close()


async def test_a_small_index_is_left_alone(quick_path: Path) -> None:
    store = EdgeStore(quick_path / "index")
    await store.open(DIMENSION)
    await store.replace([sample(number) for number in range(POINTS)], [])
    await store.optimize()
    assert not rewritten(quick_path / "index")
    await store.close()
