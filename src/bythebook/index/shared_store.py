"""The embedded index of a home, used by several processes.

The first process opens the index and serves the others (`local_rpc`). When it ends, or is killed,
the next one that needs the index opens it. Every call may be made twice, so nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from bythebook.errors import BusyError
from bythebook.index.edge import EdgeStore
from bythebook.index.edge_folder import IndexInUse
from bythebook.index.edge_recovery import Recovery
from bythebook.index.local_rpc import OwnerGone, RpcClient, RpcServer
from bythebook.index.store import Reads

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

# Seconds in which the process that has the folder must serve it: it may be opening, or closing.
CONNECT_TIMEOUT = 20.0
RETRY_PAUSE = 0.05


def _forwarded(
    method: Callable[Concatenate[EdgeStore, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SharedStore, P], Coroutine[Any, Any, T]]:
    """The same method, in the process that has the index open."""
    name = method.__name__

    async def forward(self: SharedStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        while (client := self._client) is not None:
            try:
                result: T = await client.call(name, *args, **kwargs)
                return result
            except OwnerGone:
                async with self._connecting:
                    if self._client is client:
                        await self._connect(self._dimension)
        local: Callable[P, Coroutine[Any, Any, T]] = getattr(self._local, name)
        return await local(*args, **kwargs)

    return forward


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

    replace = _forwarded(EdgeStore.replace)
    delete = _forwarded(EdgeStore.delete)
    flush = _forwarded(EdgeStore.flush)
    query_batch = _forwarded(EdgeStore.query_batch)
    retrieve = _forwarded(EdgeStore.retrieve)
    scroll = _forwarded(EdgeStore.scroll)
    count = _forwarded(EdgeStore.count)
    facet = _forwarded(EdgeStore.facet)
    info = _forwarded(EdgeStore.info)
    _optimize = _forwarded(EdgeStore.optimize)

    async def optimize(self, *, serving: bool = False) -> None:
        """Another process may have readers who would wait."""
        await self._optimize(serving=serving or self._client is not None)

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        """One step where the index is open here, else one read after the other."""
        if self._client is None:
            return await self._local.visit(work)
        return await work(self)

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
