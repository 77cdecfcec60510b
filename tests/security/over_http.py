"""A service in a process of its own, which strange bodies are sent to."""

from __future__ import annotations

import atexit
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import httpx

from bythebook.errors import InputError
from extent import PATIENCE

# A whole request as it stands on the wire, and headers whose values somebody looks at.
REQUEST = b"""POST /chat/run?book_id=a HTTP/1.1\r
Host: 127.0.0.1\r
Authorization: Bearer btb_abc\r
X-API-Key: abc\r
Origin: https://book.example\r
Sec-Fetch-Site: same-origin\r
X-Forwarded-For: 192.0.2.1, 10.0.0.1\r
Forwarded: for=192.0.2.1;proto=https\r
Content-Type: application/json; charset=utf-8\r
Accept: text/event-stream\r
Last-Event-ID: 5\r
If-None-Match: "a"\r
Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r
X-Request-ID: abc\r
Content-Length: 31\r
\r
{"message": "What is a node? "}"""
CHUNKED = b"""POST /search HTTP/1.1\r
Host: 127.0.0.1\r
Transfer-Encoding: chunked\r
Trailer: X-A\r
\r
5;a=b\r
{"quea\r
0\r
X-A: b\r
\r
"""
NAMES = [line.partition(b":")[0] for line in REQUEST.split(b"\r\n")[1:-2]]
NAMES += [b"X-Hub-Signature-256", b"X-GitHub-Event", b"X-Slack-Signature", b"X-Signature-Ed25519"]
NAMES += [b"X-Slack-Request-Timestamp", b"Cookie", b"Expect", b"Upgrade", b"Range", b"Connection"]
PATHS = ("/chat/run", "/ingestion/webhook/github", "/slack/events", "/discord/interactions", "/mcp")
STATUS = re.compile(rb"HTTP/1\.1 (?P<status>\d{3})")
ROUTES = ("/chat/run", "/chat/stream", "/search", "/v1/chat/completions", "/ingestion/trigger")
MOST_MEGABYTES = 512
LISTENS = re.compile(r"listens on (?P<address>http://\S+)")


@cache
def service() -> tuple[httpx.Client, int]:
    """A client of it, and its process; it ends with this one."""
    home = tempfile.TemporaryDirectory()
    log = Path(home.name) / "log"  # a pipe that nobody reads would fill, and hold it up
    with log.open("w") as writing:
        process = subprocess.Popen(
            [sys.executable, "-m", "bythebook", "serve", "--port", "0"],
            env={**os.environ, "BYTHEBOOK_HOME": home.name, "BYTHEBOOK_RATE_LIMIT": "0"},
            stdout=writing,
            stderr=writing,
        )
    while not (found := LISTENS.search(log.read_text(encoding="utf-8"))):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.1)

    def end() -> None:
        process.terminate()
        process.wait()
        home.cleanup()

    atexit.register(end)
    return httpx.Client(base_url=found["address"]), process.pid


def sent_to(route: str) -> Callable[[bytes], object]:
    """Whatever is sent, the service answers, says what is wrong, and is well afterwards."""

    def run(data: bytes) -> None:
        client, pid = service()
        headers = {"Content-Type": "application/json"}
        answer = client.post(route, content=data, headers=headers, timeout=PATIENCE)
        assert answer.status_code < 500, f"{answer.status_code} {answer.text[:200]}"
        assert client.get("/health", timeout=PATIENCE).status_code == 200
        assert megabytes(pid) < MOST_MEGABYTES, "it takes too much memory"
        if answer.status_code >= 400:
            raise InputError(answer.text[:200])

    return run


def sent_raw(data: bytes) -> None:
    """Whatever stands on the wire, it is answered or the connection is closed."""
    client, pid = service()
    address = client.base_url
    received = b""
    with socket.create_connection(
        (address.host, address.port or 80), timeout=PATIENCE
    ) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                received += piece
        except TimeoutError:
            raise
        except OSError:  # it was cut while more was sent
            pass
    assert client.get("/health", timeout=PATIENCE).status_code == 200
    assert megabytes(pid) < MOST_MEGABYTES, "it takes too much memory"
    statuses = [int(found["status"]) for found in STATUS.finditer(received)]
    assert all(status < 500 for status in statuses), received[:300]
    if not statuses:
        raise InputError("The connection was closed without an answer.")


def header_value(data: bytes) -> None:
    """The bytes as a header of a request that is whole; what they are decides which one."""
    number = zlib.crc32(data)
    name, path = NAMES[number % len(NAMES)], PATHS[number // len(NAMES) % len(PATHS)]
    value = data.translate(None, b"\r\n\0")
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n".encode()
    sent_raw(head + name + b": " + value + b"\r\n\r\n{}")


def megabytes(pid: int) -> int:
    """The most that a process has had; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024
