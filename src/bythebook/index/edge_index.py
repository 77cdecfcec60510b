"""An open embedded index: our points, filters and queries as the engine takes them, and back.

Only one thread at a time may use it, and one may have to wait for the disk: `edge` sees to that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from bythebook.errors import StoreError
from bythebook.index import edge_folder
from bythebook.index.edge_folder import engine_errors, make_little_room
from bythebook.index.qdrant_models import (
    Condition,
    FieldCondition,
    Filter,
    HasIdCondition,
    MatchExcept,
    MatchValue,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
    SearchParams,
    SparseVector,
    Vector,
    from_record,
    from_scored,
)
from bythebook.index.store import TENANT, Selection
from bythebook.index.validation import (
    check_filter,
    check_ids,
    check_key,
    check_limit,
    check_request,
)


class EdgeIndex:
    """What can be read and written. Most callers do so within `engine_errors`; the two reads that a
    visit makes tell in our words what goes wrong in the engine."""

    def __init__(self, path: Path, dimension: int, shard: edge.EdgeShard) -> None:
        self.dimension = dimension
        self.removed = 0  # points since it was last rewritten
        self._path = path
        self._shard = shard
        self._only_book: str | None = None  # None: unknown since the last write, empty: none

    def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        for request in requests:
            check_request(request, self.dimension)
        if not requests:
            return []
        with engine_errors(self._path):
            book_id = self._find_only_book()
            batch = [_to_query(without_book(request, book_id)) for request in requests]
            found = self._shard.query_batch(edge.QueryBatchRequest(batch))
            return [[from_scored(hit) for hit in hits] for hits in found]

    def retrieve(
        self, ids: Sequence[str], with_payload: Selection, with_vectors: Selection
    ) -> list[Record]:
        check_ids(ids)
        payload, vectors = _to_selection(with_payload), _to_selection(with_vectors)
        with engine_errors(self._path):
            found = map(from_record, self._shard.retrieve(list(ids), payload, vectors))
            by_id = {record.id: record for record in found}
        return [by_id[wanted] for wanted in ids if wanted in by_id]

    def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
        check_limit(limit)
        request = edge.ScrollRequest(
            offset=offset,
            limit=limit,
            filter=self._checked(filter),
            with_payload=_to_selection(with_payload),
            with_vector=_to_selection(with_vectors),
        )
        page, following = self._shard.scroll(request)
        return [from_record(part) for part in page], str(following) if following else None

    def count(self, filter: Filter | None = None) -> int:
        request = edge.CountRequest(exact=True, filter=self._checked(filter))
        return self._shard.count(request)

    def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        check_key(key)
        check_limit(limit)
        request = edge.FacetRequest(key, limit=limit, exact=True, filter=self._checked(filter))
        # A value whose points are all deleted stays in the engine's list until it tidies up.
        return {hit.value: hit.count for hit in self._shard.facet(request).hits if hit.count}

    def write(
        self,
        points: Sequence[PointStruct],
        engine_points: list[edge.Point],
        stale: Sequence[str],
        *,
        durable: bool = True,
    ) -> None:
        """Both kinds of points are the same: `to_point` takes longer than readers like to wait."""
        self._only_book = None
        if engine_points:
            self._shard.update(edge.UpdateOperation.upsert_points(engine_points))
        if stale:
            self._shard.update(edge.UpdateOperation.delete_points(list(stale)))
            self.removed += len(stale)
        if durable:
            self.flush()
        if not self._has_taken(points, stale):
            raise self._ignored()

    def _has_taken(self, points: Sequence[PointStruct], stale: Sequence[str]) -> bool:
        """Every point is there, none of the stale ones is, and the first one is the new one."""
        ids = [point.id for point in points]
        if self._count_ids(stale) or self._count_ids(ids) != len(ids):
            return False
        found = self.retrieve(ids[:1], True, False)
        return all(_same(record.payload or {}, points[0].payload or {}) for record in found)

    def delete(self, filter: Filter) -> None:
        check_filter(filter, selective=True)
        make_little_room(self._path)
        self._only_book = None
        self.removed += self.count(filter)
        chosen = _to_filter(filter)
        self._shard.update(edge.UpdateOperation.delete_points_by_filter(chosen))
        self.flush()
        if self.count(filter):
            raise self._ignored()

    def matching(self, ids: Sequence[str], within: Filter | None) -> Sequence[str]:
        """Those of the ids whose points match."""
        if within is None or not ids:
            return ids
        both = Filter(must=[HasIdCondition(has_id=ids), *within.must])
        page, _ = self.scroll(both, len(ids), None, False, False)
        return [record.id for record in page]

    def flush(self) -> None:
        self._shard.flush()
        edge_folder.note_segments(self._path)

    def optimize(self) -> None:
        """Rewrite segments with many deleted points."""
        self._shard.flush()
        edge_folder.forget_segments(self._path)
        self._shard.optimize()
        self.flush()
        self.removed = 0

    def close(self) -> None:
        self._shard.close()

    def _checked(self, filter: Filter | None) -> edge.Filter | None:
        check_filter(filter)
        return _to_filter(filter) if filter else None

    def _count_ids(self, ids: Sequence[str]) -> int:
        return self.count(Filter(must=[HasIdCondition(has_id=ids)])) if ids else 0

    def _find_only_book(self) -> str:
        """The book that every point is of, or nothing."""
        if self._only_book is None:
            facets = self._shard.facet(edge.FacetRequest(TENANT, exact=True)).hits
            books = [hit for hit in facets if hit.count]
            total = self._shard.count(edge.CountRequest(exact=True))
            is_only = [hit.count for hit in books] == [total]
            self._only_book = str(books[0].value) if is_only else ""
        return self._only_book

    def _ignored(self) -> StoreError:
        return StoreError(
            f"The index in {self._path} did not take a write; its log does not fit its content.",
            action="Run `bythebook doctor --repair` to rebuild it from what it holds.",
        )


def without_book(request: QueryRequest, book_id: str) -> QueryRequest:
    """The same request to an index in which every point is of this book."""
    params = request.params
    if params is not None and params.idf is not None:
        corpus = _without(params.idf.corpus, book_id)
        params = replace(params, idf=replace(params.idf, corpus=corpus) if corpus else None)
    return replace(request, filter=_without(request.filter, book_id), params=params)


def _without(filter: Filter | None, book_id: str) -> Filter | None:
    needless = FieldCondition(key=TENANT, match=MatchValue(value=book_id))
    must = [condition for condition in filter.must if condition != needless] if filter else []
    return Filter(must=must) if must else None


def _same(stored: Any, given: Any) -> bool:
    """Equal but for the last digit of a fraction, which the engine may round."""
    if isinstance(given, float):
        return isinstance(stored, float | int) and math.isclose(stored, given, rel_tol=1e-12)
    if isinstance(given, dict) and isinstance(stored, dict):
        return stored.keys() == given.keys() and all(
            _same(stored[key], given[key]) for key in given
        )
    if isinstance(given, list) and isinstance(stored, list):
        return len(stored) == len(given) and all(map(_same, stored, given))
    return bool(stored == given)


def to_point(point: PointStruct) -> edge.Point:
    vectors: dict[str, Any] = {name: _to_vector(part) for name, part in point.vector.items()}
    return edge.Point(point.id, vectors, point.payload or {})


def _to_vector(vector: Vector) -> list[float] | edge.SparseVector:
    if isinstance(vector, SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return list(vector)


def _to_query(request: QueryRequest) -> edge.QueryRequest:
    return edge.QueryRequest(
        limit=request.limit,
        offset=0,
        query=edge.Query.Nearest(_to_vector(request.query), request.using),
        with_vector=_to_selection(request.with_vector),
        with_payload=_to_selection(request.with_payload),
        filter=_to_filter(request.filter) if request.filter else None,
        params=_to_params(request.params or SearchParams()),
    )


def _to_selection(value: Selection | None) -> bool | list[str]:
    """What to bring back; nothing unless asked for."""
    return bool(value) if value is None or isinstance(value, bool) else list(value)


def _to_filter(value: Filter) -> edge.Filter:
    return edge.Filter(must=[_to_condition(condition) for condition in value.must])


def _to_condition(condition: Condition) -> Any:
    if isinstance(condition, HasIdCondition):
        return edge.HasIdCondition(set(condition.has_id))
    if (span := condition.range) is not None:
        bounds = edge.RangeFloat(gte=span.gte, gt=span.gt, lte=span.lte, lt=span.lt)
        return edge.FieldCondition(condition.key, range=bounds)
    match: Any
    values: Any
    if isinstance(condition.match, MatchValue):
        match = edge.MatchValue(condition.match.value)
    elif isinstance(condition.match, MatchExcept):
        values = list(condition.match.except_)
        match = edge.MatchExcept(values)
    else:
        assert condition.match is not None
        values = list(condition.match.any)
        match = edge.MatchAny(values)
    return edge.FieldCondition(condition.key, match=match)


def _to_params(params: SearchParams) -> edge.SearchParams:
    idf, rounded = None, edge.QuantizationSearchParams(ignore=True)
    if params.idf is not None:
        idf = edge.IdfParams(corpus=_to_filter(params.idf.corpus))
    if params.quantization is not None:
        rounded = edge.QuantizationSearchParams(
            rescore=params.quantization.rescore, oversampling=params.quantization.oversampling
        )
    return edge.SearchParams(
        # There is no graph to go without, and with it the engine never rounds.
        exact=bool(params.exact) and params.quantization is None,
        quantization=rounded,
        idf=idf,
    )
