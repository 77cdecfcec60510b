"""Guessing a key is slow, and one reader of a site can't use up what is for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi import Request
from pydantic import SecretStr, ValidationError

from bythebook.server.caller import address_of, is_own_address
from bythebook.server.rate import RateLimits
from bythebook.settings import Settings
from server.conftest import Serve
from server.running import Running

SITE = "https://book.example.org"
BOOK = "physical-ai-robotics"
PROXY = "127.0.0.1"


def guess(number: int) -> dict[str, str]:
    return {"X-API-Key": f"btb_{number:012x}_{'x' * 43}"}


async def new_key(up: Running, **how: Any) -> dict[str, str]:
    _, text = await up.service.keys.create("test", how.pop("scopes", ("read", "chat")), **how)
    return {"X-API-Key": text}


async def status(up: Running, *headers: dict[str, str]) -> int:
    sent = {name: value for each in headers for name, value in each.items()}
    return (await up.http.get("/books", headers=sent)).status_code


def sent_by(address: str) -> dict[str, str]:
    return {"X-Forwarded-For": address}


async def test_an_address_may_try_a_few_keys_a_minute(serve: Serve) -> None:
    async with serve(key_guesses=5) as up:
        used, fresh = await new_key(up), await new_key(up)
        assert await status(up, used) == 200
        tried = [await status(up, guess(number)) for number in range(7)]
        assert tried == [401] * 5 + [429] * 2
        refused = await up.http.get("/books", headers=guess(7))
        assert refused.json()["error"] == "E010"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        # Whoever has a key reads on, also with one that was never used before.
        assert await status(up, used) == 200
        assert await status(up, fresh) == 200
        figures = up.service.metrics.render()[0].decode()
        assert "bythebook_rate_limited_total 3.0" in figures


async def test_a_key_that_was_good_is_still_checked(serve: Serve) -> None:
    async with serve(key_guesses=1) as up:
        key = await new_key(up)
        assert await status(up, key) == 200
        (known,) = await up.service.keys.list()
        await up.service.keys.revoke(known.key_id)
        assert await status(up, key) == 401


async def test_right_keys_are_no_guesses(serve: Serve) -> None:
    async with serve(key_guesses=1) as up:
        key = await new_key(up)
        statuses = await asyncio.gather(*(status(up, key) for _ in range(20)))
        assert set(statuses) == {200}
        assert await status(up, guess(1)) == 401
        assert await status(up, guess(2)) == 429


async def test_guesses_are_counted_by_address(serve: Serve) -> None:
    async with serve(key_guesses=2, trusted_proxies=PROXY) as up:
        await new_key(up)
        attacker, neighbour = sent_by("203.0.113.5"), sent_by("203.0.113.6")
        assert [await status(up, guess(n), attacker) for n in range(3)] == [401, 401, 429]
        assert await status(up, guess(1), neighbour) == 401
        forged = sent_by("203.0.113.99, 203.0.113.5")
        assert await status(up, guess(1), forged) == 429, "the proxy adds the last one"


async def test_a_header_of_the_caller_is_not_believed(serve: Serve) -> None:
    async with serve(key_guesses=1) as up:
        await new_key(up)
        assert await status(up, guess(1), sent_by("203.0.113.5")) == 401
        assert await status(up, guess(2), sent_by("203.0.113.6")) == 429


async def test_who_sends_no_key_does_not_guess(serve: Serve) -> None:
    async with serve(key_guesses=1) as up:
        key = await new_key(up)
        assert [await status(up) for _ in range(3)] == [401, 401, 401]
        assert await status(up, key) == 200


async def test_services_count_guesses_together(redis_url: str) -> None:
    settings = Settings(redis_url=SecretStr(redis_url), key_guesses=2)
    one, other = RateLimits(settings), RateLimits(settings)
    try:
        assert (await one.hit_guess("198.51.100.7")).allowed
        assert (await other.hit_guess("198.51.100.7")).allowed
        assert not (await one.hit_guess("198.51.100.7")).allowed
        assert (await other.hit_guess("198.51.100.8")).allowed
    finally:
        await one.close()
        await other.close()


async def test_one_reader_does_not_use_up_what_is_for_all(serve: Serve) -> None:
    async with serve(reader_rate_limit=3, rate_limit=5, trusted_proxies=PROXY) as up:
        how = {"scopes": ("chat",), "books": [BOOK], "origins": [SITE]}
        site = {**await new_key(up, **how), "Origin": SITE}
        abuser, reader = sent_by("203.0.113.5"), sent_by("203.0.113.6")
        assert [await status(up, site, abuser) for _ in range(6)] == [200] * 3 + [429] * 3
        told = await up.http.get("/books", headers={**site, **abuser})
        assert told.headers["X-RateLimit-Limit"] == "3" and told.headers["Retry-After"]
        assert "This address" in told.json()["message"]
        # What was refused there did not count: two of the key's five are left.
        assert [await status(up, site, reader) for _ in range(3)] == [200, 200, 429]


async def test_a_secret_key_has_its_own_limit_only(serve: Serve) -> None:
    async with serve(reader_rate_limit=1, trusted_proxies=PROXY) as up:
        key = await new_key(up)
        assert [await status(up, key, sent_by("203.0.113.5")) for _ in range(3)] == [200] * 3


async def test_readers_behind_an_unknown_proxy_are_not_taken_for_one(serve: Serve) -> None:
    async with serve(reader_rate_limit=1) as up:
        how = {"scopes": ("chat",), "books": [BOOK], "origins": [SITE]}
        site = {**await new_key(up, **how), "Origin": SITE}
        assert [await status(up, site) for _ in range(3)] == [200] * 3


@pytest.mark.parametrize(
    ("host", "address", "is_own"),
    [
        ("8.8.8.8", "8.8.8.8", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("2a00:1450:4001:81b::200e", "2a00:1450:4001:81b::/64", True),
        ("::ffff:8.8.4.4", "8.8.4.4", True),
        ("fe80::1%eth0", "fe80::/64", False),
        ("no address", "no address", False),
    ],
)
def test_an_address_to_count_by(host: str, address: str, is_own: bool) -> None:
    request = Request({"type": "http", "client": (host, 1), "headers": []})
    assert address_of(request) == address
    assert is_own_address(request, "") == is_own
    assert is_own_address(request, PROXY)


@pytest.mark.parametrize("given", ["*", "proxy.example", "10.0.0.1/8", "127.0.0.1;10.0.0.1"])
def test_only_addresses_are_trusted(given: str) -> None:
    with pytest.raises(ValidationError, match="neither an address nor a network"):
        Settings(trusted_proxies=given)
