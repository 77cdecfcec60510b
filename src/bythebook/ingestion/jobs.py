"""Ingestion jobs, kept in the database so that they outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from sqlalchemy import func, insert, select, update

from bythebook.database.engine import Database, Rows, readable
from bythebook.database.tables import jobs
from bythebook.errors import BookError, BookNotFound, DiskFull
from bythebook.models.chunk import now
from bythebook.models.job import FileChanges, IngestionJob
from bythebook.models.values import IngestionMode, JobStatus

INTERRUPTED = "The process ended before the job did; run the same ingest again to continue."
STOPPED = "It was stopped; run the same ingest again to continue."
NOT_READABLE = "The job can't be read: its row in the database is none that bythebook writes."
# The greatest that PostgreSQL can be asked for.
MAX_JOB_ID = 2**31 - 1
# How long a job took follows from the rest.
NOT_KEPT = {"job_id", "duration_seconds"}


class Jobs:
    """The table of jobs."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def start(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A job that begins at once."""
        return await self._add(book_id, mode, source, "running")

    async def queue(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A job for whoever claims it first."""
        return await self._add(book_id, mode, source, "queued")

    async def _add(
        self, book_id: str, mode: IngestionMode, source: str, status: JobStatus
    ) -> IngestionJob:
        job = IngestionJob(
            job_id=0, book_id=book_id, mode=mode, source=source, status=status, started_at=now()
        )
        query = insert(jobs).values(**_values(job)).returning(jobs.c.job_id)
        [row] = await self.database.change(query)
        return job.model_copy(update=row)

    async def claim(self, job_id: int) -> bool:
        """Whether this caller, and nobody else, is the one to run a queued job."""
        return await self._update(job_id, "queued", status="running", started_at=now())

    async def give_up(self, job_id: int, problem: BaseException) -> bool:
        """End a queued job that can't even begin."""
        return await self._fail(job_id, "queued", reason_of(problem))

    @asynccontextmanager
    async def failing(self, job: IngestionJob) -> AsyncIterator[None]:
        """Whatever goes wrong within is the reason why the job failed."""
        try:
            yield
        except (Exception, asyncio.CancelledError) as problem:
            job.status = "failed"
            job.completed_at = now()
            job.error_message = reason_of(problem)
            await asyncio.shield(self.save(job))
            raise

    async def save(self, job: IngestionJob) -> IngestionJob:
        """The job as it is now kept."""
        values = _values(job)
        await self._update(job.job_id, None, **values)
        return _job({"job_id": job.job_id, **values})

    async def get(self, job_id: int) -> IngestionJob:
        rows = await self.database.look_up(select(jobs).where(jobs.c.job_id == job_id))
        found = await self._readable(rows)
        if not found:
            raise no_such_job(job_id)
        return found[0]

    async def list(
        self,
        book_id: str | None = None,
        limit: int | None = 50,
        *,
        books: Collection[str] | None = None,
        statuses: Collection[JobStatus] | None = None,
    ) -> list[IngestionJob]:
        """Newest first; those of one book, of some books, in one of some states."""
        query = select(jobs).order_by(jobs.c.job_id.desc()).limit(limit)
        if book_id is not None:
            query = query.where(jobs.c.book_id == book_id)
        if books is not None:
            query = query.where(jobs.c.book_id.in_(books))
        if statuses is not None:
            query = query.where(jobs.c.status.in_(statuses))
        return [*await self._readable(await self.database.look_up(query))]

    async def _readable(self, rows: Rows) -> Sequence[IngestionJob]:
        """One that somebody else wrote and that can't be read would wait for ever: it is ended."""
        found = readable("job", rows, _job)
        known = {job.job_id for job in found}
        for row in rows:
            if row["job_id"] not in known and row["status"] in ("queued", "running"):
                await self._fail(row["job_id"], row["status"], NOT_READABLE)
        return found

    async def last_ended(self, book_id: str) -> IngestionJob | None:
        """A job may wait while a younger one runs, so the last to end is not the last made."""
        ended = jobs.c.status.in_(("completed", "failed"))
        latest = (jobs.c.completed_at.desc(), jobs.c.job_id.desc())
        rows = await self.database.look_up(
            select(jobs).where(jobs.c.book_id == book_id, ended).order_by(*latest).limit(1)
        )
        return next(iter(readable("job", rows, _job)), None)

    async def last_changes(self) -> dict[str, FileChanges]:
        """What the last ingest of each book that was completed found changed."""
        completed = select(func.max(jobs.c.job_id)).where(jobs.c.status == "completed")
        latest = completed.group_by(jobs.c.book_id)
        rows = await self.database.look_up(
            select(jobs.c.book_id, jobs.c.changes).where(jobs.c.job_id.in_(latest))
        )
        changed = [row for row in rows if row["changes"]]
        found = readable("book", changed, lambda row: (row["book_id"], _changes(row)))
        return dict(found)

    async def fail_interrupted(self, is_alive: Callable[[str], Awaitable[bool]]) -> None:
        """Jobs that say "running" while nobody writes their book died with their process. On a full
        disk that is noted later: jobs can still be looked at."""
        with suppress(DiskFull):
            for job in await self.list(limit=None, statuses=["running"]):
                if not await is_alive(job.book_id):
                    await self._fail(job.job_id, "running", INTERRUPTED)

    async def _fail(self, job_id: int, while_it_is: JobStatus, reason: str) -> bool:
        values = {"status": "failed", "completed_at": now(), "error_message": reason}
        return await self._update(job_id, while_it_is, **values)

    async def _update(self, job_id: int, while_it_is: JobStatus | None, **values: Any) -> bool:
        """Whether it was in that state, and so was changed."""
        query = update(jobs).where(jobs.c.job_id == job_id)
        if while_it_is:
            query = query.where(jobs.c.status == while_it_is)
        return bool(await self.database.change(query.values(**values).returning(jobs.c.job_id)))


def no_such_job(job_id: int) -> BookNotFound:
    return BookNotFound(
        f"There is no job {job_id}.",
        action="List them with `bythebook jobs` or `GET /ingestion/status`.",
        details={"field": "job_id"},
    )


def _changes(row: dict[str, Any]) -> FileChanges:
    return FileChanges.model_validate(row["changes"])


def reason_of(problem: BaseException) -> str:
    if isinstance(problem, BookError):
        return str(problem)
    if isinstance(problem, asyncio.CancelledError):
        return STOPPED
    return f"Unexpected {type(problem).__name__}: {problem}"


def _values(job: IngestionJob) -> dict[str, Any]:
    return job.model_dump(exclude=NOT_KEPT)


def _job(row: dict[str, Any]) -> IngestionJob:
    completed = row["completed_at"]
    seconds = int((completed - row["started_at"]).total_seconds()) if completed else None
    return IngestionJob(**row, duration_seconds=seconds)
