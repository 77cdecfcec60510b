"""What the retrieval tool gives a language model, and what the model is told to do with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract.shapes import misfits
from server.conftest import Serve
from server.running import with_model
from standins.llm_server import LlmServer, bad_arguments, calls_tool, passages, says, tool_results

QUESTION = "What is a URDF?"
TRUE = "**URDF** is an XML format [1]."
RESULT = {
    "chunk_text": "text",
    "page_title": "text",
    "section_heading": "none|text",
    "source_url": "text",
    "similarity_score": "share",
    "rank": "positive",
}


async def test_every_field_of_the_result(serve: Serve, llm: LlmServer) -> None:
    llm.script(says(TRUE))
    async with serve(**with_model(llm)) as up:
        await up.ask(QUESTION)
        found = await up.http.post("/search", json={"text": QUESTION, "hardware_tier_filter": 4})
    (told,) = tool_results(llm.bodies[0])
    kinds = {"results": "some", "total_results": "positive", "query": "text"}
    assert misfits(told, kinds) == [] and told["query"] == QUESTION
    assert told["total_results"] == len(told["results"])
    for rank, result in enumerate(told["results"], 1):
        assert misfits(result, RESULT) == [] and result["rank"] == rank
    known = {result["text"]: result for result in found.json()["results"]}
    same = [each for each in told["results"] if each["chunk_text"] in known]
    assert told["results"][0] in same and any(each["section_heading"] for each in same)
    for each in same:
        result = known[each["chunk_text"]]
        assert each["section_heading"] == result["section_title"]
        assert (each["page_title"], each["source_url"]) == (result["title"], result["url"])


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(bad_arguments('{"query": ""}'), id="empty query"),
        pytest.param(calls_tool("URDF", arguments={"top_k": 0}), id="top_k 0"),
        pytest.param(calls_tool("URDF", arguments={"top_k": 21}), id="top_k 21"),
        pytest.param(calls_tool("URDF", arguments={"similarity_threshold": 1.1}), id="1.1"),
        pytest.param(calls_tool("URDF", arguments={"similarity_threshold": -0.1}), id="-0.1"),
    ],
)
async def test_a_call_beyond_the_bounds_is_an_error(
    serve: Serve, llm: LlmServer, call: Any
) -> None:
    """It is recorded as one, and the search is made without it."""
    llm.script(call, says(TRUE))
    async with serve(**with_model(llm)) as up:
        told = (await up.http.post("/api/v1/agent/chat", json={"message": QUESTION})).json()
    good, bad = told["tool_calls"]
    assert good["error"] is None and good["results_count"]
    assert bad["error"] and (bad["results_count"], bad["avg_similarity"]) == (0, 0)
    assert told["content"] == TRUE


async def test_a_search_too_many_is_told_as_an_error(serve: Serve, llm: LlmServer) -> None:
    words = ("robot models", "links", "joints", "xacro files", "robot parts", "xml", "urdf")
    llm.script(*(calls_tool(f"{word} in URDF") for word in words))
    llm.always(says(TRUE))
    async with serve(**with_model(llm)) as up:
        await up.ask(QUESTION)
    errors = [each for body in llm.bodies for each in tool_results(body) if "error" in each]
    assert errors and all(set(each) == {"error", "query"} for each in errors)
    assert all(each["error"] and "URDF" in each["query"] for each in errors)


@pytest.mark.parametrize("top_k", [1, 20])
async def test_the_bounds_of_a_call_are_taken(serve: Serve, llm: LlmServer, top_k: int) -> None:
    arguments = {"top_k": top_k, "similarity_threshold": 0.0}
    llm.script(calls_tool("URDF robot description", arguments=arguments), says(TRUE))
    async with serve(**with_model(llm)) as up:
        told = (await up.http.post("/api/v1/agent/chat", json={"message": QUESTION})).json()
    assert [call["error"] for call in told["tool_calls"]] == [None, None]
    # One passage is too few for an answer, so that number is dropped; the record has what held.
    call = told["tool_calls"][1]
    assert call["arguments"]["top_k"] == (5 if top_k == 1 else top_k)
    assert 1 <= call["results_count"] <= call["arguments"]["top_k"]


async def test_the_rules_a_model_is_given(serve: Serve, llm: LlmServer) -> None:
    llm.script(says(TRUE), calls_tool("URDF links"), says(TRUE))
    async with serve(**with_model(llm)) as up:
        session = (await up.ask(QUESTION)).json()["session_id"]
        await up.ask("And what is it made of?", session_id=session)
    alone, follow_up = llm.bodies[0], llm.bodies[1]
    for body in (alone, follow_up):
        (rules,) = [m["content"] for m in body["messages"] if m["role"] == "system"]
        for rule in ("search_textbook", "ONLY", "NEVER", "[1]"):
            assert rule in rules
    # What stands alone was searched for before; a follow-up must be searched for first.
    assert passages(alone)[0]["cite"] == 1 and follow_up["tool_choice"] == "required"
    assert "I don't have information about that in the book content" in json.dumps(
        follow_up["messages"][0]
    )
    # The model is given the turn before, so that it knows what "it" is.
    assert [m["role"] for m in follow_up["messages"]][:4] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
