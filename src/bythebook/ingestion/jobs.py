"""Ingestion jobs, kept in the database so that they outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import jobs
from bythebook.database.transaction import reading, transaction
from bythebook.errors import BookError, BookNotFound
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob
from bythebook.models.vocabulary import IngestionMode, JobStatus

INTERRUPTED = "The process ended before the job did; run the same ingest again to continue."
STOPPED = "It was stopped; run the same ingest again to continue."


class Jobs:
    """The table of jobs."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def start(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A job that begins at once."""
        return await self._add(book_id, mode, source, "running")

    async def queue(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A job for whoever claims it first."""
        return await self._add(book_id, mode, source, "queued")

    async def _add(
        self, book_id: str, mode: IngestionMode, source: str, status: JobStatus
    ) -> IngestionJob:
        values = {
            "book_id": book_id,
            "mode": mode,
            "source": source,
            "status": status,
            "started_at": now(),
        }
        async with transaction(self.engine) as connection:
            result = await connection.execute(insert(jobs).values(**values).returning(*jobs.c))
            return _job(dict(result.mappings().one()))

    async def claim(self, job_id: int) -> bool:
        """Whether this caller, and nobody else, is the one to run a queued job."""
        return await self._leave_queue(job_id, {"status": "running", "started_at": now()})

    async def give_up(self, job_id: int, problem: BaseException) -> bool:
        """End a queued job that can't even begin."""
        values = {
            "status": "failed",
            "completed_at": now(),
            "error_message": _reason(problem),
        }
        return await self._leave_queue(job_id, values)

    async def _leave_queue(self, job_id: int, values: dict[str, Any]) -> bool:
        query = update(jobs).where(jobs.c.job_id == job_id, jobs.c.status == "queued")
        async with transaction(self.engine) as connection:
            return (await connection.execute(query.values(**values))).rowcount == 1

    @asynccontextmanager
    async def failing(self, job: IngestionJob) -> AsyncIterator[None]:
        """Whatever goes wrong within is the reason why the job failed."""
        try:
            yield
        except (Exception, asyncio.CancelledError) as problem:
            job.status = "failed"
            job.completed_at = now()
            job.error_message = _reason(problem)
            await asyncio.shield(self.save(job))
            raise

    async def save(self, job: IngestionJob) -> IngestionJob:
        """The job as it is now kept."""
        values = job.model_dump(exclude={"job_id", "duration_seconds"})
        async with transaction(self.engine) as connection:
            await connection.execute(
                update(jobs).where(jobs.c.job_id == job.job_id).values(**values)
            )
        return _job({"job_id": job.job_id, **values})

    async def get(self, job_id: int) -> IngestionJob:
        async with reading(self.engine) as connection:
            row = (
                (await connection.execute(select(jobs).where(jobs.c.job_id == job_id)))
                .mappings()
                .first()
            )
        if row is None:
            raise no_such_job(job_id)
        return _job(dict(row))

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
        async with reading(self.engine) as connection:
            rows = await connection.execute(query)
            return [_job(dict(row)) for row in rows.mappings()]

    async def last_ended(self, book_id: str) -> IngestionJob | None:
        """A job may wait while a younger one runs, so the last to end is not the last made."""
        query = (
            select(jobs)
            .where(jobs.c.book_id == book_id, jobs.c.status.in_(("completed", "failed")))
            .order_by(jobs.c.completed_at.desc(), jobs.c.job_id.desc())
            .limit(1)
        )
        async with reading(self.engine) as connection:
            row = (await connection.execute(query)).mappings().first()
        return _job(dict(row)) if row else None

    async def fail_interrupted(self, is_alive: Callable[[str], Awaitable[bool]]) -> None:
        """Jobs that say "running" while nobody writes their book died with their process."""
        running = await self.list(limit=None, statuses=["running"])
        dead = [job.job_id for job in running if not await is_alive(job.book_id)]
        if dead:
            async with transaction(self.engine) as connection:
                await connection.execute(
                    update(jobs)
                    .where(jobs.c.job_id.in_(dead), jobs.c.status == "running")
                    .values(status="failed", completed_at=now(), error_message=INTERRUPTED)
                )


def no_such_job(job_id: int) -> BookNotFound:
    return BookNotFound(
        f"There is no job {job_id}.",
        action="List them with `bythebook jobs` or `GET /ingestion/status`.",
        details={"field": "job_id"},
    )


def _reason(problem: BaseException) -> str:
    if isinstance(problem, BookError):
        return str(problem)
    if isinstance(problem, asyncio.CancelledError):
        return STOPPED
    return f"Unexpected {type(problem).__name__}: {problem}"


def _job(row: dict[str, Any]) -> IngestionJob:
    started: datetime = row["started_at"]
    completed: datetime | None = row["completed_at"]
    seconds = int((completed - started).total_seconds()) if completed else None
    return IngestionJob(**row, duration_seconds=seconds)
