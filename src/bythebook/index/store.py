"""What bythebook asks of a vector index, whichever engine holds it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bythebook.index.models import Filter, PointStruct, QueryRequest, Record, ScoredPoint

Selection = bool | Sequence[str]
"""Everything, nothing, or these names: which payload fields or which vectors to bring back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """Where an index stands, for `doctor` and `/health`."""

    engine: str
    location: str
    collection: str
    dimension: int
    points: int
    healthy: bool
    status: str


T = TypeVar("T")


class Reads(Protocol):
    """What a search needs."""

    async def query_batch(self, requests: Sequence[QueryRequest]) -> list[list[ScoredPoint]]:
        """Answer all requests on the same state of the index, in their order."""

    async def retrieve(
        self,
        ids: Sequence[str],
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> list[Record]:
        """The points with these ids in the order asked for; unknown ids are left out."""


class VectorStore(Reads, Protocol):
    """One collection with a dense and a sparse vector for each point."""

    async def open(self, dimension: int) -> None:
        """Open the collection or create it; it must hold vectors of this dimension."""

    async def close(self) -> None:
        """Let go of everything; the store can be opened again."""

    async def drop(self) -> None:
        """Remove the collection with all its points; works whether it is open or not."""

    async def replace(
        self,
        points: Sequence[PointStruct],
        stale: Sequence[str],
        *,
        durable: bool = True,
        within: Filter | None = None,
    ) -> None:
        """Write `points` and remove the ids in `stale` as one step for readers; with `within` only
        those that match it at that moment.

        Without `durable` a write that removes nothing may be left to the next `flush`: it survives
        the end of the process but not that of the machine. Reading in a new book, one flush for
        many lessons saves most of the time the disk takes.
        """

    async def delete(self, filter: Filter) -> None:
        """Remove the points that match; a filter that would match everything is refused."""

    async def flush(self) -> None:
        """Return when everything written is on disk."""

    async def optimize(self, *, serving: bool = False) -> None:
        """Drop what deletions left behind. May take seconds; where readers would wait for it
        (`serving`), it is done only if it is quick and much was left behind."""

    async def visit(self, work: Callable[[Reads], Coroutine[Any, Any, T]]) -> T:
        """Reads that build on each other. Where the index is in this process, they are one step,
        and the work may await nothing but them."""

    async def scroll(
        self,
        filter: Filter | None = None,
        limit: int = 100,
        offset: str | None = None,
        with_payload: Selection = True,
        with_vectors: Selection = False,
    ) -> tuple[list[Record], str | None]:
        """One page of matching points ordered by id, and where the next page starts."""

    async def count(self, filter: Filter | None = None) -> int:
        """How many points match, exactly."""

    async def facet(
        self, key: str, filter: Filter | None = None, limit: int = 1000
    ) -> dict[str | int, int]:
        """Values of an indexed payload field with their counts, most frequent first."""

    async def info(self) -> StoreInfo:
        """Where the collection stands."""
