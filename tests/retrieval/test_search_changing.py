"""Searching a book of its own in each test."""

from __future__ import annotations

import pytest

from booktext import WriteBook, lesson, section, small_book
from bythebook.errors import BookNotFound
from bythebook.library import Library
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchQuery


async def find(library: Library, text: str, book_id: str) -> tuple[Passage, ...]:
    query = SearchQuery(text=text, book_id=book_id, hardware_tier_filter=4, limit=20)
    return (await library.search(query)).passages


async def test_equal_passages_appear_once(library: Library, write_book: WriteBook) -> None:
    same = section("Licence", "cooking")
    files = {f"part/{name}.md": lesson("Page", same) for name in ("a", "b", "c")}
    await library.ingest(write_book(files), book_id="twins")
    assert len(await find(library, "bread dough in a hot oven", "twins")) == 1


async def test_a_removed_books_ids_are_unknown(library: Library, write_book: WriteBook) -> None:
    await library.ingest(write_book(small_book()))
    passage = (await find(library, "gravity", "small"))[0]
    await library.remove_book("small")
    with pytest.raises(BookNotFound):
        await library.context("small", passage.id)


async def test_a_question_of_stop_words_still_searches(
    library: Library, write_book: WriteBook
) -> None:
    await library.ingest(write_book(small_book()))
    assert await find(library, "what is it about?", "small")
