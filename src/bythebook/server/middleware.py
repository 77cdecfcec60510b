"""Around every request: its id, security headers, log, metrics, traces and last errors; CORS; and
how many are handled at once."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.errors import BookError, Overloaded
from bythebook.files import disk_full, is_full
from bythebook.models.values import new_id
from bythebook.server.caller import is_listed
from bythebook.server.error_responses import answer_problem, unexpected
from bythebook.server.logs import log_context
from bythebook.server.prometheus import METHODS, OTHER, Metrics, route_of
from bythebook.tracing import Span, span, watching

logger = logging.getLogger(__name__)
access_logger = logging.getLogger("bythebook.access")

# A caller may send its own id to find a request again; anything odd is replaced.
VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# Asked every few seconds by machines: a trace of each would bury the rest.
UNTRACED = {"/health", "/metrics"}
# An operator must be able to look at a full service, and the page must be able to say so.
EXEMPT = frozenset({"/health", "/metrics", "/", "/admin", "/widget.js"})
FILES = "/web/"
# Seconds that a request waits to hear whether its site is known.
KEYS_TIMEOUT_SECONDS = 2.0
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Request-ID",
    # A key that is revoked stops at once all the same; this only saves asking.
    "Access-Control-Max-Age": "600",
}
EXPOSED = ", ".join(
    (
        "X-Request-ID",
        "X-Session-ID",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "Retry-After",
        "Location",
    )
)


class RequestMiddleware:
    """Whatever happens inside, the client gets a proper answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if VALID_ID.fullmatch(given) else new_id()
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), state)
            await send(message)

        with (
            watching(self.metrics.step_ended),
            _span(scope["path"], headers, request_id) as request_span,
            log_context(request_id=request_id),
            self.metrics.in_flight.track_inprogress(),
        ):
            try:
                await self.app(scope, receive, send_with_headers)
            except Exception as problem:
                access_logger.exception("A request failed unexpectedly")
                if status:  # too late for another answer; the connection is cut
                    raise
                error = disk_full("the data folder") if is_full(problem) else unexpected()
                await answer_problem(error, scope)(scope, receive, send_with_headers)
            finally:
                seconds = time.perf_counter() - started
                route = route_of(scope)
                self.metrics.request(scope["method"], route, status, seconds)
                _log(scope, state, route, status, seconds)
                _describe_span(request_span, scope["method"], route or OTHER, status)


def _add_headers(headers: MutableHeaders, state: MutableMapping[str, Any]) -> None:
    for name, value in SECURITY.items():
        headers.setdefault(name, value)
    headers["X-Request-ID"] = state["request_id"]
    if rate := state.get("rate"):
        for name, value in rate.headers().items():
            headers[name] = value


def _span(path: str, headers: Headers, request_id: str) -> AbstractContextManager[Span | None]:
    if path in UNTRACED:
        return nullcontext()
    return span("request", caller=headers, request_id=request_id)


def _describe_span(span: Span | None, method: str, route: str, status: int) -> None:
    if span is None:
        return
    method = method if method in METHODS else OTHER
    span.rename(f"{method} {route}")
    span.note(method=method, route=route, status=status)
    if status >= 500:
        span.failed(str(status))


def _log(
    scope: Scope, state: MutableMapping[str, Any], route: str | None, status: int, seconds: float
) -> None:
    """The path as the route writes it: what a person typed there stays out of the log."""
    access_logger.info(
        "%s %s %s",
        scope["method"],
        route or "other",
        status or "left",
        extra={
            "method": scope["method"],
            "route": route or "other",
            "status": status,
            "seconds": round(seconds, 4),
            "key_id": state.get("key_id"),
            "session_id": state.get("session_id"),
        },
    )


@dataclass
class RequestSlots:
    """How many requests may be handled at once, and how many are."""

    max_requests: int
    used: int = 0


class ConcurrencyLimit:
    """Refuses requests while all slots are used. Where it `counts`, a request takes a slot: that is
    done behind what reads the body, so that nobody holds a slot by sending half of one."""

    def __init__(self, app: ASGIApp, slots: RequestSlots, counts: bool) -> None:
        self.app = app
        self.slots = slots
        self.counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_exempt = scope["type"] != "http" or scope["path"].startswith(FILES)
        if is_exempt or scope["path"] in EXEMPT:
            await self.app(scope, receive, send)
            return
        if self.slots.used >= self.slots.max_requests:
            problem = Overloaded(
                f"The service is already handling {self.slots.max_requests} requests.",
                action="Try again in a moment.",
            )
            await answer_problem(problem, scope)(scope, receive, send)
            return
        self.slots.used += self.counts
        try:
            await self.app(scope, receive, send)
        finally:
            self.slots.used -= self.counts


class CrossOrigin:
    """Tells browsers which pages may read the answers: those of the listed sites, and those of the
    sites that a publishable key is for. Keys come and go while the service runs."""

    def __init__(self, app: ASGIApp, listed: frozenset[str]) -> None:
        self.app = app
        self.listed = listed
        self._of_keys: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None:
            await self.app(scope, receive, send)
            return
        is_allowed = is_listed(origin, self.listed) or origin in await self._origins_of_keys(scope)
        if (
            is_allowed
            and scope["method"] == "OPTIONS"
            and "access-control-request-method" in headers
        ):
            response = Response(status_code=200, headers=PREFLIGHT)
            _allow(response.headers, origin)
            await response(scope, receive, send)
            return

        async def send_with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if is_allowed and "access-control-allow-origin" not in answer:
                    _allow(answer, origin)
                else:
                    answer.add_vary_header("Origin")
            await send(message)

        await self.app(scope, receive, send_with_cors)

    async def _origins_of_keys(self, scope: Scope) -> frozenset[str]:
        try:
            async with asyncio.timeout(KEYS_TIMEOUT_SECONDS):
                self._of_keys = await scope["app"].state.service.keys.origins()
        except (BookError, TimeoutError) as problem:
            # Those known last, so that their pages can at least read what is wrong.
            why = str(problem) or "the database takes too long"
            logger.warning("The sites of publishable keys can't be read: %s", why)
        return self._of_keys


def _allow(headers: MutableHeaders, origin: str) -> None:
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Expose-Headers"] = EXPOSED
    headers.add_vary_header("Origin")
