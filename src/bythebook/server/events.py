"""What a streaming client hears: the events of a turn as Server-Sent Events."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from bythebook.agent.events import Done, Event, Failed, Retrieved, StateChanged, Token, ToolCalled
from bythebook.models.chat import ChatResponse
from bythebook.models.confidence import ConfidenceMetrics
from bythebook.models.passage import Passage
from bythebook.models.state_machine import AgentState
from bythebook.server.problems import Problem


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
    score: float = Field(ge=0, le=1)

    @classmethod
    def of(cls, passage: Passage) -> Self:
        place = passage.metadata
        return cls(
            passage_id=passage.id,
            title=place.title,
            section=place.section_title,
            url=place.url,
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


def to_sse(event: Event, session_id: str, request_id: str) -> bytes:
    name, data = _named(event, session_id, request_id)
    # JSON has no line breaks of its own, so one data line holds it.
    return f"event: {name}\ndata: {data.model_dump_json()}\n\n".encode()


def _named(event: Event, session_id: str, request_id: str) -> tuple[str, BaseModel]:
    match event:
        case StateChanged(state):
            return "state", StateEvent(state=state)
        case ToolCalled(name, arguments):
            return "tool_call", ToolCallEvent(name=name, arguments=arguments)
        case Retrieved(query, passages, confidence):
            found = [FoundPassage.of(passage) for passage in passages]
            return "retrieval", RetrievalEvent(query=query, passages=found, confidence=confidence)
        case Token(text):
            return "token", TokenEvent(text=text)
        case Done(answer):
            return "done", ChatResponse.of(answer, session_id)
        case Failed(error):
            return "error", Problem.of(error, request_id)


STREAM_EXAMPLE = """\
event: state
data: {"state":"received"}

event: tool_call
data: {"name":"search_textbook","arguments":{"query":"What is a node?"}}

event: retrieval
data: {"query":"What is a node?","passages":[...],"confidence":{...}}

event: token
data: {"text":"A node is a process that performs computation [1]."}

event: done
data: {"response":"A node is a process that performs computation [1].","confidence":0.91,...}

"""
