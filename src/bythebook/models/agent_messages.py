"""A request to the agent and its response, as they enter and leave."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from bythebook.models.answer import ABOUT_STATUS, Answer, CitationEntry, Status
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.chunk import now
from bythebook.models.retrieval_tool import ToolCall
from bythebook.models.values import (
    MAX_QUESTION,
    AnyUuid,
    WrittenMoment,
    new_id,
    not_blank,
    under_its_name,
)

AgentMessage = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION), AfterValidator(not_blank)
]


class AgentMetadata(BaseModel):
    """Anything the caller wants to find again; it is saved with the question and returned."""

    model_config = ConfigDict(extra="allow", strict=True)

    book_id: str | None = Field(
        default=None, min_length=1, description="Default: the only book, or the configured one."
    )


class AgentRequest(BaseModel):
    """A question. An unknown field is an error, never ignored."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"message": "What is a node?"}}
    )

    id: AnyUuid = Field(default_factory=new_id)
    message: AgentMessage
    timestamp: WrittenMoment = Field(default_factory=now)
    metadata: AgentMetadata = Field(default_factory=AgentMetadata)

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_message(cls, given: Any) -> Any:
        return under_its_name(given, "message", "text")


class AgentQuestion(ChatRequest):
    """Its question as those of chats are passed on; the agent takes longer ones."""

    message: AgentMessage


class AgentResponse(BaseModel):
    """The answer to one request."""

    model_config = ConfigDict(extra="forbid")

    id: AnyUuid = Field(default_factory=new_id)
    request_id: AnyUuid
    content: str = Field(min_length=1)
    citations: list[CitationEntry] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(default_factory=list)
    timestamp: AwareDatetime = Field(default_factory=now)
    status: Status = Field(description=ABOUT_STATUS)
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="That of the request, as it was kept."
    )

    @classmethod
    def of(
        cls, answer: Answer, request: AgentRequest, metadata: dict[str, Any] | None = None
    ) -> Self:
        """Taking the request itself is what makes `request_id` one that exists."""
        return cls(
            id=answer.id,
            request_id=request.id,
            content=answer.text,
            citations=[CitationEntry.of(citation) for citation in answer.citations],
            tool_calls=list(answer.tool_calls),
            timestamp=answer.created_at,
            status=answer.status,
            metadata=metadata or {},
        )
