"""What the language model is told: tool, settings, history, instructions."""

from __future__ import annotations

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent.events import Failed
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.retrieval_tool import RetrievalTool
from bythebook.models.search_messages import SearchFilters
from bythebook.settings import REFUSAL
from standins.llm_server import LlmServer, calls_tool, passages, says

QUESTION = "What is a service in ROS 2?"
ANSWER = "A service is a request-and-reply connection [1]."
NAMES = [
    "search_textbook", "search_knowledge_base", "retrieve_documentation", "search_book_content",
]  # fmt: skip


def talk() -> Conversation:
    conversation = Conversation()
    conversation.add(Turn(QUESTION, ANSWER, ("Services and actions",)))
    return conversation


@pytest.mark.parametrize("name", NAMES)
async def test_a_follow_up_begins_with_forced_retrieval_by_any_name(
    with_llm: Assistants, llm: LlmServer, name: str
) -> None:
    llm.script(calls_tool("service in ROS 2"), says(ANSWER))
    async with with_llm(tool_name=name) as assistant:
        answer = answer_in(await listen(assistant.stream("And what is it good for?", talk())))
    first, second = llm.bodies
    (offered,) = first["tools"]
    assert not offered["function"].pop("strict", False)
    assert offered == RetrievalTool.of(name, 5, 0.7).definition()
    assert first["tool_choice"] == "required" and second.get("tool_choice") in (None, "auto")
    assert first["temperature"] == 0 and first["model"] == "stand-in"
    assert answer.tool_calls[0].tool_name == name


async def test_the_tool_answers_in_the_documents_form(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(says(ANSWER))
    async with with_llm(top_k=3) as assistant:
        await listen(assistant.stream(QUESTION))
    results = passages(llm.bodies[0])
    assert len(results) == 3 and [each["rank"] for each in results] == [1, 2, 3]
    assert set(results[0]) == {
        "cite", "chunk_text", "page_title", "section_heading", "source_url", "similarity_score",
        "rank",
    }  # fmt: skip


async def test_the_instructions_hold_every_rule(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(calls_tool("service in ROS 2"), says(ANSWER), says(ANSWER))
    async with with_llm(refusal="The book is silent") as assistant:
        await listen(assistant.stream("And what is it good for?", talk()))
        await listen(assistant.stream(QUESTION))
    first, _, alone = (body["messages"][0] for body in llm.bodies)
    for told in (first, alone):
        assert told["role"] == "system" and REFUSAL not in told["content"]
        for phrase in ("search_textbook", "ONLY", "NEVER", "[1]", "not follow"):
            assert phrase in told["content"]
    # Who is given what was judged to answer is not offered a way out.
    assert "The book is silent" in first["content"] and "silent" not in alone["content"]


@pytest.mark.parametrize(
    "said", ["The results do not say what it is.", "I don't have that.", f"{REFUSAL}."]
)
async def test_a_model_that_finds_nothing_is_a_refusal(
    with_llm: Assistants, llm: LlmServer, said: str
) -> None:
    llm.script(says(said))
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.refused and answer.text.startswith(REFUSAL) and answer.removed == 0


async def test_the_model_is_given_the_last_turns(with_llm: Assistants, llm: LlmServer) -> None:
    conversation = Conversation()
    for number in range(12):
        conversation.add(Turn(f"Question {number}?", f"Answer {number} [1].", ("Topics › QoS",)))
    llm.script(says(ANSWER))
    async with with_llm() as assistant:
        await listen(assistant.stream(QUESTION, conversation))
    messages = llm.bodies[0]["messages"]
    asked = [each["content"] for each in messages if each["role"] == "user"]
    assert asked == [*(f"Question {number}?" for number in range(2, 12)), QUESTION]
    assert messages[2]["content"] == "Answer 2 [1].\n\nSources:\n[1] Topics › QoS"
    assert conversation.topic_summary and "Topics" in messages[0]["content"]
    assert len(conversation.turns) == 13 and conversation.turns[-1].sources


async def test_a_conversation_has_an_end(with_llm: Assistants, llm: LlmServer) -> None:
    conversation = Conversation()
    for number in range(3):
        conversation.add(Turn(f"Question {number}?", "Answer."))
    async with with_llm(max_conversation_turns=3) as assistant:
        heard = await listen(assistant.stream(QUESTION, conversation))
    assert isinstance(heard[-1], Failed) and "3 turns" in heard[-1].error.message
    assert not llm.requests


async def test_a_model_may_narrow_what_the_reader_chose_but_not_leave_it(
    with_llm: Assistants, llm: LlmServer
) -> None:
    wider = {"filters": {"module_filter": "gazebo", "hardware_tier_filter": 4}}
    llm.script(calls_tool("sensors and simulation", arguments=wider), says(ANSWER))
    filters = SearchFilters(module_filter="ros2", hardware_tier_filter=2)
    async with with_llm(score_threshold=0.0) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION, filters=filters)))
    assert {p.metadata.module for p in answer.passages} <= {"ros2"}
    assert all(p.metadata.hardware_tier <= 2 for p in answer.passages)


@pytest.mark.parametrize("question", ["", "   ", "x" * 2001])
async def test_a_question_that_is_none(built_in: Assistants, question: str) -> None:
    async with built_in() as assistant:
        heard = await listen(assistant.stream(question))
    last = heard[-1]
    assert isinstance(last, Failed) and last.error.code == "E005"


@pytest.mark.parametrize("question", ["?", "hi", "!!!", "🤖"])
async def test_a_question_too_short_to_search_for_is_refused(
    built_in: Assistants, question: str
) -> None:
    async with built_in() as assistant:
        assert answer_in(await listen(assistant.stream(question))).refused
