"""What a search tells whoever made it: over HTTP, on the command line, in a tool's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Cli
from server.conftest import Serve
from server.running import Running, running, with_model
from standins.llm_server import LlmServer, says, tool_results

QUESTION = "What is a URDF?"


async def found(up: Running, **fields: Any) -> dict[str, Any]:
    response = await up.http.post("/search", json={"text": QUESTION, **fields})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_total_found_counts_what_the_filters_leave(up: Running) -> None:
    library = up.service.library
    book = await library.book("physical-ai-robotics")
    by_tier = [(await found(up, hardware_tier_filter=t))["total_found"] for t in (1, 2, 3, 4)]
    assert by_tier == sorted(by_tier) and 0 < by_tier[0] < by_tier[3] == book.total_chunks
    files = (await library.catalog.state(book.book_id, book.collection_name)).records.values()
    of_module = sum(file.chunk_count for file in files if file.module == "ros2")
    chosen = await found(up, hardware_tier_filter=4, module_filter="ros2", limit=1)
    assert chosen["total_found"] == of_module > 0
    other = (await found(up, hardware_tier_filter=2, text="bake sourdough bread"))["total_found"]
    assert other == by_tier[1]


async def test_total_found_follows_the_book(home: Path, tmp_path: Path) -> None:
    """What was counted before a book changed is counted anew."""
    folder = tmp_path / "book"
    folder.mkdir()
    for number in (1, 2):
        text = f"# Page {number}\n\nA node is process number {number}. " * 20
        (folder / f"0{number}-page.md").write_text(text)
    async with running(home) as up:
        library = up.service.library
        await library.ingest(folder, book_id="small")
        before = (await found(up))["total_found"]
        (folder / "01-page.md").write_text(
            "---\nhardware_tier: 3\n---\n" + (folder / "01-page.md").read_text()
        )
        await library.ingest(folder, book_id="small")
        assert (await found(up))["total_found"] < before
        assert (await found(up, hardware_tier_filter=3))["total_found"] == before


@pytest.mark.parametrize(
    ("text", "limit", "sufficient"),
    [
        (QUESTION, 1, False),
        (QUESTION, 2, False),
        (QUESTION, 3, True),
        ("bake sourdough bread", 3, False),
        ("bake sourdough bread", 10, False),
    ],
)
async def test_a_search_says_how_it_went(
    up: Running, text: str, limit: int, sufficient: bool
) -> None:
    told = await found(up, text=text, limit=limit, prefix="module-1-ros2")
    scores = [result["score"] for result in told["results"]]
    assert told["average_score"] == pytest.approx(sum(scores) / len(scores))
    assert told["has_sufficient_context"] is sufficient
    assert sufficient == (told["average_score"] >= 0.75 and len(scores) >= 3)
    assert told["retrieval_time_ms"] > 0 and told["retrieved_at"].endswith("Z")
    assert told["filter_applied"] == "module-1-ros2"


def test_a_search_in_a_terminal_says_the_same(cli: Cli, sample_home: Path) -> None:
    told = cli.json("search", QUESTION)
    assert told["total_found"] > 100 and told["retrieval_time_ms"] > 0
    assert told["has_sufficient_context"] in (True, False)


async def test_the_tool_says_how_many_passages_there_are(serve: Serve, llm: LlmServer) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    async with serve(**with_model(llm)) as up:
        total = (await found(up, hardware_tier_filter=1))["total_found"]
        events = await up.events(QUESTION, filters={"hardware_tier_filter": 1})
    (result,) = tool_results(llm.bodies[0])
    assert set(result) == {"results", "total_results", "query", "total_chunks_found"}
    assert result["total_chunks_found"] == total
    (retrieval,) = [data for name, data in events if name == "retrieval"]
    assert retrieval["total_chunks_found"] == total and retrieval["retrieval_time_ms"] > 0


async def test_a_greeting_needs_no_search(up: Running) -> None:
    """`processing` leads to `response_generated` directly."""
    events = await up.events("hello")
    assert [data["state"] for name, data in events if name == "state"] == [
        "received",
        "processing",
        "response_generated",
    ]
    assert not [name for name, _ in events if name in ("tool_call", "retrieval")]


async def agent(up: Running, metadata: Any) -> Any:
    body = {"message": QUESTION, "metadata": metadata}
    return await up.http.post("/api/v1/agent/chat", json=body)


async def test_metadata_of_a_request_is_kept_and_given_back(up: Running) -> None:
    said = {"page": {"title": "intro", "at": [1, 2.5, None]}, "book_id": "physical-ai-robotics"}
    told = (await agent(up, said)).json()
    assert told["metadata"] == said
    (call,) = told["tool_calls"]
    assert call["total_chunks_found"] > 100 and call["retrieval_time_ms"] > 0
    questions = (await up.http.get("/admin/questions")).json()["items"]
    assert questions[0]["answer_id"] == told["id"] and questions[0]["metadata"] == said
    odd = (await agent(up, {"odd\x00": "\x00"})).json()
    assert odd["metadata"] == {"odd�": "�"}
    assert (await agent(up, {})).json()["metadata"] == {}


@pytest.mark.parametrize("book_id", [5, "", ["physical-ai-robotics"], {"a": 1}])
async def test_a_book_id_that_is_none_is_refused(up: Running, book_id: Any) -> None:
    response = await agent(up, {"book_id": book_id})
    assert response.status_code == 400
    assert "metadata.book_id" in json.dumps(response.json())


async def test_metadata_nested_too_deep_is_refused(up: Running) -> None:
    nested = "[" * 4000 + "]" * 4000
    body = f'{{"message": "{QUESTION}", "metadata": {{"a": {nested}}}}}'
    headers = {"Content-Type": "application/json"}
    response = await up.http.post("/api/v1/agent/chat", content=body, headers=headers)
    assert response.status_code == 400
