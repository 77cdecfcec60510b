"""The embedded index: the Qdrant engine inside this process.

The engine has no async interface. It runs one call at a time (`SerialExecutor`), which also makes
each call one step for all readers.

One process may have a folder open. Open it after forking, never before: the engine's threads do
not exist in the child.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge

from bythebook.errors import DiskFull, StoreError
from bythebook.index import edge_journal, edge_shard
from bythebook.index.edge_access import (
    EdgeReads,
    SerialExecutor,
    find_only_book,
    is_applied,
    matching,
    run_without_waiting,
)
from bythebook.index.edge_journal import has_room_for_another, make_little_room, make_room
from bythebook.index.edge_translation import to_filter, to_point, to_selection
from bythebook.index.qdrant_models import (
    Filter,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
    from_record,
)
from bythebook.index.store import Reads, Selection, StoreInfo, other_dimension
from bythebook.index.validation import (
    check_filter,
    check_ids,
    check_integer,
    check_key,
    check_points,
    check_selections,
)
from bythebook.runtime import give_back_freed, give_back_pages

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Rewriting takes half a millisecond a point, in which Python does nothing else.
QUICKLY_REWRITTEN = 5_000
# What was removed takes up memory until then; less than this is not worth anybody's waiting.
FEW_REMOVED = 5_000


class EdgeStore:
    """A `VectorStore` in a folder."""

    def __init__(self, path: Path, reserve: int = 0) -> None:
        self._path = path
        self._reserve = reserve  # bytes of the disk that writing leaves free
        self._executor = SerialExecutor()
        self._shard: edge.EdgeShard | None = None
        self._process_lock = edge_shard.ProcessLock(path)
        self._dimension = 0
        self._writing = asyncio.Lock()
        self._broken = self._was_full = False
        self._only_book: str | None = None  # None: unknown since the last write, empty: none
        self._removed = 0  # since the index was last rewritten

    async def open(self, dimension: int) -> None:
        """Open the folder or create it, and finish a switch that a crash interrupted."""
        await self._executor.submit(lambda: self._open(dimension))

    async def close(self) -> None:
        """Let go of the folder; it can be opened again."""
        await self._executor.shutdown(self._close)

    async def drop(self) -> None:
        """Delete the folder and all that is in it."""

        def work() -> None:
            self._close()
            with self._process_lock, edge_shard.engine_errors(self._path):
                edge_shard.remove(self._path)

        await self._executor.submit(work)

    async def recover(self, dimension: int) -> edge_shard.Recovery:
        """Rebuild a damaged index from what can be read; the damaged folder is kept aside."""

        def work() -> edge_shard.Recovery:
            self._close()
            with self._process_lock:
                return edge_shard.rebuild(self._path, dimension)

        return await self._executor.submit(work)

    async def replace(
        self,
        points: Sequence[PointStruct],
        stale: Sequence[str],
        *,
        durable: bool = True,
        within: Filter | None = None,
    ) -> None:
        self._opened()
        async with self._writing:  # in the order in which they came
            # In another thread than the one that searches wait for.
            engine_points = await asyncio.to_thread(self._translated, points, stale)

            def work(engine: edge.EdgeShard) -> None:
                check_filter(within)
                make_room(self._path, points, self._dimension, self._reserve)
                self._replace(
                    engine, points, engine_points, matching(engine, stale, within), durable
                )

            await self._use(work)

    def _translated(self, points: Sequence[PointStruct], stale: Sequence[str]) -> list[edge.Point]:
        check_points(points, stale, self._dimension)
        return [to_point(point) for point in points]

    async def delete(self, filter: Filter) -> None:
        def work(engine: edge.EdgeShard) -> None:
            check_filter(filter, selective=True)
            chosen = to_filter(filter)
            assert chosen is not None
            make_little_room(self._path)
            self._only_book = None
            self._removed += engine.count(edge.CountRequest(exact=True, filter=chosen))
            engine.update(edge.UpdateOperation.delete_points_by_filter(chosen))
            self._commit(engine)
            if engine.count(edge.CountRequest(exact=True, filter=chosen)):
                raise self._ignored()

        async with self._writing:
            await self._use(work)

    async def flush(self) -> None:
        await self._use(self._commit)

    async def optimize(self, *, serving: bool = False) -> None:
        """Rewrite segments with many deleted points; blocks every other call meanwhile."""

        def work(engine: edge.EdgeShard) -> None:
            if serving and not self._is_worth_waiting_for(engine):
                return
            if not has_room_for_another(self._path, self._reserve):
                logger.warning("The index is not tidied up: the disk is almost full")
                return
            engine.flush()
            edge_shard.forget_segments(self._path)
            engine.optimize()
            self._commit(engine)
            self._removed = 0
            give_back_freed()

        await self._use(work)

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        await self._mend()

        def read() -> T:
            self._opened()
            return run_without_waiting(
                work(EdgeReads(self._engine, self._dimension, self._cached_only_book))
            )

        return await self._executor.run_inline(read)

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        return await self.visit(lambda reads: reads.query_batch(requests))

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        return await self.visit(lambda reads: reads.retrieve(ids, with_payload, with_vectors))

    async def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
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
        def work(engine: edge.EdgeShard) -> int:
            check_filter(filter)
            return engine.count(edge.CountRequest(exact=True, filter=to_filter(filter)))

        return await self._use(work)

    async def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        def work(engine: edge.EdgeShard) -> dict[str | int, int]:
            check_key(key)
            check_filter(filter)
            check_integer("limit", limit, 1)
            request = edge.FacetRequest(key, limit=limit, exact=True, filter=to_filter(filter))
            # A value whose points are all deleted stays in the engine's list until it tidies up.
            return {hit.value: hit.count for hit in engine.facet(request).hits if hit.count}

        return await self._use(work)

    async def info(self) -> StoreInfo:
        def work(engine: edge.EdgeShard) -> StoreInfo:
            missing = edge_shard.missing_segments(self._path)
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
        await self._mend()

        def guarded() -> T:
            with self._engine() as engine:
                return work(engine)

        return await self._executor.submit(guarded)

    async def _mend(self) -> None:
        """What failed because the disk was full is opened again: there may be room by now."""
        if self._broken and self._was_full:
            await self._executor.submit(lambda: self._open(self._dimension))

    @contextmanager
    def _engine(self) -> Iterator[edge.EdgeShard]:
        """What goes wrong with it is told in our words."""
        engine = self._opened()
        try:
            with edge_shard.engine_errors(self._path):
                yield engine
        except edge_shard.EnginePanic:
            self._broken, self._was_full = True, False
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
        with ExitStack() as failed:
            failed.enter_context(self._process_lock)
            with edge_shard.engine_errors(self._path):
                make_little_room(self._path)
            engine = edge_shard.open_shard(self._path, dimension)
            failed.callback(engine.close)
            with edge_shard.engine_errors(self._path):
                pending = edge_journal.read(self._path)
                if pending is not None:
                    points, stale = pending
                    check_points(points, stale, dimension)
                    self._apply(engine, points, [to_point(point) for point in points], stale)
            failed.pop_all()
        self._shard, self._dimension = engine, dimension
        # To open it the engine reads all of its log, and all of the room for what is yet to be
        # written; whoever searches needs neither.
        give_back_freed()
        give_back_pages(self._path)

    def _close(self) -> None:
        engine, self._shard = self._shard, None
        self._only_book = None
        broken, self._broken = self._broken, False
        if engine is None:
            return
        try:
            with edge_shard.engine_errors(self._path):
                if not broken:
                    self._commit(engine)
        except DiskFull as problem:  # what was not flushed is in the engine's log
            logger.warning("The index is closed as it is: %s", problem)
        finally:
            engine.close()
            self._process_lock.release()

    def _replace(
        self,
        engine: edge.EdgeShard,
        points: Sequence[PointStruct],
        engine_points: list[edge.Point],
        stale: Sequence[str],
        durable: bool,
    ) -> None:
        # Either alone is one record of the engine's log and needs no journal.
        if points and stale:
            edge_journal.write(self._path, points, stale)
        try:
            self._apply(engine, points, engine_points, stale, durable=durable or bool(stale))
        except BaseException as problem:
            # Nobody may see half of the switch; opening again makes it whole.
            self._broken, self._was_full = True, isinstance(problem, DiskFull)
            raise

    def _apply(
        self,
        engine: edge.EdgeShard,
        points: Sequence[PointStruct],
        engine_points: list[edge.Point],
        stale: Sequence[str],
        *,
        durable: bool = True,
    ) -> None:
        self._only_book = None
        if engine_points:
            engine.update(edge.UpdateOperation.upsert_points(engine_points))
        if stale:
            engine.update(edge.UpdateOperation.delete_points(list(stale)))
            self._removed += len(stale)
        if durable:
            self._commit(engine)
        if not is_applied(engine, points, stale):
            raise self._ignored()
        edge_journal.clear(self._path)

    def _cached_only_book(self, engine: edge.EdgeShard) -> str:
        if self._only_book is None:
            self._only_book = find_only_book(engine)
        return self._only_book

    def _is_worth_waiting_for(self, engine: edge.EdgeShard) -> bool:
        """Whether rewriting is quick, and more was removed than is left."""
        left = engine.count(edge.CountRequest(exact=True))
        return left <= QUICKLY_REWRITTEN and self._removed >= max(left, FEW_REMOVED)

    def _commit(self, engine: edge.EdgeShard) -> None:
        engine.flush()
        edge_shard.note_segments(self._path)

    def _ignored(self) -> StoreError:
        return StoreError(
            f"The index in {self._path} did not take a write; its log does not fit its content.",
            action="Run `bythebook doctor --repair` to rebuild it from what it holds.",
        )
