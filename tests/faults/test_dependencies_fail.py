"""What the service rests on refuses, is slow, is cut off, talks nonsense or is started again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import make_url

from faults.acknowledged import BOOK, Acknowledged, write_lessons
from faults.conftest import MANY, Place
from faults.process import service_process
from faults.proxy import FAULTS, Fault, Proxy, proxy_to
from faults.tally import Tally
from postgres_server import new_database, postgres_server, restart_postgres
from standins.embedding_server import EmbeddingServer
from standins.llm_process import llm_process

IMPATIENT = {
    "SEARCH_TIMEOUT": "2",
    "EMBEDDING_TIMEOUT": "2",
    "COMPLETION_TIMEOUT": "2",
    "TURN_TIMEOUT": "5",
    "MODEL_RETRIES": "1",
    "MODEL_RETRY_DELAY": "0.01",
    "MODEL_BREAKER_SECONDS": "0.5",
}
# Longer than a request may take, and, for those without such a limit, just slow.
TOO_SLOW, SLOW = 3.0, 0.2


@asynccontextmanager
async def behind_proxy(url: str, delay: float) -> AsyncIterator[tuple[Proxy, str]]:
    """The proxy, and the address that leads through it."""
    parts = make_url(url)
    assert parts.host and parts.port
    async with proxy_to(parts.host, parts.port, delay) as proxy:
        yield proxy, parts.set(port=proxy.port).render_as_string(hide_password=False)


async def ask_all(http: httpx.AsyncClient, work: Acknowledged) -> None:
    """Each kind of request, at once, while something is wrong."""

    async def get(path: str) -> None:
        work.tally.took(await http.get(path))

    async def search() -> None:
        body = {"text": "What is a node?", "book_id": BOOK}
        work.tally.took(await http.post("/search", json=body))

    write_lessons(work.books, work.generator)
    await asyncio.gather(
        work.chat(http, stream=False),
        work.chat(http, stream=True),
        search(),
        work.trigger(http),
        get("/books"),
        get("/ingestion/status"),
        *(get(f"/session/{session}/history") for session in list(work.turns)[:1]),
    )


async def suffer(
    tally: Tally,
    proxy: Proxy,
    http: httpx.AsyncClient,
    work: Acknowledged,
    faults: list[Fault],
    passes_after: float | None = None,
) -> None:
    for fault in faults:
        proxy.inject(fault)
        if passes_after is not None:
            asyncio.get_running_loop().call_later(passes_after, proxy.inject, "none")
        tally.injected += 1
        await ask_all(http, work)
        health = await http.get("/health")
        tally.requests += 1
        if health.status_code not in (200, 503) or "dependencies" not in health.text:
            tally.wrong += 1
            tally.note(f"/health with {fault}: {health.text[:300]}")
        proxy.inject("none")
        await work.recover(http)
        await work.check(http)


def worker_of(tally: Tally, tmp_path: Path, seed: int) -> Acknowledged:
    generator = random.Random(seed)
    books = tmp_path / "books"
    for _ in range(3):
        write_lessons(books, generator)
    return Acknowledged(tally, books, generator)


def some_faults(rounds: int, first: int) -> list[Fault]:
    """One of them in CI, another for each dependency; all of them, over and over, with many
    rounds."""
    count = max(len(FAULTS), rounds // 10) if rounds >= MANY else 1
    return [FAULTS[(first + number) % len(FAULTS)] for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["DATABASE_URL", "QDRANT_URL", "BYTHEBOOK_REDIS_URL"])
async def test_a_server_fails_and_comes_back(
    on_servers: Place, which: str, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    names = {
        "DATABASE_URL": "PostgreSQL",
        "QDRANT_URL": "Qdrant",
        "BYTHEBOOK_REDIS_URL": "Redis",
    }
    tally = Tally("refusing, slow, cut, garbage", names[which])
    work = worker_of(tally, tmp_path, fault_seed)
    delay = SLOW if which == "DATABASE_URL" else TOO_SLOW
    async with behind_proxy(on_servers.servers[which], delay) as (proxy, address):
        environment = {
            **on_servers.environment,
            **IMPATIENT,
            which: address,
            "BYTHEBOOK_BOOKS_FOLDER": str(work.books),
            "BYTHEBOOK_RATE_LIMIT": "100000",
        }
        key = await on_servers.new_key()
        async with service_process(on_servers.home, environment, key=key) as (service, http):
            await work.recover(http)
            await suffer(
                tally, proxy, http, work, some_faults(fault_rounds, list(names).index(which))
            )
    tally.check()
    assert "Traceback" not in service.log, service.log


@pytest.mark.slow
@pytest.mark.parametrize("which", ["language model", "embedder"])
async def test_a_model_fails_and_comes_back(
    embedded: Place, which: str, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    tally = Tally("refusing, slow, cut, garbage", which)
    work = worker_of(tally, tmp_path, fault_seed)
    async with AsyncExitStack() as stack:
        if which == "embedder":
            server = EmbeddingServer()
            server.start()
            stack.callback(server.stop)
            url, chosen = f"{server.url}/v1", {"BYTHEBOOK_EMBEDDER": "openai"}
            chosen["BYTHEBOOK_ANSWERER"] = "built-in"
        else:
            url = stack.enter_context(llm_process())
            chosen = {"BYTHEBOOK_ANSWERER": "openai"}
        proxy, address = await stack.enter_async_context(behind_proxy(url, TOO_SLOW))
        environment = {
            **IMPATIENT,
            **chosen,
            "OPENAI_BASE_URL": address,
            "OPENAI_API_KEY": "right-key",
            "OPENAI_MODEL": "stand-in",
            "BYTHEBOOK_BOOKS_FOLDER": str(work.books),
        }
        async with service_process(embedded.home, environment) as (service, http):
            await work.recover(http)
            # An embedding service is asked again for half a minute, so in CI it comes back sooner.
            soon = 1.5 if which == "embedder" and fault_rounds < MANY else None
            first = 0 if which == "embedder" else 3
            await suffer(tally, proxy, http, work, some_faults(fault_rounds, first), soon)
    tally.check()
    assert "Traceback" not in service.log, service.log


@pytest.mark.slow
async def test_postgresql_is_started_again(
    on_servers: Place, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    tally = Tally("restarted in the middle of requests", "PostgreSQL")
    work = worker_of(tally, tmp_path, fault_seed)
    shared = tmp_path / "own-server"
    with postgres_server(shared) as server:
        async with new_database(server) as database:
            own = Place(
                on_servers.name, on_servers.home, {**on_servers.servers, "DATABASE_URL": database}
            )
            key = await own.new_key()
            environment = {**own.environment, "BYTHEBOOK_BOOKS_FOLDER": str(work.books)}
            async with service_process(own.home, environment, key=key) as (service, http):
                await work.recover(http)
                for _ in range(max(1, fault_rounds // 10)):
                    asking = asyncio.create_task(ask_all(http, work))
                    await asyncio.sleep(work.generator.random() / 5)
                    await asyncio.to_thread(restart_postgres, shared)
                    tally.injected += 1
                    await asking
                    await work.recover(http)
                    await work.check(http)
    tally.check()
    assert "Traceback" not in service.log, service.log
