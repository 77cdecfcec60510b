"""Whatever a language model writes, only what is by the book reaches the reader."""

from __future__ import annotations

from typing import Any

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent import prompts
from bythebook.agent.events import StateChanged, Token
from bythebook.grounding.words import without_markers
from bythebook.language.segmentation import pieces_of, readable
from bythebook.models.conversation import Conversation, Turn
from bythebook.settings import REFUSAL
from standins.llm_server import (
    LlmServer,
    Step,
    bad_arguments,
    calls_tool,
    calls_tools,
    empty,
    passages,
    says,
)

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection"
STATES = [
    "received", "processing", "tool_call_needed", "tool_executed", "response_generated",
]  # fmt: skip


FOLLOW_UP = "And what is it good for?"


def talk() -> Conversation:
    """One in which a question can lean on something."""
    conversation = Conversation()
    conversation.add(Turn(QUESTION, f"{TRUE} [1].", ("Services and actions",)))
    return conversation


def sentences_of(text: str) -> list[str]:
    pieces = [piece for piece in pieces_of(text) if piece.kind == "sentence"]
    said = [readable(text[piece.start : piece.end]) for piece in pieces]
    return [sentence for sentence in said if sentence.endswith(".")]


async def test_a_good_answer_is_shown_with_its_citation(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(says(f"{TRUE} [1]."))
    async with with_llm(openai_stream=streaming) as assistant:
        heard = await listen(assistant.stream(QUESTION))
    answer = answer_in(heard)
    assert answer.text == f"{TRUE} [1]." and answer.status == "success" and not answer.refused
    (cited,) = answer.citations
    assert "request-and-reply" in cited.quote
    assert cited.passage.metadata.source_file.endswith("02-services-and-actions.md")
    assert [e.state for e in heard if isinstance(e, StateChanged)] == STATES
    assert answer.tokens_used == sum(request.usage["total_tokens"] for request in llm.requests)
    assert answer.model == "stand-in" and answer.removed == 0 and answer.notes == ()


async def test_numbers_follow_first_use(with_llm: Assistants, llm: LlmServer) -> None:
    def writes(request: dict[str, Any]) -> Step:
        said = {each["cite"]: sentences_of(each["chunk_text"]) for each in passages(request)}
        early, late = [number for number, sentences in said.items() if len(sentences) > 1][:2]
        order.extend([late, early])
        return says(f"{said[late][0]} [{late}] {said[early][0]} [{early}] {said[late][1]} [{late}]")

    order: list[int] = []

    llm.script(writes)
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert [number for each in answer.sentences for number in each.citations] == [1, 2, 1]
    assert [cited.passage for cited in answer.citations] == [answer.passages[n - 1] for n in order]


@pytest.mark.parametrize(
    ("written", "gone"),
    [
        pytest.param(f"{TRUE} [7].", "[7]", id="cites 7 of 5"),
        pytest.param(f"{TRUE} [1]. Each of the 4096 clients may use it [1].", "4096", id="number"),
        pytest.param(f"{TRUE} [1]. It was designed by Brian Gerkey [1].", "Gerkey", id="name"),
        pytest.param(f"{TRUE} [1]. Call it with `rclpy.call_now()` [1].", "call_now", id="code"),
        pytest.param(
            f"{TRUE} [1]. There should never be exactly one server for each service name [1].",
            "never",
            id="negation",
        ),
        pytest.param(
            f"{TRUE} [1]. Paris is the capital of France.", "Paris", id="general knowledge"
        ),
        pytest.param(f"Great question! {TRUE} [1]. I hope that helps!", "Great", id="chatter"),
    ],
)
async def test_what_the_book_does_not_say_is_not_shown(
    with_llm: Assistants, llm: LlmServer, streaming: bool, written: str, gone: str
) -> None:
    llm.script(says(written))
    async with with_llm(openai_stream=streaming) as assistant:
        heard = await listen(assistant.stream(QUESTION))
    answer = answer_in(heard)
    assert gone not in answer.text and gone not in str([e for e in heard if isinstance(e, Token)])
    assert TRUE in answer.text and "[1]" in answer.text


async def test_the_book_is_quoted_in_place_of_general_knowledge(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(
        says("Kubernetes exposes pods through a stable virtual address. It balances the load."),
    )
    async with with_llm(openai_stream=streaming) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert not answer.refused and answer.removed == 2 and "Kubernetes" not in answer.text
    said = [without_markers(answer.text[one.start : one.end]) for one in answer.sentences]
    assert said and all(one in answer.citations[0].passage.text for one in said)
    assert prompts.QUOTED_WHERE_IT_FAILS in answer.notes


async def test_a_model_that_never_searches_is_given_the_results(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(
        says("It is a Kubernetes object, as everybody knows."),
        says(f"{TRUE} [1]. A service is a Kubernetes object [1]."),
    )
    async with with_llm(openai_stream=streaming) as assistant:
        heard = await listen(assistant.stream(FOLLOW_UP, talk()))
    answer = answer_in(heard)
    assert answer.text == f"{TRUE} [1]." and answer.removed == 1
    assert [e.state for e in heard if isinstance(e, StateChanged)] == STATES
    assert passages(llm.bodies[1]) and llm.bodies[1]["tool_choice"] == "none"


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(bad_arguments("{query: service"), id="not JSON"),
        pytest.param(bad_arguments('{"topic": "service"}'), id="other fields"),
        pytest.param(calls_tool("services", name="google_it"), id="unknown tool"),
        pytest.param(calls_tool("services", arguments={"filters": {"colour": "red"}}), id="filter"),
        pytest.param(calls_tool("services", arguments={"top_k": 500}), id="bounds"),
        pytest.param(empty(), id="nothing"),
    ],
)
@pytest.mark.parametrize("leans", [True, False], ids=["follow-up", "alone"])
async def test_a_call_that_can_not_be_used_is_made_for_it(
    with_llm: Assistants, llm: LlmServer, streaming: bool, first: Step, leans: bool
) -> None:
    llm.script(first, says(f"{TRUE} [1]."))
    llm.parses_arguments = True
    async with with_llm(openai_stream=streaming) as assistant:
        asked = assistant.stream(FOLLOW_UP, talk()) if leans else assistant.stream(QUESTION)
        answer = answer_in(await listen(asked))
    assert answer.text == f"{TRUE} [1]."


@pytest.mark.parametrize(
    "arguments",
    [
        {"filters": {"module_filter": "node", "prefix": "https://www.example.com"}},
        {"filters": {"lesson_filter": 999}},
        {"similarity_threshold": 1.0},
        {"top_k": 1},
        {"top_k": 1, "similarity_threshold": 0.9, "filters": {"layer_filter": "L4"}},
    ],
)
async def test_what_a_model_fills_in_does_not_hide_the_answer(
    with_llm: Assistants, llm: LlmServer, arguments: dict[str, Any]
) -> None:
    llm.script(calls_tool("service in ROS 2", arguments=arguments), says(f"{TRUE} [1]."))
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(FOLLOW_UP, talk())))
    assert answer.text == f"{TRUE} [1]."


async def test_a_model_that_searches_for_ever_is_stopped(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    def goes_on(request: dict[str, Any]) -> Step:
        told = request.get("tool_choice") == "none"
        return says(f"{TRUE} [1].") if told else calls_tool("services")

    llm.always(goes_on)
    async with with_llm(openai_stream=streaming) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]." and len(llm.requests) < 10


async def test_two_searches_share_one_numbering(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(
        calls_tools("services in ROS 2", "quality of service profiles"), says(f"{TRUE} [1].")
    )
    async with with_llm(context_tokens=32_000) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    numbers = [each["cite"] for each in passages(llm.bodies[1])]
    assert sorted(set(numbers)) == list(range(1, len(answer.passages) + 1))
    assert len(answer.tool_calls) == 3


async def test_weak_evidence_is_refused_without_asking_the_model_again(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(calls_tool("sourdough bread recipe"))
    async with with_llm(openai_stream=streaming) as assistant:
        asked = "And how do I bake sourdough bread with it?"
        answer = answer_in(await listen(assistant.stream(asked, talk())))
    assert answer.refused and not answer.confidence.should_answer and len(llm.requests) == 1
    # It names what was searched, in the reader's words.
    assert "sourdough bread" in answer.text and "recipe" not in answer.text


async def test_the_models_own_refusal_is_the_refusal(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(says(f"{REFUSAL}."))
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.refused and answer.removed == 0 and answer.text.count(REFUSAL) == 1
