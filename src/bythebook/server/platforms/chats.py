"""Questions of chat platforms: taken at once, answered in the background, within limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count

from pydantic import ValidationError

from bythebook.agent.events import Failed
from bythebook.errors import BookError, BusyError, InputError, Overloaded, TooManyRequests
from bythebook.models.chat import MAX_MESSAGE, ChatRequest
from bythebook.models.chunk import now
from bythebook.models.key import ApiKey
from bythebook.server.caller import Caller
from bythebook.server.conversations import Conversations
from bythebook.server.kept import Kept
from bythebook.server.logs import log_context
from bythebook.server.platforms.delivery import deliver
from bythebook.server.platforms.question import Platform, Question, book_of, session_of
from bythebook.server.platforms.wording import HOW_TO_ASK, Outcome
from bythebook.server.problems import unexpected
from bythebook.server.rate import RateLimits
from bythebook.server.webhook import Deliveries
from bythebook.settings import Settings

logger = logging.getLogger(__name__)

Reply = Callable[[Outcome], Awaitable[None]]


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

    async def take(self, question: Question, reply: Reply) -> bool:
        """Whether it is new: what the platform sends again is answered once. `reply` raises
        NotTaken where the platform does not take it."""
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
                f"The service is working on {self.under_way} questions already.",
                action="Try again in a moment.",
            )

    async def close(self) -> None:
        """Answers under way get the time that every answer gets when the service is stopped."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self.settings.shutdown_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, question: Question, reply: Reply) -> None:
        with log_context(key_id=question.platform):
            try:
                outcome = await self._outcome(question)
                await deliver(question.platform, lambda: reply(outcome))
            except Exception:
                logger.exception("A question of %s failed unexpectedly", question.platform)

    async def _outcome(self, question: Question) -> Outcome:
        try:
            return await self._ask(question)
        except BookError as problem:
            if problem.http_status >= 500:
                logger.warning("A question of %s failed: %s", question.platform, problem)
            return problem
        except Exception:
            logger.exception("A question of %s failed unexpectedly", question.platform)
            return unexpected()

    async def _ask(self, question: Question) -> Kept:
        rate = await self.rate.hit(f"{question.platform}:{question.asker}")
        if not rate.allowed:
            raise TooManyRequests(
                f"You have asked {rate.limit} questions in a minute. Try again in "
                f"{rate.retry_after} s."
            )
        caller = caller_from(question.platform)
        wanted = book_of(self._book_setting(question.platform), question.channel)
        book = await caller.book(self._library, wanted)
        request = self._request(question, await self._session(question, book.book_id))
        asked = await self.conversations.check(caller, request)
        event = await self.conversations.last_event(asked)
        if isinstance(event, Failed):
            raise event.error
        return event if isinstance(event, Kept) else Kept(event.answer)

    def _book_setting(self, platform: Platform) -> str:
        settings = self.settings
        return settings.slack_book if platform == "slack" else settings.discord_book

    async def _session(self, question: Question, book_id: str) -> str:
        """The conversation of this place; where it is full, the next one goes on."""
        for part in count():
            session_id = session_of(question, book_id, part)
            thread = await self.conversations.threads.load(session_id)
            if thread is None or thread.conversation.count < self.settings.max_turns:
                return session_id
        raise AssertionError("there is no last part")

    def _request(self, question: Question, session_id: str) -> ChatRequest:
        try:
            return ChatRequest(
                message=question.text,
                session_id=session_id,
                top_k=self.settings.top_k,
                similarity_threshold=self.settings.score_threshold,
            )
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
