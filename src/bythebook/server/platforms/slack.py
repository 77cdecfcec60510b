"""Slack: events that it sends, and messages that it takes, through its own SDK."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
from pydantic import BaseModel, Field
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bythebook.server.platforms.chats import (
    SECONDS_TO_ANSWER,
    NotDelivered,
    PlatformQuestion,
    delivery_error,
)
from bythebook.server.platforms.dialects import Mrkdwn
from bythebook.server.platforms.reply_text import Reply, ReplyLimits, parts_of
from bythebook.server.webhook import is_recent, parse_body, wrong_signature

NAME = "Slack"
API = AsyncWebClient.BASE_URL
TIMESTAMP, SIGNATURE = "X-Slack-Request-Timestamp", "X-Slack-Signature"
SETTING = "BYTHEBOOK_SLACK_SIGNING_SECRET"
# Slack's own limits: of the text of a block, and of a message.
ROOM = ReplyLimits(body=3000, sources=3000, footer=2000, together=40_000)

# Codes that mean the same as a status.
CODES = {"ratelimited": 429, "internal_error": 500, "fatal_error": 500, "service_unavailable": 503}

PERSON = re.compile(r"<@[^<>]*>")
NAMED = re.compile(r"<(?:[#!][^<>|]*|[^<>|]*)\|([^<>]*)>")
BARE = re.compile(r"<(?:[#!])?([^<>]*)>")


class Event(BaseModel):
    """What matters of a message."""

    type: str
    subtype: str | None = None
    bot_id: str | None = None
    user: str | None = None
    text: str = ""
    channel: str = ""
    channel_type: str | None = None
    ts: str = ""
    thread_ts: str | None = None


class Delivery(BaseModel):
    """What Slack sends: news of an event, or a word to be sent back when the address is set up."""

    type: str
    challenge: str | None = None
    team_id: str = ""
    event_id: str = Field(default="", max_length=200)
    event: Event | None = None

    def is_question(self) -> bool:
        """Somebody speaks to the app: names it, or writes to it alone. What apps write, the
        answers among it, and changes of old messages are none."""
        event = self.event
        if self.type != "event_callback" or event is None or not self.event_id:
            return False
        if event.bot_id or event.subtype or not (event.user and event.channel and event.ts):
            return False
        is_alone = event.type == "message" and event.channel_type == "im"
        return is_alone or event.type == "app_mention"


def read_delivery(body: bytes) -> Delivery:
    action = "Give Slack this address for events only, not for commands or interactions."
    return parse_body(Delivery, body, NAME, action)


def question_of(delivery: Delivery) -> PlatformQuestion:
    """A thread is a conversation; a message outside of one begins it, as its answer does."""
    event = delivery.event
    assert event is not None and event.user
    return PlatformQuestion(
        platform="slack",
        delivery=delivery.event_id,
        asker=f"{delivery.team_id}:{event.user}",
        channel=event.channel,
        place=(delivery.team_id, event.channel, event.thread_ts or event.ts),
        text=_plain(event.text),
    )


def _plain(text: str) -> str:
    """What was typed: without the app's name, and links as they were read."""
    text = PERSON.sub(" ", text)
    text = BARE.sub(r"\1", NAMED.sub(r"\1", text))
    return " ".join(html.unescape(text).split())


class Slack:
    """A Slack app."""

    dialect = Mrkdwn()
    room = ROOM

    def __init__(self, signing_secret: str, token: str) -> None:
        self._verifier = SignatureVerifier(signing_secret)
        timeout = aiohttp.ClientTimeout(total=SECONDS_TO_ANSWER)
        self._session = aiohttp.ClientSession(timeout=timeout)
        # Further attempts are `deliver`'s.
        self._client = AsyncWebClient(token, API, session=self._session, retry_handlers=[])

    async def close(self) -> None:
        await self._session.close()

    def check_signature(self, headers: Mapping[str, str], body: bytes) -> None:
        timestamp, signature = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
        # The SDK compares text, which it can only if that is ASCII, and reads the body as UTF-8.
        is_readable = signature.isascii() and _is_utf8(body)
        if not (is_readable and is_recent(timestamp)) or not self._verifier.is_valid(
            body, timestamp, signature
        ):
            raise wrong_signature(NAME, SETTING, SIGNATURE)

    async def post(self, delivery: Delivery, message: Reply) -> None:
        """Below the question, in its thread."""
        event = delivery.event
        assert event is not None
        try:
            await self._client.chat_postMessage(
                channel=event.channel,
                thread_ts=event.thread_ts or event.ts,
                text=message.body,  # for notifications, and readers that don't show blocks
                blocks=blocks_of(message),
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
            )
        except SlackApiError as problem:
            raise _not_delivered(problem) from None
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as problem:
            # Not `from` the cause: its words name the address.
            reason = f"there is no connection ({type(problem).__name__})"
            raise NotDelivered(reason, may_again=True) from None


def blocks_of(message: Reply) -> list[dict[str, Any]]:
    *texts, last = parts_of(message)
    sections = texts if message.footer else [*texts, last]
    blocks: list[dict[str, Any]] = [{"type": "section", "text": _mrkdwn(text)} for text in sections]
    if message.footer:
        blocks.append({"type": "context", "elements": [_mrkdwn(message.footer)]})
    return blocks


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: names and addresses in the text are not made into anything.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _not_delivered(problem: SlackApiError) -> NotDelivered:
    """Slack gives its reason in the body, whatever the status; the SDK may hold either."""
    response: Any = problem.response
    data = getattr(response, "data", None)
    code = data.get("error") if isinstance(data, dict) else None
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    status = CODES.get(str(code), status or 500)
    return delivery_error(
        status, response.headers.get("Retry-After"), f"it says {str(code)[:80]!r}"
    )


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
