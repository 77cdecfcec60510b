"""The books of a caller: what can be chosen in each, and for programs `llms.txt` and pages as
Markdown."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from bythebook.mcp.mcp_tools import lesson_page
from bythebook.models.chunk import BookInfo, Uuid
from bythebook.models.values import BOOK_ID
from bythebook.server.auth import Guest, Serving
from bythebook.server.catalog_cache import ShownBook
from bythebook.server.error_responses import keyed
from bythebook.server.service import Service

router = APIRouter(tags=["books"])


@router.get(
    "/books",
    summary="The books, and what to choose from in each",
    response_description="The caller's books.",
    responses=keyed(),
)
async def books(service: Serving, caller: Guest) -> list[ShownBook]:
    """Filters of `/chat/run` with the values that occur, and questions to begin with. They are
    determined at the first request after a book has changed."""
    own = await caller.books(service.library)
    return await service.catalog_cache.books(own)


PLAIN, MARKDOWN = "text/plain; charset=utf-8", "text/markdown; charset=utf-8"
PAGE_EXAMPLE = """\
# URDF and Xacro

https://physical-ai.example/docs/urdf-and-xacro

**URDF** is an XML format that describes one robot.
"""
BookId = Annotated[str, Path(pattern=BOOK_ID, description="The book's id.")]


LIST: dict[int | str, dict[str, Any]] = {
    200: {"description": "A list in the form of llmstxt.org.", "content": {"text/plain": {}}}
}
PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page.", "content": {"text/markdown": {"example": PAGE_EXAMPLE}}}
}


@router.get(
    "/llms.txt",
    summary="What a program may read here",
    response_class=Response,
    responses={**keyed(), **LIST},
)
async def llms(service: Serving, caller: Guest) -> Response:
    """The pages of the caller's only book; of several books, where each has its own list."""
    own = await caller.books(service.library)
    if len(own) == 1:
        return await _list(service, own[0], f"books/{own[0].book_id}/")
    entries = [f"- [{_plain(book.title)}](books/{book.book_id}/llms.txt)" for book in own]
    return _as_text("# Books", "> Books that can be read and asked here.", "## Books", entries)


@router.get(
    "/books/{book_id}/llms.txt",
    summary="The pages of a book, for programs",
    response_class=Response,
    responses={**keyed(404), **LIST},
)
async def book_llms(service: Serving, caller: Guest, book_id: BookId) -> Response:
    """Title, Markdown and address of each page, in reading order. The links are relative."""
    return await _list(service, await caller.book(service.library, book_id), "")


@router.get(
    "/books/{book_id}/pages/{parent_doc_id}.md",
    summary="A page of a book as Markdown",
    response_class=Response,
    responses={**keyed(404), **PAGE},
)
async def page(
    service: Serving,
    caller: Guest,
    book_id: BookId,
    parent_doc_id: Annotated[Uuid, Path(description="The parent_doc_id of a passage.")],
) -> Response:
    """Title, address and text, as the index has them: without what only the site's own tools
    understand."""
    book = await caller.book(service.library, book_id)
    passages = await service.library.lesson(book.book_id, parent_doc_id)
    return Response(f"{lesson_page(passages)}\n", media_type=MARKDOWN)


async def _list(service: Service, book: BookInfo, folder: str) -> Response:
    entries = [
        f"- [{_plain(lesson.title)}]({folder}pages/{lesson.parent_doc_id}.md)"
        + (f": {lesson.url}" if lesson.url else "")
        for lesson in await service.library.known.lessons(book.book_id)
    ]
    about = "> The pages of this book as Markdown, in reading order."
    return _as_text(f"# {_plain(book.title)}", about, "## Pages", entries)


def _as_text(title: str, about: str, heading: str, entries: list[str]) -> Response:
    listed = "\n".join(entries)
    return Response(f"{title}\n\n{about}\n\n{heading}\n\n{listed}\n", media_type=PLAIN)


def _plain(title: str) -> str:
    """A title as one line that ends no link."""
    return re.sub(r"([\\\[\]])", r"\\\1", " ".join(title.split()))
