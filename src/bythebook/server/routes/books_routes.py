"""What may be read: the books and their pages, search, and what stands around a passage."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from bythebook.mcp.mcp_tools import lesson_page
from bythebook.models.chunk import BookInfo, Uuid
from bythebook.models.examples import CONTEXT, SEARCH, WHOLE_LESSON, answers
from bythebook.models.passage import Passage
from bythebook.models.search_messages import (
    ContextPassage,
    ContextResponse,
    LessonResponse,
    PassageEntry,
    SearchQuery,
    SearchResponse,
)
from bythebook.models.values import BOOK_ID
from bythebook.retrieval.neighbours import MAX_NEIGHBOURS, stretches_in, whole_text
from bythebook.server.auth import Guest, Searcher, Serving
from bythebook.server.catalog_cache import ShownBook
from bythebook.server.error_responses import keyed
from bythebook.server.original_files import in_pieces, may_open, open_file
from bythebook.server.rendering import passage_html
from bythebook.server.service import Service

router = APIRouter()


@router.get(
    "/books",
    tags=["books"],
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
BookInPath = Annotated[str, Path(pattern=BOOK_ID, description="The book's id.")]


LIST: dict[int | str, dict[str, Any]] = {
    200: {"description": "A list in the form of llmstxt.org.", "content": {"text/plain": {}}}
}
PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page.", "content": {"text/markdown": {"example": PAGE_EXAMPLE}}}
}


@router.get(
    "/llms.txt",
    tags=["books"],
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
    tags=["books"],
    summary="The pages of a book, for programs",
    response_class=Response,
    responses={**keyed(404), **LIST},
)
async def book_llms(service: Serving, caller: Guest, book_id: BookInPath) -> Response:
    """Title, Markdown and address of each page, in reading order. The links are relative."""
    return await _list(service, await caller.book(service.library, book_id), "")


@router.get(
    "/books/{book_id}/pages/{parent_doc_id}.md",
    tags=["books"],
    summary="A page of a book as Markdown",
    response_class=Response,
    responses={**keyed(404), **PAGE},
)
async def page(
    service: Serving,
    caller: Guest,
    book_id: BookInPath,
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


BookId = Annotated[
    str | None, Query(min_length=1, max_length=100, description="Default: the only book.")
]
Neighbours = Annotated[int, Query(ge=0, le=MAX_NEIGHBOURS)]
PDF_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/pdf": {}}}
}
Stretches = Annotated[
    str,
    Query(
        pattern=r"^(\d{1,7}-\d{1,7}(,\d{1,7}-\d{1,7}){0,99})?$",
        description="With `html`: what to mark in the passage, as in a citation's `stretches`.",
        examples=["12-80,95-120"],
    ),
]


@router.post(
    "/search",
    tags=["passages"],
    summary="Search a book",
    response_model=SearchResponse,
    responses={**keyed(404), **answers(SEARCH, "What was found, best first.")},
)
async def search(service: Serving, caller: Searcher, query: SearchQuery) -> SearchResponse:
    """The passages that fit best, by meaning and by words, without the reading model. From a
    `score` of .7 on, the book seems to answer; a higher score means more evidence. Every given
    filter must match. `hardware_tier_filter` is 1 unless given, while chats search the whole
    book."""
    wanted = query.book_id if "book_id" in query.model_fields_set else None
    book = await caller.book(service.library, wanted)
    query = query.model_copy(update={"book_id": book.book_id})
    found = await service.library.search(query)
    service.metrics.searched()
    return SearchResponse.of(query, found.passages, found.total, found.milliseconds)


@router.get(
    "/context/{chunk_id}",
    tags=["passages"],
    summary="A passage and its neighbours",
    response_model=ContextResponse,
    responses={**keyed(404), **answers(CONTEXT, "The passages.")},
)
async def context(
    service: Serving,
    caller: Guest,
    chunk_id: Annotated[Uuid, Path(description="The id of a passage.")],
    book_id: BookId = None,
    before: Neighbours = 1,
    after: Neighbours = 1,
    html: Annotated[bool, Query(description="Texts as safe HTML as well.")] = False,
    stretches: Stretches = "",
) -> ContextResponse:
    """In reading order, within the lesson."""
    book = await caller.book(service.library, book_id)
    passages = await service.library.context(book.book_id, chunk_id, before, after)
    modules = await service.catalog_cache.module_titles(book.book_id)
    marked = _offsets(stretches)

    def shown(passage: Passage) -> str:
        own = marked if passage.id == chunk_id else []
        return passage_html(passage.text, own, passage.metadata.url)

    return ContextResponse(
        book_id=book.book_id,
        chunk_id=chunk_id,
        passages=[
            ContextPassage.shown(
                passage,
                modules,
                shown(passage) if html else None,
                has_file=may_open(service, caller, passage),
            )
            for passage in passages
        ],
    )


@router.get(
    "/lesson/{parent_doc_id}",
    tags=["passages"],
    summary="A whole lesson",
    response_model=LessonResponse,
    responses={**keyed(404), **answers(WHOLE_LESSON, "The lesson.")},
)
async def lesson(
    service: Serving,
    caller: Guest,
    parent_doc_id: Annotated[Uuid, Path(description="The parent_doc_id of a passage.")],
    book_id: BookId = None,
    html: Annotated[bool, Query(description="The whole text as safe HTML as well.")] = False,
    chunk_id: Annotated[
        Uuid | None, Query(description="With `html`: the passage that `stretches` are of.")
    ] = None,
    stretches: Stretches = "",
) -> LessonResponse:
    """Every passage of it, in reading order."""
    book = await caller.book(service.library, book_id)
    passages = await service.library.lesson(book.book_id, parent_doc_id)
    address = passages[0].metadata.url.partition("#")[0]

    def shown() -> str:
        text, parts = whole_text(passages)
        cited = [passage for passage in passages if passage.id == chunk_id]
        marked = stretches_in(parts, cited[0], _offsets(stretches)) if cited else []
        return passage_html(text, marked, address)

    return LessonResponse(
        book_id=book.book_id,
        parent_doc_id=parent_doc_id,
        title=passages[0].metadata.title,
        url=address,
        html=await asyncio.to_thread(shown) if html else None,
        passages=[PassageEntry.of(passage) for passage in passages],
    )


@router.get(
    "/source/{chunk_id}",
    tags=["passages"],
    summary="The PDF that a passage is from",
    response_class=StreamingResponse,
    responses={**keyed(404), **PDF_FILE},
)
async def source(
    service: Serving,
    caller: Guest,
    chunk_id: Annotated[Uuid, Path(description="The id of a passage.")],
    book_id: BookId = None,
) -> StreamingResponse:
    """The file as it was read. Without keys and with an admin key every PDF, with other keys those
    of the books in BYTHEBOOK_OPEN_FILES."""
    book = await caller.book(service.library, book_id)
    (passage,) = await service.library.context(book.book_id, chunk_id, 0, 0)
    file, size = await open_file(service, caller, book, passage)
    headers = {
        "Content-Length": str(size),
        # A page shows it itself; followed as an address it is never a document of this site.
        "Content-Disposition": f'attachment; filename="{book.book_id}.pdf"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-cache",
    }
    return StreamingResponse(in_pieces(file), media_type="application/pdf", headers=headers)


def _offsets(stretches: str) -> list[tuple[int, int]]:
    pairs = (stretch.split("-") for stretch in stretches.split(",") if stretch)
    return [(int(start), int(end)) for start, end in pairs]
