"""The steps of the work and how long they took, for a trace, for figures, or for nobody.

A step tells ids, counts and what became of it, never what was asked or what a book says: there is
no attribute that could hold it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
)

from bythebook.errors import BookError

if TYPE_CHECKING:
    import httpx
    from opentelemetry.trace import Span as SentSpan

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


class Tracing(Protocol):
    """Who sends spans to a collector."""

    def start(
        self, name: str, parent: SentSpan | None, caller: Headers | None, since: int | None
    ) -> SentSpan: ...

    def fail(self, span: SentSpan) -> None: ...

    def headers(self, span: SentSpan) -> dict[str, str]: ...


_tracing: Tracing | None = None
_current: ContextVar[Span | None] = ContextVar("span", default=None)
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Span:
    """One step, while it lasts. A generator must not be the current one: it may be closed in
    another task, and what runs between its items is not part of it."""

    __slots__ = ("_before", "_is_current", "_name", "_outcome", "_sent", "_started", "_watcher")

    def __init__(
        self,
        name: str,
        sent: SentSpan | None,
        watcher: Watcher | None,
        started: float,
        current: bool,
    ) -> None:
        self._name = name
        self._sent = sent
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
        if self._sent is not None:
            self._sent.end()
        if self._watcher is not None:
            self._watcher(self._name, self._outcome, time.perf_counter() - self._started)

    def note(self, **attributes: Unpack[Attributes]) -> None:
        """Add what became known."""
        if self._sent is not None:
            for name, value in attributes.items():
                if value is not None:
                    self._sent.set_attribute(sent_name(name), value)  # type: ignore[arg-type]

    def rename(self, name: str) -> None:
        if self._sent is not None:
            self._sent.update_name(name)

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
        if self._sent is not None and _tracing is not None:
            _tracing.fail(self._sent)

    @property
    def sent(self) -> SentSpan | None:
        return self._sent

    def headers(self) -> dict[str, str]:
        """What lets another service go on with the trace."""
        return {} if self._sent is None or _tracing is None else _tracing.headers(self._sent)


class _Nothing(Span):
    """Where nobody wants to know."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: Any) -> None:
        return None

    def failed(self, problem: BaseException | str) -> None:
        return None


_NOTHING = _Nothing("", None, None, 0.0, current=False)


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
    if _tracing is None and watcher is None:
        return _NOTHING
    now = time.perf_counter()
    started = now if since is None else since
    sent = None
    if _tracing is not None:
        above = _current.get()
        began = None if since is None else time.time_ns() - int((now - since) * 1e9)
        sent = _tracing.start(name, above.sent if above else None, caller, began)
    made = Span(name, sent, watcher, started, current)
    made.note(**attributes)
    return made


def spanned(name: str) -> Callable[[Work[P, T]], Work[P, T]]:
    """The whole of a coroutine function as a step."""

    def dressed(work: Work[P, T]) -> Work[P, T]:
        @wraps(work)
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return await work(*args, **kwargs)

        return run

    return dressed


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


def send_by(tracing: Tracing | None) -> Tracing | None:
    """From now on spans are sent by this one; the one before it is returned."""
    global _tracing
    before, _tracing = _tracing, tracing
    return before
