"""The assistant: one loop for every model. Retrieval first, a decision by confidence, then an
answer of which only verified sentences are shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bythebook.agent import prompts
from bythebook.agent.answering import Answering
from bythebook.agent.events import Done, Event, Failed, StateChanged, Terminal, Token
from bythebook.agent.extractor import Extractor
from bythebook.agent.rounds import Rounds
from bythebook.agent.telling import Telling
from bythebook.agent.turn import Asked, TurnState
from bythebook.errors import BookError, InputError, ModelError, Overloaded
from bythebook.language.calm import calm
from bythebook.language.detect import other_language
from bythebook.language.followup import questions_of, standalone
from bythebook.language.reference import THANKS, is_small_talk
from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.models.chunk import now
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.search import SearchFilters
from bythebook.models.text import MAX_QUESTION
from bythebook.settings import Settings
from bythebook.tracing.spans import Attributes, span

if TYPE_CHECKING:
    from bythebook.agent.language_model import LanguageModel
    from bythebook.agent.model_writer import ModelWriter
    from bythebook.settings import Settings

logger = logging.getLogger(__name__)

# What the built-in answerer gets when the language model has used up the turn's time.
QUOTING_SECONDS = 30.0


class Assistant:
    """Answers questions about the books of a library."""

    def __init__(
        self,
        library: Library,
        settings: Settings | None = None,
        model: LanguageModel | None = None,
    ) -> None:
        """Others than the library's `settings`, and the `model` itself, are for whoever examines
        them; the assistant closes the model."""
        self.library = library
        self.settings = settings or library.settings
        self._turns: set[asyncio.Task[Terminal]] = set()
        self._stopping = False
        self._rounds = Rounds()
        self._extractor = Extractor(self.settings)
        self._model_writer: ModelWriter | None = None
        if self.settings.uses_language_model:
            # The SDK takes longer to load than the built-in answerer needs for an answer.
            from bythebook.agent.model_writer import ModelWriter

            self._model_writer = ModelWriter(self.settings, model)

    async def close(self) -> None:
        if self.language_model:
            await self.language_model.close()

    async def stop(self, seconds: float) -> None:
        """Take no more questions; answers that are not there after so long end in Failed."""
        self._stopping = True
        if self._turns:
            await asyncio.wait(set(self._turns), timeout=seconds)
        for turn in self._turns:
            turn.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def language_model(self) -> LanguageModel | None:
        """The one that writes; none where the built-in answerer quotes."""
        return self._model_writer.model if self._model_writer else None

    @property
    def model_name(self) -> str:
        return (self._model_writer or self._extractor).name

    async def ask(
        self, question: str, conversation: Conversation | None = None, **how: Any
    ) -> Answer:
        """The whole answer; what went wrong is raised. Parameters as of `stream`."""
        async for event in self.stream(question, conversation, **how):
            if isinstance(event, Done):
                return event.answer
            if isinstance(event, Failed):
                raise event.error
        raise AssertionError("a stream ends with Done or Failed")

    async def stream(
        self,
        question: str,
        conversation: Conversation | None = None,
        *,
        book_id: str | None = None,
        filters: SearchFilters | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> AsyncGenerator[Event]:
        """What happens, as it happens: exactly one Done or Failed, and nothing after it. Whoever
        stops listening stops the work."""
        events: asyncio.Queue[Event] = asyncio.Queue()
        asked_at = now()
        conversation = conversation or Conversation()

        async def work() -> Terminal:
            if self._stopping:
                raise _stopped()
            events.put_nowait(StateChanged("received"))
            await self._rounds.next()
            asked = await self._asked(question, conversation, book_id, filters, top_k, threshold)
            state = TurnState(
                asked, self.library, self.settings.tool_name, events.put_nowait, self._rounds
            )
            try:
                answer = await self._answer(state, conversation)
            except (BookError, asyncio.CancelledError):
                state.move("failed")
                raise
            conversation.add(Turn.of(answer, asked_at))
            return Done(answer)

        task = asyncio.create_task(self._traced(work))
        self._turns.add(task)

        def ended(turn: asyncio.Task[Terminal]) -> None:
            self._turns.discard(turn)
            events.put_nowait(Failed(_stopped()) if turn.cancelled() else turn.result())

        task.add_done_callback(ended)
        try:
            while True:
                event = await events.get()
                yield event
                if isinstance(event, Terminal):
                    return
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _traced(self, work: Callable[[], Awaitable[Terminal]]) -> Terminal:
        with span("turn", model=self.model_name) as told:
            ended = await self._in_time(work)
            if isinstance(ended, Failed):
                told.failed(ended.error)
            else:
                told.note(**_told_of(ended.answer))
            return ended

    async def _in_time(self, work: Callable[[], Awaitable[Terminal]]) -> Terminal:
        seconds = self.settings.turn_timeout
        # A language model is stopped by its writer, so that the book can still be quoted.
        rest = QUOTING_SECONDS if self._model_writer else 0.0
        try:
            async with asyncio.timeout(seconds + rest):
                return await work()
        except BookError as problem:
            return Failed(problem)
        except TimeoutError:
            return Failed(
                ModelError(
                    f"The answer took longer than {seconds:g} seconds.",
                    action="Ask again, or raise TURN_TIMEOUT.",
                )
            )
        except Exception:
            logger.exception("A turn failed unexpectedly")
            return Failed(
                BookError("Something went wrong inside bythebook.", action="See its log.")
            )

    async def _asked(
        self,
        question: str,
        conversation: Conversation,
        book_id: str | None,
        filters: SearchFilters | None,
        top_k: int | None,
        threshold: float | None,
    ) -> Asked:
        question = calm(question.strip())
        if not question:
            raise InputError("Please provide a question.", details={"field": "message"})
        if len(question) > MAX_QUESTION:
            raise InputError(
                f"The question has {len(question)} characters.",
                action=f"Ask in at most {MAX_QUESTION}.",
                details={"field": "message"},
            )
        if conversation.count >= self.settings.max_turns:
            raise InputError(
                f"This conversation has reached {self.settings.max_turns} turns.",
                action="Start a new one.",
            )
        book = await self.library.recent_book(book_id)
        window = conversation.window(self.settings.history_turns)
        alone = standalone(question, window, book.language)
        language = other_language(question, book.language)
        parts = () if alone.depends else questions_of(question)
        return Asked(
            question=question,
            book=book,
            filters=filters or SearchFilters(),
            top_k=top_k or self.settings.top_k,
            threshold=self.settings.score_threshold if threshold is None else threshold,
            alone=not alone.depends and language is None and not parts,
            query=alone.query,
            telling=Telling(question, alone.query, window, book.title, book.language),
            language=language,
            parts=parts,
            read_as=f"{window[-1].question} {question}" if alone.depends and window else "",
        )

    async def _answer(self, state: TurnState, conversation: Conversation) -> Answer:
        state.move("processing")
        conversation.model = self.model_name
        if is_small_talk(state.asked.question):
            return _small_talk(state, self.model_name)
        writer = self._model_writer or self._extractor
        try:
            return await Answering(state, writer, self.settings).answer(conversation, "success")
        except ModelError as problem:
            if writer is self._extractor or self.settings.model_down == "error":
                raise
            logger.warning("The book is quoted, because the language model failed: %s", problem)
            again = state.anew(problem)
        quoting = Answering(again, self._extractor, self.settings)
        return await quoting.answer(conversation, "fallback")


def _small_talk(state: TurnState, model: str) -> Answer:
    """One friendly line: nothing is asked, so nothing is searched for."""
    form = prompts.WELCOME if THANKS.search(state.asked.question) else prompts.HELLO
    text = form.format(book=state.asked.book.title)
    state.emit(Token(text))
    state.move("response_generated")
    return Answer(
        question=state.asked.question,
        text=text,
        status="fallback",
        refused=True,
        citations=(),
        sentences=(),
        passages=(),
        confidence=state.confidence,
        model=model,
        small_talk=True,
    )


def _told_of(answer: Answer) -> Attributes:
    return {
        "outcome": "refused" if answer.refused else "answered",
        "confidence": answer.confidence.confidence_level,
        "model": answer.model,
        "tokens": answer.tokens_used,
        "searches": len(answer.tool_calls),
        "passages": len(answer.passages),
    }


def _stopped() -> Overloaded:
    return Overloaded("bythebook is being stopped.", action="Ask again in a moment.")
