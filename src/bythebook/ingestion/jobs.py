"""Ingestion jobs, kept in the database so that they outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from bythebook.database.database import Database
from bythebook.database.database_file import as_told
from bythebook.errors import BookError, BookNotFound
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob
from bythebook.models.vocabulary import IngestionMode, JobStatus

INTERRUPTED = "The process ended before the job did; run the same ingest again to continue."
STOPPED = "It was stopped; run the same ingest again to continue."
# The table has all that a job has, but how long it took follows from the rest.
COLUMNS = [name for name in IngestionJob.model_fields if name not in ("job_id", "duration_seconds")]

ADD = f"""
INSERT INTO jobs ({", ".join(COLUMNS)}) VALUES ({", ".join(f":{name}" for name in COLUMNS)})
RETURNING job_id
"""
LAST_ENDED = """
SELECT * FROM jobs WHERE book_id = :book_id AND status IN ('completed', 'failed')
ORDER BY completed_at DESC, job_id DESC LIMIT 1
"""


class Jobs:
    """The table of jobs, without SQLAlchemy where the database is a file."""

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
        [row] = await self.database.change(ADD, **_values(job))
        return job.model_copy(update=row)

    async def claim(self, job_id: int) -> bool:
        """Whether this caller, and nobody else, is the one to run a queued job."""
        return await self._update(job_id, "queued", status="running", started_at=now())

    async def give_up(self, job_id: int, problem: BaseException) -> bool:
        """End a queued job that can't even begin."""
        return await self._fail(job_id, "queued", _reason(problem))

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
        values = _values(job)
        await self._update(job.job_id, None, **values)
        return _job({"job_id": job.job_id, **values})

    async def get(self, job_id: int) -> IngestionJob:
        rows = await self.database.look_up("SELECT * FROM jobs WHERE job_id = :id", id=job_id)
        if not rows:
            raise no_such_job(job_id)
        return _job(rows[0])

    async def list(
        self,
        book_id: str | None = None,
        limit: int | None = 50,
        *,
        books: Collection[str] | None = None,
        statuses: Collection[JobStatus] | None = None,
    ) -> list[IngestionJob]:
        """Newest first; those of one book, of some books, in one of some states."""
        query, values = "SELECT * FROM jobs WHERE 0 = 0", dict[str, Any]()
        one = None if book_id is None else [book_id]
        for column, wanted in (("book_id", one), ("book_id", books), ("status", statuses)):
            if wanted is not None:
                among = {f"value_{len(values) + number}": one for number, one in enumerate(wanted)}
                # No list may be empty in SQL, and nothing is among NULL.
                query += f" AND {column} IN ({', '.join(f':{name}' for name in among) or 'NULL'})"
                values |= among
        query += " ORDER BY job_id DESC"
        if limit is not None:
            query += " LIMIT :most"
            values["most"] = limit
        return [_job(row) for row in await self.database.look_up(query, **values)]

    async def last_ended(self, book_id: str) -> IngestionJob | None:
        """A job may wait while a younger one runs, so the last to end is not the last made."""
        rows = await self.database.look_up(LAST_ENDED, book_id=book_id)
        return _job(rows[0]) if rows else None

    async def fail_interrupted(self, is_alive: Callable[[str], Awaitable[bool]]) -> None:
        """Jobs that say "running" while nobody writes their book died with their process."""
        for job in await self.list(limit=None, statuses=["running"]):
            if not await is_alive(job.book_id):
                await self._fail(job.job_id, "running", INTERRUPTED)

    async def _fail(self, job_id: int, while_it_is: JobStatus, reason: str) -> bool:
        values = {"status": "failed", "completed_at": now(), "error_message": reason}
        return await self._update(job_id, while_it_is, **values)

    async def _update(self, job_id: int, while_it_is: JobStatus | None, **values: Any) -> bool:
        """Whether it was in that state, and so was changed."""
        changes = ", ".join(f"{name} = :{name}" for name in values)
        query = f"UPDATE jobs SET {changes} WHERE job_id = :id"
        if while_it_is:
            query, values = f"{query} AND status = :was", {**values, "was": while_it_is}
        return bool(await self.database.change(f"{query} RETURNING job_id", id=job_id, **values))


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


def _values(job: IngestionJob) -> dict[str, Any]:
    return job.model_dump(include=set(COLUMNS))


def _job(row: dict[str, Any]) -> IngestionJob:
    told = as_told(row, ("started_at", "completed_at"), ("warnings",))
    started: datetime = told["started_at"]
    completed: datetime | None = told["completed_at"]
    seconds = int((completed - started).total_seconds()) if completed else None
    return IngestionJob(**told, duration_seconds=seconds)
