"""A language model on trial: does it call the search tool, do its words come one by one, how fast,
and how many of its sentences hold. At most MOST_CALLS calls, and never without end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from agents import FunctionTool, ModelSettings
from agents.items import TResponseStreamEvent
from agents.models.interface import ModelTracing
from openai import APIStatusError
from openai.types.responses import ResponseCompletedEvent, ResponseFunctionToolCall
from pydantic import ValidationError

from bythebook.agent import prompts
from bythebook.agent.assistant import Assistant
from bythebook.agent.language_model import LanguageModel, client_of
from bythebook.agent.model_errors import FAILURES
from bythebook.errors import BookError, ModelError
from bythebook.library import Library, sample_book
from bythebook.models.answer import Answer
from bythebook.models.retrieval_tool import RetrievalTool, SearchArguments
from bythebook.settings import Settings

# One to see whether it calls the tool, the others for an answer, in which it may search again.
MOST_CALLS = 4
# A model that is being loaded from a disk may take most of it.
TOOL_SECONDS = 120.0
ANSWER_SECONDS = 240.0
LIST_SECONDS = 5.0
LONGEST_WORDS = 200
# Pieces that come closer together than any model writes were sent in one go.
MOMENT = 0.005
# For whoever has no book yet.
PAGE = Path("module-1-ros2", "chapter-1-foundations", "01-the-ros-graph.md")
QUESTION = "How do nodes find each other?"


@dataclass
class Reply:
    """What one call brought, and when. `moments`: how often words came."""

    started: float
    first: float | None = None
    last: float | None = None
    ended: float | None = None
    text: str = ""
    moments: int = 0
    tokens: int = 0
    called: list[ResponseFunctionToolCall] = field(default_factory=list)

    def take(self, event: TResponseStreamEvent) -> None:
        at = time.perf_counter()
        if event.type == "response.output_text.delta":
            if self.last is None or at - self.last > MOMENT:
                self.moments += 1
            self.first = at if self.first is None else self.first
            self.last = at
            self.text += event.delta
        elif isinstance(event, ResponseCompletedEvent):
            self.ended = at
            output = event.response.output
            self.called = [one for one in output if isinstance(one, ResponseFunctionToolCall)]
            self.tokens = event.response.usage.output_tokens if event.response.usage else 0

    @property
    def words(self) -> int:
        return len(self.text.split())

    @property
    def streamed(self) -> bool:
        return self.moments > 1

    @property
    def seconds_to_first(self) -> float | None:
        return None if self.first is None else self.first - self.started

    @property
    def words_a_second(self) -> float | None:
        """While it wrote; with the wait before, where all came at once."""
        if self.first is None or self.ended is None:
            return None
        began = self.first if self.streamed else self.started
        return self.words / (self.ended - began) if self.ended > began else None


class WatchedModel(LanguageModel):
    """The configured model, with a record of its replies."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.replies: list[Reply] = []

    async def stream_response(
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        if len(self.replies) >= MOST_CALLS:
            raise ModelError(
                f"The language model did not finish within {MOST_CALLS} calls.",
                action="Take another model; this one searches again and again.",
            )
        reply = Reply(time.perf_counter())
        self.replies.append(reply)
        events = cast(
            AsyncGenerator[TResponseStreamEvent], super().stream_response(*args, **kwargs)
        )
        async with aclosing(events):
            async for event in events:
                reply.take(event)
                yield event


@dataclass(frozen=True)
class ToolTrial:
    """`called` names the tool that was called; `usable` whether it can be searched with."""

    called: str
    usable: bool
    seconds: float


@dataclass(frozen=True)
class AnswerTrial:
    """An answer, or why there is none; `written` is the call that wrote most of it."""

    question: str
    seconds: float
    answer: Answer | None
    problem: BookError | None
    written: Reply | None

    @property
    def verified(self) -> int:
        """Of the model's own sentences."""
        return len(self.answer.sentences) - self.answer.quoted if self.answer else 0

    @property
    def removed(self) -> int:
        return self.answer.removed if self.answer else 0


def for_trial(settings: Settings) -> Settings:
    """What fails is seen at once, and as what it is: no sentence that fails is mended."""
    changes = {"retries": 0, "model_down": "error", "repair": False, "judge": "reader"}
    return settings.model_copy(update=changes)


async def try_tool(model: WatchedModel, settings: Settings) -> ToolTrial:
    """Make the model call the search tool; raises ModelError where it can't be used at all."""
    tool = RetrievalTool.of(settings.tool_name, settings.top_k, settings.score_threshold)
    offered = FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=_never,
        strict_json_schema=False,
    )
    events = model.stream_response(
        prompts.SEARCH_FIRST.format(tool=tool.name, language="English"),
        [{"role": "user", "content": QUESTION}],
        ModelSettings(
            temperature=0.0, tool_choice="required", max_tokens=settings.openai_max_tokens
        ),
        [offered],
        None,
        [],
        ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    seconds = min(TOOL_SECONDS, settings.completion_timeout)
    with _explained(seconds):
        async with asyncio.timeout(seconds), aclosing(cast(AsyncGenerator[Any], events)):
            async for _event in events:
                pass
    reply = model.replies[-1]
    took = time.perf_counter() - reply.started
    if not reply.called:
        return ToolTrial("", False, took)
    call = reply.called[0]
    usable = call.name == tool.name
    try:
        SearchArguments.model_validate_json(call.arguments)
    except ValidationError:
        usable = False
    return ToolTrial(call.name, usable, took)


async def try_answer(
    library: Library, settings: Settings, model: WatchedModel, question: str, book_id: str
) -> AnswerTrial:
    """Ask the assistant a question, as a reader would."""
    before = len(model.replies)
    started = time.perf_counter()
    answer: Answer | None = None
    problem: BookError | None = None
    try:
        with _explained(ANSWER_SECONDS):
            async with asyncio.timeout(ANSWER_SECONDS):
                assistant = Assistant(library, settings, model)
                answer = await assistant.ask(question, book_id=book_id)
    except BookError as failed:
        problem = failed
    seconds = time.perf_counter() - started
    replies = [reply for reply in model.replies[before:] if reply.words]
    written = max(replies, key=lambda reply: reply.words, default=None)
    return AnswerTrial(question, seconds, answer, problem, written)


@asynccontextmanager
async def trial_library(settings: Settings) -> AsyncIterator[tuple[Library, str]]:
    """A library of its own that holds one page, for as long as it is asked; and the book's id."""
    with TemporaryDirectory() as folder:
        own = settings.model_copy(
            update={
                "home": Path(folder),
                "embedder": "built-in",
                "qdrant_url": None,
                "database_url": None,
            }
        )
        async with await Library.open(own) as library:
            job = await library.ingest(sample_book() / PAGE)
            yield library, job.book_id


async def other_models(settings: Settings, problem: BookError) -> list[str]:
    """What the server has, where it may have refused because it has no such model."""
    cause = problem.__cause__
    if not isinstance(cause, APIStatusError) or cause.status_code not in (400, 404):
        return []
    client = client_of(settings)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            names = [str(one.id) for one in (await client.models.list()).data]
    except FAILURES:  # many servers do not say; then there is nothing to add
        return []
    finally:
        await client.close()
    return [] if settings.openai_model in names else names


def server_message(problem: BookError) -> str:
    """Why it refused the request, in a line; nothing where it may repeat a key."""
    cause = problem.__cause__
    if not isinstance(cause, APIStatusError) or cause.status_code not in (400, 404, 422):
        return ""
    said = cause.body.get("message") if isinstance(cause.body, dict) else None
    words = " ".join(str(said or "").split())
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}…"


@contextmanager
def _explained(seconds: float) -> Iterator[None]:
    try:
        yield
    except TimeoutError as problem:
        raise ModelError(
            f"The language model did not answer within {seconds:g} seconds.",
            action="Try again in a minute, in case it is still loading; otherwise take a smaller "
            "model or a faster machine.",
        ) from problem


async def _never(_context: Any, _arguments: str) -> str:
    raise AssertionError("the tool is offered, not run")
