"""How much work each task takes, in exact numbers: a change that makes it more fails here, on
however slow a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

from booktext import WriteBook
from bythebook.index.edge import EdgeReads, EdgeStore
from bythebook.ingestion import catalog
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.reading import source
from bythebook.reading.document import PlainReader
from bythebook.retrieval.calibration import everyday_questions
from statements import each_statement

PAGES = 20
SECTIONS = 3
TOPICS = (
    "gears",
    "valves",
    "pumps",
    "belts",
    "brakes",
    "lamps",
    "wheels",
    "seals",
    "fans",
    "bolts",
)


def page(number: int) -> str:
    topic = TOPICS[number % len(TOPICS)]
    sections = "".join(
        f"\n## Part {part} of {topic} {number}\n\n"
        + f"The {topic} of machine {number} have part {part}, and it is oiled every week. " * 10
        for part in range(SECTIONS)
    )
    return f"# All about {topic} {number}\n{sections}\n"


def pages(count: int) -> dict[str, str]:
    return {f"page-{number:02}.md": page(number) for number in range(count)}


class Work:
    """What was done since it was begun."""

    def __init__(self, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        self.library = library
        self.counts: Counter[str] = Counter()
        self._count_calls(monkeypatch)

    def _count_calls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        glance, read, replace = PlainReader.glance, PlainReader.read, EdgeStore.replace
        query, retrieve, visit = EdgeReads.query_batch, EdgeReads.retrieve, EdgeStore.visit

        def glancing(*args: Any) -> Any:
            self.counts["files read"] += 1
            return glance(*args)

        def reading(*args: Any) -> Any:
            self.counts["files read"] += 1
            self.counts["files parsed"] += 1
            return read(*args)

        @wraps(replace)
        async def writing(store: EdgeStore, points: Any, *args: Any, **more: Any) -> None:
            self.counts["points written"] += len(points)
            self.counts["writes"] += 1
            await replace(store, points, *args, **more)

        async def asking(reads: EdgeReads, *args: Any) -> Any:
            self.counts["asked"] += 1
            return await query(reads, *args)

        async def fetching(reads: EdgeReads, *args: Any, **more: Any) -> Any:
            self.counts["fetched"] += 1
            return await retrieve(reads, *args, **more)

        @wraps(visit)
        async def visiting(store: EdgeStore, work: Any) -> Any:
            self.counts["visits"] += 1
            return await visit(store, work)

        monkeypatch.setattr(EdgeReads, "query_batch", asking)
        monkeypatch.setattr(EdgeReads, "retrieve", fetching)
        monkeypatch.setattr(EdgeStore, "visit", visiting)
        monkeypatch.setattr(PlainReader, "glance", glancing)
        monkeypatch.setattr(PlainReader, "read", reading)
        monkeypatch.setattr(EdgeStore, "replace", writing)

    def sql(self, statement: str) -> None:
        if not statement.startswith("PRAGMA"):
            self.counts["statements"] += 1

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        self.counts.clear()
        before = self.library.embedder.texts_embedded
        yield self.counts
        self.counts["embedded"] = self.library.embedder.texts_embedded - before


@pytest.fixture
def work(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    monkeypatch.setattr(source, "SETTLED_NS", 0)  # files are written long before they are read
    counting = Work(library, monkeypatch)
    with each_statement(library.engine, counting.sql):
        yield counting


async def test_what_an_ingest_takes(library: Library, work: Work, write_book: WriteBook) -> None:
    root = write_book(pages(PAGES))
    with work.counted() as first:
        await library.ingest(root)
    assert first == {
        "files read": 2 * PAGES,  # once to see what there is to do, once to do it
        "files parsed": PAGES,
        "embedded": PAGES * SECTIONS,
        "points written": PAGES * SECTIONS,
        "writes": 2,  # some 32 passages each
        "statements": first["statements"],
        # What a new book says of everyday questions is measured once.
        "visits": len(everyday_questions()),
        "asked": 2 * len(everyday_questions()),
        "fetched": len(everyday_questions()),
    }
    assert first["statements"] <= 41

    with work.counted() as nothing:
        await library.ingest(root)
    assert nothing == {"statements": 11, "embedded": 0}

    write_book({"page-03.md": page(3).replace("Part 1 of", "The first part of")})
    with work.counted() as edited:
        await library.ingest(root)
    assert edited == {
        "files read": 2,
        "files parsed": 1,
        "embedded": 1,
        "points written": SECTIONS,
        "writes": 1,
        "statements": 20,
    }

    (root / f"page-{PAGES - 1}.md").unlink()
    with work.counted() as deleted:
        await library.ingest(root)
    assert deleted == {"statements": deleted["statements"], "embedded": 0}
    assert deleted["statements"] <= 19


async def test_a_page_in_the_middle_renumbers_the_rest_without_reading_it(
    library: Library, work: Work, write_book: WriteBook
) -> None:
    root = write_book(pages(PAGES))
    await library.ingest(root)
    (root / "page-07.md").unlink()
    with work.counted() as deleted:
        await library.ingest(root)
    moved = PAGES - 8
    assert deleted == {
        "embedded": 0,
        "points written": moved * SECTIONS,
        "writes": 1,
        "statements": deleted["statements"],
    }


async def test_what_a_search_takes(
    library: Library, work: Work, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.ingest(write_book(pages(PAGES)))
    book = await library.recent_book()
    query = SearchQuery(text="How are the valves oiled?", book_id=book.book_id)
    with work.counted() as search:
        await library.search(query)
    assert search == {"embedded": 0, "visits": 2, "asked": 2, "fetched": 1}
    monkeypatch.setattr(catalog, "RECENT_S", 0.0)  # until then the book is known
    with work.counted() as later:
        await library.search(query)
    assert later == {**search, "statements": 1}


async def test_statements_do_not_grow_with_the_book(
    library: Library, work: Work, write_book: WriteBook
) -> None:
    counts = []
    for count in (PAGES, 3 * PAGES):
        root = write_book(pages(count))
        await library.ingest(root)
        with work.counted() as nothing:
            await library.ingest(root)
        counts.append(nothing["statements"])
    assert counts[0] == counts[1]
