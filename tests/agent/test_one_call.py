"""One request to the language model where one is enough, and none where the book is silent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent.assistant import Assistant
from bythebook.agent.events import Retrieved, StateChanged, ToolCalled
from bythebook.library import Library
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.retriever import Found
from bythebook.settings import Settings
from standins.llm_server import LlmServer, Step, calls_tool, fails, passages, says

QUESTION = "What is a service in ROS 2?"
TWO = "What is a service in ROS 2? And what is a topic in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."
STATES = [
    "received", "processing", "tool_call_needed", "tool_executed", "response_generated",
]  # fmt: skip


class NotingLibrary(Library):
    """Notes what it is asked for."""

    queries: tuple[str, ...] = ()

    async def search(self, query: SearchQuery) -> Found:
        self.queries += (query.text,)
        return await super().search(query)


@asynccontextmanager
async def noting(home: Path, llm: LlmServer, **settings: Any) -> AsyncIterator[Assistant]:
    how = {"openai_base_url": llm.base_url, "openai_model": "stand-in", "retry_delay": 0.01}
    async with (
        await NotingLibrary.open(Settings(home=home, **{**how, **settings})) as library,
        Assistant(library) as assistant,
    ):
        yield assistant


def queries(assistant: Assistant) -> list[str]:
    assert isinstance(assistant.library, NotingLibrary)
    return list(assistant.library.queries)


def talk() -> Conversation:
    conversation = Conversation()
    conversation.add(Turn(QUESTION, TRUE, ("Services and actions",)))
    return conversation


@pytest.mark.parametrize("question", [QUESTION, TWO])
async def test_a_question_that_stands_alone_is_one_request(
    with_llm: Assistants, llm: LlmServer, streaming: bool, question: str
) -> None:
    llm.script(says(TRUE))
    async with with_llm(openai_stream=streaming) as assistant:
        heard = await listen(assistant.stream(question))
    answer = answer_in(heard)
    assert answer.text == TRUE and len(llm.requests) == 1
    # What was searched is told as if the model had asked for it.
    assert [e.state for e in heard if isinstance(e, StateChanged)] == STATES
    (called,) = [e for e in heard if isinstance(e, ToolCalled)]
    (found,) = [e for e in heard if isinstance(e, Retrieved)]
    (call,) = answer.tool_calls
    assert called.arguments == {"query": question} and found.query == call.query == question
    assert call.results_count == len(found.passages) and call.error is None
    *_, asked, calling, result = llm.bodies[0]["messages"]
    assert asked == {"role": "user", "content": question}
    (made,) = calling["tool_calls"]
    assert made["function"]["name"] == "search_textbook"
    assert json.loads(made["function"]["arguments"]) == {"query": question}
    assert result["tool_call_id"] == made["id"] and passages(llm.bodies[0])[0]["cite"] == 1
    assert llm.bodies[0]["tool_choice"] == "auto"


@pytest.mark.parametrize("leans", [True, False], ids=["later", "first"])
async def test_a_silent_book_is_no_request(
    with_llm: Assistants, llm: LlmServer, leans: bool
) -> None:
    async with with_llm() as assistant:
        asked = "How do I bake sourdough bread?"
        answer = answer_in(await listen(assistant.stream(asked, talk() if leans else None)))
    assert answer.refused and not llm.requests and asked.rstrip("?") in answer.text


async def test_a_follow_up_is_searched_for_by_the_models_words(
    sample_home: Path, llm: LlmServer
) -> None:
    llm.script(calls_tool("service in ROS 2"), says(TRUE))
    async with noting(sample_home, llm) as assistant:
        await listen(assistant.stream("And what is it good for?", talk()))
        assert queries(assistant) == ["service in ROS 2"]
    assert [body.get("tool_choice", "auto") for body in llm.bodies] == ["required", "auto"]


@pytest.mark.parametrize(
    ("again", "searched"),
    [
        pytest.param(calls_tool(QUESTION), [QUESTION], id="the same words"),
        pytest.param(
            calls_tool("ROS 2 service"), [QUESTION, "ROS 2 service"], id="words of its own"
        ),
        pytest.param(
            calls_tool(QUESTION, arguments={"filters": {"module_filter": "none"}}),
            [QUESTION, QUESTION],
            id="a filter that finds nothing is dropped",
        ),
    ],
)
async def test_the_model_may_search_again(
    sample_home: Path, llm: LlmServer, again: Step, searched: list[str]
) -> None:
    """The question itself is not searched for twice."""
    llm.script(again, says(TRUE))
    async with noting(sample_home, llm) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
        assert queries(assistant) == searched
    assert answer.text == TRUE and len(llm.requests) == 2 and len(answer.tool_calls) == 2


async def test_what_was_found_serves_when_the_model_fails(
    sample_home: Path, llm: LlmServer
) -> None:
    llm.script(fails(401))
    async with noting(sample_home, llm) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
        assert queries(assistant) == [QUESTION]
    assert answer.status == "fallback" and answer.citations and len(llm.requests) == 1
