"""A running service with the sample book, and its client."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from server.running import Running, running

Serve = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def own_database(sample_home: Path, tmp_path: Path) -> str:
    """A copy of the sample's database: conversations, keys and jobs are the test's own."""
    copy = tmp_path / "own.db"
    shutil.copyfile(sample_home / "bythebook.db", copy)
    return f"sqlite+aiosqlite:///{copy}"


@pytest.fixture
def serve(sample_home: Path, own_database: str) -> Serve:
    """`async with serve(setting=…) as up`: the sample book over HTTP."""

    def start(**settings: Any) -> AbstractAsyncContextManager[Running]:
        return running(sample_home, **{"database_url": own_database, **settings})

    return start


@pytest.fixture
async def up(serve: Serve) -> AsyncIterator[Running]:
    """The sample book over HTTP, without keys."""
    async with serve() as service:
        yield service
