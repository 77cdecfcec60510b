"""Slack's and Discord's API on this machine, as far as answers are posted there.

Scripted steps are used up one a request, in order; after the last one every message is taken.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from extent import PATIENCE


@dataclass(frozen=True)
class Step:
    """What happens to one request instead of a good answer."""

    status: int = 200
    body: bytes = b'{"ok": true}'
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    waits_for: threading.Event | None = None


@dataclass(frozen=True)
class Posted:
    method: str
    path: str
    authorization: str | None
    body: dict[str, Any]


class PlatformServer:
    """`posted` is what came in, also what was not taken."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.steps: deque[Step] = deque()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def script(self, *steps: Step) -> None:
        self.steps.extend(steps)

    def take(self, posted: Posted) -> Step:
        step = self.steps.popleft() if self.steps else Step()
        self.posted.append(posted)
        return step

    @contextlib.contextmanager
    def running(self) -> Iterator[PlatformServer]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


def _handler(server: PlatformServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            step = server.take(Posted(self.command, self.path, self.headers["Authorization"], body))
            if step.waits_for:
                step.waits_for.wait(PATIENCE)
            if step.cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(step.status)
            for name, value in {"Content-Type": "application/json", **step.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(step.body)))
            self.end_headers()
            self.wfile.write(step.body)

        do_PATCH = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
