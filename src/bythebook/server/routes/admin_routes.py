"""What an admin wants to know: how much is asked, and what the book could not answer."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response

from bythebook.gaps import as_csv
from bythebook.models.asked_question import (
    Choice,
    Gap,
    GapChoice,
    GapReport,
    QuestionList,
    Usage,
)
from bythebook.models.examples import PIECES, answers
from bythebook.models.values import BOOK_ID
from bythebook.questions import CURSOR_PATTERN
from bythebook.server.auth import Admin, Serving
from bythebook.server.error_responses import keyed

router = APIRouter(prefix="/admin", tags=["admin"])

MAX_DAYS = 366
MAX_GAPS = 1000
BookId = Annotated[
    str | None, Query(pattern=BOOK_ID, description="Only this book; all books without it.")
]
CSV = "text/csv"
CSV_EXAMPLE = as_csv([Gap.model_validate(gap) for gap in PIECES["gaps"]["gaps"]])
FOUND = answers(PIECES["gaps"], "The gaps.", **{CSV: {"example": CSV_EXAMPLE}})


@router.get("/usage", summary="How much is asked", responses=keyed(404))
async def usage(
    service: Serving,
    caller: Admin,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="Up to today, in UTC.")] = 30,
    book_id: BookId = None,
) -> Usage:
    """Questions by day and by outcome. Only what is kept is counted; see
    `BYTHEBOOK_KEEP_QUESTIONS_DAYS`."""
    return await service.questions.usage(days, books=caller.only(book_id))


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
    books = caller.only(book_id)
    return await service.questions.list(outcome, limit=limit, before=before, books=books)


@router.get(
    "/gaps",
    summary="What the book lacks",
    response_model=GapReport,
    responses={**keyed(404), **FOUND},
)
async def gaps(
    service: Serving,
    caller: Admin,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="Up to now.")] = 30,
    limit: Annotated[int, Query(ge=1, le=MAX_GAPS, description="How many, most asked first.")] = 20,
    outcome: Annotated[
        GapChoice | None,
        Query(
            description="`refused`; `low`: answered with low confidence; `down`: rated as bad by "
            "a reader; `refused` and `low` without it."
        ),
    ] = None,
    book_id: BookId = None,
    format: Annotated[
        Literal["json", "csv"] | None, Query(description="In place of the header `Accept`.")
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Questions that were refused or answered with low confidence, or of one kind, grouped by
    meaning. They are compared on this machine, whichever embedder the book has. As CSV with
    `format=csv` or `Accept: text/csv`."""
    found = await service.gaps.find(days, limit, books=caller.only(book_id), choice=outcome)
    wanted_first = re.split("[,;]", accept)[0].strip()
    if format == "csv" or (format is None and wanted_first == CSV):
        # The mark at the beginning tells Excel that it is UTF-8.
        return Response(
            as_csv(found.gaps).encode("utf-8-sig"),
            media_type=CSV,
            headers={"Content-Disposition": 'attachment; filename="gaps.csv"'},
        )
    return found
