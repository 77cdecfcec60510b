"""Streams: every one ends with exactly one event that says how, whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bythebook.models.chat_messages import ChatResponse
from server.running import Running, parse_events, with_model
from standins.llm_server import (
    LlmServer,
    Step,
    calls_tool,
    cuts,
    ends_early,
    fails,
    hangs,
    malformed,
    says,
    trickles,
)

QUESTION = "What is a service in ROS 2?"
SEARCH = calls_tool("service in ROS 2")
TRUE = "A service is a request-and-reply connection [1]."
ENDS = ("done", "error")


def check_ends(heard: list[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
    names = [name for name, _ in heard]
    assert [name in ENDS for name in names] == [False] * (len(names) - 1) + [True]
    return heard[-1]


async def test_the_events_of_an_answer(up: Running) -> None:
    heard = await up.events(QUESTION)
    name, data = check_ends(heard)
    assert name == "done"
    answer = ChatResponse.model_validate(data)
    assert "".join(data["text"] for name, data in heard if name == "token") == answer.response
    states = [data["state"] for name, data in heard if name == "state"]
    assert states == [
        "received",
        "processing",
        "tool_call_needed",
        "tool_executed",
        "response_generated",
    ]
    (call,) = [data for name, data in heard if name == "tool_call"]
    assert call["name"] == "search_textbook" and call["arguments"]["query"]
    (found,) = [data for name, data in heard if name == "retrieval"]
    assert found["confidence"]["confidence_level"] == answer.confidence_level
    pages = {p["url"].partition("#")[0] for p in found["passages"]}
    assert {source.url.partition("#")[0] for source in answer.sources} <= pages
    history = await up.http.get(f"/session/{answer.session_id}/history")
    assert len(history.json()["messages"]) == 2


async def test_a_refusal_is_done_too(up: Running) -> None:
    name, data = check_ends(await up.events("How do I bake sourdough bread?"))
    assert name == "done" and data["refused"]


async def test_nobody_may_hold_the_stream_back(up: Running) -> None:
    body = {"message": QUESTION}
    async with up.http.stream("POST", "/chat/stream", json=body) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert "no-transform" in response.headers["Cache-Control"]
        assert response.headers["X-Accel-Buffering"] == "no"
        session = response.headers["X-Session-ID"]
        text = (await response.aread()).decode()
    assert check_ends(parse_events(text))[1]["session_id"] == session


async def test_run_can_stream_as_well(up: Running) -> None:
    response = await up.http.post("/chat/run", json={"message": QUESTION, "stream": True})
    assert check_ends(parse_events(response.text))[0] == "done"


IMPATIENT = {
    "completion_timeout": 0.3,
    "turn_timeout": 5,
    "retries": 1,
    "breaker_failures": 100,
}
FAULTS = [
    pytest.param([fails(500)], id="500"),
    pytest.param([fails(429)], id="429"),
    pytest.param([fails(401)], id="401"),
    pytest.param([malformed("<html>")], id="malformed"),
    pytest.param([cuts("")], id="cut"),
    pytest.param([hangs(30)], id="hangs"),
    pytest.param([SEARCH, fails(500)], id="500 after the search"),
    pytest.param([cuts(TRUE * 3, after=60)], id="cut in the answer"),
    pytest.param([trickles(TRUE * 50, 0.05)], id="trickles"),
]


@pytest.mark.parametrize("steps", FAULTS)
async def test_every_fault_can_end_in_one_error(
    serve: Any, llm: LlmServer, steps: list[Step]
) -> None:
    llm.script(*steps[:-1])
    llm.always(steps[-1])
    async with serve(**with_model(llm), **IMPATIENT, model_down="error") as up:
        name, data = check_ends(await up.events(QUESTION))
        assert name == "error" and data["message"] and data["suggested_action"]
        assert data["error"] == "E004" and data["request_id"]
        run = await up.ask(QUESTION)
        assert run.status_code == 503 and run.json()["error"] == "E004"


@pytest.mark.parametrize("steps", FAULTS)
async def test_every_fault_ends_in_an_answer_that_tells(
    serve: Any, llm: LlmServer, steps: list[Step]
) -> None:
    """The book is quoted, or what had been shown stays."""
    llm.script(*steps[:-1])
    llm.always(steps[-1])
    async with serve(**with_model(llm), **IMPATIENT) as up:
        name, data = check_ends(await up.events(QUESTION))
        assert name == "done" and data["status"] == "fallback" and data["sources"]
        (note,) = data["notes"]
        assert "language model" in note and ("quoted instead" in note or "cut short" in note)
        assert llm.base_url not in note
        run = await up.ask(QUESTION)
        assert run.status_code == 200 and run.json()["status"] == "fallback"


async def test_what_is_being_read_is_told_before_the_first_words(
    serve: Any, llm: LlmServer
) -> None:
    llm.script(hangs(0.5, says(TRUE)))
    async with serve(**with_model(llm)) as up:
        heard = await up.events(QUESTION)
    names = [name for name, _ in heard]
    assert names.index("retrieval") < names.index("token") and len(llm.requests) == 1
    assert len(dict(heard)["retrieval"]["passages"]) == 5


async def test_a_stream_that_just_stops_is_no_error(serve: Any, llm: LlmServer) -> None:
    """What was whole by then is by the book."""
    llm.script(SEARCH, ends_early(TRUE * 3, after=60))
    async with serve(**with_model(llm)) as up:
        assert check_ends(await up.events(QUESTION))[0] == "done"


async def test_signs_of_life(serve: Any, llm: LlmServer) -> None:
    llm.script(SEARCH, hangs(0.5, says(TRUE)))
    async with serve(**with_model(llm), heartbeat=0.05) as up:
        response = await up.http.post("/chat/stream", json={"message": QUESTION})
    assert response.text.count(": still here\n\n") >= 2
    assert check_ends(parse_events(response.text))[0] == "done"


@pytest.mark.parametrize("path", ["/chat/stream", "/chat/run", "/api/v1/agent/chat"])
async def test_who_leaves_stops_the_work(serve: Any, llm: LlmServer, path: str) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm)) as up:
        asking = asyncio.create_task(up.http.post(path, json={"message": QUESTION}))
        await llm.until(lambda: llm.requests)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await llm.until(lambda: llm.requests[0].gave_up)
        figures = (await up.http.get("/metrics")).text
    assert 'bythebook_turns_total{model="stand-in",outcome="cancelled"} 1.0' in figures


async def test_a_stopping_service_lets_answers_finish(serve: Any, llm: LlmServer) -> None:
    llm.script(SEARCH, hangs(0.5, says(TRUE)))
    async with serve(**with_model(llm)) as up:
        asking = asyncio.create_task(up.events(QUESTION))
        await llm.until(lambda: len(llm.requests) == 2)
        await up.stop()
        assert check_ends(await asking)[0] == "done"


async def test_or_tells_them_that_it_stops(serve: Any, llm: LlmServer) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm), shutdown_seconds=0.2) as up:
        streaming = asyncio.create_task(up.events(QUESTION))
        running = asyncio.create_task(up.ask(QUESTION))
        await llm.until(lambda: len(llm.requests) == 2)
        await up.stop()
        name, data = check_ends(await streaming)
        assert name == "error" and data["error"] == "E012"
        response = await running
        assert response.status_code == 503 and response.json()["error"] == "E012"
