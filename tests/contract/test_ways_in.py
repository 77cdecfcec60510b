"""What a request leaves unsaid is as the settings have it, whichever way it comes in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Cli
from server.conftest import Serve
from server.running import Running, with_model
from server.test_mcp_routes import connected
from standins.llm_server import LlmServer, passages, says

QUESTION = "What is a service in ROS 2?"
MODEL = "physical-ai-robotics"
Way = Callable[[Running], Awaitable[Any]]


async def chat_run(up: Running) -> None:
    assert (await up.ask(QUESTION)).status_code == 200


async def chat_run_with_nulls(up: Running) -> None:
    answered = await up.ask(QUESTION, top_k=None, similarity_threshold=None)
    assert answered.status_code == 200


async def chat_stream(up: Running) -> None:
    assert (await up.events(QUESTION))[-1][0] == "done"


async def agent_chat(up: Running) -> None:
    answered = await up.http.post("/api/v1/agent/chat", json={"message": QUESTION})
    assert answered.status_code == 200


async def completions(up: Running) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": MODEL, "messages": messages}
    assert (await up.http.post("/v1/chat/completions", json=body)).status_code == 200


async def mcp(up: Running) -> None:
    async with connected(up) as client:
        assert not (await client.call_tool("ask", {"question": QUESTION})).is_error


WAYS = [chat_run, chat_run_with_nulls, chat_stream, agent_chat, completions, mcp]


@pytest.mark.parametrize("way", WAYS)
async def test_the_number_of_passages(serve: Serve, llm: LlmServer, way: Way) -> None:
    llm.always(says("A service answers a request. [1]"))
    async with serve(**with_model(llm), top_k=2) as up:
        await way(up)
    assert len(passages(llm.bodies[0])) == 2


@pytest.mark.parametrize("way", WAYS)
async def test_the_least_score(serve: Serve, llm: LlmServer, way: Way) -> None:
    async with serve(**with_model(llm), score_threshold=1.0) as up:
        await way(up)
    assert llm.requests == []  # nothing scores so much, and no model is asked then


async def test_what_a_request_says_goes_first(serve: Serve, llm: LlmServer) -> None:
    llm.always(says("A service answers a request. [1]"))
    async with serve(**with_model(llm), top_k=2, score_threshold=1.0) as up:
        await up.ask(QUESTION, top_k=3, similarity_threshold=0.0)
    assert len(passages(llm.bodies[0])) == 3


def test_on_the_command_line(
    cli: Cli, sample_home: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.always(says("A service answers a request. [1]"))
    for name, value in (
        ("OPENAI_BASE_URL", llm.base_url),
        ("OPENAI_MODEL", llm.model),
        ("AGENT_TOP_K", "2"),
    ):
        monkeypatch.setenv(name, value)
    cli.json("ask", QUESTION)
    cli("chat", typed=f"{QUESTION}\nquit\n")
    cli.json("ask", QUESTION, "--top-k", "3")
    assert [len(passages(body)) for body in llm.bodies] == [2, 2, 3]
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "1")
    assert cli.json("ask", QUESTION)["refused"]
    assert len(llm.bodies) == 3


async def test_openapi_names_the_settings(up: Running) -> None:
    document = (await up.http.get("/openapi.json")).json()
    fields = document["components"]["schemas"]["ChatRequest"]["properties"]
    for field, setting in (("top_k", "TOP_K"), ("similarity_threshold", "SCORE_THRESHOLD")):
        assert f"AGENT_{setting}" in fields[field]["description"]
        assert fields[field].get("default") is None
