"""A server that refuses whatever it is asked, and notes how it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def refusing(status: int) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """A server that answers with this alone; paths and keys that it was sent."""
    heard: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append((self.path, self.headers["api-key"]))
            self.send_error(status)

        do_PUT = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
