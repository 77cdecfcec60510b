"""The pages that open a book: where it says what it is about, and for whom.

"What is Julia?", asked of Julia's manual, has no word that tells one passage from another.
"""

from __future__ import annotations

import re

from bythebook.index.models import FieldCondition, Filter, MatchAny
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import all_points, book_filter
from bythebook.models.passage import Passage
from bythebook.retrieval.context import passage_of_record

THIS_BOOK = re.compile(
    r"\b(?:this|the) (?:book|course|guide|manual|documentation|docs|tutorial|textbook|handbook)\b",
    re.IGNORECASE,
)
# "So what exactly is Hatch?", "What does Nikola do?"
WHAT_IS = re.compile(
    r"\bwhat(?:['’]s|\s+(?:[a-z]+\s+)?(?:is|are|does))\s+(?:an?\s+|the\s+)?"
    r"(?P<thing>[\w .+#-]{2,40}?)"
    r"\s*(?:[?,!]|$|\b(?:and|for|used|about|do|exactly|actually|anyway)\b)",
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
    selection = Filter(must=[*(book_filter(book_id).must or ()), on_page])
    passages = [passage_of_record(record) for record in await all_points(store, selection)]
    first = [one for one in passages if one.metadata.chunk_index < PASSAGES]
    return sorted(
        first, key=lambda one: (pages.index(one.metadata.source_file), one.metadata.chunk_index)
    )
