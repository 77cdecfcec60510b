"""What a collector gets to see of questions over HTTP, and what happens when there is none."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from booktext import CANARIES, WriteBook
from bythebook import tracing
from bythebook.tracing import Attributes, sent_name
from server.conftest import Serve
from server.running import Running, running, until, with_model
from server.test_mcp_routes import connected
from standins.collector import Collector, Seen, running_collector
from standins.llm_server import LlmServer, fails, hangs, searches_then

COVERED = "What is a service in ROS 2?"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SEARCH = {
    "name": "search",
    "below": [{"name": name, "below": []} for name in ("embed", "query", "fuse")],
}


def leaf(name: str) -> dict[str, Any]:
    return {"name": name, "below": []}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as started:
        yield started


def to(collector: Collector) -> dict[str, Any]:
    return {"tracing": "otlp", "otlp_endpoint": collector.address}


def root_of(collector: Collector, route: str) -> Seen:
    (root,) = collector.named(route)
    return root


def first_sentence(found: list[dict[str, Any]]) -> str:
    return f"{found[0]['chunk_text'].split('. ')[0].strip()}. [1]"


async def test_a_quoted_answer_is_one_trace(serve: Serve, collector: Collector) -> None:
    async with serve(**to(collector)) as up:
        response = await up.ask(COVERED)
        assert (await up.http.get("/health")).status_code == 200
    root = root_of(collector, "POST /chat/run")
    assert collector.tree(root)["below"] == [
        {"name": "turn", "below": [SEARCH, leaf("quote"), leaf("verify")]}
    ]
    assert {span.trace_id for span in collector.spans} == {root.trace_id}
    assert root.attributes == {
        "http.request.method": "POST",
        "http.route": "/chat/run",
        "http.response.status_code": 200,
        "bythebook.request_id": response.headers["X-Request-ID"],
    }
    (turn,) = collector.named("turn")
    assert turn.attributes["bythebook.outcome"] == "answered"
    assert turn.attributes["bythebook.confidence"] == response.json()["confidence_level"]
    assert collector.resources[0]["service.name"] == "bythebook"
    assert set(collector.paths) == {"/v1/traces"}


async def test_a_model_that_writes_is_part_of_the_trace(
    serve: Serve, collector: Collector, llm: LlmServer
) -> None:
    llm.always(searches_then(first_sentence))
    async with serve(**to(collector), **with_model(llm)) as up:
        headers = {"traceparent": PARENT}
        asked = {"message": COVERED}
        response = await up.http.post("/chat/stream", json=asked, headers=headers)
        assert "event: done" in response.text
    root = root_of(collector, "POST /chat/stream")
    assert (root.trace_id, root.parent_id) == tuple(PARENT.split("-")[1:3])
    (turn,) = collector.tree(root)["below"]
    assert turn["name"] == "turn"
    assert sorted(each["name"] for each in turn["below"]) == ["model", "search", "verify"]
    assert SEARCH in turn["below"]
    calls = collector.named("model")
    assert [call.attributes["gen_ai.request.model"] for call in calls] == [llm.model]
    given = [
        request.headers["traceparent"]
        for request in llm.requests
        if request.path.endswith("completions")
    ]
    assert sorted(given) == sorted(f"00-{call.trace_id}-{call.span_id}-01" for call in calls)
    (verify,) = collector.named("verify")
    writing = max(calls, key=lambda call: call.start)
    assert verify.attributes["bythebook.sentences"] >= 1
    # It goes on while the model writes.
    assert writing.start < verify.start < verify.end


async def test_a_model_that_does_not_stream_is_part_of_the_trace(
    serve: Serve, collector: Collector, llm: LlmServer
) -> None:
    llm.always(searches_then(first_sentence))
    async with serve(**to(collector), **with_model(llm), openai_stream=False) as up:
        assert (await up.ask(COVERED)).status_code == 200
    given = {request.headers["traceparent"].rpartition("-")[0] for request in llm.requests}
    assert given == {f"00-{call.trace_id}-{call.span_id}" for call in collector.named("model")}


async def test_failed_calls_and_caller_mistakes_are_told_apart(
    serve: Serve, collector: Collector, llm: LlmServer
) -> None:
    llm.script(fails(500))
    llm.always(fails(401))
    async with serve(**to(collector), **with_model(llm), model_down="error") as up:
        assert (await up.ask(COVERED)).status_code == 503
        assert (await up.ask(COVERED, book_id="none")).status_code == 404
    first, second = collector.named("model")
    assert [call.attributes["bythebook.attempt"] for call in (first, second)] == [1, 2]
    assert first.attributes["error.type"] == "InternalServerError"
    assert second.attributes["error.type"] == "AuthenticationError"
    assert first.is_error and second.is_error
    (turn,) = collector.named("turn")
    assert turn.is_error and turn.attributes["bythebook.code"] == "E004"
    roots = {
        root.attributes["http.response.status_code"]: root.is_error
        for root in collector.named("POST /chat/run")
    }
    assert roots == {503: True, 404: False}


async def test_a_question_over_mcp_belongs_to_its_request(
    serve: Serve, collector: Collector
) -> None:
    async with serve(**to(collector)) as up:
        async with connected(up) as client:
            answer = await client.call_tool("ask", {"question": COVERED})
            assert answer.structured_content["sources"]
        figures = (await up.http.get("/metrics")).text
    assert 'bythebook_step_seconds_count{outcome="ok",step="search"} 1.0' in figures
    (turn,) = collector.named("turn")
    assert turn.parent_id in {root.span_id for root in collector.named("POST /mcp")}


async def test_a_reader_who_leaves_ends_the_trace(
    serve: Serve, collector: Collector, llm: LlmServer
) -> None:
    llm.always(hangs(30))
    async with serve(**to(collector), **with_model(llm)) as up:
        asking = asyncio.create_task(up.ask(COVERED))

        async def asked() -> bool:
            return bool(llm.requests)

        await until(asked)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    (call,) = collector.named("model")
    (turn,) = collector.named("turn")
    assert call.attributes["bythebook.outcome"] == "cancelled"
    assert turn.attributes["bythebook.outcome"] == "cancelled"
    assert not call.is_error and not turn.is_error


async def test_nothing_that_was_asked_or_stands_in_a_book_leaves(
    home: Path, write_book: WriteBook, collector: Collector, llm: LlmServer
) -> None:
    book = write_book(CANARIES)
    llm.always(searches_then(first_sentence))
    settings = {**to(collector), **with_model(llm), "books_folder": book.parent}
    async with running(home, **settings) as up:
        job = await up.http.post("/ingestion/trigger", json={"book_id": "guide", "path": "book"})
        assert job.status_code == 202, job.text
        await ended(up, job.json()["job_id"])
        question = "What is a canary?"
        assert not (await up.ask(question)).json()["refused"]
        llm.always(fails(400, body="the canary in the prompt"))
        assert (await up.ask(question)).json()["status"] == "fallback"
        wrong = {"text": question, "book_id": "guide", "prefix": "canaryprefix"}
        await up.http.post("/search", json=wrong)
        await up.http.get("/canarypath/canary", params={"q": "canaryquery"})
        await up.http.request("CANARY", "/chat/run")
    sent = b"".join(collector.bodies).lower()
    assert sent and b"canary" not in sent
    assert not any(span.events for span in collector.spans)
    known = {sent_name(name) for name in Attributes.__annotations__}
    assert {name for span in collector.spans for name in span.attributes} <= known
    (run,) = collector.named("ingest")
    assert run.attributes["bythebook.job_id"] == job.json()["job_id"]
    assert run.attributes["bythebook.files"] == 3 and run.parent_id == ""
    below = {each["name"] for each in collector.tree(run)["below"]}
    assert below == {"embed_batch", "write_batch"}


async def ended(up: Running, job_id: int) -> None:
    async def done() -> bool:
        found = (await up.http.get(f"/ingestion/status/{job_id}")).json()
        assert found["status"] != "failed", found
        return bool(found["status"] == "completed")

    await until(done)


async def test_log_lines_name_their_trace(
    serve: Serve, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    how = {"log_level": "info", "log_format": "json"}
    async with serve(**to(collector), **how) as up:
        await up.ask(COVERED)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{"]
    about = [line for line in lines if line.get("request_id")]
    assert {line["message"] for line in about} >= {"POST /chat/run 200"}
    root = root_of(collector, "POST /chat/run")
    assert {line.get("trace_id") for line in about} == {root.trace_id}


def _garbage(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00\xff no HTTP at all \r\n\r\n")
    handler.close_connection = True


def _refusing(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(503)
    handler.end_headers()


@pytest.mark.parametrize("trouble", ["down", "garbage", "hanging", "refusing"])
async def test_a_collector_in_trouble_changes_no_answer(
    serve: Serve,
    trouble: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "FLUSH_SECONDS", 0.5)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")

    def hanging(handler: BaseHTTPRequestHandler) -> None:
        troubled.stopped.wait()

    behave = {"garbage": _garbage, "hanging": hanging, "refusing": _refusing}.get(trouble)
    with running_collector(behave) as troubled, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = troubled.address
        if trouble == "down":
            address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with serve(tracing="otlp", otlp_endpoint=address) as up:
            for _ in range(3):
                answer = await up.ask(COVERED)
                assert answer.status_code == 200 and answer.json()["citations"]

            async def tried() -> bool:
                return trouble == "down" or bool(troubled.paths)

            await until(tried)
    said = capsys.readouterr().err
    assert said.count("Traces can't be sent") <= 1
    assert "Traces can't be sent" in said or "were not sent" in said
