"""A disk of its own is really full, down to the last block, and then has room again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from booktext import WriteBook, small_book
from bythebook.library import Library
from bythebook.settings import Settings
from extent import FULL, PATIENCE
from faults.acknowledged import BOOK, Acknowledged, write_lessons
from faults.process import service_process
from faults.small_disk import SmallDisk, small_disk
from faults.tally import Tally
from invariants import check_invariants
from server.running import until
from shared_server import free_port

# Nothing, less than a write takes, and less than the reserve.
LEFT = (0, 4096, 300_000, 2_500_000) if FULL else (0, 2_500_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path) as mounted:
        yield mounted


def bythebook(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bythebook", *arguments],
        env={**os.environ, "BYTHEBOOK_HOME": str(home)},
        capture_output=True,
        text=True,
    )


async def search(http: httpx.AsyncClient) -> None:
    body = {
        "model": BOOK,
        "messages": [{"role": "user", "content": "What is said about nodes?"}],
    }
    response = await http.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text


@pytest.mark.slow
async def test_a_service_on_a_full_disk_answers_and_comes_back(
    disk: SmallDisk, tmp_path: Path, fault_seed: int
) -> None:
    home = disk.folder / "home"
    tally = Tally("a small disk full to the last block, then room again", "embedded")
    generator = random.Random(fault_seed)
    for _ in range(3):
        write_lessons(tmp_path / "books", generator)
    work = Acknowledged(tally, tmp_path / "books", generator)
    environment = {"BYTHEBOOK_BOOKS_FOLDER": str(work.books)}
    async with service_process(home, environment) as (service, http):
        await work.recover(http)
        for left in LEFT:
            # The ingest is under way when the disk is filled, and another comes when it is.
            write_lessons(work.books, generator)
            await work.trigger(http)
            disk.fill(left)
            tally.injected += 1
            refused = await http.post("/ingestion/trigger", json={"path": BOOK, "book_id": BOOK})
            assert refused.status_code == 507, refused.text
            assert refused.json()["error"] == "E015" and "Make room" in refused.text
            await asyncio.gather(*(work.chat(http, stream=bool(number % 2)) for number in range(4)))
            await search(http)
            await work.check(http)
            assert service.own.poll() is None, service.log
            disk.make_room()
            await work.recover(http)
            await work.check(http)
        assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
    tally.check()
    async with await Library.open(Settings(home=home)) as library:
        await check_invariants(library, BOOK)


@pytest.mark.slow
async def test_commands_on_a_full_disk(
    disk: SmallDisk, write_book: WriteBook, tmp_path: Path
) -> None:
    home, files = disk.folder / "home", small_book()
    book = write_book(files)
    assert bythebook(home, "ingest", book).returncode == 0
    exported, saved = tmp_path / "small.zip", tmp_path / "saved.zip"
    assert bythebook(home, "export", "small", exported).returncode == 0
    assert bythebook(home, "backup", saved).returncode == 0
    for left in (0, 500_000, 2_500_000) if FULL else (0,):
        disk.fill(left)
        for name in files:
            if name.endswith(".md"):
                (book / name).write_text(files[name] + f"\nAnother remark, {left}.\n")
        commands: list[tuple[Path, list[str | Path]]] = [
            (home, ["ingest", book]),
            (home, ["backup", disk.folder / "backup.zip"]),
            (home, ["export", "small", disk.folder / "small.zip"]),
            (disk.folder / f"imported-{left}", ["import", exported]),
            (disk.folder / f"restored-{left}", ["restore", saved]),
        ]
        for place, command in commands:
            done = bythebook(place, *command)
            assert done.returncode == 1, (command, done)
            assert done.stderr.startswith("Error E015"), (command, done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
        disk.make_room()
        assert bythebook(home, "ingest", book).returncode == 0
    async with await Library.open(Settings(home=home)) as library:
        await check_invariants(library, "small")


@pytest.mark.slow
def test_a_repository_that_is_larger_than_the_disk(disk: SmallDisk, tmp_path: Path) -> None:
    """It is ended before the reserve is gone, and what it left is removed."""
    work, home = tmp_path / "valves", disk.folder / "home"
    work.mkdir()
    git = ("git", "-C", work, "-c", "user.name=A", "-c", "user.email=a@a.example")
    (work / "README.md").write_text("# Valves\n\nA valve opens at two bar and closes at one.\n")
    (work / "picture.png").write_bytes(random.Random(1).randbytes(80_000_000))
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "large")):
        subprocess.run([*git, *arguments], check=True)
    served = tmp_path / "valves.git"
    subprocess.run([*git, "clone", "--quiet", "--bare", ".", served], check=True)
    before = disk.free
    refused = bythebook(home, "ingest", served)
    assert refused.returncode == 1 and refused.stderr.startswith("Error E015"), refused
    assert disk.free > before - 10_000_000
    (work / "picture.png").unlink()
    subprocess.run([*git, "commit", "--quiet", "--all", "-m", "small"], check=True)
    subprocess.run([*git, "push", "--quiet", served, "HEAD"], check=True)
    done = bythebook(home, "ingest", served)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
async def test_a_log_on_a_full_disk(disk: SmallDisk, write_book: WriteBook) -> None:
    """What can't be logged is lost; the service goes on."""
    home, port = disk.folder / "home", free_port()
    assert bythebook(home, "ingest", write_book(small_book())).returncode == 0
    service = serve(home, port, disk.folder / "log")
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as http:
            await until(lambda: is_up(http))
            disk.fill()
            body = {"text": "What is a node?", "book_id": "small"}
            for _ in range(50):
                found = await http.post("/search", json=body)
                assert found.status_code == 200, found.text
        assert service.poll() is None
        service.terminate()
        assert await asyncio.to_thread(service.wait, PATIENCE) == 0
    finally:
        service.kill()
        service.wait()


def serve(home: Path, port: int, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bythebook", "serve", "--port", str(port)]
    environment = {**os.environ, "BYTHEBOOK_HOME": str(home)}
    with log.open("wb") as file:
        return subprocess.Popen(command, env=environment, stderr=file)


async def is_up(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/health")).is_success
    except httpx.TransportError:
        return False


WRITER = """
import asyncio, sys
from pathlib import Path
import qdrant_edge as edge
from bythebook.index.edge import EdgeStore
from bythebook.index.edge_folder import make_room
from bythebook.index.edge_index import to_point
from faults.small_disk import SmallDisk
from index.index_samples import DIMENSION, SAMPLES, sample

async def main():
    disk = SmallDisk(Path(sys.argv[1]))
    store = EdgeStore(disk.folder / "index" / "one")
    await store.open(DIMENSION)
    await store.replace(SAMPLES, [])
    more = [sample(number) for number in range(100, 1100)]
    if sys.argv[2] == "with room":
        make_room(disk.folder / "index" / "one", more, DIMENSION, 0)
    disk.fill()
    points = [to_point(point) for point in more]
    store._index._shard.update(edge.UpdateOperation.upsert_points(points))
    assert await store.count() == len(SAMPLES) + len(more)
    disk.make_room()
    await store.close()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "status"), [("with room", 0), ("without", -signal.SIGBUS)])
def test_what_is_mapped_has_room_though_somebody_fills_the_disk(
    disk: SmallDisk, how: str, status: int
) -> None:
    """Between the look at the disk and the write. Without room the system ends the process; if it
    does not, nothing need be allocated any more."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, disk.folder, how],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
