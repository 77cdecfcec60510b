"""Questions about the book itself, and typing errors set right by the book's own words."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable

from rapidfuzz.distance import OSA

from bythebook.index.qdrant_models import FieldCondition, Filter, MatchAny
from bythebook.index.store import VectorStore, all_points, book_filter, point_pages
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.retrieval.neighbours import passages_of
from bythebook.retrieval.query import is_everyday

# As somebody types a plain word; what has digits, underscores or capitals inside is a name.
PLAIN = re.compile(r"(?<![\w`./-])[A-Za-z][a-z]{3,}(?![\w`/]|[.-]\w)")
BOOK_WORD = re.compile(r"(?<![\w./-])[A-Za-z][a-z]{3,}(?![\w/])")
# Letters that may be wrong in a word of this length.
SLIPS = ((8, 2), (4, 1))
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
            of_book = book_filter(book.book_id)
            async for page in point_pages(self._store, of_book, with_payload=["text"]):
                given = [(record.payload or {}).get("text") for record in page]
                texts = [text for text in given if isinstance(text, str)]
                words.update(await asyncio.to_thread(lambda texts=texts: spelled_words(texts)))  # type: ignore[misc]
            if len(self._books) >= MOST_BOOKS:
                self._books.pop(next(iter(self._books)))
            self._books[book.book_id] = (state, words)
        return words


def spelled_words(texts: Iterable[str]) -> Counter[str]:
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


THIS_BOOK = re.compile(
    r"\b(?:this|the) (?:book|course|guide|manual|documentation|docs|tutorial|textbook|handbook)\b",
    re.IGNORECASE,
)
# "So what exactly is Hatch?", "What does Nikola do?"
WHAT_IS = re.compile(
    r"\bwhat(?:['’]s|\s++(?:[a-z]++\s++)?(?:is|are|does))\s++(?:an?\s++|the\s++)?"
    r"(?P<thing>[\w .+#-]{2,40}?)"
    r"\s*+(?:[?,!]|$|\b(?:and|for|used|about|do|exactly|actually|anyway)\b)",
    re.IGNORECASE,
)
WORD = re.compile(r"\w+")
# A word this light stands on nearly every page.
EVERYWHERE = 0.1
# File names of opening pages, the likeliest first.
NAMES = (
    "introduction", "intro", "index", "readme", "overview", "about", "welcome", "preface",
    "getting-started", "getting_started", "what-is", "1",
)  # fmt: skip
PAGES, PASSAGES = 2, 2


def asks_about_book(question: str, heaviest: float, *names: str) -> bool:
    """Whether the book as a whole is asked about; `heaviest` is the weight of the question's
    rarest word, `names` are its title and id."""
    if heaviest < EVERYWHERE or THIS_BOOK.search(question):
        return True
    known = {word for name in names for word in WORD.findall(name.lower())}
    asked = [WORD.findall(found["thing"].lower()) for found in WHAT_IS.finditer(question)]
    return any(words and known.issuperset(words) for words in asked)


def opening_pages(files: list[str]) -> list[str]:
    """The pages nearest to the top whose names say that they open the book."""

    def rank(file: str) -> tuple[int, int, str] | None:
        *folders, name = file.lower().split("/")
        stem = name.rpartition(".")[0]
        if stem not in NAMES:
            return None
        return len(folders), NAMES.index(stem), file

    return [file for *_, file in sorted(filter(None, map(rank, files)))][:PAGES]


async def opening(store: VectorStore, book_id: str, files: list[str]) -> list[Passage]:
    """The first passages of the pages that open the book."""
    pages = opening_pages(files)
    if not pages:
        return []
    on_page = FieldCondition(key="source_file", match=MatchAny(any=pages))
    selection = Filter(must=[*book_filter(book_id).must, on_page])
    passages = passages_of(await all_points(store, selection))
    first = [one for one in passages if one.metadata.chunk_index < PASSAGES]
    return sorted(
        first, key=lambda one: (pages.index(one.metadata.source_file), one.metadata.chunk_index)
    )
