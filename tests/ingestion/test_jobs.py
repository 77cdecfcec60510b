"""The table of jobs: who runs one, which are dead, which ended last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bythebook.database.engine import Database
from bythebook.errors import BookNotFound, InputError
from bythebook.ingestion.jobs import INTERRUPTED, STOPPED, Jobs
from bythebook.models.chunk import now


@pytest.fixture
async def jobs(database_url: str) -> AsyncIterator[Jobs]:
    database = await Database.open(database_url)
    yield Jobs(database)
    await database.close()


async def test_of_many_who_want_a_job_one_gets_it(jobs: Jobs) -> None:
    job = await jobs.queue("a", "full", "books/a")
    assert (job.status, job.source, job.completed_at) == ("queued", "books/a", None)
    claims = await asyncio.gather(*(jobs.claim(job.job_id) for _ in range(8)))
    assert sorted(claims) == [False] * 7 + [True]
    assert (await jobs.get(job.job_id)).status == "running"
    assert not await jobs.give_up(job.job_id, InputError("too late"))
    assert not await jobs.claim(job.job_id + 1)


async def test_a_queued_job_is_not_dead(jobs: Jobs) -> None:
    queued = await jobs.queue("a", "incremental", "books/a")
    dead = await jobs.start("a", "incremental", "books/a")
    alive = await jobs.start("b", "incremental", "books/b")

    async def is_alive(book_id: str) -> bool:
        return book_id == "b"

    await jobs.fail_interrupted(is_alive)
    states = {job.job_id: (job.status, job.error_message) for job in await jobs.list()}
    assert states == {
        queued.job_id: ("queued", None),
        dead.job_id: ("failed", INTERRUPTED),
        alive.job_id: ("running", None),
    }


async def test_the_last_to_end_is_not_the_last_made(jobs: Jobs) -> None:
    assert await jobs.last_ended("a") is None
    waiting = await jobs.queue("a", "incremental", "books/a")
    younger = await jobs.start("a", "incremental", "books/a")
    younger.status, younger.completed_at = "completed", now()
    await jobs.save(younger)
    assert (await jobs.last_ended("a")) == await jobs.get(younger.job_id)
    await jobs.give_up(waiting.job_id, InputError("There is no folder.", action="Make it."))
    last = await jobs.last_ended("a")
    assert last and last.job_id == waiting.job_id
    assert last.error_message == "There is no folder. Make it."


async def test_a_cancelled_job_says_so(jobs: Jobs) -> None:
    job = await jobs.start("a", "incremental", "books/a")
    begun = asyncio.Event()

    async def work() -> None:
        async with jobs.failing(job):
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    stopped = await jobs.get(job.job_id)
    assert (stopped.status, stopped.error_message) == ("failed", STOPPED)
    assert stopped.completed_at and stopped.duration_seconds == 0


async def test_lists_of_some_books(jobs: Jobs) -> None:
    made = [await jobs.queue(book, "incremental", "books") for book in ("a", "b", "c", "a")]
    a, b, _, again = (job.job_id for job in made)
    assert [job.job_id for job in await jobs.list("a")] == [again, a]
    assert [job.job_id for job in await jobs.list(books=("a", "b"))] == [again, b, a]
    assert [job.job_id for job in await jobs.list(books=("a", "b"), limit=2)] == [again, b]
    assert await jobs.list("c", books=("a",)) == []
    assert await jobs.list(statuses=["running"]) == []
    with pytest.raises(BookNotFound, match="no job 999"):
        await jobs.get(999)
