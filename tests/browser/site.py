"""Somebody else's web site: files and a policy, at an origin that is not the service's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit


class Site:
    """What it serves may be changed while it runs."""

    def __init__(self) -> None:
        self.origin = ""
        self.files: dict[str, bytes] = {}
        self.policy: str | None = None

    def put(self, path: str, text: str) -> str:
        """The address at which the text can be read now."""
        self.files[path] = text.encode()
        return f"{self.origin}{path}"

    def put_folder(self, folder: Path) -> None:
        """All of a built site, as a web server would show it."""
        for file in folder.rglob("*"):
            if file.is_file():
                path = f"/{file.relative_to(folder).as_posix()}"
                self.files[path.removesuffix("index.html")] = file.read_bytes()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, site: Site, *given: Any) -> None:
        self.site = site
        super().__init__(*given)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        body = self.site.files.get(path)
        self.send_response(404 if body is None else 200)
        kind = "text/html" if path.endswith("/") else guess_type(path)[0] or "text/html"
        text = "; charset=utf-8" if kind.startswith("text/") else ""
        self.send_header("Content-Type", f"{kind}{text}")
        self.send_header("Content-Length", str(len(body or b"")))
        if self.site.policy:
            self.send_header("Content-Security-Policy", self.site.policy)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *given: Any) -> None:
        """The browser's console tells what went wrong."""


@contextmanager
def running_site() -> Iterator[Site]:
    site = Site()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, site)) as server:
        # A name, so that its origin differs from the service's in more than the port.
        site.origin = f"http://localhost:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield site
        server.shutdown()
        thread.join()
