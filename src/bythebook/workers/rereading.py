"""Web sites and repositories are read again after a time, one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from bythebook.errors import BookError, BusyError, DiskFull
from bythebook.fetching.address import stored_address
from bythebook.library import Library
from bythebook.models.chunk import BookInfo, now
from bythebook.models.job import IngestionJob

# Seconds between looks for a book whose turn it is.
LOOK = 5.0
# Whoever looks holds this lock, so that several processes don't queue a book twice. No book can
# be called so.
LOCK = "_rereading"
NEVER = datetime(1970, 1, 1, tzinfo=UTC)

log = logging.getLogger(__name__)


@asynccontextmanager
async def rereading(library: Library) -> AsyncIterator[None]:
    """Meanwhile books are queued when it is their turn, if BYTHEBOOK_REREAD_HOURS is set."""
    if not library.settings.reread_hours:
        yield
        return
    task = asyncio.create_task(_keep_looking(library), name="rereading")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _keep_looking(library: Library) -> None:
    while True:
        try:
            with suppress(BusyError):  # another process looks
                async with library.locks.writing(LOCK):
                    await queue_next(library)
        except BookError as problem:
            log.warning("Books can't be queued to be read again: %s", problem)
        except Exception:
            log.exception("Books can't be queued to be read again")
        await asyncio.sleep(LOOK)


async def queue_next(library: Library) -> IngestionJob | None:
    """Queue the book that has waited longest, if its turn has come and no other job is left: so
    books that are due together are read one by one."""
    await library.fail_interrupted()
    if await library.job_table.list(limit=1, statuses=("queued", "running")):
        return None
    due_before = now() - timedelta(hours=library.settings.reread_hours)
    fetched = [book for book in await library.books() if stored_address(book.source)]
    turns = [(await _last_try(library, book), book.book_id, book.source) for book in fetched]
    if not turns or min(turns)[0] > due_before:
        return None
    try:
        library.sources.check_room()
    except DiskFull as problem:
        log.warning("No book is read again: %s", problem)
        return None
    _, book_id, source = min(turns)
    job = await library.job_table.queue(book_id, "incremental", source)
    about = {"job_id": job.job_id, "book_id": book_id}
    log.info("Job %d reads %s again, as scheduled", job.job_id, book_id, extra=about)
    return job


async def _last_try(library: Library, book: BookInfo) -> datetime:
    """When it was last read, or could not be: a site that is down is tried at its next turn."""
    last = await library.job_table.last_ended(book.book_id)
    moments = [book.last_full_ingest, book.last_incremental_update, last and last.completed_at]
    return max((moment for moment in moments if moment), default=NEVER)
