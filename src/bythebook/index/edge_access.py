"""Access to the embedded engine: one call at a time, reads, and checks that a write was applied."""

from __future__ import annotations

import asyncio
import math
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import replace
from typing import Any, TypeVar

import qdrant_edge as edge

from bythebook.errors import StoreError
from bythebook.index.edge_translation import to_filter, to_query, to_selection
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    HasIdCondition,
    MatchValue,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
    from_record,
    from_scored,
)
from bythebook.index.store import TENANT, Selection
from bythebook.index.validation import check_ids, check_request, check_selections

T = TypeVar("T")


class SerialExecutor:
    """Runs one thing at a time. What may take long runs in a thread, to its end, even when the
    coroutine that waits for it is cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._process = 0

    async def submit(self, work: Callable[[], T]) -> T:
        """Run it in the thread, after what was submitted before."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="bythebook-index")
            self._process = os.getpid()
        self._check_process()

        def locked() -> T:
            with self._lock:
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, locked)

    async def run_inline(self, read: Callable[[], T]) -> T:
        """Run something short here, or in the thread if that is busy.

        The engine holds the interpreter's lock, so that nothing else could go on meanwhile, and
        with two threads competing for that lock it would take twice as long.
        """
        self._check_process()
        if not self._lock.acquire(blocking=False):
            context = copy_context()
            return await self.submit(lambda: context.run(read))
        try:
            return read()
        finally:
            self._lock.release()

    async def shutdown(self, work: Callable[[], None]) -> None:
        """Run a last thing, if anything was ever run, and end the thread."""
        if self._thread is not None:
            await self.submit(work)
            self._thread.shutdown(wait=False)
            self._thread = None

    def _check_process(self) -> None:
        if self._thread is not None and self._process != os.getpid():
            raise StoreError(
                "The index was opened before this process was forked off.",
                action="Open it in the process that uses it; the embedded index serves only one.",
            )


def find_only_book(engine: edge.EdgeShard) -> str:
    """The book that every point is of, or nothing."""
    books = [hit for hit in engine.facet(edge.FacetRequest(TENANT, exact=True)).hits if hit.count]
    total = engine.count(edge.CountRequest(exact=True))
    return str(books[0].value) if [hit.count for hit in books] == [total] else ""


def without_book(request: QueryRequest, book_id: str) -> QueryRequest:
    """The same request to an index in which every point is of this book."""
    if not isinstance(request, QueryRequest):  # the client's own, which nobody sends often
        return request
    params = request.params
    if params is not None and params.idf is not None:
        corpus = _without(params.idf.corpus, book_id)
        params = replace(params, idf=replace(params.idf, corpus=corpus) if corpus else None)
    return replace(request, filter=_without(request.filter, book_id), params=params)


def _without(filter: Filter | None, book_id: str) -> Filter | None:
    if not isinstance(filter, Filter) or not isinstance(filter.must, list):
        return filter
    needless = FieldCondition(key=TENANT, match=MatchValue(value=book_id))
    must = [condition for condition in filter.must if condition != needless]
    if must or filter.should or filter.must_not:
        return replace(filter, must=must)
    return None


class EdgeReads:
    """`Reads` that never wait."""

    def __init__(
        self,
        engine: Callable[[], AbstractContextManager[edge.EdgeShard]],
        dimension: int,
        find_only_book: Callable[[edge.EdgeShard], str],
    ) -> None:
        self._engine = engine
        self._dimension = dimension
        self._only_book = find_only_book

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        for request in requests:
            check_request(request, self._dimension)
        if not requests:
            return []
        with self._engine() as engine:
            book_id = self._only_book(engine)
            batch = [to_query(without_book(request, book_id)) for request in requests]
            found = engine.query_batch(edge.QueryBatchRequest(batch))
            return [[from_scored(hit) for hit in hits] for hits in found]

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        check_ids(ids)
        check_selections(with_payload, with_vectors)
        payload, vectors = to_selection(with_payload), to_selection(with_vectors)
        with self._engine() as engine:
            found = map(from_record, engine.retrieve(list(ids), payload, vectors))
            by_id = {record.id: record for record in found}
        return [by_id[wanted] for wanted in ids if wanted in by_id]


def run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError("a visit awaits only what it reads")


def matching(engine: edge.EdgeShard, ids: Sequence[str], within: Filter | None) -> Sequence[str]:
    """Those of the ids whose points match."""
    if within is None or not ids:
        return ids
    check_ids(ids)
    chosen = to_filter(Filter(must=[HasIdCondition(has_id=list(ids)), within]))
    page, _ = engine.scroll(edge.ScrollRequest(limit=len(ids), filter=chosen, with_payload=False))
    return [str(part.id) for part in page]


def is_applied(engine: edge.EdgeShard, points: Sequence[PointStruct], stale: Sequence[str]) -> bool:
    """Every point is there, none of the stale ones is, and the first one is the new one."""
    if _count_present(engine, stale) or _count_present(
        engine, [point.id for point in points]
    ) != len(points):
        return False
    if not points:
        return True
    (first,) = engine.retrieve([points[0].id], True, False)
    return _same(first.payload or {}, points[0].payload or {})


def _count_present(engine: edge.EdgeShard, ids: Sequence[str]) -> int:
    if not ids:
        return 0
    chosen = to_filter(Filter(must=[HasIdCondition(has_id=ids)]))
    return engine.count(edge.CountRequest(exact=True, filter=chosen))


def _same(stored: Any, given: Any) -> bool:
    """Equal but for the last digit of a fraction, which the engine may round."""
    if isinstance(given, float):
        return isinstance(stored, float | int) and math.isclose(stored, given, rel_tol=1e-12)
    if isinstance(given, dict):
        return (
            isinstance(stored, dict)
            and stored.keys() == given.keys()
            and all(_same(stored[key], given[key]) for key in given)
        )
    if isinstance(given, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(given)
            and all(map(_same, stored, given))
        )
    return bool(stored == given)
