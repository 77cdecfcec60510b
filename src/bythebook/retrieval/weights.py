"""How much each word of a question weighs in a book, remembered while the book stays the same."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.index.collection import SPARSE
from bythebook.index.models import ScoredPoint, SparseVector
from bythebook.models.book import BookInfo
from bythebook.retrieval.fusion import inverse_frequency

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
    return hits[0].score / own
