"""Conversations: their turns run one after another, and many conversations at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from bythebook.agent.assistant import Assistant
from bythebook.agent.events import AgentState, Done, Event, Failed, StateChanged, Token
from bythebook.errors import BookError, BookNotFound, InputError
from bythebook.models.answer import Answer
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.conversation import SUMMARY_FROM, Conversation, Turn
from bythebook.questions import Questions
from bythebook.server.caller import Caller
from bythebook.server.error_responses import unexpected
from bythebook.server.logs import shown_question
from bythebook.server.prometheus import Metrics
from bythebook.server.question_log import QuestionLog
from bythebook.threads import StartedByAnother, Thread, Threads


@dataclass(frozen=True)
class SavedAnswer(Done):
    """The answer is in its thread. `answer_id` names it for feedback, unless questions are not
    kept."""

    answer_id: str | None = None


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConversationQuestion:
    """A question that may be asked: its session and book are the caller's. `metadata` is what the
    caller said beside it. With a `history` the caller holds the conversation, and none is kept
    here."""

    request: ChatRequest
    book_id: str
    key_id: str | None
    is_new: bool
    metadata: dict[str, Any] = field(default_factory=dict)
    history: Conversation | None = None


def no_session(session_id: str) -> BookNotFound:
    """The same for a session that is not there and one of somebody else."""
    return BookNotFound(
        f"There is no session {session_id}.", action="Leave out session_id to start one."
    )


def belongs_to(thread_metadata: dict[str, Any], caller: Caller) -> bool:
    """A conversation is read with the key it was held with, or with an admin's for its book."""
    if not caller.may_read(thread_metadata.get("book_id", "")) or "book_id" not in thread_metadata:
        return False
    return caller.is_admin or thread_metadata.get("key_id") == caller.id


def _about_another(book_id: str) -> InputError:
    return InputError(
        f"This session is about {book_id}.",
        action="Leave out session_id to talk about another book.",
        details={"field": "book_id"},
    )


def _check_same(asked: ConversationQuestion, thread_metadata: dict[str, Any]) -> None:
    """What was begun since the question was checked must be the caller's, about the same book."""
    if asked.is_new and thread_metadata.get("key_id") != asked.key_id:
        raise no_session(asked.request.session_id)
    if thread_metadata.get("book_id") != asked.book_id:
        raise _about_another(thread_metadata["book_id"])


class Conversations:
    """Answers within threads. The turns of a thread wait for each other, so that every question
    is understood after the one before it."""

    def __init__(
        self, assistant: Assistant, threads: Threads, questions: Questions, metrics: Metrics
    ) -> None:
        self.assistant = assistant
        self.threads = threads
        self.question_log = QuestionLog(questions)
        self.metrics = metrics
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._background: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def check(self, caller: Caller, request: ChatRequest) -> ConversationQuestion:
        """Check what can be checked before anything is promised."""
        is_named = "session_id" in request.model_fields_set
        thread = await self.threads.load(request.session_id) if is_named else None
        if thread is None:
            book_id = (await caller.book(self.assistant.library, request.book_id)).book_id
        elif not belongs_to(thread.metadata, caller):
            raise no_session(request.session_id)
        else:
            book_id = thread.metadata["book_id"]
            if request.book_id not in (None, book_id):
                raise _about_another(book_id)
        metadata = request.metadata.given()
        is_new = thread is None
        return ConversationQuestion(request, book_id, caller.id, is_new=is_new, metadata=metadata)

    async def stream(self, asked: ConversationQuestion) -> AsyncGenerator[Event]:
        """The events of a turn. The last one is a SavedAnswer, sent once the turn is in its
        thread, or Failed."""
        started = time.perf_counter()
        model = self.assistant.model_name
        lock = self._turns.setdefault(asked.request.session_id, asyncio.Lock())
        last: Event | None = None
        state: AgentState | None = None
        has_text = False
        try:
            try:
                async with lock, aclosing(self._answer(asked, started)) as events:
                    async for event in events:
                        if isinstance(event, Failed):
                            raise event.error
                        if isinstance(event, StateChanged):
                            state = event.state
                        if isinstance(event, Token) and not has_text:
                            has_text = True
                            seconds = time.perf_counter() - started
                            self.metrics.first_sentence_seconds.observe(seconds)
                        last = event
                        yield event
            except BookError as problem:
                last = Failed(problem)
            except Exception:
                logger.exception("A turn failed unexpectedly")
                last = Failed(unexpected())
            if isinstance(last, Failed):
                seconds = time.perf_counter() - started
                await self.question_log.failed(asked, last.error, model, seconds)
                if state is None:  # before the turn began
                    yield StateChanged("received")
                if state != "failed":
                    yield StateChanged("failed")
                yield last
        finally:
            seconds = time.perf_counter() - started
            if isinstance(last, Done):
                self.metrics.answered(last.answer, seconds)
            else:
                outcome = "failed" if isinstance(last, Failed) else "cancelled"
                self.metrics.turn(outcome, model, seconds)

    async def _answer(self, asked: ConversationQuestion, started: float) -> AsyncGenerator[Event]:
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
            page=request.page,
        )
        logger.info("Asked: %s", shown_question(request.message, self.assistant.library.settings))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    turn = conversation.turns[-1]
                    keeping = self._keep(asked, event.answer, turn, started, thread is None)
                    # The answer is there; a client that leaves now does not undo it.
                    event = await asyncio.shield(keeping)
                    if asked.history is None and conversation.count == SUMMARY_FROM:
                        self._start_summary(conversation)
                yield event

    def _start_summary(self, conversation: Conversation) -> None:
        """Once in a conversation, and nobody waits for it."""
        if self.assistant.language_model is not None:
            task = asyncio.create_task(self._summarize(conversation))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _summarize(self, conversation: Conversation) -> None:
        try:
            if topic := await self.assistant.topic(conversation):
                model = self.assistant.model_name
                await self.threads.summarize(conversation.id, topic, model)
        except BookError as problem:
            logger.warning(
                "A conversation keeps the summary that was made without a model: %s", problem
            )
        except Exception:
            logger.exception("A conversation keeps the summary that was made without a model")

    async def _keep(
        self, asked: ConversationQuestion, answer: Answer, turn: Turn, started: float, is_new: bool
    ) -> SavedAnswer:
        # Noted first: whoever deletes the session from now on deletes the note with it.
        seconds = time.perf_counter() - started
        answer_id = await self.question_log.answered(asked, answer, seconds)
        if asked.history is not None:
            return SavedAnswer(answer, answer_id)
        is_kept = False
        try:
            is_kept = await self.threads.append(
                asked.request.session_id,
                turn,
                metadata={"book_id": asked.book_id, "key_id": asked.key_id},
                labels=asked.metadata,
                is_new=is_new,
            )
        except StartedByAnother as problem:
            _check_same(asked, problem.metadata)
            raise
        finally:
            if answer_id is not None and not is_kept:
                await self.question_log.retract(answer_id)
        return SavedAnswer(answer, answer_id if is_kept else None)

    async def _thread(self, asked: ConversationQuestion) -> Thread | None:
        """Read again: another turn may have gone before, and deleted or begun the session."""
        session_id = asked.request.session_id
        if "session_id" not in asked.request.model_fields_set:
            return None
        thread = await self.threads.load(session_id)
        if thread is None and not asked.is_new:
            raise no_session(session_id)
        if thread is not None:
            _check_same(asked, thread.metadata)
        return thread

    async def answer(self, asked: ConversationQuestion) -> SavedAnswer:
        """The answer to a question; raises what went wrong."""
        async with aclosing(self.stream(asked)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                if isinstance(event, SavedAnswer):
                    return event
        raise AssertionError("a stream ends with SavedAnswer or Failed")
