"""The steps of the work and how long they took: for a trace, for figures, or for nobody.

A step tells ids, counts and what became of it, never what was asked or what a book says: there is
no attribute that could hold it. Nothing waits for a collector of traces or fails with it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypedDict, TypeVar, Unpack

from bythebook import __version__
from bythebook.errors import BookError, ConfigurationError

if TYPE_CHECKING:
    import httpx
    from opentelemetry.trace import Span as SentSpan

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[P, Coroutine[Any, Any, T]]

Outcome = Literal["ok", "failed", "cancelled"]
Watcher = Callable[[str, Outcome, float], None]
Headers = Mapping[str, str]


class Attributes(TypedDict, total=False):
    """All that a step may tell."""

    method: str
    route: str
    status: int
    request_id: str
    book_id: str
    job_id: int
    outcome: str
    confidence: str
    model: str
    attempt: int
    tokens: int
    searches: int
    candidates: int
    passages: int
    sentences: int
    removed: int
    citations: int
    files: int
    chunks: int
    error: str
    code: str


# Names that OpenTelemetry has for the same; the others are ours.
STANDARD = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "model": "gen_ai.request.model",
    "error": "error.type",
}


def sent_name(attribute: str) -> str:
    return STANDARD.get(attribute, f"bythebook.{attribute}")


_sender: _Sender | None = None
_current: ContextVar[Span | None] = ContextVar("span", default=None)
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Span:
    """One step, while it lasts. A generator must not be the current one: it may be closed in
    another task, and what runs between its items is not part of it."""

    __slots__ = ("_before", "_is_current", "_name", "_outcome", "_started", "_watcher", "sent")

    def __init__(
        self,
        name: str,
        sent: SentSpan | None,
        watcher: Watcher | None,
        started: float,
        current: bool,
    ) -> None:
        self._name = name
        self.sent = sent
        self._watcher = watcher
        self._started = started
        self._is_current = current and sent is not None
        self._before: Span | None = None
        self._outcome: Outcome = "ok"

    def __enter__(self) -> Self:
        if self._is_current:
            self._before = _current.get()
            _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if problem is not None:
            self.failed(problem)
        if self._is_current:
            _current.set(self._before)
        if self.sent is not None:
            self.sent.end()
        if self._watcher is not None:
            self._watcher(self._name, self._outcome, time.perf_counter() - self._started)

    def note(self, **attributes: Unpack[Attributes]) -> None:
        """Add what became known."""
        if self.sent is not None:
            for name, value in attributes.items():
                if value is not None:
                    self.sent.set_attribute(sent_name(name), value)  # type: ignore[arg-type]

    def rename(self, name: str) -> None:
        if self.sent is not None:
            self.sent.update_name(name)

    def failed(self, problem: BaseException | str) -> None:
        """It did not get done. The error's kind is told; its words might quote somebody."""
        if isinstance(problem, asyncio.CancelledError | GeneratorExit):
            self._outcome = "cancelled"
            self.note(outcome="cancelled")
            return
        self._outcome = "failed"
        kind = problem if isinstance(problem, str) else type(problem).__name__
        self.note(outcome="failed", error=kind)
        if isinstance(problem, BookError):
            self.note(code=problem.code)
            if problem.http_status < 500:  # the caller's mistake, not ours
                return
        if self.sent is not None and _sender is not None:
            _sender.fail(self.sent)

    def headers(self) -> dict[str, str]:
        """What lets another service go on with the trace."""
        return {} if self.sent is None or _sender is None else _sender.headers(self.sent)


# Where nobody wants to know.
_NOTHING = Span("", None, None, 0.0, current=False)


def span(
    name: str,
    *,
    current: bool = True,
    caller: Headers | None = None,
    since: float | None = None,
    **attributes: Unpack[Attributes],
) -> Span:
    """A step to be entered with `with`. `caller` are the headers of a request that may belong to a
    trace already; `since` is when it began by `time.perf_counter`, if that was before now."""
    watcher = _watcher.get()
    if _sender is None and watcher is None:
        return _NOTHING
    now = time.perf_counter()
    started = now if since is None else since
    sent = None
    if _sender is not None:
        above = _current.get()
        began = None if since is None else time.time_ns() - int((now - since) * 1e9)
        sent = _sender.start(name, above.sent if above else None, caller, began)
    made = Span(name, sent, watcher, started, current)
    made.note(**attributes)
    return made


def spanned(name: str) -> Callable[[Work[P, T]], Work[P, T]]:
    """The whole of a coroutine function as a step."""

    def decorate(work: Work[P, T]) -> Work[P, T]:
        @wraps(work)
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return await work(*args, **kwargs)

        return run

    return decorate


def note(**attributes: Unpack[Attributes]) -> None:
    """Add to the step that this is part of."""
    if (current := _current.get()) is not None:
        current.note(**attributes)


def trace_id() -> str | None:
    """The trace that this is part of, as people and programs write it."""
    current = _current.get()
    if current is None or current.sent is None:
        return None
    return f"{current.sent.get_span_context().trace_id:032x}"


async def carry_on(request: httpx.Request) -> None:
    """Hook of a client: the request names the step that makes it."""
    if (current := _current.get()) is not None:
        request.headers.update(current.headers())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Steps that begin inside are told when they end: name, outcome and seconds."""
    before = _watcher.get()
    _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.set(before)


# What is left is sent when the service stops, but nobody waits longer for it.
FLUSH_SECONDS = 5.0
# A collector that is down would fill the log.
SECONDS_BETWEEN_LINES = 60.0
# The library's own variable for the whole address of traces goes first.
WHOLE_ADDRESS = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@asynccontextmanager
async def sending_traces(mode: str, endpoint: str, service_name: str) -> AsyncIterator[None]:
    """Inside, spans are sent; with the mode `off` nothing of OpenTelemetry is even loaded."""
    global _sender
    if mode == "off":
        yield
        return
    before, _sender = _sender, _Sender(endpoint, service_name)
    try:
        yield
    finally:
        own, _sender = _sender, before
        await own.close()


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
        self, name: str, parent: SentSpan | None, caller: Headers | None, since: int | None
    ) -> SentSpan:
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

    def fail(self, span: SentSpan) -> None:
        span.set_status(self._trace.StatusCode.ERROR)

    def headers(self, span: SentSpan) -> dict[str, str]:
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
