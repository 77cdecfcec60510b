"""The worker: one job at a time, none lost, whatever ends."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import pytest

from booktext import TOPICS, lesson, section
from bythebook.errors import BusyError, InputError
from bythebook.ingestion.jobs import INTERRUPTED, STOPPED
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.server.ingest_worker import IngestWorker
from bythebook.server.managed_books import FolderSource, find_new_book, folder_below
from bythebook.settings import Settings
from extent import PATIENCE
from invariants import check_invariants, content_of

KILLED = """
import asyncio, sys
from pathlib import Path
from bythebook.library import Library
from bythebook.server.managed_books import FolderSource
from bythebook.server.ingest_worker import IngestWorker
from bythebook.settings import Settings

async def main():
    async with await Library.open(Settings(home=Path(sys.argv[1]))) as library:
        worker = IngestWorker(library)
        for book in sys.argv[2:]:
            await library.sources.allow(Path(book).name, book)
            await worker.submit(FolderSource(Path(book).name, Path(book)))
        await worker.start()
        while not any(job.status == "running" for job in await library.job_table.list()):
            await asyncio.sleep(0.01)
        print("running", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@dataclass
class Watched:
    worker: IngestWorker
    ended: asyncio.Queue[IngestionJob]

    async def submit(self, folder: Path, *, push: bool = False) -> IngestionJob:
        await self.worker.library.sources.allow(folder.name, str(folder))
        return await self.worker.submit(FolderSource(folder.name, folder), push=push)

    async def next(self) -> IngestionJob:
        return await asyncio.wait_for(self.ended.get(), PATIENCE)


@pytest.fixture
async def watched(library: Library) -> AsyncIterator[Watched]:
    ended: asyncio.Queue[IngestionJob] = asyncio.Queue()
    worker = IngestWorker(library, ended.put_nowait)
    yield Watched(worker, ended)
    await worker.stop()


def book(tmp_path: Path, name: str, lessons: int = 1) -> Path:
    root = tmp_path / "books" / name
    root.mkdir(parents=True)
    for number in range(lessons):
        topic = list(TOPICS)[number % len(TOPICS)]
        parts = (section(f"Part {number}.{part}", topic) for part in range(4))
        (root / f"{number:02}-lesson.md").write_text(lesson(f"Lesson {number}", *parts))
    return root


async def test_a_job_that_nobody_told_of_is_found(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may be lost when a job was queued, but its service has not heard so."""
    monkeypatch.setattr("bythebook.server.ingest_worker.IDLE_PAUSE", 0.05)
    await watched.worker.start()
    await asyncio.sleep(0.1)
    folder = book(tmp_path, "one")
    await watched.worker.library.sources.allow("one", str(folder))
    job = await watched.worker.jobs.queue("one", "incremental", str(folder))
    ended = await watched.next()
    assert (ended.job_id, ended.status) == (job.job_id, "completed")


async def test_jobs_run_one_after_the_other(watched: Watched, tmp_path: Path) -> None:
    made = [await watched.submit(book(tmp_path, name)) for name in ("one", "two", "three")]
    assert [job.status for job in made] == ["queued"] * 3
    assert await watched.worker.count_waiting() == 3
    await watched.worker.start()
    done = [await watched.next() for _ in made]
    assert [job.job_id for job in done] == [job.job_id for job in made]
    assert [job.status for job in done] == ["completed"] * 3
    for before, after in pairwise(done):
        assert before.completed_at and before.completed_at <= after.started_at
    assert await watched.worker.count_waiting() == 0
    later = await watched.submit(book(tmp_path, "four"))
    assert (await watched.next()).job_id == later.job_id


async def test_a_book_has_one_job_at_a_time(
    watched: Watched, library: Library, tmp_path: Path
) -> None:
    folder = book(tmp_path, "one")
    first = await watched.submit(folder)
    with pytest.raises(BusyError, match="queued already") as busy:
        await watched.submit(folder)
    assert busy.value.details == {"book_id": "one", "job_id": first.job_id}
    await watched.worker.start()
    await watched.next()
    async with library.locks.writing("one"):
        running = await library.job_table.start("one", "full", str(folder))
        with pytest.raises(BusyError, match="running already") as busy:
            await watched.submit(folder)
        assert busy.value.details["job_id"] == running.job_id
        assert (await watched.submit(book(tmp_path, "two"))).status == "queued"
        assert (await watched.next()).book_id == "two"


async def test_a_failing_job_says_why_and_the_next_one_runs(
    watched: Watched, tmp_path: Path
) -> None:
    gone, good = book(tmp_path, "gone"), book(tmp_path, "good")
    await watched.submit(gone)
    await watched.submit(good)
    shutil.rmtree(gone)
    await watched.worker.start()
    failed = await watched.next()
    assert failed.status == "failed" and "There is no file or folder" in (
        failed.error_message or ""
    )
    assert (await watched.next()).status == "completed"


async def test_a_job_that_can_not_begin_does_not_hold_up_the_queue(
    watched: Watched, library: Library, tmp_path: Path
) -> None:
    """As one that another version queued: nothing about it can be trusted."""
    bad = await library.job_table.queue("no/such/../id", "incremental", "nowhere")
    await watched.submit(book(tmp_path, "good"))
    await watched.worker.start()
    assert (await watched.next()).job_id == bad.job_id
    assert (await watched.next()).status == "completed"


async def test_what_waits_is_taken_up_by_the_next_service(home: Path, tmp_path: Path) -> None:
    async with await Library.open(Settings(home=home)) as library:
        one = book(tmp_path, "one")
        await library.sources.allow("one", str(one))
        job = await IngestWorker(library).submit(FolderSource("one", one))
    async with await Library.open(Settings(home=home)) as library:
        assert (await library.job(job.job_id)).status == "queued"
        ended: asyncio.Queue[IngestionJob] = asyncio.Queue()
        worker = IngestWorker(library, ended.put_nowait)
        await worker.start()
        done = await asyncio.wait_for(ended.get(), 60)
        assert (done.job_id, done.status) == (job.job_id, "completed")
        await worker.stop()


def serve_and_kill(home: Path, *books: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(home), *map(str, books)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout:
        assert process.stdout.readline() == "running\n"
        process.kill()
        process.wait()


async def test_after_a_kill_every_job_tells_the_truth(home: Path, tmp_path: Path) -> None:
    one, two = book(tmp_path, "one", lessons=30), book(tmp_path, "two")
    await asyncio.to_thread(serve_and_kill, home, one, two)
    async with await Library.open(Settings(home=home)) as library:
        ended: asyncio.Queue[IngestionJob] = asyncio.Queue()
        worker = IngestWorker(library, ended.put_nowait)
        await worker.start()
        assert (await asyncio.wait_for(ended.get(), 60)).book_id == "two"
        second, first = await library.jobs()
        assert (first.book_id, first.status, first.error_message) == ("one", "failed", INTERRUPTED)
        assert (second.book_id, second.status) == ("two", "completed")
        await worker.submit(FolderSource("one", one))
        assert (await asyncio.wait_for(ended.get(), 60)).status == "completed"
        await check_invariants(library, "one")
        await worker.stop()


async def first_files(library: Library, job_id: int) -> None:
    async with asyncio.timeout(PATIENCE):
        async for _ in ticks():
            if (await library.job(job_id)).files_processed:
                return


async def ticks() -> AsyncIterator[None]:
    for _ in count():
        yield
        await asyncio.sleep(0.01)


async def test_a_stop_keeps_what_is_finished(
    watched: Watched, library: Library, tmp_path: Path
) -> None:
    folder = book(tmp_path, "one", lessons=40)
    job = await watched.submit(folder)
    waiting = await watched.submit(book(tmp_path, "two"))
    await watched.worker.start()
    await first_files(library, job.job_id)
    await watched.worker.stop()
    stopped = await library.job(job.job_id)
    assert (stopped.status, stopped.error_message) == ("failed", STOPPED)
    assert 0 < stopped.files_processed < 40
    assert (await library.job(waiting.job_id)).status == "queued"
    state = await library.catalog.state("one", library.settings.collection)
    assert len(state.records) == stopped.files_processed
    await watched.worker.start()
    assert (await watched.next()).job_id == waiting.job_id
    await watched.submit(folder)
    done = await watched.next()
    assert (done.status, done.files_processed) == ("completed", 40 - stopped.files_processed)
    found = await content_of(library, "one")
    async with await Library.open(Settings(home=tmp_path / "fresh")) as fresh:
        await fresh.ingest(folder, book_id="one")
        assert found == await content_of(fresh, "one")


async def test_a_push_during_an_ingest_is_followed_by_exactly_one_more(
    watched: Watched, library: Library, tmp_path: Path
) -> None:
    folder = book(tmp_path, "one")
    async with library.locks.writing("one"):
        await library.job_table.start("one", "incremental", str(folder))
        pushes = await asyncio.gather(*(watched.submit(folder, push=True) for _ in range(5)))
        assert len({job.job_id for job in pushes}) == 1
        assert await watched.worker.count_waiting() == 1
        await watched.worker.start()
        await watched.submit(book(tmp_path, "two"))
        assert (await watched.next()).book_id == "two", (
            "a book that is being written was waited for"
        )
        assert (await library.job(pushes[0].job_id)).status == "queued"
    done = await watched.next()
    assert (done.job_id, done.status) == (pushes[0].job_id, "completed")


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A books folder with one book, links that lead out of it, and something outside."""
    inside = book(tmp_path, "inside").parent
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "page.md").write_text(lesson("Out", section("Out", "cooking")))
    (tmp_path / "books-too").mkdir()
    (inside / "file.md").write_text("# A file\n")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "up").symlink_to("..")
    (inside / "circle").symlink_to("circle")
    (inside / "home").symlink_to("inside")
    return inside


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside",
        "../nowhere",
        "inside/../../outside",
        "inside/..",
        "inside/../inside",
        "../books-too",
        "link",
        "link/",
        "up/outside",
        "up/nowhere",
        "circle",
        "nowhere",
        "file.md/x",
        ".",
        "",
        "/",
        "/etc",
        "/nowhere",
        "~",
        "~root",
        "~/books",
        "inside\0",
        "\0",
        "file:///etc",
        "https://127.0.0.1/book",
        "git@127.0.0.1:book",
        "ssh://127.0.0.1/book",
        "\udcff",
        "x" * 1000,
        "a/" * 5000,
        "..\\outside",
        "%2e%2e/outside",
    ],
)
def test_nothing_outside_the_books_folder_is_reached(shelf: Path, path: str) -> None:
    with pytest.raises(InputError) as refused:
        folder_below(shelf, path)
    assert refused.value.message == (
        "The path does not lead to a folder or file in the books folder."
    )
    assert refused.value.details == {"field": "path"}


async def test_folders_below_the_books_folder(shelf: Path, tmp_path: Path) -> None:
    inside = (shelf / "inside").resolve()
    for path in ("inside", "inside/", "./inside", "home", str(shelf / "inside"), "//inside"):
        if path.startswith("//"):
            with pytest.raises(InputError):
                folder_below(shelf, path)
        else:
            assert await find_new_book(shelf, path, None) == FolderSource("inside", inside)
    assert (await find_new_book(shelf, "inside", "named")).book_id == "named"
    file = (shelf / "file.md").resolve()
    assert await find_new_book(shelf, "file.md", None) == FolderSource("file", file)
    (shelf / "empty").mkdir()
    (shelf / "file.txt").write_text("no book")
    bare = shelf / "bare.git"
    (bare / "objects").mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main")
    none = tmp_path / "none"
    wrong = ((shelf, "empty"), (shelf, "file.txt"), (shelf, "bare.git"), (None, "inside"))
    for shelves, path in (*wrong, (none, "inside")):
        with pytest.raises(InputError) as refused:
            await find_new_book(shelves, path, None)
        assert refused.value.details == {"field": "path"}
