"""A Qdrant server as seen from here: connecting, trying again, and saying what went wrong."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from bythebook.errors import BookError, ConfigurationError, StoreError
from bythebook.files import disk_full
from bythebook.models.values import shown_address
from bythebook.tracing import carry_on

T = TypeVar("T")

REFUSED = (ApiException, QdrantException)
# What the client raises of an answer that is none.
UNREADABLE = (ValueError, AssertionError, RecursionError)
_DELAYS = (1.0, 2.0, 4.0)
_LONGEST_DELAY = 30.0


class NoCollection(StoreError):
    """The server answers but has no such collection."""


class AlreadyThere(StoreError):
    """Somebody else created the collection first."""


class ServerConnection:
    """Makes calls on a client, its own or one that was given."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        client: AsyncQdrantClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url
        self._shown = shown_address(url)
        self._api_key = api_key
        self._timeout = timeout
        self._given = client
        self._client = client
        self._sleep = sleep

    async def close(self) -> None:
        """Close the connections; a client that was given stays open for its owner."""
        ours, self._client = self._client, self._given
        if ours is not None and ours is not self._given:
            await ours.close()

    async def call(self, work: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Ask the server, again if the failure may pass: every call may be made twice."""
        for delay in (*_DELAYS, None):
            try:
                return await work(self._connection())
            except ResourceExhaustedResponse as problem:
                if delay is None:
                    raise self._unreachable("it is overloaded") from problem
                delay = min(max(delay, problem.retry_after_s), _LONGEST_DELAY)
            except (*REFUSED, *UNREADABLE) as problem:
                if delay is None or not _may_pass(problem):
                    raise self._explain(problem) from problem
            await self._sleep(delay)
        raise AssertionError("the last round returns or raises")

    def _connection(self) -> AsyncQdrantClient:
        if self._client is None:
            with warnings.catch_warnings():
                # A key over plain http is the operator's choice, on a private network a usual one.
                warnings.filterwarnings("ignore", "Api key is used", UserWarning)
                try:
                    self._client = AsyncQdrantClient(
                        url=self._url,
                        api_key=self._api_key,
                        timeout=max(1, round(self._timeout)),
                        check_compatibility=False,
                        event_hooks={"request": [carry_on]},
                    )
                except ValueError as problem:
                    raise ConfigurationError(
                        f"{self._shown} is not the address of a Qdrant server: {problem}.",
                        action="Set QDRANT_URL to something like http://localhost:6333.",
                    ) from problem
        return self._client

    def _explain(self, problem: Exception) -> BookError:
        text = str(problem)
        if isinstance(problem, ResponseHandlingException):
            if isinstance(problem.source, httpx.TimeoutException):
                return self._unreachable(f"no answer within {self._timeout:g} s")
            if isinstance(problem.source, UNREADABLE):
                return self._unreadable(problem.source)
            return self._unreachable(text)
        status = problem.status_code if isinstance(problem, UnexpectedResponse) else None
        if status in {401, 403}:
            return ConfigurationError(
                f"The Qdrant server at {self._shown} refused the key.",
                action="Set QDRANT_API_KEY to a key that may read and write.",
            )
        if status == 404 or "not found" in text:
            return NoCollection(
                f"The Qdrant server at {self._shown} has no such collection.",
                action="Run `bythebook ingest PATH`.",
            )
        if status == 409 or "already exists" in text:
            return AlreadyThere("The collection is there already.")
        if isinstance(problem, UNREADABLE):
            return self._unreadable(problem)
        if "No space left on device" in text or "available disk space" in text:
            return disk_full(f"the Qdrant server at {self._shown}")
        if status is not None and status >= 500:
            return self._unreachable(text)
        return StoreError(
            f"The Qdrant server at {self._shown} refused a request.",
            action="Run `bythebook doctor`; is the server older than 1.12?",
            details={"answer": text},
        )

    def _unreadable(self, problem: Exception) -> StoreError:
        return StoreError(
            f"The Qdrant server at {self._shown} gave an answer that can't be read.",
            action="Check that QDRANT_URL is a Qdrant server (1.12 or newer) and that nobody else "
            "writes to the collection; `--mode recreate` makes a book anew.",
            details={"reason": type(problem).__name__},
        )

    def _unreachable(self, reason: str) -> StoreError:
        return StoreError(
            f"Cannot connect to Qdrant at {self._shown}.",
            action="Start the server or correct QDRANT_URL; "
            "without QDRANT_URL the embedded index is used.",
            details={"reason": reason},
        )


def _may_pass(problem: Exception) -> bool:
    if isinstance(problem, UnexpectedResponse):
        return problem.status_code == 429 or (problem.status_code or 0) >= 500
    if isinstance(problem, ResponseHandlingException):
        source = problem.source
        # After a read timeout the answer may still come; asking again would only add to the load.
        return isinstance(source, httpx.TransportError) and not isinstance(
            source, httpx.ReadTimeout
        )
    return False
