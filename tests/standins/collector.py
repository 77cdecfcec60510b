"""A collector of traces on this machine: OTLP over real HTTP, decoded as the standard says."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Seen:
    """One span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    end: int
    attributes: dict[str, Any]
    is_error: bool
    events: int


@dataclass
class Collector:
    """`behave` may answer a request in some other way than a collector should."""

    behave: Callable[[BaseHTTPRequestHandler], None] | None = None
    address: str = ""
    spans: list[Seen] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_values(resource.resource.attributes))
            for scope in resource.scope_spans:
                self.spans += [_seen(span) for span in scope.spans]

    def tree(self, root: Seen) -> dict[str, Any]:
        """Names below names, in the order in which they began."""
        below = [span for span in self.spans if span.parent_id == root.span_id]
        below.sort(key=lambda span: span.start)
        return {"name": root.name, "below": [self.tree(span) for span in below]}

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def running_collector(
    behave: Callable[[BaseHTTPRequestHandler], None] | None = None,
) -> Iterator[Collector]:
    collector = Collector(behave)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.paths.append(self.path)
            if collector.behave is not None:
                collector.behave(self)
                return
            packed = self.headers.get("Content-Encoding") == "gzip"
            collector.take(gzip.decompress(body) if packed else body)
            reply = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    collector.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        collector.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _seen(span: Any) -> Seen:
    return Seen(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_values(span.attributes),
        is_error=span.status.code == 2,
        events=len(span.events),
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
