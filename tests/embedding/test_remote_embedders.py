from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from bythebook.embedding.embedder import make_embedder
from bythebook.embedding.remote import CohereEmbedder, OpenAIEmbedder, RemoteEmbedder
from bythebook.errors import BookError, ConfigurationError, EmbeddingError
from bythebook.settings import Settings
from standins.embedding_server import Answer, EmbeddingServer, Step, vector_of

KINDS: dict[str, type[RemoteEmbedder]] = {"openai": OpenAIEmbedder, "cohere": CohereEmbedder}
KIND = pytest.mark.parametrize("kind", KINDS)
SECRET_TEXT = "a sentence nobody else may read"


class Clock:
    """Notes how long somebody wanted to sleep, and wakes them at once."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    running = EmbeddingServer()
    running.start()
    yield running
    running.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def settings_for(url: str, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "openai_api_key": "right-key",
        "openai_base_url": f"{url}/v1",
        "cohere_api_key": "right-key",
        "cohere_base_url": url,
        "embedding_timeout": 5.0,
        "_env_file": None,
    }
    return Settings(**(values | changes))


@pytest.fixture
async def embedder(
    kind: str, server: EmbeddingServer, clock: Clock
) -> AsyncIterator[RemoteEmbedder]:
    made = KINDS[kind](settings_for(server.url), sleep=clock.sleep)
    yield made
    await made.close()


def expected(kind: str, text: str) -> np.ndarray[Any, Any]:
    sent = text if kind == "openai" else f"search_document {text}"
    row = np.array(vector_of(sent, {"openai": 1536, "cohere": 1024}[kind]))
    return np.asarray(row / np.linalg.norm(row))


@KIND
async def test_rows_are_in_order_and_of_unit_length(kind: str, embedder: RemoteEmbedder) -> None:
    texts = [f"passage {i}" for i in range(300)]
    rows = await embedder.embed_documents(texts)
    assert {(row.typecode, len(row)) for row in rows} == {("f", embedder.dimension)}
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows, [expected(kind, text) for text in texts], atol=1e-6)
    assert embedder.texts_embedded == 300


@KIND
async def test_requests_are_bounded_and_few_at_a_time(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.script(*[Step(delay=0.05)] * 20)
    await embedder.embed_documents([f"passage {i}" for i in range(1000)])
    field = {"openai": "input", "cohere": "texts"}[kind]
    sizes = [len(request.body[field]) for request in server.requests]
    assert max(sizes) == {"openai": 128, "cohere": 96}[kind]
    assert sum(sizes) == 1000
    assert 2 <= server.busiest <= 4


@KIND
async def test_long_texts_make_smaller_requests(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    await embedder.embed_documents(["wörd " * 1400] * 60)
    field = {"openai": "input", "cohere": "texts"}[kind]
    for request in server.requests:
        assert sum(len(text.encode()) for text in request.body[field]) <= 200_000
    assert len(server.requests) > 1


@KIND
async def test_text_no_service_takes_is_made_acceptable(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    rows = await embedder.embed_documents(["", " \n", "half a pair \ud800", "ü" * 9000])
    assert len(rows) == 4
    sent = server.requests[0].body[{"openai": "input", "cohere": "texts"}[kind]]
    assert all(text.strip() for text in sent)
    assert sent[2] == "half a pair ?"
    assert sent[3] == "ü" * 4000


@KIND
async def test_no_texts_make_no_request(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    assert await embedder.embed_documents([]) == []
    assert not server.requests


@KIND
async def test_a_query_is_one_vector_and_not_counted(kind: str, embedder: RemoteEmbedder) -> None:
    row = await embedder.embed_query("what is a chunk?")
    assert len(row) == embedder.dimension
    assert np.isclose(np.linalg.norm(row), 1)
    assert embedder.texts_embedded == 0


async def test_openai_is_asked_in_its_own_words(server: EmbeddingServer) -> None:
    settings = settings_for(server.url, openai_base_url=f"{server.url}/v1/")
    embedder = OpenAIEmbedder(settings)
    await embedder.embed_query("why?")
    await embedder.close()
    request = server.requests[0]
    assert (request.path, request.key) == ("/v1/embeddings", "Bearer right-key")
    assert request.body == {
        "model": "text-embedding-3-small",
        "input": ["why?"],
        "encoding_format": "float",
    }
    assert (embedder.name, embedder.dimension) == ("text-embedding-3-small", 1536)


async def test_cohere_is_told_queries_from_documents(server: EmbeddingServer) -> None:
    embedder = CohereEmbedder(settings_for(server.url))
    question = await embedder.embed_query("why?")
    passage = await embedder.embed_documents(["why?"])
    await embedder.close()
    assert [r.body["input_type"] for r in server.requests] == ["search_query", "search_document"]
    assert not np.allclose(question, passage[0])
    assert server.requests[0].body == {
        "model": "embed-english-v3.0",
        "texts": ["why?"],
        "input_type": "search_query",
        "embedding_types": ["float"],
        "truncate": "END",
    }
    assert (embedder.name, embedder.dimension) == ("embed-english-v3.0", 1024)


async def test_openai_rows_may_come_in_any_order(server: EmbeddingServer) -> None:
    def shuffle(answer: Answer) -> Answer:
        return answer | {"data": answer["data"][::-1]}

    server.script(Step(change=shuffle))
    embedder = OpenAIEmbedder(settings_for(server.url))
    rows = await embedder.embed_documents(["first", "second", "third"])
    await embedder.close()
    wanted = [expected("openai", text) for text in ("first", "second", "third")]
    assert np.allclose(rows, wanted, atol=1e-6)


@KIND
async def test_passing_failures_are_retried(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer, clock: Clock
) -> None:
    server.script(Step(status=500), Step(cut=True), Step(status=429), Step(status=503))
    rows = await embedder.embed_documents(["patience"])
    assert np.allclose(rows[0], expected(kind, "patience"), atol=1e-6)
    assert clock.slept == [1, 2, 4, 8]
    assert embedder.texts_embedded == 1


@KIND
async def test_the_service_may_say_how_long_to_wait(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer, clock: Clock
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    waits = ["7", later, "soon", "1", "86400"]
    server.script(*[Step(status=429, headers={"Retry-After": wait}) for wait in waits])
    await embedder.embed_query("patience")
    assert clock.slept[0] == 7
    assert 25 < clock.slept[1] <= 30
    assert clock.slept[2:] == [4, 8, 60]


@KIND
async def test_a_service_that_stays_down_is_an_error(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer, clock: Clock
) -> None:
    server.script(*[Step(status=502)] * 6)
    with pytest.raises(EmbeddingError) as caught:
        await embedder.embed_documents([SECRET_TEXT])
    assert clock.slept == [1, 2, 4, 8, 16]
    assert len(server.requests) == 6
    assert caught.value.code == "E006"
    assert caught.value.action
    assert embedder.texts_embedded == 0


@KIND
async def test_a_service_that_is_not_there_is_an_error(kind: str, clock: Clock) -> None:
    gone = EmbeddingServer()
    gone.start()
    gone.stop()
    embedder = KINDS[kind](settings_for(gone.url), sleep=clock.sleep)
    with pytest.raises(EmbeddingError, match="could not be reached"):
        await embedder.embed_query("hello?")
    await embedder.close()
    assert len(clock.slept) == 5


@KIND
async def test_a_slow_answer_is_given_up_and_asked_again(
    kind: str, server: EmbeddingServer, clock: Clock
) -> None:
    server.script(Step(delay=1.0))
    settings = settings_for(server.url, embedding_timeout=0.4)
    embedder = KINDS[kind](settings, sleep=clock.sleep)
    assert len(await embedder.embed_query("hurry")) == embedder.dimension
    await embedder.close()
    assert clock.slept == [1]


def without_last(answer: Answer) -> Answer:
    if "data" in answer:
        return answer | {"data": answer["data"][:-1]}
    return {"embeddings": {"float": answer["embeddings"]["float"][:-1]}}


def each_vector(change: Any) -> Any:
    def apply(answer: Answer) -> Answer:
        if "data" in answer:
            rows = [row | {"embedding": change(row["embedding"])} for row in answer["data"]]
            return answer | {"data": rows}
        return {"embeddings": {"float": [change(v) for v in answer["embeddings"]["float"]]}}

    return apply


@KIND
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(Step(body=b'{"data": [{"ind'), id="torn JSON"),
        pytest.param(Step(body=b"[]"), id="a list"),
        pytest.param(Step(body=b"null"), id="null"),
        pytest.param(Step(body=b"\xff\xfe\x00"), id="bytes"),
        pytest.param(Step(change=without_last), id="one vector too few"),
        pytest.param(Step(change=each_vector(lambda v: v[:-1])), id="wrong dimension"),
        pytest.param(Step(change=each_vector(lambda v: [float("nan"), *v[1:]])), id="NaN"),
        pytest.param(Step(change=each_vector(lambda v: [None, *v[1:]])), id="null inside"),
        pytest.param(Step(change=each_vector(lambda v: ["x", *v[1:]])), id="words"),
        pytest.param(Step(change=each_vector(lambda v: [0.0] * len(v))), id="all zero"),
    ],
)
async def test_an_answer_that_is_not_vectors_is_an_error(
    kind: str, step: Step, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.script(step)
    with pytest.raises(EmbeddingError, match="something other than the vectors"):
        await embedder.embed_documents(["one", "two"])
    assert embedder.texts_embedded == 0


async def test_openai_positions_must_be_each_named_once(server: EmbeddingServer) -> None:
    def twice(answer: Answer) -> Answer:
        return answer | {"data": [row | {"index": 0} for row in answer["data"]]}

    server.script(Step(change=twice))
    embedder = OpenAIEmbedder(settings_for(server.url))
    with pytest.raises(EmbeddingError):
        await embedder.embed_documents(["one", "two"])
    await embedder.close()


@KIND
async def test_a_refused_key_names_its_variable(kind: str, server: EmbeddingServer) -> None:
    wrong = {f"{kind}_api_key": "wrong-key"}
    embedder = KINDS[kind](settings_for(server.url, **wrong))
    with pytest.raises(ConfigurationError) as caught:
        await embedder.embed_query(SECRET_TEXT)
    await embedder.close()
    assert caught.value.code == "E001"
    assert f"{kind.upper()}_API_KEY" in str(caught.value)
    assert len(server.requests) == 1


@KIND
def test_a_missing_key_is_told_before_anything_is_sent(kind: str) -> None:
    settings = settings_for("http://127.0.0.1:9", embedder=kind, **{f"{kind}_api_key": None})
    with pytest.raises(ConfigurationError, match=f"{kind.upper()}_API_KEY"):
        make_embedder(settings)


@KIND
async def test_an_address_or_model_that_is_not_there_is_told(
    kind: str, server: EmbeddingServer
) -> None:
    settings = settings_for(f"{server.url}/elsewhere")
    embedder = KINDS[kind](settings)
    with pytest.raises(ConfigurationError, match=f"{kind.upper()}_BASE_URL"):
        await embedder.embed_query("where?")
    await embedder.close()


@KIND
async def test_an_address_that_is_none_is_told(kind: str, clock: Clock) -> None:
    embedder = KINDS[kind](settings_for("localhost:no"), sleep=clock.sleep)
    with pytest.raises(BookError, match=f"{kind.upper()}_BASE_URL|could not be reached"):
        await embedder.embed_query("where?")
    await embedder.close()


@KIND
def test_an_unknown_model_is_told_with_those_that_are_known(kind: str) -> None:
    field = {"openai": "openai_embedding_model", "cohere": "cohere_model"}[kind]
    with pytest.raises(ConfigurationError, match="one of: "):
        KINDS[kind](settings_for("http://127.0.0.1:9", **{field: "no-such"}))


async def test_an_account_without_credit_is_not_asked_again(
    server: EmbeddingServer, clock: Clock
) -> None:
    server.script(Step(status=429, body=b'{"error": {"code": "insufficient_quota"}}'))
    embedder = OpenAIEmbedder(settings_for(server.url), sleep=clock.sleep)
    with pytest.raises(EmbeddingError, match="credit"):
        await embedder.embed_query("how much?")
    await embedder.close()
    assert clock.slept == []


@KIND
@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
async def test_errors_hold_neither_key_nor_text(
    kind: str, status: int, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    echo = f'{{"message": "bad input: {SECRET_TEXT}, key right-key"}}'.encode()
    server.script(*[Step(status=status, body=echo)] * 6)
    with pytest.raises(BookError) as caught:
        await embedder.embed_documents([SECRET_TEXT])
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.details)
    assert SECRET_TEXT not in shown.replace("SECRET_TEXT", "")
    assert "right-key" not in shown


@KIND
def test_a_key_that_would_break_the_header_is_not_quoted(kind: str) -> None:
    broken = {f"{kind}_api_key": "sk-very secret\nkey"}
    with pytest.raises(ConfigurationError, match=f"{kind.upper()}_API_KEY") as caught:
        KINDS[kind](settings_for("http://127.0.0.1:9", **broken))
    assert "very secret" not in str(caught.value)


@KIND
async def test_one_failed_request_ends_the_others(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.script(Step(status=400), *[Step(delay=0.3)] * 20)
    with pytest.raises(EmbeddingError):
        await embedder.embed_documents(["x"] * 2000)
    assert len(server.requests) <= 5
    assert len(asyncio.all_tasks()) == 1


@KIND
async def test_a_cancelled_call_leaves_the_embedder_usable(
    kind: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.script(*[Step(delay=0.5)] * 4)
    call = asyncio.create_task(embedder.embed_documents(["x"] * 2000))
    await asyncio.sleep(0.2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(await embedder.embed_query("still there?")) == embedder.dimension
