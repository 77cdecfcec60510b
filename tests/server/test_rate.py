"""A hundred requests a minute, counted here or in a real Redis."""

from __future__ import annotations

import asyncio
import gc
import time
import traceback
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from bythebook.errors import ConfigurationError, StoreError
from bythebook.keys import Keys
from bythebook.server import rate
from bythebook.server.rate import Rate, RateLimits
from bythebook.settings import Settings
from redis_server import RedisServer
from server.running import running

LIMIT = 20


@pytest.fixture(params=["memory", "redis"])
def settings(request: pytest.FixtureRequest) -> Settings:
    if request.param == "memory":
        return Settings(rate_limit=LIMIT)
    return on(request.getfixturevalue("redis_url"))


@pytest.fixture
async def limits(settings: Settings) -> AsyncIterator[RateLimits]:
    opened = RateLimits(settings)
    yield opened
    await opened.close()
    gc.collect()  # a connection left open would warn, and a warning is an error


@pytest.fixture
def key_id() -> str:
    """One that no other test counts with: they share a Redis."""
    return uuid.uuid4().hex


def on(url: str, limit: int = LIMIT) -> Settings:
    return Settings(rate_limit=limit, redis_url=SecretStr(url))


async def hits(limits: RateLimits, key_id: str, times: int) -> list[Rate]:
    return await asyncio.gather(*(limits.hit(key_id) for _ in range(times)))


def allowed(rates: list[Rate]) -> int:
    return sum(rate.allowed for rate in rates)


async def test_exactly_as_many_as_may_are_allowed_of_many_at_once(
    limits: RateLimits, key_id: str
) -> None:
    rates = await hits(limits, key_id, LIMIT + 15)
    assert Counter(rate.allowed for rate in rates) == {True: LIMIT, False: 15}
    assert all(rate.limit == LIMIT and 0 <= rate.remaining < LIMIT for rate in rates)
    assert not (await limits.hit(key_id)).allowed


async def test_what_is_left_is_told(limits: RateLimits, key_id: str) -> None:
    began = int(time.time())
    rates = [await limits.hit(key_id) for _ in range(LIMIT + 2)]
    ended = time.time()
    assert [rate.remaining for rate in rates] == [*range(LIMIT - 1, -1, -1), 0, 0]
    assert all(began + 60 <= rate.reset <= ended + 62 for rate in rates)

    first, last = rates[0], rates[-1]
    assert first.headers() == {
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(LIMIT - 1),
        "X-RateLimit-Reset": str(first.reset),
    }
    assert last.headers() == {
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(last.reset),
        "Retry-After": str(last.retry_after),
    }
    assert 1 <= last.retry_after <= 60
    error = last.error()
    assert error.http_status == 429
    assert error.details == {"limit": LIMIT, "retry_after": last.retry_after}


async def test_each_key_has_a_minute_of_its_own(limits: RateLimits, key_id: str) -> None:
    assert allowed(await hits(limits, key_id, LIMIT + 1)) == LIMIT
    assert allowed(await hits(limits, key_id + "0", LIMIT + 1)) == LIMIT


async def test_no_sixty_seconds_hold_more_than_the_limit(
    limits: RateLimits, key_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.time()

    def clock(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: began + seconds)

    clock(0)
    assert allowed(await hits(limits, key_id, 5)) == 5
    clock(50)
    assert allowed(await hits(limits, key_id, LIMIT)) == LIMIT - 5
    clock(59)
    refused = await limits.hit(key_id)
    assert not refused.allowed
    # Who comes back when told to is let in, and only the five oldest have made room.
    clock(59 + refused.retry_after)
    assert allowed(await hits(limits, key_id, LIMIT)) == 5
    # Being refused costs nothing.
    clock(59 + refused.retry_after + 120)
    assert allowed(await hits(limits, key_id, LIMIT)) == LIMIT


async def test_zero_means_no_limit(settings: Settings, key_id: str) -> None:
    limits = RateLimits(settings.model_copy(update={"rate_limit": 0}))
    rates = await hits(limits, key_id, 150)
    assert all(rate.allowed and rate.headers() == {} for rate in rates)
    await limits.close()


async def test_services_share_what_they_count_in_redis(redis_url: str, key_id: str) -> None:
    one, other = RateLimits(on(redis_url)), RateLimits(on(redis_url))
    both = await asyncio.gather(hits(one, key_id, LIMIT), hits(other, key_id, LIMIT))
    assert sum(map(allowed, both)) == LIMIT
    assert not (await other.hit(key_id)).allowed
    await one.close()
    # What was counted outlives who counted it.
    later = RateLimits(on(redis_url))
    assert not (await later.hit(key_id)).allowed
    await other.close()
    await later.close()


async def test_memory_is_not_shared_and_needs_nothing(key_id: str) -> None:
    one, other = RateLimits(Settings(rate_limit=1)), RateLimits(Settings(rate_limit=1))
    await one.check()
    assert (await one.hit(key_id)).allowed and (await other.hit(key_id)).allowed
    await one.close()
    await other.close()


async def test_redis_may_go_away_and_come_back(tmp_path: Path, key_id: str) -> None:
    with RedisServer(tmp_path, password="sesame") as server:
        limits = RateLimits(on(server.url))
        await limits.check()
        assert allowed(await hits(limits, key_id, LIMIT + 1)) == LIMIT

        server.stop()
        for attempt in (limits.check(), limits.hit(key_id), limits.hit("another")):
            with pytest.raises(StoreError, match="there is no connection") as caught:
                await attempt
            assert caught.value.http_status == 503
            assert "sesame" not in told(caught.value)

        server.start()
        await limits.check()
        assert allowed(await hits(limits, key_id, LIMIT + 1)) == LIMIT
        await limits.close()
        gc.collect()


async def test_connections_that_died_while_idle_are_not_noticed(
    tmp_path: Path, key_id: str
) -> None:
    with RedisServer(tmp_path) as server:
        limits = RateLimits(on(server.url))
        await hits(limits, key_id, LIMIT)
        server.stop()
        server.start()
        assert allowed(await hits(limits, key_id, LIMIT + 1)) == LIMIT
        await limits.close()


async def test_a_wrong_password_is_told_and_not_shown(tmp_path: Path, key_id: str) -> None:
    with RedisServer(tmp_path, password="sesame") as server:
        for url in (server.url.replace("sesame", "mustard"), server.url.replace(":sesame@", "")):
            limits = RateLimits(on(url))
            for attempt in (limits.check(), limits.hit(key_id)):
                with pytest.raises(StoreError, match="name or password") as caught:
                    await attempt
                assert "mustard" not in told(caught.value)
            await limits.close()


async def test_a_redis_that_says_nothing_is_given_up_on(
    monkeypatch: pytest.MonkeyPatch, key_id: str
) -> None:
    monkeypatch.setattr(rate, "_SECONDS_TO_ANSWER", 0.1)
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    limits = RateLimits(on(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    for attempt in (limits.check(), limits.hit(key_id)):
        with pytest.raises(StoreError, match=r"did not answer within 0\.1 s"):
            await attempt
    await limits.close()
    ended.set()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    "url",
    [
        "sesame",
        "redis://",
        "http://:sesame@127.0.0.1:6379",
        "redis://:sesame@127.0.0.1:port",
        "redis://:ses/ame@127.0.0.1:6379",
        "redis://:sesame@127.0.0.1:99999",
        "redis://:sesame@127.0.0.1/first",
        "redis://:sesame@127.0.0.1/0?sesame=1",
        "redis://:sesame@[::1",
    ],
)
def test_what_is_no_redis_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError, match="BYTHEBOOK_REDIS_URL") as caught:
        RateLimits(on(url))
    assert "ses" not in told(caught.value).replace("uses", "")


def told(problem: BaseException) -> str:
    """Everything a log could show of it, without the lines of source."""
    lines: list[str] = []
    while True:
        lines += traceback.format_exception_only(problem)
        cause = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
        if cause is None:
            return "".join(lines)
        problem = cause


async def test_odd_values_in_redis_are_told_and_do_no_lasting_harm(
    home: Path, redis_url: str
) -> None:
    """Who else writes to the Redis can stop the counting, not the service."""
    async with running(home, redis_url=redis_url, rate_limit=1000) as up:
        _, key = await Keys(up.service.library.engine).create("reader", ["read"])
        up.http.headers["X-API-Key"] = key
        for spoil in SPOILT:
            assert (await up.http.get("/books")).status_code == 200
            async with Redis.from_url(redis_url) as redis:
                keys: Any = await redis.keys("*")
                assert keys
                for key in keys:
                    await redis.delete(key)
                    await spoil(redis, key)
                response = await up.http.get("/books")
                assert response.status_code in (200, 429, 503), response.text
                assert "E000" not in response.text
                assert (await up.http.get("/health")).status_code in (200, 503)
                await redis.delete(*keys)
        assert (await up.http.get("/books")).status_code == 200


SPOILT: tuple[Callable[[Any, Any], Awaitable[Any]], ...] = (
    lambda redis, key: redis.set(key, "no number"),
    lambda redis, key: redis.set(key, b"\xff\x00" * 1000),
    lambda redis, key: redis.hset(key, "a", "b"),
    *(
        lambda redis, key, value=value: redis.rpush(key, value, value)
        for value in ("no number", "nan", "inf", "-inf", "1e308", "-1", "9" * 400, b"\xff", "")
    ),
)
