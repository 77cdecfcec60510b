"""Ingesting, changing and ingesting again, on the real engine with the real embedder."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import update

from booktext import WriteBook, lesson, section, small_book
from bythebook.database.tables import books, files, jobs
from bythebook.errors import BusyError
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from invariants import check_invariants, chunks_of, content_of, fresh_content

NODES = "module-1-ros/chapter-1/01-nodes.md"


async def embedded_by(library: Library, book: Path, **options: str) -> int:
    before = library.embedder.texts_embedded
    await library.ingest(book, **options)  # type: ignore[arg-type]
    return library.embedder.texts_embedded - before


async def test_a_first_ingest_indexes_every_file(library: Library, write_book: WriteBook) -> None:
    job = await library.ingest(write_book(small_book()))
    chunks = await check_invariants(library, "small")
    assert job.status == "completed" and job.completed_at is not None
    assert (job.files_processed, job.files_skipped, job.total_files) == (4, 0, 4)
    assert job.chunks_created == job.chunks_embedded == len(chunks) == 8
    nodes = [chunk for chunk in chunks if chunk.metadata.source_file == NODES]
    assert {(c.metadata.module, c.metadata.chapter, c.metadata.lesson) for c in nodes} == {
        ("ros", 1, 1)
    }
    assert nodes[0].metadata.url.startswith("https://b.example/")


async def test_nothing_changed_does_nothing(home: Path, write_book: WriteBook) -> None:
    book = write_book(small_book())
    async with await Library.open(Settings(home=home)) as first:
        await first.ingest(book)
    async with await Library.open(Settings(home=home)) as second:
        job = await second.ingest(book)
        assert (job.files_processed, job.files_skipped, job.chunks_created) == (0, 4, 0)
        assert second.embedder.texts_embedded == 0
        assert second._store is None, "the index was opened for nothing"


async def test_how_much_there_is_to_do_is_told_before_the_first_file_is_in(
    library: Library, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int | None]] = []
    embed = library.embedder.embed_documents

    async def asking(texts: Sequence[str]) -> list[array[float]]:
        (job,) = await library.jobs()
        told.append((job.files_processed, job.files_to_process))
        return await embed(texts)

    monkeypatch.setattr(library.embedder, "embed_documents", asking)
    done = await library.ingest(write_book(small_book()))
    assert told[0] == (0, done.files_processed)


async def test_editing_one_section_embeds_only_it(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    files = small_book()
    await library.ingest(write_book(files))
    before = {chunk.id: chunk for chunk in await chunks_of(library, "small")}
    files[NODES] = files[NODES].replace("remark 3 on topics", "quite another remark on topics")
    book = write_book(files)
    assert await embedded_by(library, book) == 1
    after = {chunk.id: chunk for chunk in await check_invariants(library, "small")}
    assert len(after.keys() - before.keys()) == len(before.keys() - after.keys()) == 1
    kept = [chunk for chunk in after.values() if chunk.id in before]
    rewritten = [chunk for chunk in kept if chunk.metadata.source_file == NODES]
    assert {chunk.metadata.version for chunk in rewritten} == {2}
    for chunk in rewritten:
        assert chunk.metadata.created_at == before[chunk.id].metadata.created_at
        assert chunk.metadata.updated_at > before[chunk.id].metadata.updated_at
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")


async def test_a_renamed_heading_is_embedded_again(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    """The heading path is part of what is embedded, also of sections below the heading."""
    files = small_book()
    await library.ingest(write_book(files))
    files[NODES] = files[NODES].replace("# Nodes", "# Processes", 1)
    book = write_book(files)
    await library.ingest(book)
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")


async def test_a_deleted_file_answers_nothing_any_more(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    (book / "module-2-sim/chapter-1/01-worlds.md").unlink()
    job = await library.ingest(book)
    assert (job.files_deleted, job.chunks_deleted, job.total_files) == (1, 2, 3)
    await check_invariants(library, "small")
    for text in ("gravity in the simulated world", "lidar and camera", "sim"):
        query = SearchQuery(text=text, book_id="small", hardware_tier_filter=4, limit=20)
        found = await library.search(query)
        assert all("worlds" not in p.metadata.source_file for p in found.passages)


async def test_a_renamed_file_is_not_embedded_again(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    (book / NODES).rename(book / "module-1-ros/chapter-1/01-processes.md")
    assert await embedded_by(library, book) == 0
    await check_invariants(library, "small")
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")


async def test_a_file_put_in_between_moves_the_others(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    """Files without numbers get theirs from order; a shift rewrites, but embeds nothing twice."""
    files = {
        f"guide/basics/{name}.md": lesson(name, section("Same", "nodes"), section(name, "topics"))
        for name in ("beta", "delta", "gamma")
    }
    await library.ingest(write_book(files), book_id="flat")
    book = write_book({"guide/basics/alpha.md": lesson("alpha", section("First", "wheels"))})
    assert await embedded_by(library, book, book_id="flat") == 1
    chunks = await check_invariants(library, "flat")
    numbers = {c.metadata.source_file.split("/")[-1]: c.metadata.lesson for c in chunks}
    assert numbers == {"alpha.md": 1, "beta.md": 2, "delta.md": 3, "gamma.md": 4}
    (book / "guide/basics/alpha.md").unlink()
    assert await embedded_by(library, book, book_id="flat") == 0
    await check_invariants(library, "flat")


async def test_modes(library: Library, write_book: WriteBook) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    before = await content_of(library, "small")
    assert await embedded_by(library, book, mode="full") == 0
    assert await content_of(library, "small") == before
    assert await embedded_by(library, book, mode="recreate") == 8
    assert await content_of(library, "small") == before
    assert [job.mode for job in await library.jobs("small")] == ["recreate", "full", "incremental"]
    info = await library.book("small")
    assert info.last_full_ingest and info.total_chunks == 8


async def test_a_broken_file_is_reported_and_the_rest_goes_on(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    (book / "module-1-ros/chapter-1/02-binary.md").write_bytes(b"\x89PNG\0\0\1")
    (book / "module-1-ros/chapter-1/03-latin.md").write_bytes("Größe".encode("latin-1") * 5)
    job = await library.ingest(book)
    assert (job.files_processed, job.files_skipped, job.total_files) == (4, 2, 6)
    assert len(job.warnings) == 2
    assert any("02-binary.md is not a text file" in warning for warning in job.warnings)
    assert any("03-latin.md is not valid UTF-8" in warning for warning in job.warnings)
    await check_invariants(library, "small")


async def test_a_file_that_breaks_later_keeps_what_was_indexed(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    (book / NODES).write_bytes(b"\0\0")
    job = await library.ingest(book)
    assert job.warnings and job.chunks_deleted == 0
    chunks = await check_invariants(library, "small")
    assert sum(chunk.metadata.source_file == NODES for chunk in chunks) == 3


async def test_one_writer_per_book(library: Library, home: Path, write_book: WriteBook) -> None:
    book = write_book(small_book())
    async with library.locks.writing("small"):
        with pytest.raises(BusyError, match="Another ingest of small"):
            await library.ingest(book)
    await library.ingest(book)


async def test_a_job_whose_process_died_is_shown_as_failed(
    library: Library, write_book: WriteBook
) -> None:
    await library.ingest(write_book(small_book()))
    async with library.engine.begin() as connection:
        await connection.execute(update(jobs).values(status="running", completed_at=None))
    async with library.locks.writing("small"):
        assert (await library.jobs())[0].status == "running"
    died = (await library.jobs())[0]
    assert died.status == "failed" and "run the same ingest again" in (died.error_message or "")


async def test_chunks_of_an_earlier_chunker_are_cut_anew(
    library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await library.ingest(book)
    async with library.engine.begin() as connection:
        await connection.execute(update(books).values(chunker_version=0))
        await connection.execute(update(files).values(chunker_version=0))
    job = await library.ingest(book)
    assert (job.files_processed, job.chunks_embedded) == (job.total_files, 0)
    assert [line for line in job.warnings if "earlier version" in line] == job.warnings != []
    assert (await library.ingest(book)).files_processed == 0


async def test_points_the_database_never_heard_of_are_removed(
    library: Library, write_book: WriteBook
) -> None:
    """As after a kill between writing a new file to the index and noting it, and its removal."""
    book = write_book(small_book())
    await library.ingest(book)
    await library.catalog.forget_file("small", NODES)
    async with library.engine.begin() as connection:
        await connection.execute(update(jobs).values(status="failed"))
    (book / NODES).unlink()
    await library.ingest(book)
    chunks = await check_invariants(library, "small")
    assert all(chunk.metadata.source_file != NODES for chunk in chunks)


async def test_removing_a_book(library: Library, write_book: WriteBook) -> None:
    await library.ingest(write_book(small_book()))
    await library.remove_book("small")
    assert await library.books() == []
    assert (await library.index_info()).points == 0


async def test_an_index_another_database_wrote_is_taken_over(
    home: Path, write_book: WriteBook
) -> None:
    """Only the database is new: vectors are found in the index, and what is gone leaves it."""
    book = write_book(small_book())
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book)
    for file in home.glob("bythebook.db*"):
        file.unlink()
    (book / NODES).unlink()
    async with await Library.open(Settings(home=home)) as library:
        job = await library.ingest(book)
        assert (job.files_processed, job.chunks_embedded) == (3, 0)
        await check_invariants(library, "small")
