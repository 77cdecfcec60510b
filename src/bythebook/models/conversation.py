"""A conversation: inside, as a stored thread, as a transcript, and its summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from bythebook.models.answer import Answer, CitationEntry
from bythebook.models.chunk import now
from bythebook.models.passage import shortened
from bythebook.models.retrieval_tool import ToolCall
from bythebook.models.values import AnyUuid, ClosedModel, FrozenModel, UtcDatetime, Uuid4, new_id

MAX_SUMMARY = 200
# Room for places; the rest is for what was asked last.
MAX_PLACES = 140
# What a place weighs for each turn that has gone by since, and for each citation before it.
PER_TURN = 0.8
PER_CITATION = 0.6
WITHIN = " › "


def summarize(turns: Sequence[Turn]) -> str:
    """The places of the book that were cited, those of late and often first, then the last
    questions. No word is cut."""
    places = _places(_by_weight(turns))
    summary, asked = places, ""
    for turn in reversed(turns):
        question = " ".join(turn.question.split())
        asked = f"{question} / {asked}" if asked else question
        longer = f"{places} — {asked}" if places else asked
        if len(longer) > MAX_SUMMARY:
            break
        summary = longer
    return summary or (shortened(turns[-1].question, MAX_SUMMARY) if turns else "")


def _by_weight(turns: Sequence[Turn]) -> list[str]:
    weights: dict[str, float] = {}
    for age, turn in enumerate(reversed(turns)):
        for rank, label in enumerate(turn.sources):
            source = " ".join(label.split())
            weights[source] = weights.get(source, 0) + PER_TURN**age * PER_CITATION**rank
    # A stable sort: of equal weights, the one cited last comes first.
    return sorted(weights, key=lambda source: -weights[source])


def _places(labels: Iterable[str]) -> str:
    """Pages with their sections behind them, as many as there is room for."""
    pages: dict[str, list[str]] = {}
    text = ""
    for label in labels:
        page, _, section = label.partition(WITHIN)
        known = pages.get(page, [])
        more = {**pages, page: [*known, section] if section else known}
        longer = "; ".join(
            f"{name}: {', '.join(sections)}" if sections else name
            for name, sections in more.items()
        )
        if len(longer) <= MAX_PLACES:
            pages, text = more, longer
    return text


# A conversation of so many exchanges has a summary.
SUMMARY_FROM = 5


@dataclass(frozen=True)
class Turn:
    """A question and its answer; `sources[0]` names what `[1]` points to."""

    question: str
    answer: str
    sources: tuple[str, ...] = ()
    refused: bool = False
    confidence: float = 0.0
    tool_calls: tuple[ToolCall, ...] = ()
    asked_at: datetime = field(default_factory=now)
    answered_at: datetime = field(default_factory=now)
    citations: tuple[CitationEntry, ...] = ()
    model: str = ""

    @classmethod
    def of(cls, answer: Answer, asked_at: datetime | None = None) -> Self:
        labels = {cited.number: cited.label for cited in answer.citations}
        return cls(
            question=answer.question,
            answer=answer.text,
            sources=tuple(labels[number] for number in sorted(labels)),
            refused=answer.refused,
            confidence=answer.confidence.average_similarity,
            tool_calls=answer.tool_calls,
            asked_at=asked_at or answer.created_at,
            answered_at=answer.created_at,
            citations=tuple(CitationEntry.of(cited) for cited in answer.citations),
            model=answer.model,
        )


@dataclass
class Conversation:
    """Turns, oldest first. Old passages are not kept: every turn searches anew. Of a long one that
    was kept, the oldest turns are only counted, as `earlier`."""

    id: str = field(default_factory=new_id)
    turns: list[Turn] = field(default_factory=list)
    created_at: datetime = field(default_factory=now)
    topic_summary: str = ""
    earlier: int = 0
    # The language model that wrote the summary; else it is made anew with each turn.
    summarized_by: str = ""

    @property
    def count(self) -> int:
        """How many turns there have been."""
        return self.earlier + len(self.turns)

    def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self.count >= SUMMARY_FROM and not self.summarized_by:
            # What needed no search, such as a greeting, is no topic.
            self.topic_summary = summarize(
                [turn for turn in self.turns if turn.tool_calls] or self.turns
            )

    @property
    def model(self) -> str:
        """Who wrote the last answer."""
        return self.turns[-1].model if self.turns else ""

    def window(self, turns: int) -> list[Turn]:
        """The last turns, oldest first."""
        return self.turns[-turns:] if turns > 0 else []

    @property
    def updated_at(self) -> datetime:
        return self.turns[-1].answered_at if self.turns else self.created_at


MAX_LIVE_MESSAGES = 50
MAX_LIVE_TURNS = MAX_LIVE_MESSAGES // 2


class ThreadMessage(FrozenModel):
    """A message; what goes with an answer: `sources[0]` names what `[1]` points to,
    `citations` say where it stands. Only an answer has a confidence and these."""

    role: Literal["user", "assistant"]
    content: str = Field(min_length=1)
    timestamp: UtcDatetime
    confidence: float | None = Field(default=None, ge=0, le=1)

    refused: bool | None = None
    sources: list[str] = Field(default_factory=list)
    citations: list[CitationEntry] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(
        default_factory=list, description="The searches that were made for an answer."
    )
    model: str = Field(default="", description="Who wrote an answer.")
    # Made when it is asked for, and never stored.
    html: str | None = None

    @model_validator(mode="after")
    def _only_answers_are_sure(self) -> Self:
        if self.role == "assistant":
            return self
        if self.confidence is not None:
            raise ValueError("only the assistant's message has a confidence")
        if self.refused is not None or self.sources or self.citations or self.tool_calls:
            raise ValueError("only the assistant's message refuses, cites or searches")
        return self


class ConversationThread(ClosedModel):
    """The live messages of a conversation, oldest first. It begins with a question: what moves to
    the archive moves in whole exchanges."""

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
                tool_calls=list(turn.tool_calls),
                model=turn.model,
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
        tool_calls=tuple(answer.tool_calls),
        model=answer.model,
    )


class Message(FrozenModel):
    """A message; a service for chat completions takes its `role` and `content` as they are."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(min_length=1)
    timestamp: AwareDatetime


class ConversationState(ClosedModel):
    """The rules of the agent, then questions and answers in turns, and the searches made for them.
    What a search returned is not kept: every turn searches anew and cites only that."""

    session_id: AnyUuid
    model: str = Field(description="Who wrote the last answer.")
    started_at: AwareDatetime
    turn_count: int = Field(
        ge=0,
        description="Questions in all; the first ones of a long conversation are archived.",
    )
    messages: list[Message]
    retrieval_history: list[ToolCall] = Field(description="Searches, oldest first.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        roles = [message.role for message in self.messages]
        if roles[:1] != ["system"] or roles[1:2] not in ([], ["user"]):
            raise ValueError("messages do not begin with the system's and a user's")
        if any(before == after for before, after in pairwise(roles)) or "system" in roles[1:]:
            raise ValueError("user and assistant do not alternate")
        return self

    @classmethod
    def of(cls, conversation: Conversation, system_prompt: str) -> Self:
        return cls(
            session_id=conversation.id,
            model=conversation.model,
            started_at=conversation.created_at,
            turn_count=conversation.count,
            messages=[
                Message(role="system", content=system_prompt, timestamp=conversation.created_at),
                *_messages(conversation),
            ],
            retrieval_history=[call for turn in conversation.turns for call in turn.tool_calls],
        )


def _messages(conversation: Conversation) -> Iterator[Message]:
    for turn in conversation.turns:
        yield Message(role="user", content=turn.question, timestamp=turn.asked_at)
        yield Message(role="assistant", content=turn.answer, timestamp=turn.answered_at)
