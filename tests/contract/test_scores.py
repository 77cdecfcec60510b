"""A score belongs to its passage: on every way it falls with the rank, is spread, and can be used
as a threshold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Cli
from server.conftest import Serve
from server.running import Running, with_model
from standins.llm_server import LlmServer, says, tool_results

MCP = {"Accept": "application/json, text/event-stream"}
# Of two lists that were joined none may have more than the one before it.
TWO = "What is a node? And what is domain randomization?"
ANSWERED = (
    "What is a URDF?",
    "Which folders in my workspace can I throw away and shouldn't put into git?",
    TWO,
)
REFUSED = "What does a Spot robot cost per month?"


def is_falling(scores: Sequence[float]) -> bool:
    return len(scores) > 2 and list(scores) == sorted(scores, reverse=True)


@pytest.mark.parametrize("text", [*ANSWERED, REFUSED, "nodes topics services"])
async def test_a_search_over_http_and_mcp(up: Running, text: str) -> None:
    body = {"text": text, "limit": 10, "hardware_tier_filter": 4}
    results = (await up.http.post("/search", json=body)).json()["results"]
    scores = [result["score"] for result in results]
    assert is_falling(scores) and scores[0] - scores[-1] > 0.02
    call = {"name": "search_knowledge_base", "arguments": {"query": text, "limit": 10}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    sent = (await up.http.post("/mcp", json=body, headers=MCP)).text
    told = json.loads(sent.partition("data: ")[2])["result"]["structuredContent"]
    assert is_falling([each["score"] for each in told["passages"]])


def test_a_search_in_a_terminal(cli: Cli, sample_home: Path) -> None:
    results = cli.json("search", ANSWERED[0], "--limit", "10")["results"]
    assert is_falling([result["score"] for result in results])


async def retrieved(up: Running, question: str, **fields: Any) -> dict[str, Any]:
    events = await up.events(question, **fields)
    (data,) = [data for name, data in events if name == "retrieval"]
    return data


@pytest.mark.parametrize("reader", ["built-in", "off"])
async def test_what_an_answer_is_made_from(serve: Serve, reader: str) -> None:
    async with serve(reader=reader) as up:
        for question in ANSWERED:
            found = await retrieved(up, question)
            scores = [passage["score"] for passage in found["passages"]]
            assert is_falling(scores) and scores[-1] >= 0.7
            assert question == TWO or scores[0] - scores[-1] > 0.01, question
        assert (await retrieved(up, REFUSED))["passages"] == []


async def test_the_measures_are_those_of_the_scores(serve: Serve) -> None:
    async with serve(reader="built-in") as up:
        found = await retrieved(up, ANSWERED[0])
    scores = [passage["score"] for passage in found["passages"]]
    told = found["confidence"]
    assert told["max_similarity"] == scores[0] and told["min_similarity"] == scores[-1]
    assert told["average_similarity"] == pytest.approx(sum(scores) / len(scores))


async def test_a_threshold_leaves_the_passages_that_pass_it(serve: Serve) -> None:
    async with serve(reader="built-in") as up:
        every = [one["score"] for one in (await retrieved(up, ANSWERED[0]))["passages"]]
        found = await retrieved(up, ANSWERED[0], similarity_threshold=every[2])
        near = await retrieved(up, REFUSED, similarity_threshold=0)
    assert every[0] > 0.85 > every[1]
    assert [one["score"] for one in found["passages"]] == every[:3]
    assert near["confidence"]["max_similarity"] < 0.7


async def test_what_a_model_is_given(serve: Serve, llm: LlmServer) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    async with serve(**with_model(llm)) as up:
        await up.ask(ANSWERED[0])
    (told,) = tool_results(llm.bodies[0])
    assert is_falling([result["similarity_score"] for result in told["results"]])
