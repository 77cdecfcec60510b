"""Everything a request may need, opened once for the whole service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from fastapi import Request

from bythebook.agent.assistant import Assistant
from bythebook.errors import BookError, StoreError
from bythebook.gaps import Gaps
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.questions import Questions
from bythebook.server.catalog_cache import CatalogCache
from bythebook.server.conversations import Conversations
from bythebook.server.health import HealthWatch
from bythebook.server.ingest_worker import IngestWorker
from bythebook.server.logs import hide_secrets
from bythebook.server.platforms.chats import Platforms, connected
from bythebook.server.prometheus import Metrics
from bythebook.server.rate import RateLimits
from bythebook.settings import Settings
from bythebook.threads import Threads
from bythebook.tracing import watching
from bythebook.workers.rereading import rereading
from bythebook.workers.shared_worker import check_shared

logger = logging.getLogger(__name__)

# How many times in an idle period the service looks for what to put away.
TIDY_ROUNDS = 12


@dataclass(frozen=True)
class Service:
    """The parts of a running service."""

    settings: Settings
    library: Library
    assistant: Assistant
    threads: Threads
    conversations: Conversations
    questions: Questions
    platforms: Platforms
    gaps: Gaps
    catalog_cache: CatalogCache
    keys: Keys
    rate: RateLimits
    worker: IngestWorker
    metrics: Metrics
    health: HealthWatch = field(default_factory=HealthWatch)


async def service_of(request: Request) -> Service:
    """The service that a request came to; a plain function would be run in a thread."""
    service: Service = request.app.state.service
    return service


@asynccontextmanager
async def open_service(settings: Settings, metrics: Metrics) -> AsyncIterator[Service]:
    """Opens every part, takes up queued jobs, and closes all of it in order."""
    if settings.workers == "queue":
        check_shared(settings)
    async with AsyncExitStack() as stack:
        # Tasks that are begun from now on, the worker's and MCP's, have it with them.
        stack.enter_context(watching(metrics.step_ended))
        library = await stack.enter_async_context(await Library.open(settings))
        library.stay_in_background()
        hide_secrets(library.settings)  # the key of the model that was chosen is one of them
        assistant = await stack.enter_async_context(Assistant(library))
        if assistant.language_model:
            await assistant.language_model.prepare()
        rate = RateLimits(settings)
        stack.push_async_callback(rate.close)
        await _open_index(library)
        keys = Keys(library.engine)
        threads = Threads(library.engine)
        questions = Questions(library.engine, settings.keep_questions_days)
        catalog_cache = CatalogCache(library)
        stack.push_async_callback(catalog_cache.close)
        worker = IngestWorker(
            library, on_ended=lambda job: metrics.job_ended(job.status, job.duration_seconds)
        )
        conversations = Conversations(assistant, threads, questions, metrics)
        stack.push_async_callback(conversations.close)
        # Entered last but for the worker: what it answers needs all of the others.
        platforms = await stack.enter_async_context(connected(settings, conversations, rate))
        service = Service(
            settings=settings,
            library=library,
            assistant=assistant,
            threads=threads,
            conversations=conversations,
            questions=questions,
            platforms=platforms,
            gaps=Gaps(questions, threads=settings.embedding_threads, in_background=True),
            catalog_cache=catalog_cache,
            keys=keys,
            rate=rate,
            worker=worker,
            metrics=metrics,
        )
        await worker.start()
        stack.push_async_callback(worker.stop)
        await stack.enter_async_context(rereading(library))
        tidying = asyncio.create_task(_tidy(service))
        try:
            yield service
        finally:
            tidying.cancel()
            await asyncio.gather(tidying, return_exceptions=True)


async def _open_index(library: Library) -> None:
    """An embedded index that can't be opened stops the start; a server may come back. It is tidied
    up now, since nothing else can be done meanwhile."""
    try:
        store = await library.store()
        await store.optimize()
    except StoreError as problem:
        if not library.settings.qdrant_url:
            raise
        logger.warning("The index can't be reached yet: %s", problem)


async def _tidy(service: Service) -> None:
    """Archive conversations that nobody uses, and forget questions that were kept long enough."""
    idle = timedelta(minutes=service.settings.thread_idle_minutes)
    while True:
        service.gaps.forget()
        try:
            archived = await service.threads.archive_idle(idle)
            service.metrics.threads_archived.inc(archived)
            await service.questions.forget_old()
        except BookError as problem:
            logger.warning("Old conversations and questions can't be put away: %s", problem)
        except Exception:
            logger.exception("Old conversations and questions can't be put away")
        await asyncio.sleep(idle.total_seconds() / TIDY_ROUNDS)
