"""S0's request to the agent and its response, as they enter and leave."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from bythebook.models.answer import Answer, Status
from bythebook.models.chat import ChatRequest
from bythebook.models.chunk import now
from bythebook.models.citation import CitationEntry
from bythebook.models.identity import AnyUuid, new_id
from bythebook.models.moment import WrittenMoment
from bythebook.models.text import MAX_QUESTION, not_blank
from bythebook.models.tool import ToolCallRecord

AgentMessage = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION), AfterValidator(not_blank)
]


class AgentRequest(BaseModel):
    """A question. An unknown field is an error, never ignored."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"message": "What is a node?"}}
    )

    id: AnyUuid = Field(default_factory=new_id)
    message: AgentMessage
    timestamp: WrittenMoment = Field(default_factory=now)
    metadata: dict[str, Any] = Field(default_factory=dict)


class AgentQuestion(ChatRequest):
    """Its question as those of chats are passed on; S0 allows longer ones."""

    message: AgentMessage


class AgentResponse(BaseModel):
    """The answer to one request. S0's `fallback` is an answer by the built-in answerer because the
    language model was down; a refusal is a success."""

    model_config = ConfigDict(extra="forbid")

    id: AnyUuid = Field(default_factory=new_id)
    request_id: AnyUuid
    content: str = Field(min_length=1)
    citations: list[CitationEntry] = Field(default_factory=list)
    tool_calls: list[ToolCallRecord] = Field(default_factory=list)
    timestamp: AwareDatetime = Field(default_factory=now)
    status: Status

    @classmethod
    def of(cls, answer: Answer, request: AgentRequest) -> Self:
        """Taking the request itself is what makes `request_id` one that exists."""
        return cls(
            id=answer.id,
            request_id=request.id,
            content=answer.text,
            citations=[CitationEntry.of(citation) for citation in answer.citations],
            tool_calls=[ToolCallRecord.of(call) for call in answer.tool_calls],
            timestamp=answer.created_at,
            status=answer.status,
        )
