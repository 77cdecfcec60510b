"""What a streaming client hears: the events of a turn as Server-Sent Events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import BaseModel, Field

from bythebook.agent.events import Done, Event, Failed, Retrieved, StateChanged, Token, ToolCalled
from bythebook.models.chat import ChatResponse
from bythebook.models.confidence import ConfidenceMetrics
from bythebook.models.passage import Passage
from bythebook.models.place import NO_TITLES, path_of
from bythebook.models.state_machine import AgentState
from bythebook.server.kept import Kept
from bythebook.server.problems import Problem
from bythebook.server.rendering.answer import answer_html, unfinished_html


class StateEvent(BaseModel):
    """`state`: S0's progress of the request."""

    state: AgentState


class ToolCallEvent(BaseModel):
    """`tool_call`: the model asked for a search."""

    name: str
    arguments: dict[str, Any]


class FoundPassage(BaseModel):
    """A passage that may be cited; `GET /context/{passage_id}` has its text."""

    passage_id: str
    title: str
    section: str | None
    url: str
    path: list[str]
    score: float = Field(ge=0, le=1)

    @classmethod
    def of(cls, passage: Passage, modules: Mapping[str, str] = NO_TITLES) -> Self:
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
class Telling:
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
            case Retrieved(query, passages, confidence):
                self._found |= {passage.id for passage in passages}
                found = [FoundPassage.of(passage, self.modules) for passage in passages]
                told = RetrievalEvent(query=query, passages=found, confidence=confidence)
                return "retrieval", told
            case Token(text):
                self._text += text
                shown = unfinished_html(self._text, len(self._found)) if self.html else None
                return "token", TokenEvent(text=text, html=shown)
            case Done():
                return "done", self.response(event)
            case Failed(error):
                return "error", Problem.of(error, self.request_id)

    def response(self, event: Done) -> ChatResponse:
        """The answer as the client asked for it."""
        kept = event if isinstance(event, Kept) else Kept(event.answer)
        response = ChatResponse.of(
            kept.answer,
            self.session_id,
            answer_id=kept.answer_id,
            nearest=kept.nearest,
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
data: {"query":"What is a node?","passages":[...],"confidence":{...}}

event: token
data: {"text":"A node is a process that performs computation [1].","html":null}

event: done
data: {"response":"A node is a process that performs computation [1].","confidence":0.91,...}

"""
