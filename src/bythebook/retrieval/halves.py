"""The two halves of a search: what the words of a question find, and what its meaning finds.

The words are asked for while the question is still being embedded. Then one round trip brings what
is nearest in meaning and how near all is that the words found. Ids and scores only: bringing back
text and vectors would cost more than finding them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import (
    Filter,
    HasIdCondition,
    IdfCorpusParams,
    QuantizationSearchParams,
    QueryRequest,
    SearchParams,
    SparseVector,
)
from bythebook.index.store import Reads
from bythebook.ingestion.points import book_filter
from bythebook.models.book import BookInfo
from bythebook.retrieval.asking import asked_terms
from bythebook.retrieval.fusion import Candidate, bm25_ceiling, inverse_frequency
from bythebook.retrieval.weights import WordWeights, weight_of

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
class ByWords:
    """BM25 scores of what the words of a question found, the score that none can exceed, and the
    weights of the question's terms, from 0 to 1."""

    bm25: dict[str, float]
    ceiling: float
    weights: dict[int, float]

    @property
    def least(self) -> float:
        """What else is in the book scores between nothing and the last that was found."""
        return min(self.bm25.values()) / 2 if len(self.bm25) == CANDIDATES else 0.0


async def find_by_words(
    index: Reads, book: BookInfo, known: WordWeights, selection: Filter, text: str
) -> ByWords:
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
    return ByWords(
        {hit.id: hit.score for hit in found},
        bm25_ceiling(list(own.values())),
        {word: min(weight / greatest, 1.0) for word, weight in own.items()},
    )


async def find_by_meaning(
    index: Reads, selection: Filter, vector: array[float], words: ByWords
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
