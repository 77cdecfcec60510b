"""Spans cost nothing where nobody wants them, and reach whoever does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from booktext import CANARIES, WriteBook
from bythebook.errors import ConfigurationError, InputError, ModelError, StoreError
from bythebook.index.server_connection import ServerConnection
from bythebook.tracing import note, sending_traces, span, spanned, trace_id, watching
from extent import PATIENCE
from standins.collector import Collector, running_collector

SERVE = """
import asyncio, os, sys, httpx
from bythebook.server.run import serve
from bythebook.settings import load_settings

async def main():
    ready = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(load_settings(), ready.set_result))
    server = await ready
    async with httpx.AsyncClient(base_url=server.address, timeout=600) as http:
        answer = await http.post("/search", json={"text": "What is a node?", "book_id": "none"})
        assert answer.status_code == 404, answer.text
    server.should_exit = True
    await task

asyncio.run(main())
# redis-py loads the SDK's metrics by itself wherever they are installed.
ours = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
print(sorted(name for name in sys.modules if name.startswith(ours)))
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as started:
        yield started


def test_off_loads_nothing_even_where_others_are_traced(
    monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("BYTHEBOOK_PORT", "0")
    done = subprocess.run(
        [sys.executable, "-c", SERVE], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    assert not collector.paths


def test_nobody_is_told_and_nothing_is_made_when_off() -> None:
    with span("turn", model="any") as told:
        told.note(outcome="answered")
        note(book_id="guide")
        assert trace_id() is None and told.headers() == {}
        assert span("search") is told  # the one that stands for nothing
    with pytest.raises(InputError), span("turn"):
        raise InputError("No.")


async def test_who_watches_hears_of_every_step() -> None:
    heard: list[tuple[str, str]] = []

    @spanned("embed_batch")
    async def work() -> int:
        return 7

    with watching(lambda name, outcome, _seconds: heard.append((name, outcome))):
        assert await work() == 7
        with pytest.raises(ModelError), span("model"):
            raise ModelError("It is down.")
        with pytest.raises(asyncio.CancelledError), span("search"):
            raise asyncio.CancelledError
    with span("query"):
        pass
    assert heard == [("embed_batch", "ok"), ("model", "failed"), ("search", "cancelled")]


async def test_spans_nest_across_tasks_and_a_generator_is_nobodys_parent(
    collector: Collector,
) -> None:
    async def below(name: str) -> None:
        with span(name):
            await asyncio.sleep(0)

    async with sending_traces("otlp", collector.address, "mine"):
        with span("turn"):
            with span("model", current=False):
                await asyncio.gather(below("one"), below("two"))
            with pytest.raises(StoreError), span("search"):
                raise StoreError("secret words", details={"more": "secret words"})
        assert trace_id() is None
    (turn,) = collector.named("turn")
    names = {each["name"] for each in collector.tree(turn)["below"]}
    assert names == {"model", "one", "two", "search"}
    (search,) = collector.named("search")
    assert search.is_error and search.attributes["error.type"] == "StoreError"
    assert collector.resources[0]["service.name"] == "mine"
    assert b"secret" not in b"".join(collector.bodies)


async def test_the_whole_address_of_opentelemetry_goes_first(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = f"{collector.address}/elsewhere"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole)
    async with sending_traces("otlp", "http://127.0.0.1:9", "mine"):
        with span("turn"):
            pass
    assert collector.paths == ["/elsewhere"]


async def test_a_setting_of_opentelemetry_that_can_not_be_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    with pytest.raises(ConfigurationError, match="OTEL_BSP_"):
        async with sending_traces("otlp", "http://127.0.0.1:9", "mine"):
            pass


@pytest.mark.parametrize("given", ["", "00-zz-zz-01", "\x00" * 99, "00-" + "0" * 32 + "-1-01"])
async def test_a_caller_with_a_bad_traceparent_begins_a_trace(
    collector: Collector, given: str
) -> None:
    async with sending_traces("otlp", collector.address, "mine"):
        with span("request", caller={"traceparent": given}):
            assert int(trace_id() or "0", 16)
    (root,) = collector.named("request")
    assert root.parent_id == ""


async def test_a_qdrant_server_is_told_the_trace(collector: Collector) -> None:
    seen: list[str | None] = []

    class Qdrant(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("traceparent"))
            body = b'{"result": {"collections": []}, "status": "ok", "time": 0.0}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Qdrant) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        connection = ServerConnection(f"http://127.0.0.1:{server.server_port}")
        try:
            await connection.call(lambda client: client.get_collections())
            async with sending_traces("otlp", collector.address, "mine"):
                with span("query"):
                    await connection.call(lambda client: client.get_collections())
        finally:
            await connection.close()
            server.shutdown()
            thread.join()
    (query,) = collector.named("query")
    before, inside = seen
    assert before is None
    assert inside is not None and inside.split("-")[1:3] == [query.trace_id, query.span_id]


def test_an_ingest_in_the_terminal_is_a_trace(
    write_book: WriteBook, collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    book = write_book(CANARIES)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(
        f"BYTHEBOOK_TRACING=otlp\nOTEL_EXPORTER_OTLP_ENDPOINT={collector.address}/\n"
    )
    command = [sys.executable, "-m", "bythebook", "ingest", str(book)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (root,) = collector.named("ingest")
    assert root.attributes["bythebook.chunks"] == 3
    assert collector.paths == ["/v1/traces"]
