"""Server-Sent Events: the events of a turn, with signs of life, until the client leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bythebook.agent.events import (
    AgentState,
    Done,
    Event,
    Failed,
    Retrieved,
    StateChanged,
    Token,
    ToolCalled,
)
from bythebook.models.chat_messages import ChatResponse
from bythebook.models.passage import ConfidenceMetrics, Passage, path_of
from bythebook.server.conversations import SavedAnswer
from bythebook.server.error_responses import Problem
from bythebook.server.rendering import answer_html, unfinished_html

logger = logging.getLogger(__name__)

HEARTBEAT = b": still here\n\n"
# A client that takes nothing for so long is treated as gone.
SEND_TIMEOUT = 30.0
HEADERS = {
    # Proxies that collect or compress a stream would hold it back.
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}

T = TypeVar("T")


class EventStream(Response):
    """Sends what `events` yields; closing it, which ends its work, when the client has left."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[bytes], heartbeat: float, headers: dict[str, str]
    ) -> None:
        super().__init__(headers={**HEADERS, **headers})
        # Its length is not known.
        del self.headers["content-length"]
        self.events = events
        self.heartbeat = heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        try:
            await _until_first(self._write(send), _until_disconnect(receive))
        except TimeoutError:
            logger.info("A client took nothing for %g seconds; its stream was ended", SEND_TIMEOUT)

    async def _write(self, send: Send) -> None:
        """What comes in the same moment is sent together: each piece costs as much as all."""
        waiting = bytearray()
        news = asyncio.Event()

        async def collect() -> None:
            async with aclosing(self.events) as events:
                async for event in events:
                    waiting.extend(event)
                    news.set()

        collecting = asyncio.create_task(collect())
        collecting.add_done_callback(lambda _: news.set())
        try:
            ended = False
            while not ended:
                try:
                    async with asyncio.timeout(self.heartbeat):
                        await news.wait()
                except TimeoutError:
                    if not news.is_set():
                        waiting.extend(HEARTBEAT)
                news.clear()
                ended = collecting.done()
                more = not ended or collecting.exception() is not None
                body = bytes(waiting)
                waiting.clear()
                async with asyncio.timeout(SEND_TIMEOUT):
                    await send({"type": "http.response.body", "body": body, "more_body": more})
        finally:
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)
        collecting.result()


async def while_connected(request: Request, work: Awaitable[T]) -> T | None:
    """The result of the work; None, and the work is cancelled, when the client leaves first."""
    return await _until_first(work, _until_disconnect(request.receive))


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _until_first(work: Awaitable[T], leaving: Awaitable[None]) -> T | None:
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


class StateEvent(BaseModel):
    """`state`: progress of the request."""

    state: AgentState


class ToolCallEvent(BaseModel):
    """`tool_call`: the model asked for a search."""

    name: str
    arguments: dict[str, Any] = Field(
        description="As asked for; the record of the call has those that held."
    )


class FoundPassage(BaseModel):
    """A passage that may be cited; `GET /context/{passage_id}` has its text."""

    passage_id: str
    title: str
    section: str | None
    url: str
    path: list[str]
    score: float = Field(ge=0, le=1)

    @classmethod
    def of(cls, passage: Passage, modules: Mapping[str, str]) -> Self:
        place = passage.metadata
        return cls(
            passage_id=passage.id,
            title=place.title,
            section=place.section_title,
            url=place.url,
            path=path_of(place, modules),
            score=passage.score,
        )


class RetrievalEvent(BaseModel):
    """`retrieval`: what a search found that may be cited, and how sure the book can answer."""

    query: str
    passages: list[FoundPassage]
    confidence: ConfidenceMetrics
    total_chunks_found: int = Field(
        ge=0, description="Passages that the filters left to be searched."
    )
    retrieval_time_ms: float = Field(ge=0)


class TokenEvent(BaseModel):
    """`token`: text of the answer, verified. Joined together the tokens are the answer."""

    text: str
    html: str | None = Field(
        default=None,
        description="If asked for, the whole answer so far as safe HTML: it replaces the last.",
    )


# By name; the last two end the stream, and exactly one of them does.
EVENTS: dict[str, type[BaseModel]] = {
    "state": StateEvent,
    "tool_call": ToolCallEvent,
    "retrieval": RetrievalEvent,
    "token": TokenEvent,
    "done": ChatResponse,
    "error": Problem,
}

# How OpenAPI describes one event of a stream.
EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": list(EVENTS)},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


@dataclass
class EventSerializer:
    """What one client is told of one turn. `modules` are the titles of the book's modules."""

    session_id: str
    request_id: str
    html: bool
    modules: Mapping[str, str]
    _text: str = ""
    _found: set[str] = field(default_factory=set)

    def to_sse(self, event: Event) -> bytes:
        name, data = self._named(event)
        # JSON has no line breaks of its own, so one data line holds it.
        return f"event: {name}\ndata: {data.model_dump_json()}\n\n".encode()

    def _named(self, event: Event) -> tuple[str, BaseModel]:
        match event:
            case StateChanged(state):
                return "state", StateEvent(state=state)
            case ToolCalled(name, arguments):
                return "tool_call", ToolCallEvent(name=name, arguments=arguments)
            case Retrieved(query, passages, confidence, total_found, milliseconds):
                self._found |= {passage.id for passage in passages}
                return "retrieval", RetrievalEvent(
                    query=query,
                    passages=[FoundPassage.of(passage, self.modules) for passage in passages],
                    confidence=confidence,
                    total_chunks_found=total_found,
                    retrieval_time_ms=round(milliseconds, 3),
                )
            case Token(text):
                self._text += text
                shown = unfinished_html(self._text, len(self._found)) if self.html else None
                return "token", TokenEvent(text=text, html=shown)
            case Done():
                assert isinstance(event, SavedAnswer)
                return "done", self.response(event)
            case Failed(error):
                return "error", Problem.of(error, self.request_id)

    def response(self, saved: SavedAnswer) -> ChatResponse:
        """The answer as the client asked for it."""
        response = ChatResponse.of(
            saved.answer,
            self.session_id,
            answer_id=saved.answer_id,
            modules=self.modules,
        )
        if self.html:
            response.html = answer_html(response.response, response.citations)
        return response


STREAM_EXAMPLE = """\
event: state
data: {"state":"received"}

event: tool_call
data: {"name":"search_textbook","arguments":{"query":"What is a node?"}}

event: retrieval
data: {"query":"What is a node?","passages":[...],"confidence":{...},...}

event: token
data: {"text":"A node is a process that performs computation [1].","html":null}

event: done
data: {"response":"A node is a process that performs computation [1].","confidence":0.91,...}

"""
