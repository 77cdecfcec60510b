"""Limits of request bodies: their size, and how deep they are nested."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.errors import BookError, InputError, Overloaded, TooLarge
from bythebook.server.error_responses import answer_problem
from bythebook.sources import MAX_ZIP

WEBHOOK = "/ingestion/webhook/github"
# Others decide the size of these: GitHub's events, a conversation that the client holds, and the
# messages of chat platforms.
MAX_BYTES = {
    WEBHOOK: 5_000_000,
    "/v1/chat/completions": 1_000_000,
    "/slack/events": 1_000_000,
    "/discord/interactions": 1_000_000,
}
UPLOAD = re.compile(r"/admin/books/[^/]+/files/.+", re.S)
# Bytes beyond the limit that are read all the same, and discarded.
MAX_DISCARDED = 1_000_000
# Bytes for all bodies together that are larger than an ordinary one may be.
LARGE_BODIES = 64_000_000
MAX_NESTING = 32
# What each byte adds to the depth.
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


class BodyLimit:
    """Reads the whole body before anybody looks at it, as far as it is allowed to go."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self._free = LARGE_BODIES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not has_body(scope):
            await self.app(scope, receive, send)
            return
        taken = 0

        def grow_to(size: int) -> None:
            """An ordinary body takes no memory of large ones, so that they keep none out."""
            nonlocal taken
            more = max(size - self.max_bytes, 0) - taken
            if more > self._free:
                raise Overloaded(
                    "The service is receiving too many large requests.",
                    action="Try again in a moment.",
                )
            self._free -= more
            taken += more

        try:
            await self._read_first(scope, receive, send, grow_to)
        finally:
            self._free += taken

    async def _read_first(
        self, scope: Scope, receive: Receive, send: Send, grow_to: Callable[[int], None]
    ) -> None:
        path = scope["path"]
        is_upload = scope["method"] == "PUT" and UPLOAD.fullmatch(path) is not None
        limit = max(self.max_bytes, MAX_ZIP if is_upload else MAX_BYTES.get(path, 0))
        try:
            body = await _read(receive, limit, grow_to)
            # A webhook's signature comes first, and its reader has a limit of its own.
            if not is_upload and path != WEBHOOK and is_too_deep(body):
                raise InputError(
                    f"The body is nested more than {MAX_NESTING} levels deep.",
                    action="Send a plain JSON object.",
                    details={"field": "body"},
                )
        except ClientDisconnect:
            return
        except BookError as problem:
            answer = answer_problem(problem, scope, headers={"Connection": "close"})
            await answer(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


def has_body(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS")


async def _read(receive: Receive, limit: int, grow_to: Callable[[int], None]) -> bytes:
    """The body. A little beyond the limit is read and discarded: a client that is still sending
    when the connection is closed would never see why."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            grow_to(size)
            parts.append(part)
        is_last = not message.get("more_body", False)
        if size > limit and (is_last or size > limit + MAX_DISCARDED):
            shown = f"{limit // 1000} KB" if limit < 1_000_000 else f"{limit // 1_000_000} MB"
            raise TooLarge(
                f"The body is larger than {shown}.",
                action="Send less.",
                details={"max_bytes": limit},
            )
        if is_last:
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes after it, such as the client's leaving."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def is_too_deep(body: bytes) -> bool:
    # Counting brackets is a tenth of the work, and nearly no body has so many.
    opened = body.count(b"[") + body.count(b"{")
    return opened > MAX_NESTING and nesting(body) > MAX_NESTING


def nesting(body: bytes) -> int:
    """How deep JSON is nested, in a few passes whose time is that of the length. Where a body is
    not JSON, it is right up to the place where a parser stops."""
    # Without escapes, a bracket behind an odd number of quotes stands in a string.
    plain = np.frombuffer(body.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    in_string = np.logical_xor.accumulate(plain == ord('"'))
    steps = np.where(in_string, 0, _STEPS[plain])
    return int(steps.cumsum(dtype=np.int32).max(initial=0))
