"""Where the faults happen: everything embedded in one home, or on servers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.values import new_id
from bythebook.settings import Settings
from extent import FAULT_ROUNDS, FULL
from postgres_server import new_database

# From so many rounds on every fault is tried everywhere.
MANY = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("faults")


@dataclass(frozen=True)
class Place:
    """Where a service keeps what it has, as settings and as its environment."""

    name: str
    home: Path
    servers: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {"BYTHEBOOK_HOME": str(self.home), **self.servers}

    @property
    def settings(self) -> Settings:
        return Settings(
            home=self.home,
            database_url=self.servers.get("DATABASE_URL"),
            qdrant_url=self.servers.get("QDRANT_URL"),
            collection=self.servers.get("QDRANT_COLLECTION_NAME", "textbook_chunks"),
        )

    async def new_key(self) -> str:
        """One that may do everything."""
        async with await Library.open(self.settings) as library:
            _, text = await Keys(library.engine).create("admin", ["admin"])
            return text


@pytest.fixture
def fault_rounds() -> int:
    """One in CI, more with `make test-full`, many with `make test-faults`."""
    return int(os.environ.get("BYTHEBOOK_FAULT_ROUNDS", FAULT_ROUNDS))


@pytest.fixture
def fault_seed() -> int:
    """The moments are the same in each run, unless told otherwise."""
    return int(os.environ.get("BYTHEBOOK_FAULT_SEED", "20261115"))


@pytest.fixture
def embedded(tmp_path: Path) -> Place:
    return Place("embedded", tmp_path / "home", {})


@asynccontextmanager
async def new_servers(postgres: str, qdrant: str, home: Path, **more: str) -> AsyncIterator[Place]:
    """An empty database and a collection that live as long as the test."""
    async with new_database(postgres) as database:
        servers = {
            "DATABASE_URL": database,
            "QDRANT_URL": qdrant,
            "QDRANT_COLLECTION_NAME": f"faults-{new_id()}",
            **more,
        }
        place = Place("PostgreSQL, Qdrant, Redis", home, servers)
        yield place
        async with await Library.open(place.settings) as library:
            await (await library.store()).drop()


@pytest.fixture
async def on_servers(
    tmp_path: Path, postgres_url: str, qdrant_url: str, redis_url: str
) -> AsyncIterator[Place]:
    home, redis = tmp_path / "home", {"BYTHEBOOK_REDIS_URL": redis_url}
    async with new_servers(postgres_url, qdrant_url, home, **redis) as place:
        yield place


@pytest.fixture(params=["embedded", "on_servers"] if FULL else ["embedded"])
def place(request: pytest.FixtureRequest) -> Place:
    """Once of each kind; `make test` has kills on servers in tests/workers alone."""
    found: Place = request.getfixturevalue(request.param)
    return found
