"""Chat Completions as a stream, without what the official client does around each request.

That client copies a request field by field and builds every piece of a reply as an object in
Python: 20 ms a turn, on the one thread that all readers share. Here the request is sent as it is
and a piece is read in one step. What the pieces mean is left to the SDK.
"""

from __future__ import annotations

import asyncio
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
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response
from pydantic import ValidationError

from bythebook.agent.patience import alive, by, not_begun
from bythebook.agent.pieces import together


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
        async with by(begin_by, not_begun(self._first)):
            pieces = await self._client.post(
                "/chat/completions",
                body=self._request(instructions, items, settings, tools),
                options={"headers": settings.extra_headers or {}},
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
        living = alive(pieces, begin_by, self._first, self._silence)
        events = ChatCmplStreamHandler.handle_stream(
            _empty_response(self._model),
            cast(AsyncStream[ChatCompletionChunk], _chunks(living)),
            model=self._model,
            raise_on_length_truncation=True,
            require_finish_reason=self._is_openai,
        )
        async with pieces, aclosing(cast(AsyncGenerator[TResponseStreamEvent], events)) as told:
            async for event in told:
                yield event

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
    async for piece in together(pieces):
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
