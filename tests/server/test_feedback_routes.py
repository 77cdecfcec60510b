"""`answer_id` and `POST /feedback`: kept where wanted, rated by who asked, never in the way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bythebook.database.tables import asked_questions as table
from bythebook.models.key import Scope
from bythebook.server import question_log
from server.conftest import Serve
from server.running import Running, failing_statements, running, until, with_model
from server.test_openapi import copy_catalog
from standins.llm_server import LlmServer, calls_tool, fails, hangs, says

QUESTION = "What is a URDF?"
OFF_TOPIC = "Which bread goes with goat cheese?"
SERVICE, SEARCH = "What is a service in ROS 2?", calls_tool("service in ROS 2")
TRUE = "A service is a request-and-reply connection [1]."


@pytest.fixture
async def anywhere(sample_home: Path, database_url: str) -> AsyncIterator[Running]:
    """The sample book with a database of each kind."""
    await copy_catalog(f"sqlite:///{sample_home / 'bythebook.db'}", database_url)
    async with running(sample_home, database_url=database_url) as service:
        yield service


async def rows(up: Running) -> list[dict[str, Any]]:
    query = select(table).order_by(table.c.asked_at)
    async with up.service.library.engine.connect() as connection:
        return [dict(row) for row in (await connection.execute(query)).mappings()]


async def rate(up: Running, answer_id: str, rating: str = "up", **more: Any) -> int:
    headers = more.pop("headers", {})
    body = {"answer_id": answer_id, "rating": rating, **more}
    return (await up.http.post("/feedback", json=body, headers=headers)).status_code


async def test_a_question_is_noted_and_can_be_rated(anywhere: Running) -> None:
    answer = (await anywhere.ask(QUESTION)).json()
    (noted,) = await rows(anywhere)
    assert noted["answer_id"] == answer["answer_id"]
    assert noted["session_id"] == answer["session_id"] and noted["key_id"] is None
    assert noted["question"] == QUESTION and noted["outcome"] == "answered"
    assert noted["confidence"] == pytest.approx(answer["confidence"])
    assert noted["confidence_level"] == answer["confidence_level"]
    assert noted["model"] == answer["model"] and noted["milliseconds"] > 0
    titles, urls = zip(*(section.values() for section in noted["nearest"]), strict=True)
    assert any("URDF" in title for title in titles) and all(urls)
    assert await rate(anywhere, answer["answer_id"], "down", reason="  too short ") == 204
    assert (await rows(anywhere))[0]["reason"] == "too short"
    assert await rate(anywhere, answer["answer_id"].upper(), "up") == 204
    (noted,) = await rows(anywhere)
    assert noted["rating"] == "up" and noted["reason"] is None, "the last word counts"


async def test_a_refusal_is_noted_with_what_came_nearest(anywhere: Running) -> None:
    events = await anywhere.events(OFF_TOPIC)
    name, done = events[-1]
    assert name == "done" and done["refused"]
    (noted,) = await rows(anywhere)
    assert noted["outcome"] == "refused" and noted["answer_id"] == done["answer_id"]
    assert 1 <= len(noted["nearest"]) <= 3
    assert done["nearest"], "the reader is told as well"
    assert await rate(anywhere, done["answer_id"], "down") == 204


async def test_deleting_a_session_deletes_its_questions(anywhere: Running) -> None:
    first = (await anywhere.ask(QUESTION)).json()
    await anywhere.ask("Tell me more about it.", session_id=first["session_id"])
    other = (await anywhere.ask(QUESTION)).json()
    assert len(await rows(anywhere)) == 3
    gone = await anywhere.http.delete(f"/session/{first['session_id']}")
    assert gone.status_code == 204
    assert [row["answer_id"] for row in await rows(anywhere)] == [other["answer_id"]]
    assert await rate(anywhere, first["answer_id"]) == 404


async def test_a_session_deleted_meanwhile_leaves_no_question(serve: Serve, llm: LlmServer) -> None:
    async with serve(**with_model(llm)) as up:
        llm.script(says(TRUE), hangs(1, says(TRUE)))
        first = (await up.ask(SERVICE)).json()
        assert len(await rows(up)) == 1
        going_on = asyncio.create_task(up.ask(SERVICE, session_id=first["session_id"]))
        await llm.until(lambda: len(llm.requests) == 2)
        assert (await up.http.delete(f"/session/{first['session_id']}")).status_code == 204
        second = (await going_on).json()
        assert not second["refused"] and second["answer_id"] is None
        assert await rows(up) == []


async def test_who_did_not_ask_finds_no_answer(up: Running) -> None:
    keys = []
    scopes: tuple[Scope, ...] = ("chat", "chat", "admin")
    for scope in scopes:
        _, text = await up.service.keys.create("reader", [scope])
        keys.append({"X-API-Key": text})
    asked = await up.http.post("/chat/run", json={"message": QUESTION}, headers=keys[0])
    answer_id = asked.json()["answer_id"]
    assert await rate(up, answer_id, headers=keys[1]) == 404
    assert await rate(up, answer_id, headers=keys[2]) == 404
    assert await rate(up, "0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", headers=keys[0]) == 404
    assert (await rows(up))[0]["rating"] is None
    assert await rate(up, answer_id, headers=keys[0]) == 204


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rating": "great"}, "rating"),
        ({"answer_id": "x"}, "answer_id"),
        ({"reason": "x" * 501}, "reason"),
        ({"more": 1}, "more"),
    ],
)
async def test_feedback_that_makes_no_sense(
    up: Running, change: dict[str, Any], field: str
) -> None:
    body = {"answer_id": "0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", "rating": "up", **change}
    response = await up.http.post("/feedback", json=body)
    assert response.status_code == 400 and response.json()["details"] == {"field": field}


async def test_with_no_days_nothing_is_stored(serve: Serve) -> None:
    async with serve(keep_questions_days=0) as up:
        answer = (await up.ask(QUESTION)).json()
        assert answer["answer_id"] is None and not answer["refused"]
        refusal = (await up.ask(OFF_TOPIC)).json()
        assert refusal["answer_id"] is None and refusal["nearest"]
        assert await rows(up) == []


async def test_what_is_kept_is_put_away_in_the_end(serve: Serve) -> None:
    async with serve() as up:
        assert (await up.ask(QUESTION)).json()["answer_id"]
    # Who keeps none any more does not keep the old ones either.
    async with serve(keep_questions_days=0) as up:

        async def is_empty() -> bool:
            return not await rows(up)

        await until(is_empty)


async def test_a_failure_is_noted_and_a_mistake_is_not(serve: Serve, llm: LlmServer) -> None:
    async with serve(**with_model(llm), retries=0, model_down="error") as up:
        llm.script(fails(500))
        assert (await up.ask(QUESTION)).status_code == 503
        (noted,) = await rows(up)
        assert noted["outcome"] == "failed" and noted["confidence"] is None
        assert noted["model"] == llm.model and noted["nearest"] == []
    async with serve() as up:
        wrong = await up.ask(QUESTION, filters={"module_filter": "no-such-module"})
        assert wrong.status_code == 400
        assert len(await rows(up)) == 1


async def test_a_database_that_fails_does_not_stop_an_answer(
    up: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with failing_statements(up, "asked_questions"):
        response = await up.ask(QUESTION)
        answer = response.json()
        assert response.status_code == 200 and answer["answer_id"] is None
        assert not answer["refused"] and answer["sources"]
    assert "could not be saved" in caplog.text and "the disk is full" in caplog.text
    again = (await up.ask("And what is a joint?", session_id=answer["session_id"])).json()
    assert again["answer_id"] is not None
    assert len(await rows(up)) == 1


async def test_a_turn_that_can_not_be_kept_leaves_no_question(up: Running) -> None:
    with failing_statements(up, "INSERT INTO conversation_threads"):
        assert (await up.ask(QUESTION)).status_code == 503
    (noted,) = await rows(up)
    assert noted["outcome"] == "failed"


async def test_a_database_that_hangs_does_not_hold_the_note_up(
    up: Running,
    own_database: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(question_log, "TIMEOUT_SECONDS", 0.05)
    writer = sqlite3.connect(own_database.partition(":///")[2], isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    asking = asyncio.create_task(up.ask(QUESTION))

    async def is_given_up() -> bool:
        return "it took too long" in caplog.text

    await until(is_given_up)
    writer.execute("ROLLBACK")
    writer.close()
    answer = (await asking).json()
    assert answer["answer_id"] is None and answer["sources"]
    assert await rows(up) == []
