"""The service itself, listening on a free port, and a client that talks to it over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bythebook.server.run import Server, serve
from bythebook.server.service import Service
from bythebook.settings import Settings
from extent import PATIENCE
from standins.llm_server import LlmServer
from statements import each_statement


@dataclass(frozen=True)
class Running:
    server: Server
    http: httpx.AsyncClient
    ended: asyncio.Task[None]

    @property
    def service(self) -> Service:
        return self.server.service

    async def ask(self, message: str, **fields: Any) -> httpx.Response:
        return await self.http.post("/chat/run", json={"message": message, **fields})

    async def events(self, message: str, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
        body = {"message": message, **fields}
        async with self.http.stream("POST", "/chat/stream", json=body) as response:
            assert response.status_code == 200, await response.aread()
            text = (await response.aread()).decode()
        return parse_events(text)

    async def stop(self) -> None:
        self.server.should_exit = True
        await self.ended


async def until(happened: Callable[[], Awaitable[Any]], seconds: float = PATIENCE) -> Any:
    """What it tells once that is something."""
    async with asyncio.timeout(seconds):
        while True:
            if found := await happened():
                return found
            await asyncio.sleep(0.05)


@contextmanager
def failing_statements(up: Running, part: str) -> Iterator[None]:
    """The database fails whenever a statement holds this."""

    def fail(statement: str) -> None:
        if part in statement:
            raise OSError("the disk is full")

    with each_statement(up.service.library.engine, fail):
        yield


def with_model(llm: LlmServer) -> dict[str, Any]:
    """The settings that let the stand-in write the answers."""
    return {"openai_base_url": llm.base_url, "openai_model": llm.model, "retry_delay": 0.01}


def parse_events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, read as the standard says; comments are left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")
        )
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


@asynccontextmanager
async def running(home: Path, **settings: Any) -> AsyncIterator[Running]:
    ready: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
    given = Settings(home=home, **{"port": 0, "log_level": "warning", **settings})
    task = asyncio.create_task(serve(given, ready.set_result))
    waiting: set[asyncio.Future[Any]] = {ready, task}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        ready.cancel()
        await task
    server = ready.result()
    # Plain HTTP: reading the certificates of the system would only take time.
    async with httpx.AsyncClient(base_url=server.address, timeout=PATIENCE, verify=False) as http:
        up = Running(server, http, task)
        try:
            yield up
        finally:
            await up.stop()
