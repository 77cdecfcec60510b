"""No more is read of a request than it may send, and nothing that is nested without end."""

from __future__ import annotations

from itertools import accumulate

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.errors import BookError, InputError, TooLarge
from bythebook.server.problems import answer_problem

WEBHOOK = "/ingestion/webhook/github"
# What others decide the size of: GitHub's news, a conversation that the client holds, and what
# chat platforms tell of a message.
MAX_BYTES = {
    WEBHOOK: 5_000_000,
    "/v1/chat/completions": 1_000_000,
    "/slack/events": 1_000_000,
    "/discord/interactions": 1_000_000,
}
THROWN_AWAY = 1_000_000
MAX_NESTING = 32
_OPENS_OR_CLOSES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in _OPENS_OR_CLOSES)


class ClientLeft(Exception):
    """The client went away before it had sent everything."""


class BodyLimit:
    """Reads the whole body before anybody looks at it, as far as it is allowed to go."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not has_body(scope):
            await self.app(scope, receive, send)
            return
        is_webhook = scope["path"] == WEBHOOK
        try:
            body = await _read(receive, max(self.max_bytes, MAX_BYTES.get(scope["path"], 0)))
            # A webhook's signature comes first, and its reader has a limit of its own.
            if not is_webhook and nesting(body) > MAX_NESTING:
                raise InputError(
                    f"The body is nested more than {MAX_NESTING} levels deep.",
                    action="Send a plain JSON object.",
                    details={"field": "body"},
                )
        except ClientLeft:
            return
        except BookError as problem:
            request_id = scope["state"]["request_id"]
            await answer_problem(problem, request_id, headers={"Connection": "close"})(
                scope, receive, send
            )
            return
        await self.app(scope, _replay(body, receive), send)


def has_body(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS")


async def _read(receive: Receive, limit: int) -> bytes:
    """The body. A little beyond the limit is read and thrown away: a client that is still sending
    when the connection is closed would never see why."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        is_last = not message.get("more_body", False)
        if size > limit and (is_last or size > limit + THROWN_AWAY):
            raise _too_large(limit)
        if is_last:
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes after it, such as the news that the client has left."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def nesting(body: bytes) -> int:
    """How deep JSON is nested, in a few passes whose time is that of the length. Where a body is
    not JSON, it is right up to the place where a parser stops."""
    # Without escapes, every second part between quotes is a string: a bracket there is only text.
    outside = body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    brackets = b"".join(outside).translate(None, _OTHER_BYTES)
    return max(accumulate(map(_OPENS_OR_CLOSES.__getitem__, brackets), initial=0))


def _too_large(limit: int) -> TooLarge:
    size = f"{limit // 1000} KB" if limit < 1_000_000 else f"{limit // 1_000_000} MB"
    return TooLarge(
        f"The body is larger than {size}.",
        action="Send less.",
        details={"max_bytes": limit},
    )
