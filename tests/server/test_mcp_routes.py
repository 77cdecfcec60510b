"""The official MCP client over HTTP, with keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from extent import PATIENCE
from server.running import Running, with_model
from standins.llm_server import LlmServer, fails, hangs

BOOK = "physical-ai-robotics"
QUESTION = "What is a service in ROS 2?"
LESSON = "7b8f57ed-d924-505f-9297-daab664d88fd"
Mode = Literal["auto", "legacy"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def connected(
    up: Running, key: str | None = None, mode: Mode = "auto"
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"{up.server.address}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def new_key(up: Running, *scopes: Any, **how: Any) -> str:
    _, secret = await up.service.keys.create("test", scopes or ("read", "chat"), **how)
    return secret


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_session(up: Running, mode: Mode) -> None:
    async with connected(up, await new_key(up), mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["search_knowledge_base", "get_context", "get_lesson", "ask"]
        found = await client.call_tool("search_knowledge_base", {"query": QUESTION})
        first = found.structured_content["passages"][0]
        uri = f"book://{BOOK}/lesson/{first['parent_doc_id']}"
        assert (await client.read_resource(uri)).contents[0].mime_type == "text/markdown"
        answer = await client.call_tool("ask", {"question": QUESTION})
        assert answer.structured_content["sources"]
        wrong = await client.call_tool("ask", {"question": ""})
        assert wrong.is_error and "question" in text_of(wrong)
    noted = await up.service.questions.list("answered")
    assert [one.answer_id for one in noted.items] == [answer.structured_content["answer_id"]]
    figures = up.service.metrics.render()[0].decode()
    assert 'bythebook_searches_total{by="request"} 1.0' in figures
    assert 'route="/mcp"' in figures


async def test_many_at_once(up: Running) -> None:
    async with connected(up) as client:
        asked = [client.call_tool("ask", {"question": QUESTION}) for _ in range(10)]
        answers = await asyncio.gather(*asked)
    assert len({answer.structured_content["answer"] for answer in answers}) == 1


async def test_no_key_or_a_wrong_one(up: Running) -> None:
    async with connected(up) as client:
        assert (await client.list_tools()).tools
    await new_key(up)
    for headers in ({}, {"Authorization": "Bearer btb_000000000000_nonsense"}):
        response = await up.http.post("/mcp", json=PING, headers={**ACCEPT, **headers})
        assert response.status_code == 401 and response.headers["WWW-Authenticate"] == "Bearer"
        assert response.json()["suggested_action"]
    with pytest.raises((MCPError, ExceptionGroup)):
        async with connected(up, "btb_000000000000_nonsense") as client:
            await client.list_tools()


async def test_a_key_is_good_for_its_scopes(up: Running) -> None:
    async with connected(up, await new_key(up, "read")) as reader:
        tools = [tool.name for tool in (await reader.list_tools()).tools]
        assert tools == ["search_knowledge_base", "get_context", "get_lesson"]
        refused = await reader.call_tool("ask", {"question": QUESTION})
        assert refused.is_error and "'chat'" in text_of(refused)
    async with connected(up, await new_key(up, "chat")) as chatter:
        tools = [tool.name for tool in (await chatter.list_tools()).tools]
        assert tools == ["get_context", "get_lesson", "ask"]
        refused = await chatter.call_tool("search_knowledge_base", {"query": QUESTION})
        assert refused.is_error and "'read'" in text_of(refused)
        assert (await chatter.list_resources()).resources


async def test_a_key_for_another_book_sees_nothing_of_this_one(up: Running) -> None:
    async with connected(up, await new_key(up, books=["another"])) as other:
        for tool, arguments in (
            ("ask", {"question": QUESTION}),
            ("ask", {"question": QUESTION, "book_id": BOOK}),
            ("search_knowledge_base", {"query": QUESTION, "book_id": BOOK}),
            ("get_lesson", {"parent_doc_id": LESSON, "book_id": BOOK}),
            ("get_context", {"passage_id": LESSON, "book_id": BOOK}),
        ):
            result = await other.call_tool(tool, arguments)
            assert result.is_error and "ROS" not in text_of(result)
        assert [each.uri for each in (await other.list_resources()).resources] == [
            "bythebook://books"
        ]
        for uri in (f"book://{BOOK}", f"book://{BOOK}/lesson/{LESSON}"):
            with pytest.raises(MCPError, match="There is no book"):
                await other.read_resource(uri)
    async with connected(up, await new_key(up, books=[BOOK])) as ours:
        answer = await ours.call_tool("ask", {"question": QUESTION})
        assert not answer.is_error


async def test_a_limit(serve: Any) -> None:
    async with serve(rate_limit=2) as up:
        headers = {**ACCEPT, "X-API-Key": await new_key(up)}
        for status in (200, 200, 429):
            response = await up.http.post("/mcp", json=PING, headers=headers)
            assert response.status_code == status, response.text
        assert response.headers["Retry-After"] and response.json()["error"] == "E010"


async def test_a_page_elsewhere_may_not_ask(up: Running) -> None:
    headers = {**ACCEPT, "Origin": "https://evil.example"}
    assert (await up.http.post("/mcp", json=PING, headers=headers)).status_code == 403
    headers = {**ACCEPT, "Host": "evil.example"}
    assert (await up.http.post("/mcp", json=PING, headers=headers)).status_code == 403


async def test_what_is_not_the_protocol(up: Running) -> None:
    for method in ("GET", "DELETE"):
        refused = await up.http.request(method, "/mcp", headers=ACCEPT)
        assert refused.status_code == 405 and refused.headers["Allow"] == "POST"
    for body in (b"{not json", b"[]", b"7", b'{"jsonrpc": "2.0"}', b"\xff"):
        response = await up.http.post(
            "/mcp", content=body, headers={**ACCEPT, "Content-Type": "application/json"}
        )
        assert response.status_code == 400, response.text
    large = await up.http.post("/mcp", json={**PING, "params": {"x": "y" * 20_000}})
    assert large.status_code == 413


async def test_a_model_that_fails(serve: Any, llm: LlmServer) -> None:
    llm.always(fails(500))
    async with serve(**with_model(llm), model_down="error") as up, connected(up) as client:
        result = await client.call_tool("ask", {"question": QUESTION})
        assert result.is_error and "model" in text_of(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_who_leaves_stops_the_work(serve: Any, llm: LlmServer, mode: Mode) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm)) as up:

        async def ask() -> None:
            async with connected(up, mode=mode) as client:
                await client.call_tool("ask", {"question": QUESTION})

        asking = asyncio.create_task(ask())
        await llm.until(lambda: len(llm.requests) == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await llm.until(lambda: all(request.gave_up for request in llm.requests))


async def test_a_service_that_stops_ends_answers(serve: Any, llm: LlmServer) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm), shutdown_seconds=0) as up, connected(up) as client:
        asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
        await llm.until(lambda: len(llm.requests) == 1)
        up.server.should_exit = True
        result = await asking
        assert result.is_error and "being stopped" in text_of(result)
