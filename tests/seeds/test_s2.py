"""S2, the agent in a terminal: every field, default, bound and rule it lists."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from bythebook.errors import ConfigurationError
from bythebook.models.agent_config import AgentConfig
from bythebook.models.printed import PrintedAnswer, PrintedSource, RetrievalContext
from bythebook.models.transcript import Message, Transcript
from seeds.seed_samples import (
    answer,
    conversation,
    has_fields,
    passage,
    passages,
    refusal,
    refuses,
    requires,
)

# Message

CALL = [{"id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}}]


def test_message_fields_and_defaults() -> None:
    has_fields(
        Message,
        role="string",
        content="string",
        timestamp="string",
        tool_calls="array|null",
        tool_call_id="string|null",
    )
    made = Message(role="user", content="x")
    assert made.timestamp.tzinfo
    assert made.tool_calls is None and made.tool_call_id is None


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_message_roles(role: str) -> None:
    assert Message.model_validate({"role": role, "content": "x"}).role == role


@pytest.mark.parametrize("role", ["", "User", "developer", None])
def test_message_of_no_role(role: Any) -> None:
    refuses(Message, {"role": "user", "content": "x"}, role=role)


@pytest.mark.parametrize("content", ["", " \n"])
def test_only_a_user_must_say_something(content: str) -> None:
    refuses(Message, {"role": "user", "content": "x"}, content=content)
    for role in ("assistant", "system", "tool"):
        assert Message.model_validate({"role": role, "content": content}).content == content


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_who_may_call_tools_and_who_answers(role: str) -> None:
    valid = {"role": role, "content": "x"}
    if role == "assistant":
        assert Message.model_validate({**valid, "tool_calls": CALL}).tool_calls == CALL
    else:
        refuses(Message, valid, tool_calls=CALL)
    if role == "tool":
        assert Message.model_validate({**valid, "tool_call_id": "c1"}).tool_call_id == "c1"
    else:
        refuses(Message, valid, tool_call_id="c1")


def test_a_message_never_changes() -> None:
    made = Message(role="user", content="x")
    with pytest.raises(ValidationError, match="frozen"):
        made.content = "y"


# Conversation

SYSTEM = Message(role="system", content="Rules.")
USER = Message(role="user", content="What is a node?")
CALLING = Message(role="assistant", content="", tool_calls=CALL)
RESULT = Message(role="tool", content="{}", tool_call_id="c1")
ASSISTANT = Message(role="assistant", content="A process. [1]")


def test_transcript_fields_and_defaults() -> None:
    has_fields(Transcript, id="string", messages="array", created_at="string", model="string")
    valid = {"messages": [SYSTEM], "model": "gpt-4o-mini"}
    requires(Transcript, valid, "messages", "model")
    made = Transcript.model_validate(valid)
    assert uuid.UUID(made.id) and made.created_at.tzinfo
    refuses(Transcript, valid, id="x")


def test_add_message_appends() -> None:
    made = Transcript(messages=[SYSTEM], model="m")
    for message in (USER, CALLING, RESULT, ASSISTANT, USER):
        made.add_message(message)
    assert made.messages == [SYSTEM, USER, CALLING, RESULT, ASSISTANT, USER]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [USER],
        [ASSISTANT, SYSTEM],
        [SYSTEM, ASSISTANT],
        [SYSTEM, USER, USER],
        [SYSTEM, USER, ASSISTANT, ASSISTANT],
        [SYSTEM, USER, RESULT],
        [SYSTEM, USER, CALLING, RESULT, USER],
    ],
)
def test_transcript_begins_with_system_and_alternates(messages: list[Message]) -> None:
    refuses(Transcript, {"messages": [SYSTEM], "model": "m"}, messages=messages)
    if len(messages) > 1 and messages[0] == SYSTEM:
        made = Transcript(messages=messages[:-1], model="m")
        with pytest.raises(ValueError):
            made.add_message(messages[-1])
        assert made.messages == messages[:-1]


def test_the_limit_of_100_messages_is_soft() -> None:
    made = Transcript(messages=[SYSTEM, *[USER, ASSISTANT] * 49, USER], model="m")
    assert len(made.messages) == 100 and not made.is_long
    made.add_message(ASSISTANT)
    assert len(made.messages) == 101 and made.is_long
    assert Transcript(messages=made.messages, model="m").is_long


def test_to_openai_messages() -> None:
    made = Transcript(messages=[SYSTEM, USER, CALLING, RESULT, ASSISTANT], model="m")
    assert made.to_openai_messages() == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "What is a node?"},
        {"role": "assistant", "content": "", "tool_calls": CALL},
        {"role": "tool", "content": "{}", "tool_call_id": "c1"},
        {"role": "assistant", "content": "A process. [1]"},
    ]


def test_transcript_of_a_conversation() -> None:
    talk = conversation(50)
    made = Transcript.of(talk, "Rules.")
    assert (made.id, made.created_at, made.model) == (talk.id, talk.created_at, "gpt-4o-mini")
    assert [message.role for message in made.messages] == ["system", *["user", "assistant"] * 50]
    assert made.messages[1].content == "Question 0?"
    assert made.messages[1].timestamp == talk.turns[0].asked_at
    assert made.messages[-1].content == "Answer 49. [1]"
    assert made.messages[-1].timestamp == talk.turns[-1].answered_at


# RetrievalContext

SOURCE: dict[str, Any] = {"rank": 1, "score": 0.875, "source_url": "/nodes", "content": "A node."}


def context(*scores: float) -> RetrievalContext:
    found = [passage(number, score=score) for number, score in enumerate(scores)]
    return RetrievalContext.of(found, "What is a node?", "/docs")


def test_context_fields_and_defaults() -> None:
    has_fields(
        RetrievalContext,
        query="string",
        results="array",
        retrieved_at="string",
        filter_applied="string|null",
    )
    requires(RetrievalContext, {"query": "x", "results": [SOURCE]}, "query", "results")
    made = RetrievalContext(query="x", results=[])
    assert made.retrieved_at.tzinfo and made.filter_applied is None


def test_result_fields_and_bounds() -> None:
    has_fields(PrintedSource, rank="integer", score="number", source_url="string", content="string")
    requires(PrintedSource, SOURCE, *SOURCE)
    for wrong in ({"rank": 0}, {"score": -0.01}, {"score": 1.01}, {"content": ""}):
        refuses(PrintedSource, SOURCE, **wrong)


def test_context_of_passages() -> None:
    made = context(0.9, 0.4)
    assert (made.query, made.filter_applied) == ("What is a node?", "/docs")
    assert [(each.rank, each.score) for each in made.results] == [(1, 0.9), (2, 0.4)]
    assert made.results[0].source_url == "https://b.example/nodes#s0"
    assert made.results[0].content == passage().text


def test_format_for_agent() -> None:
    text = passage().text
    assert context(0.871, 0.4).format_for_agent() == (
        "[1] Source: https://b.example/nodes#s0\n"
        "    Score: 0.87\n"
        f"    Content: {text}\n"
        "\n"
        "[2] Source: https://b.example/nodes#s1\n"
        "    Score: 0.40\n"
        f"    Content: {text}\n"
    )


def test_format_sources_footer() -> None:
    assert context(0.871, 0.4).format_sources_footer() == (
        "\n---\n**Sources:**\n"
        "[1] https://b.example/nodes#s0 (score: 0.87)\n"
        "[2] https://b.example/nodes#s1 (score: 0.40)"
    )


def test_formats_of_nothing_found() -> None:
    assert context().format_for_agent() == "No relevant content found in the book."
    assert context().format_sources_footer() == ""


# AgentResponse

PRINTED: dict[str, Any] = {
    "content": "A process. [1]",
    "sources": [SOURCE],
    "model": "gpt-4o-mini",
    "tokens_used": 12,
    "retrieval_count": 5,
}


def test_printed_answer_fields_and_defaults() -> None:
    has_fields(
        PrintedAnswer,
        content="string",
        sources="array",
        model="string",
        tokens_used="integer",
        retrieval_count="integer",
        created_at="string",
    )
    requires(PrintedAnswer, PRINTED, *PRINTED)
    assert PrintedAnswer.model_validate(PRINTED).created_at.tzinfo


@pytest.mark.parametrize(
    ("field", "value"), [("content", ""), ("tokens_used", -1), ("retrieval_count", -1)]
)
def test_printed_answer_bounds(field: str, value: Any) -> None:
    refuses(PrintedAnswer, PRINTED, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("sources", []), ("tokens_used", 0), ("retrieval_count", 0)]
)
def test_printed_answer_may_have_nothing(field: str, value: Any) -> None:
    assert getattr(PrintedAnswer.model_validate({**PRINTED, field: value}), field) == value


def test_format_with_sources_is_what_the_seed_makes() -> None:
    made = PrintedAnswer.model_validate(PRINTED)
    assert made.format_with_sources() == (
        "A process. [1]\n---\n**Sources:**\n[1] /nodes (score: 0.88)"
    )
    without = PrintedAnswer.model_validate({**PRINTED, "sources": []})
    assert without.format_with_sources() == "A process. [1]"


def test_printed_answer_of_the_inside() -> None:
    told = answer()
    made = PrintedAnswer.of(told)
    assert (made.content, made.model, made.tokens_used) == (told.text, "gpt-4o-mini", 321)
    assert (made.retrieval_count, made.created_at) == (5, told.created_at)
    assert [source.rank for source in made.sources] == [1, 2]
    assert made.sources[1].content == "Topics carry typed messages."
    assert PrintedAnswer.of(refusal(passages=passages(2))).retrieval_count == 2
    assert PrintedAnswer.of(refusal()).sources == []


# AgentConfig

KEY = "sk-" + "a" * 37


def test_config_fields_and_defaults() -> None:
    has_fields(
        AgentConfig,
        openai_api_key="string|null",
        openai_model="string",
        top_k="integer",
        score_threshold="number",
        max_conversation_turns="integer",
    )
    made = AgentConfig.from_env({"OPENAI_API_KEY": KEY})
    assert made.openai_api_key and made.openai_api_key.get_secret_value() == KEY
    assert (made.openai_model, made.top_k) == ("gpt-4o-mini", 5)
    assert (made.score_threshold, made.max_conversation_turns) == (0.0, 50)


def test_config_from_env(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_MODEL", "gpt-4-turbo")
    monkeypatch.setenv("AGENT_TOP_K", "7")
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "0.4")
    monkeypatch.setenv("AGENT_MAX_TURNS", "9")
    made = AgentConfig.from_env()
    assert made == AgentConfig.model_validate(
        {
            "openai_api_key": KEY,
            "openai_model": "gpt-4-turbo",
            "top_k": 7,
            "score_threshold": 0.4,
            "max_conversation_turns": 9,
        }
    )


def test_an_empty_variable_is_not_set() -> None:
    assert AgentConfig.from_env({"OPENAI_API_KEY": KEY, "AGENT_TOP_K": ""}).top_k == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", ""),
        ("OPENAI_API_KEY", "sk-short"),
        ("OPENAI_MODEL", "two words"),
        ("AGENT_TOP_K", "many"),
        ("AGENT_TOP_K", "0"),
        ("AGENT_TOP_K", "21"),
        ("AGENT_SCORE_THRESHOLD", "-0.1"),
        ("AGENT_SCORE_THRESHOLD", "1.1"),
        ("AGENT_MAX_TURNS", "0"),
        ("OPENAI_BASE_URL", "localhost"),
    ],
)
def test_a_bad_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        AgentConfig.from_env({"OPENAI_API_KEY": KEY, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENT_TOP_K", "1"),
        ("AGENT_TOP_K", "20"),
        ("AGENT_SCORE_THRESHOLD", "0"),
        ("AGENT_SCORE_THRESHOLD", "1"),
        ("AGENT_MAX_TURNS", "1"),
    ],
)
def test_bounds_are_inclusive(name: str, value: str) -> None:
    assert AgentConfig.from_env({"OPENAI_API_KEY": KEY, name: value})


def test_a_key_is_required_for_openai_only() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        AgentConfig.from_env({})
    local = AgentConfig.from_env({"OPENAI_BASE_URL": "http://localhost:8080/v1"})
    assert local.openai_api_key is None


def test_an_error_does_not_show_the_key() -> None:
    secret = "sk-" + "s3cret" * 10
    with pytest.raises(ConfigurationError) as caught:
        AgentConfig.from_env({"OPENAI_API_KEY": secret, "AGENT_TOP_K": "0"})
    assert "s3cret" not in str(caught.value)
