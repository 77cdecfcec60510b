"""A slow model is waited for as long as it shows life; then the book is quoted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent.events import Failed, StateChanged, Token
from standins.llm_server import LlmServer, Step, hangs, says, trickles
from standins.llm_steps import stalls

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection"
MORE = "There should be exactly one server for each service name"
STALLS = stalls(f"{TRUE} [1]. {MORE} [1]. And so", 30)


async def test_who_shows_life_is_waited_for(with_llm: Assistants, llm: LlmServer) -> None:
    """Each pause is shorter than the limit, all of them together are much longer."""
    llm.script(hangs(0.6, trickles(f"{TRUE} [1]. {MORE} [1].", 0.1, split=8)))
    how = {"first_token_timeout": 5, "silence_timeout": 0.8}
    async with with_llm(**how) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]. {MORE} [1]." and answer.notes == ()


@pytest.mark.parametrize(
    ("step", "limit", "told"),
    [
        (hangs(30), {"first_token_timeout": 0.3}, "did not begin to answer within 0.3 seconds"),
        (
            replace(says(TRUE), pause=30),
            {"first_token_timeout": 0.3},
            "did not begin to answer within 0.3 seconds",
        ),
        (stalls("A service", 30), {"silence_timeout": 0.3}, "middle"),
        (hangs(30), {"completion_timeout": 0.3}, "did not answer within 0.3 seconds"),
        (hangs(30), {"turn_timeout": 0.5}, "longer than 0.5 seconds"),
    ],
    ids=["nothing", "only its role", "silent after a word", "whole request", "whole turn"],
)
async def test_when_time_is_up_the_book_is_quoted(
    with_llm: Assistants, llm: LlmServer, step: Step, limit: dict[str, float], told: str
) -> None:
    llm.script(step)
    async with with_llm(**limit) as assistant:
        heard = await listen(assistant.stream(QUESTION))
    answer = answer_in(heard)
    assert answer.status == "fallback" and answer.citations and len(llm.requests) <= 1
    (note,) = answer.notes
    assert told in note and note.endswith("The book is quoted instead.")
    states = [e.state for e in heard if isinstance(e, StateChanged)]
    assert states[-5:] == [
        "failed", "processing", "tool_call_needed", "tool_executed", "response_generated",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "limit", [{"silence_timeout": 0.5}, {"completion_timeout": 2}, {"turn_timeout": 4}]
)
async def test_what_was_shown_by_then_stays(
    with_llm: Assistants, llm: LlmServer, limit: dict[str, float]
) -> None:
    llm.script(STALLS)
    async with with_llm(**limit) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]. {MORE} [1]." and answer.status == "fallback"
    (note,) = answer.notes
    assert (
        note.startswith("The answer was cut short: The language model") and "not the whole" in note
    )


async def test_or_it_is_an_error(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(hangs(30))
    async with with_llm(turn_timeout=0.5, model_down="error") as assistant:
        heard = await listen(assistant.stream(QUESTION))
    assert isinstance(heard[-1], Failed) and heard[-1].error.code == "E004"
    assert "0.5 seconds" in heard[-1].error.message and "TURN_TIMEOUT" in heard[-1].error.action
    assert not [event for event in heard if isinstance(event, Token)]
    states = [e.state for e in heard if isinstance(e, StateChanged)]
    assert states == ["received", "processing", "tool_call_needed", "tool_executed", "failed"]
