"""git's own server over HTTP, on this machine."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class GitServer:
    """Serves the repositories of a folder, or sends everybody elsewhere."""

    folder: Path
    port: int = 0
    redirect: str = ""
    asked: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    server_of: GitServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        up = self.server_of
        up.asked.append(self.path)
        if up.redirect:
            self.send_response(302)
            self.send_header("Location", up.redirect)
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={
                **os.environ,
                "GIT_PROJECT_ROOT": str(up.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
        ).stdout
        head, _, rest = done.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test looks at `asked`."""


@contextmanager
def serving_git(folder: Path) -> Iterator[GitServer]:
    up = GitServer(folder)
    handler = type("Handler", (_Handler,), {"server_of": up})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    up.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield up
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
