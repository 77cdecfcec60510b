"""The embedded index: the Qdrant engine inside this process.

The engine has no async interface, and it is used by one at a time (`Turns`), which also makes each
call one step for all readers.

One process may have a folder open. Open it after forking, never before: the engine's threads do
not exist in the child.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge

from bythebook.errors import StoreError
from bythebook.index import journal, shard
from bythebook.index.collection import other_dimension
from bythebook.index.models import (
    Filter,
    HasIdCondition,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
)
from bythebook.index.reads import EdgeReads, at_once
from bythebook.index.sole_book import sole_book
from bythebook.index.store import Reads, Selection, StoreInfo
from bythebook.index.translate import (
    from_record,
    to_filter,
    to_point,
    to_selection,
)
from bythebook.index.turns import Turns
from bythebook.index.validation import (
    check_filter,
    check_ids,
    check_integer,
    check_key,
    check_points,
    check_selections,
)
from bythebook.index.verify import took_effect
from bythebook.memory import give_back_freed, give_back_pages

T = TypeVar("T")

# Rewriting takes half a millisecond a point, in which Python does nothing else.
QUICKLY_REWRITTEN = 5_000
# What was removed takes up memory until then; less than this is not worth anybody's waiting.
FEW_REMOVED = 5_000


class EdgeStore:
    """A `VectorStore` in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turns = Turns()
        self._shard: edge.EdgeShard | None = None
        self._dimension = 0
        self._writing = asyncio.Lock()
        self._broken = False
        self._sole_book: str | None = None  # None: unknown since the last write, empty: none
        self._removed = 0  # since the index was last rewritten

    async def open(self, dimension: int) -> None:
        """Open the folder or create it, and finish a switch that a crash interrupted."""
        await self._turns.hand_over(lambda: self._open(dimension))

    async def close(self) -> None:
        """Let go of the folder; it can be opened again."""
        await self._turns.end(self._close)

    async def drop(self) -> None:
        """Delete the folder and all that is in it."""

        def work() -> None:
            self._close()
            with shard.engine_errors(self._path):
                shard.remove(self._path)

        await self._turns.hand_over(work)

    async def recover(self, dimension: int) -> shard.Recovery:
        """Rebuild a damaged index from what can be read; the damaged folder is kept aside."""

        def work() -> shard.Recovery:
            self._close()
            return shard.rebuild(self._path, dimension)

        return await self._turns.hand_over(work)

    async def replace(
        self,
        points: Sequence[PointStruct],
        stale: Sequence[str],
        *,
        durable: bool = True,
        within: Filter | None = None,
    ) -> None:
        """Write and remove as one step, for readers and for a crash."""
        self._opened()
        async with self._writing:  # in the order in which they came
            # In another thread than the one that searches wait for.
            given = await asyncio.to_thread(self._translated, points, stale)

            def work(engine: edge.EdgeShard) -> None:
                check_filter(within)
                self._replace(engine, points, given, _matching(engine, stale, within), durable)

            await self._use(work)

    def _translated(self, points: Sequence[PointStruct], stale: Sequence[str]) -> list[edge.Point]:
        check_points(points, stale, self._dimension)
        return [to_point(point) for point in points]

    async def delete(self, filter: Filter) -> None:
        """Remove the points that match."""

        def work(engine: edge.EdgeShard) -> None:
            check_filter(filter, selective=True)
            chosen = to_filter(filter)
            assert chosen is not None
            self._sole_book = None
            self._removed += engine.count(edge.CountRequest(exact=True, filter=chosen))
            engine.update(edge.UpdateOperation.delete_points_by_filter(chosen))
            self._commit(engine)
            if engine.count(edge.CountRequest(exact=True, filter=chosen)):
                raise self._ignored()

        async with self._writing:
            await self._use(work)

    async def flush(self) -> None:
        """Return when everything written is on disk."""
        await self._use(self._commit)

    async def optimize(self, *, serving: bool = False) -> None:
        """Rewrite segments with many deleted points; blocks every other call meanwhile."""

        def work(engine: edge.EdgeShard) -> None:
            if serving and not self._is_worth_waiting_for(engine):
                return
            engine.flush()
            shard.forget_segments(self._path)
            engine.optimize()
            self._commit(engine)
            self._removed = 0
            give_back_freed()

        await self._use(work)

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        """All that `work` reads, on one state of the index."""

        def glance() -> T:
            self._opened()
            return at_once(work(EdgeReads(self._engine, self._dimension, self._known_sole_book)))

        return await self._turns.take(glance)

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        """Answer all requests on one state of the index."""
        return await self.visit(lambda reads: reads.query_batch(requests))

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        """The points with these ids, in that order."""
        return await self.visit(lambda reads: reads.retrieve(ids, with_payload, with_vectors))

    async def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
        """One page of matching points, and where the next one starts."""

        def work(engine: edge.EdgeShard) -> tuple[list[Record], str | None]:
            check_filter(filter)
            check_integer("limit", limit, 1)
            check_ids([] if offset is None else [offset])
            check_selections(with_payload, with_vectors)
            payload, vectors = to_selection(with_payload), to_selection(with_vectors)
            page, following = engine.scroll(
                edge.ScrollRequest(
                    offset=offset,
                    limit=limit,
                    filter=to_filter(filter),
                    with_payload=payload,
                    with_vector=vectors,
                )
            )
            return [from_record(part) for part in page], str(following) if following else None

        return await self._use(work)

    async def count(self, filter: Filter | None = None) -> int:
        """How many points match."""

        def work(engine: edge.EdgeShard) -> int:
            check_filter(filter)
            return engine.count(edge.CountRequest(exact=True, filter=to_filter(filter)))

        return await self._use(work)

    async def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        """Values of an indexed field with their counts."""

        def work(engine: edge.EdgeShard) -> dict[str | int, int]:
            check_key(key)
            check_filter(filter)
            check_integer("limit", limit, 1)
            request = edge.FacetRequest(key, limit=limit, exact=True, filter=to_filter(filter))
            # A value whose points are all deleted stays in the engine's list until it tidies up.
            return {hit.value: hit.count for hit in engine.facet(request).hits if hit.count}

        return await self._use(work)

    async def info(self) -> StoreInfo:
        """Where the index stands."""

        def work(engine: edge.EdgeShard) -> StoreInfo:
            missing = shard.missing_segments(self._path)
            return StoreInfo(
                engine="embedded",
                location=str(self._path),
                collection=self._path.name,
                dimension=self._dimension,
                points=engine.count(edge.CountRequest(exact=True)),
                healthy=not missing,
                status=f"parts missing: {len(missing)}" if missing else "ok",
            )

        return await self._use(work)

    async def _use(self, work: Callable[[edge.EdgeShard], T]) -> T:
        """Run `work` on the open index."""

        def guarded() -> T:
            with self._engine() as engine:
                return work(engine)

        return await self._turns.hand_over(guarded)

    @contextmanager
    def _engine(self) -> Iterator[edge.EdgeShard]:
        """What goes wrong with it is told in our words."""
        engine = self._opened()
        try:
            with shard.engine_errors(self._path):
                yield engine
        except shard.EnginePanic:
            self._broken = True
            raise

    def _opened(self) -> edge.EdgeShard:
        if self._broken:
            raise StoreError(
                f"The index in {self._path} failed earlier and was not opened again.",
                action="Start bythebook again; if that fails, run `bythebook doctor --repair`.",
            )
        if self._shard is None:
            raise StoreError("The index is not open.", action="This is a bug; report it.")
        return self._shard

    def _open(self, dimension: int) -> None:
        if self._shard is not None and not self._broken:
            if dimension != self._dimension:
                raise other_dimension(self._path.name, self._dimension, dimension)
            return
        self._close()
        engine = shard.open_shard(self._path, dimension)
        try:
            with shard.engine_errors(self._path):
                pending = journal.read(self._path)
                if pending is not None:
                    points, stale = pending
                    check_points(points, stale, dimension)
                    self._apply(engine, points, [to_point(point) for point in points], stale)
        except BaseException:
            engine.close()
            raise
        self._shard, self._dimension = engine, dimension
        # To open it the engine reads all of its log, and all of the room for what is yet to be
        # written; whoever searches needs neither.
        give_back_freed()
        give_back_pages(self._path)

    def _close(self) -> None:
        engine, self._shard = self._shard, None
        self._sole_book = None
        broken, self._broken = self._broken, False
        if engine is None:
            return
        try:
            with shard.engine_errors(self._path):
                if not broken:
                    self._commit(engine)
        finally:
            engine.close()

    def _replace(
        self,
        engine: edge.EdgeShard,
        points: Sequence[PointStruct],
        given: list[edge.Point],
        stale: Sequence[str],
        durable: bool,
    ) -> None:
        # Either alone is one record of the engine's log and needs no journal.
        if points and stale:
            journal.write(self._path, points, stale)
        try:
            self._apply(engine, points, given, stale, durable=durable or bool(stale))
        except BaseException:
            # Nobody may see half of the switch; opening again makes it whole.
            self._broken = True
            raise

    def _apply(
        self,
        engine: edge.EdgeShard,
        points: Sequence[PointStruct],
        given: list[edge.Point],
        stale: Sequence[str],
        *,
        durable: bool = True,
    ) -> None:
        self._sole_book = None
        if given:
            engine.update(edge.UpdateOperation.upsert_points(given))
        if stale:
            engine.update(edge.UpdateOperation.delete_points(list(stale)))
            self._removed += len(stale)
        if durable:
            self._commit(engine)
        if not took_effect(engine, points, stale):
            raise self._ignored()
        journal.clear(self._path)

    def _known_sole_book(self, engine: edge.EdgeShard) -> str:
        if self._sole_book is None:
            self._sole_book = sole_book(engine)
        return self._sole_book

    def _is_worth_waiting_for(self, engine: edge.EdgeShard) -> bool:
        """Whether rewriting is quick, and more was removed than is left."""
        left = engine.count(edge.CountRequest(exact=True))
        return left <= QUICKLY_REWRITTEN and self._removed >= max(left, FEW_REMOVED)

    def _commit(self, engine: edge.EdgeShard) -> None:
        engine.flush()
        shard.note_segments(self._path)

    def _ignored(self) -> StoreError:
        return StoreError(
            f"The index in {self._path} did not take a write; its log does not fit its content.",
            action="Run `bythebook doctor --repair` to rebuild it from what it holds.",
        )


def _matching(engine: edge.EdgeShard, ids: Sequence[str], within: Filter | None) -> Sequence[str]:
    if within is None or not ids:
        return ids
    check_ids(ids)
    chosen = to_filter(Filter(must=[HasIdCondition(has_id=list(ids)), within]))
    page, _ = engine.scroll(edge.ScrollRequest(limit=len(ids), filter=chosen, with_payload=False))
    return [str(part.id) for part in page]
