"""The states of a turn as a client of the stream sees them: every step is one that is allowed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bythebook.agent.events import TRANSITIONS, AgentState
from server.conftest import Serve
from server.running import Running, failing_statements, running, with_model
from standins.llm_server import Call, LlmServer, Step, bad_arguments, fails, says
from standins.refusing_server import refusing

SEARCHED = ["received", "processing", "tool_call_needed", "tool_executed", "response_generated"]
WITHOUT_SEARCH = ["received", "processing", "response_generated"]
QUESTION = "What is a service in ROS 2?"
Events = list[tuple[str, dict[str, Any]]]


def states_of(events: Events) -> list[AgentState]:
    """Each follows from the one before it."""
    states = [data["state"] for name, data in events if name == "state"]
    for before, after in pairwise(states):
        assert after in TRANSITIONS[before], states
    return states


@pytest.mark.parametrize("message", ["C#", "R", "c", "go?", "7"])
async def test_a_short_message_is_searched_for(up: Running, message: str) -> None:
    events = await up.events(message)
    assert states_of(events) == SEARCHED
    (called,) = [data for name, data in events if name == "tool_call"]
    (found,) = [data for name, data in events if name == "retrieval"]
    done = events[-1][1]
    assert message.rstrip("?") in called["arguments"]["query"]
    assert done["searched"] == found["query"] == called["arguments"]["query"]
    if done["refused"]:
        assert done["searched"] in done["response"]


@pytest.mark.parametrize("message", ["hi", "ok", "?", "???", "!?", "😀", "…"])
async def test_nothing_asked_is_nothing_searched(up: Running, message: str) -> None:
    events = await up.events(message)
    assert states_of(events) == WITHOUT_SEARCH
    assert not {"tool_call", "retrieval"} & {name for name, _ in events}
    done = events[-1][1]
    assert done["searched"] == "" and "Searched" not in done["response"]
    assert done["notes"] == [] and done["nearest"] == []


async def test_a_question_beside_wordless_signs(up: Running) -> None:
    events = await up.events(f"{QUESTION} ??? And what is a node? !!!")
    assert states_of(events) == SEARCHED and events[-1][0] == "done"


async def test_a_short_message_costs_no_model_blame(serve: Serve, llm: LlmServer) -> None:
    async with serve(**with_model(llm)) as up:
        answer = (await up.http.post("/api/v1/agent/chat", json={"message": "Qz"})).json()
    (call,) = answer["tool_calls"]
    assert call["error"] is None and "Qz" in call["query"]
    assert llm.requests == []  # the book is silent


async def test_many_unusable_calls_at_once(serve: Serve, llm: LlmServer) -> None:
    calls = tuple(Call('{"topic": "service"}') for _ in range(6))
    llm.script(says("A service answers a request. [1]"), Step(calls=calls), says("It blocks. [1]"))
    async with serve(**with_model(llm)) as up:
        session = (await up.ask(QUESTION)).json()["session_id"]
        events = await up.events("And what about that?", session_id=session)
    assert states_of(events) == SEARCHED and events[-1][0] == "done"


async def test_two_searches_are_one_state(serve: Serve, llm: LlmServer) -> None:
    second = Step(calls=(Call('{"query": "topics and services"}'), Call('{"query": "nodes"}')))
    llm.script(second, says("A service answers a request. [1]"))
    async with serve(**with_model(llm)) as up:
        events = await up.events(QUESTION)
    assert states_of(events) == SEARCHED
    assert len([name for name, _ in events if name == "retrieval"]) == 3


async def test_a_model_that_fails_is_tried_again_without(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(401))
    async with serve(**with_model(llm)) as up:
        events = await up.events(QUESTION)
    states = states_of(events)
    assert states[-5:] == ["failed", *SEARCHED[1:]] and events[-1][0] == "done"


@pytest.mark.parametrize("first", [bad_arguments("{"), says("Hello there.")])
async def test_a_model_that_does_not_search(serve: Serve, llm: LlmServer, first: Step) -> None:
    llm.script(says("A service answers. [1]"), first, says("A service answers. [1]"))
    async with serve(**with_model(llm)) as up:
        session = (await up.ask(QUESTION)).json()["session_id"]
        events = await up.events("And what about that?", session_id=session)
    assert states_of(events) == SEARCHED


async def test_a_turn_too_many_fails(serve: Serve) -> None:
    async with serve(max_conversation_turns=2) as up:
        session = (await up.ask("hi")).json()["session_id"]
        await up.ask("hello", session_id=session)
        events = await up.events(QUESTION, session_id=session)
        refused = await up.ask(QUESTION, session_id=session)
        history = (await up.http.get(f"/session/{session}")).json()
    assert states_of(events) == ["received", "failed"]
    name, problem = events[-1]
    assert name == "error" and "2 turns" in problem["message"]
    assert refused.status_code == 400 and history["turn_count"] == 2


async def test_a_model_that_fails_before_it_searches(serve: Serve, llm: LlmServer) -> None:
    llm.script(says("A service answers a request. [1]"))
    async with serve(**with_model(llm), model_down="error") as up:
        session = (await up.ask(QUESTION)).json()["session_id"]
        llm.always(fails(401))
        events = await up.events("And what about that?", session_id=session)
    assert states_of(events) == [*SEARCHED[:2], "failed"] and events[-1][0] == "error"


async def test_a_search_that_fails(sample_home: Path, own_database: str) -> None:
    with refusing(400) as (url, _):
        async with running(sample_home, qdrant_url=url, database_url=own_database) as up:
            events = await up.events(QUESTION)
    assert states_of(events) == [*SEARCHED[:3], "failed"] and events[-1][0] == "error"


async def test_an_answer_that_can_not_be_kept(up: Running) -> None:
    with failing_statements(up, "INSERT INTO conversation_threads"):
        events = await up.events(QUESTION)
    assert states_of(events)[-1] == "failed" and events[-1][0] == "error"


async def test_every_failure_ends_in_failed(serve: Serve, llm: LlmServer) -> None:
    llm.always(fails(401))
    async with serve(**with_model(llm), model_down="error") as up:
        events = await up.events(QUESTION)
    assert states_of(events)[-1] == "failed" and events[-1][0] == "error"
