"""Several services on PostgreSQL, Qdrant and Redis: what they share is counted exactly."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.values import new_id
from bythebook.settings import Settings
from faults.process import service_process
from invariants import check_invariants
from postgres_server import new_database, postgres_server
from qdrant_server import qdrant_server
from redis_server import RedisServer
from workers.fleet import write_lessons

REPLICAS = 3
LIMIT = 30
SESSIONS, TURNS = 10, 6
BOOKS, FILES = 4, 5


@dataclass
class Shared:
    """What was expected of all services together, and what they did."""

    part: str = "replicas"
    replicas: int = REPLICAS
    limit_a_minute: int = LIMIT
    sent_in_a_minute: int = 2 * REPLICAS * LIMIT
    let_through: int = 0
    told_429: int = 0
    turns_made: int = SESSIONS * TURNS
    turns_kept_once: int = 0
    jobs_queued: int = BOOKS
    jobs_done_once: int = 0
    files_expected: int = BOOKS * FILES
    files_processed: int = 0
    errors: int = 0


async def check_replicas(work: Path) -> Shared:
    work.mkdir()
    found = Shared()
    async with AsyncExitStack() as stack:
        servers = await _start_servers(stack, work)
        settings = Settings(
            home=work / "own",
            database_url=servers["DATABASE_URL"],
            qdrant_url=servers["QDRANT_URL"],
            collection=servers["QDRANT_COLLECTION_NAME"],
        )
        async with await Library.open(settings) as library:
            keys = Keys(library.engine)
            _, admin = await keys.create("admin", ["admin"])
            _, limited = await keys.create("limited", ["read"])
        for number in range(BOOKS):
            write_lessons(work / "books" / f"book-{number}", FILES)
        clients = []
        for number in range(REPLICAS):
            home = work / f"home-{number}"
            _, http = await stack.enter_async_context(service_process(home, servers, key=admin))
            clients.append(http)
        await _share_limit(clients, limited, found)
        # The admin's minute is used up by counting, so jobs and turns have keys of their own.
        async with await Library.open(settings) as library:
            keys = Keys(library.engine)
            spare = [(await keys.create(f"spare {n}", ["admin"]))[1] for n in range(SESSIONS)]
        await _share_jobs(clients, spare, found)
        await _share_turns(clients, spare, found)
        async with await Library.open(settings) as library:
            for number in range(BOOKS):
                await check_invariants(library, f"book-{number}")
            await (await library.store()).drop()
    return found


async def _start_servers(stack: AsyncExitStack, work: Path) -> dict[str, str]:
    (work / "redis").mkdir()
    redis = stack.enter_context(RedisServer(work / "redis"))
    qdrant = stack.enter_context(qdrant_server(work / "qdrant"))
    postgres = stack.enter_context(postgres_server(work / "postgres"))
    return {
        "DATABASE_URL": await stack.enter_async_context(new_database(postgres)),
        "QDRANT_URL": qdrant,
        "QDRANT_COLLECTION_NAME": f"replicas-{new_id()}",
        "BYTHEBOOK_REDIS_URL": redis.url,
        "BYTHEBOOK_RATE_LIMIT": str(LIMIT),
        # All come from one address, and each service has to see each key for a first time.
        "BYTHEBOOK_KEY_GUESSES": "0",
        "BYTHEBOOK_BOOKS_FOLDER": str(work / "books"),
    }


async def _share_limit(clients: list[httpx.AsyncClient], key: str, found: Shared) -> None:
    """All of it within seconds, so that no request of the first is a minute old."""
    headers = {"X-API-Key": key}
    asked = [
        clients[number % REPLICAS].get("/info", headers=headers)
        for number in range(found.sent_in_a_minute)
    ]
    statuses = [response.status_code for response in await asyncio.gather(*asked)]
    found.let_through, found.told_429 = statuses.count(200), statuses.count(429)
    found.errors += len(statuses) - found.let_through - found.told_429


async def _share_jobs(clients: list[httpx.AsyncClient], keys: list[str], found: Shared) -> None:
    """Queued at one service each; whoever is free takes them."""
    jobs = []
    for number in range(BOOKS):
        book = f"book-{number}"
        headers = {"X-API-Key": keys[number]}
        http = clients[number % REPLICAS]
        body = {"path": book, "book_id": book}
        response = await http.post("/ingestion/trigger", json=body, headers=headers)
        response.raise_for_status()
        jobs.append((response.json()["job_id"], headers))
    for job, headers in jobs:
        for _ in range(600):
            # At another service than the one that was told.
            http = clients[(job + 1) % REPLICAS]
            response = await http.get(f"/ingestion/status/{job}", headers=headers)
            if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
                await asyncio.sleep(int(response.headers["Retry-After"]))
                continue
            sent = response.json()
            if sent["status"] in ("completed", "failed"):
                found.jobs_done_once += sent["status"] == "completed"
                found.files_processed += sent["files_processed"]
                break
            await asyncio.sleep(3)


async def _share_turns(clients: list[httpx.AsyncClient], keys: list[str], found: Shared) -> None:
    """Conversations whose every turn goes to another service."""

    async def converse(key: str) -> None:
        session, headers = str(uuid4()), {"X-API-Key": key}
        asked = [f"What is a node? (turn {turn})" for turn in range(TURNS)]
        for turn, question in enumerate(asked):
            body = {"message": question, "session_id": session, "book_id": "book-0"}
            response = await clients[turn % REPLICAS].post("/chat/run", json=body, headers=headers)
            found.errors += not response.is_success
        history = await clients[0].get(f"/session/{session}/history", headers=headers)
        messages = history.json()["messages"] if history.is_success else []
        kept = [message["content"] for message in messages if message["role"] == "user"]
        found.turns_kept_once += sum(kept.count(question) == 1 for question in asked)
        found.errors += kept != asked

    await asyncio.gather(*(converse(key) for key in keys))
