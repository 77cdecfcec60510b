"""An OpenAI-compatible language model that retries, gives up in time, and says clearly why."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from agents import Model, ModelResponse, ModelSettings, OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from agents.models.interface import ModelTracing
from aiohttp import encode_basic_auth
from openai import AsyncOpenAI, DefaultAioHttpClient, NotFoundError, Timeout
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from yarl import URL

from bythebook.agent.completions import Completions
from bythebook.agent.model_errors import (
    FAILURES,
    QUOTE_INSTEAD,
    ModelPlace,
    asked_pause,
    explain,
    is_passing,
    timed_out,
    why_unconnected,
)
from bythebook.agent.scheduling import (
    Breaker,
    OutOfTime,
    finish_before,
    no_completion,
    stream_before,
)
from bythebook.errors import ConfigurationError, ModelError
from bythebook.models.values import shown_address
from bythebook.settings.agent import AgentConfig
from bythebook.tracing import Span, span


def events_of(reply: ModelResponse, model: str) -> Iterator[TResponseStreamEvent]:
    """The reply as a stream: its text in one piece, then the end."""
    for number, item in enumerate(reply.output):
        if not isinstance(item, ResponseOutputMessage):
            continue
        for part_number, part in enumerate(item.content):
            if isinstance(part, ResponseOutputText):
                yield ResponseTextDeltaEvent(
                    content_index=part_number,
                    delta=part.text,
                    item_id=item.id,
                    logprobs=[],
                    output_index=number,
                    sequence_number=number,
                    type="response.output_text.delta",
                )
    yield ResponseCompletedEvent(
        response=Response(
            id=reply.response_id or f"resp_{uuid.uuid4().hex}",
            created_at=time.time(),
            model=model,
            object="response",
            output=reply.output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
            usage=ResponseUsage(
                input_tokens=reply.usage.input_tokens,
                input_tokens_details=reply.usage.input_tokens_details,
                output_tokens=reply.usage.output_tokens,
                output_tokens_details=reply.usage.output_tokens_details,
                total_tokens=reply.usage.total_tokens,
            ),
        ),
        sequence_number=len(reply.output),
        type="response.completed",
    )


# A server that asks for a longer pause than this is reported at once.
LONGEST_PAUSE = 30.0
CHECK_SECONDS = 2.5
# A server that is there takes a connection at once, however slow its model is.
CONNECT_SECONDS = 10.0


class LanguageModel(Model):
    """Retries until text has been passed on: what a reader may have seen is not said twice."""

    def __init__(self, config: AgentConfig) -> None:
        self.name = config.openai_model
        self._config = config
        self._breaker = Breaker(config.breaker_failures, config.breaker_seconds)
        self._client = client_of(config)
        self._whole = OpenAIChatCompletionsModel(self.name, self._client)
        self._pieces = Completions(
            self.name,
            self._client,
            first=config.first_token_timeout,
            silence=config.silence_timeout,
        )
        self._last_problem = ""

    async def close(self) -> None:
        await self._client.close()

    async def prepare(self) -> None:
        """So that the first question is answered like the next; nothing is sent."""
        await self._pieces.prepare()

    async def check(self) -> str:
        """Ask the server for its models, which costs nothing; raises ModelError where it is of no
        use now. Returns what is worth knowing, which for most servers is nothing."""
        self._refuse_while_open()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                reply = await self._client.models.with_raw_response.list(timeout=CHECK_SECONDS)
            known = {model["id"] for model in json.loads(reply.content)["data"]}
        except NotFoundError:
            return "The server does not list its models."
        except (*FAILURES, LookupError) as problem:
            if timed_out(problem):
                raise ModelError(
                    f"The language model did not answer within {CHECK_SECONDS:g} seconds."
                ) from problem
            raise self._explain(problem) from problem
        return "" if self.name in known else f"The server does not list the model {self.name!r}."

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        for attempt in range(self._config.retries + 1):
            self._refuse_while_open()
            try:
                with self._call(attempt) as trace:
                    traced = (*args[:2], _with_trace(args[2], trace), *args[3:])
                    async with finish_before(*self._end()):
                        reply = await self._whole.get_response(*traced, **kwargs)
            except FAILURES as problem:
                await self._pause_or_raise(problem, attempt)
            else:
                self._breaker.succeeded()
                return reply
        raise AssertionError("the last attempt returns or raises")

    async def stream_response(
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        if not self._config.openai_stream:
            for event in events_of(await self.get_response(*args, **kwargs), self.name):
                yield event
            return
        instructions, items, model_settings, tools = args[:4]
        for attempt in range(self._config.retries + 1):
            self._refuse_while_open()
            held: list[TResponseStreamEvent] = []
            passing = False
            try:
                with self._call(attempt) as trace:
                    traced = _with_trace(model_settings, trace)
                    stream = self._pieces.stream(instructions, items, traced, tools)
                    async with aclosing(stream_before(stream, *self._end())) as events:
                        async for event in events:
                            held.append(event)
                            passing = passing or event.type == "response.output_text.delta"
                            while passing and held:
                                yield held.pop(0)
            except FAILURES as problem:
                await self._pause_or_raise(problem, attempt, too_late=passing)
            else:
                self._breaker.succeeded()
                for event in held:
                    yield event
                return

    async def reply(self, instructions: str, text: str, max_tokens: int) -> str:
        """What it says to a single request."""
        reply = await self.get_response(
            instructions,
            text,
            ModelSettings(temperature=self._config.temperature, max_tokens=max_tokens),
            [],
            None,
            [],
            ModelTracing.DISABLED,
        )
        return "".join(
            part.text
            for item in reply.output
            if isinstance(item, ResponseOutputMessage)
            for part in item.content
            if isinstance(part, ResponseOutputText)
        )

    def _end(self) -> tuple[float, OutOfTime]:
        """When a request that begins now must be over, and what is told where it is not."""
        seconds = self._config.completion_timeout
        return asyncio.get_running_loop().time() + seconds, no_completion(seconds)

    def _call(self, attempt: int) -> Span:
        return span("model", current=False, model=self.name, attempt=attempt + 1)

    def _refuse_while_open(self) -> None:
        if self._breaker.open_for > 0:
            raise ModelError(
                f"The language model has failed {self._breaker.failures} times in a row and is "
                f"left alone for {self._breaker.open_for:.0f} more seconds. {self._last_problem}",
                action=f"Ask again later, {QUOTE_INSTEAD}",
            )

    async def _pause_or_raise(
        self, problem: Exception, attempt: int, too_late: bool = False
    ) -> None:
        """Wait before the next attempt, or raise what a person can understand."""
        explained = self._explain(problem, too_late)
        passing = is_passing(problem)
        if passing:
            self._last_problem = explained.message
            self._breaker.failed()
        pause = max(self._config.retry_delay * 2**attempt, asked_pause(problem))
        last = attempt >= self._attempts_after(problem) or pause > LONGEST_PAUSE
        if too_late or last or not passing:
            raise explained from problem
        self._refuse_while_open()
        await asyncio.sleep(pause)

    def _attempts_after(self, problem: Exception) -> int:
        """Who was waited for in vain, for minutes perhaps, is not waited for again; where nobody
        listens, somebody may in a moment, but hardly later."""
        if isinstance(problem, OutOfTime):
            return 0
        return min(1, self._config.retries) if why_unconnected(problem) else self._config.retries

    def _explain(self, problem: Exception, cut: bool = False) -> ModelError:
        if cut:
            raising = f", or raise {problem.setting}" if isinstance(problem, OutOfTime) else ""
            return ModelError(
                "The language model stopped in the middle of its answer.",
                action=f"Ask again{raising}.",
            )
        config = self._config
        place = ModelPlace(shown_address(config.openai_base_url), config.chosen_on_page)
        return explain(problem, self.name, place)


def client_of(config: AgentConfig) -> AsyncOpenAI:
    """With aiohttp, which takes a third less than the usual client for each piece of a stream, on
    the one thread that all readers share."""
    key = config.openai_api_key
    address, login = _address_and_login(config.openai_base_url)
    return AsyncOpenAI(
        api_key=key.get_secret_value() if key else "none",
        base_url=address,
        default_headers={"Authorization": login} if login else None,
        # How long a reply may take is for those who wait for it to say.
        timeout=Timeout(None, connect=CONNECT_SECONDS),
        max_retries=0,
        http_client=DefaultAioHttpClient(),
    )


def _address_and_login(given: str) -> tuple[str, str]:
    """Apart, since aiohttp refuses a login in an address beside a key."""
    try:
        url = URL(given)
        login = encode_basic_auth(url.user or "", url.password or "") if url.raw_user else ""
        if url.scheme in ("http", "https") and url.host:
            return str(url.with_user(None)), login
        cause: Exception | None = None
    except (ValueError, LookupError) as problem:
        cause = problem
    raise ConfigurationError(
        "OPENAI_BASE_URL is not a web address.",
        action="Give one such as https://api.openai.com/v1.",
    ) from cause


def _with_trace(settings: ModelSettings, trace: Span) -> ModelSettings:
    """With what lets the model's server go on with the trace, if there is one."""
    headers = trace.headers()
    return settings.resolve(ModelSettings(extra_headers=headers)) if headers else settings
