"""Spans on their way to an OpenTelemetry collector: nothing waits for it or fails with it."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bythebook import __version__
from bythebook.errors import ConfigurationError
from bythebook.tracing.spans import Headers, send_by

if TYPE_CHECKING:
    from opentelemetry.trace import Span

logger = logging.getLogger(__name__)

# What is left is sent when the service stops, but nobody waits longer for it.
FLUSH_SECONDS = 5.0
# A collector that is down would fill the log.
SECONDS_BETWEEN_LINES = 60.0
# The library's own variable for the whole address of traces goes first.
WHOLE_ADDRESS = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@asynccontextmanager
async def sending_traces(mode: str, endpoint: str, service_name: str) -> AsyncIterator[None]:
    """Inside, spans are sent; with the mode `off` nothing of OpenTelemetry is even loaded."""
    if mode == "off":
        yield
        return
    sender = _Sender(endpoint, service_name)
    before = send_by(sender)
    try:
        yield
    finally:
        send_by(before)
        await sender.close()


class _Sender:
    """A provider of its own, not the process's: what other libraries trace may hold what was
    asked, and stays here."""

    def __init__(self, endpoint: str, service_name: str) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()
        self._kinds = {"request": trace.SpanKind.SERVER, "model": trace.SpanKind.CLIENT}
        _troubles.listen()
        about = {"service.name": service_name, "service.version": __version__}
        self._provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        whole = os.environ.get(WHOLE_ADDRESS) or f"{endpoint.rstrip('/')}/v1/traces"
        self._exporter = OTLPSpanExporter(endpoint=whole)
        try:
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        except ValueError as problem:
            raise ConfigurationError(
                f"A setting of OpenTelemetry can't be used: {problem}",
                action="Look at the variables that begin with OTEL_BSP_.",
            ) from problem
        self._tracer = self._provider.get_tracer("bythebook", __version__)

    def start(
        self, name: str, parent: Span | None, caller: Headers | None, since: int | None
    ) -> Span:
        from opentelemetry.context import Context

        within = Context()
        if parent is not None:
            within = self._trace.set_span_in_context(parent, within)
        elif caller is not None:
            within = self._propagator.extract(caller, within)
        return self._tracer.start_span(
            name,
            within,
            kind=self._kinds.get(name, self._trace.SpanKind.INTERNAL),
            start_time=since,
        )

    def fail(self, span: Span) -> None:
        span.set_status(self._trace.StatusCode.ERROR)

    def headers(self, span: Span) -> dict[str, str]:
        from opentelemetry.context import Context

        found: dict[str, str] = {}
        self._propagator.inject(found, self._trace.set_span_in_context(span, Context()))
        return found

    async def close(self) -> None:
        # A thread that the end of the process does not wait for: a collector may hang.
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, FLUSH_SECONDS)
        if ending.is_alive():
            logger.warning("The last traces were not sent within %g seconds", FLUSH_SECONDS)
            _troubles.mute()
            # Or it would go on trying.
            self._exporter.shutdown()  # type: ignore[no-untyped-call]


class _Troubles(logging.Handler):
    """Takes what OpenTelemetry logs and passes on a line a minute."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._next = 0.0

    def listen(self) -> None:
        self._next = 0.0
        library = logging.getLogger("opentelemetry")
        library.addHandler(self)
        library.propagate = False

    def mute(self) -> None:
        """A request that hangs may end, and complain, long after the service."""
        self._next = math.inf

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN_LINES
            logger.warning("Traces can't be sent and are dropped: %s", record.getMessage())


_troubles = _Troubles()
