"""How many at once, and which sites' pages may call."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bythebook.server.body import nesting
from server.running import with_model
from standins.llm_server import LlmServer, hangs

QUESTION = "What is a service in ROS 2?"
SITE = "https://book.example.org"


async def test_a_full_service_says_so_at_once(serve: Any, llm: LlmServer) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm), max_concurrent=2, shutdown_seconds=0) as up:
        waiting = [asyncio.create_task(up.ask(QUESTION)) for _ in range(2)]
        await llm.until(lambda: len(llm.requests) == 2)
        full = await up.ask(QUESTION)
        assert full.status_code == 503 and full.json()["error"] == "E012"
        assert full.headers["Retry-After"]
        for path in ("/health", "/", "/web/chat/asking.js", "/widget.js"):
            assert (await up.http.get(path)).status_code == 200, path
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await llm.until(lambda: all(request.gave_up for request in llm.requests))
        assert (await up.http.get("/info")).status_code == 200


async def test_only_listed_sites_may_call(serve: Any) -> None:
    asking = {"Origin": SITE, "Access-Control-Request-Method": "POST"}
    async with serve() as up:
        assert (
            "access-control-allow-origin"
            not in (await up.http.get("/health", headers={"Origin": SITE})).headers
        )
        assert (await up.http.options("/chat/run", headers=asking)).status_code == 405
    async with serve(cors_origins=f"{SITE}, https://other.example.org") as up:
        allowed = await up.http.options("/chat/run", headers=asking)
        assert allowed.status_code == 200
        assert allowed.headers["Access-Control-Allow-Origin"] == SITE
        response = await up.http.get("/health", headers={"Origin": SITE})
        assert response.headers["Access-Control-Allow-Origin"] == SITE
        assert "X-Session-ID" in response.headers["Access-Control-Expose-Headers"]
        evil = await up.http.get("/health", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in evil.headers


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_nesting_is_counted_as_json_nests(value: Any) -> None:
    def depth(part: Any) -> int:
        if isinstance(part, list):
            return 1 + max(map(depth, part), default=0)
        if isinstance(part, dict):
            return 1 + max(map(depth, part.values()), default=0)
        return 0

    assert nesting(json.dumps(value).encode()) == depth(value)
