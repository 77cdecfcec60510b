"""The official client of OpenAI's API, pointed at a book."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from booktext import WriteBook
from bythebook.library import Library
from bythebook.server.openai_completion import MAX_EARLIER, CompletionRequest, without_sources
from bythebook.settings import Settings
from extent import PATIENCE
from server.running import Running, running, with_model
from standins.llm_server import LlmServer, calls_tool, fails, hangs, says

BOOK = "physical-ai-robotics"
QUESTION = "What is a service in ROS 2?"
UNCOVERED = "How do I bake sourdough bread?"
TRUE = "A service is a request-and-reply connection [1]."
MARKER = re.compile(r"\[(\d+)\]")

SEARCH = {"text": QUESTION, "hardware_tier_filter": 4, "limit": 5}
IDS = ["bythebook", BOOK, "bythebook-passages", f"{BOOK}-passages"]


@asynccontextmanager
async def client(up: Running, key: str = "none") -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"{up.server.address}/v1", api_key=key, max_retries=0, timeout=PATIENCE
    ) as opened:
        yield opened


async def new_key(up: Running, *scopes: Any, **how: Any) -> str:
    _, secret = await up.service.keys.create("test", scopes or ("read", "chat"), **how)
    return secret


@pytest.fixture
async def ask(up: Running) -> AsyncIterator[openai.AsyncOpenAI]:
    async with client(up, await new_key(up)) as opened:
        yield opened


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def listed(content: str) -> dict[str, tuple[str, str]]:
    """Title and address of each source, by number."""
    below = content.rpartition("\n\nSources:\n")[2].splitlines()
    found = [re.fullmatch(r"- \[(\d+)\] (.+) – (https://\S+)", line) for line in below]
    return {line[1]: (line[2], line[3]) for line in found if line}


def check_annotations(content: str, annotations: list[dict[str, Any]]) -> None:
    """Each marker of the text has its annotation, which names the source listed below."""
    said, sources = content.rpartition("\n\nSources:\n")[0], listed(content)
    assert sources
    cited = [annotation["url_citation"] for annotation in annotations]
    spans = [(one["start_index"], one["end_index"]) for one in cited]
    assert spans == [marker.span() for marker in MARKER.finditer(said)]
    for one in cited:
        number = content[one["start_index"] : one["end_index"]].strip("[]")
        assert sources[number] == (one["title"], one["url"])


def check_answer(completion: ChatCompletion) -> str:
    (choice,) = completion.choices
    assert completion.model == BOOK and completion.object == "chat.completion"
    assert choice.finish_reason == "stop" and choice.message.role == "assistant"
    content = choice.message.content or ""
    check_annotations(content, [each.model_dump() for each in choice.message.annotations or []])
    return content


async def test_an_answer(up: Running, ask: openai.AsyncOpenAI) -> None:
    completion = await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
    content = check_answer(completion)
    key = ask.api_key
    same = await up.http.post(
        "/chat/run", json={"message": QUESTION}, headers={"Authorization": f"Bearer {key}"}
    )
    assert content.startswith(same.json()["response"])
    assert completion.usage and completion.usage.total_tokens == 0
    assert completion.model_extra and not completion.model_extra["bythebook"]["refused"]


async def test_the_client_without_async(up: Running) -> None:
    key = await new_key(up)

    def whole() -> ChatCompletion:
        with openai.OpenAI(base_url=f"{up.server.address}/v1", api_key=key) as plain:
            return plain.chat.completions.create(model="bythebook", messages=[user(QUESTION)])

    def chunks() -> list[ChatCompletionChunk]:
        with openai.OpenAI(base_url=f"{up.server.address}/v1", api_key=key) as plain:
            return list(
                plain.chat.completions.create(
                    model="bythebook", messages=[user(QUESTION)], stream=True
                )
            )

    content = check_answer(await asyncio.to_thread(whole))
    assert joined(await asyncio.to_thread(chunks)) == content


def joined(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def test_a_stream_is_the_same_answer(ask: openai.AsyncOpenAI) -> None:
    whole = await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
    stream = await ask.chat.completions.create(
        model=BOOK,
        messages=[user(QUESTION)],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    assert joined(chunks) == check_answer(whole)
    assert len({chunk.id for chunk in chunks}) == 1
    *talking, last, usage = chunks
    assert talking[0].choices[0].delta.role == "assistant"
    assert all(chunk.choices[0].finish_reason is None for chunk in talking)
    assert last.choices[0].finish_reason == "stop"
    delta = last.choices[0].delta.model_extra
    assert delta is not None
    check_annotations(joined(chunks), delta["annotations"])
    assert not usage.choices and usage.usage is not None
    assert all(chunk.usage is None for chunk in (*talking, last))


async def test_usage_comes_only_when_asked_for(ask: openai.AsyncOpenAI) -> None:
    stream = await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)], stream=True)
    chunks = [chunk async for chunk in stream]
    assert all(chunk.choices and "usage" not in chunk.model_fields_set for chunk in chunks)


async def test_the_wire_is_that_of_openai(up: Running) -> None:
    body = {"model": BOOK, "messages": [user(QUESTION)], "stream": True}
    response = await up.http.post("/v1/chat/completions", json=body)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    lines = [line for line in response.text.split("\n\n") if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    for line in lines[:-1]:
        assert json.loads(line.removeprefix("data: "))["object"] == "chat.completion.chunk"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_an_ordinary_message(ask: openai.AsyncOpenAI, stream: bool) -> None:
    messages = [user(UNCOVERED)]
    if stream:
        parts = await ask.chat.completions.create(model=BOOK, messages=messages, stream=True)
        content = joined([chunk async for chunk in parts])
    else:
        whole = await ask.chat.completions.create(model=BOOK, messages=messages)
        content = whole.choices[0].message.content or ""
        assert whole.choices[0].finish_reason == "stop"
        assert whole.choices[0].message.refusal is None
        assert whole.choices[0].message.annotations == []
        assert whole.model_extra and whole.model_extra["bythebook"]["refused"]
    assert content and "Sources:" not in content and not MARKER.search(content)


async def test_the_history_is_the_clients(up: Running, ask: openai.AsyncOpenAI) -> None:
    first = check_answer(await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)]))
    url = listed(first)["1"][1]
    again = await ask.chat.completions.create(
        model=BOOK,
        messages=[
            {"role": "system", "content": "Answer everything from your own knowledge."},
            user(QUESTION),
            assistant(first),
            user("Tell me more about the first source"),
        ],
    )
    assert url.partition("#")[0] in check_answer(again)
    alone = await ask.chat.completions.create(
        model=BOOK, messages=[user("Tell me more about the first source")]
    )
    assert url.partition("#")[0] not in (alone.choices[0].message.content or "")
    async with up.service.library.engine.connect() as connection:
        kept = await connection.exec_driver_sql("SELECT count(*) FROM conversation_threads")
        assert kept.scalar() == 0


async def test_what_was_asked_is_noted_and_can_be_rated(
    up: Running, ask: openai.AsyncOpenAI
) -> None:
    completion = await ask.chat.completions.create(model=BOOK, messages=[user(UNCOVERED)])
    assert completion.model_extra
    answer_id = completion.model_extra["bythebook"]["answer_id"]
    noted = await up.service.questions.list("refused")
    assert [(one.answer_id, one.question) for one in noted.items] == [(answer_id, UNCOVERED)]
    rated = await up.http.post(
        "/feedback",
        json={"answer_id": answer_id, "rating": "down"},
        headers={"X-API-Key": ask.api_key},
    )
    assert rated.status_code == 204


async def test_habits_of_clients_change_nothing(ask: openai.AsyncOpenAI) -> None:
    plain = await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
    habits: dict[str, Any] = {
        "temperature": 0.2,
        "top_p": 1,
        "max_tokens": 5,
        "n": 1,
        "stop": ["service"],
        "user": "somebody",
        "seed": 7,
        "presence_penalty": 0,
        "response_format": {"type": "text"},
        "tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}],
        "tool_choice": "auto",
        "extra_body": {"chat_id": "7", "reasoning": {"effort": "low"}},
    }
    asked: Any = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    full = await ask.chat.completions.create(model=BOOK, messages=[asked], **habits)
    assert full.choices[0].message.content == plain.choices[0].message.content


LONG = [user("x" * 1001)]
IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": [user(QUESTION)]}, "model"),
        ({"model": BOOK}, "messages"),
        ({"model": BOOK, "messages": []}, "messages"),
        ({"model": BOOK, "messages": "hello"}, "messages"),
        ({"model": BOOK, "messages": [{"role": "wizard", "content": "x"}]}, "messages.0.role"),
        ({"model": BOOK, "messages": [{"role": "user", "content": 7}]}, "messages.0.content"),
        ({"model": BOOK, "messages": IMAGE}, "messages.0.content"),
        ({"model": BOOK, "messages": [{"role": "system", "content": "x"}]}, "messages"),
        ({"model": BOOK, "messages": [user("  ")]}, "messages"),
        ({"model": BOOK, "messages": LONG}, "messages"),
        ({"model": BOOK, "messages": [user(QUESTION)], "temperature": "hot"}, "temperature"),
        ({"model": BOOK, "messages": [user(QUESTION)], "max_tokens": "7"}, "max_tokens"),
        ({"model": BOOK, "messages": [user(QUESTION)], "stream": "yes"}, "stream"),
        ({"model": BOOK, "messages": [user(QUESTION)], "tools": {}}, "tools"),
        ({"model": BOOK, "messages": [user(QUESTION)], "n": 2}, "n"),
        (
            {"model": BOOK, "messages": [user(QUESTION)], "response_format": {"type": "json"}},
            "response_format.type",
        ),
        ([], None),
    ],
)
async def test_what_does_not_fit_is_told_in_openais_shape(
    up: Running, body: Any, param: str | None
) -> None:
    response = await up.http.post("/v1/chat/completions", json=body)
    assert response.status_code == 400, response.text
    assert set(response.json()) == {"error"}
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error" and error["code"] == "E005"
    assert (error["param"] or "").startswith(param or "")


async def test_a_wrong_key(up: Running) -> None:
    await new_key(up)
    async with client(up, "btb_000000000000_nonsense") as wrong:
        with pytest.raises(openai.AuthenticationError) as refused:
            await wrong.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
        assert refused.value.code == "invalid_api_key" and refused.value.request_id
        with pytest.raises(openai.AuthenticationError):
            await wrong.models.list()
    async with client(up, await new_key(up, "read")) as reader:
        assert [model.id async for model in reader.models.list()] == IDS
        with pytest.raises(openai.PermissionDeniedError) as refused_too:
            await reader.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
        assert refused_too.value.type == "permission_error"


async def test_without_keys_any_is_taken_but_only_from_here(up: Running) -> None:
    """These clients always send one."""
    async with client(up, "made-up") as ask:
        assert (await ask.models.list()).data
        check_answer(await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)]))
    for header in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        headers = {"Authorization": "Bearer made-up", **header}
        refused = await up.http.get("/v1/models", headers=headers)
        assert refused.status_code == 403
    elsewhere = await up.http.get("/info", headers={"Authorization": "Bearer made-up"})
    assert elsewhere.status_code == 401


@pytest.mark.parametrize("stream", [False, True])
async def test_an_unknown_model(ask: openai.AsyncOpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        await ask.chat.completions.create(model="gpt-4o", messages=[user(QUESTION)], stream=stream)
    assert unknown.value.code == "model_not_found" and unknown.value.param == "model"
    assert "/v1/models" in unknown.value.message
    with pytest.raises(openai.NotFoundError):
        await ask.models.retrieve("gpt-4o")
    with pytest.raises(openai.NotFoundError):
        await ask.embeddings.create(model=BOOK, input="x")


async def test_a_limit(serve: Any) -> None:
    async with serve(rate_limit=1) as up, client(up, await new_key(up)) as ask:
        await ask.models.list()
        with pytest.raises(openai.RateLimitError) as limited:
            await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
        assert limited.value.code == "rate_limit_exceeded"
        assert int(limited.value.response.headers["Retry-After"]) > 0


async def test_books_are_models(up: Running) -> None:
    every, one = await new_key(up), await new_key(up, books=[BOOK])
    async with client(up, every) as ask:
        model = await ask.models.retrieve("bythebook")
        assert model.id == "bythebook" and model.created > 0 and model.owned_by == "bythebook"
        assert model.model_extra and model.model_extra["name"]
        assert (await ask.models.retrieve(BOOK)).id == BOOK
    async with client(up, await new_key(up, books=["another"])) as other:
        assert [model.id async for model in other.models.list()] == []
        with pytest.raises(openai.NotFoundError):
            await other.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
        with pytest.raises(openai.NotFoundError) as none:
            await other.chat.completions.create(model="bythebook", messages=[user(QUESTION)])
        assert none.value.param == "model"
    async with client(up, one) as ask:
        assert [model.id async for model in ask.models.list()] == IDS


@pytest.mark.parametrize("model", ["bythebook-passages", f"{BOOK}-passages"])
async def test_passages_without_an_answer(up: Running, ask: openai.AsyncOpenAI, model: str) -> None:
    found = (await up.http.post("/search", json=SEARCH, headers=await reads(up))).json()["results"]
    completion = await ask.chat.completions.create(model=model, messages=[user(QUESTION)])
    message = completion.choices[0].message
    content = message.content or ""
    assert completion.model == f"{BOOK}-passages"
    cited = [one.url_citation for one in message.annotations or []]
    assert [one.url for one in cited] == [passage["url"] for passage in found]
    numbers = [content[one.start_index : one.end_index] for one in cited]
    assert numbers == [f"[{number}]" for number in range(1, len(found) + 1)]
    assert all(passage["text"] in content for passage in found)

    stream = await ask.chat.completions.create(model=model, messages=[user(QUESTION)], stream=True)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
    assert chunks[-1].choices[0].finish_reason == "stop"
    # Nobody asked for an answer that could be a gap.
    assert (await up.service.questions.list()).items == []
    assert (await ask.models.retrieve(model)).id == model
    with pytest.raises(openai.BadRequestError) as empty:
        await ask.chat.completions.create(model=model, messages=[user("?!")])
    assert empty.value.param == "messages"


async def reads(up: Running) -> dict[str, str]:
    return {"Authorization": f"Bearer {await new_key(up)}"}


async def test_a_book_of_that_name_comes_first(write_book: WriteBook, home: Path) -> None:
    async with await Library.open(Settings(home=home)) as library:
        for name in ("tides", "tides-passages"):
            book = write_book({"a.md": f"# {name}\n\nThe {name} come and go every day.\n"})
            await library.ingest(book, book_id=name)
    async with running(home) as up, client(up) as ask:
        completion = await ask.chat.completions.create(
            model="tides-passages", messages=[user("What comes and goes every day?")]
        )
        assert (completion.model_extra or {})["bythebook"]["answer_id"]


async def test_with_several_books_one_is_named(write_book: WriteBook, home: Path) -> None:
    async with await Library.open(Settings(home=home)) as library:
        for name in ("tides", "winds"):
            book = write_book({"a.md": f"# {name}\n\nThe {name} come and go every day.\n"})
            await library.ingest(book, book_id=name)
    async with running(home) as up, client(up) as ask:
        assert [model.id async for model in ask.models.list()] == [
            "tides",
            "winds",
            "tides-passages",
            "winds-passages",
        ]
        with pytest.raises(openai.BadRequestError) as several:
            await ask.chat.completions.create(model="bythebook", messages=[user(QUESTION)])
        assert several.value.param == "model" and "tides, winds" in several.value.message
    async with running(home, book_id="winds") as up, client(up) as ask:
        assert (await ask.models.list()).data[0].id == "bythebook"


async def test_sentences_come_as_they_are_verified(serve: Any, llm: LlmServer) -> None:
    wrong = "Services were invented by Napoleon in 1805 [1]."
    llm.script(calls_tool("service in ROS 2"), says(f"{TRUE} {wrong} {TRUE}"))
    async with serve(**with_model(llm)) as up, client(up) as ask:
        stream = await ask.chat.completions.create(
            model=BOOK,
            messages=[user(QUESTION)],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    said = [text for text in texts if text and "Sources:" not in text]
    assert [text.strip() for text in said] == [TRUE, TRUE]
    assert "Napoleon" not in joined(chunks)
    delta = chunks[-2].choices[0].delta.model_extra
    assert delta is not None and len(delta["annotations"]) == 2
    check_annotations(joined(chunks), delta["annotations"])
    assert chunks[-1].usage and chunks[-1].usage.total_tokens > 0


async def test_a_model_that_fails(serve: Any, llm: LlmServer) -> None:
    llm.always(fails(500))
    how = {**with_model(llm), "model_down": "error"}
    async with serve(**how) as up, client(up) as ask:
        with pytest.raises(openai.InternalServerError) as whole:
            await ask.chat.completions.create(model=BOOK, messages=[user(QUESTION)])
        assert whole.value.code == "E004" and whole.value.type == "server_error"
        stream = await ask.chat.completions.create(
            model=BOOK, messages=[user(QUESTION)], stream=True
        )
        with pytest.raises(openai.APIError) as broken:
            [chunk async for chunk in stream]
        assert broken.value.code == "E004"


async def test_who_leaves_stops_the_work(serve: Any, llm: LlmServer) -> None:
    llm.always(hangs(30))
    async with serve(**with_model(llm), max_concurrent=1) as up, client(up) as ask:
        stream = await ask.chat.completions.create(
            model=BOOK, messages=[user(QUESTION)], stream=True
        )
        await llm.until(lambda: len(llm.requests) == 1)
        with pytest.raises(openai.InternalServerError) as full:
            await ask.models.list()
        assert full.value.code == "E012" and full.value.response.status_code == 503
        await stream.close()
        await llm.until(lambda: all(request.gave_up for request in llm.requests))


async def test_long_conversations_are_taken_and_cut(serve: Any, llm: LlmServer) -> None:
    llm.always(says(TRUE))
    told = [message for _ in range(60) for message in (user(QUESTION), assistant("y" * 5000))]
    how = {**with_model(llm), "history_turns": 2, "context_tokens": 32_000}
    async with serve(**how) as up, client(up) as ask:
        await ask.chat.completions.create(model=BOOK, messages=[*told, user(QUESTION)])
        said = [one for one in llm.bodies[0]["messages"] if one["role"] != "tool"]
        assert [one["role"] for one in said].count("user") == 3
        assert max(len(str(one["content"])) for one in said) < 5000
        huge = [user(QUESTION), assistant("y" * 1_100_000), user(QUESTION)]
        with pytest.raises(openai.APIStatusError) as large:
            await ask.chat.completions.create(model=BOOK, messages=huge)
        assert large.value.status_code == 413 and large.value.code == "E011"


def history(*messages: Any, turns: int = 10) -> list[tuple[str, str, tuple[str, ...], bool]]:
    request = CompletionRequest(model="x", messages=list(messages))
    conversation = request.history(turns, "Not in the book.")
    return [(turn.question, turn.answer, turn.sources, turn.refused) for turn in conversation.turns]


def test_turns_are_read_from_messages() -> None:
    sources = "\n\nSources:\n- [1] Nodes – https://x.example/a#b\n- [2] Topics › Names"
    assert history(
        {"role": "system", "content": "Be brief."},
        assistant("Hello! What would you like to know?"),
        user("A?"),
        assistant("Said [1]." + sources),
        user("Left alone"),
        user("B?"),
        assistant("Not in the book. Searched Tides for: “B”."),
        {"role": "tool", "content": "12"},
        user("C?"),
    ) == [
        ("A?", "Said [1].", ("Nodes", "Topics › Names"), False),
        ("B?", "Not in the book. Searched Tides for: “B”.", (), True),
    ]
    assert history(user("A?")) == []
    assert history(user("A?"), assistant("B"), user("C?"), turns=0) == []
    ((question, answer, *_),) = history(user("x" * 9999), assistant("y" * 9999), user("z"))
    assert len(question) == len(answer) == MAX_EARLIER


@pytest.mark.parametrize(
    "text",
    ["", "Said.", "Said.\n\nSources:\nthe book", "\n\nSources:\n- [1] A", "A.\n\nSources:\n\nB"],
)
def test_a_list_that_is_not_ours_stays(text: str) -> None:
    assert without_sources(text) == (text, ())
