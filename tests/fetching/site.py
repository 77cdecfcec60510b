"""A web site on this machine that does whatever a test tells it to."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """What the site answers. `parts` are sent one by one, with `wait` called before each."""

    body: bytes = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    parts: int = 1
    wait: Callable[[], object] = lambda: None
    tagged: bool = True


Content = Reply | str | Callable[[str], Reply]
Pages = Mapping[str, Content]


@dataclass
class Site:
    """Pages by path with query; `asked` is every request with the status it got."""

    pages: dict[str, Content]
    asked: list[tuple[str, int]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    down: bool = False
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def private(self) -> str:
        """What the setting must say so that this site, and no other, may be fetched."""
        return f"127.0.0.1:{self.port}"

    def statuses(self, path: str) -> list[int]:
        return [status for asked, status in self.asked if asked == path]

    def reply(self, path: str) -> Reply:
        if self.down:
            return Reply(status=503)
        found = self.pages.get(path)
        if found is None:
            found = next(
                (page for start, page in self.pages.items() if _is_trap(start, path)), None
            )
        if callable(found):
            return found(path)
        if isinstance(found, str):
            return Reply(found.encode())
        return found or Reply(status=404)


def _is_trap(start: str, path: str) -> bool:
    return start.endswith("…") and path.startswith(start[:-1])


def page(title: str, text: str = "", links: str = "", head: str = "") -> str:
    """A page with everything around its text that pages have."""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links.split())
    words = text or f"The chapter on {title} explains how {title} is built, tested and repaired."
    return (
        f'<!doctype html><html lang="en"><head><title>{title} - Manual</title>{head}</head><body>'
        f"<header>Banner of the manual</header><nav>{anchors}</nav>"
        f'<main><h1>{title}</h1><p>{words}</p><h2 id="more">More of {title}</h2><p>{words} Every '
        f"part of it is listed with its price and its weight.</p></main>"
        f"<footer>Imprint of the manual</footer></body></html>"
    )


def packed(body: bytes) -> Reply:
    return Reply(gzip.compress(body), headers={"Content-Encoding": "gzip"})


def moved(to: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": to})


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        reply = self.site.reply(self.path)
        tag = f'"{hashlib.sha256(reply.body).hexdigest()[:12]}"'
        status = reply.status
        if status == 200 and reply.tagged and self.headers.get("If-None-Match") == tag:
            status = 304
        since = self.headers.get("If-Modified-Since")
        if status == 200 and since and since == reply.headers.get("Last-Modified"):
            status = 304
        self.site.asked.append((self.path, status))
        self.site.agents.add(self.headers.get("User-Agent", ""))
        try:
            self.send_response(status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if status == 200:
                if reply.kind:
                    self.send_header("Content-Type", reply.kind)
                if reply.tagged:
                    self.send_header("ETag", tag)
            self.end_headers()
            for _ in range(reply.parts if status == 200 else 0):
                reply.wait()
                self.wfile.write(reply.body)
        except ConnectionError:
            pass  # whoever asked has heard enough

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test looks at `asked`."""


@contextmanager
def serving(pages: Pages, host: str = "127.0.0.1", port: int = 0) -> Iterator[Site]:
    site = Site(dict(pages))
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    server.block_on_close = False
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
