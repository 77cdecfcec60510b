"""What Prometheus is told, read the way Prometheus reads it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Receive, Scope, Send

from bythebook.models.answer import Answer
from bythebook.models.examples import PIECES
from bythebook.models.service_health import Dependency, Health
from bythebook.retrieval.calibration import assess
from bythebook.server.prometheus import Metrics, route_of
from models.samples import tool_call

ANSWER = Answer(
    question="What is a node?",
    text="A process [1].",
    status="success",
    refused=False,
    citations=(),
    sentences=(),
    passages=(),
    confidence=assess([]),
    model="stand-in",
    tokens_used=120,
    tool_calls=(tool_call("node"), tool_call("nodes")),
    removed=1,
)


def read(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    body, content_type = metrics.render()
    assert content_type.startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(body.decode()))
    assert all(family.documentation for family in families)
    return {
        (sample.name.removeprefix("bythebook_"), frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return read(metrics).get((name, frozenset(labels.items())))


def test_requests_are_counted_and_timed_by_route() -> None:
    metrics = Metrics()
    for seconds in (0.02, 0.2):
        metrics.request("POST", "/chat/run", 200, seconds)
    metrics.request("POST", "/chat/run", 429, 0.001)
    run = {"method": "POST", "route": "/chat/run"}
    assert value(metrics, "http_requests_total", **run, status="200") == 2
    assert value(metrics, "http_requests_total", **run, status="429") == 1
    assert value(metrics, "http_request_seconds_count", **run) == 3
    assert value(metrics, "http_request_seconds_bucket", **run, le="0.025") == 2
    assert value(metrics, "http_request_seconds_sum", **run) == pytest.approx(0.221)


def test_what_a_caller_makes_up_does_not_become_a_label() -> None:
    metrics = Metrics()
    metrics.request("GET", None, 404, 0.001)
    before = len(read(metrics))
    for number in range(50):
        metrics.request(f"BREW{number}", None, 405, 0.001)
    assert value(metrics, "http_requests_total", method="other", route="other", status="405") == 50
    metrics.request("BREW", None, 405, 0.001)
    after_one_kind = len(read(metrics))
    # One more method and status, with its buckets, and no more.
    assert after_one_kind - before < 25


def test_a_caller_who_left_has_no_status() -> None:
    metrics = Metrics()
    metrics.request("POST", "/chat/run", 0, 1.0)
    labels = {"method": "POST", "route": "/chat/run", "status": "left"}
    assert value(metrics, "http_requests_total", **labels) == 1


def test_requests_in_flight_go_up_and_down_whatever_happens() -> None:
    metrics = Metrics()
    once, twice = metrics.in_flight.track_inprogress(), metrics.in_flight.track_inprogress()
    with pytest.raises(ValueError, match="broken"), once, twice:
        assert value(metrics, "http_requests_in_flight") == 2
        raise ValueError("broken")
    assert value(metrics, "http_requests_in_flight") == 0


def test_turns_are_counted_by_what_became_of_them() -> None:
    metrics = Metrics()
    metrics.answered(ANSWER, 1.5)
    refusal = replace(ANSWER, refused=True, status="fallback", tool_calls=(), removed=0)
    metrics.answered(refusal, 0.5)
    metrics.answered(replace(ANSWER, status="fallback", model="built-in", tokens_used=0), 0.1)
    metrics.turn("failed", "stand-in", 2.0)
    metrics.turn("cancelled", "stand-in", 0.2)
    for outcome in ("answered", "refused", "failed", "cancelled"):
        assert value(metrics, "turns_total", outcome=outcome, model="stand-in") == 1
        assert value(metrics, "turn_seconds_count", outcome=outcome) == 1 + (outcome == "answered")
    assert value(metrics, "tokens_used_total", model="stand-in") == 240
    assert value(metrics, "tokens_used_total", model="built-in") is None
    assert value(metrics, "searches_total", by="answer") == 4
    assert value(metrics, "sentences_removed_total") == 2
    assert value(metrics, "fallback_answers_total") == 1
    level = ANSWER.confidence.confidence_level
    assert value(metrics, "answers_total", outcome="answered", confidence=level) == 2
    assert value(metrics, "answers_total", outcome="refused", confidence=level) == 1


def test_steps_are_timed_and_what_has_its_own_figure_is_not() -> None:
    metrics = Metrics()
    metrics.step_ended("model", "failed", 0.02)
    metrics.step_ended("turn", "ok", 0.02)
    metrics.first_sentence_seconds.observe(0.2)
    failed = {"step": "model", "outcome": "failed"}
    assert value(metrics, "step_seconds_count", **failed) == 1
    assert value(metrics, "step_seconds_bucket", **failed, le="0.01") == 0
    assert value(metrics, "step_seconds_count", step="turn", outcome="ok") is None
    assert value(metrics, "first_sentence_seconds_count") == 1


def test_a_dependency_is_up_down_or_not_there() -> None:
    metrics = Metrics()
    health = Health.model_validate(PIECES["health"])
    one = Dependency(status="ok")
    told = {"index": one, "database": Dependency(status="down")}
    unused = {"language_model": Dependency(status="not used")}
    metrics.dependencies(health.model_copy(update={"dependencies": {**told, **unused}}))
    assert value(metrics, "dependency_up", dependency="index") == 1
    assert value(metrics, "dependency_up", dependency="database") == 0
    assert value(metrics, "dependency_up", dependency="language_model") is None
    metrics.dependencies(health.model_copy(update={"dependencies": {"database": one}}))
    assert value(metrics, "dependency_up", dependency="database") == 1


def test_the_rest_is_counted() -> None:
    metrics = Metrics()
    metrics.rate_limited.inc()
    metrics.searched()
    metrics.job_ended("completed", 12.0)
    metrics.job_ended("failed")
    metrics.jobs_waiting.set(3)
    metrics.jobs_waiting.set(2)
    metrics.threads_archived.inc(4)
    assert value(metrics, "rate_limited_total") == 1
    assert value(metrics, "searches_total", by="request") == 1
    assert value(metrics, "ingestion_jobs_total", status="completed") == 1
    assert value(metrics, "ingestion_jobs_total", status="failed") == 1
    assert value(metrics, "ingestion_job_seconds_count") == 1
    assert value(metrics, "ingestion_jobs_waiting") == 2
    assert value(metrics, "threads_archived_total") == 4


def test_counters_are_there_before_anything_happened() -> None:
    metrics = Metrics()
    assert value(metrics, "rate_limited_total") == 0
    assert value(metrics, "ingestion_jobs_total", status="failed") == 0


def test_it_tells_what_is_running_and_what_it_takes() -> None:
    names = {name for name, _ in read(Metrics())}
    assert {"build_info", "process_resident_memory_bytes", "process_cpu_seconds_total"} <= names
    assert not {name for name in names if name.endswith("_created")}


def test_two_apps_in_a_process_do_not_mix_their_figures() -> None:
    one, other = Metrics(), Metrics()
    one.rate_limited.inc()
    assert value(other, "rate_limited_total") == 0


async def test_the_route_of_a_request_is_its_template() -> None:
    app = FastAPI()
    router = APIRouter(prefix="/session")

    @router.get("/{session_id}/history")
    async def history(session_id: str, request: Request) -> None:
        return None

    app.include_router(router)
    seen: list[str | None] = []

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        seen.append(route_of(scope))

    transport: Any = httpx.ASGITransport(outer)
    async with httpx.AsyncClient(transport=transport, base_url="http://book") as client:
        await client.get("/session/123/history")
        await client.get("/session/123/nothing")
        await client.put("/session/123/history")
    assert seen[:2] == ["/session/{session_id}/history", None]
    assert seen[2] in ("/session/{session_id}/history", None)


async def test_many_at_once_lose_no_count() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(500):
            metrics.request("GET", "/health", 200, 0.001)

    await asyncio.gather(*(asyncio.to_thread(work) for _ in range(8)))
    labels = {"method": "GET", "route": "/health", "status": "200"}
    assert value(metrics, "http_requests_total", **labels) == 4000
