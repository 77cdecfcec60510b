"""The resources: books, each book's lessons, and each lesson's text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.errors import BookNotFound, NotAllowed
from bythebook.mcp.backend import Backend, find_book
from bythebook.models.chunk import BookInfo, Span
from bythebook.models.passage import Passage


def lesson_text(passages: Sequence[Passage]) -> str:
    """The passages of a lesson as one text."""
    return whole_text(passages)[0]


def whole_text(passages: Sequence[Passage]) -> tuple[str, list[Span]]:
    """The passages of a lesson as one text, and where its parts stand in the source. A passage
    repeats the end of the one before it so that it can be understood alone; here that is left
    out."""
    text = ""
    parts: list[Span] = []
    seen = 0
    for passage in passages:
        spans = passage.metadata.spans
        cut = 0
        for span in spans:
            if span.start >= seen:
                break
            cut = span.at + min(seen, span.end) - span.start
        seen = max([seen, *(span.end for span in spans)])
        piece = passage.text[cut:].strip()
        if not piece:
            continue
        cut = passage.text.index(piece, cut)
        text += "\n\n" if text else ""
        for span in spans:
            first = max(span.at, cut)
            last = min(span.at + span.end - span.start, cut + len(piece))
            if first < last:
                start = span.start + first - span.at
                parts.append(
                    Span(start=start, end=start + last - first, at=len(text) + first - cut)
                )
        text += piece
    return text, parts


def stretches_in(
    parts: Sequence[Span], passage: Passage, stretches: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where stretches of a passage stand in the text that `whole_text` made of its lesson."""
    own = [
        (span.start + max(start - span.at, 0), min(span.start + end - span.at, span.end))
        for start, end in stretches
        for span in passage.metadata.spans
        if start < span.at + span.end - span.start and span.at < end
    ]
    return [
        (part.at + max(start - part.start, 0), part.at + min(end, part.end) - part.start)
        for start, end in own
        for part in parts
        if start < part.end and part.start < end
    ]


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


async def read(backend: Backend, uri: str) -> Text:
    if not backend.may("read", "chat"):
        raise NotAllowed("The key may not read.", action="Use one with the scope read or chat.")
    if uri.rstrip("/") == BOOKS:
        return Text(json.dumps([_shown(book) for book in await backend.books()]), JSON)
    found = ADDRESS.fullmatch(uri)
    if not found:
        raise BookNotFound(f"There is nothing at {uri}.", action=f"Addresses are like {LESSON}.")
    book = await find_book(backend, found["book"])
    return Text(
        await (_lesson(backend, book, found["lesson"]) if found["lesson"] else _book(backend, book))
    )


def book_address(book: BookInfo) -> str:
    return BOOK.format(book_id=book.book_id)


async def _book(backend: Backend, book: BookInfo) -> str:
    async with backend.library() as library:
        lessons = await library.known.lessons(book.book_id)
    lines = [
        f"- {lesson.title}: {book_address(book)}/lesson/{lesson.parent_doc_id}"
        for lesson in lessons
    ]
    return "\n".join([f"# {book.title}", "", *lines])


async def _lesson(backend: Backend, book: BookInfo, parent_doc_id: str) -> str:
    async with backend.library() as library:
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
