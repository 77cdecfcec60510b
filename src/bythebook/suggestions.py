"""Questions to begin with: from headings all over a book, and only such as the book answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bythebook.index.qdrant_models import FieldCondition, Filter, MatchAny
from bythebook.index.store import all_points, book_filter
from bythebook.language.question_templates import (
    Dictionary,
    Wording,
    clean_heading,
    worded,
)
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchFilters, SearchQuery
from bythebook.reading.slugs import natural_key
from bythebook.retrieval.calibration import assess
from bythebook.retrieval.neighbours import passages_of
from bythebook.retrieval.reranker import is_secondary

MOST = 6
# Pages that are looked at, from all over the book: a large one takes no longer than a small one.
MOST_PAGES = 48
# Questions that are tried for each place in the list.
TRIES = 5
MOST_PLAIN_WORDS = 6
# What it means is known only to who reads the page.
POINTING = re.compile(
    r"\b(?:it|they|you|we|this|that|these|those|such|here|itself|themselves)\b", re.IGNORECASE
)
# "Something missing?" is no question about the book.
WHOLE = re.compile(
    r"(?:how|why|what|when|where|which|who|is|are|do|does|can|should)\b", re.IGNORECASE
)
ARTICLE = re.compile(r"(?:an?|the|your|my) ")
# In a version, a module or a file.
DOTTED = re.compile(r"\w\.\w")


@dataclass(frozen=True)
class Candidate:
    """A question for the section with this path of headings; of one heading it is the page. The
    less its rank, the better it reads."""

    question: str
    rank: int
    path: tuple[str, ...]
    page: str


async def suggest(library: Library, book: BookInfo) -> tuple[str, ...]:
    """Questions in reading order; the same for the same book."""
    candidates = candidates_of(await _passages(library, book), book.language)
    chosen: list[str] = []
    beginnings: Counter[str] = Counter()
    for stretch in _stretches(candidates, MOST):
        for candidate in _best_first(stretch, beginnings)[:TRIES]:
            question = candidate.question
            if question not in chosen and await _is_answered(library, book, candidate):
                chosen.append(question)
                beginnings[_beginning(question)] += 1
                break
    return tuple(chosen)


def _best_first(candidates: Sequence[Candidate], used: Counter[str]) -> list[Candidate]:
    """Those that read well, and not all in the same way."""
    return sorted(candidates, key=lambda one: one.rank + used[_beginning(one.question)])


def _beginning(question: str) -> str:
    return " ".join(question.split()[:2])


def candidates_of(passages: Sequence[Passage], language: str) -> list[Candidate]:
    """A question for each page and section that has one. A heading that stands on several pages
    tells nothing of what it is about."""
    paths: dict[tuple[str, ...], str] = {}
    for passage in passages:
        if is_secondary(passage, ""):
            continue
        whole = tuple(passage.metadata.heading_path)
        for depth in range(1, len(whole) + 1):
            paths.setdefault(whole[:depth], passage.metadata.source_file)
    seen = Counter(path[-1].casefold() for path in paths)
    words = Dictionary.of(passage.text for passage in passages)
    found: list[Candidate] = []
    for path, page in paths.items():
        if seen[path[-1].casefold()] > 1:
            continue
        if wording := _worded(path[-1], words, language):
            found.append(Candidate(*wording, path, page))
    return found


def _worded(heading: str, words: Dictionary, language: str) -> tuple[str, int] | None:
    """A question and its rank. In other languages than English a heading stays as it is."""
    if language.partition("-")[0].lower() != "en":
        is_short = 1 < len(heading.split()) <= MOST_PLAIN_WORDS
        return (heading, 0 if heading.endswith("?") else 1) if is_short else None
    is_cut = heading.endswith("?") and not WHOLE.match(heading)
    if is_cut or POINTING.search(heading):
        return None
    wording = worded(heading, words)
    if wording is None:
        return None
    if wording.thing:
        return _named(wording, clean_heading(heading))
    return wording.question, 3 if wording.stiff else 0


def _named(wording: Wording, heading: str) -> tuple[str, int] | None:
    """ "What is virtual environment?" lacks an article, "What are main differences?" too, and "What
    is conditional evaluation?" does not: the heading reads well either way. One word is asked about
    if it is a name, a version, module or file not at all."""
    if DOTTED.search(heading):
        return None
    article = ARTICLE.match(wording.thing)
    bare = wording.thing[article.end() :] if article else wording.thing
    if len(bare.split()) == 1:
        return (wording.question, 2) if bare[0].isupper() else None
    return (wording.question, 1) if article else (heading, 2)


async def _passages(library: Library, book: BookInfo) -> list[Passage]:
    """Those of some pages, in reading order."""
    pages = sorted(await library.known.files(book.book_id), key=natural_key)
    chosen = [pages[at * len(pages) // MOST_PAGES] for at in range(MOST_PAGES)]
    order = {page: number for number, page in enumerate(chosen if pages[MOST_PAGES:] else pages)}
    on_pages = FieldCondition(key="source_file", match=MatchAny(any=list(order)))
    in_book = book_filter(book.book_id).must
    records = await all_points(await library.store(), Filter(must=[*in_book, on_pages]))
    return sorted(
        passages_of(records),
        key=lambda one: (order[one.metadata.source_file], one.metadata.chunk_index),
    )


def _stretches(candidates: Sequence[Candidate], count: int) -> list[Sequence[Candidate]]:
    """As many parts of the book, with about as many candidates each."""
    ends = [at * len(candidates) // count for at in range(count + 1)]
    return [candidates[start:end] for start, end in pairwise(ends)]


async def _is_answered(library: Library, book: BookInfo, candidate: Candidate) -> bool:
    """Whether a reader who asks it gets an answer, and from the section that it was made of."""
    settings = library.settings
    query = SearchQuery(
        text=candidate.question,
        book_id=book.book_id,
        limit=settings.top_k,
        **SearchFilters().model_dump(),
    )
    found = (await library.search(query)).passages
    good = [passage for passage in found if passage.score >= settings.score_threshold]
    if not good or not assess(good).should_answer:
        return False
    best = good[0].metadata
    path = tuple(best.heading_path[: len(candidate.path)])
    return best.source_file == candidate.page and path == candidate.path
