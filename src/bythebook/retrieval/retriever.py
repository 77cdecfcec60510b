"""Finding passages: words are searched while the question is embedded, then vectors; the results
are fused, deduplicated and calibrated."""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bythebook.embedding.embedder import Embedder
from bythebook.errors import ConfigurationError, InputError, StoreError
from bythebook.index.qdrant_models import FieldCondition, Filter, MatchExcept
from bythebook.index.store import Reads, VectorStore, book_filter
from bythebook.ingestion.catalog import KnownBooks
from bythebook.language.detection import normalize
from bythebook.models.chunk import Background, BookInfo
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.answerability import (
    LOOKED_AT,
    Answerability,
    RankedPassage,
    answerability_of,
)
from bythebook.retrieval.calibration import (
    background_of,
    calibration_for,
    everyday_questions,
    raised_threshold,
)
from bythebook.retrieval.filters import (
    SWITCHING_PAUSE,
    SWITCHING_RETRIES,
    PassageCounts,
    make_filter,
    mixes_states,
    newest_states,
    without_repeats,
)
from bythebook.retrieval.hybrid import (
    Candidate,
    LexicalHits,
    WordWeights,
    dense_search,
    fuse,
    lexical_search,
)
from bythebook.retrieval.neighbours import passages_of
from bythebook.retrieval.opening import Spelling
from bythebook.retrieval.proximity import pairs_in, proximity_of
from bythebook.retrieval.query import definitions_first, term_to_define, weight_as_written
from bythebook.tracing import span

# Passages that are read before the best are shown: what tells most, the words of the question
# together or a definition, may stand in one that would nearly have been shown.
CONSIDERED = 8
# Seconds for the embedder to begin: beside the embedded engine no other thread gets a turn.
HEAD_START = 0.001

Best = list[tuple[Candidate, Passage]]


@dataclass(frozen=True)
class Found:
    """Passages, best first; `total` counts the passages that the filters leave to be searched.
    `coverage` is the probability that the book answers the question, and `evidence` is what it was
    judged by; `strengths` are what speaks for each passage."""

    passages: tuple[Passage, ...]
    total: int
    strengths: tuple[float, ...] = ()
    coverage: float = 0.0
    evidence: Answerability | None = None
    # What was looked for: the question without its typing errors, and its rarest word's weight.
    query: str = ""
    heaviest: float = 1.0
    candidates: int = 0
    milliseconds: float = 0.0


class Retriever:
    """Searches one book at a time."""

    def __init__(
        self, store: VectorStore, embedder: Embedder, known: KnownBooks, home: Path | None = None
    ) -> None:
        """`home` is the folder that may hold the person's own calibrations."""
        self.store = store
        self.embedder = embedder
        self.known = known
        self.home = home
        self.weights = WordWeights()
        self.counts = PassageCounts(store)
        self.spelling = Spelling(store)

    async def search(self, query: SearchQuery) -> Found:
        with span("search", book_id=query.book_id) as told:
            began = time.perf_counter()
            found = await self._search(query)
            told.note(passages=len(found.passages), candidates=found.candidates)
            return replace(found, milliseconds=(time.perf_counter() - began) * 1000)

    async def _search(self, query: SearchQuery) -> Found:
        query = query.model_copy(update={"text": normalize(query.text)})
        book = await self.known.get_recent(query.book_id)
        self._check_embedder(book)
        selection = await self._selection(query)

        def search_words(index: Reads) -> Coroutine[Any, Any, LexicalHits]:
            return lexical_search(index, book, self.weights, selection, query.text)

        def is_unknown(word: str) -> bool:
            return weight_as_written(word, book.language, words.weights) >= 1.0

        with span("embed"):
            vector, words = await self._embed_and(search_words, query.text)
            if book.language.startswith("en"):
                right = await self.spelling.corrected(query.text, book, is_unknown)
                if right != query.text:
                    query = query.model_copy(update={"text": right})
                    vector, words = await self._embed_and(search_words, query.text)
        calibration = calibration_for(self.embedder.name, self.home)
        wanted = max(query.limit, CONSIDERED)
        newest_only = False

        async def rank(index: Reads) -> tuple[int, Best | None]:
            with span("query"):
                candidates = await dense_search(index, selection, vector, words)
            with span("fuse", candidates=len(candidates)):
                ranked = fuse(candidates, words.ceiling, calibration)
                return len(ranked), await best_of(index, ranked, wanted, newest_only)

        for attempt in range(SWITCHING_RETRIES):
            newest_only = attempt == SWITCHING_RETRIES - 1
            candidates, best = await self.store.visit(rank)
            if best is not None:
                break
            await asyncio.sleep(SWITCHING_PAUSE)
            words = await self.store.visit(search_words)
        if not best:
            await self._raise_if_wrongly_empty(query)
            return Found((), 0)
        answerability = _answerability(query.text, book, words, best)
        coverage = calibration.coverage(
            answerability.features, raised_threshold(calibration, book.background)
        )
        read = _by_proximity_and_definition(query.text, book, words, best[:CONSIDERED])
        read += [(candidate.evidence, passage) for candidate, passage in best[CONSIDERED:]]
        scores = calibration.scores(coverage, [strength for strength, _ in read])
        heaviest = max(words.weights.values(), default=1.0)
        passages = [
            replace(passage, score=score) for (_, passage), score in zip(read, scores, strict=True)
        ][: query.limit]
        return Found(
            tuple(passages),
            await self.counts.of(book, query.filters, selection),
            tuple(strength for strength, _ in read[: query.limit]),
            calibration.shown(coverage),
            answerability,
            query.text,
            heaviest,
            candidates,
        )

    async def _embed_and(
        self, search_words: Callable[[Reads], Coroutine[Any, Any, LexicalHits]], text: str
    ) -> tuple[array[float], LexicalHits]:
        """The question's vector, and what is looked up while it is being made."""
        embedding = asyncio.ensure_future(self.embedder.embed_query(text))
        try:
            await asyncio.wait({embedding}, timeout=HEAD_START)
            return await asyncio.gather(embedding, self.store.visit(search_words))
        finally:
            embedding.cancel()

    async def background(self, book: BookInfo) -> Background:
        """What the book seems to say about everyday questions; one by one, so that a reader who
        asks meanwhile waits for one of them and not for all."""
        seen = [(await self.evidence(book, text)).features for text in everyday_questions()]
        return background_of(book.total_chunks, seen)

    async def evidence(
        self, book: BookInfo, text: str, without: Sequence[str] = ()
    ) -> Answerability:
        """The evidence for a question in the whole book, or in the book without these pages."""
        self._check_embedder(book)
        selection = book_filter(book.book_id)
        if without:
            others = FieldCondition(key="source_file", match=MatchExcept(except_=list(without)))
            selection = Filter(must=[*selection.must, others])
        calibration = calibration_for(self.embedder.name, self.home)
        vector = await self.embedder.embed_query(text)

        async def look(index: Reads) -> Answerability:
            words = await lexical_search(index, book, self.weights, selection, text)
            candidates = await dense_search(index, selection, vector, words)
            ranked = fuse(candidates, words.ceiling, calibration)
            best = await best_of(index, ranked, LOOKED_AT, newest_only=True)
            return _answerability(text, book, words, best or [])

        return await self.store.visit(look)

    def _check_embedder(self, book: BookInfo) -> None:
        if book.embedding_model != self.embedder.name:
            raise ConfigurationError(
                f"{book.book_id} was indexed with {book.embedding_model}, and the embedder is now "
                f"{self.embedder.name}.",
                action=f"Set BYTHEBOOK_EMBEDDER back, or run `bythebook ingest "
                f"--book {book.book_id} --mode recreate`.",
            )

    async def _selection(self, query: SearchQuery) -> Filter:
        if query.prefix is None:
            return make_filter(query)
        pages = await self.known.pages_with_prefix(query.book_id, query.prefix)
        if not pages:
            raise InputError(
                f"No page of {query.book_id} begins with {query.prefix!r}.",
                action="Give the beginning of a page's path or address.",
                details={"field": "prefix"},
            )
        return make_filter(query, pages)

    async def _raise_if_wrongly_empty(self, query: SearchQuery) -> None:
        """An empty result is a combination that no page has, unless something is wrong: a book
        that was just removed, a value that it does not know, or an index that was lost."""
        book = await self.known.get(query.book_id)
        in_book = book_filter(query.book_id)
        if book.total_chunks and not await self.store.count(in_book):
            raise StoreError(
                f"The index has no passages left of {book.book_id}.",
                action=f"Run `bythebook ingest --book {book.book_id} --mode full`.",
            )
        if query.module_filter is not None:
            modules = await self.store.facet("module", in_book)
            if query.module_filter not in modules:
                names = ", ".join(sorted(str(module) for module in modules))
                raise InputError(
                    f"{query.book_id} has no module {query.module_filter!r}.",
                    action=f"Choose one of: {names}.",
                    details={"field": "module_filter"},
                )
        if query.parent_doc_id is not None:
            lessons = await self.store.facet("parent_doc_id", in_book, limit=1_000_000)
            if query.parent_doc_id not in lessons:
                raise InputError(
                    f"{query.book_id} has no lesson {query.parent_doc_id}.",
                    action="Take the parent_doc_id of a search result.",
                    details={"field": "parent_doc_id"},
                )


async def best_of(
    index: Reads, ranked: Sequence[Candidate], limit: int, newest_only: bool
) -> Best | None:
    """The first passages with different texts; None if a page is being switched just now,
    unless only its newest state is wanted."""
    found: list[Passage] = []
    fetched: dict[str, Candidate] = {}
    for start in range(0, len(ranked), limit):
        chosen = {candidate.id: candidate for candidate in ranked[start : start + limit]}
        fetched |= chosen
        records = await index.retrieve(list(chosen))
        found += [_with_evidence(chosen[passage.id], passage) for passage in passages_of(records)]
        if newest_only:
            found = newest_states(found)
        elif len(records) < len(chosen) or mixes_states(found):
            return None
        found = without_repeats(found)
        if len(found) >= limit:
            break
    return [(fetched[passage.id], passage) for passage in found[:limit]]


def _answerability(
    text: str, book: BookInfo, words: LexicalHits, best: Sequence[tuple[Candidate, Passage]]
) -> Answerability:
    looked_at = [
        RankedPassage(c.cosine, c.evidence, p.chunk.embedded_text) for c, p in best[:LOOKED_AT]
    ]
    return answerability_of(text, book.language, words.weights, looked_at)


def _by_proximity_and_definition(
    question: str, book: BookInfo, words: LexicalHits, best: Best
) -> list[tuple[float, Passage]]:
    """What speaks for each, in the order of it: words of the question that stand together count
    too, and what defines the term that is asked for comes before all else."""
    pairs = pairs_in(question, book.language, words.weights)

    read = [(c.evidence + proximity_of(pairs, p.chunk.embedded_text), p) for c, p in best]
    read.sort(key=lambda one: one[0], reverse=True)
    term = term_to_define(question)
    return definitions_first(term, read, [passage.text for _, passage in read]) if term else read


def _with_evidence(candidate: Candidate, passage: Passage) -> Passage:
    return replace(passage, cosine=candidate.cosine, bm25=candidate.bm25)
