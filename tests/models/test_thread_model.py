"""Every field, default, bound and rule of a conversation thread."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from bythebook.models.answer import CitationEntry
from bythebook.models.conversation import Conversation, ConversationThread, ThreadMessage, Turn
from models.samples import (
    UUID1,
    UUID4,
    answer,
    conversation,
    has_fields,
    refusal,
    refuses,
    requires,
)

# ConversationThread

AT = datetime(2025, 12, 17, 14, 20, tzinfo=UTC)


def messages(count: int) -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"text {number}",
            "timestamp": AT + timedelta(seconds=number),
            **({"confidence": 0.91} if number % 2 else {}),
        }
        for number in range(count)
    ]


THREAD: dict[str, Any] = {
    "thread_id": UUID4,
    "messages": messages(3),
    "created_at": AT,
    "updated_at": AT + timedelta(seconds=2),
    "topic_summary": "Discussion about URDF robot description format and examples",
    "metadata": {"user_id": "user123", "tags": ["ros2", "urdf", "robotics"]},
}


def test_thread_fields_and_defaults() -> None:
    has_fields(
        ConversationThread,
        thread_id="string",
        messages="array",
        created_at="string",
        updated_at="string",
        topic_summary="string|null",
        metadata="object",
    )
    requires(ConversationThread, THREAD)
    made = ConversationThread()
    assert uuid.UUID(made.thread_id).version == 4 and made.messages == []
    assert made.created_at.tzinfo == UTC and made.updated_at >= made.created_at
    assert made.topic_summary is None and made.metadata == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("thread_id", UUID1),
        ("thread_id", "x"),
        ("messages", messages(51)),
        ("messages", messages(4)[1:]),
        ("messages", [messages(1)[0]] * 2),
        ("messages", messages(2)[::-1]),
        ("created_at", datetime(2025, 12, 17)),
        ("updated_at", datetime(2025, 12, 17)),
        ("topic_summary", "x" * 201),
    ],
)
def test_thread_refuses(field: str, value: Any) -> None:
    refuses(ConversationThread, THREAD, **{field: value})


def test_thread_order() -> None:
    late = messages(2)
    late[0]["timestamp"] = AT + timedelta(hours=1)
    refuses(ConversationThread, THREAD, messages=late)
    refuses(ConversationThread, THREAD, updated_at=AT - timedelta(seconds=1), field="")


def test_thread_bounds_are_inclusive() -> None:
    assert len(ConversationThread.model_validate({**THREAD, "messages": messages(50)}).messages)
    assert ConversationThread.model_validate({**THREAD, "topic_summary": "x" * 200})


def test_thread_times_are_in_utc() -> None:
    there = datetime(2025, 12, 17, 15, 20, tzinfo=timezone(timedelta(hours=1)))
    made = ConversationThread.model_validate({**THREAD, "created_at": there})
    assert made.created_at == AT and made.created_at.utcoffset() == timedelta(0)
    assert '"created_at":"2025-12-17T14:20:00Z"' in made.model_dump_json()


def test_thread_message_fields_and_bounds() -> None:
    has_fields(
        ThreadMessage,
        role="string",
        content="string",
        timestamp="string",
        confidence="number|null",
        refused="boolean|null",
        sources="array",
        citations="array",
    )
    question, told = messages(2)
    requires(ThreadMessage, question, "role", "content", "timestamp")
    assert ThreadMessage.model_validate(question).confidence is None
    refuses(ThreadMessage, question, confidence=0.5)
    refuses(ThreadMessage, question, refused=False)
    refuses(ThreadMessage, question, sources=["Nodes"])
    cited = CitationEntry.of(answer().citations[0]).model_dump()
    refuses(ThreadMessage, question, citations=[cited])
    assert ThreadMessage.model_validate({**told, "citations": [cited], "refused": False})
    refuses(ThreadMessage, question, content="")
    for role in ("system", "tool", ""):
        refuses(ThreadMessage, question, role=role)
    for confidence in (-0.01, 1.01):
        refuses(ThreadMessage, told, confidence=confidence)
    for confidence in (0.0, 1.0):
        assert ThreadMessage.model_validate({**told, "confidence": confidence})
    refuses(ThreadMessage, told, timestamp=datetime(2025, 12, 17))


@pytest.mark.parametrize(("turns", "kept"), [(0, 0), (1, 2), (25, 50), (26, 50), (50, 50)])
def test_thread_of_a_conversation_keeps_the_last_50(turns: int, kept: int) -> None:
    talk = conversation(turns)
    made = ConversationThread.of(talk, {"user_id": "u"})
    assert (made.thread_id, made.created_at) == (talk.id, talk.created_at)
    assert made.metadata == {"user_id": "u"} and made.updated_at == talk.updated_at
    assert len(made.messages) == kept
    if turns:
        assert made.messages[-1].content == f"Answer {turns - 1}. [1]"
        assert made.messages[-1].confidence == 0.9
        assert made.messages[-2].content == f"Question {turns - 1}?"
        assert made.messages[-2].confidence is None


def test_thread_of_a_conversation_whose_clock_went_back() -> None:
    talk = Conversation(created_at=AT)
    talk.add(Turn("First?", "One.", asked_at=AT, answered_at=AT + timedelta(seconds=9)))
    talk.add(Turn("Second?", "Two.", asked_at=AT, answered_at=AT + timedelta(seconds=5)))
    made = ConversationThread.of(talk)
    assert [message.content for message in made.messages] == ["First?", "One.", "Second?", "Two."]
    assert made.updated_at == AT + timedelta(seconds=9)


def test_thread_of_a_conversation_shows_what_answers_rest_on() -> None:
    told, refused = answer(), refusal()
    talk = Conversation(created_at=AT)
    talk.add(Turn.of(told))
    talk.add(Turn.of(refused))
    _, first, _, second = ConversationThread.of(talk).messages
    assert [cited.number for cited in first.citations] == [1, 2]
    assert first.citations == [CitationEntry.of(cited) for cited in told.citations]
    assert first.sources == ["Nodes › 3.2 What a node is"] * 2 and first.refused is False
    assert second.refused is True and second.citations == [] and second.sources == []


@pytest.mark.parametrize("turns", [0, 1, 25])
def test_thread_gives_its_turns_back(turns: int) -> None:
    talk = conversation(turns)
    talk.turns.extend([Turn.of(answer())] if turns < 25 else [])
    made = ConversationThread.of(talk)
    again = Conversation(id=talk.id, turns=made.turns(), created_at=made.created_at)
    again.topic_summary = talk.topic_summary
    assert ConversationThread.of(again) == made
    assert [turn.citations for turn in again.turns] == [turn.citations for turn in talk.turns]
    unanswered = ConversationThread.model_validate(THREAD)
    assert [turn.question for turn in unanswered.turns()] == ["text 0"]


def test_earlier_turns_count() -> None:
    talk = Conversation(earlier=4)
    assert talk.count == 4
    talk.add(Turn("What is a node?", "A process. [1]", sources=("Nodes",)))
    assert talk.count == 5 and talk.topic_summary == "Nodes — What is a node?"
