"""Backups: everything comes back, from a running service too; a bad file changes nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from booktext import WriteBook, small_book
from bythebook.database.tables import jobs
from bythebook.errors import BookError, BusyError, InputError
from bythebook.ingestion.jobs import INTERRUPTED
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.conversation import Turn
from bythebook.models.search_messages import SearchQuery
from bythebook.models.values import new_id
from bythebook.moving.backup import ABOUT, back_up, kept_tables
from bythebook.moving.restore import restore
from bythebook.settings import Settings
from bythebook.threads import Threads
from invariants import check_invariants, content_of
from postgres_server import new_database
from server.running import running, until
from workers.fleet import write_lessons

RESTORE = """
import asyncio, os, signal, sys
from pathlib import Path
from bythebook import files
from bythebook.moving.restore import restore
from bythebook.settings import Settings

home, file, moment = sys.argv[1:]
move, moved = files._move, 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def on_step(what, _done, _all):
    if what == moment:
        die()

def counted(*places):
    global moved
    if moment == f"move {moved}":
        die()
    moved += 1
    move(*places)

files._move = counted
asyncio.run(restore(Settings(home=Path(home)), Path(file), on_step=on_step))
"""


async def filled(library: Library, write_book: WriteBook) -> str:
    await library.ingest(write_book(small_book()))
    created = await Keys(library.engine).create("website", ["chat"])
    session = new_id()
    turn = Turn("What is a node?", "A process that performs computation. \N{SNOWMAN}")
    await Threads(library.engine).append(session, turn, metadata={"book_id": "small"}, is_new=True)
    (library.settings.home / "calibrations.json").write_text("{}")
    assert created
    return session


async def rows_of(library: Library) -> dict[str, list[dict[str, Any]]]:
    async with library.engine.connect() as connection:
        return {
            table.name: [
                {name: value for name, value in row.items() if name != "collection_name"}
                for row in (
                    await connection.execute(select(table).order_by(*table.primary_key.columns))
                ).mappings()
            ]
            for table in kept_tables()
        }


@pytest.fixture
async def saved(library: Library, write_book: WriteBook, tmp_path: Path) -> Path:
    await filled(library, write_book)
    file = tmp_path / "all.backup"
    manifest = await back_up(library, file)
    assert manifest.left_out == [] and manifest.rows["api_keys"] == 1
    return file


async def test_everything_comes_back_and_only_into_an_empty_home(
    library: Library, saved: Path, write_book: WriteBook, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path / "new")
    await restore(settings, saved)
    async with await Library.open(settings) as other:
        assert await rows_of(other) == await rows_of(library)
        assert await content_of(other, "small") == await content_of(library, "small")
        await check_invariants(other, "small")
        query = SearchQuery(text="What is a node?", book_id="small", hardware_tier_filter=4)
        found = await other.search(query)
        assert found.passages[0].id == (await library.search(query)).passages[0].id
        again = await other.ingest(write_book({}), mode="full")
        assert (again.status, again.chunks_embedded) == ("completed", 0)
    assert (tmp_path / "new/calibrations.json").read_text() == "{}"
    assert sorted(path.name for path in (tmp_path / "new").glob("re*")) == []
    with pytest.raises(InputError, match="already"):
        await restore(settings, saved)
    await restore(settings, saved, force=True)
    (aside,) = (tmp_path / "new").glob("replaced-*")
    assert (aside / "bythebook.db").exists()
    async with await Library.open(settings) as other:
        assert await rows_of(other) == await rows_of(library)
        with pytest.raises(BusyError):  # somebody uses it
            await other.store()
            await restore(settings, saved, force=True)


async def test_to_servers_and_back(
    library: Library, saved: Path, qdrant_url: str, postgres_url: str, tmp_path: Path
) -> None:
    async with new_database(postgres_url) as database:
        settings = Settings(
            home=tmp_path / "servers",
            database_url=database,
            qdrant_url=qdrant_url,
            collection=f"restored-{new_id()}",
        )
        await restore(settings, saved)
        async with await Library.open(settings) as other:
            assert await rows_of(other) == await rows_of(library)
            await check_invariants(other, "small")
            queued = await other.job_table.start("small", "full", "nowhere")
            assert queued.job_id > 1
            back = tmp_path / "back.backup"
            await back_up(other, back)
            with pytest.raises(InputError, match="already"):
                await restore(settings, saved, force=True)
            await (await other.store()).drop()
    home = Settings(home=tmp_path / "back")
    await restore(home, back)
    async with await Library.open(home) as other:
        await check_invariants(other, "small")
        async with other.engine.connect() as connection:
            query = select(jobs.c.status, jobs.c.error_message).order_by(jobs.c.job_id)
            states = [tuple(row) for row in await connection.execute(query)]
        assert states == [("completed", None), ("failed", INTERRUPTED)]


def changed(file: Path, name: str, change: Callable[[bytes], bytes]) -> bytes:
    new = file.with_suffix(".changed")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w") as archive:
        for entry in old.namelist():
            data = old.read(entry)
            archive.writestr(entry, change(data) if entry == name else data)
    return new.read_bytes()


def newer(data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "revision": "9999", "bythebook": "7.0"}).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.read_bytes()[:-100], "not a complete backup"),
        (lambda file: file.read_bytes()[:2000], "not a complete backup"),
        (lambda file: b"", "not a complete backup"),
        (
            lambda file: changed(
                file, "tables/api_keys.jsonl", lambda data: data.replace(b"website", b"wobsite")
            ),
            "not a complete backup",
        ),
        (lambda file: changed(file, "points/0.jsonl", lambda data: b""), "not a complete backup"),
        (lambda file: changed(file, ABOUT, newer), "newer than this one"),
    ],
)
async def test_a_bad_file_is_refused_and_nothing_is_restored(
    saved: Path, tmp_path: Path, change: Callable[[Path], bytes], said: str
) -> None:
    bad = tmp_path / "bad.backup"
    bad.write_bytes(change(saved))
    with pytest.raises(BookError, match=said) as refused:
        await restore(Settings(home=tmp_path / "new"), bad)
    assert refused.value.action
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="no file"):
        await restore(Settings(home=tmp_path / "new"), tmp_path / "none.backup")


@pytest.mark.parametrize(
    "line", [b"{\n", b"[]\n", b'{"expires_at": "soon"}\n', b"[" * 10**5 + b"\n"]
)
async def test_rows_that_are_none_are_refused_though_their_digest_is_right(
    saved: Path, tmp_path: Path, line: bytes
) -> None:
    part = "tables/api_keys.jsonl"

    def forged(data: bytes) -> bytes:
        manifest = json.loads(data)
        manifest["sha256"][part] = hashlib.sha256(line).hexdigest()
        return json.dumps(manifest).encode()

    saved.write_bytes(changed(saved, ABOUT, forged))
    saved.write_bytes(changed(saved, part, lambda _data: line))
    settings = Settings(home=tmp_path / "new")
    with pytest.raises(InputError, match="not a complete backup"):
        await restore(settings, saved)
    async with await Library.open(settings) as library:
        assert not await library.books()


@pytest.mark.parametrize(
    ("moment", "is_there"),
    [("Restoring small", False), ("move 0", True), ("move 2", True)],
)
async def test_killed_in_the_middle_it_is_all_there_or_nothing(
    library: Library, saved: Path, tmp_path: Path, moment: str, is_there: bool
) -> None:
    settings = Settings(home=tmp_path / "new")
    command = [sys.executable, "-c", RESTORE, str(settings.home), str(saved), moment]
    killed = await asyncio.to_thread(subprocess.run, command)
    assert killed.returncode == -signal.SIGKILL
    expected = await rows_of(library)
    async with await Library.open(settings) as other:
        found = await rows_of(other)
        assert found == expected if is_there else not any(found.values())
    if not is_there:
        await restore(settings, saved)
    async with await Library.open(settings) as other:
        assert await rows_of(other) == expected
        await check_invariants(other, "small")


async def test_a_running_service_is_saved_while_it_ingests_and_answers(
    home: Path, tmp_path: Path, write_book: WriteBook
) -> None:
    books = tmp_path / "books"
    write_lessons(books / "one", 36)
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(write_book(small_book()))
    async with running(home, books_folder=books) as up:
        begun = await up.http.post("/ingestion/trigger", json={"path": "one"})
        assert begun.status_code == 202
        asking = [
            asyncio.create_task(up.ask(f"What is a node? Number {n}", book_id="small"))
            for n in range(3)
        ]

        async def under_way() -> bool:
            status = (await up.http.get(begun.headers["Location"])).json()
            return bool(status["files_processed"])

        await until(under_way)
        files = [tmp_path / f"{number}.backup" for number in range(2)]
        beside = await Library.open(Settings(home=home))
        manifests = [await back_up(beside, file) for file in files]
        assert [answer.status_code for answer in await asyncio.gather(*asking)] == [200] * 3
        with pytest.raises(InputError, match="already"):
            await back_up(beside, files[0])
        await beside.close()
    for file, manifest in zip(files, manifests, strict=True):
        settings = Settings(home=tmp_path / f"restored-{file.stem}")
        assert await restore(settings, file) == manifest
        async with await Library.open(settings) as other:
            await check_invariants(other, "small")
            await check_invariants(other, "one")
            assert all(job.status != "running" for job in await other.jobs())
    # Whatever was under way, an ingest makes it whole.
    async with await Library.open(settings) as other:
        await other.ingest(books / "one", book_id="one")
        chunks = await check_invariants(other, "one")
        assert len({chunk.metadata.source_file for chunk in chunks}) == 36
