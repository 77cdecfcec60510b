"""What bythebook asks of a vector index, the layout of a collection, and which engine holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from bythebook.errors import ConfigurationError
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    MatchAny,
    MatchValue,
    PointStruct,
    QueryRequest,
    Record,
    ScoredPoint,
)

if TYPE_CHECKING:
    from bythebook.index.edge import EdgeStore
    from bythebook.index.edge_recovery import Recovery
    from bythebook.settings import Settings


DENSE = "dense"
SPARSE = "bm25"
TENANT = "book_id"
# Points brought at once.
PAGE = 256

PAYLOAD_INDEXES: dict[str, Literal["keyword", "integer"]] = {
    TENANT: "keyword",
    "module": "keyword",
    "chapter": "integer",
    "lesson": "integer",
    "hardware_tier": "integer",
    "proficiency_level": "keyword",
    "layer": "keyword",
    "parent_doc_id": "keyword",
    "content_hash": "keyword",
    "source_file_hash": "keyword",
    "source_file": "keyword",
}


def other_dimension(collection: str, stored: int, asked: int) -> ConfigurationError:
    """The stored vectors are not those of the embedder in use."""
    return ConfigurationError(
        f"The index {collection} holds vectors of dimension {stored}, "
        f"but the embedder in use makes {asked}.",
        action="Run `bythebook ingest PATH --mode recreate`, or set BYTHEBOOK_EMBEDDER "
        "to the embedder the index was made with.",
        details={"stored": stored, "asked": asked},
    )


def other_layout(collection: str) -> ConfigurationError:
    """A collection of this name exists but is not one of ours."""
    return ConfigurationError(
        f"The collection {collection} was not made by bythebook: "
        f"it lacks the vectors {DENSE} and {SPARSE}.",
        action="Set QDRANT_COLLECTION_NAME to another name, or run "
        "`bythebook ingest PATH --mode recreate`.",
    )


Selection = bool | list[str]
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

    async def recover(self, dimension: int) -> Recovery | None:
        """Rebuild a damaged index from what is readable; None where a server does that itself."""

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


def book_filter(book_id: str, **equal: str) -> Filter:
    """Points of one book; there is no way to ask for points of any book."""
    conditions = {TENANT: book_id, **equal}
    return Filter(
        must=[
            FieldCondition(key=key, match=MatchValue(value=value))
            for key, value in conditions.items()
        ]
    )


def files_filter(book_id: str, source_files: Sequence[str]) -> Filter:
    """Points of any of these files of a book."""
    of_files = FieldCondition(key="source_file", match=MatchAny(any=sorted(source_files)))
    return Filter(must=[*book_filter(book_id).must, of_files])


async def point_pages(
    store: VectorStore,
    selection: Filter,
    *,
    with_payload: Selection = True,
    with_vectors: Selection = False,
) -> AsyncIterator[list[Record]]:
    """The points of a selection, ordered by id."""
    offset: str | None = None
    while True:
        page, offset = await store.scroll(selection, PAGE, offset, with_payload, with_vectors)
        yield page
        if offset is None:
            return


async def all_points(
    store: VectorStore, selection: Filter, *, with_vectors: Selection = False
) -> list[Record]:
    pages = point_pages(store, selection, with_vectors=with_vectors)
    return [record async for page in pages for record in page]


def make_store(settings: Settings) -> VectorStore:
    """The server the settings name, else the embedded engine in the home folder, which several
    processes share.

    The imports are here because a server's client takes most of a second to load.
    """
    if settings.qdrant_url:
        from bythebook.index.qdrant_server import ServerStore

        key = settings.qdrant_api_key
        return ServerStore(
            settings.qdrant_url,
            api_key=key.get_secret_value() if key else None,
            collection=settings.collection,
            timeout=settings.search_timeout,
        )
    from bythebook.index.shared_store import SharedStore

    return SharedStore(index_folder(settings), settings.disk_reserve)


def make_exclusive_store(settings: Settings) -> EdgeStore:
    """The embedded engine for one process alone; it does not open while another has it."""
    from bythebook.index.edge import EdgeStore

    return EdgeStore(index_folder(settings), settings.disk_reserve)


def index_folder(settings: Settings) -> Path:
    return settings.home / "index" / settings.collection
