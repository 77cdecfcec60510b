"""Everything a request may need, opened once for the whole service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from fastapi import Request

from bythebook.agent.assistant import Assistant
from bythebook.embedding.minilm import MiniLM
from bythebook.errors import BookError, StoreError
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.server.conversations import Conversations
from bythebook.server.metrics import Metrics
from bythebook.server.rate import RateLimits
from bythebook.server.worker import Worker
from bythebook.settings import Settings
from bythebook.threads.threads import Threads

logger = logging.getLogger(__name__)

# How many times in an idle period the service looks for conversations to archive.
LOOKS = 12


@dataclass(frozen=True)
class Service:
    """The parts of a running service."""

    settings: Settings
    library: Library
    assistant: Assistant
    threads: Threads
    conversations: Conversations
    keys: Keys
    rate: RateLimits
    worker: Worker
    metrics: Metrics


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


@asynccontextmanager
async def open_service(settings: Settings, metrics: Metrics) -> AsyncIterator[Service]:
    """Opens every part, takes up queued jobs, and closes all of it in order."""
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(await Library.open(settings))
        if isinstance(library.embedder, MiniLM):
            library.embedder.stay_in_background()
        assistant = await stack.enter_async_context(Assistant(library))
        rate = RateLimits(settings)
        stack.push_async_callback(rate.close)
        await _open_index(library)
        threads = Threads(library.engine)
        worker = Worker(
            library, on_ended=lambda job: metrics.job_ended(job.status, job.duration_seconds)
        )
        service = Service(
            settings=settings,
            library=library,
            assistant=assistant,
            threads=threads,
            conversations=Conversations(assistant, threads, metrics),
            keys=Keys(library.engine),
            rate=rate,
            worker=worker,
            metrics=metrics,
        )
        await worker.start()
        stack.push_async_callback(worker.stop)
        archiving = asyncio.create_task(_archive_idle_threads(service))
        try:
            yield service
        finally:
            archiving.cancel()
            await asyncio.gather(archiving, return_exceptions=True)


async def _open_index(library: Library) -> None:
    """An embedded index that can't be opened stops the start; a server may come back."""
    try:
        await library.store()
    except StoreError as problem:
        if not library.settings.qdrant_url:
            raise
        logger.warning("The index can't be reached yet: %s", problem)


async def _archive_idle_threads(service: Service) -> None:
    idle = timedelta(minutes=service.settings.thread_idle_minutes)
    while True:
        try:
            archived = await service.threads.archive_idle(idle)
            service.metrics.threads_archived(archived)
        except BookError as problem:
            logger.warning("Idle conversations could not be archived: %s", problem)
        except Exception:
            logger.exception("Idle conversations could not be archived")
        await asyncio.sleep(idle.total_seconds() / LOOKS)
