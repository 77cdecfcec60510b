"""A model's whole reply as the SDK wants it: for models that do not stream by themselves."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from agents import ModelResponse, Usage
from agents.items import TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)


def text_reply(text: str) -> ModelResponse:
    message = ResponseOutputMessage(
        id=f"msg_{uuid.uuid4().hex}",
        content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
        role="assistant",
        status="completed",
        type="message",
    )
    return ModelResponse(output=[message], usage=Usage(requests=1), response_id=None)


def tool_reply(name: str, arguments: dict[str, Any]) -> ModelResponse:
    call = ResponseFunctionToolCall(
        arguments=json.dumps(arguments, ensure_ascii=False),
        call_id=f"call_{uuid.uuid4().hex}",
        name=name,
        type="function_call",
    )
    return ModelResponse(output=[call], usage=Usage(requests=1), response_id=None)


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
