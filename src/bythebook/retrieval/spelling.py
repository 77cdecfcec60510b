"""Typing errors in a question, set right by the words of the book.

Only a plain word that stands nowhere in the book and is no everyday word is changed, and only to a
word of the book that is a slip of the hand away. Identifiers are left as they are.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable

from rapidfuzz.distance import OSA

from bythebook.index.models import Filter
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import book_filter
from bythebook.models.book import BookInfo
from bythebook.retrieval.names import is_everyday

# As somebody types a plain word; what has digits, underscores or capitals inside is a name.
PLAIN = re.compile(r"(?<![\w`./-])[A-Za-z][a-z]{3,}(?![\w`/]|[.-]\w)")
BOOK_WORD = re.compile(r"(?<![\w./-])[A-Za-z][a-z]{3,}(?![\w/])")
# Letters that may be wrong in a word of this length.
SLIPS = ((8, 2), (4, 1))
PAGE = 500
# Books whose words are remembered.
MOST_BOOKS = 16


class Spelling:
    """The words of each book, read when a question first needs them."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._books: dict[str, tuple[object, Counter[str]]] = {}

    async def corrected(
        self, question: str, book: BookInfo, is_unknown: Callable[[str], bool]
    ) -> str:
        """The question with its typing errors set right. `is_unknown` says of a word whether it
        stands nowhere in the book."""
        unknown = {
            word
            for word in PLAIN.findall(question)
            if is_unknown(word) and not is_everyday(word.lower())
        }
        if not unknown:
            return question
        words = await self._words(book)
        right = await asyncio.to_thread(lambda: {w: nearest(w, words) for w in unknown})
        return PLAIN.sub(lambda found: right.get(found[0]) or found[0], question)

    async def _words(self, book: BookInfo) -> Counter[str]:
        state = (book.total_chunks, book.last_full_ingest, book.last_incremental_update)
        known_state, words = self._books.get(book.book_id, (None, Counter()))
        if known_state != state:
            words = Counter()
            offset: str | None = None
            selection: Filter = book_filter(book.book_id)
            while True:
                page, offset = await self._store.scroll(
                    selection, PAGE, offset, with_payload=["text"]
                )
                texts = [record.payload["text"] for record in page if record.payload]
                words.update(await asyncio.to_thread(lambda texts=texts: words_of(texts)))  # type: ignore[misc]
                if offset is None:
                    break
            if len(self._books) >= MOST_BOOKS:
                self._books.pop(next(iter(self._books)))
            self._books[book.book_id] = (state, words)
        return words


def words_of(texts: Iterable[str]) -> Counter[str]:
    return Counter(word.lower() for text in texts for word in BOOK_WORD.findall(text))


def nearest(word: str, words: Counter[str]) -> str | None:
    """The word of the book that was meant: fewest slips, letters exchanged before others put in
    their place, then the most frequent."""
    wrong = word.lower()
    slips = next(most for length, most in SLIPS if len(wrong) >= length)
    near = [
        (distance, sorted(other) != sorted(wrong), -count, other)
        for other, count in words.items()
        if other[0] == wrong[0]
        and abs(len(other) - len(wrong)) <= slips
        and (distance := OSA.distance(wrong, other, score_cutoff=slips)) <= slips
        and (count > 1 or is_everyday(other))
    ]
    return min(near)[-1] if near else None
