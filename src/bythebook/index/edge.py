"""The embedded index: the Qdrant engine inside this process.

The engine has no async interface. It runs one call at a time (`SerialExecutor`), which also makes
each call one step for all readers.

One process may have a folder open. Open it after forking, never before: the engine's threads do
not exist in the child.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import qdrant_edge

from bythebook.errors import DiskFull, StoreError
from bythebook.index import edge_folder, edge_recovery
from bythebook.index.edge_folder import engine_errors
from bythebook.index.edge_index import EdgeIndex, to_point
from bythebook.index.qdrant_models import Filter, PointStruct, QueryRequest, Record, ScoredPoint
from bythebook.index.store import Reads, Selection, StoreInfo, other_dimension
from bythebook.index.validation import check_filter, check_points
from bythebook.runtime import give_back_freed, give_back_pages

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

# Rewriting takes half a millisecond a point, in which Python does nothing else.
QUICKLY_REWRITTEN = 5_000
# What was removed takes up memory until then; less than this is not worth anybody's waiting.
FEW_REMOVED = 5_000


def _in_turn(
    method: Callable[Concatenate[EdgeIndex, P], T],
) -> Callable[Concatenate[EdgeStore, P], Coroutine[Any, Any, T]]:
    """The same method, when nothing else is under way."""

    async def call(self: EdgeStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._use(lambda index: method(index, *args, **kwargs))

    call.__name__ = method.__name__
    return call


class EdgeStore:
    """A `VectorStore` in a folder."""

    def __init__(self, path: Path, reserve: int = 0) -> None:
        self._path = path
        self._reserve = reserve  # bytes of the disk that writing leaves free
        self._executor = SerialExecutor()
        self._index: EdgeIndex | None = None
        self._dimension = 0
        self._process_lock = edge_folder.ProcessLock(path)
        self._writing = asyncio.Lock()
        self._broken = self._was_full = False

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
            with self._process_lock, engine_errors(self._path):
                edge_folder.remove(self._path)

        await self._executor.submit(work)

    async def recover(self, dimension: int) -> edge_recovery.Recovery:
        """Rebuild a damaged index from what can be read; the damaged folder is kept aside."""

        def work() -> edge_recovery.Recovery:
            self._close()
            with self._process_lock:
                return edge_recovery.rebuild(self._path, dimension)

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

        def translated() -> list[qdrant_edge.Point]:
            check_points(points, stale, self._dimension)
            check_filter(within)
            return [to_point(point) for point in points]

        async with self._writing:  # in the order in which they came
            # In another thread than the one that searches wait for.
            engine_points = await asyncio.to_thread(translated)

            def work(index: EdgeIndex) -> None:
                edge_folder.make_room(self._path, points, self._dimension, self._reserve)
                gone = index.matching(stale, within)
                if points and gone:  # either alone is one record of the engine's log
                    edge_recovery.write_journal(self._path, points, gone)
                try:
                    with engine_errors(self._path):
                        index.write(points, engine_points, gone, durable=durable or bool(gone))
                        edge_recovery.clear_journal(self._path)
                except BaseException as problem:
                    # Nobody may see half of the switch; opening again makes it whole.
                    self._broken, self._was_full = True, isinstance(problem, DiskFull)
                    raise

            await self._use(work)

    async def delete(self, filter: Filter) -> None:
        async with self._writing:
            await self._use(lambda index: index.delete(filter))

    flush = _in_turn(EdgeIndex.flush)
    scroll = _in_turn(EdgeIndex.scroll)
    count = _in_turn(EdgeIndex.count)
    facet = _in_turn(EdgeIndex.facet)

    async def optimize(self, *, serving: bool = False) -> None:
        """Rewrite segments with many deleted points; blocks every other call meanwhile."""

        def work(index: EdgeIndex) -> None:
            if serving and not _is_worth_waiting_for(index):
                return
            if not edge_folder.has_room_for_another(self._path, self._reserve):
                logger.warning("The index is not tidied up: the disk is almost full")
                return
            index.optimize()
            give_back_freed()

        await self._use(work)

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        await self._reopen_if_it_was_full()

        def read() -> T:
            return _run_without_waiting(work(EdgeReads(self._opened())))

        return await self._executor.run_inline(lambda: self._noting_panic(read))

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        return await self.visit(lambda reads: reads.query_batch(requests))

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        return await self.visit(lambda reads: reads.retrieve(ids, with_payload, with_vectors))

    async def info(self) -> StoreInfo:
        def work(index: EdgeIndex) -> StoreInfo:
            missing = edge_folder.missing_segments(self._path)
            return StoreInfo(
                engine="embedded",
                location=str(self._path),
                collection=self._path.name,
                dimension=self._dimension,
                points=index.count(),
                healthy=not missing,
                status=f"parts missing: {len(missing)}" if missing else "ok",
            )

        return await self._use(work)

    async def _use(self, work: Callable[[EdgeIndex], T]) -> T:
        await self._reopen_if_it_was_full()

        def guarded() -> T:
            with engine_errors(self._path):
                return work(self._opened())

        return await self._executor.submit(lambda: self._noting_panic(guarded))

    async def _reopen_if_it_was_full(self) -> None:
        """What failed because the disk was full is opened again: there may be room by now."""

        def reopen() -> None:
            try:
                self._open(self._dimension)
            except BaseException:
                self._broken = True
                raise

        if self._broken and self._was_full:
            await self._executor.submit(reopen)

    def _noting_panic(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except edge_folder.EnginePanic:
            self._broken, self._was_full = True, False
            raise

    def _opened(self) -> EdgeIndex:
        if self._broken:
            raise StoreError(
                f"The index in {self._path} failed earlier and was not opened again.",
                action="Start bythebook again; if that fails, run `bythebook doctor --repair`.",
            )
        if self._index is None:
            raise StoreError("The index is not open.", action="This is a bug; report it.")
        return self._index

    def _open(self, dimension: int) -> None:
        if self._index is not None and not self._broken:
            if dimension != self._dimension:
                raise other_dimension(self._path.name, self._dimension, dimension)
            return
        self._close()
        with engine_errors(self._path), ExitStack() as failed:
            failed.enter_context(self._process_lock)
            edge_folder.make_little_room(self._path)
            index = EdgeIndex(self._path, dimension, edge_folder.open_shard(self._path, dimension))
            failed.callback(index.close)
            pending = edge_recovery.read_journal(self._path)
            if pending is not None:
                points, stale = pending
                check_points(points, stale, dimension)
                index.write(points, [to_point(point) for point in points], stale)
                edge_recovery.clear_journal(self._path)
            failed.pop_all()
        self._index, self._dimension = index, dimension
        # To open it the engine reads all of its log, and all of the room for what is yet to be
        # written; whoever searches needs neither.
        give_back_freed()
        give_back_pages(self._path)

    def _close(self) -> None:
        index, self._index = self._index, None
        broken, self._broken = self._broken, False
        if index is None:
            return
        try:
            if not broken:
                with engine_errors(self._path):
                    index.flush()
        except DiskFull as problem:  # what was not flushed is in the engine's log
            logger.warning("The index is closed as it is: %s", problem)
        finally:
            index.close()
            self._process_lock.release()


def _is_worth_waiting_for(index: EdgeIndex) -> bool:
    """Whether rewriting is quick, and more was removed than is left."""
    left = index.count()
    return left <= QUICKLY_REWRITTEN and index.removed >= max(left, FEW_REMOVED)


class EdgeReads:
    """`Reads` that never wait."""

    def __init__(self, index: EdgeIndex) -> None:
        self._index = index

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        return self._index.query_batch(requests)

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        return self._index.retrieve(ids, with_payload, with_vectors)


def _run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError("a visit awaits only what it reads")


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
