"""The official MCP client, talking to `bythebook mcp` as it is started by a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent, TextResourceContents

from booktext import WriteBook
from bythebook.library import Library
from bythebook.mcp.backend import LocalBackend
from bythebook.mcp.mcp_server import UNEXPECTED, make_server
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from extent import FULL

BOOK = "physical-ai-robotics"
QUESTION = "What is a service in ROS 2?"
Mode = Literal["auto", "legacy"]


@asynccontextmanager
async def started(home: Path, *options: str, mode: Mode = "auto") -> AsyncIterator[Client]:
    """A client of a process of its own."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bythebook", "mcp", *options],
        env={**os.environ, "BYTHEBOOK_HOME": str(home)},
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


@asynccontextmanager
async def in_process(home: Path) -> AsyncIterator[Client]:
    """The same server in this process, which is quicker to start."""
    desk = LocalBackend(Settings(home=home))
    try:
        async with Client(make_server(lambda _context: desk)) as client:
            yield client
    finally:
        await desk.close()


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def resource(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents) and content.uri == uri
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"] if FULL else ["auto"])
async def test_a_session_from_search_to_answer(sample_home: Path, mode: Mode) -> None:
    async with started(sample_home, mode=mode) as client:
        assert client.server_info and client.server_info.name == "bythebook"
        assert "verified" in (client.instructions or "")

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search_knowledge_base", "get_context", "get_lesson", "ask"}
        for tool in tools.values():
            assert tool.description and tool.output_schema
            assert tool.annotations and tool.annotations.read_only_hint
        assert tools["ask"].input_schema["required"] == ["question"]

        found = await client.call_tool("search_knowledge_base", {"query": QUESTION, "limit": 2})
        first, _second = found.structured_content["passages"]
        assert first["score"] > 0.5 and first["url"].startswith("https://")
        assert first["text"] in text_of(found) and first["passage_id"] in text_of(found)

        around = await client.call_tool(
            "get_context", {"passage_id": first["passage_id"], "before": 0, "after": 2}
        )
        ids = [passage["passage_id"] for passage in around.structured_content["passages"]]
        assert ids[0] == first["passage_id"] and len(ids) == 3

        lesson = await client.call_tool("get_lesson", {"parent_doc_id": first["parent_doc_id"]})
        assert lesson.structured_content["title"] == "Services and Actions"
        assert lesson.structured_content["text"] in text_of(lesson)

        answer = await client.call_tool("ask", {"question": QUESTION})
        told = answer.structured_content
        assert not answer.is_error and not told["refused"] and "[1]" in told["answer"]
        assert [source["number"] for source in told["sources"]] == [
            *range(1, len(ids := told["sources"]) + 1)
        ]
        for source in told["sources"]:
            assert f"[{source['number']}] {source['title']}: {source['url']}" in text_of(answer)
            cited = await client.call_tool("get_context", {"passage_id": source["passage_id"]})
            texts = [passage["text"] for passage in cited.structured_content["passages"]]
            assert any(source["quote"].partition(" … ")[0] in text for text in texts)

        refused = await client.call_tool("ask", {"question": "How do I bake sourdough bread?"})
        assert refused.structured_content["refused"] and not refused.is_error
        assert not refused.structured_content["sources"]


async def test_books_and_lessons_are_resources(sample_home: Path) -> None:
    async with in_process(sample_home) as client:
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        assert set(listed) == {"bythebook://books", f"book://{BOOK}"}
        assert listed[f"book://{BOOK}"].title == "Physical AI and Robotics"
        templates = (await client.list_resource_templates()).resource_templates
        assert "book://{book_id}/lesson/{parent_doc_id}" in [
            each.uri_template for each in templates
        ]

        (book,) = json.loads(await resource(client, "bythebook://books"))
        assert (book["book_id"], book["uri"]) == (BOOK, f"book://{BOOK}")
        lines = (await resource(client, book["uri"])).splitlines()
        lessons = dict(line[2:].split(": book://", 1) for line in lines if ": book://" in line)
        assert len(lessons) == book["files"]
        text = await resource(client, f"book://{lessons['Services and Actions']}")
        assert text.startswith("# Services and Actions") and "request-and-reply" in text

        for wrong in ("book://other", f"book://{BOOK}/lesson/7", "file:///etc/passwd"):
            with pytest.raises(MCPError) as problem:
                await client.read_resource(wrong)
            assert "There is no" in str(problem.value)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("ask", {}, "The argument question is missing."),
        ("ask", {"question": "x" * 1001}, "at most 1000 characters"),
        ("ask", {"question": QUESTION, "book_id": "other"}, f"Choose one of: {BOOK}"),
        ("ask", {"question": QUESTION, "colour": "red"}, "colour"),
        ("search_knowledge_base", {"query": "?!…"}, "has no words"),
        ("search_knowledge_base", {"query": QUESTION, "limit": 99}, "limit"),
        ("search_knowledge_base", {"query": QUESTION, "module_filter": "zzz"}, "module"),
        ("get_context", {"passage_id": "7"}, "passage_id"),
        ("get_context", {"passage_id": "7ab8e8f8-4c70-518c-8628-000000000000"}, "Search again"),
        ("get_lesson", {"parent_doc_id": "7ab8e8f8-4c70-518c-8628-000000000000"}, "Search again"),
    ],
)
async def test_errors_are_told_and_say_what_to_do(
    sample_home: Path, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with in_process(sample_home) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None
    assert told in text_of(result) and "Traceback" not in text_of(result)


async def test_an_unknown_tool(sample_home: Path) -> None:
    async with in_process(sample_home) as client:
        with pytest.raises(MCPError, match="There is no tool nothing; there are search_knowledge"):
            await client.call_tool("nothing", {})


async def test_what_nobody_expected_stays_in_the_log(
    sample_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_library: Library, *_: Any) -> None:
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(Library, "lesson", broken)
    lesson = "7ab8e8f8-4c70-518c-8628-5b169a1e433c"
    async with in_process(sample_home) as client:
        result = await client.call_tool("get_lesson", {"parent_doc_id": lesson})
        assert result.is_error and text_of(result) == UNEXPECTED
        with pytest.raises(MCPError) as problem:
            await client.read_resource(f"book://{BOOK}/lesson/{lesson}")
        assert "secret" not in str(problem.value)
    assert "a secret of the machine" in caplog.text


async def test_without_a_book(home: Path) -> None:
    async with in_process(home) as client:
        result = await client.call_tool("ask", {"question": QUESTION})
        assert result.is_error and "bythebook ingest PATH" in text_of(result)
        assert json.loads(await resource(client, "bythebook://books")) == []


async def test_which_book_is_meant(home: Path, write_book: WriteBook) -> None:
    async with await Library.open(Settings(home=home)) as library:
        for name in ("tides", "winds"):
            book = write_book({"a.md": f"# {name}\n\nThe {name} come and go every day.\n"})
            await library.ingest(book, book_id=name)
    async with in_process(home) as client:
        unclear = await client.call_tool("search_knowledge_base", {"query": "come and go"})
        assert unclear.is_error and "tides, winds" in text_of(unclear)
        assert "book_id" in text_of(unclear)
        named = {"query": "come and go", "book_id": "tides"}
        found = await client.call_tool("search_knowledge_base", named)
        assert found.structured_content["book_id"] == "tides"
    async with started(home, "--book", "winds") as client:
        found = await client.call_tool("search_knowledge_base", {"query": "come and go"})
        assert found.structured_content["book_id"] == "winds"


def test_a_book_that_is_not_there_is_told_at_the_start(sample_home: Path) -> None:
    command = [sys.executable, "-m", "bythebook", "mcp", "--book", "nothing"]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 1 and not ended.stdout
    assert ended.stderr.startswith("Error E002: There is no book 'nothing'")


async def test_the_index_is_let_go_when_nobody_asks(sample_home: Path) -> None:
    """Only one process may have an embedded index open, and clients run for days."""
    settings = Settings(home=sample_home)
    query = SearchQuery(text=QUESTION, book_id=BOOK)
    desk = LocalBackend(settings, idle=0.05)
    async with desk.library() as library:
        assert (await library.search(query)).passages
    assert desk._closing is not None
    await desk._closing
    async with await Library.open(settings) as other:
        assert (await other.search(query)).passages
    async with desk.library() as library, desk.library() as same:
        assert same is library and (await library.search(query)).passages
        await desk.close()
        assert (await library.search(query)).passages
    await desk.close()


async def test_an_index_that_is_in_use_is_shared(sample_home: Path) -> None:
    query = SearchQuery(text=QUESTION, book_id=BOOK)
    async with await Library.open(Settings(home=sample_home)) as library:
        await library.search(query)
        async with started(sample_home) as client:
            result = await client.call_tool("ask", {"question": QUESTION})
            assert not result.is_error
