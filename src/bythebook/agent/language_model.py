"""An OpenAI-compatible language model that retries, gives up in time, and says clearly why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agents import Model, ModelResponse, ModelSettings, OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from aiohttp import encode_basic_auth
from openai import AsyncOpenAI, DefaultAioHttpClient, NotFoundError, Timeout
from yarl import URL

from bythebook.agent.breaker import Breaker
from bythebook.agent.completions import Completions
from bythebook.agent.model_problems import (
    FAILURES,
    QUOTE_INSTEAD,
    asked_pause,
    explain,
    is_passing,
    timed_out,
    why_unconnected,
)
from bythebook.agent.patience import OutOfTime, all_by, by, not_ended
from bythebook.agent.responses import events_of
from bythebook.errors import ConfigurationError, ModelError
from bythebook.models.address import shown_address
from bythebook.settings import Settings
from bythebook.tracing.spans import Span, span

# A server that asks for a longer pause than this is reported at once.
LONGEST_PAUSE = 30.0
CHECK_SECONDS = 2.5
# A server that is there takes a connection at once, however slow its model is.
CONNECT_SECONDS = 10.0


class LanguageModel(Model):
    """Retries until text has been passed on: what a reader may have seen is not said twice."""

    def __init__(self, settings: Settings) -> None:
        self.name = settings.openai_model
        self._settings = settings
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._client = client_of(settings)
        self._whole = OpenAIChatCompletionsModel(self.name, self._client)
        self._pieces = Completions(
            self.name,
            self._client,
            first=settings.first_token_timeout,
            silence=settings.silence_timeout,
        )
        self._last_problem = ""

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
            raise self._explain(problem) from problem
        return "" if self.name in known else f"The server does not list the model {self.name!r}."

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        for attempt in range(self._settings.retries + 1):
            self._refuse_while_open()
            try:
                with self._call(attempt) as told:
                    traced = (*args[:2], _traced(args[2], told), *args[3:])
                    async with by(*self._end()):
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
                    async with aclosing(all_by(stream, *self._end())) as events:
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

    def _end(self) -> tuple[float, OutOfTime]:
        """When a request that begins now must be over, and what is told where it is not."""
        seconds = self._settings.completion_timeout
        return asyncio.get_running_loop().time() + seconds, not_ended(seconds)

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
        pause = max(self._settings.retry_delay * 2**attempt, asked_pause(problem))
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
        return (
            min(1, self._settings.retries) if why_unconnected(problem) else self._settings.retries
        )

    def _explain(self, problem: Exception, cut: bool = False) -> ModelError:
        if cut:
            raising = f", or raise {problem.setting}" if isinstance(problem, OutOfTime) else ""
            return ModelError(
                "The language model stopped in the middle of its answer.",
                action=f"Ask again{raising}.",
            )
        return explain(problem, self.name, shown_address(self._settings.openai_base_url))


def client_of(settings: Settings) -> AsyncOpenAI:
    """With aiohttp, which takes a third less than the usual client for each piece of a stream, on
    the one thread that all readers share."""
    key = settings.openai_api_key
    address, login = _address_and_login(settings.openai_base_url)
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
