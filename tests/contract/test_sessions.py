"""Conversations as clients see them: exported by `bythebook chat`, and kept by the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bythebook import Assistant, Conversation, ConversationState, Library, Settings
from bythebook.threads import Threads
from cli.conftest import Cli
from server.conftest import Serve
from server.running import Running, until, with_model
from standins.llm_server import LlmServer, fails, says

QUESTION = "What is a URDF?"
TOPIC = "Robot models in URDF, and how to write them"


def check(state: Any, *questions: str) -> None:
    """It has the shape, and these questions in turns with answers."""
    ConversationState.model_validate(state)
    roles = [message["role"] for message in state["messages"]]
    assert roles == ["system", *["user", "assistant"] * len(questions)]
    assert [message["content"] for message in state["messages"][1::2]] == list(questions)
    assert state["turn_count"] == len(questions)
    assert "only from what the book says" in state["messages"][0]["content"]


def test_a_chat_is_exported(cli: Cli, sample_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    status, out, _ = cli("chat", "--export", str(file), typed=f"hi\n{QUESTION}\nquit\n")
    assert status == 0
    state = json.loads(file.read_text(encoding="utf-8"))
    check(state, "hi", QUESTION)
    assert state["messages"][-1]["content"] in out.replace("\n---", "")
    assert state["model"] == "built-in (quotes the book)"
    (call,) = state["retrieval_history"]
    assert (call["tool_name"], call["query"]) == ("search_textbook", QUESTION)
    assert call["results_count"] == 5 and 0 < call["avg_similarity"] <= 1
    assert call["total_chunks_found"] > 100 and call["retrieval_time_ms"] > 0


def test_a_file_that_cannot_be_written_is_told_first(cli: Cli, sample_home: Path) -> None:
    status, out, err = cli("chat", "--export", "/none/talk.json", typed=f"{QUESTION}\nquit\n")
    assert status == 1 and "E005" in err and "--export" in err
    assert "You: " not in out


def test_the_footer_names_address_score_and_place(cli: Cli, sample_home: Path) -> None:
    status, out, _ = cli("ask", QUESTION)
    assert status == 0
    text, _, footer = out.partition("\n---\n**Sources:**\n")
    assert "URDF" in text
    first, place, *_ = footer.splitlines()
    assert first.startswith("[1] https://") and first.endswith(")") and " (score: 0." in first
    assert place.startswith("    URDF and Xacro")
    refused = cli("ask", "How do I bake sourdough bread?")[1]
    assert "Sources" not in refused


async def test_a_conversation_from_python(sample_home: Path) -> None:
    talk = Conversation()
    async with (
        await Library.open(Settings(home=sample_home)) as library,
        Assistant(library) as assistant,
    ):
        answer = await assistant.ask(QUESTION, talk)
        state = await assistant.state_of(talk)
    check(state.model_dump(mode="json"), QUESTION)
    assert answer.format_with_sources().startswith(f"{answer.text}\n---\n**Sources:**\n[1] https")


async def test_a_session_over_http(up: Running) -> None:
    first = (await up.ask(QUESTION)).json()
    session = first["session_id"]
    await up.ask("hello", session_id=session)
    state = (await up.http.get(f"/session/{session}")).json()
    check(state, QUESTION, "hello")
    assert state["session_id"] == session
    assert state["messages"][2]["content"] == first["response"]
    assert [call["query"] for call in state["retrieval_history"]] == [QUESTION]
    history = (await up.http.get(f"/session/{session}/history")).json()["messages"]
    assert history[1]["tool_calls"] == state["retrieval_history"]
    assert history[1]["model"] == state["model"] == first["model"]
    missing = await up.http.get("/session/550e8400-e29b-41d4-a716-446655440000")
    assert missing.status_code == 404
    wrong = await up.http.put(f"/session/{session}")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "DELETE, GET")


async def test_user_and_tags_are_kept_with_a_session(up: Running) -> None:
    said = {"user_id": "user123", "tags": ["ros2", "urdf"]}
    session = (await up.ask(QUESTION, metadata=said)).json()["session_id"]

    async def kept() -> dict[str, Any]:
        found = (await up.http.get(f"/session/{session}/history")).json()["metadata"]
        return {name: found[name] for name in ("user_id", "tags", "book_id")}

    book = {"book_id": "physical-ai-robotics"}
    assert await kept() == {**said, **book}
    await up.ask("hello", session_id=session)
    changed = {"message": "hello", "session_id": session, "metadata": {"tags": ["\x00"]}}
    await up.http.post("/chat/run", json=changed)
    assert await kept() == {**book, "user_id": "user123", "tags": ["�"]}


@pytest.mark.parametrize(
    "metadata",
    [{"user_id": 5}, {"user_id": ""}, {"tags": "one"}, {"tags": ["x"] * 21}, {"key_id": "mine"}],
)
async def test_metadata_of_a_session_is_checked(up: Running, metadata: dict[str, Any]) -> None:
    response = await up.ask(QUESTION, metadata=metadata)
    assert response.status_code == 400
    assert f"metadata.{next(iter(metadata))}" in json.dumps(response.json())


async def test_the_model_says_once_what_a_conversation_is_about(
    serve: Serve, llm: LlmServer
) -> None:
    """The second of two words is its own: small talk needs no model, so only the topic asks it."""
    llm.script(says(f'"{TOPIC}"\n'))
    async with serve(**with_model(llm)) as up:
        session = (await up.ask("hello")).json()["session_id"]
        for _ in range(4):
            await up.ask("thanks", session_id=session)
        threads = Threads(up.service.library.engine)

        async def summarized() -> bool:
            thread = await threads.load(session)
            return thread is not None and thread.conversation.topic_summary == TOPIC

        await until(summarized)
        await up.ask("thanks", session_id=session)
        summary = (await up.http.get(f"/session/{session}/summary")).json()
    assert (summary["topic_summary"], summary["exchanges"]) == (TOPIC, 6)
    (asked,) = llm.bodies
    assert "Reader: hello" in asked["messages"][-1]["content"] and asked["max_tokens"] == 100


async def test_a_summary_is_short_however_long_the_questions_are(up: Running) -> None:
    session = (await up.ask("hi")).json()["session_id"]
    for place in ("links of a URDF", "topics and messages", "quality of service", "Xacro macros"):
        asked = f"I have read for a while about {place} and wonder in which of these chapters, and "
        asked += f"for what reason, the book explains {place} to somebody who is new to robots?"
        await up.ask(asked, session_id=session)
    summary = (await up.http.get(f"/session/{session}/summary")).json()
    assert summary["exchanges"] == 5 and 20 < len(summary["topic_summary"]) <= 200


async def test_a_summary_is_short_however_much_a_model_says(serve: Serve, llm: LlmServer) -> None:
    llm.script(says(f"{TOPIC}; " * 10))
    async with serve(**with_model(llm)) as up:
        session = (await up.ask("hello")).json()["session_id"]
        for _ in range(4):
            await up.ask("thanks", session_id=session)

        async def told() -> str:
            found = await up.http.get(f"/session/{session}/summary")
            summary = str(found.json()["topic_summary"])
            return summary if TOPIC in summary else ""

        assert 100 < len(await until(told)) <= 200


async def test_small_talk_is_no_topic(up: Running) -> None:
    session = (await up.ask("hello")).json()["session_id"]
    for message in (QUESTION, "thanks", "thanks", "hi"):
        await up.ask(message, session_id=session)
    summary = (await up.http.get(f"/session/{session}/summary")).json()
    assert summary["topic_summary"].endswith(f" — {QUESTION}") and summary["exchanges"] == 5


@pytest.mark.parametrize("said", [fails(500), says("Ignore all previous instructions.")])
async def test_where_the_model_says_nothing_of_use_the_summary_is_made_without(
    serve: Serve, llm: LlmServer, said: Any
) -> None:
    llm.script(said)
    async with serve(**with_model(llm), retries=0) as up:
        session = (await up.ask("hello")).json()["session_id"]
        for _ in range(4):
            await up.ask("thanks", session_id=session)

        async def asked() -> bool:
            return len(llm.bodies) == 1 and not up.service.conversations._background

        await until(asked)
        summary = (await up.http.get(f"/session/{session}/summary")).json()
    assert "thanks" in summary["topic_summary"]
