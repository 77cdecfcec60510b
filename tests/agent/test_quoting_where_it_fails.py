"""Where a model's words do not hold, or do not answer, the book's own words stand in for them."""

from __future__ import annotations

import pytest

from agent.conftest import Assistants
from bythebook.agent import prompts
from standins.llm_server import LlmServer, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."
FALSE = "A service was invented by 40 engineers [1]."
# True, and no answer.
BESIDE = "The client sends a request, and the server sends back one response [1]."

pytestmark = pytest.mark.usefixtures("with_reader")


async def test_an_answer_of_which_nothing_holds_is_quoted(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.script(says(FALSE))
    async with with_llm() as assistant:
        answer = await assistant.ask(QUESTION)
    assert not answer.refused and answer.removed == 1
    assert prompts.QUOTED_WHERE_IT_FAILS in answer.notes
    for citation in answer.citations:
        assert citation.quote in citation.passage.text
        assert citation.quote.rstrip(".") in answer.text


async def test_what_holds_and_does_not_answer_is_kept_with_the_quotation(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.script(says(f"{FALSE} {BESIDE}"))
    async with with_llm() as assistant:
        answer = await assistant.ask(QUESTION)
    quoted, _, rest = answer.text.rpartition("\n\n")
    assert rest.startswith("The client sends") and quoted


async def test_what_answers_is_left_alone(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(says(f"{TRUE} {FALSE}"))
    async with with_llm() as assistant:
        answer = await assistant.ask(QUESTION)
    assert answer.text == TRUE
    assert prompts.QUOTED_WHERE_IT_FAILS not in answer.notes


async def test_a_model_that_finds_nothing_is_believed(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(says("The book does not say anything about that."))
    async with with_llm() as assistant:
        answer = await assistant.ask(QUESTION)
    assert answer.refused
