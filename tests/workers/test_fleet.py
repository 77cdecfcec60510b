"""Several real worker processes: the same index as one process makes, whoever dies meanwhile."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from sqlalchemy import func, select

from bythebook.database.tables import PASSING
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.server.ingest_worker import IngestWorker
from bythebook.server.managed_books import FolderSource
from bythebook.settings import Settings
from extent import PATIENCE
from fetching.test_repository import work as work
from invariants import check_invariants, content_of
from server.running import until
from workers.fleet import Fleet, write_lessons

FILES = 50


async def ended(library: Library, job: IngestionJob) -> IngestionJob:
    async def has() -> bool:
        return (await library.job(job.job_id)).completed_at is not None

    await until(has)
    return await library.job(job.job_id)


async def check_same_as_in_process(library: Library, folder: Path, tmp_path: Path) -> None:
    found = await content_of(library, folder.name)
    async with await Library.open(Settings(home=tmp_path / "alone")) as alone:
        await alone.ingest(folder, book_id=folder.name)
        expected = await content_of(alone, folder.name)
    assert found == expected


async def nothing_left(library: Library) -> bool:
    async with library.engine.connect() as connection:
        counts = [
            (await connection.execute(select(func.count()).select_from(table))).scalar_one()
            for table in PASSING
        ]
    return not any(counts)


@pytest.mark.slow
async def test_workers_stop_and_die_and_nothing_is_lost_or_doubled(
    on_servers: Library, workers: Fleet, work: Path, tmp_path: Path
) -> None:
    one = write_lessons(tmp_path / "books" / "one", FILES)
    two = write_lessons(tmp_path / "books" / "two", 3)
    service = IngestWorker(on_servers)
    await service.start()
    for book, source in (("one", one), ("two", two), ("valves", tmp_path / "valves.git")):
        await on_servers.sources.allow(book, str(source))
    big = await service.submit(FolderSource("one", one))
    assert (await on_servers.job(big.job_id)).status == "queued"
    assert await service.count_waiting() == 1

    async def done_so_far() -> int:
        return (await on_servers.job(big.job_id)).files_processed

    # Told to stop, a worker finishes what it has begun.
    stopped = workers.start("--concurrency", "1")
    await until(done_so_far)
    stopped.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(stopped.wait, PATIENCE) == 0
    before = await on_servers.job(big.job_id)
    state = await on_servers.catalog.state("one", on_servers.settings.collection)
    assert before.status == "running" and len(state.records) == before.files_processed < FILES

    # Killed, it is taken over by another.
    killed = workers.start("--concurrency", "1")

    async def went_on() -> bool:
        return await done_so_far() > before.files_processed

    await until(went_on)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    # Elsewhere, with another home, the job is not taken for dead.
    other = Settings(
        **{**on_servers.settings.model_dump(exclude_unset=True), "home": tmp_path / "other"}
    )
    async with await Library.open(other) as elsewhere:
        assert (await elsewhere.job(big.job_id)).status == "running"
    small = await service.submit(FolderSource("two", two))
    fetched = await service.submit(FolderSource("valves", str(tmp_path / "valves.git")))
    workers.start()
    workers.start()
    done = await ended(on_servers, big)
    assert (done.status, done.error_message) == ("completed", None)
    assert (done.files_processed, done.total_files, done.files_failed) == (FILES, FILES, 0)
    assert (await ended(on_servers, small)).files_processed == 3
    assert (await ended(on_servers, fetched)).files_processed == 2
    assert len(list(tmp_path.glob("home-*/sources/valves~*/valves"))) == 1
    await check_invariants(on_servers, "one")
    await check_invariants(on_servers, "two")
    await check_same_as_in_process(on_servers, one, tmp_path)
    assert await nothing_left(on_servers) and await service.count_waiting() == 0

    # What changed since, and only that.
    (one / "module-1/chapter-1/03-lesson.md").unlink()
    (one / "module-1/chapter-2/05-lesson.md").write_text("# New\n\nQuite another lesson now.\n")
    again = await ended(on_servers, await service.submit(FolderSource("one", one)))
    assert (again.files_processed, again.files_deleted, again.chunks_embedded) == (1, 1, 1)
    await check_invariants(on_servers, "one")
    await check_same_as_in_process(on_servers, one, tmp_path)
    for process in workers.processes[2:]:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(PATIENCE) for process in workers.processes[2:]] == [0, 0]
    logs = workers.log(2) + workers.log(3)
    assert logs.count("is done") == 4 and "Traceback" not in logs
