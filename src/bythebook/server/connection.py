"""HTTP connections with limits: on the size of headers, on time, and on their number.

uvicorn's own connections limit no headers and time out only when idle.
"""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from bythebook.errors import BookError, InputError, Overloaded, TooLarge, TooSlow
from bythebook.models.values import new_id
from bythebook.server.body import MAX_DISCARDED
from bythebook.server.error_responses import answer_problem
from bythebook.server.middleware import SECURITY
from bythebook.server.prometheus import CloseReason, Metrics
from bythebook.settings import Settings

logger = logging.getLogger(__name__)

MAX_HEADERS = 100
# Bytes that are parsed before the limits are checked, and before another request may begin.
PARSE_AT_ONCE = 1024
# Bytes of further requests that are kept until one is answered: all that one read may bring.
MAX_EARLY = 256 * 1024
# The size of a chunk and the ends of its lines, which no sender can do without.
CHUNK_LINE = 16
# A client that is still sending gets this long to see reason it was refused.
LINGER_SECONDS = 2.0
# When the last of many connections times out, as a multiple of the limit.
LATEST = 1.1

# Files that the service opens itself: index, databases, books, requests to other services.
OWN_FILES = 500

Part = Literal["head", "body"]


def connection_limit(connections: int) -> int:
    """The number of connections, or fewer if the system allows fewer open files. Raises the limit
    of the system for them as far as it lets us."""
    try:
        import resource
    except ImportError:  # Windows, where it is not files that connections take
        return connections

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (ValueError, OSError):  # macOS has another limit below its "unlimited"
            most = soft
    room = min(connections, max(most - OWN_FILES, most // 2))
    if room < connections:
        logger.warning(
            "The system lets the service open %s files, so it takes %s connections at once and "
            "not %s; raise its limit (ulimit -n) for more",
            most,
            room,
            connections,
        )
    return room


@dataclass
class ConnectionManager:
    """The settings and the connections of one service."""

    settings: Settings
    metrics: Metrics
    max_connections: int
    # Connections without a request to answer, the longest waiting first.
    waiting: dict[Connection, None] = field(default_factory=dict)

    def seconds(self, part: Part) -> float:
        return self.settings.header_seconds if part == "head" else self.settings.body_seconds


class ConnectionConfig(uvicorn.Config):
    """uvicorn's configuration with our connections, and without WebSockets."""

    def __init__(self, app: ASGIApp, manager: ConnectionManager, **options: Any) -> None:
        super().__init__(app, http=Connection, ws="none", **options)
        self.manager = manager


class Connection(HttpToolsProtocol):
    def __init__(
        self,
        config: ConnectionConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.manager = config.manager
        # The part of a request that is being received, if one has begun.
        self._reading: Part | None = None
        # Bytes received of the current request that are not its body.
        self._overhead = 0
        self._discarded = 0
        self._has_too_many_headers = False
        self._early = b""
        self._refused = False
        self._awaited: Part | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _is_busy(self) -> bool:
        """Whether a whole request is being answered."""
        return self._is_answering and (bool(self.pipeline) or self._reading != "body")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.manager.max_connections:
            next(iter(self.manager.waiting))._evict()

    def connection_lost(self, exc: Exception | None) -> None:
        self.manager.waiting.pop(self, None)
        self._early = b""
        for timer in (self._timer, self._unread_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._discard(len(data))
            return
        for start in range(0, len(data), PARSE_AT_ONCE):
            if self._refused or self.transport.is_closing():
                return
            if self._is_busy:
                self._keep_early(data[start:])
                break
            piece = data[start : start + PARSE_AT_ONCE]
            self._overhead += len(piece)
            super().data_received(piece)
            self._check_size()
        if not self._refused:
            self._watch()

    def _check_size(self) -> None:
        limit = self.manager.settings.max_header_kb
        if self._refused:
            return
        if self._overhead > limit * 1024:
            self._refuse(_too_large(f"larger than {limit} KB"), "large", 431)
        elif self._discarded > MAX_DISCARDED:
            self._close_now("large")

    def _keep_early(self, data: bytes) -> None:
        """Keep a request that came early until the one before it is answered."""
        self._early += data
        self.flow.pause_reading()
        if len(self._early) > MAX_EARLY:
            self._close_now("large")

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        self._reading = "head"
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # A trailer must not pass for a header: proxies and the service have looked at those.
        if self._reading == "body":
            return
        if len(self.headers) >= MAX_HEADERS:
            self._has_too_many_headers = True
            raise ValueError("too many headers")  # ends in `send_400_response`
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._reading = "body"

    def on_chunk_header(self) -> None:
        self._overhead = max(0, self._overhead - CHUNK_LINE)

    def on_body(self, body: bytes) -> None:
        self._overhead -= len(body)
        if self.cycle.response_complete:
            self._discarded += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading = self._awaited = None
        self._overhead = self._discarded = 0

    def _unsupported_upgrade_warning(self) -> None:
        """Answer the request as HTTP, then close: what follows it may be another protocol."""
        self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        if self._has_too_many_headers:
            self._refuse(_too_large(f"more than {MAX_HEADERS}"), "large", 431)
            return
        problem = InputError("This is not an HTTP request.", action="Send one of HTTP/1.1.")
        self._refuse(problem, "invalid")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refused or self.transport.is_closing():
            return
        self.manager.waiting.pop(self, None)
        self._watch()
        held, self._early = self._early, b""
        if held:
            self.data_received(held)

    # Time-outs.

    def _watch(self) -> None:
        """Start the time-out for what is awaited now; uvicorn has one for idle connections."""
        awaited: Part | None = None
        if self._is_busy:
            self.manager.waiting.pop(self, None)
        else:
            self.manager.waiting.setdefault(self)
            if self._reading == "body":
                awaited = "body"
            elif self.cycle is None or self._overhead:
                awaited = "head"
        if awaited == self._awaited and (awaited is None) == (self._timer is None):
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._awaited = awaited
        if awaited is not None:
            # Those that came at once must not time out at once: that would hold up all others.
            seconds = self.manager.seconds(awaited) * random.uniform(1, LATEST)
            self._timer = self.loop.call_later(seconds, self._time_out, awaited)

    def _time_out(self, part: Part) -> None:
        if part == "head" and not self._overhead:
            self._close_now("slow")
            return
        seconds = self.manager.seconds(part)
        what = "headers" if part == "head" else "body"
        problem = TooSlow(
            f"The {what} of the request took longer than {seconds:g} seconds.",
            action="Send the whole request at once.",
        )
        self._refuse(problem, "slow")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(
            self.manager.settings.unread_seconds, self._close_now, "unread"
        )

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    # Closing.

    def shutdown(self) -> None:
        if self._refused:
            self.transport.abort()
        elif self._is_busy:
            super().shutdown()
        else:
            self._write_error(
                Overloaded("The service is being stopped.", action="Try again in a moment.")
            )
            self.transport.close()

    def _evict(self) -> None:
        self._write_error(
            Overloaded(
                f"The service already has {self.manager.max_connections} connections.",
                action="Try again in a moment, and send the whole request at once.",
            )
        )
        self._close_now("room")

    def _refuse(self, problem: BookError, reason: CloseReason, status: int | None = None) -> None:
        """Answer with the error, and read on a little: a client that is still sending would not
        see it otherwise."""
        if not self._write_error(problem, status):
            self._close_now(reason)
            return
        self._record(reason)
        self._refused = True
        self.flow.resume_reading()
        self.transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MAX_DISCARDED:
            self.transport.abort()

    def _close_now(self, reason: CloseReason) -> None:
        self._record(reason)
        self._refused = True
        self.manager.waiting.pop(self, None)
        # `close` would wait for a client that reads nothing.
        if reason == "unread" or self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _record(self, reason: CloseReason) -> None:
        self.manager.metrics.connections_cut.labels(reason).inc()
        logger.debug("A connection was closed", extra={"why": reason})

    def _write_error(self, problem: BookError, status: int | None = None) -> bool:
        """Answer the request that is being received with an error. Returns whether there was one
        without an answer."""
        has_begun = self._reading == "body" or self._overhead > 0
        is_answered = self._reading == "body" and self.cycle.response_started
        may_answer = has_begun and not is_answered and not self._is_busy and not self._refused
        if may_answer and not self.transport.is_closing():
            self.transport.write(self._response(problem, status))
        if self._is_answering:
            # Nothing more may be written, and the rest of the body never comes.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        return may_answer

    def _response(self, problem: BookError, status: int | None) -> bytes:
        known: dict[str, Any] = (self.scope or {}).get("state", {})
        request_id = known.get("request_id") or new_id()
        path = self.url.decode("latin-1") if self._reading else ""
        scope = {"path": path, "state": {"request_id": request_id}}
        headers = {**SECURITY, "X-Request-ID": request_id, "Connection": "close"}
        answer = answer_problem(problem, scope, status, headers)
        lines = [f"HTTP/1.1 {answer.status_code} {HTTPStatus(answer.status_code).phrase}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        return "\r\n".join((*lines, "", "")).encode("latin-1") + bytes(answer.body)


def _too_large(how: str) -> TooLarge:
    return TooLarge(f"The headers of the request are {how}.", action="Send fewer and shorter ones.")
