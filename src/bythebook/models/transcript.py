"""A conversation as a list of messages: S1's ConversationState and S2's Conversation.

Both are views of the one `Conversation` inside. They hold questions and answers; what an earlier
turn's searches returned is not kept, because every turn searches anew and cites only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from bythebook.models.chunk import now
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.identity import AnyUuid, new_id
from bythebook.models.tool import ToolCallRecord

Role = Literal["system", "user", "assistant", "tool"]
# S2's soft limit: a longer transcript is valid, and says of itself that it is long.
LONG = 100
# S1's protection of the context window: the most turns a language model is given.
MAX_WINDOW = 20


class Message(BaseModel):
    """S1's and S2's message; it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Role
    content: str
    timestamp: AwareDatetime = Field(default_factory=now)
    name: str | None = Field(default=None, description="Name of the tool that answered.")
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.role == "user" and not self.content.strip():
            raise ValueError("a user's message is not empty")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only the assistant calls tools")
        if self.tool_call_id is not None and self.role != "tool":
            raise ValueError("only a tool answers a call")
        if self.name is not None and self.role != "tool":
            raise ValueError("only a tool's message has a name")
        return self


def check_order(messages: Sequence[Message]) -> None:
    """System first; then user and assistant in turns, with calls and their results in between."""
    if not messages or messages[0].role != "system":
        raise ValueError("the first message is not the system's")
    expected: Role = "user"
    calling = False
    for message in messages:
        if message.role == "tool":
            if not calling:
                raise ValueError("a tool's message does not follow a call")
            continue
        calling = bool(message.tool_calls)
        if message.role == "system":
            continue
        if message.role != expected:
            raise ValueError(f"a message of the {message.role} where the {expected}'s was due")
        if not calling:
            expected = "assistant" if message.role == "user" else "user"


class MessageList(BaseModel):
    """Messages in a valid order, however they came in."""

    model_config = ConfigDict(extra="forbid")

    messages: list[Message]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        check_order(self.messages)
        return self

    def add_message(self, message: Message) -> None:
        check_order([*self.messages, message])
        self.messages.append(message)

    def to_openai_messages(self) -> list[dict[str, Any]]:
        """As Chat Completions takes them. Unlike S2's sketch, a tool's message says which call it
        answers: the API refuses it otherwise."""
        return [
            {
                "role": message.role,
                "content": message.content,
                **({"tool_calls": message.tool_calls} if message.tool_calls else {}),
                **({"tool_call_id": message.tool_call_id} if message.tool_call_id else {}),
            }
            for message in self.messages
        ]


class Transcript(MessageList):
    """S2's Conversation."""

    id: AnyUuid = Field(default_factory=new_id)
    created_at: AwareDatetime = Field(default_factory=now)
    model: str

    @property
    def is_long(self) -> bool:
        return len(self.messages) > LONG

    @classmethod
    def of(cls, conversation: Conversation, system_prompt: str) -> Self:
        return cls(
            id=conversation.id,
            messages=messages_of(conversation.turns, system_prompt, conversation.created_at),
            created_at=conversation.created_at,
            model=conversation.model,
        )


class ConversationState(MessageList):
    """S1's state: what a language model is given of a conversation, at most the last 20 turns."""

    session_id: AnyUuid = Field(default_factory=new_id)
    retrieval_history: list[ToolCallRecord] = Field(default_factory=list)
    started_at: AwareDatetime = Field(default_factory=now)
    turn_count: int = Field(default=0, ge=0, le=MAX_WINDOW)

    def add_message(self, message: Message) -> None:
        """The assistant's answer ends a turn; there is no room for more than 20."""
        ends_turn = message.role == "assistant" and not message.tool_calls
        if ends_turn and self.turn_count == MAX_WINDOW:
            raise ValueError(f"has {MAX_WINDOW} turns already")
        super().add_message(message)
        self.turn_count += ends_turn

    @classmethod
    def of(cls, conversation: Conversation, system_prompt: str, window: int = MAX_WINDOW) -> Self:
        turns = conversation.window(min(window, MAX_WINDOW))
        return cls(
            session_id=conversation.id,
            messages=messages_of(turns, system_prompt, conversation.created_at),
            retrieval_history=[
                ToolCallRecord.of(call) for turn in turns for call in turn.tool_calls
            ],
            started_at=conversation.created_at,
            turn_count=len(turns),
        )


def messages_of(turns: Sequence[Turn], system_prompt: str, started: datetime) -> list[Message]:
    messages = [Message(role="system", content=system_prompt, timestamp=started)]
    for turn in turns:
        messages += [
            Message(role="user", content=turn.question, timestamp=turn.asked_at),
            Message(role="assistant", content=turn.answer, timestamp=turn.answered_at),
        ]
    return messages
