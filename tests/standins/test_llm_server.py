"""The scripted language model itself, through the clients that the project uses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import openai
import pytest
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner
from agents import function_tool as tool
from openai import AsyncOpenAI

from standins.llm_process import llm_process
from standins.llm_server import (
    Json,
    LlmServer,
    Script,
    Step,
    bad_arguments,
    calls_tool,
    calls_tools,
    cuts,
    empty,
    ends_early,
    fails,
    hangs,
    last_question,
    malformed,
    passages,
    running_llm,
    says,
    searches_then,
    tool_results,
    trickles,
)

ASKED: list[Json] = [{"role": "user", "content": "What is Gazebo?"}]
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": "search_textbook",
            "description": "Searches.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
]
ANSWER = "Gazebo ist ein Simulator – für Roboter. 机器人 [1]"


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with running_llm() as server:
        yield server


@pytest.fixture
async def client(llm: LlmServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=llm.base_url, api_key="any", max_retries=0) as opened:
        yield opened


async def ask(client: AsyncOpenAI, **more: Any) -> Any:
    body: dict[str, Any] = {"model": "m", "messages": ASKED, "tools": TOOLS} | more
    return await client.chat.completions.create(**body)


async def stream(client: AsyncOpenAI, **more: Any) -> list[Any]:
    return [chunk async for chunk in await ask(client, stream=True, **more)]


def text(chunks: list[Any]) -> str:
    found = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    return "".join(piece or "" for piece in found)


def reasons(chunks: list[Any]) -> list[str]:
    found = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    return [reason for reason in found if reason]


def called(chunks: list[Any]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call, put together."""
    parts = [
        part
        for chunk in chunks
        if chunk.choices
        for part in chunk.choices[0].delta.tool_calls or []
    ]
    found: dict[int, list[str]] = {}
    for part in parts:
        call = found.setdefault(part.index, ["", "", ""])
        call[0] += part.id or ""
        call[1] += part.function.name or ""
        call[2] += part.function.arguments or ""
    return [(call[0], call[1], call[2]) for call in found.values()]


def searched(question: str, result: Json) -> list[Json]:
    """A conversation up to what the tool gave back."""
    function = {"name": "search_textbook", "arguments": "{}"}
    call = {"id": "a", "type": "function", "function": function}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps(result)},
    ]


@pytest.mark.parametrize("wire", [None, 1, 7])
@pytest.mark.parametrize("split", [1, 4, 1000])
async def test_text_arrives_whole(
    llm: LlmServer, client: AsyncOpenAI, split: int, wire: int | None
) -> None:
    llm.script(says(ANSWER, split=split, wire=wire), says(ANSWER))
    chunks = await stream(client)
    assert text(chunks) == ANSWER
    assert reasons(chunks) == ["stop"]
    whole = await ask(client)
    assert whole.choices[0].message.content == ANSWER
    assert whole.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("split", [1, 2, 3, 5, 100])
async def test_a_tool_call_arrives_whole(llm: LlmServer, client: AsyncOpenAI, split: int) -> None:
    step = calls_tool('Wie "läuft" 机器人?', arguments={"top_k": 3}, split=split, wire=3)
    llm.script(step, step)
    chunks = await stream(client)
    whole = (await ask(client)).choices[0]
    ((call_id, name, arguments),) = called(chunks)
    assert (whole.finish_reason, reasons(chunks)) == ("tool_calls", ["tool_calls"])
    assert whole.message.tool_calls[0].id == call_id
    assert name == whole.message.tool_calls[0].function.name == "search_textbook"
    assert arguments == whole.message.tool_calls[0].function.arguments
    assert json.loads(arguments) == {"query": 'Wie "läuft" 机器人?', "top_k": 3}


async def test_a_split_goes_through_name_words_and_escapes(
    llm: LlmServer, client: AsyncOpenAI
) -> None:
    llm.script(calls_tool("über", split=100))
    chunks = await stream(client)
    pieces = [
        part.function.arguments
        for chunk in chunks
        for part in (chunk.choices[0].delta.tool_calls or [] if chunk.choices else [])
    ]
    assert pieces[0] == ""
    assert "\\" in pieces
    assert max(len(piece) for piece in pieces) == 1


async def test_several_calls_in_one_message(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(calls_tools("one", "two"), calls_tools("one", "two"))
    calls = called(await stream(client))
    assert [json.loads(call[2])["query"] for call in calls] == ["one", "two"]
    assert len({call[0] for call in calls}) == 2
    assert len((await ask(client)).choices[0].message.tool_calls) == 2


async def test_calls_that_no_client_can_use(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(bad_arguments('{"query": "x'), calls_tool("x", name="unknown"))
    assert called(await stream(client))[0][2] == '{"query": "x'
    assert called(await stream(client))[0][1] == "unknown"


async def test_usage_comes_where_it_was_asked_for(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.always(says(ANSWER))
    assert [chunk.usage for chunk in await stream(client) if chunk.usage] == []
    told = (await stream(client, stream_options={"include_usage": True}))[-1].usage
    whole = (await ask(client)).usage
    assert told == whole
    assert whole.total_tokens == whole.prompt_tokens + whole.completion_tokens > 0
    assert llm.requests[-1].usage["total_tokens"] == whole.total_tokens


async def test_a_service_that_tells_no_usage(client: AsyncOpenAI) -> None:
    with running_llm(always=says("Hi."), reports_usage=False) as quiet:
        other = client.with_options(base_url=quiet.base_url)
        assert (await ask(other)).usage is None
        chunks = await stream(other, stream_options={"include_usage": True})
        assert [chunk.usage for chunk in chunks if chunk.usage] == []


@pytest.mark.parametrize("streamed", [True, False])
async def test_failures_have_their_status(
    llm: LlmServer, client: AsyncOpenAI, streamed: bool
) -> None:
    llm.script(fails(429, retry_after=7), fails(500), fails(401), fails(400, body="nonsense"))
    with pytest.raises(openai.RateLimitError) as limited:
        await ask(client, stream=streamed)
    assert limited.value.response.headers["Retry-After"] == "7"
    with pytest.raises(openai.InternalServerError, match="scripted 500"):
        await ask(client, stream=streamed)
    with pytest.raises(openai.AuthenticationError):
        await ask(client, stream=streamed)
    with pytest.raises(openai.BadRequestError) as refused:
        await ask(client, stream=streamed)
    assert refused.value.response.text == "nonsense"
    assert [request.status for request in llm.requests] == [429, 500, 401, 400]


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_client_that_gives_up_is_noticed(
    llm: LlmServer, client: AsyncOpenAI, streamed: bool
) -> None:
    llm.script(hangs(60), says("Next."))
    with pytest.raises(openai.APITimeoutError):
        await ask(client, stream=streamed, timeout=0.05)
    assert text(await stream(client)) == "Next."
    await llm.until(lambda: llm.requests[0].ended)
    assert llm.requests[0].gave_up


async def test_a_hanging_server_stops_at_once() -> None:
    async with AsyncOpenAI(base_url="http://unused", api_key="any", max_retries=0) as client:
        with running_llm(hangs(600)) as server:
            asked = asyncio.create_task(ask(client.with_options(base_url=server.base_url)))
            await server.until(lambda: server.requests)
        with pytest.raises(openai.APIConnectionError):
            await asked


async def test_hanging_and_trickling_end_well(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(hangs(0.01, says("Then.")), trickles("Slow.", 0.001), trickles("Slow.", 0.001))
    assert text(await stream(client)) == "Then."
    assert text(await stream(client)) == "Slow."
    assert (await ask(client)).choices[0].message.content == "Slow."


async def test_a_stream_that_is_cut(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(cuts("Gazebo is a simulator.", after=9), cuts("Gazebo is a simulator."))
    got = []
    with pytest.raises(openai.APIConnectionError):
        async for chunk in await ask(client, stream=True):
            got.append(chunk)
    assert text(got) == "Gazebo is"
    with pytest.raises(openai.APIConnectionError):
        await ask(client)


async def test_a_stream_that_ends_without_a_reason(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(ends_early("Gazebo is a simulator.", after=9), ends_early("Gazebo", after=3))
    chunks = await stream(client)
    assert (text(chunks), reasons(chunks)) == ("Gazebo is", [])
    whole = (await ask(client)).choices[0]
    assert (whole.message.content, whole.finish_reason) == ("Gaz", None)


async def test_an_answer_that_was_too_long(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(says("Gazebo is", finish="length"), says("Gazebo is", finish="length"))
    assert reasons(await stream(client)) == ["length"]
    assert (await ask(client)).choices[0].finish_reason == "length"


async def test_what_is_not_json(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(malformed("{nonsense", before="Gaz"), malformed("{nonsense"))
    with pytest.raises(ValueError, match="Expecting property name"):
        await stream(client)
    with pytest.raises(ValueError, match="Expecting property name"):
        await ask(client)


async def test_answers_of_nothing(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(empty(), empty(), empty(choices=False), empty(choices=False))
    assert text(await stream(client)) == ""
    assert (await ask(client)).choices[0].message.content == ""
    assert all(not chunk.choices for chunk in await stream(client))
    assert (await ask(client)).choices == []


async def test_a_step_may_read_the_request(llm: LlmServer, client: AsyncOpenAI) -> None:
    result = {"results": [{"chunk_text": "It simulates.", "rank": 1}], "total_results": 1}
    earlier = searched("Before?", result)
    llm.always(searches_then(lambda found: f"{found[0]['chunk_text']} [1]"))
    ((_, _, arguments),) = called(await stream(client))
    assert json.loads(arguments) == {"query": "What is Gazebo?"}
    assert text(await stream(client, messages=earlier)) == "It simulates. [1]"
    later = [*earlier, {"role": "assistant", "content": "It simulates. [1]"}, *ASKED]
    assert called(await stream(client, messages=later))
    assert passages({"messages": earlier}) == result["results"]
    assert tool_results({"messages": later}) == []
    assert last_question({"messages": later}) == "What is Gazebo?"


async def test_many_requests_at_once(llm: LlmServer, client: AsyncOpenAI) -> None:
    def echo(request: Json) -> Step:
        return says(last_question(request))

    llm.latency = 0.05
    llm.always(echo)
    questions = [f"Question {number}" for number in range(40)]
    found = await asyncio.gather(
        *(stream(client, messages=[{"role": "user", "content": asked}]) for asked in questions)
    )
    assert [text(chunks) for chunks in found] == questions
    assert llm.busiest > 1
    assert len(llm.requests) == 40


async def test_what_was_asked_is_kept(llm: LlmServer, client: AsyncOpenAI) -> None:
    llm.script(says("Hi."))
    await ask(client, temperature=0, tool_choice="required")
    (request,) = llm.requests
    assert request.headers["authorization"] == "Bearer any"
    assert request.body["messages"] == ASKED
    assert request.body["tool_choice"] == "required"
    assert llm.bodies == [request.body]
    await llm.until(lambda: request.ended)


async def test_a_process_of_its_own() -> None:
    result = {"results": [{"chunk_text": "Gazebo simulates. It runs.", "cite": 2}]}
    with llm_process(latency=0.01) as url:
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            ((_, _, arguments),) = called(await stream(client))
            assert json.loads(arguments) == {"query": "What is Gazebo?"}
            assert (
                text(await stream(client, messages=searched("x?", result)))
                == "Gazebo simulates. [2]"
            )


async def test_models_paths_and_keys() -> None:
    with running_llm(always=says("Hi."), key="right", model="tiny") as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="wrong", max_retries=0) as client:
            assert [model.id async for model in client.models.list()] == ["tiny"]
            with pytest.raises(openai.AuthenticationError):
                await ask(client)
            assert (await ask(client.with_options(api_key="right"))).choices
            with pytest.raises(openai.NotFoundError):
                await client.embeddings.create(model="m", input="x")
            async with httpx.AsyncClient() as plain:
                assert (await plain.get(f"{server.base_url}/none")).status_code == 404


async def test_a_request_without_a_step_fails_the_test() -> None:
    async def go() -> None:
        with running_llm(says("One.")) as server:
            async with AsyncOpenAI(
                base_url=server.base_url, api_key="any", max_retries=0
            ) as client:
                await ask(client)
                with pytest.raises(openai.BadRequestError, match="unscripted request: number 2"):
                    await ask(client)

    with pytest.raises(AssertionError, match="request 2: unscripted"):
        await go()


async def test_the_agents_sdk_works_with_it(llm: LlmServer, client: AsyncOpenAI) -> None:
    queries: list[str] = []

    @tool
    def search_textbook(query: str) -> str:
        queries.append(query)
        return json.dumps({"results": [{"chunk_text": f"About {query}.", "rank": 1}]})

    model = OpenAIChatCompletionsModel("m", client)
    agent = Agent(
        name="reader",
        instructions="Answer from the book.",
        model=model,
        tools=[search_textbook],
        model_settings=ModelSettings(tool_choice="required", include_usage=True),
    )
    llm.script(calls_tool("Gazebo – 机器人", split=50), searches_then(lambda found: ANSWER))
    quiet = RunConfig(tracing_disabled=True)
    run = Runner.run_streamed(agent, "What is Gazebo?", run_config=quiet)
    told = [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    assert "".join(told) == run.final_output == ANSWER
    assert queries == ["Gazebo – 机器人"]
    used = sum(request.usage["total_tokens"] for request in llm.requests)
    assert run.context_wrapper.usage.total_tokens == used
    llm.script(calls_tool("ROS"), says("Whole."))
    assert (await Runner.run(agent, "What is ROS?", run_config=quiet)).final_output == "Whole."


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (calls_tool("x"), "offers none"),
        (lambda request: says(request["no such field"]), "KeyError"),
    ],
)
async def test_a_step_that_can_not_be_played(step: Script, complaint: str) -> None:
    with running_llm(step, strict=False) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0) as client:
            with pytest.raises(openai.BadRequestError):
                await ask(client, tools=openai.omit)
    assert complaint in server.complaints[0]
