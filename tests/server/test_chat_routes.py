"""Questions over HTTP: answers, refusals, sessions, and what is wrong with a request."""

from __future__ import annotations

import asyncio
import uuid
from itertools import pairwise
from typing import Any

import pytest

from bythebook.models.chat_messages import AgentResponse, ChatResponse
from bythebook.models.conversation import ConversationThread
from server.running import Running

COVERED = "What is a service in ROS 2?"
UNCOVERED = "How do I bake sourdough bread?"


async def test_an_answer_has_its_sources(up: Running) -> None:
    response = await up.ask(COVERED)
    assert response.status_code == 200
    answer = ChatResponse.model_validate(response.json())
    assert not answer.refused and answer.sources and "[1]" in answer.response
    assert uuid.UUID(answer.session_id).version == 4


async def test_a_question_beside_the_book_is_refused(up: Running) -> None:
    answer = ChatResponse.model_validate((await up.ask(UNCOVERED)).json())
    assert answer.refused and not answer.sources and not answer.should_answer


async def test_a_session_goes_on(up: Running) -> None:
    first = ChatResponse.model_validate((await up.ask(COVERED)).json())
    second = await up.ask("Tell me more about the first source", session_id=first.session_id)
    assert second.json()["session_id"] == first.session_id
    assert not second.json()["refused"]
    history = await up.http.get(f"/session/{first.session_id}/history")
    thread = ConversationThread.model_validate(history.json())
    assert [message.role for message in thread.messages] == ["user", "assistant"] * 2
    assert thread.messages[1].content == first.response
    assert thread.messages[1].citations == first.citations


async def test_the_fifth_exchange_brings_a_summary(up: Running) -> None:
    session = (await up.ask(COVERED)).json()["session_id"]
    for count in range(1, 6):
        summary = (await up.http.get(f"/session/{session}/summary")).json()
        assert summary["exchanges"] == count
        assert bool(summary["topic_summary"]) == (count >= 5)
        if count < 5:
            await up.ask(COVERED, session_id=session)
    assert len(summary["topic_summary"]) <= 200


async def test_a_deleted_session_is_gone(up: Running) -> None:
    session = (await up.ask(COVERED)).json()["session_id"]
    assert (await up.http.delete(f"/session/{session}")).status_code == 204
    for method, path in (("GET", "/history"), ("GET", "/summary"), ("DELETE", "")):
        response = await up.http.request(method, f"/session/{session}{path}")
        assert response.status_code == 404
        assert session in response.json()["message"]


async def test_fifty_questions_at_once_lose_nothing(up: Running) -> None:
    session = str(uuid.uuid4())
    asked = [f"{COVERED} ({number})" for number in range(50)]
    answers = await asyncio.gather(*(up.ask(text, session_id=session) for text in asked))
    assert {answer.status_code for answer in answers} == {200}
    thread = ConversationThread.model_validate(
        (await up.http.get(f"/session/{session}/history")).json()
    )
    assert len(thread.messages) == 50
    by_question = {
        question: answer.json()["response"] for question, answer in zip(asked, answers, strict=True)
    }
    for question, answer in pairwise(thread.messages):
        if question.role == "user":
            assert by_question[question.content] == answer.content
    loaded = await up.service.threads.load(session)
    assert loaded is not None and loaded.conversation.count == 50
    one_more = await up.ask(COVERED, session_id=session)
    assert one_more.status_code == 400 and "50 turns" in one_more.json()["message"]


async def test_the_agents_own_route(up: Running) -> None:
    request_id = str(uuid.uuid4())
    body = {"id": request_id, "message": COVERED, "metadata": {"who": "a test"}}
    response = await up.http.post("/api/v1/agent/chat", json=body)
    answer = AgentResponse.model_validate(response.json())
    assert answer.request_id == request_id and answer.citations and answer.tool_calls
    assert answer.status == "success"
    long = await up.http.post("/api/v1/agent/chat", json={"message": "x" * 2001})
    assert long.status_code == 400 and long.json()["details"] == {"field": "message"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": "  \n"}, "message"),
        ({"message": "x" * 1001}, "message"),
        ({"message": COVERED, "top_k": 0}, "top_k"),
        ({"message": COVERED, "top_k": 11}, "top_k"),
        ({"message": COVERED, "similarity_threshold": 1.1}, "similarity_threshold"),
        ({"message": COVERED, "session_id": "7"}, "session_id"),
        ({"message": COVERED, "session_id": str(uuid.uuid1())}, "session_id"),
        ({"message": COVERED, "filters": {"module": "x"}}, "filters.module"),
        ({"message": COVERED, "filters": {"hardware_tier_filter": 5}}, "filters.hardware"),
        ({"message": COVERED, "colour": "red"}, "colour"),
        ([], "body"),
    ],
)
@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_a_field_that_does_not_fit_is_named(
    up: Running, path: str, body: Any, field: str
) -> None:
    response = await up.http.post(path, json=body)
    assert response.status_code == 400
    problem = response.json()
    assert problem["details"]["field"].startswith(field)
    assert problem["error"] == "E005" and problem["suggested_action"]
    assert problem["request_id"] == response.headers["X-Request-ID"]
    assert problem["timestamp"].endswith("Z")


async def test_an_unknown_book_is_not_found(up: Running) -> None:
    response = await up.ask(COVERED, book_id="no-such-book")
    assert response.status_code == 404 and response.json()["error"] == "E002"


async def test_a_session_keeps_to_its_book(up: Running) -> None:
    session = (await up.ask(COVERED)).json()["session_id"]
    response = await up.ask(COVERED, session_id=session, book_id="another")
    assert response.status_code == 400 and response.json()["details"]["field"] == "book_id"


async def test_addresses_and_methods_that_are_not_there(up: Running) -> None:
    nothing = await up.http.get("/chat/nothing")
    assert nothing.status_code == 404 and nothing.json()["suggested_action"]
    wrong = await up.http.get("/chat/run")
    assert wrong.status_code == 405 and wrong.headers["Allow"] == "POST"
    assert "GET" in wrong.json()["message"]


@pytest.mark.parametrize("content", [b"{not json", b"", b"\xff", b'{"message": "\xff"}'])
@pytest.mark.parametrize("path", ["/chat/run", "/search", "/ingestion/trigger"])
async def test_what_is_not_json_is_told(up: Running, path: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = await up.http.post(path, content=content, headers=headers)
    told = response.json()
    assert (response.status_code, told["details"]) == (400, {"field": "body"})
    assert ("not JSON" in told["message"]) == bool(content)
    assert told["suggested_action"]


async def test_a_form_is_not_json(up: Running) -> None:
    form = await up.http.post("/chat/run", data={"message": COVERED})
    assert form.status_code == 400


async def test_too_much_is_not_read(up: Running) -> None:
    async def endless() -> Any:
        for _ in range(100):
            yield b" " * 1000

    headers = {"Content-Type": "application/json"}
    declared = await up.http.post("/chat/run", content=b" " * 20_000, headers=headers)
    assert declared.status_code == 413 and declared.json()["error"] == "E011"
    chunked = await up.http.post("/chat/run", content=endless(), headers=headers)
    assert chunked.status_code == 413


async def test_deep_nesting_is_refused(up: Running) -> None:
    deep = b'{"message": ' + b"[" * 4000 + b"]" * 4000 + b"}"
    headers = {"Content-Type": "application/json"}
    response = await up.http.post("/chat/run", content=deep, headers=headers)
    assert response.status_code == 400 and "nested" in response.json()["message"]
    brackets = await up.ask("What does " + "[" * 100 + " mean in Python?")
    assert brackets.status_code == 200


async def test_every_response_is_protected(up: Running) -> None:
    for response in (await up.http.get("/health"), await up.http.get("/nothing")):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert "access-control-allow-origin" not in response.headers
    named = await up.http.get("/health", headers={"X-Request-ID": "my-own.1"})
    assert named.headers["X-Request-ID"] == "my-own.1"
    odd = await up.http.get("/health", headers={"X-Request-ID": "{evil}"})
    assert odd.headers["X-Request-ID"] != "{evil}"
