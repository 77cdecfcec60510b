"""Every store does the same as the reference: the server's client on its own in-memory engine."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from qdrant_client import AsyncQdrantClient

from bythebook.errors import BusyError, ConfigurationError, InputError, StoreError
from bythebook.index.edge import EdgeStore
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    IdfCorpusParams,
    PointStruct,
    QueryRequest,
    Range,
    Record,
    ScoredPoint,
    SearchParams,
    SparseVector,
)
from bythebook.index.qdrant_server import ServerStore
from bythebook.index.shared_store import SharedStore
from bythebook.index.store import DENSE, PAYLOAD_INDEXES, Reads, VectorStore
from extent import PATIENCE
from index.contract_cases import FILTERS, REQUESTS
from index.index_samples import BOOKS, DIMENSION, SAMPLES, dense, point_id, sample, sparse, where

pytestmark = pytest.mark.filterwarnings(
    "ignore:Payload indexes have no effect:UserWarning",
    "ignore:Local mode performs exact:UserWarning",
)

ALL = Filter(must=[FieldCondition(key="chapter", range=Range(gte=0))])


def in_memory() -> ServerStore:
    return ServerStore(":memory:", client=AsyncQdrantClient(location=":memory:"))


@pytest.fixture(params=["edge", "guest", "memory", "server"])
async def empty(request: pytest.FixtureRequest, quick_path: Path) -> AsyncIterator[VectorStore]:
    """A store that was never opened."""
    store: VectorStore
    if request.param == "edge":
        store = EdgeStore(quick_path / "index" / "textbook_chunks")
    elif request.param == "guest":
        owner, store = (SharedStore(quick_path / "index" / "textbook_chunks") for _ in range(2))
        await owner.open(DIMENSION)
        yield store
        await store.close()
        await owner.close()
        return
    elif request.param == "memory":
        store = in_memory()
    else:
        url = request.getfixturevalue("qdrant_url")
        store = ServerStore(url, collection=f"test-{uuid4().hex}", timeout=PATIENCE)
    yield store
    await store.drop()
    await store.close()


@pytest.fixture
async def store(empty: VectorStore) -> VectorStore:
    await empty.open(DIMENSION)
    await empty.replace(SAMPLES, [])
    return empty


@pytest.fixture
async def reference() -> VectorStore:
    store = in_memory()
    await store.open(DIMENSION)
    await store.replace(SAMPLES, [])
    return store


def same_hits(found: list[ScoredPoint], expected: list[ScoredPoint]) -> None:
    """The same scores in the same order, and the same points but for the order of equals."""
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-4)
    lowest = min((hit.score for hit in expected), default=0.0) + 1e-4

    def sure(hits: list[ScoredPoint]) -> set[str]:
        return {hit.id for hit in hits if hit.score > lowest}

    assert sure(found) == sure(expected)


async def test_filters_choose_the_same_points_everywhere(store: VectorStore) -> None:
    for name, (chosen, rule) in FILTERS.items():
        expected = {point.id for point in SAMPLES if rule(point.payload or {})}
        records, rest = await store.scroll(chosen, limit=100)
        assert rest is None, name
        assert {record.id for record in records} == expected, name
        assert await store.count(chosen) == len(expected), name
        request = QueryRequest(query=dense("q"), using="dense", filter=chosen, limit=100)
        (hits,) = await store.query_batch([request])
        assert {hit.id for hit in hits} == expected, name


async def test_queries_score_like_the_reference(store: VectorStore, reference: VectorStore) -> None:
    batch = list(REQUESTS.values())
    together = await store.query_batch(batch)
    assert len(together) == len(batch)
    for request, in_batch in zip(batch, together, strict=True):
        (expected,) = await reference.query_batch([request])
        (alone,) = await store.query_batch([request])
        same_hits(alone, expected)
        same_hits(in_batch, expected)
    assert await store.query_batch([]) == []


async def test_a_hit_brings_what_was_asked_for(store: VectorStore) -> None:
    probe = SAMPLES[11]
    base = QueryRequest(query=probe.vector["dense"], using="dense", limit=1)
    bare, whole, part = await store.query_batch(
        [
            base,
            dataclasses.replace(base, with_payload=True, with_vector=True),
            dataclasses.replace(base, with_payload=["chapter"], with_vector=["dense"]),
        ]
    )
    assert (bare[0].id, bare[0].payload, bare[0].vector) == (probe.id, None, None)
    assert bare[0].score == pytest.approx(1.0, abs=1e-5)
    assert whole[0].payload == probe.payload
    check_vectors(whole[0], probe)
    assert part[0].payload == {"chapter": (probe.payload or {})["chapter"]}
    assert set(part[0].vector or {}) == {"dense"}


def check_vectors(found: ScoredPoint | Record, expected: PointStruct) -> None:
    """Dense vectors come back with length one, sparse ones as they were."""
    assert found.vector is not None
    given, stored = expected.vector["dense"], found.vector["dense"]
    assert isinstance(given, list)
    assert isinstance(stored, list)
    length = sum(part * part for part in given) ** 0.5
    assert stored == pytest.approx([part / length for part in given], abs=1e-5)
    words, kept = expected.vector["bm25"], found.vector["bm25"]
    assert isinstance(words, SparseVector)
    assert isinstance(kept, SparseVector)
    assert dict(zip(kept.indices, kept.values, strict=True)) == pytest.approx(
        dict(zip(words.indices, words.values, strict=True)), rel=1e-5
    )


async def test_a_visit_reads_what_builds_on_what_it_read(store: VectorStore) -> None:
    request = QueryRequest(query=dense(1), using=DENSE, limit=3, with_payload=False)

    async def look(index: Reads) -> list[Record]:
        (hits,) = await index.query_batch([request])
        return await index.retrieve([hit.id for hit in hits])

    (hits,) = await store.query_batch([request])
    expected = await store.retrieve([hit.id for hit in hits])
    assert len(expected) == 3 and await store.visit(look) == expected


async def test_what_goes_wrong_in_a_visit_is_told(store: VectorStore) -> None:
    async def look(index: Reads) -> None:
        await index.retrieve(["no id"])

    with pytest.raises(InputError):
        await store.visit(look)
    assert await store.count(ALL) == len(SAMPLES)


async def test_retrieve_keeps_the_order_asked_for(store: VectorStore) -> None:
    wanted = [point_id(9), point_id("none"), point_id(2), point_id(30)]
    found = await store.retrieve(wanted, with_vectors=True)
    assert [record.id for record in found] == [point_id(9), point_id(2), point_id(30)]
    assert found[0].payload == SAMPLES[9].payload
    check_vectors(found[0], SAMPLES[9])
    (bare,) = await store.retrieve([point_id(9)], with_payload=False)
    assert not bare.payload
    assert bare.vector is None
    assert await store.retrieve([]) == []


async def test_scroll_visits_every_point_once(store: VectorStore) -> None:
    seen: list[str] = []
    offset = None
    while True:
        page, offset = await store.scroll(ALL, limit=7, offset=offset, with_payload=["chapter"])
        seen += [record.id for record in page]
        if offset is None:
            break
    assert sorted(seen) == sorted(point.id for point in SAMPLES)
    assert seen == sorted(seen)


async def test_facets(store: VectorStore) -> None:
    assert await store.facet("book_id") == {"atlas": 30, "botany": 30}
    chapters = Counter((point.payload or {})["chapter"] for point in SAMPLES[::2])
    assert await store.facet("chapter", where("book_id", "atlas")) == chapters
    assert len(await store.facet("source_file", limit=3)) == 3
    assert len(await store.facet("source_file", limit=1_000_000)) == 12


async def test_info(store: VectorStore) -> None:
    info = await store.info()
    assert (info.points, info.dimension, info.healthy) == (60, DIMENSION, True)


async def test_replace_writes_and_removes(store: VectorStore) -> None:
    changed = dataclasses.replace(SAMPLES[1], payload={"book_id": "botany", "chapter": 9})
    await store.replace([sample(100), changed], [point_id(0), point_id(2)])
    assert await store.count() == 59
    assert [record.payload for record in await store.retrieve([point_id(1)])] == [changed.payload]
    assert await store.retrieve([point_id(0), point_id(2)]) == []
    await store.replace([], [point_id(100)])
    await store.replace([], [])
    await store.replace([], [point_id("never there")])
    assert await store.count() == 58
    assert await store.facet("chapter", where("chapter", 9)) == {9: 1}


async def test_delete_by_filter(store: VectorStore) -> None:
    await store.delete(where("book_id", "atlas"))
    assert await store.facet("book_id") == {"botany": 30}
    await store.delete(where("book_id", "atlas"))
    await store.flush()
    await store.optimize()
    assert await store.count() == 30


async def test_a_delete_that_would_take_everything_is_refused(store: VectorStore) -> None:
    with pytest.raises(InputError, match="every book"):
        await store.delete(Filter(must=[]))
    assert await store.count() == 60


async def test_a_point_may_lack_words(store: VectorStore) -> None:
    """A passage of stop words only has no sparse vector, or one without entries."""
    nothing = SparseVector(indices=[], values=[])
    await store.replace(
        [
            PointStruct(id=point_id("a"), vector={"dense": dense("a"), "bm25": nothing}),
            PointStruct(id=point_id("b"), vector={"dense": dense("b")}),
        ],
        [],
    )
    request = QueryRequest(query=dense("a"), using="dense", limit=1)
    assert [hit.id for hit in (await store.query_batch([request]))[0]] == [point_id("a")]


async def test_open_again_finds_what_was_written(empty: VectorStore) -> None:
    await empty.open(DIMENSION)
    await empty.replace(SAMPLES[:10], [])
    await empty.close()
    await empty.open(DIMENSION)
    await empty.open(DIMENSION)
    assert await empty.count() == 10


async def test_another_dimension_is_a_clear_error(store: VectorStore) -> None:
    for _ in range(2):
        with pytest.raises(ConfigurationError) as caught:
            await store.open(DIMENSION + 1)
        text = str(caught.value)
        assert f"{DIMENSION}" in text
        assert f"{DIMENSION + 1}" in text
        assert "--mode recreate" in text
        await store.close()


async def test_drop_allows_another_dimension(store: VectorStore) -> None:
    if isinstance(store, SharedStore):  # another process uses it
        with pytest.raises(BusyError):
            await store.drop()
        return
    await store.drop()
    await store.open(DIMENSION + 1)
    assert await store.count() == 0
    await store.drop()
    await store.drop()


async def test_nothing_works_before_open(empty: VectorStore) -> None:
    for call in (
        empty.count(),
        empty.info(),
        empty.replace([], []),
        empty.query_batch([]),
        empty.scroll(),
        empty.retrieve([]),
        empty.facet("book_id"),
    ):
        with pytest.raises(StoreError, match="not open"):
            await call


async def test_idf_can_be_counted_in_one_book(store: VectorStore, reference: VectorStore) -> None:
    """An old server ignores it; then its scores are those over all books."""
    book = where("book_id", BOOKS[0])
    plain = QueryRequest(query=sparse("q"), using="bm25", filter=book, limit=10)
    scoped = dataclasses.replace(plain, params=SearchParams(idf=IdfCorpusParams(corpus=book)))
    global_hits, scoped_hits = await reference.query_batch([plain, scoped])
    assert [hit.score for hit in global_hits] != pytest.approx([hit.score for hit in scoped_hits])
    (found,) = await store.query_batch([scoped])
    if isinstance(store, ServerStore):
        ignored = found[0].score == pytest.approx(global_hits[0].score, abs=1e-4)
        same_hits(found, global_hits if ignored else scoped_hits)
    else:
        same_hits(found, scoped_hits)


async def test_idf_in_one_book_forgets_deleted_points_at_once(quick_path: Path) -> None:
    store, reference = EdgeStore(quick_path / "index"), in_memory()
    book = where("book_id", BOOKS[0])
    scoped = QueryRequest(
        query=sparse("q"),
        using="bm25",
        filter=book,
        limit=10,
        params=SearchParams(idf=IdfCorpusParams(corpus=book)),
    )
    answers = []
    for each in (store, reference):
        await each.open(DIMENSION)
        await each.replace(SAMPLES, [])
        await each.replace([], [point_id(number) for number in range(20)])
        answers += await each.query_batch([scoped])
        await each.close()
    same_hits(*answers)


async def test_a_missing_payload_index_is_made(empty: VectorStore) -> None:
    await empty.open(DIMENSION)
    for field in PAYLOAD_INDEXES:
        assert await empty.facet(field) == {}


async def test_only_what_still_matches_is_removed(store: VectorStore) -> None:
    """Somebody else may have written a point anew since it was found stale."""
    atlas = [point.id for point in SAMPLES if (point.payload or {})["book_id"] == "atlas"]
    others = [point.id for point in SAMPLES if point.id not in atlas]
    new = sample(900)
    await store.replace([new], [atlas[0], others[0]], within=where("book_id", "atlas"))
    found = {record.id for record in await store.retrieve([atlas[0], others[0], new.id])}
    assert found == {others[0], new.id}
    await store.replace([], [atlas[1], others[1]], within=where("book_id", "zoo"))
    assert len(await store.retrieve([atlas[1], others[1]])) == 2
