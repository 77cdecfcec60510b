"""A library on servers, as workers need it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bythebook.library import Library
from bythebook.models.values import new_id
from bythebook.settings import Settings
from postgres_server import new_database
from workers.fleet import Fleet, fleet


@pytest.fixture
async def on_servers(qdrant_url: str, postgres_url: str, tmp_path: Path) -> AsyncIterator[Library]:
    async with new_database(postgres_url) as database:
        settings = Settings(
            home=tmp_path / "home",
            qdrant_url=qdrant_url,
            database_url=database,
            collection=f"workers-{new_id()}",
            workers="queue",
            worker_lease=3,
        )
        async with await Library.open(settings) as library:
            yield library
            await (await library.store()).drop()


@pytest.fixture
def workers(on_servers: Library, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(on_servers.settings, tmp_path) as started:
        yield started
