"""The resources: the list of books, each book's lessons, and each lesson's text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from bythebook.errors import BookNotFound, NotAllowed
from bythebook.mcp.desk import Desk, find_book
from bythebook.mcp.lessons import lesson_text, lessons_of
from bythebook.models.book import BookInfo

BOOKS = "bythebook://books"
BOOK = "book://{book_id}"
LESSON = "book://{book_id}/lesson/{parent_doc_id}"
MARKDOWN, JSON = "text/markdown", "application/json"
ADDRESS = re.compile(r"book://(?P<book>[^/]+)(?:/lesson/(?P<lesson>[^/]+))?/?")


@dataclass(frozen=True)
class Text:
    """What stands at an address."""

    text: str
    mime_type: str = MARKDOWN


async def read(desk: Desk, uri: str) -> Text:
    if not desk.may("read", "chat"):
        raise NotAllowed("The key may not read.", action="Use one with the scope read or chat.")
    if uri.rstrip("/") == BOOKS:
        return Text(json.dumps([_shown(book) for book in await desk.books()]), JSON)
    found = ADDRESS.fullmatch(uri)
    if not found:
        raise BookNotFound(f"There is nothing at {uri}.", action=f"Addresses are like {LESSON}.")
    book = await find_book(desk, found["book"])
    return Text(
        await (_lesson(desk, book, found["lesson"]) if found["lesson"] else _book(desk, book))
    )


def book_address(book: BookInfo) -> str:
    return BOOK.format(book_id=book.book_id)


async def _book(desk: Desk, book: BookInfo) -> str:
    async with desk.library() as library:
        lessons = await lessons_of(library.engine, book.book_id)
    lines = [
        f"- {lesson.title}: {book_address(book)}/lesson/{lesson.parent_doc_id}"
        for lesson in lessons
    ]
    return "\n".join([f"# {book.title}", "", *lines])


async def _lesson(desk: Desk, book: BookInfo, parent_doc_id: str) -> str:
    async with desk.library() as library:
        passages = await library.lesson(book.book_id, parent_doc_id)
    place = passages[0].metadata
    return f"# {place.title}\n\n{place.url.partition('#')[0]}\n\n{lesson_text(passages)}"


def _shown(book: BookInfo) -> dict[str, object]:
    return {
        "book_id": book.book_id,
        "title": book.title,
        "language": book.language,
        "files": book.total_files,
        "chunks": book.total_chunks,
        "uri": book_address(book),
    }
