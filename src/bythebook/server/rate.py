"""How often requests may come and keys be guessed, counted here or in a shared Redis."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as TooSlow

from bythebook.errors import ConfigurationError, StoreError, TooManyRequests
from bythebook.settings import Settings

# A request waits for the count, so a Redis that does not answer must be noticed soon.
_SECONDS_TO_ANSWER = 2.0
_CONNECTIONS = 16
_SECONDS_FOR_A_CONNECTION = 5.0
# Redis tells when a request was made to a tenth of a millisecond, and counts more finely.
_ROUNDING = 0.001
_MINUTE = 60
# Less than this a clock may go back while it is kept right.
_CLOCK_STEP = 1.0


@dataclass(frozen=True)
class Rate:
    """What is left of a minute after a request."""

    allowed: bool
    limit: int
    remaining: int
    # The second from which on the oldest request counts no more.
    reset: int
    retry_after: int = 0
    # Whose minute it is, for the error.
    whose: str = "The key"

    def headers(self) -> dict[str, str]:
        if not self.limit:
            return {}
        headers = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }
        return headers if self.allowed else {**headers, "Retry-After": str(self.retry_after)}

    def error(self) -> TooManyRequests:
        return TooManyRequests(
            f"{self.whose} has made its {self.limit} requests of this minute.",
            action=f"Try again in {self.retry_after} s.",
            details={"limit": self.limit, "retry_after": self.retry_after},
        )


class RateLimits:
    """Counts in a window that moves: any 60 seconds hold at most so many requests, where minutes
    of the clock would let through twice as many around their change. A refused request does not
    count, so a caller that keeps knocking is let in as soon as the oldest one is a minute old."""

    def __init__(self, settings: Settings) -> None:
        self.limit = settings.rate_limit
        self.share = settings.reader_rate_limit
        self.guesses = settings.key_guesses
        self._pool = _pool(settings.redis_url.get_secret_value()) if settings.redis_url else None
        self._storage: MemoryStorage | RedisStorage = (
            RedisStorage(
                "redis://",
                implementation="redispy",
                key_prefix="bythebook",
                connection_pool=self._pool,  # type: ignore[arg-type]
            )
            if self._pool
            else MemoryStorage()
        )
        self._latest = 0.0
        self._window = MovingWindowRateLimiter(self._storage)

    @property
    def counts(self) -> bool:
        """Whether there is anything to count."""
        return bool(self.limit or self.share or self.guesses)

    async def hit(self, key_id: str) -> Rate:
        """Count a request of this key, if it may still make one."""
        return await self._hit(self.limit, "The key", key_id)

    async def hit_share(self, key_id: str, address: str) -> Rate:
        """Count a reader's request with a key that all readers of a site have, if the reader's
        address may still make one: nobody alone uses up what is for all."""
        return await self._hit(self.share, "This address", "share", key_id, address)

    async def hit_guess(self, address: str) -> Rate:
        """Count a key that was not seen before, if the address may still try one."""
        return await self._hit(self.guesses, "This address", "guess", address)

    async def _hit(self, limit: int, whose: str, *counted: str) -> Rate:
        if not limit:
            return Rate(allowed=True, limit=0, remaining=0, reset=0)
        item = RateLimitItemPerMinute(limit)
        await self._forget_the_future()
        with _redis_errors():
            allowed = await self._window.hit(item, *counted)
            window = await self._window.get_window_stats(item, *counted)
            now = time.time()
            free_at = min(max(window.reset_time, now), now + _MINUTE) + _ROUNDING
            reset = math.floor(free_at) + 1
        return Rate(
            allowed=allowed,
            limit=limit,
            # Others may have asked, or a place may have come free, between the two questions.
            remaining=max(0, window.remaining) if allowed else 0,
            reset=reset,
            retry_after=0 if allowed else min(_MINUTE, math.floor(free_at - now) + 1),
            whose=whose,
        )

    async def _forget_the_future(self) -> None:
        """Once the clock was set back, what was counted before would count until that time comes
        again. Redis forgets by itself a minute after the last request."""
        now = time.time()
        if isinstance(self._storage, MemoryStorage) and now < self._latest - _CLOCK_STEP:
            await self._storage.reset()
            self._latest = now
        self._latest = max(self._latest, now)

    async def check(self) -> None:
        """Raises when the Redis that counts can't be reached."""
        if self._pool:
            with _redis_errors():
                await Redis(connection_pool=self._pool).ping()

    async def close(self) -> None:
        if self._pool:
            await self._pool.aclose()
        elif isinstance(self._storage, MemoryStorage) and self._storage.timer:
            self._storage.timer.cancel()
            await asyncio.wait([self._storage.timer])


def _pool(url: str) -> BlockingConnectionPool:
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss") or not parts.hostname:
            raise ValueError("no Redis address")
        if parts.path.strip("/") and not parts.path.strip("/").isdecimal():
            raise ValueError("no number of a database")
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=_SECONDS_FOR_A_CONNECTION,
            socket_timeout=_SECONDS_TO_ANSWER,
            socket_connect_timeout=_SECONDS_TO_ANSWER,
            # Once: a connection from before Redis was started again is replaced, and one that is
            # refused is told at once.
            retry=Retry(NoBackoff(), 1, supported_errors=(NoConnection,)),
        )
        # Opens nothing, but refuses an option that there is not.
        pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        # Not `from` the cause: its words can hold the password.
        raise ConfigurationError(
            "BYTHEBOOK_REDIS_URL is not the address of a Redis.",
            action="Give one such as redis://:password@host:6379/0.",
        ) from None
    return pool


@contextlib.contextmanager
def _redis_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError, ValueError) as problem:  # the last: what it holds is no time
        raise StoreError(
            f"The Redis that counts requests can't be used: {_reason(problem)}.",
            action="Check that it runs and that BYTHEBOOK_REDIS_URL is right, then try again.",
        ) from problem


def _reason(problem: RedisError | OSError | ValueError) -> str:
    """In our words: theirs name addresses that are not for every caller's eyes."""
    if isinstance(problem, AuthenticationError):
        return "it does not accept the name or password"
    if isinstance(problem, TooSlow):
        return f"it did not answer within {_SECONDS_TO_ANSWER:g} s"
    if isinstance(problem, NoConnection | OSError):
        return "there is no connection to it"
    if isinstance(problem, ValueError):
        return "somebody else has written to it"
    return "it refused the command"
