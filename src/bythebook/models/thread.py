"""S4's conversation thread: the view of a conversation that is stored and sent to clients."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bythebook.models.chunk import now
from bythebook.models.citation import CitationEntry
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.identity import Uuid4, new_id
from bythebook.models.moment import UtcDatetime
from bythebook.models.summary import MAX_SUMMARY

MAX_LIVE_MESSAGES = 50
MAX_LIVE_TURNS = MAX_LIVE_MESSAGES // 2


class ThreadMessage(BaseModel):
    """S4's message, then what bythebook adds to an answer: `sources[0]` names what `[1]` points to,
    `citations` say where it stands. Only an answer has a confidence and these."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["user", "assistant"]
    content: str = Field(min_length=1)
    timestamp: UtcDatetime
    confidence: float | None = Field(default=None, ge=0, le=1)

    refused: bool | None = None
    sources: list[str] = Field(default_factory=list)
    citations: list[CitationEntry] = Field(default_factory=list)
    # Made when it is asked for, and never stored.
    html: str | None = None

    @model_validator(mode="after")
    def _only_answers_are_sure(self) -> Self:
        if self.role == "assistant":
            return self
        if self.confidence is not None:
            raise ValueError("only the assistant's message has a confidence")
        if self.refused is not None or self.sources or self.citations:
            raise ValueError("only the assistant's message refuses or cites")
        return self


class ConversationThread(BaseModel):
    """The live messages of a conversation, oldest first. It begins with a question: what moves to
    the archive moves in whole exchanges."""

    model_config = ConfigDict(extra="forbid")

    thread_id: Uuid4 = Field(default_factory=new_id)
    messages: list[ThreadMessage] = Field(default_factory=list, max_length=MAX_LIVE_MESSAGES)
    created_at: UtcDatetime = Field(default_factory=now)
    updated_at: UtcDatetime = Field(default_factory=now)
    topic_summary: str | None = Field(default=None, max_length=MAX_SUMMARY)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.messages and self.messages[0].role != "user":
            raise ValueError("the first message is not the user's")
        for before, after in pairwise(self.messages):
            if before.role == after.role:
                raise ValueError("user and assistant do not alternate")
            if before.timestamp > after.timestamp:
                raise ValueError("messages are not in the order of their times")
        if self.updated_at < self.created_at:
            raise ValueError("updated_at is before created_at")
        return self

    @classmethod
    def of(cls, conversation: Conversation, metadata: dict[str, Any] | None = None) -> Self:
        messages = messages_of(conversation.window(MAX_LIVE_TURNS), conversation.created_at)
        return cls(
            thread_id=conversation.id,
            messages=messages,
            created_at=conversation.created_at,
            updated_at=messages[-1].timestamp if messages else conversation.created_at,
            topic_summary=conversation.topic_summary or None,
            metadata=metadata or {},
        )

    def turns(self) -> list[Turn]:
        """The whole exchanges among the messages, as `messages_of` takes them."""
        return [
            _turn(question, answer)
            for question, answer in zip(self.messages[::2], self.messages[1::2], strict=False)
        ]


def messages_of(turns: Iterable[Turn], since: datetime) -> list[ThreadMessage]:
    messages: list[ThreadMessage] = []
    # A clock may be set back; the order of the messages is what is true.
    latest = since
    for turn in turns:
        asked = max(latest, turn.asked_at)
        latest = max(asked, turn.answered_at)
        messages += [
            ThreadMessage(role="user", content=turn.question, timestamp=asked),
            ThreadMessage(
                role="assistant",
                content=turn.answer,
                timestamp=latest,
                confidence=turn.confidence,
                refused=turn.refused,
                sources=list(turn.sources),
                citations=list(turn.citations),
            ),
        ]
    return messages


def _turn(question: ThreadMessage, answer: ThreadMessage) -> Turn:
    return Turn(
        question=question.content,
        answer=answer.content,
        sources=tuple(answer.sources),
        refused=bool(answer.refused),
        confidence=answer.confidence or 0.0,
        asked_at=question.timestamp,
        answered_at=answer.timestamp,
        citations=tuple(answer.citations),
    )
