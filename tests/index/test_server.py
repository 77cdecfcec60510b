"""What only a server can do wrong: be away, refuse, be slow or busy."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as client

from bythebook.errors import BookError, ConfigurationError, InputError, StoreError
from bythebook.index import qdrant_server
from bythebook.index.qdrant_models import PointStruct
from bythebook.index.qdrant_server import ServerStore
from extent import PATIENCE
from index.index_samples import DIMENSION, SAMPLES, point_id, sample

Answer = Callable[[httpx.Request], httpx.Response]


class Slept:
    """Remembers how long it should have slept."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.times.append(seconds)


def scripted(answer: Answer, **parts: Any) -> tuple[ServerStore, Slept]:
    """A store whose server is a function."""
    slept = Slept()
    remote = AsyncQdrantClient(
        url="http://qdrant.test:6333",
        check_compatibility=False,
        transport=httpx.MockTransport(answer),
    )
    return ServerStore("http://qdrant.test:6333", client=remote, sleep=slept, **parts), slept


def refusing(status: int, **headers: str) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        body = {"status": {"error": "no"}, "time": 0}
        return httpx.Response(status, json=body, headers=headers)

    return answer


async def failure(call: Awaitable[object]) -> BookError:
    with pytest.raises(BookError) as caught:
        await call
    return caught.value


async def test_a_server_that_is_away_is_named_after_retries() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    slept = Slept()
    store = ServerStore(url, sleep=slept, timeout=2)
    error = await failure(store.open(DIMENSION))
    assert isinstance(error, StoreError)
    assert error.code == "E003"
    assert error.message == f"Cannot connect to Qdrant at {url}."
    assert "QDRANT_URL" in error.action
    assert slept.times == [1, 2, 4]
    await store.close()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_named_at_once(status: int) -> None:
    store, slept = scripted(refusing(status))
    error = await failure(store.open(DIMENSION))
    assert isinstance(error, ConfigurationError)
    assert "QDRANT_API_KEY" in error.action
    assert slept.times == []


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_failing_server_is_asked_again(status: int) -> None:
    store, slept = scripted(refusing(status))
    assert isinstance(await failure(store.open(DIMENSION)), StoreError)
    assert slept.times == [1, 2, 4]


async def test_a_busy_server_says_how_long_to_wait() -> None:
    store, slept = scripted(refusing(429, **{"Retry-After": "3"}))
    error = await failure(store.open(DIMENSION))
    assert error.details == {"reason": "it is overloaded"}
    assert slept.times == [3, 3, 4]
    store, slept = scripted(refusing(429))
    await failure(store.open(DIMENSION))
    assert slept.times == [1, 2, 4]
    store, slept = scripted(refusing(429, **{"Retry-After": "86400"}))
    await failure(store.open(DIMENSION))
    assert slept.times == [30, 30, 30]


async def test_a_slow_answer_is_not_asked_for_again() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("slow")

    store, slept = scripted(answer, timeout=7)
    error = await failure(store.open(DIMENSION))
    assert error.details == {"reason": "no answer within 7 s"}
    assert slept.times == []


async def test_a_failure_that_passes_is_not_noticed() -> None:
    asked = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise httpx.ConnectError("away")
        return httpx.Response(200, json={"result": True, "status": "ok", "time": 0})

    store, slept = scripted(answer)
    await store.drop()
    assert slept.times == [1, 2]


async def test_a_refused_request_carries_the_answer() -> None:
    store, slept = scripted(refusing(400))
    error = await failure(store.open(DIMENSION))
    assert "no" in error.details["answer"]
    assert slept.times == []


async def test_nonsense_is_not_an_address() -> None:
    store = ServerStore("http://[broken")
    error = await failure(store.open(DIMENSION))
    assert isinstance(error, ConfigurationError)
    assert "QDRANT_URL" in error.action


async def test_a_key_over_plain_http_does_not_warn() -> None:
    store = ServerStore("http://127.0.0.1:9", api_key="secret", sleep=Slept())
    error = await failure(store.open(DIMENSION))
    assert "secret" not in f"{error} {error.details}"
    await store.close()


@pytest.fixture
async def store(qdrant_url: str) -> AsyncIterator[ServerStore]:
    store = ServerStore(qdrant_url, collection=f"test-{uuid4().hex}", timeout=PATIENCE)
    await store.open(DIMENSION)
    yield store
    await store.drop()
    await store.close()


async def test_a_write_too_large_for_one_request_is_cut(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.replace(SAMPLES[:5], [])
    monkeypatch.setattr(qdrant_server, "_BODY", 8_000)
    sent: list[list[Any]] = []
    real = store._update

    async def update(operations: list[Any]) -> None:
        sent.append(operations)
        await real(operations)

    monkeypatch.setattr(store, "_update", update)
    await store.replace([sample(number) for number in range(100, 130)], [point_id(0)])
    assert len(sent) > 2
    # What is stale goes last, so that a lesson is never missing.
    deleting = [[isinstance(op, client.DeleteOperation) for op in ops] for ops in sent]
    assert deleting == [[False]] * (len(sent) - 1) + [[False, True]]
    for operations in sent:
        body = sum(len(operation.model_dump_json()) for operation in operations)
        assert body < 8_000
    assert await store.count() == 34
    huge = PointStruct(
        id=point_id("huge"), vector=SAMPLES[0].vector, payload={"text": "x" * 10_000}
    )
    with pytest.raises(InputError, match="too large"):
        await store.replace([huge], [])


async def test_a_real_limit_of_the_server_is_kept(store: ServerStore) -> None:
    """45 MB in one lesson: more than a server takes in one request."""
    points = [
        PointStruct(
            id=point_id(f"big {number}"),
            vector=SAMPLES[0].vector,
            payload={"book_id": "big", "text": "é" * 500_000},
        )
        for number in range(45)
    ]
    assert sum(len(json.dumps(point.payload, ensure_ascii=False)) for point in points) > 20e6
    await store.replace(points, [])
    assert await store.count() == 45


async def test_an_index_somebody_removed_is_made_again(store: ServerStore, qdrant_url: str) -> None:
    remote = AsyncQdrantClient(url=qdrant_url, check_compatibility=False)
    name = (await store.info()).collection
    await remote.delete_payload_index(name, "source_file")
    await store.close()
    await store.open(DIMENSION)
    found = await remote.get_collection(name)
    assert "source_file" in found.payload_schema
    params: Any = found.payload_schema["book_id"].params
    assert params.is_tenant is True
    await remote.close()


async def test_a_collection_of_somebody_else_is_left_alone(qdrant_url: str) -> None:
    name = f"test-{uuid4().hex}"
    remote = AsyncQdrantClient(url=qdrant_url, check_compatibility=False)
    await remote.create_collection(
        name, vectors_config=client.VectorParams(size=DIMENSION, distance=client.Distance.DOT)
    )
    store = ServerStore(qdrant_url, collection=name)
    error = await failure(store.open(DIMENSION))
    assert isinstance(error, ConfigurationError)
    assert "not made by bythebook" in error.message
    await store.close()
    await remote.delete_collection(name)
    await remote.close()


async def test_two_may_create_at_once(qdrant_url: str) -> None:
    name = f"test-{uuid4().hex}"
    one, two = ServerStore(qdrant_url, collection=name), ServerStore(qdrant_url, collection=name)
    await one._create(DIMENSION)
    await two._create(DIMENSION)
    await two.open(DIMENSION)
    await one.close()
    await two.drop()
    await two.close()


async def test_a_collection_that_vanished_is_an_error(store: ServerStore, qdrant_url: str) -> None:
    name = (await store.info()).collection
    remote = AsyncQdrantClient(url=qdrant_url, check_compatibility=False)
    await remote.delete_collection(name)
    await remote.close()
    error = await failure(store.count())
    assert "no such collection" in error.message
