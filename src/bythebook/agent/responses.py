"""A model's whole reply as the SDK wants it: for models that do not stream by themselves."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

from agents import ModelResponse
from agents.items import TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)


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
