"""Hybrid search: BM25 over words, vectors over meaning, and one score from both."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

from bythebook.index.qdrant_models import (
    Filter,
    HasIdCondition,
    IdfCorpusParams,
    QuantizationSearchParams,
    QueryRequest,
    ScoredPoint,
    SearchParams,
    SparseVector,
)
from bythebook.index.sparse import K1
from bythebook.index.store import DENSE, SPARSE, Reads, book_filter
from bythebook.models.chunk import BookInfo
from bythebook.retrieval.calibration import Calibration
from bythebook.retrieval.query import asked_terms


class Candidate(NamedTuple):
    """A passage that one of the halves brought, with what both say, and the evidence from it."""

    id: str
    cosine: float
    bm25: float
    evidence: float = 0.0


def inverse_frequency(total: int, containing: int) -> float:
    """Qdrant's own weight of a word that so many of the passages have."""
    return log((total - containing + 0.5) / (containing + 0.5) + 1)


def bm25_ceiling(inverse_frequencies: Sequence[float]) -> float:
    """The BM25 score that no passage exceeds for words of these weights."""
    return (K1 + 1) * sum(inverse_frequencies)


def fuse(
    candidates: Sequence[Candidate], ceiling: float, calibration: Calibration
) -> list[Candidate]:
    """Candidates with their evidence, best first."""

    def with_evidence(candidate: Candidate) -> Candidate:
        words = candidate.bm25 / ceiling if ceiling > 0 else candidate.cosine
        evidence = calibration.evidence(candidate.cosine, words)
        return Candidate(candidate.id, candidate.cosine, candidate.bm25, evidence)

    found = [with_evidence(candidate) for candidate in candidates]
    return sorted(found, key=lambda candidate: (-candidate.evidence, candidate.id))


MAX_WORDS = 100_000


class WordWeights:
    """Inverse frequencies by book and word; a change of the book makes them void."""

    def __init__(self) -> None:
        self._books: dict[str, tuple[object, dict[int, float]]] = {}

    def of(self, book: BookInfo) -> dict[int, float]:
        """What is known for the book as it is now, to be added to."""
        state = (book.total_chunks, book.last_full_ingest, book.last_incremental_update)
        known_state, weights = self._books.get(book.book_id, (None, {}))
        if known_state != state or len(weights) > MAX_WORDS:
            weights = {}
            self._books[book.book_id] = (state, weights)
        return weights


def weight_of(word: int, hits: Sequence[ScoredPoint], total: int) -> float:
    """A word's inverse frequency: its best score without that passage's own part in it."""
    if not hits:
        return inverse_frequency(total, 0)
    sparse = (hits[0].vector or {})[SPARSE]
    assert isinstance(sparse, SparseVector)
    own = dict(zip(sparse.indices, sparse.values, strict=True))[word]
    return hits[0].score / own if own else inverse_frequency(total, 1)


# Candidates each half brings: enough that a passage good in both is never missed.
CANDIDATES = 50
# By vectors rounded to bytes, where an index has them: of twice as many, the vectors themselves
# choose what they would have chosen of all.
ROUNDED = SearchParams(
    exact=True, quantization=QuantizationSearchParams(rescore=True, oversampling=2.0)
)
# The term number of the empty word, which no text has: a query for it finds nothing.
NO_WORDS = [0]


@dataclass(frozen=True)
class LexicalHits:
    """BM25 scores of what the words of a question found, the score that none can exceed, and the
    weights of the question's terms, from 0 to 1."""

    bm25: dict[str, float]
    ceiling: float
    weights: dict[int, float]

    @property
    def least(self) -> float:
        """What else is in the book scores between nothing and the last that was found."""
        return min(self.bm25.values()) / 2 if len(self.bm25) == CANDIDATES else 0.0


async def lexical_search(
    index: Reads, book: BookInfo, known: WordWeights, selection: Filter, text: str
) -> LexicalHits:
    words = asked_terms(text, book.language)
    weights = known.of(book)
    unweighed = [word for word in words if word not in weights]
    in_book = book_filter(book.book_id)
    found, *single = await index.query_batch(
        [
            _sparse(words or NO_WORDS, selection, in_book),
            *(_best_of_word(word, in_book) for word in unweighed),
        ]
    )
    for word, hits in zip(unweighed, single, strict=True):
        weights[word] = weight_of(word, hits, book.total_chunks)
    own = {word: weights[word] for word in words}
    greatest = inverse_frequency(book.total_chunks, 0)
    return LexicalHits(
        {hit.id: hit.score for hit in found},
        bm25_ceiling(list(own.values())),
        {word: min(weight / greatest, 1.0) for word, weight in own.items()},
    )


async def dense_search(
    index: Reads, selection: Filter, vector: array[float], words: LexicalHits
) -> list[Candidate]:
    """All that either half found, with what both say of it."""
    requests = [_dense(vector, selection)]
    if words.bm25:
        of_words = Filter(must=[HasIdCondition(has_id=list(words.bm25))])
        requests.append(_dense(vector, of_words))
    found = await index.query_batch(requests)
    cosines = {hit.id: hit.score for hits in found for hit in hits}
    least = words.least
    return [
        Candidate(id, min(max(cosine, -1.0), 1.0), words.bm25.get(id, least))
        for id, cosine in cosines.items()
    ]


def _dense(vector: array[float], selection: Filter) -> QueryRequest:
    return QueryRequest(
        query=vector.tolist(),
        using=DENSE,
        filter=selection,
        params=ROUNDED,
        limit=CANDIDATES,
        with_payload=False,
    )


def _sparse(words: Sequence[int], selection: Filter, in_book: Filter) -> QueryRequest:
    return QueryRequest(
        query=SparseVector(indices=list(words), values=[1.0] * len(words)),
        using=SPARSE,
        filter=selection,
        params=SearchParams(idf=IdfCorpusParams(corpus=in_book)),
        limit=CANDIDATES,
        with_payload=False,
    )


def _best_of_word(word: int, in_book: Filter) -> QueryRequest:
    return replace(_sparse([word], in_book, in_book), limit=1, with_vector=[SPARSE])
