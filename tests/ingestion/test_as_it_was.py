"""A folder that says what it said when all of it was indexed is not even compared with the index;
whatever may have changed since, it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from booktext import WriteBook, lesson, section, small_book
from bythebook.errors import ConfigurationError
from bythebook.index.store import book_filter
from bythebook.ingestion import ingest, plan
from bythebook.ingestion.ingest import forget_missing_files
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.reading import source
from bythebook.reading.layout import Book
from invariants import check_invariants

NODES = "module-1-ros/chapter-1/01-nodes.md"


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written long before they are read."""
    monkeypatch.setattr(source, "SETTLED_NS", 0)


@pytest.fixture
def root(write_book: WriteBook) -> Path:
    return write_book(small_book())


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The books that were compared with the index."""
    found: list[str] = []

    def noting(book: Book, *more: object) -> plan.Plan:
        found.append(book.book_id)
        return plan.make_plan(book, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest, "make_plan", noting)
    return found


async def test_nothing_is_compared(library: Library, root: Path, compared: list[str]) -> None:
    (root / "out.md").symlink_to("/etc/hostname")
    first = await library.ingest(root)
    before = await library.book("small")
    compared.clear()
    shown: list[IngestionJob] = []
    again = await library.ingest(root, on_progress=lambda job: shown.append(job.model_copy()))
    assert not compared
    assert again.job_id == first.job_id + 1 and again.status == "completed"
    assert again.total_files == again.files_skipped == first.total_files
    assert (again.files_processed, again.files_to_process, again.chunks_created) == (0, 0, 0)
    assert again.warnings == first.warnings and "out.md" in again.warnings[0]
    assert [job.total_files for job in shown] == [first.total_files]
    assert await library.job_table.get(again.job_id) == again
    after = await library.book("small")
    assert after.last_incremental_update and before.last_incremental_update
    assert after.last_incremental_update > before.last_incremental_update
    assert after.model_dump(exclude={"last_incremental_update"}) == before.model_dump(
        exclude={"last_incremental_update"}
    )


def edited(root: Path) -> None:
    (root / NODES).write_text(lesson("Nodes", section("Other nodes", "cooking")))


def edited_with_the_same_time_and_size(root: Path) -> None:
    times = (root / NODES).stat()
    text = (root / NODES).read_text()
    (root / NODES).write_text(text.replace("process", "project"))
    os.utime(root / NODES, ns=(times.st_atime_ns, times.st_mtime_ns))


def added(root: Path) -> None:
    (root / "module-2-sim/chapter-1/02-wheels.md").write_text(lesson("Wheels"))


def deleted(root: Path) -> None:
    (root / NODES).unlink()


def renamed(root: Path) -> None:
    (root / NODES).rename((root / NODES).with_name("02-nodes.md"))


def told_otherwise(root: Path) -> None:
    manifest = root / "bythebook.toml"
    manifest.write_text(manifest.read_text() + '[defaults]\nlayer = "L4"\n')


@pytest.mark.parametrize(
    "change",
    [edited, edited_with_the_same_time_and_size, added, deleted, renamed, told_otherwise],
)
async def test_any_change_of_the_folder_is_seen(
    library: Library, root: Path, compared: list[str], change: Callable[[Path], None]
) -> None:
    await library.ingest(root)
    change(root)
    compared.clear()
    job = await library.ingest(root)
    assert compared and (job.files_processed or job.files_deleted)
    await check_invariants(library, "small")
    compared.clear()
    await library.ingest(root)
    assert not compared


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [(plan, "__version__", "0.0.1"), (Library, "max_bytes", 100_000_000)],
)
async def test_another_program_compares(
    library: Library,
    root: Path,
    compared: list[str],
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    name: str,
    value: object,
) -> None:
    await library.ingest(root)
    compared.clear()
    monkeypatch.setattr(where, name, value)
    assert (await library.ingest(root)).files_processed == 0
    assert compared


async def test_another_embedder_is_refused_all_the_same(
    library: Library, root: Path, compared: list[str]
) -> None:
    await library.ingest(root)
    await library.catalog.save_book("small", {"embedding_model": "another"})
    compared.clear()
    with pytest.raises(ConfigurationError, match="indexed with another"):
        await library.ingest(root)
    # That job failed, so that the next compares.
    await library.catalog.save_book("small", {"embedding_model": library.embedder.name})
    await library.ingest(root)
    assert compared


async def test_who_asks_for_everything_gets_it(library: Library, root: Path) -> None:
    first = await library.ingest(root)
    again = await library.ingest(root, mode="full")
    assert again.files_processed == first.files_processed > 0


async def test_a_file_that_was_not_read_is_tried_again(
    library: Library, root: Path, compared: list[str]
) -> None:
    (root / "bad.md").write_bytes(b"\xff\xfe\x00")
    assert (await library.ingest(root)).files_failed == 1
    compared.clear()
    assert (await library.ingest(root)).files_failed == 1
    assert compared


async def test_what_the_index_lost_is_read_again(library: Library, root: Path) -> None:
    await library.ingest(root)
    store = await library.store()
    await store.delete(book_filter("small", source_file=NODES))
    assert await forget_missing_files(store, library.catalog, library.settings.collection) == 1
    assert (await library.ingest(root)).files_processed == 1
    await check_invariants(library, "small")


async def test_a_book_that_is_moving_is_not_taken_for_settled(
    library: Library, root: Path, compared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "SETTLED_NS", 3600 * 1_000_000_000)
    for _ in range(2):
        await library.ingest(root)
    assert len(compared) == 2
    assert (await library.book("small")).seen is None
