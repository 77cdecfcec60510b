"""One turn of a conversation while it happens: what was asked, found and decided so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest
from typing import Any

from pydantic import ValidationError

from bythebook.agent.events import (
    AgentState,
    Event,
    Retrieved,
    StateChanged,
    StateMachine,
    ToolCalled,
)
from bythebook.agent.prompts import NO_MORE_SEARCHES
from bythebook.agent.sanitize import QueryRedaction
from bythebook.agent.scheduling import FairTurns
from bythebook.errors import BookError, InputError, ModelError
from bythebook.library import Library
from bythebook.models.answer import MAX_NEAREST
from bythebook.models.chunk import BookInfo, now
from bythebook.models.passage import ConfidenceMetrics, Passage, label_of
from bythebook.models.retrieval_tool import SearchArguments, ToolCall, ToolResponse
from bythebook.models.search_messages import SearchFilters, SearchQuery
from bythebook.retrieval.calibration import assess
from bythebook.retrieval.opening import asks_about_book
from bythebook.retrieval.reranker import CONSIDERED, RERANKED, Reranked, rerank
from bythebook.retrieval.retriever import Found

# A question may need two or three looks; more is a model that is lost.
MAX_SEARCHES = 4
DOUBTFUL = 0.5
# The page that the reader has open comes first where the book is surer by no more than this.
AS_WELL = 0.1
UNUSABLE = "The model's arguments were invalid."

Finding = tuple[list[Passage], ConfidenceMetrics, int, SearchArguments]


@dataclass(frozen=True)
class TurnQuestion:
    """A question and how to look for its answer. `alone` is set when the question can be judged by
    its own words: it needs no conversation to be understood, and is in the book's language.
    `parts` are the questions in a message that asks several; `read_as` is the message as the reader
    is asked it: behind the question before it, where it leans on that, or behind what the reader
    `selected`. `page` is the page to look in first."""

    question: str
    book: BookInfo
    filters: SearchFilters
    top_k: int
    threshold: float
    alone: bool
    query: str
    redaction: QueryRedaction
    language: str | None = None
    parts: tuple[str, ...] = ()
    read_as: str = ""
    selected: str = ""
    page: str | None = None

    @property
    def searched_first(self) -> bool:
        """Whether its own words are what to search for, before any model is asked: nothing has to
        be understood from the conversation, and nothing translated."""
        return self.alone or bool(self.parts and self.language is None)


@dataclass
class TurnState:
    """What the retrieval tool and the answer share."""

    asked: TurnQuestion
    library: Library
    tool_name: str
    emit: Callable[[Event], None]
    fair_turns: FairTurns
    machine: StateMachine = field(default_factory=StateMachine)
    passages: list[Passage] = field(default_factory=list)
    # What the reader says of what was found, by what was asked.
    judged: dict[str, Reranked] = field(default_factory=dict)
    calls: list[ToolCall] = field(default_factory=list)
    confidence: ConfidenceMetrics = field(default_factory=lambda: assess(()))
    problem: BookError | None = None
    # Whether a call of the model could not be used as it was.
    had_to_repair_call: bool = False
    tokens: int = 0
    # Whether the page that the reader has open answers, so that nothing else was looked at.
    on_page: bool = False
    # Why another writer has taken over.
    model_problem: ModelError | None = None
    # On the loop's clock.
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    _looked: list[tuple[SearchQuery, Found, Reranked | None]] = field(default_factory=list)
    # Passages that the filters of the last look left.
    _total: int = 0

    def move(self, state: AgentState) -> None:
        self.machine.move(state)
        self.emit(StateChanged(state))

    def retry_with_other_writer(self, problem: ModelError) -> TurnState:
        """The same turn, tried again with another writer; what was searched for is known."""
        self.move("failed")
        self.move("processing")
        return TurnState(
            self.asked,
            self.library,
            self.tool_name,
            self.emit,
            self.fair_turns,
            self.machine,
            tokens=self.tokens,
            model_problem=problem,
            _looked=self._looked,
        )

    @property
    def searched(self) -> bool:
        return any(call.error is None for call in self.calls)

    @property
    def may_write(self) -> bool:
        """Whether enough was found for an answer."""
        return self.searched and self.confidence.should_answer and self.problem is None

    @property
    def nearest(self) -> tuple[Passage, ...]:
        """What the last search found, best first, one passage of each section."""
        places: dict[str, Passage] = {}
        for passage in self._looked[-1][1].passages if self._looked else ():
            places.setdefault(label_of(passage.metadata), passage)
        return tuple(places.values())[:MAX_NEAREST]

    @property
    def filters(self) -> SearchFilters:
        """Where to look now."""
        if not self.on_page:
            return self.asked.filters
        return self.asked.filters.model_copy(update={"parent_doc_id": self.asked.page})

    @property
    def is_doubtful(self) -> bool:
        """Whether a reader is to be warned: the answer is as likely beside the point as not."""
        if not self.judged:
            return self.confidence.confidence_level == "low"
        return max(judged.confidence for judged in self.judged.values()) < DOUBTFUL

    async def search(self, arguments: str) -> str:
        """The tool itself: JSON in, JSON out. It never raises; a failure that no other query
        can mend is kept in `problem` and ends the turn."""
        if self.machine.state == "processing":  # a second search of the turn is no new state
            self.move("tool_call_needed")
        await self.fair_turns.next()
        try:
            given = SearchArguments.model_validate_json(arguments)
            self._query(given, given.query)
        except ValidationError as problem:
            self.had_to_repair_call = True
            first = problem.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "arguments"
            return self._failed(arguments, {}, f"{place}: {first['msg']}", UNUSABLE)
        told = self.asked.redaction.arguments(given.model_dump(exclude_unset=True))
        self.emit(ToolCalled(self.tool_name, told))
        if sum(call.error is None for call in self.calls) >= MAX_SEARCHES:
            return self._failed(given.query, told, NO_MORE_SEARCHES)
        began = time.perf_counter()
        try:
            found, confidence, total, held = await self._find(given)
        except BookError as problem:
            self.problem = problem
            return self._failed(given.query, told, problem.message)
        took = (time.perf_counter() - began) * 1000
        self.calls.append(
            ToolCall(
                tool_name=self.tool_name,
                query=told["query"],
                arguments=self._arguments_shown(held),
                results_count=len(found),
                avg_similarity=assess(found).average_similarity,
                timestamp=now(),
                total_chunks_found=total,
                retrieval_time_ms=round(took, 3),
            )
        )
        if confidence.average_similarity >= self.confidence.average_similarity:
            self.confidence = confidence
        known = {passage.id for passage in self.passages}
        self.passages += [passage for passage in found if passage.id not in known]
        self.emit(Retrieved(told["query"], tuple(found), confidence, total, took))
        if self.machine.state == "tool_call_needed":
            self.move("tool_executed")
        numbers = {passage.id: number for number, passage in enumerate(self.passages, 1)}
        return ToolResponse.of(found, given.query, numbers, total).to_json()

    def _failed(
        self, query: str, arguments: dict[str, Any], error: str, told: str | None = None
    ) -> str:
        """The model learns what was wrong with its own words, the reader only that it was."""
        shown = self.asked.redaction.query(query)
        self.calls.append(
            ToolCall(
                tool_name=self.tool_name,
                query=shown,
                arguments=arguments,
                results_count=0,
                avg_similarity=0,
                timestamp=now(),
                error=told or error,
            )
        )
        return ToolResponse.failed(error, query).to_json()

    def _arguments_shown(self, held: SearchArguments) -> dict[str, Any]:
        """What a search went by. The reader's own filters are told in full."""
        arguments = {
            "query": held.query,
            "top_k": self._wanted(held),
            "similarity_threshold": self._least(held),
        }
        filters = narrowed(self.filters, held.filters).model_dump(exclude_defaults=True)
        if filters:
            arguments["filters"] = filters
        told = self.asked.redaction.arguments(arguments)
        if filters:
            told["filters"] |= self.filters.model_dump(exclude_defaults=True)
        return told

    async def _find(self, given: SearchArguments) -> Finding:
        """In the page that the reader has open, if that answers about as well as the whole book. A
        second search of a turn is for what the page lacks."""
        self.on_page = self.asked.page is not None and not self.searched
        if not self.on_page:
            return await self._find_here(given)
        there, judged = await self._find_here(given), self.judged
        self.on_page, self.judged = False, {}
        anywhere = await self._find_here(given)
        if (
            there[1].should_answer
            and _sure(there, judged) >= _sure(anywhere, self.judged) - AS_WELL
        ):
            self.on_page, self.judged = True, judged
            return there
        return anywhere

    async def _find_here(self, given: SearchArguments) -> Finding:
        """Passages good enough to cite, how sure the book can answer (the lesser of what the
        model's query and, where it stands alone, the question itself say), how many were
        searched, and the arguments that held."""
        found, held = await self._look_where(given)
        total = self._total
        confidence = assess(found)
        question = self.asked.query
        if self.asked.alone and given.query.casefold() != question.casefold():
            own = assess(await self._look(SearchArguments(query=question), question))
            if own.average_similarity < confidence.average_similarity:
                confidence = own
        for part in self.asked.parts:  # what goes before a question may be beside the point
            own_found = await self._look(SearchArguments(query=part), part)
            own = assess(own_found)
            if own.should_answer and not confidence.should_answer:
                found, confidence = own_found, own
            elif own.should_answer:
                found = _interleave(found, own_found)
        cited = found[: self._wanted(held)] if confidence.should_answer else []
        return cited, confidence, total, held

    async def _look_where(self, given: SearchArguments) -> tuple[list[Passage], SearchArguments]:
        """Small models fill in whatever a tool offers. A filter, threshold or number of passages
        that leaves too little is dropped, with all the others: the query is what was asked for."""
        bare = SearchArguments(query=given.query)
        if given.model_fields_set == {"query"}:
            return await self._look(bare, bare.query), bare
        try:
            found = await self._look(given, given.query)
        except InputError:
            found = []
        if assess(found[: given.top_k]).should_answer:
            return found, given
        self.had_to_repair_call = True
        return await self._look(bare, bare.query), bare

    async def _look(self, given: SearchArguments, text: str) -> list[Passage]:
        query = self._query(given, text)
        known = next((look for look in self._looked if look[0] == query), None)
        if known is None:
            known = query, *await self._search_book(query)
            self._looked.append(known)
        _, found, judged = known
        self._total = found.total
        if judged is not None:
            self.judged[query.text] = judged
        least = self._least(given)
        return [passage for passage in found.passages if passage.score >= least]

    def _wanted(self, given: SearchArguments) -> int:
        return self.asked.top_k if given.top_k is None else given.top_k

    def _least(self, given: SearchArguments) -> float:
        """A model may ask for better passages than the reader does, never for worse."""
        return max(self.asked.threshold, given.similarity_threshold or 0.0)

    async def _search_book(self, query: SearchQuery) -> tuple[Found, Reranked | None]:
        """What search finds, judged by the reader."""
        await self.fair_turns.next()
        judged: Reranked | None = None
        if self.library.reader is None:
            found = await self.library.search(_judged_by(query))
        else:
            leans = bool(self.asked.read_as) and query.text == self.asked.query
            read_as = self.asked.read_as if leans else ""
            found, judged = await search_and_read(self.library, self.asked.book, query, read_as)
            found = replace(found, passages=judged.passages, coverage=judged.confidence)
        passages = tuple(await self.library.with_vectors(found.passages))
        return replace(found, passages=passages), judged

    def _query(self, given: SearchArguments, text: str) -> SearchQuery:
        asked = self.asked
        return SearchQuery(
            text=text,
            book_id=asked.book.book_id,
            limit=self._wanted(given),
            **narrowed(self.filters, given.filters).model_dump(),
        )


def _sure(found: Finding, judged: dict[str, Reranked]) -> float:
    if not judged:
        return found[1].average_similarity
    return max(one.confidence for one in judged.values())


def _judged_by(query: SearchQuery) -> SearchQuery:
    """Whether the book answers is judged by five passages, however few are wanted."""
    return query.model_copy(update={"limit": max(query.limit, RERANKED)})


async def search_and_read(
    library: Library, book: BookInfo, query: SearchQuery, read_as: str = ""
) -> tuple[Found, Reranked]:
    """What search finds, and the same as the reader judges it, who looks at five passages however
    few are asked for, and at the book's first pages where the book itself is asked about."""
    assert library.reader is not None
    more = query.model_copy(update={"limit": max(query.limit, CONSIDERED)})
    found = await library.search(more)
    passages, strengths, most = found.passages, found.strengths, RERANKED
    names = (book.title, book.book_id)
    if query.filters == SearchFilters() and asks_about_book(found.query, found.heaviest, *names):
        first = await library.opening(query.book_id)
        known = {passage.id for passage in first}
        rest = [at for at, passage in enumerate(passages) if passage.id not in known]
        strengths = (
            *[max(strengths, default=0.0)] * len(first),
            *(strengths[at] for at in rest),
        )
        passages = (*first, *(passages[at] for at in rest))
        most += len(first)
    text = read_as or found.query or query.text
    judged = await rerank(library.reader, text, passages, strengths, found.coverage, most)
    kept = judged.passages[: max(query.limit, most)]
    return found, replace(judged, passages=kept)


def _interleave(found: Sequence[Passage], more: Sequence[Passage]) -> list[Passage]:
    """Two lists as one, the best of each first; what is in both counts as in the first. None has
    more than the one before it."""
    pairs = zip_longest(found, more)
    both = {passage.id: passage for pair in pairs for passage in pair if passage is not None}
    first = {passage.id: passage for passage in found}
    scores = accumulate((passage.score for passage in (both | first).values()), min)
    return [
        replace(passage, score=score)
        for passage, score in zip((both | first).values(), scores, strict=True)
    ]


def narrowed(own: SearchFilters, model: SearchFilters) -> SearchFilters:
    """The reader's filters, and the model's where the reader set none: a model may look at less
    than it was allowed to, never at more."""
    tier = min(own.hardware_tier_filter, model.hardware_tier_filter)
    fields = {
        name: value if value is not None else getattr(model, name)
        for name, value in own.model_dump().items()
    }
    return SearchFilters.model_validate({**fields, "hardware_tier_filter": tier})
