"""Metrics of the service, in the format of Prometheus."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from bythebook import __version__
from bythebook.models.answer import Answer
from bythebook.models.passage import ConfidenceLevel
from bythebook.models.service_health import Health
from bythebook.models.values import JobStatus
from bythebook.tracing import Outcome

CloseReason = Literal["slow", "large", "invalid", "unread", "room"]
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
OTHER = "other"
# In place of a status: the client left first.
LEFT = "left"
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
TURN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 90, 120)
STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Spans that are measured; the others have metrics of their own.
STEPS = set("search embed query fuse model quote verify embed_batch write_batch".split())
JOB_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 14400)


class Metrics:
    """The metrics of one app; two apps in one process don't share them."""

    def __init__(self) -> None:
        # Its time of creation beside each figure would only double the page.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("bythebook_build", "What is running.", registry=registry).info(
            {"version": __version__, "python": platform.python_version()}
        )

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"bythebook_{name}", what, labels, registry=registry)

        def histogram(name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"bythebook_{name}", what, labels, buckets=buckets, registry=registry)

        def gauge(name: str, what: str, *labels: str) -> Gauge:
            return Gauge(f"bythebook_{name}", what, labels, registry=registry)

        self._requests = counter("http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = histogram(
            "http_request_seconds",
            "Seconds until a request was answered, a stream to its end.",
            REQUEST_SECONDS,
            "method",
            "route",
        )
        self.in_flight = gauge("http_requests_in_flight", "Requests being worked on.")
        self.connections_cut = counter(
            "connections_cut", "Connections closed before a request was whole or read.", "why"
        )
        self.rate_limited = counter("rate_limited", "Requests refused because a limit was reached.")
        self._turns = counter("turns", "Questions by outcome.", "outcome", "model")
        self._turn_seconds = histogram(
            "turn_seconds", "Seconds a question took.", TURN_SECONDS, "outcome"
        )
        self._answers = counter(
            "answers",
            "Answers and refusals by how sure the book can answer.",
            "outcome",
            "confidence",
        )
        self.first_sentence_seconds = histogram(
            "first_sentence_seconds", "Seconds until a reader saw the first words.", TURN_SECONDS
        )
        self._step_seconds = histogram(
            "step_seconds", "Seconds a step of the work took.", STEP_SECONDS, "step", "outcome"
        )
        self._fallbacks = counter(
            "fallback_answers", "Answers quoted because the language model failed."
        )
        self._tokens = counter("tokens_used", "Tokens of the language model.", "model")
        self._removed = counter(
            "sentences_removed", "Sentences of a model that the book does not support."
        )
        self._searches = counter("searches", "Searches by who made them.", "by")
        self._jobs = counter("ingestion_jobs", "Ingestion jobs that ended.", "status")
        self._job_seconds = histogram(
            "ingestion_job_seconds", "Seconds an ingestion job ran.", JOB_SECONDS
        )
        self.jobs_waiting = gauge("ingestion_jobs_waiting", "Ingestion jobs that wait their turn.")
        self._dependency_up = gauge(
            "dependency_up", "Whether what the service depends on works.", "dependency"
        )
        self.threads_archived = counter(
            "threads_archived", "Conversations archived for being idle."
        )

        # There from the start, so that a rise from nothing shows as a rise.
        for reason in get_args(CloseReason):
            self.connections_cut.labels(reason)
        for by in ("answer", "request"):
            self._searches.labels(by)
        for status in ("completed", "failed"):
            self._jobs.labels(status)
        for outcome in ("answered", "refused"):
            for level in get_args(ConfidenceLevel):
                self._answers.labels(outcome, level)
        for step in STEPS:
            self._step_seconds.labels(step, "failed")

    def request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """A request has ended. `route` is the template of its path, None where none fits;
        `status` is 0 when the caller left before it was answered."""
        method = method if method in METHODS else OTHER
        route = route or OTHER
        self._requests.labels(method, route, str(status) if status else LEFT).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def answered(self, answer: Answer, seconds: float) -> None:
        """A turn ended with an answer, or with the refusal that the book does not say."""
        outcome = "refused" if answer.refused else "answered"
        self.turn(outcome, answer.model, seconds)
        self._answers.labels(outcome, answer.confidence.confidence_level).inc()
        self._searches.labels("answer").inc(len(answer.tool_calls))
        self._removed.inc(answer.removed)
        if answer.tokens_used:
            self._tokens.labels(answer.model).inc(answer.tokens_used)
        if answer.status == "fallback" and not answer.refused:
            self._fallbacks.inc()

    def turn(self, outcome: str, model: str, seconds: float) -> None:
        self._turns.labels(outcome, model).inc()
        self._turn_seconds.labels(outcome).observe(seconds)

    def step_ended(self, step: str, outcome: Outcome, seconds: float) -> None:
        """One span of the work on a question or a book."""
        if step in STEPS:
            self._step_seconds.labels(step, outcome).observe(seconds)

    def dependencies(self, health: Health) -> None:
        """What is not used has no figure, so that it never looks as if it were down."""
        for name, one in health.dependencies.items():
            if one.status != "not used":
                self._dependency_up.labels(name).set(one.status == "ok")

    def searched(self) -> None:
        """A caller searched; what an answer searched is counted with the answer."""
        self._searches.labels("request").inc()

    def job_ended(self, status: JobStatus, seconds: float | None = None) -> None:
        self._jobs.labels(status).inc()
        if seconds is not None:
            self._job_seconds.observe(seconds)

    def render(self) -> tuple[bytes, str]:
        """The page that Prometheus reads, and its content type."""
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4


def route_of(scope: Mapping[str, Any]) -> str | None:
    """The template of the path that a request was routed to, once it was; never the path itself,
    of which there are as many as there are callers' ideas."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else None
