"""Ingestion jobs, kept in the database so that they outlive the process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import jobs
from bythebook.errors import BookNotFound
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob
from bythebook.models.vocabulary import IngestionMode

INTERRUPTED = "The process ended before the job did; run the same ingest again to continue."


class Jobs:
    """The table of jobs."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def start(self, book_id: str, mode: IngestionMode) -> IngestionJob:
        values = {"book_id": book_id, "mode": mode, "status": "running", "started_at": now()}
        async with self.engine.begin() as connection:
            result = await connection.execute(insert(jobs).values(**values))
            assert result.inserted_primary_key
            job_id = int(result.inserted_primary_key[0])
        return await self.get(job_id)

    async def save(self, job: IngestionJob) -> None:
        values = job.model_dump(exclude={"job_id", "duration_seconds"})
        async with self.engine.begin() as connection:
            await connection.execute(
                update(jobs).where(jobs.c.job_id == job.job_id).values(**values)
            )

    async def get(self, job_id: int) -> IngestionJob:
        async with self.engine.connect() as connection:
            row = (
                (await connection.execute(select(jobs).where(jobs.c.job_id == job_id)))
                .mappings()
                .first()
            )
        if row is None:
            raise BookNotFound(
                f"There is no job {job_id}.", action="List them with `bythebook jobs`."
            )
        return _job(dict(row))

    async def list(self, book_id: str | None = None, limit: int = 50) -> list[IngestionJob]:
        """Newest first."""
        query = select(jobs).order_by(jobs.c.job_id.desc()).limit(limit)
        if book_id is not None:
            query = query.where(jobs.c.book_id == book_id)
        async with self.engine.connect() as connection:
            rows = await connection.execute(query)
            return [_job(dict(row)) for row in rows.mappings()]

    async def fail_interrupted(self, is_alive: Callable[[str], bool]) -> None:
        """Jobs that say "running" while nobody writes their book died with their process."""
        query = select(jobs.c.job_id, jobs.c.book_id).where(
            jobs.c.status.in_(("queued", "running"))
        )
        async with self.engine.connect() as connection:
            unfinished = (await connection.execute(query)).all()
        dead = [job_id for job_id, book_id in unfinished if not is_alive(book_id)]
        if dead:
            async with self.engine.begin() as connection:
                await connection.execute(
                    update(jobs)
                    .where(jobs.c.job_id.in_(dead))
                    .values(status="failed", completed_at=now(), error_message=INTERRUPTED)
                )


def _job(row: dict[str, Any]) -> IngestionJob:
    started: datetime = row["started_at"]
    completed: datetime | None = row["completed_at"]
    seconds = int((completed - started).total_seconds()) if completed else None
    return IngestionJob(**row, duration_seconds=seconds)
