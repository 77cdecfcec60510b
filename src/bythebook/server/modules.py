"""The titles of a book's modules."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import files
from bythebook.database.transaction import reading
from bythebook.reading.numbers import humanise


async def module_titles(engine: AsyncEngine, book_id: str) -> dict[str, str]:
    """By the module's id: the title of the page above its chapters, else its name made readable.
    What lies in no module has the book's id for one, which is no part of a path."""
    of_book = files.c.book_id == book_id
    overview = (files.c.chapter == 0) & (files.c.lesson == 0)
    named = select(files.c.module).where(of_book).distinct()
    titled = select(files.c.module, files.c.placement).where(of_book, overview)
    async with reading(engine) as connection:
        titles = {module: humanise(module) for module in await connection.scalars(named)}
        for module, placement in await connection.execute(
            titled.order_by(files.c.source_file.desc())
        ):
            titles[module] = placement.get("title") or titles[module]
    titles.pop(book_id, None)
    return titles
