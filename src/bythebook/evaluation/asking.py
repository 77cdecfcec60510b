"""Puts questions to a book as a reader would: through the assistant, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bythebook.agent.assistant import Assistant
from bythebook.errors import BookError, InputError
from bythebook.evaluation.outcome import Outcome, outcome_of
from bythebook.evaluation.question import Question, headings_of, same_heading
from bythebook.grounding.verifier import Verifier
from bythebook.ingestion.points import all_points, book_filter
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.models.conversation import Conversation
from bythebook.models.passage import Passage
from bythebook.models.search import MAX_RESULTS, SearchFilters, SearchQuery
from bythebook.retrieval.context import passage_of_record

OnQuestion = Callable[[int, int], None]


async def ask_all(
    assistant: Assistant,
    book: BookInfo,
    questions: Sequence[Question],
    on_question: OnQuestion = lambda _done, _all: None,
) -> list[Outcome]:
    """What became of each. A question that fails counts as neither answered nor refused; if all
    fail there is nothing to measure, and the last failure is raised."""
    outcomes: list[Outcome] = []
    failure: BookError | None = None
    if questions:  # what is loaded once is no part of any answer's time
        await assistant.library.search(_search(questions[0].text, book))
    for question in questions:
        try:
            outcomes.append(await _ask(assistant, book, question))
        except BookError as problem:
            failure = problem
            outcomes.append(Outcome(question, "failed", problem=problem.message))
        on_question(len(outcomes), len(questions))
    if failure and all(outcome.ending == "failed" for outcome in outcomes):
        raise failure
    return outcomes


async def _ask(assistant: Assistant, book: BookInfo, question: Question) -> Outcome:
    conversation = Conversation(turns=list(question.history))
    started = time.perf_counter()
    answer = await assistant.ask(question.text, conversation, book_id=book.book_id)
    milliseconds = 1000 * (time.perf_counter() - started)
    searches = (call.query for call in answer.tool_calls if call.error is None)
    query = next(searches, question.text)
    found = await assistant.library.search(_search(query, book))
    verifier = Verifier(assistant.library.reader, book.language, question.text)
    return await outcome_of(
        question, answer, query, found.passages, found.coverage, milliseconds, verifier
    )


def _search(text: str, book: BookInfo) -> SearchQuery:
    """As the assistant searches, but for as many places as there may be."""
    return SearchQuery(
        text=text, book_id=book.book_id, limit=MAX_RESULTS, **SearchFilters().model_dump()
    )


async def all_passages(library: Library, book_id: str) -> list[Passage]:
    """Every passage of a book, page by page in reading order."""
    records = await all_points(await library.store(), book_filter(book_id))
    passages = [passage_of_record(record) for record in records]
    return sorted(
        passages, key=lambda one: (one.metadata.source_file, one.metadata.chunk_index, one.id)
    )


async def check_places(library: Library, book_id: str, questions: Sequence[Question]) -> None:
    """Whether the book has every place that the questions name: a slip of the pen would otherwise
    look like a bad answer."""
    headings: dict[str, set[str]] = {}
    for passage in await all_passages(library, book_id):
        headings.setdefault(passage.metadata.source_file, set()).update(headings_of(passage))
    for question in questions:
        for gold in question.gold:
            if gold.page not in headings:
                raise InputError(
                    f"Line {question.id} names the page {gold.page}, which {book_id} does not "
                    "have.",
                    action="Write its path as `bythebook search --json` shows it in source_file.",
                )
            if gold.section and same_heading(gold.section) not in headings[gold.page]:
                raise InputError(
                    f"Line {question.id} names the section {gold.section!r}, which {gold.page} "
                    "does not have.",
                    action="Write the heading as it stands in the page, or leave it out.",
                )
