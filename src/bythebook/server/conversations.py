"""Turns of kept conversations: one after another in a conversation, many conversations at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from bythebook.agent.assistant import Assistant
from bythebook.agent.events import Done, Event, Failed, Token
from bythebook.errors import BookError, BookNotFound, InputError
from bythebook.models.answer import Answer
from bythebook.models.chat import ChatRequest
from bythebook.models.conversation import Conversation, Turn
from bythebook.questions import Questions
from bythebook.server.caller import Caller
from bythebook.server.kept import Kept
from bythebook.server.logs import shown_question
from bythebook.server.metrics import Metrics
from bythebook.server.noting import Noting, near
from bythebook.server.problems import unexpected
from bythebook.threads.threads import Thread, Threads

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """A question that may be asked: its session and book are the caller's. With a `history` the
    caller holds the conversation, and none is kept here."""

    request: ChatRequest
    book_id: str
    key_id: str | None
    is_new: bool
    history: Conversation | None = None


def no_session(session_id: str) -> BookNotFound:
    """The same for a session that is not there and one of somebody else."""
    return BookNotFound(
        f"There is no session {session_id}.", action="Leave out session_id to start one."
    )


def belongs_to(thread_metadata: dict[str, Any], caller: Caller) -> bool:
    """A conversation is read with the key it was held with, or with an admin's for its book."""
    if not caller.may_read(thread_metadata.get("book_id", "")):
        return False
    return caller.is_admin or thread_metadata.get("key_id") == caller.id


def _about_another(book_id: str) -> InputError:
    return InputError(
        f"This session is about {book_id}.",
        action="Leave out session_id to talk about another book.",
        details={"field": "book_id"},
    )


class Conversations:
    """Answers within threads. The turns of a thread wait for each other, so that every question
    is understood after the one before it."""

    def __init__(
        self, assistant: Assistant, threads: Threads, questions: Questions, metrics: Metrics
    ) -> None:
        self.assistant = assistant
        self.threads = threads
        self.noting = Noting(questions)
        self.metrics = metrics
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self, caller: Caller, request: ChatRequest) -> Asked:
        """Check what can be checked before anything is promised."""
        thread = None
        if "session_id" in request.model_fields_set:
            thread = await self.threads.load(request.session_id)
        if thread is None:
            book = await caller.book(self.assistant.library, request.book_id)
            return Asked(request, book.book_id, caller.id, is_new=True)
        if not belongs_to(thread.metadata, caller):
            raise no_session(request.session_id)
        book_id = thread.metadata["book_id"]
        if request.book_id not in (None, book_id):
            raise _about_another(book_id)
        return Asked(request, book_id, caller.id, is_new=False)

    async def stream(self, asked: Asked) -> AsyncGenerator[Event]:
        """The events of a turn, the last and only the last a Kept or Failed. A Kept comes once the
        turn is in its thread, if it has one."""
        started = time.perf_counter()
        model = self.assistant.model_name
        outcome: Event | None = None
        waiting = True
        try:
            async with aclosing(self._turn(asked)) as events:
                async for event in events:
                    if waiting and isinstance(event, Token):
                        waiting = False
                        self.metrics.first_sentence(time.perf_counter() - started)
                    outcome = event
                    yield event
        finally:
            self._count(outcome, model, time.perf_counter() - started)

    async def _turn(self, asked: Asked) -> AsyncGenerator[Event]:
        session_id = asked.request.session_id
        lock = self._turns.setdefault(session_id, asyncio.Lock())
        started = time.perf_counter()
        failed: Failed | None = None
        try:
            async with lock, aclosing(self._answer(asked, started)) as events:
                async for event in events:
                    if isinstance(event, Failed):
                        failed = event
                    else:
                        yield event
        except BookError as problem:
            failed = Failed(problem)
        except Exception:
            logger.exception("A turn failed unexpectedly")
            failed = Failed(unexpected())
        if failed is not None:
            seconds = time.perf_counter() - started
            await self.noting.failed(asked, failed.error, self.assistant.model_name, seconds)
            yield failed

    async def _answer(self, asked: Asked, started: float) -> AsyncGenerator[Event]:
        request = asked.request
        thread = await self._thread(asked)
        conversation = asked.history or Conversation(id=request.session_id)
        if thread:
            conversation = thread.conversation
        events = self.assistant.stream(
            request.message,
            conversation,
            book_id=asked.book_id,
            filters=request.filters,
            top_k=request.top_k,
            threshold=request.similarity_threshold,
        )
        logger.info("Asked: %s", shown_question(request.message, self.assistant.settings))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    turn = conversation.turns[-1]
                    keeping = self._keep(asked, event.answer, turn, started, thread is None)
                    # The answer is there; a client that leaves now does not undo it.
                    event = await asyncio.shield(keeping)
                yield event

    async def _keep(
        self, asked: Asked, answer: Answer, turn: Turn, started: float, is_new: bool
    ) -> Kept:
        nearest = await near(self.assistant.library, asked, answer)
        # Noted first: whoever deletes the session from now on deletes the note with it.
        seconds = time.perf_counter() - started
        answer_id = await self.noting.answered(asked, answer, nearest, seconds)
        if asked.history is not None:
            return Kept(answer, answer_id, nearest)
        is_kept = False
        try:
            is_kept = await self.threads.append(
                asked.request.session_id,
                turn,
                metadata={"book_id": asked.book_id, "key_id": asked.key_id},
                is_new=is_new,
            )
        finally:
            if answer_id is not None and not is_kept:
                await self.noting.take_back(answer_id)
        return Kept(answer, answer_id if is_kept else None, nearest)

    async def _thread(self, asked: Asked) -> Thread | None:
        """Read again: another turn may have gone before, and deleted or begun the session."""
        session_id = asked.request.session_id
        if "session_id" not in asked.request.model_fields_set:
            return None
        thread = await self.threads.load(session_id)
        if thread is None and not asked.is_new:
            raise no_session(session_id)
        if thread is not None and asked.is_new and thread.metadata.get("key_id") != asked.key_id:
            raise no_session(session_id)
        if thread is not None and thread.metadata.get("book_id") != asked.book_id:
            raise _about_another(thread.metadata["book_id"])
        return thread

    async def last_event(self, asked: Asked) -> Done | Failed:
        """What becomes of a question."""
        async with aclosing(self.stream(asked)) as events:
            async for event in events:
                if isinstance(event, Done | Failed):
                    return event
        raise AssertionError("a stream ends with Done or Failed")

    def _count(self, outcome: Event | None, model: str, seconds: float) -> None:
        match outcome:
            case Done(answer):
                self.metrics.answered(answer, seconds)
            case Failed():
                self.metrics.turn_failed(model, seconds)
            case _:
                self.metrics.turn_cancelled(model, seconds)
