"""Discord: interactions that it sends to an address, and the answers that are put in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, Field

from bythebook.models.chunk import now
from bythebook.server.platforms.chats import (
    SECONDS_TO_ANSWER,
    NotDelivered,
    PlatformQuestion,
    delivery_error,
)
from bythebook.server.platforms.dialects import DiscordMarkdown
from bythebook.server.platforms.reply_text import SEPARATOR, Reply, ReplyLimits, parts_of, shortened
from bythebook.server.webhook import is_recent, parse_body, wrong_signature

NAME = "Discord"
API = "https://discord.com/api/v10"
TIMESTAMP, SIGNATURE = "X-Signature-Timestamp", "X-Signature-Ed25519"
SETTING = "BYTHEBOOK_DISCORD_PUBLIC_KEY"
# A message has 2000 characters. The question stands above the answer in some of them.
LONGEST_MESSAGE = 2000
LONGEST_QUESTION = 200
ABOVE = len("> ") + LONGEST_QUESTION + len(SEPARATOR)
ROOM = ReplyLimits(body=1700, sources=800, footer=250, together=LONGEST_MESSAGE - ABOVE)

COMMAND, OPTION = "ask", "question"
PING, APPLICATION_COMMAND = 1, 2
PONG, MESSAGE, LATER = 1, 4, 5
FOR_ASKER_ONLY, NO_PREVIEWS = 1 << 6, 1 << 2
NOBODY: dict[str, list[str]] = {"parse": []}


class Option(BaseModel):
    name: str
    value: Any = None


class Command(BaseModel):
    name: str = ""
    options: list[Option] = []


class User(BaseModel):
    id: str


class Member(BaseModel):
    user: User | None = None


class Interaction(BaseModel):
    """What matters of an interaction."""

    type: int
    id: str = Field(default="", max_length=40)
    token: str = Field(default="", max_length=1000)
    channel_id: str | None = None
    guild_id: str | None = None
    member: Member | None = None
    user: User | None = None
    data: Command | None = None

    @property
    def asker(self) -> str:
        """In a server a member, elsewhere a user."""
        user = self.member.user if self.member else self.user
        return user.id if user else ""

    @property
    def asked(self) -> str | None:
        """The question; None if it is another command, or none at all."""
        if self.type != APPLICATION_COMMAND or self.data is None or self.data.name != COMMAND:
            return None
        options = {option.name: option.value for option in self.data.options}
        given = options.get(OPTION)
        is_whole = self.id and self.token and self.asker
        return given if isinstance(given, str) and is_whole else None


def read_interaction(body: bytes) -> Interaction:
    return parse_body(Interaction, body, NAME, "Send an interaction of Discord's API.")


def question_of(interaction: Interaction, text: str) -> PlatformQuestion:
    """What one person asks in one channel or thread on one day is a conversation: a channel has
    no end, and what was said last week is not what "it" means today."""
    channel = interaction.channel_id or ""
    return PlatformQuestion(
        platform="discord",
        delivery=interaction.id,
        asker=interaction.asker,
        channel=channel,
        place=(channel, interaction.asker, now().date().isoformat()),
        text=" ".join(text.split()),
    )


def ephemeral_message(text: str) -> dict[str, Any]:
    """An answer that only the asker sees."""
    shown = shortened(text, DiscordMarkdown(), ROOM.body)
    data = {"content": shown, "flags": FOR_ASKER_ONLY, "allowed_mentions": NOBODY}
    return {"type": MESSAGE, "data": data}


class Discord:
    """A Discord application."""

    dialect = DiscordMarkdown()
    room = ROOM

    def __init__(self, public_key: str, application_id: str) -> None:
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        self._application_id = application_id
        self._client = httpx.AsyncClient(timeout=SECONDS_TO_ANSWER)

    async def close(self) -> None:
        await self._client.aclose()

    def check_signature(self, headers: Mapping[str, str], body: bytes) -> None:
        timestamp = headers.get(TIMESTAMP, "")
        try:
            signature = bytes.fromhex(headers.get(SIGNATURE, ""))
            self._key.verify(signature, timestamp.encode() + body)
        except (ValueError, InvalidSignature) as problem:
            raise wrong_signature(NAME, SETTING, SIGNATURE) from problem
        if not is_recent(timestamp):
            raise wrong_signature(NAME, SETTING, SIGNATURE)

    async def post(self, interaction: Interaction, message: Reply) -> None:
        """In place of the sign that the app is thinking."""
        token = quote(interaction.token, safe="")
        address = f"{API}/webhooks/{self._application_id}/{token}/messages/@original"
        content = content_of(interaction.asked or "", message)
        body = {"content": content, "allowed_mentions": NOBODY, "flags": NO_PREVIEWS}
        try:
            response = await self._client.patch(address, json=body)
        except httpx.HTTPError as problem:
            # Not `from` the cause: its words can name the address, and that has the token.
            reason = f"there is no connection ({type(problem).__name__})"
            raise NotDelivered(reason, may_again=True) from None
        if not response.is_success:
            reason = "it did not take the message"
            raise delivery_error(response.status_code, response.headers.get("Retry-After"), reason)


def content_of(question: str, message: Reply) -> str:
    """With the question, which the channel would not see otherwise."""
    asked = shortened(question, Discord.dialect, LONGEST_QUESTION)
    above = [f"> {asked}"] if question.strip() else []
    return SEPARATOR.join([*above, *parts_of(message)])
