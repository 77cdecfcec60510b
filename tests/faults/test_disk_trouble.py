"""The disk is full, can't be written to, or somebody else holds what is on it.

A limit on the size of files stops every write of a running process and can be lifted again; it
needs no rights and no disk of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from bythebook.library import Library
from faults.acknowledged import Acknowledged, write_lessons
from faults.conftest import MANY, Place
from faults.process import service_process
from faults.tally import Tally
from invariants import check_invariants

NO_LIMIT = resource.RLIM_INFINITY
# Beyond what is there already nothing fits, or nothing at all.
LIMITS = (0, 200_000, 4096, 1_000_000)


def started_work(tally: Tally, tmp_path: Path, seed: int) -> Acknowledged:
    generator = random.Random(seed)
    for _ in range(3):
        write_lessons(tmp_path / "books", generator)
    return Acknowledged(tally, tmp_path / "books", generator)


async def ask_some(http: httpx.AsyncClient, work: Acknowledged) -> None:
    write_lessons(work.books, work.generator)
    await asyncio.gather(
        work.trigger(http), *(work.chat(http, stream=bool(number % 2)) for number in range(4))
    )
    await asyncio.sleep(0.5)  # the ingest is under way meanwhile


@pytest.mark.slow
async def test_the_disk_is_full(
    embedded: Place, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    tally = Tally("disk full, then room again", "embedded")
    work = started_work(tally, tmp_path, fault_seed)
    environment = {"BYTHEBOOK_BOOKS_FOLDER": str(work.books)}
    async with service_process(embedded.home, environment) as (service, http):
        await work.recover(http)
        for number in range(max(len(LIMITS), fault_rounds // 10) if fault_rounds >= MANY else 1):
            limit = LIMITS[number % len(LIMITS)]
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (limit, NO_LIMIT))
            tally.injected += 1
            await ask_some(http, work)
            # What was there before can still be read.
            await work.check(http)
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
            await work.recover(http)
            await work.check(http)
        await asyncio.to_thread(service.end, signal.SIGTERM)
    tally.check()
    async with await Library.open(embedded.settings) as library:
        await check_invariants(library, "faulted")


@pytest.mark.slow
async def test_the_disk_is_read_only(embedded: Place, fault_seed: int, tmp_path: Path) -> None:
    """For root too, who is let in everywhere unless that right is taken away."""
    tally = Tally("disk read-only, then not", "embedded")
    work = started_work(tally, tmp_path, fault_seed)
    environment = {"BYTHEBOOK_BOOKS_FOLDER": str(work.books)}
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        program = shutil.which("setpriv")
        assert program, "setpriv is part of util-linux"
        prefix = (program, "--bounding-set", "-dac_override")
    started = service_process(embedded.home, environment, prefix=prefix)
    async with started as (service, http):
        await work.recover(http)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, NO_LIMIT))
        make_writable(embedded.home, False)
        tally.injected += 1
        try:
            await ask_some(http, work)
            await work.check(http)
            # Who starts now is told why it can't.
            second = await asyncio.to_thread(
                subprocess.run,
                [*prefix, sys.executable, "-m", "bythebook", "keys", "create", "mine"],
                env={**os.environ, "BYTHEBOOK_HOME": str(embedded.home)},
                capture_output=True,
                text=True,
            )
            assert second.returncode == 1 and "Traceback" not in second.stderr, second.stderr
            assert "E003" in second.stderr, second.stderr
        finally:
            make_writable(embedded.home, True)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
        await work.recover(http)
        await work.check(http)
    tally.check()
    assert "Traceback" not in service.log, service.log


def make_writable(folder: Path, writable: bool) -> None:
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | 0o200 if writable else mode & ~0o222)


@pytest.mark.slow
async def test_sqlite_is_busy(embedded: Place, fault_seed: int, tmp_path: Path) -> None:
    tally = Tally("SQLite held by another process", "embedded")
    work = started_work(tally, tmp_path, fault_seed)
    environment = {"BYTHEBOOK_BOOKS_FOLDER": str(work.books)}
    async with service_process(embedded.home, environment) as (_, http):
        await work.recover(http)
        # A writer that takes its time: whoever waits less than half a minute only waits.
        other = sqlite3.connect(embedded.home / "bythebook.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        tally.injected += 1
        asking = asyncio.create_task(ask_some(http, work))
        await asyncio.sleep(1)
        other.execute("COMMIT")
        other.close()
        await asking
        assert tally.refused == 0
        await work.recover(http)
        await work.check(http)
    tally.check()
