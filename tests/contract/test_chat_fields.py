"""Chats over HTTP: every field that enters and leaves, its bounds, and what follows from what."""

from __future__ import annotations

import uuid
from itertools import combinations, pairwise
from typing import Any

import pytest

from contract.shapes import misfits
from server.running import Running

QUESTION = "What is a URDF?"
CLEAR = "When should I use an action instead of a service?"
OFF_TOPIC = "How do I bake sourdough bread?"
SESSION = "550e8400-e29b-41d4-a716-446655440000"

RESPONSE = {
    "response": "text",
    "confidence": "share",
    "sources": "list",
    "session_id": "uuid4",
    "timestamp": "moment",
    "confidence_level": "text",
    "should_answer": "bool",
    "model": "text",
    "tokens_used": "whole",
}
SOURCE = {
    "chunk_text": "text",
    "similarity_score": "share",
    "chapter": "text",
    "section": "text",
    "url": "text",
    "chunk_index": "whole",
}
METRICS = {
    "average_similarity": "share",
    "min_similarity": "share",
    "max_similarity": "share",
    "num_chunks": "whole",
    "chunk_diversity": "share",
    "confidence_level": "text",
    "should_answer": "bool",
}
THREAD = {
    "thread_id": "uuid4",
    "messages": "some",
    "created_at": "moment",
    "updated_at": "moment",
    "topic_summary": "none|text",
    "metadata": "object",
}
LEVELS = [("high", 0.85, 5), ("medium", 0.75, 3), ("low", 0.6, 2), ("insufficient", 0, 0)]
MESSAGE = {"role": "text", "content": "text", "timestamp": "moment"}


@pytest.mark.parametrize("message", [QUESTION, OFF_TOPIC])
async def test_every_field_of_a_response(up: Running, message: str) -> None:
    response = await up.ask(message)
    told = response.json()
    assert misfits(told, RESPONSE) == [] and misfits(told["metrics"], METRICS) == []
    assert bool(told["sources"]) == (not told["refused"])
    for source in told["sources"]:
        assert misfits(source, SOURCE) == [] and len(source["chunk_text"]) <= 500
    metrics = told["metrics"]
    assert told["confidence"] == metrics["average_similarity"]
    assert told["confidence_level"] == metrics["confidence_level"]
    assert told["should_answer"] == metrics["should_answer"]
    assert told["timestamp"].endswith("Z")


@pytest.mark.parametrize(
    ("message", "level"),
    [
        (QUESTION, "high"),
        (CLEAR, "medium"),
        ("Which company makes URDF?", "low"),
        ("Who wrote ROS?", "insufficient"),
    ],
)
async def test_the_level_follows_from_mean_and_number(
    up: Running, message: str, level: str
) -> None:
    told = (await up.ask(message, similarity_threshold=0)).json()
    check_level(told)
    assert (told["metrics"]["num_chunks"], told["confidence_level"]) == (5, level)


async def test_the_level_needs_enough_passages(up: Running) -> None:
    """Good ones: a threshold leaves one, then two, and so on."""
    (found,) = [data for name, data in await up.events(CLEAR) if name == "retrieval"]
    levels: list[str] = []
    for passage in found["passages"][:3]:
        told = (await up.ask(CLEAR, similarity_threshold=passage["score"])).json()
        check_level(told)
        metrics = told["metrics"]
        assert metrics["average_similarity"] > 0.85 and metrics["num_chunks"] == len(levels) + 1
        levels.append(told["confidence_level"])
    assert levels == ["insufficient", "low", "medium"]


def check_level(told: dict[str, Any]) -> None:
    metrics = told["metrics"]
    mean, number = metrics["average_similarity"], metrics["num_chunks"]
    assert metrics["confidence_level"] == next(
        level
        for level, least_mean, least_number in LEVELS
        if mean >= least_mean and number >= least_number
    )
    assert metrics["should_answer"] == (metrics["confidence_level"] != "insufficient")
    if number:
        assert metrics["min_similarity"] - 1e-6 <= mean <= metrics["max_similarity"] + 1e-6
    if told["sources"]:
        assert metrics["should_answer"]


async def test_diversity_is_what_pairs_do_not_share(up: Running) -> None:
    heard = await up.events(QUESTION)
    ids = [p["passage_id"] for name, data in heard if name == "retrieval" for p in data["passages"]]
    store = await up.service.library.store()
    records = await store.retrieve(ids, with_vectors=["dense"])
    vectors: list[Any] = [(record.vector or {})["dense"] for record in records]
    assert len(vectors) == len(ids) > 1

    def cosine(one: list[float], other: list[float]) -> float:
        dot, *squares = (
            sum(a * b for a, b in zip(*pair, strict=True))
            for pair in ((one, other), (one, one), (other, other))
        )
        return float(dot / (squares[0] * squares[1]) ** 0.5)

    pairs = [cosine(one, other) for one, other in combinations(vectors, 2)]
    told = heard[-1][1]["metrics"]["chunk_diversity"]
    assert told == pytest.approx(1 - sum(pairs) / len(pairs), abs=1e-3)


async def test_the_limits_are_told(up: Running) -> None:
    limits = (await up.http.get("/info")).json()["limits"]
    assert {
        "chat_message_characters": 1000,
        "agent_message_characters": 2000,
        "top_k": 10,
        "search_results": 20,
        "turns": 50,
        "body_bytes": 10240,
        "requests_per_minute": 100,
    }.items() <= limits.items()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"session_id": SESSION, "stream": False, "top_k": 5, "similarity_threshold": 0.7},
        {"session_id": None},
        {"top_k": 1},
        {"top_k": 10, "similarity_threshold": 0.0},
        {"similarity_threshold": 1.0},
    ],
)
async def test_what_a_request_may_be(up: Running, fields: dict[str, Any]) -> None:
    response = await up.ask(QUESTION, **fields)
    assert response.status_code == 200, response.text
    told = response.json()
    if fields.get("session_id"):
        assert told["session_id"] == SESSION
    else:
        assert uuid.UUID(told["session_id"]).version == 4


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_defaults_of_a_request(up: Running, path: str) -> None:
    """As the search was made that a bare question leads to."""
    told = await up.http.post(path, json={"message": QUESTION, "session_id": SESSION})
    assert told.headers["content-type"].startswith(
        "application/json" if path == "/chat/run" else "text/event-stream"
    )
    (call,) = (await up.http.get(f"/session/{SESSION}")).json()["retrieval_history"]
    assert call["arguments"] == {"query": QUESTION, "top_k": 5, "similarity_threshold": 0.7}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"message": ""}, "message"),
        ({"message": "   "}, "message"),
        ({"message": "x" * 1001}, "message"),
        ({"session_id": "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"}, "session_id"),
        ({"stream": "maybe"}, "stream"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 11}, "top_k"),
        ({"similarity_threshold": -0.1}, "similarity_threshold"),
        ({"similarity_threshold": 1.1}, "similarity_threshold"),
    ],
)
@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_what_a_request_may_not_be(
    up: Running, path: str, fields: dict[str, Any], named: str
) -> None:
    response = await up.http.post(path, json={"message": QUESTION, **fields})
    assert response.status_code == 400
    assert response.json()["details"]["field"] == named


async def test_a_message_of_a_thousand_characters(up: Running) -> None:
    assert (await up.ask(f"{QUESTION} {'x' * 1000}"[:1000])).status_code == 200


async def test_every_field_of_a_thread(up: Running) -> None:
    session = (await up.ask(QUESTION, metadata={"user_id": "u", "tags": ["ros2"]})).json()[
        "session_id"
    ]
    before = (await up.http.get(f"/session/{session}/history")).json()
    second = (await up.ask(OFF_TOPIC, session_id=session)).json()
    thread = (await up.http.get(f"/session/{session}/history")).json()
    assert misfits(thread, THREAD) == []
    assert (thread["thread_id"], thread["topic_summary"]) == (session, None)
    assert (thread["metadata"]["user_id"], thread["metadata"]["tags"]) == ("u", ["ros2"])
    assert thread["created_at"] == before["created_at"]
    assert before["updated_at"] < thread["updated_at"] == thread["messages"][-1]["timestamp"]
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * 2
    for earlier, later in pairwise(thread["messages"]):
        assert earlier["timestamp"] <= later["timestamp"]
    for message in thread["messages"]:
        assert misfits(message, MESSAGE) == []
        kind = "none" if message["role"] == "user" else "share"
        assert misfits(message, {"confidence": kind}) == []
    assert thread["messages"][-1]["confidence"] == second["confidence"]
