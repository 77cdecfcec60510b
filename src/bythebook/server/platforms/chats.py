"""Chat platforms: questions are taken at once, and answered in the background within limits."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from bythebook.errors import (
    BookError,
    BusyError,
    ConfigurationError,
    InputError,
    Overloaded,
    TooManyRequests,
)
from bythebook.keys import ApiKey
from bythebook.models.chat_messages import MAX_MESSAGE, ChatRequest
from bythebook.models.chunk import now
from bythebook.models.values import retry_after
from bythebook.server.caller import Caller
from bythebook.server.conversations import Conversations, SavedAnswer
from bythebook.server.error_responses import unexpected
from bythebook.server.logs import log_context
from bythebook.server.platforms.reply_text import HOW_TO_ASK, Outcome
from bythebook.server.rate import RateLimits
from bythebook.server.webhook import Deliveries
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.server.platforms.discord import Discord
    from bythebook.server.platforms.slack import Slack

logger = logging.getLogger(__name__)

Platform = Literal["slack", "discord"]
# The settings that each platform needs.
NEEDS: dict[Platform, tuple[str, ...]] = {
    "slack": ("slack_signing_secret", "slack_bot_token"),
    "discord": ("discord_public_key", "discord_application_id"),
}

ATTEMPTS = 4
FIRST_WAIT = 1.0
# A platform that wants us to wait longer than this does not get the message.
LONGEST_WAIT = 60.0
SECONDS_TO_ANSWER = 10.0


@dataclass(frozen=True)
class PlatformQuestion:
    """`delivery` is what the platform calls it each time it sends it, `asker` a person there, and
    `place` where the conversation is held."""

    platform: Platform
    delivery: str
    asker: str
    channel: str
    place: tuple[str, ...]
    text: str


SendReply = Callable[[Outcome], Awaitable[None]]


def session_of(question: PlatformQuestion, book_id: str, part: int) -> str:
    """The id of a conversation, the same in every service. The parts of a long one have their
    own."""
    names = (question.platform, book_id, *question.place, str(part))
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def book_setting(settings: Settings, platform: Platform) -> str:
    return settings.slack_book if platform == "slack" else settings.discord_book


def book_of(setting: str, channel: str) -> str | None:
    """The book for a channel, by a setting such as `C024BE91L=history,physics`."""
    default: str | None = None
    for entry in filter(None, (entry.strip() for entry in setting.split(","))):
        name, is_pair, book_id = (part.strip() for part in entry.partition("="))
        if not is_pair:
            default = name
        elif name == channel:
            return book_id
    return default


class NotDelivered(Exception):
    """The platform did not take a message. `reason` holds no address and no secret."""

    def __init__(self, reason: str, *, may_again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.may_again = may_again
        self.wait = wait


def delivery_error(status: int, asked: str | None, reason: str) -> NotDelivered:
    """What an HTTP status says: too many and failing may be tried again, all else may not."""
    return NotDelivered(
        f"{reason} (status {status})",
        may_again=status == 429 or status >= 500,
        wait=retry_after(asked),
    )


async def deliver(platform: str, send: Callable[[], Awaitable[None]]) -> None:
    """Several times if need be; where that is no use, the log says why."""
    for attempt in range(ATTEMPTS):
        try:
            return await send()
        except NotDelivered as problem:
            pause = FIRST_WAIT * 2**attempt if problem.wait is None else problem.wait
            is_last = attempt == ATTEMPTS - 1
            if is_last or not problem.may_again or pause > LONGEST_WAIT:
                logger.warning("An answer could not be sent to %s: %s", platform, problem.reason)
                return None
            await asyncio.sleep(pause)


class Chats:
    """Answers as many at once as the service takes requests."""

    def __init__(self, settings: Settings, conversations: Conversations, rate: RateLimits) -> None:
        self.settings = settings
        self.conversations = conversations
        self.rate = rate
        self._library = conversations.assistant.library
        self._deliveries = Deliveries(self._library.engine)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Questions that are not answered yet."""
        return len(self._tasks)

    async def take(self, question: PlatformQuestion, reply: SendReply) -> bool:
        """Whether it is new: what the platform sends again is answered once. `reply` raises
        NotDelivered where the platform does not take it."""
        self._check_room()
        try:
            noted = await self._deliveries.note(question.platform, question.delivery.encode())
        except BusyError:
            return False
        try:
            self._check_room()  # others may have come meanwhile
        except Overloaded:
            await self._deliveries.forget(noted)
            raise
        task = asyncio.create_task(self._answer(question, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _check_room(self) -> None:
        if self.under_way >= self.settings.max_concurrent:
            raise Overloaded(
                f"The service is already handling {self.under_way} questions.",
                action="Try again in a moment.",
            )

    async def close(self) -> None:
        """Answers under way get the time that every answer gets when the service is stopped."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self.settings.shutdown_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, question: PlatformQuestion, reply: SendReply) -> None:
        with log_context(key_id=question.platform):
            try:
                outcome = await self._outcome(question)
                await deliver(question.platform, lambda: reply(outcome))
            except Exception:
                logger.exception("A question of %s failed unexpectedly", question.platform)

    async def _outcome(self, question: PlatformQuestion) -> Outcome:
        try:
            return await self._ask(question)
        except BookError as problem:
            if problem.http_status >= 500:
                logger.warning("A question of %s failed: %s", question.platform, problem)
            return problem
        except Exception:
            logger.exception("A question of %s failed unexpectedly", question.platform)
            return unexpected()

    async def _ask(self, question: PlatformQuestion) -> SavedAnswer:
        rate = await self.rate.hit(f"{question.platform}:{question.asker}")
        if not rate.allowed:
            raise TooManyRequests(
                f"You have asked {rate.limit} questions in a minute. Try again in "
                f"{rate.retry_after} s."
            )
        caller = caller_from(question.platform)
        wanted = book_of(book_setting(self.settings, question.platform), question.channel)
        book = await caller.book(self._library, wanted)
        request = self._request(question, await self._session(question, book.book_id))
        asked = await self.conversations.check(caller, request)
        return await self.conversations.answer(asked)

    async def _session(self, question: PlatformQuestion, book_id: str) -> str:
        """The conversation of this place; where it is full, the next one goes on."""
        part = 0
        while True:
            session_id = session_of(question, book_id, part)
            thread = await self.conversations.threads.load(session_id)
            if thread is None or thread.conversation.count < self.settings.max_conversation_turns:
                return session_id
            part += 1

    def _request(self, question: PlatformQuestion, session_id: str) -> ChatRequest:
        try:
            return ChatRequest(message=question.text, session_id=session_id)
        except ValidationError as problem:
            if len(question.text) > MAX_MESSAGE:
                long = f"The question has {len(question.text)} characters."
                raise InputError(f"{long} Ask in at most {MAX_MESSAGE}.") from problem
            raise InputError(HOW_TO_ASK) from problem


def caller_from(platform: Platform) -> Caller:
    """Who asks there holds no key of ours: the signature of the platform stands for one. Its
    conversations are its own, and an admin's."""
    key = ApiKey(key_id=platform, name=platform, scopes=("chat",), created_at=now())
    return Caller(key)


@dataclass(frozen=True)
class Platforms:
    """What is connected; None where nothing is configured."""

    chats: Chats
    slack: Slack | None = None
    discord: Discord | None = None


def is_configured(settings: Settings, platform: Platform) -> bool:
    """Raises where only some of its settings are set."""
    names = NEEDS[platform]
    missing = [name for name in names if getattr(settings, name) is None]
    if len(missing) == len(names):
        return False
    title = platform.capitalize()
    if missing:
        variable = Settings.model_fields[missing[0]].validation_alias
        raise ConfigurationError(
            f"{title} is only partly configured: {variable} is missing.",
            action=f"Set {variable}, or unset the other settings of {title}.",
        )
    return True


def books_asked(settings: Settings, platform: Platform) -> list[str]:
    """The books that the platform's setting names."""
    entries = book_setting(settings, platform).split(",")
    books = (entry.rpartition("=")[2].strip() for entry in entries)
    return [*dict.fromkeys(filter(None, books))]


@asynccontextmanager
async def connected(
    settings: Settings, conversations: Conversations, rate: RateLimits
) -> AsyncIterator[Platforms]:
    """The configured platforms; at the end, running answers are waited for."""
    async with AsyncExitStack() as stack:
        slack: Slack | None = None
        discord: Discord | None = None
        if is_configured(settings, "slack"):
            from bythebook.server.platforms.slack import Slack

            secret, token = settings.slack_signing_secret, settings.slack_bot_token
            assert secret and token
            slack = Slack(secret.get_secret_value(), token.get_secret_value())
            stack.push_async_callback(slack.close)
        if is_configured(settings, "discord"):
            from bythebook.server.platforms.discord import Discord

            key, application_id = settings.discord_public_key, settings.discord_application_id
            assert key and application_id
            discord = Discord(key, application_id)
            stack.push_async_callback(discord.close)
        chats = Chats(settings, conversations, rate)
        stack.push_async_callback(chats.close)
        yield Platforms(chats, slack, discord)
