"""The steps of a job that several workers share out: plan it, do a share, finish it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

from bythebook.errors import BookError, BusyError, EmbeddingError, InputError, StoreError
from bythebook.fetching.address import is_address
from bythebook.ingestion.jobs import reason_of
from bythebook.ingestion.locks import DatabaseLocks
from bythebook.ingestion.pages import PageWork
from bythebook.ingestion.plan import Due, Plan
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob
from bythebook.reading.layout import Book
from bythebook.workers.job_store import COUNTS, Files, JobStore, Share

# A share ends with the file that makes it this large, or this many.
SHARE_BYTES = 100_000
SHARE_FILES = 10
# Tries of a file by itself, the last included.
MOST_TRIES = 3
# Times in a row that a database, index or embedder may fail until the job does; each pause is
# twice the last, so together they are about a minute.
MOST_TROUBLES = 6

log = logging.getLogger(__name__)


class TryLater(Exception):
    """The step can't be done now."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"in {seconds:g} s")
        self.seconds = seconds


class JobSteps:
    """What a worker does with a message. `before` brings a job's folder up to date."""

    def __init__(
        self,
        library: Library,
        job_store: JobStore,
        locks: DatabaseLocks,
        before: Callable[[IngestionJob], Awaitable[None]],
    ) -> None:
        self.library, self.job_store, self.locks, self.before = library, job_store, locks, before

    async def advance(self, job_id: int) -> list[int]:
        """Plan a job that has no plan, or finish one whose shares are done. Returns the numbers of
        new shares."""
        job = await self.job_store.jobs.get(job_id)
        if job.status not in ("queued", "running"):
            return []
        try:
            async with self.locks.held(job.book_id):
                return await self._advance(job)
        except BusyError as problem:
            raise TryLater(1.0) from problem

    async def _advance(self, job: IngestionJob) -> list[int]:
        if job.status == "queued":
            # Whoever has the lock is the only one to write: others of this book have died.
            if await self.locks.is_planned(job.book_id):
                raise TryLater(1.0)
            await self.library.fail_interrupted(but=job.book_id)
            if not await self.job_store.claim(job.job_id, job.book_id):
                return []
            log.info("Job %d for %s begins", job.job_id, job.book_id, extra=_about(job))
        job = await self.job_store.jobs.get(job.job_id)
        plan = await self.job_store.planned(job.job_id)
        if plan is None or job.status != "running" or await self.job_store.has_left(job.job_id):
            return []
        async with self._noting_failure(job):
            if not plan.is_made:
                await self.library.sources.check(job.book_id, job.source or "")
                async with self._surviving(job):
                    if is_address(job.source or ""):
                        return await self._do_alone(job)
                    numbers = await self._plan(job)
                if numbers:
                    return numbers
                plan = await self.job_store.planned(job.job_id)
                assert plan is not None
            await self._finish(job, plan.deleted)
        return []

    @asynccontextmanager
    async def _surviving(self, job: IngestionJob) -> AsyncIterator[None]:
        """A process that ends while it does what is inside counts as trouble of the job, so that
        one worker after the other can't die of it."""
        if await self.job_store.count_trouble(job.job_id) > MOST_TROUBLES:
            raise InputError(
                f"{MOST_TROUBLES} workers died while they did this job.",
                action="Look into their logs, or ingest the book with `bythebook ingest` to see "
                "what it is.",
            )
        try:
            yield
        finally:
            await asyncio.shield(self.job_store.count_trouble(job.job_id, -1))

    async def _do_alone(self, job: IngestionJob) -> list[int]:
        """A site or repository is fetched into the home of this worker, where no other may be
        able to see its files. So nothing is shared out."""
        book = await self.library.sources.book_of(job)
        await self.library.ingestion(book, job, serving=True).bring_in()
        await self._complete(job)
        return []

    async def _plan(self, job: IngestionJob) -> list[int]:
        await self.before(job)
        book = await self._book(job)
        ingestion = self.library.ingestion(book, job, serving=True)
        prepared = await ingestion.prepare()
        parts = [] if prepared.store is None else list(_parts(book, prepared.plan))
        if parts and not ingestion.book_saved:
            await ingestion.save_book()
        # The last row's `files` must have the book's row to refer to, so this comes after.
        await self.job_store.post(job, parts, fresh=prepared.fresh, deleted=prepared.plan.deleted)
        return list(range(len(parts)))

    async def _finish(self, job: IngestionJob, deleted: Sequence[str]) -> None:
        book = await self._book(job)
        changed = job.files_processed or deleted or job.mode != "incremental"
        store = await self.library.store() if changed else None
        await self.library.ingestion(book, job, serving=True).finish(store, deleted)
        await self._complete(job)

    async def _complete(self, job: IngestionJob) -> None:
        job.status, job.completed_at = "completed", now()
        if await self.job_store.close(job):
            await self.library.measure_background(job.book_id)
            counts = f"{job.files_processed} of {job.total_files} files, {job.files_failed} failed"
            log.info(
                "Job %d for %s is done: %s", job.job_id, job.book_id, counts, extra=_about(job)
            )

    async def do_share(self, job_id: int, number: int) -> list[int]:
        """Bring the files of a share into the index. Returns the numbers of shares it was cut
        into, if it was."""
        share = await self.job_store.begin(job_id, number)
        if share is None:
            return []
        job = await self.job_store.jobs.get(job_id)
        if not isinstance(share.files, dict):
            await self._fail(job_id, _broken_share(number))
            return []
        if share.attempt > 1 and len(share.files) > 1:
            return await self.job_store.split(share)
        if share.attempt > MOST_TRIES:
            await self._give_up(share, job, "whoever read it did not survive that")
            return []
        try:
            async with self.locks.held(job.book_id, shared=True):
                await self._do(share, job)
        except BusyError as problem:
            await self.job_store.hand_back(share)
            raise TryLater(1.0) from problem
        except asyncio.CancelledError:
            await asyncio.shield(self.job_store.hand_back(share))
            raise
        except (StoreError, EmbeddingError) as problem:
            await self.job_store.hand_back(share)
            await self._wait_or_fail(job, problem)
        except Exception as problem:
            log.exception("Files of %s can't be indexed", job.book_id, extra=_about(job))
            if len(share.files) > 1:
                return await self.job_store.split(share)
            if share.attempt < MOST_TRIES:
                raise TryLater(1.0) from problem
            await self._give_up(share, job, f"{type(problem).__name__}: {problem}")
        return []

    async def _do(self, share: Share, job: IngestionJob) -> None:
        tally = _tally(job)
        plan = await self.job_store.planned(job.job_id)
        if plan is None:
            return
        work = PageWork(
            await self._book(job),
            await self.library.store(),
            self.library.embedder,
            tally,
            self.library.max_bytes,
        )
        pages = []
        for file, due in share.files.items():
            fresh = plan.fresh and share.attempt == 1
            page = await work.read(file, Due.from_json(due), is_new_book=fresh)
            if page is not None:
                pages.append(page)
        embedded = await work.embed(pages)
        if not await self.job_store.is_ours(share):
            return
        records = await work.write(embedded)
        await work.store.flush()
        await self.job_store.complete(share, tally, records)

    async def _give_up(self, share: Share, job: IngestionJob, reason: str) -> None:
        """The file is reported, as one that can't be read is; the others go on."""
        tally = _tally(job)
        tally.files_failed = len(share.files)
        tally.warnings = [
            f"{file} can't be indexed: {reason}. It was skipped after {MOST_TRIES} tries. Change "
            "the file, or report this."
            for file in share.files
        ]
        await self.job_store.complete(share, tally, [])

    async def _wait_or_fail(self, job: IngestionJob, problem: BookError) -> None:
        troubles = await self.job_store.count_trouble(job.job_id)
        if troubles <= MOST_TROUBLES:
            raise TryLater(2.0 ** (troubles - 1)) from problem
        await self._fail(job.job_id, problem)

    async def _fail(self, job_id: int, problem: Exception) -> None:
        job = await self.job_store.jobs.get(job_id)
        job.status, job.completed_at = "failed", now()
        job.error_message = reason_of(problem)
        if await self.job_store.close(job):
            log.warning("Job %d for %s failed: %s", job_id, job.book_id, problem, extra=_about(job))

    @asynccontextmanager
    async def _noting_failure(self, job: IngestionJob) -> AsyncIterator[None]:
        """Whatever goes wrong within is the reason why the job failed, unless it may pass."""
        try:
            yield
        except (StoreError, EmbeddingError) as problem:
            await self._wait_or_fail(job, problem)
        except BusyError:
            raise  # somebody else fetches the same just now
        except BookError as problem:
            await self._fail(job.job_id, problem)
        except Exception as problem:
            log.exception("Job %d failed", job.job_id, extra=_about(job))
            await self._fail(job.job_id, problem)

    async def _book(self, job: IngestionJob) -> Book:
        return await self.library.sources.kept_book(job.source or "", job.book_id)


def _broken_share(number: int) -> StoreError:
    return StoreError(
        f"Share {number} of the job is none that bythebook writes.",
        action="Check who else writes to the database, and run the same ingest again.",
    )


def _about(job: IngestionJob) -> dict[str, object]:
    return {"job_id": job.job_id, "book_id": job.book_id}


def _tally(job: IngestionJob) -> IngestionJob:
    return job.model_copy(update={**dict.fromkeys(COUNTS, 0), "warnings": []})


def _parts(book: Book, plan: Plan) -> Iterator[Files]:
    """The files to process, cut into shares in reading order."""
    part: Files = {}
    size = 0
    for file in plan.process:
        part[file] = plan.due(file).to_json()
        path = book.root / file
        size += path.stat().st_size if path.exists() else 0
        if size >= SHARE_BYTES or len(part) == SHARE_FILES:
            yield part
            part, size = {}, 0
    if part:
        yield part
