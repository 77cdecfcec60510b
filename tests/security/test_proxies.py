"""What stands in the head of a request says who asks only where a trusted proxy wrote it."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from security.test_key_guessing import PROXY, guess, new_key
from server.conftest import Serve
from server.running import Running

ATTACKER = "203.0.113.5"


async def raw(up: Running, *lines: str, target: str = "/books", host: str = "") -> int:
    """The status of a request that is sent as it stands."""
    address = urlsplit(up.server.address)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = [f"GET {target} HTTP/1.1", f"Host: {host or address.netloc}", *lines]
    writer.write("\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1"))
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


def key_of(number: int) -> str:
    ((name, value),) = guess(number).items()
    return f"{name}: {value}"


@pytest.mark.parametrize(
    "head",
    [
        [f"X-Forwarded-For: 198.51.100.1, {ATTACKER}"],
        ["X-Forwarded-For: 198.51.100.2", f"X-Forwarded-For: {ATTACKER}"],
        [f"X-Forwarded-For: 198.51.100.3,,  ,{ATTACKER}"],
        [f"X-Forwarded-For: unknown, \xe9\xff, {ATTACKER}"],
        ["Forwarded: for=198.51.100.4", f"X-Forwarded-For: {ATTACKER}"],
        ["X-Real-IP: 198.51.100.5", f"X-Forwarded-For: {ATTACKER}"],
        [
            "Client-IP: 198.51.100.6",
            "CF-Connecting-IP: 198.51.100.6",
            f"X-Forwarded-For: {ATTACKER}",
        ],
    ],
)
async def test_the_address_that_the_proxy_added_counts(serve: Serve, head: list[str]) -> None:
    async with serve(key_guesses=2, trusted_proxies=PROXY) as up:
        await new_key(up)
        for number in range(2):
            assert await raw(up, key_of(number), f"X-Forwarded-For: {ATTACKER}") == 401
        assert await raw(up, key_of(2), *head) == 429
        assert await raw(up, key_of(3), "X-Forwarded-For: 198.51.100.9") == 401


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"])
async def test_without_a_proxy_no_header_counts(serve: Serve, name: str) -> None:
    async with serve(key_guesses=2) as up:
        await new_key(up)
        tried = [await raw(up, key_of(n), f"{name}: 198.51.100.{n}") for n in range(3)]
        assert tried == [401, 401, 429]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil_name.example",
        "127.0.0.1@evil.example",
        "evil.example#127.0.0.1",
        "evil.example/127.0.0.1",
        "localhost.evil.example",
        "localhost\\evil.example",
        "[::1]evil.example",
        "\xe9vil.example",
        " ",
    ],
)
async def test_without_keys_only_names_of_this_machine_will_do(serve: Serve, host: str) -> None:
    """Another page may give its own name this machine's address."""
    async with serve() as up:
        assert await raw(up) == 200
        assert await raw(up, host="localhost:1") == 200
        assert await raw(up, host="[::1]:80") == 200
        assert await raw(up, host=host) in (400, 403)
        assert await raw(up, host=host, target="http://127.0.0.1/books") in (400, 403)


async def test_two_hosts_are_none(serve: Serve) -> None:
    async with serve() as up:
        assert await raw(up, "Host: evil.example", host="localhost") in (400, 403)
        assert await raw(up, "Host: localhost", host="evil.example") in (400, 403)


async def test_a_proxy_can_not_be_claimed_by_who_is_none(serve: Serve) -> None:
    async with serve(key_guesses=1, trusted_proxies="198.51.100.0/24") as up:
        await new_key(up)
        spoofed = "X-Forwarded-For: 198.51.100.7"
        assert [await raw(up, key_of(n), f"{spoofed}{n}") for n in range(2)] == [401, 429]
