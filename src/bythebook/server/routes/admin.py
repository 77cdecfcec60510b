"""What an admin wants to know: how much is asked, and what the book could not answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from bythebook.models.asked_question import Choice, QuestionList, Usage
from bythebook.questions import CURSOR_PATTERN
from bythebook.server.access import Admin, Serving
from bythebook.server.caller import Caller, unknown_book
from bythebook.server.problems import keyed

router = APIRouter(prefix="/admin", tags=["admin"])

MAX_DAYS = 366
BookId = Annotated[
    str | None, Query(min_length=1, max_length=100, description="Only this book; else all.")
]


@router.get("/usage", summary="How much is asked", responses=keyed(404))
async def usage(
    service: Serving,
    caller: Admin,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="Up to today, in UTC.")] = 30,
    book_id: BookId = None,
) -> Usage:
    """Questions over chat, by day and by what became of them. Only what is kept is counted; see
    `BYTHEBOOK_KEEP_QUESTIONS_DAYS`."""
    return await service.questions.usage(days, books=_books(caller, book_id))


@router.get("/questions", summary="What was asked", responses=keyed(404))
async def questions(
    service: Serving,
    caller: Admin,
    outcome: Annotated[
        Choice | None,
        Query(
            description="`down`: rated as bad by a reader; `low`: answered with low confidence; "
            "all without it."
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="How many.")] = 50,
    before: Annotated[
        str | None, Query(pattern=CURSOR_PATTERN, description="The `next` of an earlier list.")
    ] = None,
    book_id: BookId = None,
) -> QuestionList:
    """Newest first."""
    books = _books(caller, book_id)
    return await service.questions.list(outcome, limit=limit, before=before, books=books)


def _books(caller: Caller, book_id: str | None) -> tuple[str, ...] | None:
    """The books to tell of: an admin's key may be for some only."""
    if book_id is None:
        return caller.key.books if caller.key else None
    if not caller.may_read(book_id):
        raise unknown_book(book_id)
    return (book_id,)
