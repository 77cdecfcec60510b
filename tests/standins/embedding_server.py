"""An embedding service on this machine that speaks OpenAI's and Cohere's wire formats.

Vectors depend on the text alone. Scripted steps are used up one a request, in order; after the
last one every request is answered well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """What happens to one request instead of a good answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[Answer], Answer] | None = None
    delay: float = 0.0
    cut: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    key: str | None
    body: dict[str, Any]


def vector_of(text: str, dimension: int) -> list[float]:
    """Not of unit length, so that whoever asks has to see to that."""
    numbers: list[int] = []
    block = text.encode()
    while len(numbers) < dimension:
        block = hashlib.sha256(block).digest()
        numbers.extend(struct.unpack("<16h", block))
    return [number / 1000 for number in numbers[:dimension]]


class EmbeddingServer:
    """Runs between `start` and `stop`; `requests` is what came in."""

    def __init__(
        self,
        *,
        key: str = "right-key",
        openai: int = 1536,
        cohere: int = 1024,
        embed: Callable[[str, int], list[float]] = vector_of,
    ) -> None:
        self.key = key
        self.embed = embed
        self.dimensions = {"openai": openai, "cohere": cohere}
        self.requests: list[Request] = []
        self.steps: deque[Step] = deque()
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def script(self, *steps: Step) -> None:
        self.steps.extend(steps)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextlib.contextmanager
    def taking(self, request: Request) -> Iterator[Step]:
        with self._lock:
            self.requests.append(request)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            step = self.steps.popleft() if self.steps else Step()
        try:
            yield step
        finally:
            with self._lock:
                self._busy -= 1

    def answer(self, request: Request) -> Answer | None:
        if request.path == "/v1/embeddings":
            rows = [
                {"object": "embedding", "index": i, "embedding": self.embed(text, size)}
                for size in [self.dimensions["openai"]]
                for i, text in enumerate(request.body["input"])
            ]
            return {"object": "list", "data": rows, "model": request.body["model"]}
        if request.path == "/v2/embed":
            size = self.dimensions["cohere"]
            # The service embeds questions and passages differently.
            kind = request.body["input_type"]
            vectors = [self.embed(f"{kind} {text}", size) for text in request.body["texts"]]
            return {"id": "1", "embeddings": {"float": vectors}}
        return None


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = Request(self.path, self.headers["Authorization"], body)
            with server.taking(request) as step:
                if step.delay:
                    time.sleep(step.delay)
                if step.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self._reply(request, step)

        def _reply(self, request: Request, step: Step) -> None:
            status, content = step.status, step.body
            if request.key != f"Bearer {server.key}":
                status, content = 401, b'{"error": "wrong key"}'
            elif content is None and status == 200:
                answer = server.answer(request)
                if answer is None:
                    status, content = 404, b"{}"
                else:
                    content = json.dumps(step.change(answer) if step.change else answer).encode()
            content = content or b"{}"
            # A client that gave up waiting is no concern of the server's.
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                for name, value in step.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
