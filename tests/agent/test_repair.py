"""A sentence that no passage bears is given back to the model once, before it is left out."""

from __future__ import annotations

import pytest

from agent.conftest import Assistants
from standins.llm_server import LlmServer, fails, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."
FALSE = "A service was invented by 40 engineers [1]."
LAST = "The client sends a request, and the server sends back one response [1]."
# Breaks no fact, and the reader says .43.
UNSURE = "A node offers a service, and clients request it [1]."

pytestmark = pytest.mark.usefixtures("with_reader")


async def test_a_restated_sentence_stands_where_the_failed_one_stood(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.script(says(f"{FALSE} {LAST}"), says(f"1: {TRUE}"))
    async with with_llm(repair=True) as assistant:
        answer = await assistant.ask(QUESTION)
    assert answer.text == f"{TRUE} {LAST}"
    assert answer.removed == 0 and not any("left out" in note for note in answer.notes)
    assert len(llm.requests) == 2
    asked = llm.bodies[1]["messages"][-1]["content"]
    assert "1: A service was invented by 40 engineers" in asked
    assert "the number 40 is not in the passage" in asked
    assert "Passage [1]" in asked and "tools" not in llm.bodies[1]


@pytest.mark.parametrize(
    "reply", ["1: -", "1: A service was invented by 50 engineers [1].", "No idea.", ""]
)
async def test_what_is_withdrawn_or_fails_again_is_left_out_and_told(
    with_llm: Assistants, llm: LlmServer, reply: str
) -> None:
    llm.script(says(f"{TRUE} {FALSE} {LAST}"), says(reply))
    async with with_llm(repair=True) as assistant:
        answer = await assistant.ask(QUESTION)
    assert answer.text == f"{TRUE} {LAST}"
    assert answer.removed == 1 and any("left out" in note for note in answer.notes)


async def test_a_model_that_fails_meanwhile_costs_nothing_that_held(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.script(says(f"{TRUE} {FALSE} {LAST}"), fails(401))
    async with with_llm(repair=True) as assistant:
        answer = await assistant.ask(QUESTION)
    assert answer.text == f"{TRUE} {LAST}" and answer.status == "success"


@pytest.mark.parametrize("text", [TRUE, "The book does not say anything about that."])
async def test_nothing_to_mend_is_one_request(
    with_llm: Assistants, llm: LlmServer, text: str
) -> None:
    llm.script(says(text))
    async with with_llm(repair=True) as assistant:
        await assistant.ask(QUESTION)
    assert len(llm.requests) == 1


@pytest.mark.parametrize("verdict", ["yes", "no"])
async def test_the_model_judges_what_the_reader_is_unsure_of(
    with_llm: Assistants, llm: LlmServer, verdict: str
) -> None:
    llm.script(says(f"{TRUE} {UNSURE} {FALSE}"), says(f"1: {verdict}\n2: {verdict}"))
    async with with_llm(repair=False, judge="model") as assistant:
        answer = await assistant.ask(QUESTION)
    assert len(llm.requests) == 2
    asked = llm.bodies[1]["messages"][-1]["content"]
    assert "1: A node offers a service" in asked
    assert "40 engineers" not in asked, "no judge is asked about a hard fact"
    assert ("A node offers" in answer.text) is (verdict == "yes")
    assert "40 engineers" not in answer.text
