"""Slack and Discord as a service meets them: signed payloads in, messages out."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import select

from bythebook.database.engine import reading
from bythebook.database.tables import threads
from server.running import Running, until
from standins.platform_server import PlatformServer, Posted

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TOKEN = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"
DISCORD_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
APPLICATION = "1234567890123456789"
INTERACTION_TOKEN = "aW50ZXJhY3Rpb246MTIzNDU2Nzg5.never-in-a-log_or-error"
SETTINGS: dict[str, Any] = {
    "slack_signing_secret": SECRET,
    "slack_bot_token": TOKEN,
    "discord_public_key": DISCORD_KEY.public_key()
    .public_bytes(Encoding.Raw, PublicFormat.Raw)
    .hex(),
    "discord_application_id": APPLICATION,
}
_numbers = count(1)


def mention(text: str, /, **changes: Any) -> dict[str, Any]:
    """Slack's news that somebody named the app, in the shape that its documentation gives."""
    number = next(_numbers)
    ts = f"1700000000.{number:06}"
    event = {
        "type": "app_mention",
        "user": "U061F7AUR",
        "text": f"<@U0LAN0Z89> {text}",
        "ts": ts,
        "channel": "C0LAN2Q65",
        "event_ts": ts,
        "team": "T061EG9R6",
        "blocks": [{"type": "rich_text", "block_id": "a", "elements": []}],
        **changes,
    }
    return {
        "token": "ZZZZZZWSxiZZZ2yIvs3peJ",
        "team_id": "T061EG9R6",
        "api_app_id": "A0MDYCDME",
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{number:09}",
        "event_time": 1700000000,
        "authorizations": [{"team_id": "T061EG9R6", "user_id": "U0LAN0Z89", "is_bot": True}],
        "is_ext_shared_channel": False,
    }


def direct(text: str, /, **changes: Any) -> dict[str, Any]:
    """The same of a message to the app alone."""
    fields = {"type": "message", "channel": "D024BE91L", "channel_type": "im", "text": text}
    return mention("", **{**fields, **changes})


def ask_command(question: Any, **changes: Any) -> dict[str, Any]:
    """Discord's `/ask` in a server."""
    return {
        "app_permissions": "442368",
        "application_id": APPLICATION,
        "channel_id": "772908445358620702",
        "data": {
            "id": "771825006014889984",
            "name": "ask",
            "type": 1,
            "options": [{"name": "question", "type": 3, "value": question}],
        },
        "guild_id": "772904309264089089",
        "id": str(846462639134605312 + next(_numbers)),
        "locale": "en-GB",
        "member": {"roles": [], "user": {"id": "282265607313817601", "username": "reader"}},
        "token": INTERACTION_TOKEN,
        "type": 2,
        "version": 1,
        **changes,
    }


def slack_headers(body: bytes, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    signed = b"v0:" + timestamp.encode() + b":" + body
    return {
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": "v0=" + hmac.digest(secret.encode(), signed, "sha256").hex(),
        "Content-Type": "application/json",
    }


def discord_headers(body: bytes, at: float | None = None) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    return {
        "X-Signature-Timestamp": timestamp,
        "X-Signature-Ed25519": DISCORD_KEY.sign(timestamp.encode() + body).hex(),
        "Content-Type": "application/json",
    }


@dataclass(frozen=True)
class Conversing:
    """A service, and the platforms' API that it posts to."""

    up: Running
    api: PlatformServer

    async def slack(self, payload: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        given = {**slack_headers(body), **(headers or {})}
        return await self.up.http.post("/slack/events", content=body, headers=given)

    async def discord(
        self, payload: Any, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        given = {**discord_headers(body), **(headers or {})}
        return await self.up.http.post("/discord/interactions", content=body, headers=given)

    async def posted(self, number: int = 1) -> Posted:
        """The message of that number, once it was posted."""

        async def found() -> Posted | None:
            return self.api.posted[number - 1] if len(self.api.posted) >= number else None

        message: Posted = await until(found)
        return message

    async def at_rest(self) -> None:
        """All that was taken has been answered."""

        async def nothing_left() -> bool:
            return not self.up.service.platforms.chats.under_way

        await until(nothing_left)

    async def conversations(self) -> list[int]:
        """Of each conversation that is kept, how many messages it has."""
        async with reading(self.up.service.library.engine) as connection:
            kept = await connection.scalars(select(threads.c.messages))
            return sorted(len(messages) for messages in kept)
