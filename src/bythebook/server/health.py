"""How the service is doing: every part it rests on is asked, all at once and never for long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from bythebook import __version__
from bythebook.embedding.remote import RemoteEmbedder
from bythebook.errors import BookError, StoreError
from bythebook.models.chunk import now
from bythebook.models.service_health import Dependency, Health
from bythebook.models.values import iso, shown_address
from bythebook.server.logs import Masks, secrets_of
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.server.service import Service

logger = logging.getLogger(__name__)

VITAL = ("database", "index", "embedder")
TIMEOUT_SECONDS = 3.0
# Anyone may ask, so the parts are not asked more often than this.
CACHE_SECONDS = 2.0
# An embedding service takes money for every word.
PAID_FOR_SECONDS = 30.0
STARTED = time.monotonic()


Check = Callable[["Service"], Coroutine[Any, Any, Dependency | None]]


class HealthWatch:
    """Asks once for all who want to know at the same time."""

    def __init__(self) -> None:
        self._found: Health | None = None
        self._found_at = 0.0
        self._asking: asyncio.Task[Health] | None = None
        self._opening_index: asyncio.Task[Dependency | None] | None = None
        self._paid_at: float | None = None
        self._down: set[str] = set()

    async def check(self, service: Service) -> Health:
        """How the service is doing, at most two seconds ago."""
        if self._found and time.monotonic() - self._found_at < CACHE_SECONDS:
            return self._found
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all(service))
        # One caller who leaves must not end it for the others.
        return await asyncio.shield(self._asking)

    async def _ask_all(self, service: Service) -> Health:
        checks: dict[str, Check] = {
            "database": _database,
            "index": _index,
            "embedder": self._embedder,
            "language_model": _language_model,
            "rate_limits": _rate_limits,
            "worker": _worker,
        }
        found = await asyncio.gather(
            *(self._ask(name, check, service) for name, check in checks.items())
        )
        dependencies = dict(zip(checks, found, strict=True))
        down = {name for name, one in dependencies.items() if one.status == "down"}
        self._found = Health(
            status="down" if down.intersection(VITAL) else "degraded" if down else "ok",
            version=__version__,
            uptime_seconds=int(time.monotonic() - STARTED),
            timestamp=iso(now()),
            dependencies=dependencies,
        )
        self._found_at = time.monotonic()
        return self._found

    async def _ask(self, name: str, check: Check, service: Service) -> Dependency:
        started = time.perf_counter()
        task = self._task(name, check, service)
        # Not waited for any longer than this, not even until it has noticed that it is cancelled.
        done, _ = await asyncio.wait({task}, timeout=TIMEOUT_SECONDS)
        latency = _since(started)
        why: Exception | str
        try:
            if done:
                answer = task.result() or Dependency(status="ok", latency_ms=latency)
                if name in self._down:
                    self._down.remove(name)
                    logger.info("%s is back", name, extra={"dependency": name})
                return answer
            if name != "index":
                task.cancel()
            why = message = f"It did not answer within {TIMEOUT_SECONDS:g} seconds."
        except (BookError, SQLAlchemyError) as problem:
            why, message = problem, "It can't be reached or used; see the log."
            # A database's own words name hosts and users, which are not for every caller's eyes.
            if isinstance(problem, BookError) and name != "database":
                message = _fit_for_all(problem.message, service.library.settings)
        except Exception as problem:
            logger.exception("The check of %s failed", name)
            why, message = problem, "The check itself failed; see the log."
        if name not in self._down:
            self._down.add(name)
            logger.warning("%s is down: %s", name, why, extra={"dependency": name})
        return Dependency(status="down", latency_ms=latency, message=message)

    def _task(self, name: str, check: Check, service: Service) -> asyncio.Task[Dependency | None]:
        if name != "index":
            return asyncio.create_task(check(service))
        # Opening an index must not be broken off: its folder would stay locked with no owner. The
        # next to ask waits for the same one.
        if self._opening_index is None or self._opening_index.done():
            self._opening_index = asyncio.create_task(check(service))
        return self._opening_index

    async def _embedder(self, service: Service) -> Dependency | None:
        embedder = service.library.embedder
        ago = None if self._paid_at is None else time.monotonic() - self._paid_at
        if ago is not None and ago < PAID_FOR_SECONDS:
            return Dependency(status="ok", message=f"It answered {ago:.0f} seconds ago.")
        await embedder.check()
        if isinstance(embedder, RemoteEmbedder):
            self._paid_at = time.monotonic()
        return None


async def _database(service: Service) -> None:
    # Reads a table: SQLite would answer `SELECT 1` without a look at its file.
    await service.keys.exist()


async def _index(service: Service) -> None:
    info = await service.library.index_info()
    if not info.healthy:
        raise StoreError(f"The index is damaged: {info.status}.")


async def _language_model(service: Service) -> Dependency | None:
    model = service.assistant.language_model
    if model is None:
        return Dependency(status="not used", message="The built-in answerer quotes the book.")
    started = time.perf_counter()
    message = await model.check()
    return Dependency(status="ok", latency_ms=_since(started), message=message or None)


async def _rate_limits(service: Service) -> Dependency | None:
    if not service.rate.counts:
        return Dependency(status="not used", message="Keys have no limit.")
    await service.rate.check()
    return None


async def _worker(service: Service) -> Dependency | None:
    if service.settings.workers == "queue":
        return Dependency(status="not used", message="`bythebook worker` takes the jobs.")
    if not service.worker.is_running:
        raise StoreError("The worker that ingests books has stopped.")
    return None


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


def _fit_for_all(message: str, settings: Settings) -> str:
    """Without secrets, and with the names of settings in place of folders and addresses."""
    message = message.replace(str(settings.home), "BYTHEBOOK_HOME")
    message = message.replace(shown_address(settings.openai_base_url), "OPENAI_BASE_URL")
    if settings.qdrant_url:
        message = message.replace(shown_address(settings.qdrant_url), "QDRANT_URL")
    return Masks(secrets_of(settings)).masked(message)
