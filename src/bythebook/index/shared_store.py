"""The embedded index of a home, used by several processes.

The first process opens the index and serves the others (`local_rpc`). When it ends, or is killed,
the next one that needs the index opens it. Every call may be made twice, so nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from bythebook.errors import BusyError
from bythebook.index.edge import EdgeStore
from bythebook.index.edge_shard import IndexInUse, Recovery
from bythebook.index.local_rpc import OwnerGone, RpcClient, RpcServer
from bythebook.index.qdrant_models import Filter, PointStruct, QueryRequest, Record, ScoredPoint
from bythebook.index.store import Reads, Selection, StoreInfo

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

# Seconds in which the process that has the folder must serve it: it may be opening, or closing.
CONNECT_TIMEOUT = 20.0
RETRY_PAUSE = 0.05


class SharedStore:
    """A `VectorStore` in a folder that several processes work with."""

    def __init__(self, path: Path, reserve: int = 0) -> None:
        self._local = EdgeStore(path, reserve)
        self._address = path.with_name(f"{path.name}.door")
        self._server: RpcServer | None = None
        self._client: RpcClient | None = None
        self._dimension = 0
        self._connecting = asyncio.Lock()

    async def open(self, dimension: int) -> None:
        async with self._connecting:
            await self._connect(dimension)

    async def close(self) -> None:
        """Let go of the folder, once others have what they asked for."""
        server, self._server = self._server, None
        if server is not None:
            await server.close()
        self._close_client()
        await self._local.close()

    async def drop(self) -> None:
        """Delete the folder; refused while another process uses it."""
        await self._local.drop()

    async def recover(self, dimension: int) -> Recovery:
        """Rebuild a damaged index; refused while another process uses it."""
        return await self._local.recover(dimension)

    async def replace(
        self,
        points: Sequence[PointStruct],
        stale: Sequence[str],
        *,
        durable: bool = True,
        within: Filter | None = None,
    ) -> None:
        await self._call(EdgeStore.replace, points, stale, durable=durable, within=within)

    async def delete(self, filter: Filter) -> None:
        await self._call(EdgeStore.delete, filter)

    async def flush(self) -> None:
        await self._call(EdgeStore.flush)

    async def optimize(self, *, serving: bool = False) -> None:
        """Another process may have readers who would wait."""
        await self._call(EdgeStore.optimize, serving=serving or self._client is not None)

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        """One step where the index is open here, else one read after the other."""
        if self._client is None:
            return await self._local.visit(work)
        return await work(self)

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        return await self._call(EdgeStore.query_batch, requests)

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        return await self._call(EdgeStore.retrieve, ids, with_payload, with_vectors)

    async def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
        return await self._call(EdgeStore.scroll, filter, limit, offset, with_payload, with_vectors)

    async def count(self, filter: Filter | None = None) -> int:
        return await self._call(EdgeStore.count, filter)

    async def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        return await self._call(EdgeStore.facet, key, filter, limit)

    async def info(self) -> StoreInfo:
        return await self._call(EdgeStore.info)

    async def _call(
        self,
        method: Callable[Concatenate[EdgeStore, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call it in the process that has the index open."""
        while (client := self._client) is not None:
            try:
                result: T = await client.call(method.__name__, *args, **kwargs)
                return result
            except OwnerGone:
                async with self._connecting:
                    if self._client is client:
                        await self._connect(self._dimension)
        return await method(self._local, *args, **kwargs)

    async def _connect(self, dimension: int) -> None:
        until = time.monotonic() + CONNECT_TIMEOUT
        while True:
            try:
                await self._connect_or_open(dimension)
                self._dimension = dimension
                return
            except IndexInUse as problem:
                if time.monotonic() > until:
                    raise BusyError(
                        "Another bythebook is using this data folder and shares it with nobody.",
                        action="Wait until it ends, or end it, then try again.",
                        details=problem.details,
                    ) from problem
            await asyncio.sleep(RETRY_PAUSE)

    async def _connect_or_open(self, dimension: int) -> None:
        if self._server is None:
            # First, because the process that has the folder may be changing it.
            client = RpcClient(self._address)
            try:
                await client.call("open", dimension)
            except OwnerGone:
                pass
            except BaseException:
                client.close()
                raise
            else:
                self._close_client()
                self._client = client
                return
        await self._local.open(dimension)
        self._close_client()
        if self._server is None:
            self._server = RpcServer(self._address, self._local)
            try:
                await self._server.open()
            except OSError as problem:
                logger.warning("Other commands can't use the index meanwhile: %s", problem)

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
