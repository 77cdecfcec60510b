"""A process that takes ingestion jobs from the queue, beside any number of others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import asyncpg  # type: ignore[import-untyped]
from pgqueuer import Job, Queries, QueueManager, RetryRequested
from pgqueuer.errors import FailingListenerError
from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import BookError, BookNotFound, ConfigurationError
from bythebook.ingestion.jobs import MAX_JOB_ID
from bythebook.ingestion.locks import DatabaseLocks
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.settings import Settings
from bythebook.workers.job_steps import JobSteps, TryLater
from bythebook.workers.job_store import JobStore


def check_shared(settings: Settings) -> None:
    """Several processes need a database and an index that several processes can use."""
    backend = settings.database.partition(":")[0].partition("+")[0]
    if backend not in ("postgresql", "postgres"):
        raise ConfigurationError(
            "Workers of their own need PostgreSQL, and the database is SQLite.",
            action="Set DATABASE_URL to a PostgreSQL database (`bythebook migrate` moves what is "
            "there), or leave BYTHEBOOK_WORKERS at in-process.",
        )
    if not settings.qdrant_url:
        raise ConfigurationError(
            "Workers of their own need a Qdrant server, and the index is embedded.",
            action="Set QDRANT_URL (`bythebook migrate` moves what is there), or leave "
            "BYTHEBOOK_WORKERS at in-process.",
        )


ENTRYPOINT = "bythebook"
# While several workers start at once, one makes the queue's tables.
INSTALL_LOCK = 0x6279746865717565
# Seconds between looks for jobs that a service queued.
LOOK = 1.0
# Until the database is asked again after it failed.
TROUBLE_PAUSE = 5.0
# A plan lives this many leases without any worker: long enough to start all of them anew.
PLAN_LEASES = 10

# What passes: the database, or the way to it, is away.
PASSING = (
    BookError,
    OSError,
    FailingListenerError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
)

log = logging.getLogger(__name__)


class WorkerMessage(BaseModel):
    """A job to plan or finish, or with `share` a part of it to do."""

    job: int = Field(gt=0, le=MAX_JOB_ID)
    share: int | None = Field(default=None, ge=0, le=MAX_JOB_ID)

    @property
    def key(self) -> str:
        return f"{ENTRYPOINT}-{self.job}" + ("" if self.share is None else f"-{self.share}")


async def work(
    library: Library,
    concurrency: int,
    stop: asyncio.Event,
    before: Callable[[IngestionJob], Awaitable[None]],
) -> None:
    """Take jobs until told to stop; then what is begun is finished or handed back."""
    worker = SharedWorker(library, concurrency, stop, before)
    while not stop.is_set():
        try:
            async with _connections(library) as pool:
                await worker.run(pool)
        except PASSING as problem:
            if stop.is_set():
                return
            log.warning("The queue can't be used: %s", problem or type(problem).__name__)
            await _until(stop, TROUBLE_PAUSE)


class SharedWorker:
    """One of them. The queue hands out messages; the job store says what is to be done."""

    def __init__(
        self,
        library: Library,
        concurrency: int,
        stop: asyncio.Event,
        before: Callable[[IngestionJob], Awaitable[None]],
    ) -> None:
        self.lease = timedelta(seconds=library.settings.worker_lease)
        self.patience = library.settings.shutdown_seconds
        self.job_store = JobStore(library.database, self.lease * PLAN_LEASES)
        self.steps = JobSteps(library, self.job_store, DatabaseLocks(library.engine), before)
        self.concurrency = concurrency
        self.stop = stop
        self._room = asyncio.Semaphore(concurrency)
        self._handing_back = asyncio.Event()

    async def run(self, pool: asyncpg.Pool) -> None:
        queries = Queries.from_asyncpg_pool(pool)
        await _install(pool)
        manager = QueueManager(queries)

        async def handle(message: Job) -> None:
            await self._handle(queries, message)

        manager.entrypoint(ENTRYPOINT, accepts_context=False)(handle)
        tending = asyncio.create_task(self._tend(queries))
        stopping = asyncio.create_task(self._end(manager.shutdown))
        try:
            await manager.run(
                dequeue_timeout=self.lease / 2,
                batch_size=1,
                max_concurrent_tasks=max(2, self.concurrency),
                heartbeat_timeout=self.lease,
                shutdown_on_listener_failure=True,
                log_aggregation_interval=timedelta(0),
            )
        finally:
            for task in (tending, stopping):
                task.cancel()
            await asyncio.gather(tending, stopping, return_exceptions=True)

    async def _end(self, shutdown: asyncio.Event) -> None:
        await self.stop.wait()
        shutdown.set()
        await asyncio.sleep(self.patience)
        self._handing_back.set()

    async def _tend(self, queries: Queries) -> None:
        """Put into the queue what the job store has and the queue lacks, and keep plans alive."""
        while True:
            try:
                await self.job_store.keep_alive()
                await _send(
                    queries,
                    [WorkerMessage(job=j, share=s) for j, s in await self.job_store.waiting()],
                )
            except PASSING as problem:
                log.warning("The queue can't be tended: %s", problem)
            await asyncio.sleep(LOOK)

    async def _handle(self, queries: Queries, job: Job) -> None:
        try:
            message = WorkerMessage.model_validate_json(job.payload or b"")
        except ValidationError:
            log.warning("A message of the queue is none of ours, and is dropped")
            return
        async with self._room:
            doing = asyncio.create_task(self._do(queries, message))
            leaving = asyncio.create_task(self._handing_back.wait())
            await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not doing.done():
                doing.cancel()
            try:
                await doing
            except TryLater as later:
                raise RetryRequested(timedelta(seconds=later.seconds)) from later
            except BookNotFound as problem:
                log.warning("A message of the queue is dropped: %s", problem.message)
            except asyncio.CancelledError as stopped:
                raise RetryRequested() from stopped
            except PASSING as problem:
                log.warning("Job %d waits: %s", message.job, problem)
                raise RetryRequested(timedelta(seconds=TROUBLE_PAUSE)) from problem

    async def _do(self, queries: Queries, message: WorkerMessage) -> None:
        if message.share is None:
            new = await self.steps.advance(message.job)
        else:
            new = await self.steps.do_share(message.job, message.share)
        await _send(queries, [WorkerMessage(job=message.job, share=number) for number in new])
        if message.share is not None and not new and not await self.job_store.has_left(message.job):
            await _send(queries, [WorkerMessage(job=message.job)])


async def _send(queries: Queries, messages: Sequence[WorkerMessage]) -> None:
    """What is in the queue already stays there once. Shares go before jobs that nobody began."""
    if messages:
        await queries.enqueue(
            [ENTRYPOINT] * len(messages),
            [message.model_dump_json().encode() for message in messages],
            [0 if message.share is None else 1 for message in messages],
            dedupe_key=[message.key for message in messages],
            on_conflict="skip",
        )


@asynccontextmanager
async def _connections(library: Library) -> AsyncIterator[asyncpg.Pool]:
    """Connections of the queue's own, made as the database's are."""
    engine = library.engine
    _, how = engine.dialect.create_connect_args(engine.url)
    async with asyncpg.create_pool(**how, min_size=1, max_size=4) as pool:
        yield pool


async def _install(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as connection:
        await connection.execute("SELECT pg_advisory_lock($1)", INSTALL_LOCK)
        try:
            queries = Queries.from_asyncpg_connection(connection)
            if await queries.schema_is_installed():
                await queries.upgrade()
            else:
                await queries.install()
        finally:
            await connection.execute("SELECT pg_advisory_unlock($1)", INSTALL_LOCK)


async def _until(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
