"""A language model's service on this machine: OpenAI's chat completions over real HTTP, scripted.

Steps are used up one a request, in order. After the last one `always` decides; where there is no
`always` the request is refused and `running_llm` fails at its end, as it does when a request was
one that a strict service refuses.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from extent import PATIENCE
from standins.llm_checks import Refused, check_request
from standins.llm_steps import (
    Call,
    Json,
    Script,
    Step,
    bad_arguments,
    calls_tool,
    calls_tools,
    cuts,
    deltas,
    empty,
    ends_early,
    fails,
    hangs,
    last_question,
    malformed,
    message,
    passages,
    says,
    searches_then,
    text_of,
    tool_names,
    tool_results,
    trickles,
)

__all__ = [
    "Call",
    "Json",
    "LlmServer",
    "Request",
    "Script",
    "Step",
    "bad_arguments",
    "calls_tool",
    "calls_tools",
    "cuts",
    "empty",
    "ends_early",
    "fails",
    "hangs",
    "last_question",
    "malformed",
    "passages",
    "running_llm",
    "says",
    "searches_then",
    "text_of",
    "tool_names",
    "tool_results",
    "trickles",
]


@dataclass
class Request:
    """One request and what became of it; `gave_up`: the client left before the end. Names of
    headers are in small letters."""

    number: int
    path: str
    headers: dict[str, str]
    body: Any
    at: float = field(default_factory=time.monotonic)
    status: int = 0
    usage: dict[str, int] = field(default_factory=dict)
    gave_up: bool = False
    ended: float | None = None


class LlmServer:
    """Runs between `start` and `stop`; `requests` is what came in, `complaints` what was wrong."""

    def __init__(
        self,
        *steps: Script,
        always: Script | None = None,
        latency: float = 0.0,
        key: str | None = None,
        model: str = "stand-in",
        reports_usage: bool = True,
        parses_arguments: bool = False,
    ) -> None:
        self.steps: deque[Script] = deque(steps)
        self.fallback = always
        self.latency = latency
        self.key = key
        self.model = model
        self.reports_usage = reports_usage
        self.parses_arguments = parses_arguments
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Condition()
        self._server = _Listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def bodies(self) -> list[Json]:
        """The parsed bodies alone."""
        return [request.body for request in self.requests]

    def script(self, *steps: Script) -> None:
        """More steps after those that are left."""
        self.steps.extend(steps)

    def always(self, step: Script | None) -> None:
        """What answers when no step is left."""
        self.fallback = step

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()
        self._thread.join()

    async def until(self, happened: Callable[[], Any], seconds: float = PATIENCE) -> None:
        """Waits until something is so; looked at whenever a request comes in or ends."""

        def wait() -> bool:
            with self._lock:
                return bool(self._lock.wait_for(happened, seconds))

        if not await asyncio.to_thread(wait):
            raise TimeoutError(f"not so after {seconds} s; requests: {len(self.requests)}")

    def complain(self, what: str) -> None:
        with self._lock:
            self.complaints.append(what)

    @contextlib.contextmanager
    def taking(self, path: str, headers: dict[str, str], body: Any) -> Iterator[Request]:
        with self._lock:
            request = Request(len(self.requests) + 1, path, headers, body)
            self.requests.append(request)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            self._lock.notify_all()
        try:
            yield request
        finally:
            with self._lock:
                request.ended = time.monotonic()
                self._busy -= 1
                self._lock.notify_all()

    def step_for(self, request: Request) -> Step:
        """The next step; a request that is refused uses none up."""
        try:
            check_request(request.body, parses_arguments=self.parses_arguments)
            with self._lock:
                step = self.steps.popleft() if self.steps else self.fallback
            if step is None:
                raise Refused(f"unscripted request: number {request.number} has no step")
        except Refused as refused:
            self.complain(f"request {request.number}: {refused}")
            # Never a 5xx, which would be tried again for half a minute.
            return fails(400, body=_error(str(refused), "invalid_request_error"))
        try:
            while not isinstance(step, Step):
                step = step(request.body)
            message(step, request.body)
        except (AssertionError, LookupError, TypeError, ValueError) as error:
            self.complain(f"request {request.number}: its step failed: {error!r}")
            return fails(400, body=_error(f"the step failed: {error!r}", "script"))
        return step


class _Listener(ThreadingHTTPServer):
    """Knows its connections, so that one in the middle of a wait can be ended."""

    daemon_threads = False
    request_queue_size = 512

    def __init__(self, owner: LlmServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _handler(owner))

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Called while the exception is handled; a test must see it, not standard error.
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self.owner.complain(f"the stand-in failed: {error!r}")


class _Gone(Exception):
    """The client has closed the connection."""


def _error(text: str, kind: str) -> str:
    return json.dumps({"error": {"message": text, "type": kind, "param": None, "code": None}})


def _json(value: Json) -> str:
    """With its letters as they are; half a surrogate pair can only be sent escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if any("\ud800" <= sign <= "\udfff" for sign in text) else text


def _usage(step: Step, request: Request) -> dict[str, int]:
    asked = json.dumps([request.body["messages"], request.body.get("tools")])
    told = step.told + "".join(call.arguments for call in step.calls)
    prompt, completion = len(asked) // 4, max(1, len(told) // 4)
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _handler(server: LlmServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path != "/v1/models":
                self._whole(404, _error(f"no {self.path}", "not_found"))
                return
            model = {"id": server.model, "object": "model", "created": 0, "owned_by": "bythebook"}
            self._whole(200, json.dumps({"object": "list", "data": [model]}))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                body = json.loads(raw)
            except ValueError:
                body = raw.decode(errors="replace")
            headers = {name.lower(): value for name, value in self.headers.items()}
            with server.taking(self.path, headers, body) as request:
                try:
                    self._answer(request)
                except (_Gone, ConnectionError):
                    request.gave_up = True
                    self.close_connection = True

        def _answer(self, request: Request) -> None:
            if self.path != "/v1/chat/completions":
                step = fails(404, body=_error(f"no {self.path}", "not_found"))
            elif server.key is not None and self.headers["Authorization"] != f"Bearer {server.key}":
                step = fails(401, body=_error("wrong key", "invalid_api_key"))
            else:
                step = server.step_for(request)
            request.status = step.status
            self._wait(server.latency + step.wait)
            if step.status != 200:
                self._whole(step.status, step.body or "", step.headers)
                return
            if server.reports_usage:
                request.usage = _usage(step, request)
            if request.body.get("stream"):
                self._stream(step, request)
            else:
                self._complete(step, request)

        def _complete(self, step: Step, request: Request) -> None:
            self._wait(step.pause * len(deltas(step, request.body)))
            reason = step.finish_reason if step.ending == "done" else None
            choice = {"index": 0, "finish_reason": reason, "message": message(step, request.body)}
            answer = self._frame("chat.completion", request) | {
                "choices": [choice] if step.choices else []
            }
            if request.usage:
                answer["usage"] = request.usage
            body = _json(answer) if step.body is None else step.body
            self._whole(200, body, step.headers, cut=step.ending == "cut")

        def _stream(self, step: Step, request: Request) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("x-request-id", f"req_{request.number}")
            for name, value in step.headers.items():
                self.send_header(name, value)
            self.end_headers()
            wants_usage = (request.body.get("stream_options") or {}).get("include_usage")
            frame = self._frame("chat.completion.chunk", request)
            frame |= {"usage": None} if wants_usage and request.usage else {}

            def chunk(delta: Json, reason: str | None = None) -> Json:
                choice = {"index": 0, "delta": delta, "finish_reason": reason}
                return frame | {"choices": [choice] if step.choices else []}

            for delta in deltas(step, request.body):
                self._event(_json(chunk(delta)), step)
                self._wait(step.pause_after(delta))
            if step.ending == "cut":
                self._cut()
                return
            if step.body is not None:
                self._event(step.body, step)
            if step.ending == "done":
                self._event(json.dumps(chunk({}, step.finish_reason)), step)
                if wants_usage and request.usage:
                    last = frame | {"choices": [], "usage": request.usage}
                    self._event(json.dumps(last), step)
                self._event("[DONE]", step)
            self.wfile.write(b"0\r\n\r\n")

        def _frame(self, kind: str, request: Request) -> Json:
            return {
                "id": f"chatcmpl-{request.number}",
                "object": kind,
                "created": int(time.time()),
                "model": request.body["model"],
            }

        def _event(self, data: str, step: Step) -> None:
            content = f"data: {data}\n\n".encode()
            size = step.wire or len(content)
            for at in range(0, len(content), size):
                piece = content[at : at + size]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

        def _whole(
            self, status: int, body: str, headers: dict[str, str] | None = None, cut: bool = False
        ) -> None:
            content = body.encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if cut else content)
            if cut:
                self._cut()

        def _cut(self) -> None:
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError as error:  # an impatient client has cut it already
                raise _Gone from error

        def _wait(self, seconds: float) -> None:
            """Ends early, and for good, when the client has left."""
            if seconds <= 0:
                return
            poll = select.poll()
            poll.register(self.connection, select.POLLIN)
            if poll.poll(seconds * 1000):
                raise _Gone

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextlib.contextmanager
def running_llm(*steps: Script, strict: bool = True, **options: Any) -> Iterator[LlmServer]:
    """A running server; `options` are those of `LlmServer`. Unless `strict` is off, it fails at
    the end when a request was wrong, had no step, or steps could not be played."""
    server = LlmServer(*steps, **options)
    server.start()
    try:
        yield server
    finally:
        server.stop()
    if strict and server.complaints:
        raise AssertionError("\n".join(server.complaints))
