"""The tools: what each takes, what it needs to be allowed, and what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bythebook.mcp.desk import Desk, find_book
from bythebook.mcp.lessons import lesson_text
from bythebook.mcp.results import (
    AskResult,
    ContextResult,
    FoundPassage,
    LessonResult,
    Result,
    SearchResult,
)
from bythebook.models.chat import Question
from bythebook.models.chunk import Uuid
from bythebook.models.key import Scope
from bythebook.models.search import MAX_RESULTS, MIN_QUERY, SearchFilters, SearchQuery
from bythebook.retrieval.context import MAX_NEIGHBOURS

BOOK_ID = Field(
    default=None, min_length=1, max_length=100, description="Not needed if there is one book."
)


class SearchInput(SearchFilters):
    # Models now and then write a number as text.
    model_config = ConfigDict(strict=False)

    query: str = Field(min_length=MIN_QUERY, max_length=2000, description="What to look for.")
    book_id: str | None = BOOK_ID
    limit: int = Field(default=5, ge=1, le=MAX_RESULTS)

    @field_validator("query")
    @classmethod
    def _has_words(cls, query: str) -> str:
        if not any(character.isalnum() for character in query):
            raise ValueError("has no words")
        return query


class ContextInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    passage_id: Uuid = Field(description="From search_knowledge_base or a source of ask.")
    book_id: str | None = BOOK_ID
    before: int = Field(default=1, ge=0, le=MAX_NEIGHBOURS, description="Passages before it.")
    after: int = Field(default=1, ge=0, le=MAX_NEIGHBOURS, description="Passages after it.")


class LessonInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    parent_doc_id: Uuid = Field(description="The parent_doc_id of a passage.")
    book_id: str | None = BOOK_ID


class AskInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Question
    book_id: str | None = BOOK_ID


async def search_knowledge_base(desk: Desk, wanted: SearchInput) -> SearchResult:
    book = await find_book(desk, wanted.book_id)
    filters = wanted.model_dump(include=set(SearchFilters.model_fields))
    query = SearchQuery(text=wanted.query, book_id=book.book_id, limit=wanted.limit, **filters)
    async with desk.library() as library:
        found = await library.search(query)
    desk.searched()
    return SearchResult(
        book_id=book.book_id,
        query=query.text,
        passages=[FoundPassage.of(each, scored=True) for each in found.passages],
    )


async def get_context(desk: Desk, wanted: ContextInput) -> ContextResult:
    book = await find_book(desk, wanted.book_id)
    async with desk.library() as library:
        passages = await library.context(
            book.book_id, wanted.passage_id, wanted.before, wanted.after
        )
    return ContextResult(
        book_id=book.book_id,
        passage_id=wanted.passage_id,
        passages=[FoundPassage.of(passage) for passage in passages],
    )


async def get_lesson(desk: Desk, wanted: LessonInput) -> LessonResult:
    book = await find_book(desk, wanted.book_id)
    async with desk.library() as library:
        passages = await library.lesson(book.book_id, wanted.parent_doc_id)
    return LessonResult(
        book_id=book.book_id,
        parent_doc_id=wanted.parent_doc_id,
        title=passages[0].metadata.title,
        url=passages[0].metadata.url.partition("#")[0],
        text=lesson_text(passages),
    )


async def ask(desk: Desk, wanted: AskInput) -> AskResult:
    book = await find_book(desk, wanted.book_id)
    return AskResult.of(book.book_id, await desk.ask(wanted.question, book))


@dataclass(frozen=True)
class Tool:
    """A tool; any of its scopes will do."""

    title: str
    description: str
    scopes: tuple[Scope, ...]
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[Desk, Any], Awaitable[Result]]


TOOLS = {
    "search_knowledge_base": Tool(
        "Search the book",
        "Find the passages of a book that fit a question best, by meaning and by words. Use it to "
        "look something up; every given filter must match. Cite a passage by its url.",
        ("read",),
        SearchInput,
        SearchResult,
        search_knowledge_base,
    ),
    "get_context": Tool(
        "Read around a passage",
        "A passage of the book with its neighbours, in reading order.",
        ("read", "chat"),
        ContextInput,
        ContextResult,
        get_context,
    ),
    "get_lesson": Tool(
        "Read a lesson",
        "The whole text of a lesson, that is a page of the book.",
        ("read", "chat"),
        LessonInput,
        LessonResult,
        get_lesson,
    ),
    "ask": Tool(
        "Ask the book",
        "An answer only from what the book says: each sentence was verified against the passage "
        "that its marker [n] cites. If it is refused, the book does not say; do not answer from "
        "elsewhere as if the book did.",
        ("chat",),
        AskInput,
        AskResult,
        ask,
    ),
}
