"""An OpenAI-compatible language model that retries, gives up in time, and says clearly why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

from agents import (
    Model,
    ModelBehaviorError,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
)
from agents.items import TResponseStreamEvent
from aiohttp import encode_basic_auth
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    AsyncOpenAI,
    DefaultAioHttpClient,
    NotFoundError,
)
from yarl import URL

from bythebook.agent.breaker import Breaker
from bythebook.agent.completions import Completions
from bythebook.agent.responses import events_of
from bythebook.errors import ConfigurationError, ModelError
from bythebook.models.address import shown_address
from bythebook.settings import Settings
from bythebook.tracing.spans import Span, span

# A server that asks for a longer pause than this is reported at once.
LONGEST_PAUSE = 30.0
CHECK_SECONDS = 2.5
QUOTE_INSTEAD = "or set BYTHEBOOK_ANSWERER=built-in to have the book quoted instead."

T = TypeVar("T")


class LanguageModel(Model):
    """Retries until text has been passed on: what a reader may have seen is not said twice."""

    def __init__(self, settings: Settings) -> None:
        self.name = settings.openai_model
        self._settings = settings
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._client = client_of(settings)
        self._whole = OpenAIChatCompletionsModel(self.name, self._client)
        self._pieces = Completions(self.name, self._client)

    async def close(self) -> None:
        await self._client.close()

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
            raise self._explain(problem, cut=False) from problem
        return "" if self.name in known else f"The server does not list the model {self.name!r}."

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        for attempt in range(self._settings.retries + 1):
            self._refuse_while_open()
            try:
                with self._call(attempt) as told:
                    traced = (*args[:2], _traced(args[2], told), *args[3:])
                    async with asyncio.timeout(self._settings.completion_timeout):
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
        if not self._settings.openai_stream:
            for event in events_of(await self.get_response(*args, **kwargs), self.name):
                yield event
            return
        instructions, items, model_settings, tools = args[:4]
        for attempt in range(self._settings.retries + 1):
            self._refuse_while_open()
            held: list[TResponseStreamEvent] = []
            passing = False
            try:
                with self._call(attempt) as told:
                    traced = _traced(model_settings, told)
                    stream = self._pieces.stream(instructions, items, traced, tools)
                    timed = within(stream, self._settings.completion_timeout)
                    async with aclosing(timed) as events:
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

    def _call(self, attempt: int) -> Span:
        return span("model", current=False, model=self.name, attempt=attempt + 1)

    def _refuse_while_open(self) -> None:
        if self._breaker.open_for > 0:
            raise ModelError(
                f"The language model has failed {self._breaker.failures} times in a row and is "
                f"left alone for {self._breaker.open_for:.0f} more seconds.",
                action=f"Ask again later, {QUOTE_INSTEAD}",
            )

    async def _pause_or_raise(
        self, problem: Exception, attempt: int, too_late: bool = False
    ) -> None:
        """Wait before the next attempt, or raise what a person can understand."""
        passing = is_passing(problem)
        if passing:
            self._breaker.failed()
        pause = max(self._settings.retry_delay * 2**attempt, asked_pause(problem))
        last = attempt == self._settings.retries or pause > LONGEST_PAUSE
        if too_late or last or not passing:
            raise self._explain(problem, too_late) from problem
        self._refuse_while_open()
        await asyncio.sleep(pause)

    def _explain(self, problem: Exception, cut: bool) -> ModelError:
        where = shown_address(self._settings.openai_base_url)
        if cut:
            message = "The language model stopped in the middle of its answer."
            action = "Ask again."
        elif timed_out(problem):
            seconds = self._settings.completion_timeout
            message = f"The language model did not answer within {seconds:g} seconds."
            action = f"Ask again, raise COMPLETION_TIMEOUT, {QUOTE_INSTEAD}"
        elif isinstance(problem, APIConnectionError):
            message = f"The language model at {where} can't be reached."
            action = f"Check OPENAI_BASE_URL and the network, {QUOTE_INSTEAD}"
        elif isinstance(problem, APIStatusError):
            message, action = self._explain_status(problem)
        else:
            message = f"The language model at {where} sent something that is not a chat completion."
            action = f"Check OPENAI_BASE_URL, {QUOTE_INSTEAD}"
        return ModelError(message, action=action)

    def _explain_status(self, problem: APIStatusError) -> tuple[str, str]:
        status = problem.status_code
        if status == 429:
            wait = asked_pause(problem)
            soon = f"in {wait:.0f} seconds" if wait else "later"
            return "The language model is over its rate limit.", f"Ask again {soon}."
        if status in (401, 403):
            return "The language model's server refused the key.", "Check OPENAI_API_KEY."
        if status == 404:
            return (
                f"The server has no model {self.name!r}, or is not OpenAI-compatible.",
                "Check OPENAI_MODEL and OPENAI_BASE_URL.",
            )
        if status >= 500:
            return (
                f"The language model failed (HTTP {status}).",
                f"Ask again later, {QUOTE_INSTEAD}",
            )
        return (
            f"The language model did not accept the request (HTTP {status}).",
            f"Check OPENAI_MODEL and its limits, {QUOTE_INSTEAD}",
        )


def client_of(settings: Settings) -> AsyncOpenAI:
    """With aiohttp, which takes a third less than the usual client for each piece of a stream, on
    the one thread that all readers share."""
    key = settings.openai_api_key
    address, login = _address_and_login(settings.openai_base_url)
    return AsyncOpenAI(
        api_key=key.get_secret_value() if key else "none",
        base_url=address,
        default_headers={"Authorization": login} if login else None,
        timeout=settings.completion_timeout,
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
        cause = None
    except ValueError as problem:
        cause = problem
    raise ConfigurationError(
        "OPENAI_BASE_URL is not a web address.",
        action="Give one such as https://api.openai.com/v1.",
    ) from cause


def _traced(settings: ModelSettings, told: Span) -> ModelSettings:
    """With what lets the model's server go on with the trace, if there is one."""
    headers = told.headers()
    return settings.resolve(ModelSettings(extra_headers=headers)) if headers else settings


# A stream that is not what it should be surfaces in the client as one of the last three.
FAILURES = (APIError, TimeoutError, ModelBehaviorError, ValueError, AttributeError, TypeError)


def timed_out(problem: BaseException | None) -> bool:
    """Told by the causes: the client takes every lost connection for one out of time."""
    while problem is not None and not isinstance(problem, TimeoutError):
        problem = problem.__cause__
    return problem is not None


def is_passing(problem: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(problem, APIStatusError):
        return problem.status_code in (408, 409, 429) or problem.status_code >= 500
    return True


def asked_pause(problem: Exception) -> float:
    """The seconds a server asked to wait, in `Retry-After`."""
    if not isinstance(problem, APIStatusError):
        return 0.0
    value = problem.response.headers.get("retry-after", "")
    return float(value) if value.replace(".", "", 1).isdigit() else 0.0


async def within(stream: AsyncGenerator[T], seconds: float) -> AsyncGenerator[T]:
    """The stream, as long as it ends in time: a trickle must not last forever."""
    deadline = asyncio.get_running_loop().time() + seconds
    async with aclosing(stream):
        while True:
            try:
                # Not around the loop: the clock must not end what is done with an item.
                async with asyncio.timeout_at(deadline):
                    item = await anext(stream)
            except StopAsyncIteration:
                return
            yield item
