"""Files that the folder says nobody has written since are not read; all others are."""

from __future__ import annotations

import os
from typing import Any

import pytest

from booktext import WriteBook, small_book
from bythebook.library import Library
from bythebook.reading import source
from bythebook.reading.document import Glance, PlainReader
from bythebook.reading.layout import Book

PAGES = {name for name in small_book() if name.endswith(".md")}
NODES = "module-1-ros/chapter-1/01-nodes.md"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    files: list[str] = []

    glance = PlainReader.glance

    def glancing(reader: PlainReader, book: Book, file: str, *more: Any) -> Glance:
        files.append(file)
        return glance(reader, book, file, *more)

    monkeypatch.setattr(PlainReader, "glance", glancing)
    monkeypatch.setattr(source, "SETTLED_NS", 0)
    return files


async def test_a_file_nobody_wrote_is_not_read(
    library: Library, write_book: WriteBook, read: list[str]
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    read.clear()
    assert (await library.ingest(book)).files_processed == 0
    assert (await library.changes(book)).up_to_date and read == []


@pytest.mark.parametrize("way", ["in place", "by another file"])
async def test_no_edit_hides_behind_size_and_time(
    library: Library, write_book: WriteBook, read: list[str], way: str
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    file = book / NODES
    before = file.stat()
    text = file.read_text(encoding="utf-8").replace("remark 3", "remork 3")
    target = file if way == "in place" else file.with_suffix(".new")
    target.write_text(text, encoding="utf-8")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    target.replace(file)
    assert file.stat().st_size == before.st_size
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert (await library.ingest(book)).files_processed == 1


async def test_a_file_written_just_now_is_read_again(
    library: Library, write_book: WriteBook, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "SETTLED_NS", 3600 * 10**9)
    book = write_book(small_book())
    for _ in range(2):
        read.clear()
        await library.ingest(book)
        assert set(read) == PAGES


async def test_a_touched_file_is_read_once(
    library: Library, write_book: WriteBook, read: list[str]
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    (book / NODES).touch()
    read.clear()
    for _ in range(2):
        assert (await library.ingest(book)).files_processed == 0
    assert read == [NODES]


async def test_a_full_ingest_reads_everything(
    library: Library, write_book: WriteBook, read: list[str]
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    read.clear()
    await library.ingest(book, mode="full")
    assert set(read) == PAGES
