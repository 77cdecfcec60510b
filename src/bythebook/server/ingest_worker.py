"""The worker inside the service: it does queued ingestion jobs, one at a time and in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from bythebook.errors import BookError, BusyError
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.models.values import IngestionMode
from bythebook.server.managed_books import FolderSource
from bythebook.server.webhook import bring_up_to_date

# Seconds until a book that another process writes is looked at again.
BUSY_PAUSE = 1.0
# Until the database is asked again after it failed.
TROUBLE_PAUSE = 5.0
# Until it is asked for jobs that nobody told of: their service was killed, or lost its connection
# between queueing one and hearing that it was queued.
IDLE_PAUSE = 5.0

log = logging.getLogger(__name__)


class IngestWorker:
    """The queue is in the database: it survives the service, and several services may share it, for
    a job is claimed by one of them. Where `bythebook worker` takes the jobs, this only queues."""

    def __init__(
        self, library: Library, on_ended: Callable[[IngestionJob], None] = lambda _job: None
    ) -> None:
        self.library = library
        self.on_ended = on_ended
        self.jobs = library.job_table
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        # Between reading the queue and changing it nothing else may.
        self._changing = asyncio.Lock()
        # Whether a job pulls its checkout first; of jobs that are not in here nobody knows.
        self._pulls: dict[int, bool] = {}

    async def start(self) -> None:
        """Mark interrupted jobs as failed, and take up those that wait."""
        await self.library.fail_interrupted()
        if self.library.settings.workers == "queue":
            return
        self._task = asyncio.create_task(self._work(), name="ingestion")

    async def stop(self) -> None:
        """End the job that runs, with all its finished files in; those that wait go on waiting."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def submit(
        self, source: FolderSource, mode: IngestionMode = "incremental", *, push: bool = False
    ) -> IngestionJob:
        """Queue a job, unless one of the book waits or runs. A push is never too much: one job
        that has not begun will see what it brought, and one that has is followed by another."""
        async with self._changing:
            await self.library.fail_interrupted()
            others = await self.jobs.list(source.book_id, statuses=("queued", "running"))
            waiting = next((job for job in others if job.status == "queued"), None)
            if push and waiting:
                self._pulls[waiting.job_id] = True
                return waiting
            if others and not push:
                raise _already_queued(others[-1])
            job = await self.jobs.queue(source.book_id, mode, str(source.place))
            self._pulls[job.job_id] = push
        self._wake.set()
        return job

    async def count_waiting(self) -> int:
        """Jobs that wait their turn."""
        return len(await self._queued())

    async def _queued(self) -> list[IngestionJob]:
        return await self.jobs.list(limit=None, statuses=["queued"])

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            try:
                pause = await self._run_next()
            except BookError as problem:
                log.warning("The queue of ingestion jobs can't be read or written: %s", problem)
                pause = TROUBLE_PAUSE
            except Exception:
                log.exception("The queue of ingestion jobs can't be read or written")
                pause = TROUBLE_PAUSE
            if pause:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()

    async def _run_next(self) -> float:
        """Run the oldest job whose book nobody writes; tells when to look again."""
        queued = await self._queued()
        for job in reversed(queued):
            if not await self.library.locks.is_writing(job.book_id):
                await self._run(job)
                return 0
        return BUSY_PAUSE if queued else IDLE_PAUSE

    async def _run(self, job: IngestionJob) -> None:
        about = {"job_id": job.job_id, "book_id": job.book_id}
        log.info("Job %d for %s begins", job.job_id, job.book_id, extra=about)
        try:
            done = await self.library.run_job(job.job_id, before=lambda: self._prepare(job))
            if done:
                log.info("Job %d for %s is done", job.job_id, job.book_id, extra=about)
        except BookError as problem:
            log.warning("Job %d for %s failed: %s", job.job_id, job.book_id, problem, extra=about)
            # Somebody who was quicker with the lock is no reason to give up.
            if not isinstance(problem, BusyError):
                await self.jobs.give_up(job.job_id, problem)
        except Exception as problem:
            log.exception("Job %d for %s failed", job.job_id, job.book_id, extra=about)
            await self.jobs.give_up(job.job_id, problem)
        ended = await self.jobs.get(job.job_id)
        if ended.completed_at is not None:
            self.on_ended(ended)

    async def _prepare(self, job: IngestionJob) -> None:
        settings = self.library.settings
        async with self._changing:  # a push that finds the job still waiting counts on it
            webhooks = settings.webhook_secret is not None
            wanted = self._pulls.pop(job.job_id, webhooks)
        if wanted:
            await bring_up_to_date(job.source or "", settings)


def _already_queued(job: IngestionJob) -> BusyError:
    return BusyError(
        f"Job {job.job_id} for {job.book_id} is {job.status} already.",
        action=f"Wait until it ends; `GET /ingestion/status/{job.job_id}` tells.",
        details={"book_id": job.book_id, "job_id": job.job_id},
    )
