"""A file that only gets another number is not read again, and ends as in a fresh index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook, lesson, section
from bythebook.index.store import book_filter
from bythebook.ingestion.plan import Due, make_plan
from bythebook.library import Library
from bythebook.models.job import IngestionState
from bythebook.reading.document import Page, PlainReader
from bythebook.reading.layout import Book, find_book
from invariants import check_invariants, content_of, fresh_content

SAME = section("What all robots have", "wheels")
Change = Callable[[Path], None]


def book(*, same: str = "") -> dict[str, str]:
    """Pages without numbers of their own; with a passage that all of them have, an old id of one
    is the new id of the next."""
    topics = ("actions", "nodes", "sensors", "topics")
    pages = {
        f"guide/basics/{topic}.md": lesson(topic, same, section(f"On {topic}", topic))
        for topic in topics
    }
    return {"bythebook.toml": '[book]\nid = "small"\n', **pages}


def removed(root: Path) -> None:
    (root / "guide/basics/nodes.md").unlink()


def added(root: Path) -> None:
    text = lesson("Bread", SAME, section("On bread", "cooking"))
    (root / "guide/basics/bread.md").write_text(text)


def swapped(root: Path) -> None:
    (root / "guide/basics/actions.md").rename(root / "guide/basics/zactions.md")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were parsed."""
    files: list[str] = []
    read = PlainReader.read

    def noting(reader: PlainReader, book: Book, file: str, *more: Any) -> Page:
        files.append(Path(file).stem)
        return read(reader, book, file, *more)

    monkeypatch.setattr(PlainReader, "read", noting)
    return files


@pytest.mark.parametrize(
    ("change", "read"), [(removed, []), (added, ["bread"]), (swapped, ["zactions"])]
)
async def test_only_what_changed_is_parsed(
    library: Library, write_book: WriteBook, tmp_path: Path, parsed: list[str], change: Change,
    read: list[str],
) -> None:  # fmt: skip
    root = write_book(book())
    await library.ingest(root)
    parsed.clear()
    change(root)
    await library.ingest(root)
    assert parsed == read
    await check_invariants(library, "small")
    assert await content_of(library, "small") == await fresh_content(root, tmp_path / "other")
    assert (await library.ingest(root)).files_processed == 0


@pytest.mark.parametrize("change", [removed, added, swapped])
async def test_neighbours_that_share_a_passage_keep_it(
    library: Library, write_book: WriteBook, tmp_path: Path, change: Change
) -> None:
    root = write_book(book(same=SAME))
    await library.ingest(root)
    change(root)
    await library.ingest(root)
    await check_invariants(library, "small")
    assert await content_of(library, "small") == await fresh_content(root, tmp_path / "other")


async def test_a_file_of_which_the_index_lost_a_passage_is_parsed(
    library: Library, write_book: WriteBook, tmp_path: Path, parsed: list[str]
) -> None:
    root = write_book(book(same=SAME))
    await library.ingest(root)
    parsed.clear()
    state = await library.catalog.state("small", library.settings.collection)
    record = state.records["guide/basics/sensors.md"]
    assert record.chunk_count > 1
    store = await library.store()
    [lost, *_], _ = await store.scroll(
        book_filter("small", source_file=record.source_file), limit=1
    )
    assert lost.payload
    await store.delete(
        book_filter(
            "small", source_file=record.source_file, content_hash=lost.payload["content_hash"]
        )
    )
    removed(root)
    await library.ingest(root)
    assert parsed == ["sensors"]
    await check_invariants(library, "small")
    assert await content_of(library, "small") == await fresh_content(root, tmp_path / "other")


async def test_a_title_that_another_page_gives(
    library: Library, write_book: WriteBook, tmp_path: Path, parsed: list[str]
) -> None:
    """The toctree of one page names another, which did not change."""
    tree = "```{toctree}\nAll about nodes <basics/nodes>\nbasics/topics\n```\n"
    index = lesson("Guide", section("Begin", "gravity"))
    root = write_book(book() | {"guide/index.md": index + tree})
    await library.ingest(root)
    parsed.clear()
    write_book({"guide/index.md": index + tree.replace("All about", "More about")})
    await library.ingest(root)
    assert set(parsed) == {"index", "nodes"}
    chunks = await check_invariants(library, "small")
    titles = {chunk.metadata.source_file: chunk.metadata.title for chunk in chunks}
    assert titles["guide/basics/nodes.md"] == "More about nodes"
    assert await content_of(library, "small") == await fresh_content(root, tmp_path / "other")


async def test_a_new_title_is_not_a_number(
    library: Library, write_book: WriteBook, parsed: list[str]
) -> None:
    """The overview names the chapter of every page in it."""
    root = write_book(book())
    await library.ingest(root)
    parsed.clear()
    write_book({"guide/basics/README.md": lesson("First steps", section("Begin", "gravity"))})
    await library.ingest(root)
    assert set(parsed) == {"README", "actions", "nodes", "sensors", "topics"}


async def test_a_worker_learns_that_it_need_not_read(
    library: Library, write_book: WriteBook
) -> None:
    root = write_book(book())
    await library.ingest(root)
    removed(root)
    state = await library.catalog.state("small", library.settings.collection)
    plan = make_plan(find_book(root), state, "incremental", library.max_bytes)
    due = plan.due("guide/basics/topics.md")
    assert due.head and Due.from_json(due.to_json()) == due
    earlier = {name: value for name, value in due.to_json().items() if name != "head"}
    assert Due.from_json(earlier).head is None
    assert not make_plan(find_book(root), state, "full", library.max_bytes).renumbered
    empty = IngestionState(book_id="small", collection_name="none")
    assert not make_plan(find_book(root), empty, "incremental", library.max_bytes).renumbered
