"""The scripted language model in a process of its own, so that a load test measures only us.

It searches for the question and quotes the beginning of the first passages, each with its number.
A sentence that it is given back it withdraws.
One thread serves every connection: a hundred threads would need longer than the latency they play.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from standins.llm_checks import Refused, check_request
from standins.llm_steps import Json, Step, deltas, says, searches_then

HEADS = re.compile(r"\A(?:(?:#|:::).*\n|\s*\n)+")
# Not behind the number of a list's item.
STOP = re.compile(r"(?<!^\d)(?<!^\d\d)\. ", re.MULTILINE)
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@contextmanager
def llm_process(*, latency: float = 0.0, pause: float = 0.0) -> Iterator[str]:
    """Its base URL. `latency` comes before each answer, `pause` after each piece of its text."""
    command = [sys.executable, "-m", "standins.llm_process", str(latency), str(pause)]
    tests = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as own:
        assert own.stdout is not None
        try:
            yield own.stdout.readline().decode().strip()
        finally:
            own.terminate()


def quotes(found: list[Json]) -> Step:
    """The first sentence below the heading of each."""
    texts = [STOP.split(HEADS.sub("", passage["chunk_text"]))[0] for passage in found]
    said = [f"{text}. [{passage['cite']}]" for text, passage in zip(texts, found, strict=True)]
    return says(" ".join(said[:3]), split=12)


def answers() -> Callable[[Json], Step]:
    """What it does with every request."""
    search = searches_then(quotes, split=1)
    return lambda request: search(request) if request.get("tools") else says("-")


class Connection(asyncio.Protocol):
    """Requests come one after the other; what is no streamed chat completion is refused."""

    def __init__(self, latency: float, pause: float) -> None:
        self._latency = latency
        self._pause = pause
        self._answer = answers()
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if end and len(body) >= _length(head):
            self._received = b""
            pieces = self._pieces(head, body)
            asyncio.get_running_loop().call_later(self._latency, self._send, pieces)

    def _send(self, pieces: list[bytes]) -> None:
        if self._transport is None:
            return
        if self._pause <= 0:
            self._transport.write(b"".join(pieces))
        elif pieces:
            self._transport.write(pieces[0])
            asyncio.get_running_loop().call_later(self._pause, self._send, pieces[1:])

    def _pieces(self, head: bytes, body: bytes) -> list[bytes]:
        try:
            if not head.startswith(b"POST /v1/chat/completions "):
                raise Refused("there are only chat completions here")
            request = json.loads(body)
            check_request(request)
            if not request.get("stream"):
                raise Refused("only streams are served here")
        except (Refused, ValueError) as refused:
            return [_refusal(str(refused))]
        return [HEAD, *map(_chunk, _events(self._answer(request), request)), b"0\r\n\r\n"]


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _events(step: Step, request: Json) -> Iterator[str]:
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0}
    frame["model"] = request["model"]
    told = [(delta, None) for delta in deltas(step, request)]
    for delta, reason in [*told, ({}, step.finish_reason)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield json.dumps(frame | {"choices": [choice]}, ensure_ascii=False)
    if (request.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": len(told), "total_tokens": 1 + len(told)}
        yield json.dumps(frame | {"choices": [], "usage": usage})
    yield "[DONE]"


def _chunk(event: str) -> bytes:
    content = f"data: {event}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(content), content)


def _refusal(why: str) -> bytes:
    content = json.dumps({"error": {"message": why, "type": "invalid_request_error"}}).encode()
    return b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)


async def serve(latency: float, pause: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(latency, pause), "127.0.0.1", 0, backlog=512
    )
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"http://127.0.0.1:{port}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("latency", type=float)
    parser.add_argument("pause", type=float)
    given = parser.parse_args()
    asyncio.run(serve(given.latency, given.pause))


if __name__ == "__main__":
    main()
