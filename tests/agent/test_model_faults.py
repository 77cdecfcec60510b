"""A language model that is down, slow, busy or cut off: a clear error or a quotation, always one
terminal event, and nothing that hangs."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent.events import Failed, StateChanged, Token
from bythebook.agent.language_model import LanguageModel
from bythebook.errors import ConfigurationError, ModelError
from bythebook.models.conversation import Conversation, Turn
from bythebook.settings import Settings
from extent import PATIENCE
from standins.llm_server import (
    LlmServer,
    Step,
    calls_tool,
    cuts,
    ends_early,
    fails,
    hangs,
    malformed,
    says,
    trickles,
)

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection"
MORE = "There should be exactly one server for each service name"
SEARCH = calls_tool("service in ROS 2")

BROKEN = [
    pytest.param([fails(500)], "HTTP 500", id="500"),
    pytest.param([fails(503)], "HTTP 503", id="503"),
    pytest.param([fails(429)], "rate limit", id="429"),
    pytest.param([fails(429, retry_after=3600)], "rate limit", id="429 for an hour"),
    pytest.param([fails(401)], "key", id="401"),
    pytest.param([fails(404)], "no model", id="404"),
    pytest.param([fails(400)], "HTTP 400", id="400"),
    pytest.param([malformed("<html>busy</html>")], "not a chat completion", id="malformed"),
    pytest.param([cuts("")], "reached", id="cut at once"),
    pytest.param([hangs(30)], "0.3 seconds", id="hangs"),
    pytest.param([SEARCH, fails(500)], "HTTP 500", id="500 after a search"),
    pytest.param([SEARCH, hangs(30)], "0.3 seconds", id="hangs after a search"),
]
AGAIN = {"retries": 1, "breaker_failures": 100}
ERROR = {"model_down": "error"}


def script(llm: LlmServer, steps: list[Step]) -> dict[str, Any]:
    """How long to wait for it: only for one that hangs is too long what a busy machine takes."""
    llm.script(*steps[:-1])
    llm.always(steps[-1])
    return {**AGAIN, "completion_timeout": 0.3 if steps[-1].wait else PATIENCE}


@pytest.mark.parametrize(("steps", "told"), BROKEN)
async def test_a_failure_can_be_one_clear_error(
    with_llm: Assistants, llm: LlmServer, streaming: bool, steps: list[Step], told: str
) -> None:
    how = script(llm, steps)
    conversation = Conversation()
    async with with_llm(openai_stream=streaming, **how, **ERROR) as assistant:
        heard = await listen(assistant.stream(QUESTION, conversation))
    last = heard[-1]
    assert isinstance(last, Failed) and isinstance(last.error, ModelError)
    assert told in last.error.message and last.error.action
    assert (last.error.code, last.error.http_status) == ("E004", 503)
    assert [e.state for e in heard if isinstance(e, StateChanged)][-1] == "failed"
    assert not conversation.turns


@pytest.mark.parametrize(("steps", "told"), BROKEN)
async def test_the_book_is_quoted_instead(
    with_llm: Assistants, llm: LlmServer, streaming: bool, steps: list[Step], told: str
) -> None:
    how = script(llm, steps)
    async with with_llm(**how, openai_stream=streaming) as assistant:
        heard = await listen(assistant.stream(QUESTION))
    answer = answer_in(heard)
    assert (
        answer.status == "fallback" and not answer.refused and TRUE in answer.text.replace("*", "")
    )
    (note,) = answer.notes
    assert told in note and "language model" in note and "quoted instead" in note
    states = [e.state for e in heard if isinstance(e, StateChanged)]
    assert "failed" in states and states[-1] == "response_generated"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://127.0.0.1:9/v1", "the connection was refused"),
        ("http://model.invalid/v1", "the server's name is not known"),
    ],
)
async def test_the_server_is_not_there(with_llm: Assistants, address: str, told: str) -> None:
    """That is told after one more attempt, not after all of them."""
    async with with_llm(openai_base_url=address, retries=10, breaker_failures=3) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
        assert "can't be reached" in answer.notes[0] and told in answer.notes[0]
        # Two attempts; the third failure opens the breaker, which still names the cause.
        answer = answer_in(await listen(assistant.stream(QUESTION)))
        assert "left alone" in answer.notes[0] and told in answer.notes[0]


async def test_the_server_does_not_speak_http(with_llm: Assistants, streaming: bool) -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff\x15HTTP/9.9 banana\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    how = {"openai_base_url": address, "openai_stream": streaming, "retries": 0}
    async with server, with_llm(**how, **ERROR) as assistant:
        assert assistant.language_model is not None
        with pytest.raises(ModelError, match="not a chat completion"):
            await assistant.language_model.check()
        with pytest.raises(ModelError, match="not a chat completion"):
            await assistant.ask(QUESTION)


async def test_a_login_in_the_address_is_sent_instead_of_the_key(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    script(llm, [SEARCH, says(f"{TRUE} [1].")])
    url = llm.base_url.replace("//", "//me:se%40same@")
    async with with_llm(openai_base_url=url, openai_stream=streaming) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]."
    login = b64encode(b"me:se@same").decode()
    assert {request.headers["authorization"] for request in llm.requests} == {f"Basic {login}"}


@pytest.mark.parametrize(
    "address",
    [
        "not an address",
        "api.example/v1",
        "ftp://api.example/v1",
        "http://[api",
        "http://api.example:99999/v1",
        "http://a%3Ab:sesame@api.example/v1",
    ],
)
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL") as told:
        LanguageModel(Settings(openai_base_url=address))
    assert told.value.action and "sesame" not in str(told.value)


async def test_a_refusal_without_the_model_says_so(with_llm: Assistants, llm: LlmServer) -> None:
    conversation = Conversation()
    conversation.add(Turn(QUESTION, f"{TRUE} [1].", ("Services and actions",)))
    llm.script(fails(401))
    async with with_llm() as assistant:
        asked = "And how do I bake sourdough bread with it?"
        answer = answer_in(await listen(assistant.stream(asked, conversation)))
    (note,) = answer.notes
    assert answer.refused and "refused the key" in note and "searched without it" in note


async def test_passing_failures_are_tried_again(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(fails(500), fails(429, retry_after=0), SEARCH, fails(503), says(f"{TRUE} [1]."))
    async with with_llm(openai_stream=streaming) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]." and len(llm.requests) == 5


async def test_pauses_double(with_llm: Assistants, llm: LlmServer) -> None:
    llm.always(fails(500))
    how = {"retries": 3, "retry_delay": 0.1, "breaker_failures": 100}
    async with with_llm(**how) as assistant:
        await listen(assistant.stream(QUESTION))
    times = [request.at for request in llm.requests]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert len(pauses) == 3
    assert all(pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4), strict=True))


@pytest.mark.parametrize("step", [fails(401), fails(403), fails(404), fails(400), hangs(30)])
async def test_what_can_not_pass_is_not_tried_again(
    with_llm: Assistants, llm: LlmServer, streaming: bool, step: Step
) -> None:
    llm.always(step)
    limit = 0.3 if step.wait else PATIENCE
    async with with_llm(openai_stream=streaming, completion_timeout=limit) as assistant:
        await listen(assistant.stream(QUESTION))
    assert len(llm.requests) == 1


async def test_the_breaker_leaves_a_failing_model_alone(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.always(fails(500))
    async with with_llm(retries=5, breaker_failures=5, **ERROR) as assistant:
        await listen(assistant.stream(QUESTION))
        assert len(llm.requests) == 5
        heard = await listen(assistant.stream(QUESTION))
        assert len(llm.requests) == 5
    assert isinstance(heard[-1], Failed) and "left alone" in heard[-1].error.message


async def test_the_breaker_closes_again(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(fails(500), fails(500), SEARCH, says(f"{TRUE} [1]."))
    how = {"retries": 0, "breaker_failures": 2, "breaker_seconds": 3600, **ERROR}
    async with with_llm(**how) as assistant:
        for _ in range(3):
            assert isinstance((await listen(assistant.stream(QUESTION)))[-1], Failed)
        assert len(llm.requests) == 2
        assistant.language_model._breaker.seconds = 0  # as if they were over
        assert answer_in(await listen(assistant.stream(QUESTION))).text == f"{TRUE} [1]."


CUT = f"{TRUE} [1]. {MORE} [1]. And so on and"


@pytest.mark.parametrize("step", [cuts(CUT, after=90), trickles(CUT * 40, delay=0.02)])
async def test_cut_in_the_middle_can_be_an_error(
    with_llm: Assistants, llm: LlmServer, step: Step
) -> None:
    llm.script(step)
    async with with_llm(completion_timeout=1.5, **ERROR) as assistant:
        heard = await listen(assistant.stream(QUESTION))
    shown = "".join(event.text for event in heard if isinstance(event, Token))
    assert isinstance(heard[-1], Failed) and "in the middle" in heard[-1].error.message
    assert shown.startswith(f"{TRUE} [1].") and len(llm.requests) == 1  # not said twice


@pytest.mark.parametrize("step", [cuts(CUT, after=90), ends_early(CUT, after=90)])
async def test_what_was_verified_stays(with_llm: Assistants, llm: LlmServer, step: Step) -> None:
    """What was shown is by the book; the sentence that was cut is not shown."""
    llm.script(step)
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == f"{TRUE} [1]." and any("middle" in note for note in answer.notes)


async def test_a_cut_search_is_tried_again(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(cuts("", after=0), SEARCH, cuts("", after=0), says(f"{TRUE} [1]."))
    async with with_llm() as assistant:
        assert answer_in(await listen(assistant.stream(QUESTION))).text == f"{TRUE} [1]."


async def test_who_stops_listening_stops_the_work(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(trickles(f"{TRUE} [1]. " * 200, delay=0.05))
    async with with_llm() as assistant:
        events = assistant.stream(QUESTION)
        async for event in events:
            if isinstance(event, Token):
                break
        await events.aclose()
        await llm.until(lambda: llm.requests[0].gave_up)
