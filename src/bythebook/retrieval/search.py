"""Finding passages: dense and BM25 in one round trip, fused, deduplicated, calibrated."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Embedder
from bythebook.errors import ConfigurationError, InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import (
    Filter,
    IdfCorpusParams,
    QueryRequest,
    ScoredPoint,
    SearchParams,
    SparseVector,
)
from bythebook.index.sparse import query_terms
from bythebook.index.store import VectorStore
from bythebook.ingestion.catalog import Catalog
from bythebook.ingestion.points import book_filter
from bythebook.models.book import BookInfo
from bythebook.models.passage import Passage, chunk_of_payload
from bythebook.models.search import SearchQuery
from bythebook.retrieval.calibration import calibration_for
from bythebook.retrieval.filters import make_filter
from bythebook.retrieval.fusion import Candidate, bm25_ceiling, fuse, inverse_frequency

Vector = NDArray[np.float32]

# Candidates each half brings: enough that a passage good in both is never missed.
CANDIDATES = 50
# The term number of the empty word, which no text has: a query for it finds nothing.
NO_WORDS = [0]
MIXED_RETRIES = 5
MIXED_PAUSE = 0.02


@dataclass(frozen=True)
class Found:
    """Passages, best first, and how many the filters allow."""

    passages: tuple[Passage, ...]
    total: int


@dataclass(frozen=True)
class Evidence:
    """What speaks for each candidate, and the BM25 score that none can exceed."""

    candidates: list[Candidate]
    ceiling: float


class Searcher:
    """Searches one book at a time."""

    def __init__(self, store: VectorStore, embedder: Embedder, catalog: Catalog) -> None:
        self.store = store
        self.embedder = embedder
        self.catalog = catalog

    async def search(self, query: SearchQuery) -> Found:
        book = await self.catalog.book(query.book_id)
        self._check_embedder(book)
        selection = await self._selection(query)
        total = await self.store.count(selection)
        if total == 0:
            await self._explain_nothing(query)
            return Found((), 0)
        vector = await self.embedder.embed_query(query.text)
        evidence = await self._gather(book, selection, vector, query.text)
        calibration = calibration_for(self.embedder.name)
        ranked = fuse(evidence.candidates, evidence.ceiling, calibration)
        best = _without_repeats(ranked)[: query.limit]
        return Found(tuple(_passage(candidate) for candidate in best), total)

    def _check_embedder(self, book: BookInfo) -> None:
        if book.embedding_model != self.embedder.name:
            raise ConfigurationError(
                f"{book.book_id} was indexed with {book.embedding_model}, and the embedder is now "
                f"{self.embedder.name}.",
                action=f"Set BYTHEBOOK_EMBEDDER back, or run `bythebook ingest {book.source} "
                f"--book {book.book_id} --mode recreate`.",
            )

    async def _selection(self, query: SearchQuery) -> Filter:
        if query.prefix is None:
            return make_filter(query)
        pages = await self.catalog.pages_with_prefix(query.book_id, query.prefix)
        if not pages:
            raise InputError(
                f"No page of {query.book_id} begins with {query.prefix!r}.",
                action="Give the beginning of a page's path or address.",
            )
        return make_filter(query, pages)

    async def _explain_nothing(self, query: SearchQuery) -> None:
        """An empty selection is either a combination that has no page, or a value that isn't."""
        in_book = book_filter(query.book_id)
        if query.module_filter is not None:
            modules = await self.store.facet("module", in_book)
            if query.module_filter not in modules:
                names = ", ".join(sorted(str(module) for module in modules))
                raise InputError(
                    f"{query.book_id} has no module {query.module_filter!r}.",
                    action=f"Choose one of: {names}.",
                )
        if query.parent_doc_id is not None:
            lessons = await self.store.facet("parent_doc_id", in_book, limit=1_000_000)
            if query.parent_doc_id not in lessons:
                raise InputError(
                    f"{query.book_id} has no lesson {query.parent_doc_id}.",
                    action="Take the parent_doc_id of a search result.",
                )

    async def _gather(
        self, book: BookInfo, selection: Filter, vector: Vector, text: str
    ) -> Evidence:
        """Both halves and the weight of each word, from one state of the index."""
        words = query_terms(text, book.language).indices
        requests = _requests(book.book_id, selection, vector, words)
        for _ in range(MIXED_RETRIES):
            dense, sparse, *single = await self.store.query_batch(requests)
            candidates = _candidates(vector, dense, sparse)
            if not _mixes_versions(candidates):
                break
            await asyncio.sleep(MIXED_PAUSE)  # a page is being switched right now
        weights = [
            _weight(word, hits, book.total_chunks) for word, hits in zip(words, single, strict=True)
        ]
        return Evidence(candidates, bm25_ceiling(weights))


def _requests(
    book_id: str, selection: Filter, vector: Vector, words: Sequence[int]
) -> list[QueryRequest]:
    """Dense, sparse, and for each word its best passage, which tells the word's weight."""
    in_book = book_filter(book_id)
    frequencies = SearchParams(idf=IdfCorpusParams(corpus=in_book))
    halves = [
        QueryRequest(
            query=query,
            using=name,
            filter=selection,
            params=params,
            limit=CANDIDATES,
            with_payload=True,
            with_vector=[DENSE],
        )
        for name, query, params in (
            (DENSE, vector.tolist(), SearchParams(exact=True)),
            # A question without a word of its own finds nothing here.
            (
                SPARSE,
                SparseVector(indices=words or [0], values=[1.0] * (len(words) or 1)),
                frequencies,
            ),
        )
    ]
    single = [
        QueryRequest(
            query=_equal_weights([word]),
            using=SPARSE,
            filter=in_book,
            params=frequencies,
            limit=1,
            with_payload=False,
            with_vector=[SPARSE],
        )
        for word in words
    ]
    return [*halves, *single]


def _equal_weights(words: Sequence[int]) -> SparseVector:
    return SparseVector(indices=list(words), values=[1.0] * len(words))


def _candidates(
    vector: Vector, dense_hits: Sequence[ScoredPoint], sparse_hits: Sequence[ScoredPoint]
) -> list[Candidate]:
    """The union of both halves, each passage with its cosine and its BM25 score."""
    points = {hit.id: hit for hit in [*sparse_hits, *dense_hits]}
    bm25 = {hit.id: hit.score for hit in sparse_hits}
    # What the sparse half did not bring scores between nothing and the last it brought.
    unknown = min(bm25.values()) / 2 if len(sparse_hits) == CANDIDATES else 0.0
    found: list[Candidate] = []
    for point in points.values():
        dense = np.asarray((point.vector or {})[DENSE], dtype=np.float32)
        cosine = float(np.clip(dense @ vector, -1.0, 1.0))
        found.append(Candidate(point, cosine, bm25.get(point.id, unknown), tuple(dense.tolist())))
    return found


def _weight(word: int, hits: Sequence[ScoredPoint], total: int) -> float:
    """A word's inverse frequency: its best score without the passage's own part in it."""
    if not hits:
        return inverse_frequency(total, 0)
    sparse = (hits[0].vector or {})[SPARSE]
    assert isinstance(sparse, SparseVector)
    own = dict(zip(sparse.indices, sparse.values, strict=True))[word]
    return hits[0].score / own


def _mixes_versions(candidates: Sequence[Candidate]) -> bool:
    """Whether passages of one page come from two states of its file."""
    hashes: dict[str, str] = {}
    for candidate in candidates:
        payload = candidate.point.payload or {}
        page, file_hash = payload["source_file"], payload["source_file_hash"]
        if hashes.setdefault(page, file_hash) != file_hash:
            return True
    return False


def _without_repeats(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Of passages with the same text only the best stays."""
    best: dict[str, Candidate] = {}
    for candidate in ranked:
        best.setdefault((candidate.point.payload or {})["content_hash"], candidate)
    return list(best.values())


def _passage(candidate: Candidate) -> Passage:
    payload = candidate.point.payload or {}
    return Passage(
        chunk=chunk_of_payload(candidate.point.id, payload),
        embedding_model=payload["embedding_model"],
        score=candidate.score,
        cosine=candidate.cosine,
        bm25=candidate.bm25,
        vector=candidate.vector,
    )
