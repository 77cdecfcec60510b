"""Nothing malformed reaches an engine, whatever it is made of."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.errors import InputError
from bythebook.index.edge import EdgeStore
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    HasIdCondition,
    IdfCorpusParams,
    MatchAny,
    MatchExcept,
    MatchValue,
    PointStruct,
    QuantizationSearchParams,
    QueryRequest,
    Range,
    SearchParams,
    SparseVector,
)
from bythebook.index.validation import check_filter, check_points, check_request
from extent import examples
from index.index_samples import DIMENSION, SAMPLES, dense, point_id
from shared_server import room_in_memory

GOOD = dense(1)
NAN = float("nan")


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def with_dense(vector: Any) -> PointStruct:
    return PointStruct(id=point_id(1), vector={"dense": vector})


def with_sparse(indices: Any, values: Any) -> PointStruct:
    words = SparseVector(indices=indices, values=values)
    return PointStruct(id=point_id(1), vector={"dense": GOOD, "bm25": words})


def with_payload(payload: Any) -> PointStruct:
    return PointStruct(id=point_id(1), vector={"dense": GOOD}, payload=payload)


BAD_POINTS: dict[str, Any] = {
    "short": with_dense(GOOD[:-1]),
    "long": with_dense([*GOOD, 0.0]),
    "nan": with_dense([*GOOD[:-1], NAN]),
    "infinite": with_dense([*GOOD[:-1], math.inf]),
    "beyond single precision": with_dense([*GOOD[:-1], 1e39]),
    "length beyond single precision": with_dense([1e20] * DIMENSION),
    "text in a vector": with_dense(["1"] * DIMENSION),
    "flags": with_dense([True] * DIMENSION),
    "nothing": with_dense(None),
    "text": with_dense("12345678"),
    "sparse as dense": with_dense(SparseVector(indices=[1], values=[1.0])),
    "dense as sparse": PointStruct(id=point_id(1), vector={"bm25": GOOD}),
    "unknown name": PointStruct(id=point_id(1), vector={"other": GOOD}),
    "no vector": PointStruct(id=point_id(1), vector={}),
    "more indices": with_sparse([1, 2], [1.0]),
    "more values": with_sparse([1], [1.0, 2.0]),
    "index twice": with_sparse([1, 1], [1.0, 2.0]),
    "negative index": with_sparse([-1], [1.0]),
    "index beyond u32": with_sparse([2**32], [1.0]),
    "index with a fraction": with_sparse([1.5], [1.0]),
    "flag as index": with_sparse([True], [1.0]),
    "sparse nan": with_sparse([1], [NAN]),
    "indices missing": with_sparse(None, [1.0]),
    "values missing": with_sparse([1], None),
    "integer id": PointStruct(id=7, vector={"dense": GOOD}),  # type: ignore[arg-type]
    "short id": PointStruct(id="abc", vector={"dense": GOOD}),
    "upper-case id": PointStruct(id=point_id(1).upper(), vector={"dense": GOOD}),
    "payload list": with_payload([1]),
    "payload nan": with_payload({"a": NAN}),
    "payload key": with_payload({1: "a"}),
    "payload tuple": with_payload({"a": (1, 2)}),
    "payload bytes": with_payload({"a": b"x"}),
    "payload set": with_payload({"a": {1}}),
    "payload half character": with_payload({"a": "\ud800"}),
    "payload key of half a character": with_payload({"\ud800": 1}),
    "payload huge number": with_payload({"a": 2**63}),
    "payload too deep": with_payload({"a": deep(1000)}),
}


@pytest.mark.parametrize("name", BAD_POINTS)
def test_a_malformed_point_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_points([BAD_POINTS[name]], [], DIMENSION)


def test_a_contradictory_write_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        check_points([SAMPLES[0], SAMPLES[0]], [], DIMENSION)
    with pytest.raises(InputError, match="removed"):
        check_points([SAMPLES[0]], [SAMPLES[0].id], DIMENSION)
    with pytest.raises(InputError, match="UUID"):
        check_points([], ["x"], DIMENSION)


def test_what_is_right_passes() -> None:
    check_points(SAMPLES, [point_id("other")], DIMENSION)
    check_points([with_dense([1] * DIMENSION)], [], DIMENSION)
    check_points([with_sparse([0, 2**32 - 1], [1.0, -2.0])], [], DIMENSION)


def on(field: str, **rule: Any) -> Filter:
    return Filter(must=[FieldCondition(key=field, **rule)])


BAD_FILTERS: dict[str, Any] = {
    "no rule": on("a"),
    "two rules": on("a", match=MatchValue(value=1), range=Range(lt=1)),
    "no bound": on("a", range=Range()),
    "bound nan": on("a", range=Range(lt=NAN)),
    "bound text": on("a", range=Range(lt="1")),  # type: ignore[arg-type]
    "match list": on("a", match=MatchValue(value=[1])),  # type: ignore[arg-type]
    "match fraction": on("a", match=MatchValue(value=1.5)),  # type: ignore[arg-type]
    "match none": on("a", match=MatchAny(any=[])),
    "match mixed": on("a", match=MatchAny(any=[1, "a"])),  # type: ignore[arg-type]
    "except none": on("a", match=MatchExcept(except_=[])),
    "match half character": on("a", match=MatchValue(value="\ud800")),
    "match huge": on("a", match=MatchValue(value=2**70)),
    "empty key": on("", match=MatchValue(value=1)),
    "key with brackets": on("a[", match=MatchValue(value=1)),
    "key of another kind": on(7, match=MatchValue(value=1)),  # type: ignore[arg-type]
    "bad id": Filter(must=[HasIdCondition(has_id=["x"])]),
}


@pytest.mark.parametrize("name", BAD_FILTERS)
def test_a_malformed_filter_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_filter(BAD_FILTERS[name])


def ask(**parts: Any) -> QueryRequest:
    return QueryRequest(**{"query": GOOD, "using": "dense", "limit": 3, **parts})


def rounded(**given: Any) -> SearchParams:
    return SearchParams(quantization=QuantizationSearchParams(**given))


BAD_REQUESTS: dict[str, Any] = {
    "no limit": ask(limit=None),
    "limit 0": ask(limit=0),
    "limit huge": ask(limit=10**9),
    "limit flag": ask(limit=True),
    "unknown vector": ask(using="other"),
    "wrong vector": ask(using="bm25"),
    "short": ask(query=GOOD[:3]),
    "oversampling": ask(params=rounded(oversampling=0.5)),
    "oversampling nan": ask(params=rounded(oversampling=NAN)),
    "idf corpus": ask(params=SearchParams(idf=IdfCorpusParams(corpus=on("a")))),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_malformed_query_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_request(BAD_REQUESTS[name], DIMENSION)


numbers = st.one_of(
    st.floats(),
    st.floats(-2, 2),
    st.integers(),
    st.integers(0, 2**32),
    st.none(),
    st.booleans(),
    st.text(max_size=2),
)
plain = st.one_of(
    st.floats(-2, 2, width=32), st.floats(width=32, allow_nan=False, allow_infinity=False)
)
dense_vectors = st.one_of(
    st.lists(plain, min_size=DIMENSION, max_size=DIMENSION),
    st.lists(numbers, max_size=DIMENSION + 1),
)
sparse_vectors = st.one_of(
    st.dictionaries(st.integers(0, 2**32 - 1), plain, max_size=6).map(
        lambda words: SparseVector(indices=list(words), values=list(words.values()))
    ),
    st.builds(
        SparseVector,
        indices=st.lists(st.one_of(st.integers(0, 9), numbers), max_size=4),
        values=st.lists(numbers, max_size=4),
    ),
)
vectors = st.one_of(
    st.fixed_dictionaries({"dense": dense_vectors}, optional={"bm25": sparse_vectors}),
    st.dictionaries(
        st.sampled_from(["dense", "bm25", "", "other"]),
        st.one_of(dense_vectors, sparse_vectors, numbers),
        max_size=3,
    ),
)
values = st.recursive(
    st.one_of(numbers, st.text(), st.text(st.characters(codec=None)), st.binary(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
fields = st.one_of(
    st.sampled_from(["book_id", "chapter", "lesson", "source_file", "text", ""]), st.text()
)
payloads = st.one_of(st.none(), st.dictionaries(fields, values, max_size=5))
ids = st.one_of(st.integers(0, 9).map(point_id), st.uuids().map(str), st.text(max_size=3))
points = st.lists(st.builds(PointStruct, id=ids, vector=vectors, payload=payloads), max_size=4)
matches = st.one_of(
    st.none(),
    st.builds(MatchValue, value=values),
    st.builds(MatchAny, any=st.lists(values, max_size=3)),
    st.builds(MatchExcept, except_=st.lists(values, max_size=3)),
)
ranges = st.one_of(st.none(), st.builds(Range, lt=numbers, gte=numbers))
conditions: Any = st.one_of(
    st.builds(FieldCondition, key=fields, match=matches),
    st.builds(FieldCondition, key=fields, range=ranges),
    st.builds(HasIdCondition, has_id=st.lists(ids, max_size=3)),
)
filters = st.builds(Filter, must=st.lists(conditions, max_size=3))
requests = st.builds(
    QueryRequest,
    query=st.one_of(dense_vectors, sparse_vectors),
    using=st.sampled_from(["dense", "bm25", ""]),
    filter=st.one_of(st.none(), filters),
    limit=st.one_of(st.integers(1, 1_000_000), numbers),
    with_payload=st.booleans(),
)


@pytest.fixture(scope="module")
def victim() -> Iterator[tuple[EdgeStore, Path]]:
    with tempfile.TemporaryDirectory(dir=room_in_memory()) as folder:
        store = EdgeStore(Path(folder) / "index")
        asyncio.run(store.open(DIMENSION))
        asyncio.run(store.replace(SAMPLES, []))
        yield store, Path(folder)
        asyncio.run(store.close())


async def _throw(store: EdgeStore, points: Any, chosen: Any, request: Any) -> None:
    for attempt in (
        lambda: store.replace(points, []),
        lambda: store.query_batch([request]),
        lambda: store.count(chosen),
        lambda: store.scroll(chosen, limit=3),
    ):
        try:
            await attempt()
        except InputError:
            continue
    await store.close()
    await store.open(DIMENSION)
    assert (await store.info()).healthy
    (record,) = await store.retrieve([SAMPLES[30].id])
    assert record.payload == SAMPLES[30].payload


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(points=points, chosen=filters, request=requests)
def test_no_garbage_damages_the_store(
    victim: tuple[EdgeStore, Path], points: Any, chosen: Any, request: Any
) -> None:
    """Whatever is not refused is stored or answered, and the store opens again."""
    asyncio.run(_throw(victim[0], points, chosen, request))
