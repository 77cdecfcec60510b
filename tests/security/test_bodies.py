"""No body holds the service up, and none is read for who has no key."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.server.body import nesting
from extent import PATIENCE
from server.conftest import Serve
from server.running import Running

MEGABYTE = 1_000_000
WRONG = f"btb_{'0' * 12}_{'x' * 43}"


@pytest.mark.parametrize("part", [b'\\"', b'"\\', b'"', b"\\", b'"a', b"[]", b'"\\"', b"{\\"])
async def test_no_body_holds_the_service_up(up: Running, part: bytes) -> None:
    body = part * (MEGABYTE // len(part))
    # Where each quote is a new start it takes hours, and the client gives up.
    asked = asyncio.create_task(up.http.post("/v1/chat/completions", content=body))
    assert (await up.http.get("/health")).status_code == 200
    refused = await asked
    assert (await up.http.get("/health")).status_code == 200
    assert refused.status_code == 400


@given(st.binary(max_size=30), st.integers(0, 100))
def test_what_stands_behind_a_mistake_hides_no_bracket_before_it(rest: bytes, deep: int) -> None:
    assert nesting(b'{"a": ' + b"[" * deep + rest) >= deep + 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-le"])
async def test_deep_nesting_in_another_encoding_is_refused(up: Running, encoding: str) -> None:
    """JSON may come in these; the bytes of its letters can look like quotes."""
    body = ('{"message": "\u2200", "a": ' + "[" * 1500).encode(encoding)
    assert (await up.http.post("/chat/run", content=body)).status_code == 400


async def test_a_key_is_asked_for_before_the_body(serve: Serve) -> None:
    async with serve(key_guesses=0) as up:
        _, readers = await up.service.keys.create("reader", ("read",))
        document = (await up.http.get("/openapi.json")).json()
        routes = document["paths"].items()
        paths = [path for path, methods in routes if "security" in methods.get("post", {})]
        assert "/chat/run" in paths and "/v1/chat/completions" in paths
        for path in (*paths, "/mcp"):
            assert await _status_of_half_a_request(up, path) == 401, path
            assert await _status_of_half_a_request(up, path, WRONG) == 401, path
        assert await _status_of_half_a_request(up, "/chat/run", readers) == 403


async def _status_of_half_a_request(up: Running, path: str, key: str = "") -> int:
    """What is answered before the body came."""
    host = urlsplit(up.server.address)
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    sent = f"X-API-Key: {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nHost: {host.netloc}\r\n{sent}Content-Length: 9000\r\n\r\n"
    writer.write(head.encode())
    try:
        async with asyncio.timeout(PATIENCE):
            return int((await reader.readline()).split()[1])
    finally:
        writer.close()
