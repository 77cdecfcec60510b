"""The steps of a shared job, one at a time: files that spoil a share, deaths, busy books."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bythebook.embedding.embedder import MiniLM
from bythebook.errors import BusyError, ConfigurationError, StoreError
from bythebook.fetching.address import find_address
from bythebook.ingestion.locks import DatabaseLocks
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.reading import source
from bythebook.settings import Settings
from bythebook.workers.job_steps import MOST_TRIES, MOST_TROUBLES, JobSteps, TryLater
from bythebook.workers.job_store import JobStore
from bythebook.workers.shared_worker import check_shared
from fetching.test_repository import TEXT, commit, push
from fetching.test_repository import work as work
from invariants import check_invariants
from workers.fleet import write_lessons


async def make_job(library: Library, book_id: str, source: str) -> IngestionJob:
    """A job to read a book from where an operator said that it is."""
    await library.sources.allow(book_id, source)
    return await library.job_table.queue(book_id, "incremental", source)


async def nothing(_job: IngestionJob) -> None:
    """The folder needs no bringing up to date."""


@pytest.fixture
def steps(on_servers: Library) -> JobSteps:
    job_store = JobStore(on_servers.database, timedelta(seconds=60))
    return JobSteps(on_servers, job_store, DatabaseLocks(on_servers.engine), nothing)


async def do_all(steps: JobSteps, job_id: int, numbers: Sequence[int]) -> None:
    """As the queue would: what can't be done now comes again."""
    left = list(numbers)
    while left:
        number = left.pop(0)
        try:
            left += await steps.do_share(job_id, number)
        except TryLater:
            left.append(number)
    assert await steps.advance(job_id) == []


class Choking(MiniLM):
    """An embedder that one text is too much for."""

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        if any("wheels 5" in text for text in texts):
            raise RuntimeError("it choked")
        return await super().embed_documents(texts)


async def test_a_file_that_always_fails_is_reported_and_the_others_go_on(
    on_servers: Library, steps: JobSteps, tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "book", 7)
    on_servers.embedder = Choking()
    job = await make_job(on_servers, "one", str(folder))
    await do_all(steps, job.job_id, await steps.advance(job.job_id))
    done = await on_servers.job(job.job_id)
    assert (done.status, done.files_processed, done.files_failed) == ("completed", 6, 1)
    (warning,) = done.warnings
    assert "05-lesson.md" in warning and "it choked" in warning
    chunks = await check_invariants(on_servers, "one")
    assert len({chunk.metadata.source_file for chunk in chunks}) == 6


async def test_a_file_that_kills_its_worker_is_given_up(
    on_servers: Library, steps: JobSteps, tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "book", 3)
    job = await make_job(on_servers, "one", str(folder))
    (share,) = await steps.advance(job.job_id)
    assert await steps.job_store.begin(job.job_id, share)  # who took it is never heard of again
    deadly, *others = await steps.do_share(job.job_id, share)
    for _ in range(MOST_TRIES):
        assert await steps.job_store.begin(job.job_id, deadly)
    await do_all(steps, job.job_id, [deadly, *others])
    done = await on_servers.job(job.job_id)
    assert (done.status, done.files_processed, done.files_failed) == ("completed", 2, 1)
    assert "did not survive" in done.warnings[0]


async def test_what_a_plan_has_seen_of_a_file_goes_with_its_share(
    on_servers: Library, steps: JobSteps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "SETTLED_NS", 0)
    folder = write_lessons(tmp_path / "book", 3)
    job = await make_job(on_servers, "one", str(folder))
    numbers = await steps.advance(job.job_id)
    changed = "module-1/chapter-1/01-lesson.md"
    with (folder / changed).open("a") as file:
        file.write("\nQuite another sentence now.\n")
    await do_all(steps, job.job_id, numbers)
    state = await on_servers.catalog.state("one", on_servers.settings.collection)
    assert len(state.records) == 3
    for name, record in state.records.items():
        # What was seen before the change says nothing of the file as it was read.
        assert record.seen == (None if name == changed else source.look(folder, name))
    assert (await on_servers.changes(folder, book_id="one")).up_to_date


async def test_a_repository_is_fetched_and_done_by_one_worker(
    on_servers: Library, steps: JobSteps, work: Path, tmp_path: Path
) -> None:
    address = str(tmp_path / "valves.git")
    job = await make_job(on_servers, "valves", address)
    assert await steps.advance(job.job_id) == []
    done = await on_servers.job(job.job_id)
    assert (done.status, done.files_processed, done.source) == ("completed", 2, address)
    assert await steps.job_store.planned(job.job_id) is None
    assert (await on_servers.book("valves")).source == address

    # What changed since, by a worker that has fetched nothing yet.
    commit(work, {"docs/b.md": TEXT.format("B", "b")})
    push(work, "main")
    elsewhere = Settings(
        **{**on_servers.settings.model_dump(exclude_unset=True), "home": tmp_path / "elsewhere"}
    )
    async with await Library.open(elsewhere) as other:
        steps.library = other
        again = await make_job(on_servers, "valves", address)
        async with other.sources.locks.writing(_key(address)):
            with pytest.raises(TryLater):
                await steps.advance(again.job_id)
        await steps.advance(again.job_id)
    done = await on_servers.job(again.job_id)
    assert (done.status, done.files_processed, done.total_files) == ("completed", 1, 3)
    await check_invariants(on_servers, "valves")


def _key(text: str) -> str:
    address = find_address(text)
    assert address is not None
    return address.key


async def test_a_job_that_kills_whoever_plans_it_fails(
    on_servers: Library, steps: JobSteps, work: Path, tmp_path: Path
) -> None:
    address = str(tmp_path / "valves.git")
    job = await make_job(on_servers, "valves", address)
    assert await steps.job_store.claim(job.job_id, "valves")
    for _ in range(MOST_TROUBLES):  # who began it is never heard of again
        await steps.job_store.count_trouble(job.job_id)
    assert await steps.advance(job.job_id) == []
    failed = await on_servers.job(job.job_id)
    assert failed.status == "failed" and "workers died" in (failed.error_message or "")


async def test_one_who_was_taken_for_dead_changes_nothing(
    on_servers: Library, steps: JobSteps, tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "book", 1)
    job = await make_job(on_servers, "one", str(folder))
    (number,) = await steps.advance(job.job_id)
    slow = await steps.job_store.begin(job.job_id, number)
    assert slow is not None and await steps.job_store.is_ours(slow)
    await steps.do_share(job.job_id, number)
    assert not await steps.job_store.is_ours(slow)
    tally = job.model_copy(update={"files_processed": 1})
    await steps.job_store.complete(slow, tally, [])
    assert (await on_servers.job(job.job_id)).files_processed == 1
    await steps.advance(job.job_id)
    assert (await on_servers.job(job.job_id)).files_processed == 1


async def test_what_may_pass_is_waited_for_and_then_fails_the_job(
    on_servers: Library, steps: JobSteps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_lessons(tmp_path / "book", 1)
    job = await make_job(on_servers, "one", str(folder))
    (number,) = await steps.advance(job.job_id)
    store = await on_servers.store()

    async def failing(*_args: object, **_more: object) -> None:
        raise StoreError("The index can't be reached.", action="Try again.")

    monkeypatch.setattr(store, "replace", failing)
    for _ in range(MOST_TROUBLES):
        with pytest.raises(TryLater):
            await steps.do_share(job.job_id, number)
    assert (await on_servers.job(job.job_id)).status == "running"
    await steps.do_share(job.job_id, number)
    failed = await on_servers.job(job.job_id)
    assert failed.status == "failed" and "can't be reached" in (failed.error_message or "")
    assert await steps.do_share(job.job_id, number) == []
    assert not await on_servers.locks.is_writing("one")


async def test_a_book_has_one_writer_on_the_whole_database(
    on_servers: Library, steps: JobSteps, tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "one", 1)
    elsewhere = Settings(
        **{**on_servers.settings.model_dump(exclude_unset=True), "home": tmp_path / "elsewhere"}
    )
    async with await Library.open(elsewhere) as other:
        async with on_servers.locks.writing("one"):
            assert await other.locks.is_writing("one")
            assert not await other.locks.is_writing("two")
            with pytest.raises(BusyError):
                await other.ingest(folder, book_id="one")
        assert not await other.locks.is_writing("one")
        queued = await make_job(on_servers, "one", str(folder))
        (number,) = await steps.advance(queued.job_id)
        # Between two steps nobody holds the lock, but the plan does.
        assert await other.locks.is_writing("one")
        with pytest.raises(BusyError):
            await other.ingest(folder, book_id="one")
        second = await make_job(on_servers, "one", str(folder))
        with pytest.raises(TryLater):
            await steps.advance(second.job_id)
        await do_all(steps, queued.job_id, [number])
        assert await steps.advance(second.job_id) == []
        assert (await other.job(second.job_id)).status == "completed"


async def test_a_plan_without_workers_ends(
    on_servers: Library, steps: JobSteps, tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "one", 1)
    steps.job_store.lease = timedelta(0)
    job = await make_job(on_servers, "one", str(folder))
    (number,) = await steps.advance(job.job_id)
    assert (await on_servers.ingest(folder, book_id="one")).files_processed == 1
    assert (await on_servers.job(job.job_id)).status == "failed"
    assert await steps.do_share(job.job_id, number) == []
    await steps.job_store.keep_alive()
    assert await steps.job_store.waiting() == []


async def test_a_lock_ends_with_its_connection(
    on_servers: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import text

    from bythebook.ingestion import locks

    monkeypatch.setattr(locks, "WATCH", 0.05)
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND "
        "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with pytest.raises(StoreError, match="lock of the book"):
        async with on_servers.locks.writing("one"):
            async with on_servers.engine.begin() as connection:
                await connection.execute(cut)
            await asyncio.sleep(30)
    async with on_servers.locks.writing("one"):
        assert await on_servers.locks.is_writing("one")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "PostgreSQL"),
        ({"qdrant_url": "http://127.0.0.1:6333"}, "PostgreSQL"),
        ({"database_url": "postgresql://u@127.0.0.1/d"}, "Qdrant server"),
    ],
)
def test_what_can_not_be_shared_is_refused(
    settings: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        check_shared(Settings(home=tmp_path, **settings))  # type: ignore[arg-type]
    assert "BYTHEBOOK_WORKERS" in refused.value.action
