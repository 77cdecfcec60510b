"""Where workers note what there is to do for a job and who is at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Interval, delete, func, insert, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bythebook.database.engine import Database, transaction
from bythebook.database.tables import jobs, plans, shares
from bythebook.ingestion.catalog import write_files
from bythebook.ingestion.jobs import Jobs
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob, IngestionRecord

# What a share adds to its job.
COUNTS = (
    "files_processed",
    "files_failed",
    "chunks_created",
    "chunks_deleted",
    "chunks_embedded",
)

# A file's path and what the plan says of it.
Files = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Planned:
    """What is known of a job that workers share out."""

    is_made: bool
    fresh: bool
    deleted: list[str]


@dataclass(frozen=True)
class Share:
    """Some files of a job, and the how manieth try this is."""

    job_id: int
    number: int
    files: Files
    attempt: int


class JobStore:
    """The tables of plans and shares. `lease` is how long a plan lives without any worker."""

    def __init__(self, database: Database, lease: timedelta) -> None:
        self.database = database
        self.engine = database.engine
        self.lease = lease
        self.jobs = Jobs(database)

    async def claim(self, job_id: int, book_id: str) -> bool:
        """Make a queued job one that workers share out; False if it is not queued any more."""
        async with transaction(self.engine) as connection:
            claimed = await connection.execute(
                update(jobs)
                .where(jobs.c.job_id == job_id, jobs.c.status == "queued")
                .values(status="running", started_at=now())
            )
            if claimed.rowcount == 0:
                return False
            row = {"job_id": job_id, "book_id": book_id, "held_until": self._until()}
            await connection.execute(insert(plans).values(**row))
            return True

    async def planned(self, job_id: int) -> Planned | None:
        query = select(plans.c.is_made, plans.c.fresh, plans.c.deleted)
        rows = await self.database.look_up(query.where(plans.c.job_id == job_id))
        return Planned(**rows[0]) if rows else None

    async def post(
        self, job: IngestionJob, parts: Sequence[Files], *, fresh: bool, deleted: Sequence[str]
    ) -> None:
        """Note the plan with all its shares, and in the job how much there is to do."""
        rows = [
            {"job_id": job.job_id, "number": number, "files": part}
            for number, part in enumerate(parts)
        ]
        values = {"is_made": True, "fresh": fresh, "deleted": list(deleted)}
        async with transaction(self.engine) as connection:
            await connection.execute(delete(shares).where(shares.c.job_id == job.job_id))
            if rows:
                await connection.execute(insert(shares), rows)
            await connection.execute(
                update(plans).where(plans.c.job_id == job.job_id).values(**values)
            )
            await _save(connection, job)

    async def begin(self, job_id: int, number: int) -> Share | None:
        """Take a share; None if there is nothing to do about it any more."""
        rows = await self.database.change(
            update(shares)
            .where(_is(job_id, number), ~shares.c.done, _is_running(job_id))
            .values(attempts=shares.c.attempts + 1)
            .returning(shares.c.files, shares.c.attempts)
        )
        return Share(job_id, number, rows[0]["files"], rows[0]["attempts"]) if rows else None

    async def is_ours(self, share: Share) -> bool:
        """Whether nobody has taken the share over, thinking that we are dead."""
        return bool(await self.database.look_up(select(shares.c.number).where(_is_ours(share))))

    async def hand_back(self, share: Share) -> None:
        """The try does not count."""
        await self.database.change(
            update(shares)
            .where(_is(share.job_id, share.number), shares.c.attempts == share.attempt)
            .values(attempts=share.attempt - 1)
        )

    async def complete(
        self, share: Share, tally: IngestionJob, records: Sequence[IngestionRecord]
    ) -> None:
        """Note the share as done, its files as indexed and its counts in the job: all or nothing,
        and only once."""
        async with transaction(self.engine) as connection:
            done = await connection.execute(update(shares).where(_is_ours(share)).values(done=True))
            if done.rowcount == 0:
                return
            await write_files(connection, records)
            await _add(connection, share.job_id, tally)
            await connection.execute(
                update(plans).where(plans.c.job_id == share.job_id).values(troubles=0)
            )

    async def split(self, share: Share) -> list[int]:
        """Each file becomes a share of its own, so that one can't spoil the others. Returns their
        numbers."""
        async with transaction(self.engine) as connection:
            gone = await connection.execute(
                delete(shares).where(_is(share.job_id, share.number), ~shares.c.done)
            )
            if gone.rowcount == 0:
                return []
            query = select(func.max(shares.c.number)).where(shares.c.job_id == share.job_id)
            last = (await connection.execute(query)).scalar_one() or 0
            first = max(last, share.number) + 1
            numbers = range(first, first + len(share.files))
            rows = [
                {"job_id": share.job_id, "number": number, "files": {file: where}}
                for number, (file, where) in zip(numbers, share.files.items(), strict=True)
            ]
            await connection.execute(insert(shares), rows)
        return list(numbers)

    async def waiting(self) -> list[tuple[int, int | None]]:
        """Jobs that nobody began, jobs without a share left to do, and shares that are not done."""
        left = select(shares.c.number).where(shares.c.job_id == jobs.c.job_id, ~shares.c.done)
        is_to_finish = plans.c.job_id.is_not(None) & ~left.exists()
        steps = (
            select(jobs.c.job_id)
            .join(plans, plans.c.job_id == jobs.c.job_id, isouter=True)
            .where((jobs.c.status == "queued") | ((jobs.c.status == "running") & is_to_finish))
            .order_by(jobs.c.job_id)
        )
        undone = (
            select(shares.c.job_id, shares.c.number)
            .where(~shares.c.done)
            .order_by(shares.c.job_id, shares.c.number)
        )
        waiting = [(row["job_id"], None) for row in await self.database.look_up(steps)]
        rows = await self.database.look_up(undone)
        return [*waiting, *((row["job_id"], row["number"]) for row in rows)]

    async def has_left(self, job_id: int) -> bool:
        query = select(shares.c.number).where(shares.c.job_id == job_id, ~shares.c.done).limit(1)
        return bool(await self.database.look_up(query))

    async def count_trouble(self, job_id: int, by: int = 1) -> int:
        """How many times in a row something the job depends on has failed."""
        rows = await self.database.change(
            update(plans)
            .where(plans.c.job_id == job_id)
            .values(troubles=plans.c.troubles + by)
            .returning(plans.c.troubles)
        )
        return rows[0]["troubles"] if rows else 0

    async def close(self, job: IngestionJob) -> bool:
        """The job has ended, as it says, and its plan with it; False if it had before."""
        async with transaction(self.engine) as connection:
            ended = await _save(connection, job)
            for table in (shares, plans):
                await connection.execute(delete(table).where(table.c.job_id == job.job_id))
        return ended

    async def keep_alive(self) -> None:
        """Put off the end of all plans, and throw away those of jobs that were ended elsewhere."""
        running = select(jobs.c.job_id).where(jobs.c.status == "running")
        async with transaction(self.engine) as connection:
            await connection.execute(
                update(plans).where(plans.c.job_id.in_(running)).values(held_until=self._until())
            )
            for table in (shares, plans):
                await connection.execute(delete(table).where(table.c.job_id.not_in(running)))

    def _until(self) -> Any:
        return func.now() + literal(self.lease, Interval())


async def _add(connection: AsyncConnection, job_id: int, tally: IngestionJob) -> None:
    of_job = jobs.c.job_id == job_id
    query = select(jobs.c.warnings, *(jobs.c[name] for name in COUNTS)).where(of_job)
    known = (await connection.execute(query.with_for_update())).mappings().one()
    values: dict[str, Any] = {name: known[name] + getattr(tally, name) for name in COUNTS}
    values["warnings"] = [*known["warnings"], *tally.warnings]
    await connection.execute(update(jobs).where(of_job).values(**values))


def _is(job_id: int, number: int) -> Any:
    return (shares.c.job_id == job_id) & (shares.c.number == number)


def _is_ours(share: Share) -> Any:
    """To be done still, and taken by nobody since."""
    is_last = ~shares.c.done & (shares.c.attempts == share.attempt)
    return _is(share.job_id, share.number) & is_last & _is_running(share.job_id)


def _is_running(job_id: int) -> Any:
    query = select(jobs.c.job_id).where(jobs.c.job_id == job_id, jobs.c.status == "running")
    return query.exists()


async def _save(connection: AsyncConnection, job: IngestionJob) -> bool:
    """Only while it runs: who ended it meanwhile is right."""
    values = job.model_dump(exclude={"job_id", "duration_seconds"})
    known = update(jobs).where(jobs.c.job_id == job.job_id, jobs.c.status == "running")
    return (await connection.execute(known.values(**values))).rowcount == 1
