"""Kill -9 in the middle of moving, saving and putting back: done again, all of it is there."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from bythebook.database.tables import keys, threads
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.conversation import Turn
from bythebook.models.values import new_id
from bythebook.settings import Settings
from bythebook.threads import Threads
from faults.acknowledged import BOOK, write_lessons
from faults.conftest import Place, new_servers
from faults.tally import Tally
from invariants import check_invariants, content_of

CONVERSATIONS, KEYS = 30, 10
# The first part of a command's time is spent on starting Python.
EARLIEST = 0.3

Content = tuple[dict[str, Any], tuple[int, ...]]


async def fill(place: Place, folder: Path, generator: random.Random) -> None:
    """A book, conversations and keys."""
    for _ in range(6):
        write_lessons(folder, generator)
    async with await Library.open(place.settings) as library:
        await library.ingest(folder / BOOK, book_id=BOOK)
        for number in range(KEYS):
            await Keys(library.engine).create(f"key {number}", ["read"])
        for number in range(CONVERSATIONS):
            turn = Turn(question=f"Question {number}?", answer="An answer.")
            about = {"book_id": BOOK, "key_id": None}
            await Threads(library.engine).append(new_id(), turn, metadata=about, is_new=True)


async def content(settings: Settings) -> Content:
    """Passages, and how many conversations and keys."""
    async with await Library.open(settings) as library:
        await check_invariants(library, BOOK)
        passages = {key: payload for key, (payload, _) in (await content_of(library, BOOK)).items()}
        async with library.engine.connect() as connection:
            counts = [
                (await connection.execute(select(func.count()).select_from(table))).scalar_one()
                for table in (threads, keys)
            ]
    return passages, tuple(counts)


def run(place: Place, *arguments: str, kill_after: float | None = None) -> int:
    """Its exit status, or -9."""
    command = [sys.executable, "-m", "bythebook", *arguments]
    environment = {**os.environ, **place.environment}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _, said = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
    assert "Traceback" not in said, said
    return process.returncode


async def timed(place: Place, *arguments: str) -> float:
    """How long a command takes that nobody kills."""
    started = time.perf_counter()
    assert await asyncio.to_thread(run, place, *arguments) == 0
    return time.perf_counter() - started


def moment(generator: random.Random, length: float) -> float:
    return length * generator.uniform(EARLIEST, 1)


async def killed_and_done(
    tally: Tally, pause: float, place: Place, *arguments: str, made: Path | None = None
) -> None:
    """Killed once, unless it was quicker, then to its end. What it `made` is there as a whole or
    not at all, and is not made a second time."""
    tally.requests += 1
    status = await asyncio.to_thread(run, place, *arguments, kill_after=pause)
    if status == -signal.SIGKILL:
        tally.injected += 1
        tally.cut += 1
        if made and made.exists():
            return
        tally.requests += 1
        status = await asyncio.to_thread(run, place, *arguments)
    if status != 0:
        tally.unrecovered += 1
        tally.note(f"{arguments[0]}: {status}")


def compare(tally: Tally, what: str, found: Content, expected: Content) -> None:
    tally.acknowledged += len(expected[0]) + sum(expected[1])
    if found != expected:
        tally.lost += 1
        tally.note(f"{what}: {found[1]} instead of {expected[1]}")


@pytest.mark.slow
async def test_killed_backup_and_restore(
    embedded: Place, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    generator = random.Random(fault_seed)
    tally = Tally("kill -9 during backup and restore", "embedded")
    await fill(embedded, tmp_path / "books", generator)
    expected = await content(embedded.settings)
    length = await timed(embedded, "backup", str(tmp_path / "whole.backup"))
    for number in range(max(1, fault_rounds // 10)):
        file = tmp_path / f"{number}.backup"
        pause = moment(generator, length)
        await killed_and_done(tally, pause, embedded, "backup", str(file), made=file)
        compare(tally, "after backup", await content(embedded.settings), expected)
        restored = Place("embedded", tmp_path / f"restored-{number}", {})
        pause = moment(generator, length)
        await killed_and_done(tally, pause, restored, "restore", "--force", str(file))
        compare(tally, "restored", await content(restored.settings), expected)
        shutil.rmtree(restored.home)
    tally.check()


@pytest.mark.slow
async def test_killed_migration(
    postgres_url: str, qdrant_url: str, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    generator = random.Random(fault_seed)
    tally = Tally("kill -9 during migrate", "embedded to PostgreSQL and Qdrant")
    for number in range(max(1, fault_rounds // 10)):
        async with new_servers(postgres_url, qdrant_url, tmp_path / "empty") as target:
            # A move does not change the name of the collection.
            name = {"QDRANT_COLLECTION_NAME": target.servers["QDRANT_COLLECTION_NAME"]}
            source = Place("embedded", tmp_path / f"source-{number}", name)
            await fill(source, tmp_path / f"books-{number}", generator)
            expected = await content(source.settings)
            length = await timed(source, "backup", str(tmp_path / f"{number}.backup"))
            servers = (target.servers["QDRANT_URL"], target.servers["DATABASE_URL"])
            where = ("--to-qdrant", servers[0], "--to-database", servers[1])
            # Servers make it longer than a copy beside it.
            pause = moment(generator, 2 * length)
            await killed_and_done(tally, pause, source, "migrate", *where)
            compare(tally, "moved", await content(target.settings), expected)
    tally.check()
