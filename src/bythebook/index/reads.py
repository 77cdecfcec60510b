"""Reading from the embedded engine, where nothing has to be awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import qdrant_edge as edge

from bythebook.index.models import QueryRequest, Record, ScoredPoint
from bythebook.index.sole_book import without_book
from bythebook.index.store import Selection
from bythebook.index.translate import from_record, from_scored, to_query, to_selection
from bythebook.index.validation import check_ids, check_request, check_selections

T = TypeVar("T")


class EdgeReads:
    """`Reads` that have their answers at once."""

    def __init__(
        self,
        engine: Callable[[], AbstractContextManager[edge.EdgeShard]],
        dimension: int,
        sole_book: Callable[[edge.EdgeShard], str],
    ) -> None:
        self._engine = engine
        self._dimension = dimension
        self._sole_book = sole_book

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        for request in requests:
            check_request(request, self._dimension)
        if not requests:
            return []
        with self._engine() as engine:
            book_id = self._sole_book(engine)
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


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError("a visit awaits only what it reads")
