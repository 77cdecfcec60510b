"""S1, the agent with its SDK: every field, default, bound and rule of configuration and state."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from bythebook.models.agent_config import AgentConfiguration
from bythebook.models.answer import ToolCall
from bythebook.models.tool import ToolCallRecord
from bythebook.models.transcript import ConversationState, Message
from seeds.seed_samples import (
    UUID4,
    conversation,
    has_fields,
    refuses,
    requires,
)

KEY = "sk-" + "a" * 37

# AgentConfiguration

CONFIGURATION: dict[str, Any] = {"system_prompt": "Answer by the book.", "openai_api_key": KEY}


def test_configuration_fields_and_defaults() -> None:
    has_fields(
        AgentConfiguration,
        model="string",
        system_prompt="string",
        temperature="number",
        max_tokens="integer|null",
        openai_api_key="string|null",
    )
    made = AgentConfiguration.model_validate(CONFIGURATION)
    # The contract's default model; S1 names an older one.
    assert made.model == "gpt-4o-mini"
    assert made.temperature == 0.0 and made.max_tokens is None
    requires(AgentConfiguration, CONFIGURATION, "system_prompt")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", ""),
        ("model", "gpt 4"),
        ("system_prompt", ""),
        ("system_prompt", " \n"),
        ("temperature", -0.01),
        ("temperature", 1.01),
        ("temperature", float("nan")),
        ("max_tokens", 0),
        ("colour", "red"),
    ],
)
def test_configuration_bounds(field: str, value: Any) -> None:
    refuses(AgentConfiguration, CONFIGURATION, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 0.0),
        ("temperature", 1.0),
        ("max_tokens", 1),
        ("model", "gpt-3.5-turbo"),
        ("model", "gpt-4-turbo"),
        ("model", "qwen/qwen2.5-coder:1.5b"),
    ],
)
def test_configuration_takes(field: str, value: Any) -> None:
    made = AgentConfiguration.model_validate({**CONFIGURATION, field: value})
    assert getattr(made, field) == value


@pytest.mark.parametrize("key", [None, "", "sk-short", KEY[:-1], "pk-" + "a" * 60])
def test_a_key_of_openai_has_its_form(key: str | None) -> None:
    refuses(AgentConfiguration, CONFIGURATION, openai_api_key=key)


@pytest.mark.parametrize("key", [None, "local", KEY])
def test_another_server_takes_any_key_or_none(key: str | None) -> None:
    elsewhere = {**CONFIGURATION, "openai_base_url": "http://localhost:8080/v1"}
    assert AgentConfiguration.model_validate({**elsewhere, "openai_api_key": key})


def test_a_key_is_never_shown() -> None:
    made = AgentConfiguration.model_validate(CONFIGURATION)
    assert KEY not in repr(made) and KEY not in made.model_dump_json()
    assert made.openai_api_key and made.openai_api_key.get_secret_value() == KEY


# ConversationState


def message(role: str, content: str = "text", **more: Any) -> Message:
    return Message.model_validate({"role": role, "content": content, **more})


CALL = [{"id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}}]
SYSTEM, USER, ASSISTANT = message("system"), message("user"), message("assistant")
CALLING, RESULT = message("assistant", "", tool_calls=CALL), message("tool", name="x")


def test_state_fields_and_defaults() -> None:
    has_fields(
        ConversationState,
        session_id="string",
        messages="array",
        retrieval_history="array",
        started_at="string",
        turn_count="integer",
    )
    made = ConversationState(messages=[SYSTEM])
    assert uuid.UUID(made.session_id) and made.started_at.tzinfo
    assert made.retrieval_history == [] and made.turn_count == 0
    requires(ConversationState, {"messages": [SYSTEM]}, "messages")


def test_state_as_s1_begins_it() -> None:
    state = ConversationState(
        session_id=str(uuid.uuid4()),
        messages=[Message(role="system", content="Rules.", timestamp=datetime.now(UTC))],
        retrieval_history=[],
        started_at=datetime.now(UTC),
        turn_count=0,
    )
    assert [each.role for each in state.messages] == ["system"]


def test_message_fields() -> None:
    has_fields(
        Message,
        role="string",
        content="string",
        name="string|null",
        tool_calls="array|null",
        timestamp="string",
    )
    requires(Message, {"role": "user", "content": "x"}, "role", "content")
    assert USER.timestamp.tzinfo and USER.name is None and USER.tool_calls is None


def test_only_a_tool_has_a_name() -> None:
    assert RESULT.name == "x"
    refuses(Message, {"role": "user", "content": "x"}, name="x")


@pytest.mark.parametrize(
    "messages",
    [
        [SYSTEM],
        [SYSTEM, USER],
        [SYSTEM, USER, ASSISTANT],
        [SYSTEM, USER, CALLING, RESULT, ASSISTANT],
        [SYSTEM, USER, CALLING, RESULT, RESULT, CALLING, RESULT, ASSISTANT, USER, ASSISTANT],
    ],
)
def test_state_takes_messages_in_turns(messages: list[Message]) -> None:
    assert ConversationState(messages=messages).messages == messages
    state = ConversationState(messages=messages[:1])
    for each in messages[1:]:
        state.add_message(each)
    assert state.messages == messages
    assert state.turn_count == messages.count(ASSISTANT)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [USER],
        [USER, SYSTEM],
        [SYSTEM, ASSISTANT],
        [SYSTEM, USER, USER],
        [SYSTEM, USER, ASSISTANT, ASSISTANT],
        [SYSTEM, RESULT],
        [SYSTEM, USER, RESULT],
        [SYSTEM, CALLING],
        [SYSTEM, USER, CALLING, RESULT, USER],
        [SYSTEM, USER, ASSISTANT, RESULT],
    ],
)
def test_state_refuses_messages_out_of_turn(messages: list[Message]) -> None:
    refuses(ConversationState, {"messages": [SYSTEM]}, messages=messages)
    if messages and messages[0] == SYSTEM:
        state = ConversationState(messages=messages[:-1])
        with pytest.raises(ValueError):
            state.add_message(messages[-1])
        assert state.messages == messages[:-1]


def test_turn_count_ends_at_twenty() -> None:
    valid = {"messages": [SYSTEM]}
    assert ConversationState.model_validate({**valid, "turn_count": 20})
    refuses(ConversationState, valid, turn_count=21)
    refuses(ConversationState, valid, turn_count=-1)
    full = ConversationState.of(conversation(20), "Rules.")
    full.add_message(USER)
    with pytest.raises(ValueError, match="20 turns"):
        full.add_message(ASSISTANT)


@pytest.mark.parametrize(("turns", "window", "kept"), [(3, 20, 3), (30, 20, 20), (30, 99, 20)])
def test_state_of_a_conversation_is_its_window(turns: int, window: int, kept: int) -> None:
    talk = conversation(turns)
    state = ConversationState.of(talk, "Rules.", window)
    assert state.session_id == talk.id and state.started_at == talk.created_at
    assert state.turn_count == kept
    assert state.messages[0].content == "Rules."
    last = [(turn.question, turn.answer) for turn in talk.turns[-kept:]]
    told = [each.content for each in state.messages[1:]]
    assert list(zip(told[::2], told[1::2], strict=True)) == last
    assert [call.query for call in state.retrieval_history] == [
        f"query {number}" for number in range(turns - kept, turns)
    ]


RECORD: dict[str, Any] = {
    "tool_name": "retrieve_documentation",
    "query": "node",
    "results_count": 5,
    "avg_similarity": 0.8,
    "timestamp": "2025-12-27T10:00:00Z",
}


def test_tool_call_fields_and_bounds() -> None:
    has_fields(
        ToolCallRecord,
        tool_name="string",
        query="string",
        results_count="integer",
        avg_similarity="number",
        timestamp="string",
    )
    requires(ToolCallRecord, RECORD, *RECORD)
    refuses(ToolCallRecord, RECORD, results_count=-1)
    refuses(ToolCallRecord, RECORD, avg_similarity=1.01)
    refuses(ToolCallRecord, RECORD, avg_similarity=-0.01)
    refuses(ToolCallRecord, RECORD, tool_name="no identifier")


def test_tool_call_of_the_inside() -> None:
    call = ToolCall("search_textbook", "node", {"query": "node"}, 3, 0.7, error="slow")
    made = ToolCallRecord.of(call)
    assert (made.tool_name, made.query, made.results_count) == ("search_textbook", "node", 3)
    assert (made.avg_similarity, made.timestamp) == (0.7, call.timestamp)
    assert (made.arguments, made.error) == ({"query": "node"}, "slow")


def test_other_uuids_are_sessions_too() -> None:
    assert ConversationState(session_id=UUID4, messages=[SYSTEM]).session_id == UUID4
    with pytest.raises(ValidationError):
        ConversationState(session_id="me", messages=[SYSTEM])
