"""What every test may use: a home of its own and books written on the spot."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from sqlalchemy.ext.asyncio import AsyncEngine

from booktext import WriteBook
from bythebook import runtime
from bythebook.database import engine as database_engine
from bythebook.database.engine import open_database
from bythebook.library import Library, sample_book
from bythebook.reader import Reader
from bythebook.settings import Settings
from extent import EXAMPLES
from kept import (
    MIGRATE,
    MODEL,
    PROCESSES,
    READ,
    SUPPORT,
    VECTOR,
    keep_model,
    keep_nobody_waiting,
    keep_readings,
    keep_tables,
    keep_work_inside,
)
from postgres_server import new_database, postgres_server
from qdrant_server import qdrant_server
from redis_server import RedisServer
from shared_server import room_in_memory, shared_folder
from standins.llm_server import LlmServer, running_llm

# `make test` looks at fewer cases than `make test-full`.
settings.register_profile(
    "bythebook",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=EXAMPLES,
)
settings.load_profile("bythebook")


def pytest_configure() -> None:
    """What makes the whole suite quicker: temporary folders in memory, and compiled modules."""
    # An index syncs dozens of files at each step, and most tests would wait for a disk most of
    # their time. What a killed process wrote outlives it in memory just as well.
    if "TMPDIR" not in os.environ and (memory := room_in_memory()):
        os.environ["TMPDIR"] = str(memory)
        tempfile.tempdir = None  # found anew
    # Hundreds of processes are started, each of which would compile our modules anew.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        sys.dont_write_bytecode = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not {"postgres_url", "qdrant_url", "redis_url"}.isdisjoint(fixtures_of(item)):
            item.add_marker("servers")
    # One that takes long and begins last leaves the other cores idle.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def fixtures_of(item: pytest.Item) -> list[str]:
    """Also `database_url`, which asks for the server by itself."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    asked: list[str] = [*getattr(item, "fixturenames", [])]
    return [*asked, "postgres_url"] if given.get("database_url") == "postgresql" else asked


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the person's settings or writes to the person's books."""
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.validation_alias), raising=False)
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "home"))
    # Most tests ask to see something else than the answer; those that want it read say so.
    monkeypatch.setenv("BYTHEBOOK_READER", "off")
    # A scripted model says what it says once.
    monkeypatch.setenv("BYTHEBOOK_REPAIR", "false")
    # Each library would start a process for its first file, which takes half a second.
    monkeypatch.setenv("BYTHEBOOK_SANDBOX", "false")


@pytest.fixture
def with_reader(_own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are read by the real network, as they are for everybody."""
    monkeypatch.delenv("BYTHEBOOK_READER")


@pytest.fixture
def with_sandbox(_own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in a process with limits, as they are for everybody."""
    monkeypatch.delenv("BYTHEBOOK_SANDBOX")


@pytest.fixture(scope="session", autouse=True)
def _kept() -> Iterator[None]:
    """What is the same for all tests is made once for each worker."""
    with pytest.MonkeyPatch.context() as patch:
        keep_model(patch)
        keep_readings(patch)
        keep_tables(patch)
        keep_work_inside(patch)
        keep_nobody_waiting(patch)
        yield


@pytest.fixture
def with_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service reads and embeds in a process of its own, as it does for everybody."""
    monkeypatch.setattr(runtime, "Processes", PROCESSES)


@pytest.fixture
def with_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty database gets its tables from the migrations."""
    monkeypatch.setattr(database_engine, "_migrate", MIGRATE)


@pytest.fixture
def with_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text is embedded and each passage read, although it was before."""
    monkeypatch.setattr(MODEL, "vector", VECTOR)
    monkeypatch.setattr(Reader, "_read", READ)
    monkeypatch.setattr(Reader, "_support", SUPPORT)


@pytest.fixture(scope="session")
def qdrant_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real server; the test is skipped where there is none."""
    with qdrant_server(shared_folder(tmp_path_factory) / "qdrant") as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real server; the test is skipped where there is none."""
    with postgres_server(shared_folder(tmp_path_factory) / "postgres") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
async def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """Address of an empty database, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'database' / 'test.db'}"
        return
    async with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """A new database with today's tables, once of each kind."""
    opened = await open_database(database_url)
    yield opened
    await opened.dispose()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real Redis, one for each worker; the test is skipped where there is none."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server.url


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def library(home: Path) -> AsyncIterator[Library]:
    async with await Library.open(Settings(home=home)) as opened:
        yield opened


@pytest.fixture(scope="session")
def ingested_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample book in it, one for each worker: a store has one process."""
    first = shared_folder(tmp_path_factory) / "sample"
    with FileLock(f"{first}.lock"):
        if not first.exists():
            asyncio.run(_ingest_sample(first))
    own = tmp_path_factory.mktemp("sample") / "home"
    shutil.copytree(first, own)
    return own


async def _ingest_sample(home: Path) -> None:
    async with await Library.open(Settings(home=home)) as opened:
        await opened.ingest(sample_book())


@pytest.fixture
def sample_home(
    ingested_sample: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Path]:
    """A home with the sample book in it, to ask and not to ingest into.

    What a test asked and said is gone from the database before the next one.
    """
    database = ingested_sample / "bythebook.db"
    before = shutil.copyfile(database, tmp_path / "before.db")
    monkeypatch.setenv("BYTHEBOOK_HOME", str(ingested_sample))
    yield ingested_sample
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    shutil.copyfile(before, database)


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    """A language model that says what the test tells it to, over real HTTP."""
    with running_llm() as server:
        yield server


@pytest.fixture
def write_book(tmp_path: Path) -> WriteBook:
    """Writes files below a folder and returns it; call again to change it."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "book"
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root

    return write
