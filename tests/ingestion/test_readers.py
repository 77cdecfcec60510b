"""Readers beside a writer, and any sequence of edits: old or new, never half, never other."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from booktext import TOPICS, WriteBook, lesson, section
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from extent import examples
from invariants import check_invariants, content_of

PAGE = "module-1/chapter-1/01-page.md"
SECTIONS = ("One", "Two", "Three", "Four")


def version(number: int) -> dict[str, str]:
    parts = [section(name, "nodes", f"State {number}.") for name in SECTIONS]
    return {PAGE: lesson("A page", *parts)}


@pytest.fixture(params=["embedded", "server"])
async def shared(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Library]:
    settings = Settings(home=home)
    if request.param == "server":
        url = request.getfixturevalue("qdrant_url")
        settings = Settings(home=home, qdrant_url=url, collection=f"book-{uuid.uuid4().hex}")
    async with await Library.open(settings) as library:
        yield library
        await (await library.store()).drop()


async def test_a_search_sees_a_page_before_or_after_never_half(
    shared: Library, write_book: WriteBook
) -> None:
    library = shared
    await library.ingest(write_book(version(0)), book_id="switching")
    query = SearchQuery(text="What is a node?", book_id="switching", limit=20)
    seen: set[str] = set()
    writing = True

    async def read() -> None:
        while writing:
            passages = (await library.search(query)).passages
            states = {passage.text.rsplit("State ", 1)[1] for passage in passages}
            assert len(passages) == len(SECTIONS) and len(states) == 1, states
            seen.update(states)
            lesson_id = passages[0].metadata.parent_doc_id
            whole = await library.lesson("switching", lesson_id)
            assert len({passage.metadata.source_file_hash for passage in whole}) == 1

    readers = [asyncio.create_task(read()) for _ in range(4)]
    for number in range(1, 12):
        await library.ingest(write_book(version(number)), book_id="switching")
    writing = False
    await asyncio.gather(*readers)
    assert len(seen) > 2, "the readers saw too little to test anything"


NAMES = ("a", "b", "01-c", "02-d", "README")
edits = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["part", "part/sub"]),
        st.one_of(st.none(), st.lists(st.sampled_from(list(TOPICS)), min_size=1, max_size=3)),
    ),
    min_size=2,
    max_size=6,
)


@settings(max_examples=examples(12))
@given(rounds=st.lists(edits, min_size=2, max_size=3))
async def test_any_sequence_of_edits_gives_the_index_of_a_fresh_ingest(
    rounds: list[list[tuple[str, str, list[str] | None]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "book", Path(folder) / "home"
        (root / "part/sub").mkdir(parents=True)
        async with await Library.open(Settings(home=home)) as library:
            for edit in rounds:
                (root / "part/keep.md").write_text(lesson("Keep", section("Keep", "wheels")))
                for name, where, topics in edit:
                    file = root / where / f"{name}.md"
                    if topics is None:
                        file.unlink(missing_ok=True)
                    else:
                        parts = (section(f"On {topic}", topic) for topic in topics)
                        file.write_text(lesson(f"Page {name}", *parts))
                await library.ingest(root, book_id="edited")
                await check_invariants(library, "edited")
            changed = await content_of(library, "edited")
        async with await Library.open(Settings(home=Path(folder) / "fresh")) as library:
            await library.ingest(root, book_id="edited")
            assert changed == await content_of(library, "edited")


async def test_who_stops_waiting_leaves_the_index_usable(home: Path) -> None:
    async with await Library.open(Settings(home=home)) as library:
        opening = asyncio.create_task(library.store())
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()
        assert (await library.index_info()).points == 0
