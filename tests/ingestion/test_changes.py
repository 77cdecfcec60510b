"""What an ingest would do, compared with what it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from booktext import WriteBook, lesson, section, small_book
from bythebook.database.tables import books
from bythebook.errors import InputError
from bythebook.library import Library

NODES = "module-1-ros/chapter-1/01-nodes.md"
NEW = "module-1-ros/chapter-1/02-new.md"
WORLDS = "module-2-sim/chapter-1/01-worlds.md"


async def test_of_a_new_book_everything_is_new(library: Library, write_book: WriteBook) -> None:
    found = await library.changes(write_book(small_book()))
    assert (found.book_id, len(found.new), found.unchanged) == ("small", 4, 0)
    assert not found.up_to_date and not found.modified and not found.deleted
    assert await library.books() == [] and await library.jobs() == []


async def test_changes_are_told_and_nothing_is_written(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    assert (await library.changes(book)).up_to_date
    text = small_book()[NODES].replace("remark 3", "another remark")
    write_book({NODES: text, NEW: lesson("New", section("New", "wheels"))})
    (book / WORLDS).unlink()
    (book / "module-1-ros/chapter-2/02-binary.md").write_bytes(b"\0\0")
    before = await library.jobs()
    for _ in range(2):
        found = await library.changes(book)
        assert found.new == [NEW]
        assert (found.modified, found.deleted) == ([NODES], [WORLDS])
        assert found.failed == ["module-1-ros/chapter-2/02-binary.md"]
        assert found.unchanged == 2 and len(found.warnings) == 1 and not found.up_to_date
    assert await library.jobs() == before
    done = await library.ingest(book)
    assert (done.files_processed, done.files_deleted, done.files_failed) == (2, 1, 1)


async def test_what_the_ingest_would_refuse_is_a_warning(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    async with library.engine.begin() as connection:
        await connection.execute(update(books).values(embedding_model="another"))
    found = await library.changes(book)
    assert not found.up_to_date and "indexed with another" in found.warnings[0]


async def test_pages_outside_the_folder_are_not_read(library: Library, tmp_path: Path) -> None:
    """MkDocs lets a book name any folder of the machine as that of its pages."""
    outside, book = tmp_path / "outside", tmp_path / "book"
    outside.mkdir()
    book.mkdir()
    (outside / "secret.md").write_text(lesson("Secret", section("Secret", "cooking")))
    (book / "mkdocs.yml").write_text(f"site_name: B\ndocs_dir: {outside}\n")
    with pytest.raises(InputError, match="not in the book"):
        await library.changes(book)
    await library.sources.allow("book", str(book))
    job = await library.job_table.queue("book", "incremental", str(book))
    with pytest.raises(InputError, match="not in the book"):
        await library.run_job(job.job_id)
    assert (await library.job(job.job_id)).status == "failed"


async def test_a_book_is_found_again_with_its_manifest(
    library: Library, write_book: WriteBook
) -> None:
    """Its pages are in a folder of its folder; the manifest beside them counts next time too."""
    files = {f"text/{name}": text for name, text in small_book().items() if name.endswith(".md")}
    manifest = '[book]\nid = "deep"\ntitle = "Deep"\ndocs = "text"\nlanguage = "de"\n'
    book = write_book({**files, "bythebook.toml": manifest})
    await library.ingest(book)
    known = await library.book("deep")
    assert known.source == str(book.resolve())
    job = await library.job_table.queue("deep", "incremental", known.source)
    done = await library.run_job(job.job_id)
    assert done and done.job_id == job.job_id and done.files_processed == 0
    assert await library.run_job(job.job_id) is None
    assert (await library.book("deep")).language == "de"
