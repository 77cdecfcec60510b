"""Finding passages: dense and BM25 in one round trip, fused, deduplicated, calibrated."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bythebook.embedding.embedder import Embedder
from bythebook.errors import ConfigurationError, InputError, StoreError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import (
    FieldCondition,
    Filter,
    HasIdCondition,
    IdfCorpusParams,
    MatchExcept,
    QuantizationSearchParams,
    QueryRequest,
    Record,
    SearchParams,
    SparseVector,
)
from bythebook.index.store import Reads, VectorStore
from bythebook.ingestion.known_books import KnownBooks
from bythebook.ingestion.points import book_filter
from bythebook.language.calm import calm
from bythebook.models.book import Background, BookInfo
from bythebook.models.passage import Passage
from bythebook.models.search import SearchQuery
from bythebook.retrieval.asking import (
    FURTHER,
    asked_terms,
    definitions_first,
    term_to_define,
)
from bythebook.retrieval.background import background_of, demanded, everyday_questions
from bythebook.retrieval.calibration import anchor_of, calibration_for
from bythebook.retrieval.context import passage_of_record
from bythebook.retrieval.coverage import LOOKED_AT, Coverage, Sight, weigh
from bythebook.retrieval.filters import make_filter
from bythebook.retrieval.fusion import Candidate, bm25_ceiling, fuse, inverse_frequency
from bythebook.retrieval.states import (
    SWITCHING_PAUSE,
    SWITCHING_RETRIES,
    mixes_states,
    newest_states,
    without_repeats,
)
from bythebook.retrieval.weights import WordWeights, weight_of
from bythebook.tracing.spans import span

# Candidates each half brings: enough that a passage good in both is never missed.
CANDIDATES = 50
# By vectors rounded to bytes, where an index has them: of twice as many, the vectors themselves
# choose what they would have chosen of all.
ROUNDED = SearchParams(
    exact=True, quantization=QuantizationSearchParams(rescore=True, oversampling=2.0)
)
# The term number of the empty word, which no text has: a query for it finds nothing.
NO_WORDS = [0]

Best = list[tuple[Candidate, Passage]]


@dataclass(frozen=True)
class Found:
    """Passages, best first; `total` counts what was found before the limit. `coverage` is the
    probability that the book answers the question, and `evidence` is what it was judged by."""

    passages: tuple[Passage, ...]
    total: int
    coverage: float = 0.0
    evidence: Coverage | None = None


@dataclass(frozen=True)
class Evidence:
    """What speaks for each candidate, the BM25 score that none can exceed, and the weights of the
    question's terms, from 0 to 1."""

    candidates: list[Candidate]
    ceiling: float
    weights: dict[int, float]


class Searcher:
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

    async def search(self, query: SearchQuery) -> Found:
        with span("search", book_id=query.book_id) as told:
            found = await self._search(query)
            told.note(passages=len(found.passages), candidates=found.total)
            return found

    async def _search(self, query: SearchQuery) -> Found:
        query = query.model_copy(update={"text": calm(query.text)})
        book = await self.known.get_recent(query.book_id)
        self._check_embedder(book)
        selection = await self._selection(query)
        with span("embed"):
            vector = await self.embedder.embed_query(query.text)
        calibration = calibration_for(self.embedder.name, self.home)
        term = term_to_define(query.text)
        wanted = max(query.limit, LOOKED_AT) + (FURTHER if term else 0)
        newest_only = False

        async def look(index: Reads) -> tuple[Evidence, int, Best | None]:
            with span("query"):
                evidence = await self.gather(index, book, selection, vector, query.text)
            with span("fuse", candidates=len(evidence.candidates)):
                ranked = fuse(evidence.candidates, evidence.ceiling, calibration)
                return evidence, len(ranked), await best_of(index, ranked, wanted, newest_only)

        for attempt in range(SWITCHING_RETRIES):
            newest_only = attempt == SWITCHING_RETRIES - 1
            evidence, total, best = await self.store.visit(look)
            if best is not None:
                break
            await asyncio.sleep(SWITCHING_PAUSE)
        if not best:
            await self._explain_nothing(query)
            return Found((), 0)
        weighed = _weighed(query.text, book, evidence, best)
        coverage = calibration.coverage(weighed.features, demanded(calibration, book.background))
        anchor = anchor_of(weighed.strengths)
        if term:
            best = definitions_first(term, best, [passage.text for _, passage in best])
        chosen = best[: query.limit]
        strengths = sorted((candidate.evidence for candidate, _ in chosen), reverse=True)
        passages = [
            replace(passage, score=score)
            for (_, passage), score in zip(
                chosen, calibration.scores(coverage, strengths, anchor), strict=True
            )
        ]
        return Found(tuple(passages), total, calibration.shown(coverage), weighed)

    async def background(self, book: BookInfo) -> Background:
        """What the book seems to say about everyday questions; one by one, so that a reader who
        asks meanwhile waits for one of them and not for all."""
        seen = [(await self.evidence(book, text)).features for text in everyday_questions()]
        return background_of(book.total_chunks, seen)

    async def evidence(self, book: BookInfo, text: str, without: Sequence[str] = ()) -> Coverage:
        """The evidence for a question in the whole book, or in the book without these pages."""
        self._check_embedder(book)
        selection = book_filter(book.book_id)
        if without:
            others = FieldCondition(key="source_file", match=MatchExcept(except_=list(without)))
            selection = Filter(must=[*(selection.must or ()), others])
        calibration = calibration_for(self.embedder.name, self.home)
        vector = await self.embedder.embed_query(text)

        async def look(index: Reads) -> Coverage:
            evidence = await self.gather(index, book, selection, vector, text)
            ranked = fuse(evidence.candidates, evidence.ceiling, calibration)
            best = await best_of(index, ranked, LOOKED_AT, newest_only=True)
            return _weighed(text, book, evidence, best or [])

        return await self.store.visit(look)

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
        pages = await self.known.pages_with_prefix(query.book_id, query.prefix)
        if not pages:
            raise InputError(
                f"No page of {query.book_id} begins with {query.prefix!r}.",
                action="Give the beginning of a page's path or address.",
            )
        return make_filter(query, pages)

    async def _explain_nothing(self, query: SearchQuery) -> None:
        """An empty result is a combination that no page has, unless something is wrong: a book
        that was just removed, a value that it does not know, or an index that was lost."""
        book = await self.known.get(query.book_id)
        in_book = book_filter(query.book_id)
        if book.total_chunks and not await self.store.count(in_book):
            raise StoreError(
                f"The index has lost the passages of {book.book_id}.",
                action=f"Run `bythebook ingest {book.source} --book {book.book_id} --mode full`.",
            )
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

    async def gather(
        self, index: Reads, book: BookInfo, selection: Filter, vector: array[float], text: str
    ) -> Evidence:
        """Both halves and the weight of each word, then the cosines of what only words found.

        Ids and scores only: bringing back text and vectors would cost more than finding them.
        """
        words = asked_terms(text, book.language)
        weights = self.weights.of(book)
        unweighed = [word for word in words if word not in weights]
        in_book = book_filter(book.book_id)
        dense, sparse, *single = await index.query_batch(
            [
                _dense(vector, selection),
                _sparse(words or NO_WORDS, selection, in_book),
                *(_best_of_word(word, in_book) for word in unweighed),
            ]
        )
        cosines = {hit.id: hit.score for hit in dense}
        by_words = [hit.id for hit in sparse if hit.id not in cosines]
        if by_words:
            (more,) = await index.query_batch(
                [_dense(vector, Filter(must=[HasIdCondition(has_id=by_words)]))]
            )
            cosines |= {hit.id: hit.score for hit in more}
        bm25 = {hit.id: hit.score for hit in sparse}
        # What the sparse half did not bring scores between nothing and the last it brought.
        unknown = min(bm25.values()) / 2 if len(sparse) == CANDIDATES else 0.0
        for word, hits in zip(unweighed, single, strict=True):
            weights[word] = weight_of(word, hits, book.total_chunks)
        candidates = [
            Candidate(id, min(max(cosine, -1.0), 1.0), bm25.get(id, unknown))
            for id, cosine in cosines.items()
        ]
        own = {word: weights[word] for word in words}
        greatest = inverse_frequency(book.total_chunks, 0)
        return Evidence(
            candidates,
            bm25_ceiling(list(own.values())),
            {word: min(weight / greatest, 1.0) for word, weight in own.items()},
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
        records = await index.retrieve(list(chosen), with_vectors=[DENSE])
        found += [_passage(chosen[record.id], record) for record in records]
        if newest_only:
            found = newest_states(found)
        elif len(records) < len(chosen) or mixes_states(found):
            return None
        found = without_repeats(found)
        if len(found) >= limit:
            break
    return [(fetched[passage.id], passage) for passage in found[:limit]]


def _weighed(
    text: str, book: BookInfo, evidence: Evidence, best: Sequence[tuple[Candidate, Passage]]
) -> Coverage:
    sights = [Sight(c.cosine, c.evidence, p.chunk.embedded_text) for c, p in best[:LOOKED_AT]]
    return weigh(text, book.language, evidence.weights, sights)


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


def _passage(candidate: Candidate, record: Record) -> Passage:
    vector = (record.vector or {})[DENSE]
    assert isinstance(vector, Sequence)
    return replace(
        passage_of_record(record),
        cosine=candidate.cosine,
        bm25=candidate.bm25,
        vector=tuple(vector),
    )
