"""Chat Completions as a stream, in pieces large enough to be worth handling."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from agents import ModelSettings, Tool
from agents.items import TResponseStreamEvent
from agents.models.chatcmpl_converter import Converter
from agents.models.chatcmpl_helpers import ChatCmplHelpers
from agents.models.chatcmpl_stream_handler import ChatCmplStreamHandler
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.tracing import get_trace_provider
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response
from pydantic import ValidationError

from bythebook.agent.scheduling import finish_before, no_first_token, with_silence_limit

TEXTS = {"content", "reasoning_content", "reasoning"}
# Nothing that ends a sentence, and nothing that may open the next one.
INSIDE_A_SENTENCE = re.compile(r"(?:[^\W_]|[ ,;)-])*")


async def in_larger_pieces(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """What only goes on with the text before is put to it, not passed on by itself."""
    held: Any = None
    held_field: str | None = None
    # Whether a sentence may have ended with what was passed on: what comes next tells.
    may_have_ended = True
    async for piece in pieces:
        field = only_text(piece)
        if held is not None and field == held_field:
            _delta(held)[field] += _delta(piece)[field]
            piece = held
        elif held is not None:
            yield held
        held = None
        if field is None:
            may_have_ended = True
            yield piece
            continue
        words = _delta(piece)[field]
        inside = bool(INSIDE_A_SENTENCE.fullmatch(words))
        if field != "content" or (inside and not may_have_ended):
            held, held_field = piece, field
        else:
            may_have_ended = not inside or (may_have_ended and words.isspace())
            yield piece
    if held is not None:
        yield held


def only_text(piece: Any) -> str | None:
    """The field with its words, if the piece says nothing else."""
    match piece:
        case {"choices": [{"index": 0, "delta": {**delta}, **choice}], **rest}:
            said = [name for name, value in delta.items() if value and name != "role"]
            alone = len(said) == 1 and not any(choice.values()) and not rest.get("usage")
            if alone and said[0] in TEXTS and isinstance(delta[said[0]], str):
                return said[0]
    return None


def _delta(piece: Any) -> Any:
    return piece["choices"][0]["delta"]


class Completions:
    """One model behind a Chat Completions service. `first` and `silence` are the seconds that it
    may take for its first words, and between two pieces."""

    def __init__(self, model: str, client: AsyncOpenAI, *, first: float, silence: float) -> None:
        self._model = model
        self._client = client
        self._first = first
        self._silence = silence
        self._is_openai = ChatCmplHelpers.is_openai(client)

    async def stream(
        self, instructions: str | None, items: Any, settings: ModelSettings, tools: list[Tool]
    ) -> AsyncGenerator[TResponseStreamEvent]:
        begin_by = asyncio.get_running_loop().time() + self._first
        async with finish_before(begin_by, no_first_token(self._first)):
            pieces = await self._client.post(
                "/chat/completions",
                body=self._request(instructions, items, settings, tools),
                options={"headers": settings.extra_headers or {}},
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
        living = with_silence_limit(pieces, begin_by, self._first, self._silence)
        async with pieces, aclosing(self._events(living)) as told:
            async for event in told:
                yield event

    async def prepare(self) -> None:
        """The libraries build their classes when a reply first needs them, and a client for traces
        though none are sent, which holds the thread that all readers share for a fifth of a second.
        So they get a reply before anybody asks."""
        get_trace_provider()

        async def reply() -> AsyncIterator[Any]:
            call = {"name": "search", "arguments": "{}"}
            asked = {"index": 0, "id": "call", "type": "function", "function": call}
            for delta in ({"role": "assistant", "content": "Yes."}, {"tool_calls": [asked]}):
                yield {"choices": [{"index": 0, "delta": delta}]}
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

        async for _ in self._events(reply()):
            pass

    def _events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[TResponseStreamEvent]:
        events = ChatCmplStreamHandler.handle_stream(
            _empty_response(self._model),
            cast(AsyncStream[ChatCompletionChunk], _chunks(pieces)),
            model=self._model,
            raise_on_length_truncation=True,
            require_finish_reason=self._is_openai,
        )
        return cast(AsyncGenerator[TResponseStreamEvent], events)

    def _request(
        self, instructions: str | None, items: Any, settings: ModelSettings, tools: list[Tool]
    ) -> dict[str, Any]:
        messages: list[Any] = Converter.items_to_messages(
            items, model=self._model, base_url=str(self._client.base_url)
        )
        if instructions:
            messages.insert(0, {"role": "system", "content": instructions})
        asked = {
            "model": self._model,
            "messages": messages,
            "tools": [Converter.tool_to_openai(tool) for tool in tools] or None,
            "tool_choice": settings.tool_choice,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "store": ChatCmplHelpers.get_store_param(self._client, settings),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return {name: value for name, value in asked.items() if value is not None}


async def _chunks(pieces: AsyncIterator[Any]) -> AsyncIterator[ChatCompletionChunk]:
    async for piece in in_larger_pieces(pieces):
        try:
            yield ChatCompletionChunk.model_validate(piece)
        except ValidationError:  # services leave out or add what they like
            yield ChatCompletionChunk.construct(**cast(dict[str, Any], piece))


def _empty_response(model: str) -> Response:
    return Response.model_construct(
        id=FAKE_RESPONSES_ID,
        created_at=time.time(),
        model=model,
        object="response",
        output=[],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )
