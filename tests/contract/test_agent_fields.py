"""Questions to the agent's own route: every field that enters and leaves, and its bounds."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from contract.shapes import misfits
from server.conftest import Serve
from server.running import Running, with_model
from standins.llm_server import LlmServer, fails, says

QUESTION = "What is a URDF?"
OFF_TOPIC = "How do I bake sourdough bread?"
ROUTE = "/api/v1/agent/chat"
ID = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
STATES = ["received", "processing", "tool_call_needed", "tool_executed", "response_generated"]

RESPONSE = {
    "id": "uuid",
    "request_id": "uuid",
    "content": "text",
    "citations": "some",
    "tool_calls": "some",
    "timestamp": "moment",
    "status": "text",
    "metadata": "object",
}
CITATION = {
    "id": "uuid",
    "source_file_path": "text",
    "source_url": "text",
    "chapter": "text",
    "page_number": "none|positive",
    "text_preview": "text",
    "confidence_score": "share",
}
TOOL_CALL = {
    "tool_name": "text",
    "query": "text",
    "results_count": "positive",
    "avg_similarity": "share",
    "timestamp": "moment",
    "total_chunks_found": "positive",
    "retrieval_time_ms": "number",
}


async def answered(up: Running, **fields: Any) -> dict[str, Any]:
    response = await up.http.post(ROUTE, json={"message": QUESTION, **fields})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_every_field_of_a_response(up: Running) -> None:
    told = await answered(up)
    assert misfits(told, RESPONSE) == []
    assert misfits(told["citations"][0], CITATION) == []
    assert misfits(told["tool_calls"][0], TOOL_CALL) == []
    assert told["status"] == "success"
    (call,) = told["tool_calls"]
    assert call["arguments"] == {"query": QUESTION, "top_k": 5, "similarity_threshold": 0.7}
    file = told["citations"][0]["source_file_path"]
    found = await up.http.post("/search", json={"text": QUESTION, "hardware_tier_filter": 4})
    assert file in {result["source_file"] for result in found.json()["results"]}


async def test_a_request_has_one_response(up: Running) -> None:
    given = {"id": ID, "timestamp": "2025-12-25T10:00:00Z", "metadata": {"page": "intro"}}
    told = await answered(up, **given)
    assert told["request_id"] == ID and told["metadata"] == {"page": "intro"}
    one, other = await answered(up), await answered(up)
    assert uuid.UUID(one["request_id"]) != uuid.UUID(other["request_id"])
    assert one["id"] != other["id"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": " \n"}, "message"),
        ({"message": "x" * 2001}, "message"),
        ({"message": QUESTION, "id": "7"}, "id"),
        ({"message": QUESTION, "timestamp": "yesterday"}, "timestamp"),
        ({"message": QUESTION, "metadata": []}, "metadata"),
        ({"message": QUESTION, "colour": "red"}, "colour"),
    ],
)
async def test_what_a_request_may_not_be(up: Running, body: Any, field: str) -> None:
    response = await up.http.post(ROUTE, json=body)
    assert response.status_code == 400
    assert response.json()["details"]["field"] == field


@pytest.mark.parametrize("length", [1, 2000])
async def test_the_bounds_of_a_message_are_taken(up: Running, length: int) -> None:
    response = await up.http.post(ROUTE, json={"message": (QUESTION + " " * 2000)[:length]})
    assert response.status_code == 200 and response.json()["content"]


async def test_a_refusal_cites_nothing_and_says_what_was_searched(up: Running) -> None:
    told = await answered(up, message=OFF_TOPIC)
    assert told["citations"] == [] and "sourdough" in told["content"]
    assert told["content"].startswith("I don't have information about that in the book content")
    assert told["status"] in ("success", "error", "fallback")


async def test_a_model_that_is_down_is_a_fallback(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(500))
    async with serve(**with_model(llm), retries=0) as up:
        told = await answered(up)
    assert told["status"] == "fallback" and told["citations"]


async def test_a_failed_try_is_followed_by_another(serve: Serve, llm: LlmServer) -> None:
    """The turn fails and is taken up again, this time by whoever quotes the book."""
    llm.always(fails(500))
    async with serve(**with_model(llm), retries=0) as up:
        events = await up.events(QUESTION)
    states = [data["state"] for name, data in events if name == "state"]
    assert states == [*STATES[:4], "failed", *STATES[1:]]
    assert events[-1][0] == "done"


async def test_a_critical_error_ends_in_failed(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(500))
    async with serve(**with_model(llm), retries=0, model_down="error") as up:
        events = await up.events(QUESTION)
    assert [data["state"] for name, data in events if name == "state"] == [*STATES[:4], "failed"]
    assert [name for name, _ in events].count("error") == 1 and events[-1][0] == "error"


@pytest.mark.parametrize(
    "name",
    ["search_textbook", "search_knowledge_base", "retrieve_documentation", "search_book_content"],
)
async def test_the_tool_a_model_is_offered(serve: Serve, llm: LlmServer, name: str) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    async with serve(**with_model(llm), tool_name=name) as up:
        told = await answered(up)
    (tool,) = llm.bodies[0]["tools"]
    assert tool["type"] == "function"
    function = tool["function"]
    assert misfits(function, {"name": "text", "description": "text", "parameters": "object"}) == []
    assert function["name"] == name == told["tool_calls"][0]["tool_name"]
    parameters = function["parameters"]
    assert (parameters["type"], parameters["required"]) == ("object", ["query"])
    query, top_k, threshold = (
        parameters["properties"][each] for each in ("query", "top_k", "similarity_threshold")
    )
    assert query["type"] == "string" and query["description"]
    assert (top_k["type"], top_k["minimum"], top_k["maximum"]) == ("integer", 1, 20)
    # A model may ask for better passages than the reader does, never for worse.
    assert (threshold["type"], threshold["minimum"], threshold["maximum"]) == ("number", 0.7, 1)
    assert top_k["description"] and threshold["description"]
