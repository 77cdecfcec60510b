"""How many passages an answer is made from does not decide whether the book answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook
from bythebook.agent.prompts import LOW_CONFIDENCE, ONE_PASSAGE
from bythebook.library import Library
from bythebook.settings import Settings
from server.conftest import Serve
from server.running import Running, running, with_model
from standins.llm_server import LlmServer, calls_tool, passages, says

QUESTION = "What is a service in ROS 2?"
UNCOVERED = "How do I bake sourdough bread?"


def told(response: dict[str, Any]) -> tuple[bool, bool, str, bool]:
    text = response["response"]
    level = response["confidence_level"]
    return response["refused"], response["should_answer"], level, text.startswith(LOW_CONFIDENCE)


@pytest.mark.parametrize("reading", [False, True], ids=["alone", "with the reader"])
async def test_few_passages_are_enough(
    request: pytest.FixtureRequest, serve: Serve, reading: bool
) -> None:
    if reading:
        request.getfixturevalue("with_reader")
    async with serve() as up:
        five = (await up.ask(QUESTION, top_k=5)).json()
        assert not five["refused"]
        for few in (1, 2, 4):
            answer = (await up.ask(QUESTION, top_k=few)).json()
            assert told(answer) == told(five)
            assert 1 <= len(answer["sources"]) <= few
            assert answer["metrics"] == five["metrics"]
            events = await up.events(QUESTION, top_k=few)
            (found,) = [data for name, data in events if name == "retrieval"]
            assert len(found["passages"]) == few
        for few in (1, 2, 5):
            assert (await up.ask(UNCOVERED, top_k=few)).json()["refused"]


@pytest.mark.parametrize(
    ("message", "fields", "number"),
    [
        (QUESTION, {"top_k": 1}, 1),
        (QUESTION, {"top_k": 2}, 2),
        (QUESTION, {}, 5),
        (UNCOVERED, {"similarity_threshold": 0}, 0),
    ],
)
async def test_a_record_has_the_mean_of_what_was_returned(
    up: Running, message: str, fields: dict[str, Any], number: int
) -> None:
    events = await up.events(message, **fields)
    (found,) = [data for name, data in events if name == "retrieval"]
    scores = [passage["score"] for passage in found["passages"]]
    session = events[-1][1]["session_id"]
    (call,) = (await up.http.get(f"/session/{session}")).json()["retrieval_history"]
    assert call["results_count"] == len(scores) == number
    assert call["avg_similarity"] == pytest.approx(sum(scores) / max(number, 1))
    if not number:
        assert found["confidence"]["average_similarity"] > 0


async def test_a_single_passage_is_told(home: Path, write_book: WriteBook) -> None:
    """The rules of confidence want two; the reader learns that it is not the book's silence."""
    text = "# Valves\n\nA valve opens when the pressure in the pipe exceeds six bar.\n"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(write_book({"01-valves.md": text}), book_id="valves")
    async with running(home) as up:
        answer = (await up.ask("When does a valve open?")).json()
    assert answer["refused"] and answer["confidence_level"] == "insufficient"
    assert answer["notes"] == [ONE_PASSAGE] and answer["nearest"][0]["title"] == "Valves"


async def test_a_model_gets_as_few_as_were_asked_for(serve: Serve, llm: LlmServer) -> None:
    llm.always(says("A service answers a request. [1]"))
    async with serve(**with_model(llm)) as up:
        await up.ask(QUESTION, top_k=1)
    assert len(passages(llm.bodies[0])) == 1


async def called(up: Running, llm: LlmServer, **arguments: Any) -> dict[str, Any]:
    """The record of a model's call with these arguments."""
    llm.script(
        calls_tool("service in ROS 2", arguments=arguments),
        says("A service answers a request. [1]"),
    )
    body = {"message": QUESTION}
    answer = (await up.http.post("/api/v1/agent/chat", json=body)).json()
    assert len(answer["tool_calls"]) == 2
    record: dict[str, Any] = answer["tool_calls"][1]
    assert record["error"] is None
    return record


async def test_a_record_has_the_arguments_that_held(serve: Serve, llm: LlmServer) -> None:
    settings = {**with_model(llm), "top_k": 3, "score_threshold": 0.65}
    own = {"query": "service in ROS 2", "top_k": 3, "similarity_threshold": 0.65}
    async with serve(**settings) as up:
        assert (await called(up, llm))["arguments"] == own
        held = {"top_k": 2, "filters": {"module_filter": "ros2"}}
        assert (await called(up, llm, **held))["arguments"] == own | held
        asked_less = await called(up, llm, similarity_threshold=0.1)
        assert asked_less["arguments"] == own  # the reader's own threshold is the least
        for dropped in (
            {"filters": {"lesson_filter": 999}},
            {"top_k": 4, "similarity_threshold": 1.0},
            {"top_k": 1},
        ):
            record = await called(up, llm, **dropped)
            assert record["arguments"] == own and record["results_count"] == 3


async def test_a_record_has_the_readers_filters(up: Running) -> None:
    filters = {"prefix": "module-1-ros2/", "hardware_tier_filter": 2}
    session = (await up.ask(QUESTION, filters=filters)).json()["session_id"]
    (call,) = (await up.http.get(f"/session/{session}")).json()["retrieval_history"]
    assert call["arguments"]["filters"] == filters


async def test_the_tool_promises_what_is_used(serve: Serve, llm: LlmServer) -> None:
    llm.always(says("A service answers a request. [1]"))
    async with serve(**with_model(llm), top_k=3, score_threshold=0.65) as up:
        await up.ask(QUESTION)
        await up.ask(QUESTION, top_k=7, similarity_threshold=0.25)
    for body, top_k, least in zip(llm.bodies, (3, 7), (0.65, 0.25), strict=True):
        (tool,) = body["tools"]
        properties = tool["function"]["parameters"]["properties"]
        assert properties["top_k"]["default"] == top_k
        assert f"(default: {top_k})" in properties["top_k"]["description"]
        threshold = properties["similarity_threshold"]
        assert (threshold["default"], threshold["minimum"]) == (least, least)
        assert f"({least}-1.0, default: {least})" in threshold["description"]
