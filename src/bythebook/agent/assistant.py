"""The assistant: one loop for every model. Retrieval first, a decision by confidence, then an
answer of which only verified sentences are shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Self

from bythebook.agent import prompts
from bythebook.agent.answering import Answering
from bythebook.agent.events import Done, Event, Failed, StateChanged, StateMachine, Terminal, Token
from bythebook.agent.extractive_writer import ExtractiveWriter
from bythebook.agent.sanitize import QueryRedaction
from bythebook.agent.scheduling import FairTurns
from bythebook.agent.turn import TurnQuestion, TurnState
from bythebook.errors import BookError, InputError, ModelError, Overloaded
from bythebook.language.coreference import THANKS, is_small_talk
from bythebook.language.detection import language_name, normalize, other_language
from bythebook.language.query_rewrite import (
    questions_of,
    rewrite_standalone,
    searchable,
    without_selection,
)
from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.models.chunk import now
from bythebook.models.conversation import Conversation, ConversationState, Turn
from bythebook.models.search_messages import SearchFilters, has_words
from bythebook.models.values import MAX_QUESTION
from bythebook.settings.agent import AgentConfig
from bythebook.tracing import Attributes, span

if TYPE_CHECKING:
    from bythebook.agent.language_model import LanguageModel
    from bythebook.agent.model_writer import ModelWriter

logger = logging.getLogger(__name__)

# What the built-in answerer gets when the language model has used up the turn's time.
QUOTING_SECONDS = 30.0


class Assistant:
    """Answers questions about the books of a library."""

    def __init__(
        self,
        library: Library,
        config: AgentConfig | None = None,
        model: LanguageModel | None = None,
    ) -> None:
        """What the `config` says holds, else what the library's settings say. A `model` of its own
        is for whoever examines it; the assistant closes it."""
        self.library = library
        self._turns: set[asyncio.Task[Terminal]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._fair_turns = FairTurns()
        self._configure(config or library.settings, model)

    def _configure(self, config: AgentConfig, model: LanguageModel | None = None) -> None:
        self.config = config
        self._extractor = ExtractiveWriter(self.config)
        self._model_writer: ModelWriter | None = None
        if self.config.uses_language_model:
            # The SDK takes longer to load than the built-in answerer needs for an answer.
            from bythebook.agent.model_writer import ModelWriter

            self._model_writer = ModelWriter(self.config, model)

    def use(self, config: AgentConfig) -> None:
        """Go by another config from the next question on. Answers that are being written keep their
        model until they are finished."""
        before, writing = self.language_model, set(self._turns)

        async def close() -> None:
            if writing:
                await asyncio.wait(writing)
            if before:
                await before.close()

        self._configure(config)
        leaving = asyncio.create_task(close())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        await asyncio.gather(*self._leaving, return_exceptions=True)
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

    async def __aexit__(self, *_: object) -> None:
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

    async def topic(self, conversation: Conversation) -> str:
        """What the conversation is about, in the language model's words; nothing without one."""
        if self.language_model is None:
            return ""
        from bythebook.agent.model_writer import topic_of

        return await topic_of(self.language_model, conversation.window(self.config.history_turns))

    async def state_of(
        self, conversation: Conversation, book_id: str | None = None
    ) -> ConversationState:
        """The conversation as messages, beginning with the rules that a model is told."""
        book = await self.library.recent_book(book_id)
        rules = prompts.instructions(
            tool=self.config.tool_name,
            refusal=self.config.refusal,
            language=language_name(book.language),
            summary=conversation.topic_summary,
        )
        return ConversationState.of(conversation, rules)

    async def stream(
        self,
        question: str,
        conversation: Conversation | None = None,
        *,
        book_id: str | None = None,
        filters: SearchFilters | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        page: str | None = None,
    ) -> AsyncGenerator[Event]:
        """What happens, as it happens: exactly one Done or Failed, and nothing after it. Whoever
        stops listening stops the work. `page` is the address of the page to look in first."""
        events: asyncio.Queue[Event] = asyncio.Queue()
        asked_at = now()
        conversation = conversation or Conversation()

        async def work() -> Terminal:
            machine = StateMachine()
            events.put_nowait(StateChanged(machine.state))
            try:
                if self._stopping:
                    raise _stopped()
                await self._fair_turns.next()
                asked = await self._prepare_question(
                    question, conversation, book_id, filters, top_k, threshold, page
                )
                state = TurnState(
                    asked,
                    self.library,
                    self.config.tool_name,
                    events.put_nowait,
                    self._fair_turns,
                    machine,
                )
                answer = await self._answer(state, conversation)
                conversation.add(Turn.of(answer, asked_at))
            except BaseException:  # whatever it is, clients see where the turn ended
                events.put_nowait(StateChanged(machine.move("failed").state))
                raise
            return Done(answer)

        task = asyncio.create_task(self._with_trace(work))
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

    async def _with_trace(self, work: Callable[[], Awaitable[Terminal]]) -> Terminal:
        with span("turn", model=self.model_name) as trace:
            ended = await self._in_time(work)
            if isinstance(ended, Failed):
                trace.failed(ended.error)
            else:
                trace.note(**_trace_attributes(ended.answer))
            return ended

    async def _in_time(self, work: Callable[[], Awaitable[Terminal]]) -> Terminal:
        seconds = self.config.turn_timeout
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

    async def _prepare_question(
        self,
        question: str,
        conversation: Conversation,
        book_id: str | None,
        filters: SearchFilters | None,
        top_k: int | None,
        threshold: float | None,
        page: str | None,
    ) -> TurnQuestion:
        question = normalize(question.strip())
        if not question:
            raise InputError("Please provide a question.", details={"field": "message"})
        if len(question) > MAX_QUESTION:
            raise InputError(
                f"The question has {len(question)} characters.",
                action=f"Ask in at most {MAX_QUESTION}.",
                details={"field": "message"},
            )
        if conversation.count >= self.config.max_conversation_turns:
            raise InputError(
                f"This conversation has reached {self.config.max_conversation_turns} turns.",
                action="Start a new one.",
            )
        book = await self.library.recent_book(book_id)
        window = conversation.window(self.config.history_turns)
        alone = rewrite_standalone(question, window, book.language, book.title)
        query = searchable(alone.query, book.language)
        own, selected = without_selection(question)
        language = other_language(own, book.language)
        parts = () if alone.depends else questions_of(without_selection(alone.query)[0])
        before = selected or (window[-1].question if window else "")
        return TurnQuestion(
            question=question,
            book=book,
            filters=filters or SearchFilters(),
            top_k=self.config.top_k if top_k is None else top_k,
            threshold=self.config.score_threshold if threshold is None else threshold,
            alone=not alone.depends and language is None and not parts,
            query=query,
            redaction=QueryRedaction(question, query, window, book.title, book.language),
            language=language,
            parts=parts,
            read_as=f"{before} {own}" if alone.depends and before else "",
            selected=selected,
            page=await self.library.known.page_at(book, page) if page else None,
        )

    async def _answer(self, state: TurnState, conversation: Conversation) -> Answer:
        state.move("processing")
        if is_small_talk(without_selection(state.asked.question)[0]) or not has_words(
            state.asked.query
        ):
            return _without_search(state, self.model_name)
        writer = self._model_writer or self._extractor
        try:
            return await Answering(state, writer, self.config).answer(conversation, "success")
        except ModelError as problem:
            if writer is self._extractor or self.config.model_down == "error":
                raise
            logger.warning("The book is quoted, because the language model failed: %s", problem)
            again = state.retry_with_other_writer(problem)
        quoting = Answering(again, self._extractor, self.config)
        return await quoting.answer(conversation, "fallback")


def _without_search(state: TurnState, model: str) -> Answer:
    """One friendly line: nothing is asked, so nothing is searched for."""
    form = prompts.WELCOME if THANKS.search(state.asked.question) else prompts.HELLO
    if not has_words(state.asked.query):
        form = prompts.NO_WORDS
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


def _trace_attributes(answer: Answer) -> Attributes:
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
