"""The question itself is searched for while the model thinks, and only once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.listening import answer_in, listen
from bythebook.agent.assistant import Assistant
from bythebook.agent.events import Failed
from bythebook.library import Library
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.search import SearchQuery
from bythebook.retrieval.search import Found
from bythebook.settings import Settings
from standins.llm_server import LlmServer, Step, calls_tool, fails, hangs, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."


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


@pytest.mark.parametrize(
    ("asked", "searched"),
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
async def test_the_question_is_searched_for_once(
    sample_home: Path, llm: LlmServer, asked: Step, searched: list[str]
) -> None:
    llm.script(asked, says(TRUE))
    async with noting(sample_home, llm) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
        assert queries(assistant) == searched
    assert answer.text == TRUE


async def test_it_does_not_wait_for_the_model(sample_home: Path, llm: LlmServer) -> None:
    llm.always(hangs(30))
    async with noting(sample_home, llm, turn_timeout=0.5) as assistant:
        heard = await listen(assistant.stream(QUESTION))
        assert queries(assistant) == [QUESTION]
    assert isinstance(heard[-1], Failed)


async def test_a_question_that_needs_the_conversation_waits_for_the_model(
    sample_home: Path, llm: LlmServer
) -> None:
    conversation = Conversation()
    conversation.add(Turn(QUESTION, TRUE, ("Services and actions",)))
    llm.script(calls_tool("service in ROS 2"), says(TRUE))
    async with noting(sample_home, llm) as assistant:
        await listen(assistant.stream("And what is it good for?", conversation))
        assert queries(assistant) == ["service in ROS 2"]


async def test_a_model_that_fails_at_once_leaves_the_index_open(
    sample_home: Path, llm: LlmServer
) -> None:
    """The search that ran ahead, the first to open the index, is not broken off."""
    llm.script(fails(401), calls_tool(QUESTION), says(TRUE))
    async with noting(sample_home, llm) as assistant:
        assert isinstance((await listen(assistant.stream(QUESTION)))[-1], Failed)
        assert answer_in(await listen(assistant.stream(QUESTION))).text == TRUE
