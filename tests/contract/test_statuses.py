"""What became of a question: `success`, `fallback` or `error`, the same on every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Cli
from server.conftest import Serve
from server.running import Running, with_model
from server.test_mcp_routes import connected
from standins.llm_server import LlmServer, fails, says

QUESTION = "What is a service in ROS 2?"
BOOK = "physical-ai-robotics"
UNCOVERED = "How do I bake sourdough bread?"


async def ask(up: Running, message: str) -> dict[str, dict[str, Any]]:
    """The bodies that our own ways in answer with."""
    (_, last) = (await up.events(message))[-1]
    agent = await up.http.post("/api/v1/agent/chat", json={"message": message})
    return {"run": (await up.ask(message)).json(), "stream": last, "agent": agent.json()}


async def ask_as_others_do(up: Running, message: str) -> dict[str, dict[str, Any]]:
    """What is told beside the answer where OpenAI's protocol and MCP have no place for it."""
    body = {"model": BOOK, "messages": [{"role": "user", "content": message}]}
    whole = (await up.http.post("/v1/chat/completions", json=body)).json()
    streamed = (await up.http.post("/v1/chat/completions", json=body | {"stream": True})).text
    pieces = [json.loads(line.removeprefix("data: ")) for line in streamed.split("\n\n")[:-2]]
    async with connected(up) as client:
        called = await client.call_tool("ask", {"question": message})
    return {
        "whole": whole["bythebook"],
        "streamed": pieces[-1]["bythebook"],
        "mcp": called.structured_content,
    }


@pytest.mark.parametrize(
    ("message", "status"),
    [(QUESTION, "success"), (UNCOVERED, "fallback"), ("hello", "fallback"), ("?", "fallback")],
)
async def test_of_the_built_in_answerer(up: Running, message: str, status: str) -> None:
    bodies = await ask(up, message) | await ask_as_others_do(up, message)
    assert {body["status"] for body in bodies.values()} == {status}
    refused = {body["refused"] for way, body in bodies.items() if way != "agent"}
    assert refused == {status == "fallback"}


async def test_of_a_language_model(serve: Serve, llm: LlmServer) -> None:
    llm.always(says("A service answers a request with a response. [1]"))
    async with serve(**with_model(llm)) as up:
        bodies = await ask(up, QUESTION)
    assert {body["status"] for body in bodies.values()} == {"success"}


async def test_a_quotation_in_its_place_is_a_fallback(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(401))
    async with serve(**with_model(llm)) as up:
        bodies = await ask(up, QUESTION) | await ask_as_others_do(up, QUESTION)
    assert {body["status"] for body in bodies.values()} == {"fallback"}
    assert bodies["agent"]["citations"] and not bodies["run"]["refused"]


async def test_a_failure_is_an_error(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(401))
    async with serve(**with_model(llm), model_down="error") as up:
        bodies = await ask(up, QUESTION)
        agent = await up.http.post("/api/v1/agent/chat", json={"message": QUESTION})
        assert agent.status_code == 503
    for body in bodies.values():
        assert body["status"] == "error" and body["error"] == "E004" and body["message"]


async def test_so_is_what_can_not_be_asked(up: Running) -> None:
    for path in ("/chat/run", "/chat/stream", "/api/v1/agent/chat"):
        refused = await up.http.post(path, json={"message": ""})
        assert (refused.status_code, refused.json()["status"]) == (400, "error")


def test_on_the_command_line(cli: Cli, sample_home: Path) -> None:
    assert cli.json("ask", QUESTION)["status"] == "success"
    assert cli.json("ask", UNCOVERED)["status"] == "fallback"
    status, out, _ = cli("ask", QUESTION, "--book", "none", "--json")
    assert status == 1 and '"status": "error"' in out


async def test_openapi_says_so(up: Running) -> None:
    schemas = (await up.http.get("/openapi.json")).json()["components"]["schemas"]
    for name in ("ChatResponse", "AgentResponse"):
        field = schemas[name]["properties"]["status"]
        assert field["enum"] == ["success", "fallback"] and "refusal" in field["description"]
    assert schemas["Problem"]["properties"]["status"]["const"] == "error"
    assert "success" not in schemas["AgentResponse"]["description"]
