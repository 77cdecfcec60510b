"""One turn of a conversation while it happens: what was asked, found and decided so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from pydantic import ValidationError

from bythebook.agent.events import Event, Retrieved, StateChanged, ToolCalled
from bythebook.agent.prompts import NO_MORE_SEARCHES
from bythebook.agent.rounds import Rounds
from bythebook.agent.telling import Telling
from bythebook.errors import BookError, InputError, ModelError
from bythebook.library import Library
from bythebook.models.answer import ToolCall
from bythebook.models.book import BookInfo
from bythebook.models.confidence import ConfidenceMetrics
from bythebook.models.passage import Passage
from bythebook.models.search import SearchFilters, SearchQuery
from bythebook.models.state_machine import AgentState, StateMachine
from bythebook.models.tool import SearchArguments
from bythebook.models.tool_response import ToolResponse
from bythebook.retrieval.confidence import assess
from bythebook.retrieval.opening import asks_about_book
from bythebook.retrieval.reranker import READ, Reranked, rerank
from bythebook.retrieval.search import Found

# A question may need two or three looks; more is a model that is lost.
MAX_SEARCHES = 4
DOUBTFUL = 0.5
UNUSABLE = "The model gave arguments that can't be used."


@dataclass(frozen=True)
class Asked:
    """A question and how to look for its answer. `alone` is set when the question can be judged by
    its own words: it needs no conversation to be understood, and is in the book's language.
    `parts` are the questions in a message that asks several; `read_as` is the message as the reader
    is asked it: behind the question before it, where it leans on that."""

    question: str
    book: BookInfo
    filters: SearchFilters
    top_k: int
    threshold: float
    alone: bool
    query: str
    telling: Telling
    language: str | None = None
    parts: tuple[str, ...] = ()
    read_as: str = ""

    @property
    def searched_first(self) -> bool:
        """Whether its own words are what to search for, before any model is asked: nothing has to
        be understood from the conversation, and nothing translated."""
        return self.alone or bool(self.parts and self.language is None)


@dataclass
class TurnState:
    """What the retrieval tool and the answer share."""

    asked: Asked
    library: Library
    tool_name: str
    emit: Callable[[Event], None]
    rounds: Rounds
    machine: StateMachine = field(default_factory=StateMachine)
    passages: list[Passage] = field(default_factory=list)
    # What the reader says of what was found, by what was asked.
    judged: dict[str, Reranked] = field(default_factory=dict)
    calls: list[ToolCall] = field(default_factory=list)
    confidence: ConfidenceMetrics = field(default_factory=lambda: assess(()))
    problem: BookError | None = None
    # Whether a call of the model could not be used as it was.
    mended: bool = False
    tokens: int = 0
    # Why another writer has taken over.
    model_problem: ModelError | None = None
    # On the loop's clock.
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    _looked: list[tuple[SearchQuery, Found, Reranked | None]] = field(default_factory=list)

    def move(self, state: AgentState) -> None:
        """A second search of the turn is no new state (S0 has no way back)."""
        if self.machine.can_move(state):
            self.machine.move(state)
            self.emit(StateChanged(state))

    def anew(self, problem: ModelError) -> TurnState:
        """The same turn, tried again with another writer; what was searched for is known."""
        self.move("failed")
        self.move("processing")
        return TurnState(
            self.asked,
            self.library,
            self.tool_name,
            self.emit,
            self.rounds,
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
    def is_doubtful(self) -> bool:
        """Whether a reader is to be warned: the answer is as likely beside the point as not."""
        if not self.judged:
            return self.confidence.confidence_level == "low"
        return max(judged.confidence for judged in self.judged.values()) < DOUBTFUL

    async def search(self, arguments: str) -> str:
        """The tool itself: JSON in, S1's JSON out. It never raises; a failure that no other query
        can mend is kept in `problem` and ends the turn."""
        self.move("tool_call_needed")
        await self.rounds.next()
        try:
            given = SearchArguments.model_validate_json(arguments)
            self._query(given, given.query)
        except ValidationError as problem:
            self.mended = True
            first = problem.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "arguments"
            return self._failed(arguments, {}, f"{place}: {first['msg']}", UNUSABLE)
        told = self.asked.telling.arguments(given.model_dump(exclude_unset=True))
        self.emit(ToolCalled(self.tool_name, told))
        if len(self.calls) >= MAX_SEARCHES:
            return self._failed(given.query, told, NO_MORE_SEARCHES)
        try:
            found, confidence = await self._find(given)
        except BookError as problem:
            self.problem = problem
            return self._failed(given.query, told, problem.message)
        self.calls.append(
            ToolCall(
                name=self.tool_name,
                query=told["query"],
                arguments=told,
                results_count=len(found),
                average_similarity=confidence.average_similarity,
            )
        )
        if confidence.average_similarity >= self.confidence.average_similarity:
            self.confidence = confidence
        known = {passage.id for passage in self.passages}
        self.passages += [passage for passage in found if passage.id not in known]
        self.emit(Retrieved(told["query"], tuple(found), confidence))
        self.move("tool_executed")
        numbers = {passage.id: number for number, passage in enumerate(self.passages, 1)}
        return ToolResponse.of(found, given.query, numbers).to_json()

    def _failed(
        self, query: str, arguments: dict[str, Any], error: str, told: str | None = None
    ) -> str:
        """The model learns what was wrong with its own words, the reader only that it was."""
        shown = self.asked.telling.query(query)
        self.calls.append(ToolCall(self.tool_name, shown, arguments, 0, 0.0, error=told or error))
        return ToolResponse.failed(error, query).to_json()

    async def _find(self, given: SearchArguments) -> tuple[list[Passage], ConfidenceMetrics]:
        """Passages good enough to cite, and how sure the book can answer: the lesser of what the
        model's query and, where it stands alone, the question itself say."""
        found = await self._look_where(given)
        confidence = assess(found)
        question = self.asked.question
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
                found = _together(found, own_found)
        wanted = given.top_k if "top_k" in given.model_fields_set else self.asked.top_k
        return (found[:wanted] if confidence.should_answer else []), confidence

    async def _look_where(self, given: SearchArguments) -> list[Passage]:
        """Small models fill in whatever a tool offers. A filter, threshold or number of passages
        that leaves too little is dropped: the query is what was asked for."""
        if given.model_fields_set == {"query"}:
            return await self._look(given, given.query)
        try:
            found = await self._look(given, given.query)
        except InputError:
            found = []
        if assess(found).should_answer:
            return found
        self.mended = True
        return await self._look(SearchArguments(query=given.query), given.query)

    async def _look(self, given: SearchArguments, text: str) -> list[Passage]:
        query = self._query(given, text)
        known = next((look for look in self._looked if look[0] == query), None)
        if known is None:
            known = query, *await self._search_book(query)
            self._looked.append(known)
        _, found, judged = known
        if judged is not None:
            self.judged[query.text] = judged
        least = max(self.asked.threshold, given.similarity_threshold)
        return [passage for passage in found.passages if passage.score >= least]

    async def _search_book(self, query: SearchQuery) -> tuple[Found, Reranked | None]:
        """What search finds, judged by the reader."""
        await self.rounds.next()
        judged: Reranked | None = None
        if self.library.reader is None:
            found = await self.library.search(query)
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
            limit=given.top_k if "top_k" in given.model_fields_set else asked.top_k,
            **narrowed(asked.filters, given.filters).model_dump(),
        )


async def search_and_read(
    library: Library, book: BookInfo, query: SearchQuery, read_as: str = ""
) -> tuple[Found, Reranked]:
    """What search finds, and the same as the reader judges it, who looks at five passages however
    few are asked for, and at the book's first pages where the book itself is asked about."""
    assert library.reader is not None
    found = await library.search(query.model_copy(update={"limit": max(query.limit, READ)}))
    passages, most = found.passages, READ
    names = (book.title, book.book_id)
    if _is_unfiltered(query) and asks_about_book(found.query, found.heaviest, *names):
        first = await library.opening(query.book_id)
        known = {passage.id for passage in first}
        passages = (*first, *(one for one in passages if one.id not in known))
        most += len(first)
    text = read_as or found.query or query.text
    return found, await rerank(library.reader, text, passages, found.coverage, most)


def _is_unfiltered(query: SearchQuery) -> bool:
    """Whether the whole book may be looked at."""
    chosen = query.model_dump(include=set(SearchFilters.model_fields))
    return SearchFilters.model_validate(chosen) == SearchFilters()


def _together(found: Sequence[Passage], more: Sequence[Passage]) -> list[Passage]:
    """Two lists as one, the best of each first; what is in both counts as in the first."""
    pairs = zip_longest(found, more)
    both = {passage.id: passage for pair in pairs for passage in pair if passage is not None}
    first = {passage.id: passage for passage in found}
    scores = sorted((passage.score for passage in (both | first).values()), reverse=True)
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
