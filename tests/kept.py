"""What a worker keeps from one test to the next, so that no test waits for it again."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvicorn.server
from sqlalchemy import event, inspect
from sqlalchemy.engine import Connection

from bythebook import gaps, runtime
from bythebook.database import engine
from bythebook.embedding import embedder
from bythebook.index.qdrant_server import ServerStore
from bythebook.reader import reader

T = TypeVar("T")

# Books of tests say the same again and again; a vector is 1.5 kB.
VECTORS = 20_000
MODEL, VECTOR = embedder.Model, embedder.Model.vector
READ, SUPPORT = reader.Reader._read, reader.Reader._support
PROCESSES = runtime.Processes
MIGRATE = engine._migrate


def keep_model(patch: pytest.MonkeyPatch) -> None:
    """The built-in model is read and checked once, and each text embedded once."""
    embed = lru_cache(VECTORS)(VECTOR)

    def vector(model: embedder.Model, text: str) -> array[float]:
        return array("f", embed(model, text))

    patch.setattr(MODEL, "vector", vector)
    patch.setattr(embedder, "Model", cache(MODEL))


def keep_readings(patch: pytest.MonkeyPatch) -> None:
    """A passage is read for a question, or a sentence compared with it, once."""
    judged: dict[tuple[Path, reader.Asked], reader.Judged] = {}
    supported: dict[tuple[Path, reader.Asked], float] = {}

    async def read(self: reader.Reader, asked: reader.Asked) -> reader.Judged:
        key = self._network.weights, asked
        if key not in judged:
            judged[key] = await READ(self, asked)
        return judged[key]

    async def support(self: reader.Reader, asked: reader.Asked) -> float:
        key = self._network.weights, asked
        if key not in supported:
            supported[key] = await SUPPORT(self, asked)
        return supported[key]

    patch.setattr(reader.Reader, "_read", read)
    patch.setattr(reader.Reader, "_support", support)


def keep_tables(patch: pytest.MonkeyPatch) -> None:
    """What the migrations did to the first empty database of a kind is done to the others."""
    recorded: dict[str, list[tuple[str, Any]]] = {}

    def quickly(connection: Connection) -> None:
        kind = connection.dialect.name
        if inspect(connection).get_table_names():
            MIGRATE(connection)
        elif kind in recorded:
            for statement, values in recorded[kind]:
                connection.exec_driver_sql(statement, values)
        else:
            recorded[kind] = _recorded(connection, lambda: MIGRATE(connection))

    patch.setattr(engine, "_migrate", quickly)


def _recorded(connection: Connection, work: Callable[[], None]) -> list[tuple[str, Any]]:
    """The statements that write."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "PRAGMA")):
            seen.append((statement, values))

    event.listen(connection, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return seen


class Inline(runtime.Processes):
    """Does the work in a thread: a process of its own takes a second to start, and it has the
    lowest priority, with which it hardly gets on beside other tests."""

    async def run(
        self, work: Callable[..., T], *args: object, attempts: int = runtime.ATTEMPTS
    ) -> T:
        return await asyncio.to_thread(work, *args)


def keep_work_inside(patch: pytest.MonkeyPatch) -> None:
    """A service reads and embeds in this process."""
    for module in (runtime, gaps):
        patch.setattr(module, "Processes", Inline)


class Hurried:
    """`asyncio` for uvicorn, which looks ten times a second whether it is to end."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.005))


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


def keep_nobody_waiting(patch: pytest.MonkeyPatch) -> None:
    """A service ends when it is told to; a Qdrant server that is away is asked again at once."""
    patch.setattr(uvicorn.server, "asyncio", Hurried())
    patch.setitem(vars(ServerStore)["__init__"].__kwdefaults__, "sleep", _at_once)
