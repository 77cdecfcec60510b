"""Lessons as a whole, and which there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import files
from bythebook.database.transaction import reading
from bythebook.models.passage import Passage
from bythebook.reading.numbers import natural_key


@dataclass(frozen=True)
class Lesson:
    """A page of a book."""

    parent_doc_id: str
    title: str
    url: str


async def lessons_of(engine: AsyncEngine, book_id: str) -> list[Lesson]:
    """The lessons of a book, in reading order."""
    query = select(
        files.c.source_file, files.c.parent_doc_id, files.c.placement, files.c.url
    ).where(files.c.book_id == book_id, files.c.chunk_count > 0)
    async with reading(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [
        Lesson(parent_doc_id, placement.get("title") or source_file, url)
        for source_file, parent_doc_id, placement, url in sorted(
            rows, key=lambda row: natural_key(row[0])
        )
    ]


def lesson_text(passages: Sequence[Passage]) -> str:
    """The passages of a lesson as one text. A passage repeats the end of the one before it so that
    it can be understood alone; here that is left out."""
    parts: list[str] = []
    seen = 0
    for passage in passages:
        spans = passage.metadata.spans
        cut = 0
        for span in spans:
            if span.start >= seen:
                break
            cut = span.at + min(seen, span.end) - span.start
        seen = max([seen, *(span.end for span in spans)])
        parts.append(passage.text[cut:].strip())
    return "\n\n".join(part for part in parts if part)
