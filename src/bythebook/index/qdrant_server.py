"""The index on a Qdrant server or cluster."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from qdrant_client import AsyncQdrantClient
from qdrant_client import models as client

from bythebook.errors import ConfigurationError, InputError, StoreError
from bythebook.index.qdrant_models import (
    Filter,
    HasIdCondition,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
    SparseVector,
    from_record,
    from_scored,
)
from bythebook.index.server_connection import AlreadyThere, NoCollection, ServerConnection
from bythebook.index.store import (
    DENSE,
    PAYLOAD_INDEXES,
    SPARSE,
    TENANT,
    Reads,
    Selection,
    StoreInfo,
    other_dimension,
    other_layout,
)
from bythebook.index.validation import (
    check_filter,
    check_ids,
    check_key,
    check_limit,
    check_points,
    check_request,
)
from bythebook.models.values import shown_address

T = TypeVar("T")

_BODY = 30_000_000
"""A server takes 32 MB in one request; the rest is room for what the estimate leaves out."""


class ServerStore:
    """A `VectorStore` on a Qdrant server; a ready client may be given, as the tests do."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        collection: str = "textbook_chunks",
        timeout: float = 30.0,
        client: AsyncQdrantClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url
        self._collection = collection
        self._dimension = 0
        self._server = ServerConnection(
            url, api_key=api_key, timeout=timeout, client=client, sleep=sleep
        )

    async def open(self, dimension: int) -> None:
        """Find the collection or create it, with every payload index."""
        try:
            found = await self._server.call(lambda c: c.get_collection(self._collection))
        except NoCollection:
            await self._create(dimension)
            found = await self._server.call(lambda c: c.get_collection(self._collection))
        self._check_layout(found, dimension)
        for field, schema in PAYLOAD_INDEXES.items():
            if field not in found.payload_schema:
                await self._create_index(field, schema)
        self._dimension = dimension

    async def close(self) -> None:
        """Close the connections; a client that was given stays open for its owner."""
        self._dimension = 0
        await self._server.close()

    async def drop(self) -> None:
        await self._server.call(lambda c: c.delete_collection(self._collection))
        self._dimension = 0

    async def recover(self, dimension: int) -> None:
        """A server repairs itself."""

    async def replace(
        self,
        points: Sequence[PointStruct],
        stale: Sequence[str],
        *,
        durable: bool = True,
        within: Filter | None = None,
    ) -> None:
        """One request writes and removes; more only where one would be too large to send."""
        check_points(points, stale, self._opened())
        check_filter(within)
        groups = list(_groups(points))
        for number, group in enumerate(groups, start=1):
            operations: list[Any] = []
            if group:
                parts = [to_client(point) for point in group]
                operations.append(client.UpsertOperation(upsert=client.PointsList(points=parts)))
            if stale and number == len(groups):
                operations.append(client.DeleteOperation(delete=_chosen(stale, within)))
            if operations:
                await self._update(operations)

    async def delete(self, filter: Filter) -> None:
        check_filter(filter, selective=True)
        self._opened()
        chosen = client.FilterSelector(filter=to_client(filter))
        await self._update([client.DeleteOperation(delete=chosen)])

    async def flush(self) -> None:
        """Nothing to do: every write waits until the server has it."""

    async def optimize(self, *, serving: bool = False) -> None:
        """Nothing to do: a server tidies up by itself."""

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        """The same as reading one after the other."""
        return await work(self)

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        """Answer all requests with one round trip."""
        dimension = self._opened()
        for request in requests:
            check_request(request, dimension)
        if not requests:
            return []
        batch = [to_client(request) for request in requests]
        answers = await self._server.call(lambda c: c.query_batch_points(self._collection, batch))
        return [
            [
                from_scored(hit)
                for hit in answer.points
                if _is_ours(hit) and math.isfinite(hit.score)
            ]
            for answer in answers
        ]

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        self._opened()
        check_ids(ids)
        if not ids:
            return []
        found = await self._server.call(
            lambda c: c.retrieve(
                self._collection, list(ids), with_payload=with_payload, with_vectors=with_vectors
            )
        )
        by_id = {record.id: record for record in map(from_record, found)}
        return [by_id[wanted] for wanted in ids if wanted in by_id]

    async def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
        self._opened()
        check_filter(filter)
        check_limit(limit)
        page, following = await self._server.call(
            lambda c: c.scroll(
                self._collection,
                scroll_filter=to_client(filter),
                limit=limit,
                offset=int(offset) if offset and offset.isdigit() else offset,
                with_payload=with_payload,
                with_vectors=with_vectors,
            )
        )
        records = [from_record(record) for record in page if _is_ours(record)]
        return records, None if following is None else str(following)

    async def count(self, filter: Filter | None = None) -> int:
        self._opened()
        check_filter(filter)
        chosen = to_client(filter)
        return (
            await self._server.call(lambda c: c.count(self._collection, chosen, exact=True))
        ).count

    async def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        self._opened()
        check_key(key)
        check_filter(filter)
        check_limit(limit)
        chosen = to_client(filter)
        found = await self._server.call(
            lambda c: c.facet(self._collection, key, facet_filter=chosen, limit=limit, exact=True)
        )
        return {hit.value: hit.count for hit in found.hits if hit.count}

    async def info(self) -> StoreInfo:
        dimension = self._opened()
        found = await self._server.call(lambda c: c.get_collection(self._collection))
        return StoreInfo(
            engine="server",
            location=shown_address(self._url),
            collection=self._collection,
            dimension=dimension,
            points=await self.count(),
            healthy=found.status is not client.CollectionStatus.RED,
            status=str(found.status.value),
        )

    def _opened(self) -> int:
        if not self._dimension:
            raise StoreError("The index is not open.", action="This is a bug; report it.")
        return self._dimension

    async def _create(self, dimension: int) -> None:
        try:
            await self._server.call(
                lambda c: c.create_collection(
                    self._collection,
                    vectors_config={
                        DENSE: client.VectorParams(size=dimension, distance=client.Distance.COSINE)
                    },
                    sparse_vectors_config={
                        SPARSE: client.SparseVectorParams(modifier=client.Modifier.IDF)
                    },
                )
            )
        except AlreadyThere:
            return

    async def _create_index(self, field: str, schema: str) -> None:
        wanted: Any = client.PayloadSchemaType(schema)
        if field == TENANT:
            wanted = client.KeywordIndexParams(type=client.KeywordIndexType.KEYWORD, is_tenant=True)
        await self._server.call(lambda c: c.create_payload_index(self._collection, field, wanted))

    def _check_layout(self, found: client.CollectionInfo, dimension: int) -> None:
        vectors = found.config.params.vectors
        dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
        sparse = (found.config.params.sparse_vectors or {}).get(SPARSE)
        if (
            dense is None
            or sparse is None
            or dense.distance is not client.Distance.COSINE
            or sparse.modifier is not client.Modifier.IDF
        ):
            raise other_layout(self._collection)
        if dense.size != dimension:
            raise other_dimension(self._collection, dense.size, dimension)

    async def _update(self, operations: list[Any]) -> None:
        await self._server.call(
            lambda c: c.batch_update_points(self._collection, operations, wait=True)
        )


def _is_ours(point: Any) -> bool:
    """Whoever shares the server may number points; ours have UUIDs."""
    return isinstance(point.id, str)


def _chosen(ids: Sequence[str], within: Filter | None) -> Any:
    if within is None:
        return client.PointIdsList(points=list(ids))
    both = Filter(must=[HasIdCondition(has_id=list(ids)), *within.must])
    return client.FilterSelector(filter=to_client(both))


def _groups(points: Sequence[PointStruct]) -> Iterator[list[PointStruct]]:
    """Cut a write where one request would be too large; an empty one is one empty group."""
    group: list[PointStruct] = []
    size = 0
    for point in points:
        length = _length(point)
        if length > _BODY:
            raise InputError(f"The point {point.id} is too large to be stored.")
        if group and size + length > _BODY:
            yield group
            group, size = [], 0
        group.append(point)
        size += length
    yield group


def _length(point: PointStruct) -> int:
    numbers = sum(
        2 * len(part.values) if isinstance(part, SparseVector) else len(part)
        for part in point.vector.values()
    )
    return len(json.dumps(point.payload)) + 25 * numbers + 200


def to_client(value: Any) -> Any:
    """Our object as one of the client, which goes by the same name; all others pass."""
    if is_dataclass(value):
        name = type(value).__name__
        counterpart = getattr(client, name, None)
        if counterpart is None:
            raise ConfigurationError(
                f"The installed qdrant-client is too old: it does not know {name}.",
                action="Run `pip install --upgrade qdrant-client`.",
            )
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return counterpart(
            **{
                key.rstrip("_"): part if key == "payload" else to_client(part)
                for key, part in given.items()
                if part is not None
            }
        )
    if isinstance(value, dict):
        return {key: to_client(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_client(part) if is_dataclass(part) else part for part in value]
    return value
