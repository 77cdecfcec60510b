"""Kill -9 at random moments while it answers, ingests, archives and keys change."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bythebook.errors import KeyRefused
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.settings import Settings
from faults.acknowledged import BOOK, Acknowledged, write_lessons
from faults.conftest import Place
from faults.process import ServiceProcess, client, service_process
from faults.tally import Tally
from invariants import check_invariants, content_of

# Of what `check_invariants` reads, every so many rounds and at the end.
LOOK_INTO_INDEX = 10
CHATTERS = 3


class KeyChanger:
    """A process beside the service that changes keys, and is killed like it."""

    def __init__(self, environment: dict[str, str]) -> None:
        tests = Path(__file__).parent.parent
        self.own = subprocess.Popen(
            [sys.executable, "-m", "faults.key_changer"],
            cwd=tests,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.own.stdout is not None
        self.first = self.own.stdout.readline()  # from then on it is at work

    def kill(self) -> dict[str, bool]:
        """Keys that were made, and whether they were revoked. Only of a whole line do we know."""
        self.own.kill()
        told, _ = self.own.communicate()
        states: dict[str, bool] = {}
        for line in (self.first + told).splitlines(keepends=True):
            if line.endswith("\n"):
                what, _, text = line.split()
                states[text] = what == "revoked"
        return states


async def work_until_killed(
    service: ServiceProcess, work: Acknowledged, pause: float, place: Place, key: str
) -> dict[str, bool]:
    """What keys there must be afterwards."""
    changer = await asyncio.to_thread(KeyChanger, place.environment)
    async with client(service, key) as http:
        work.killed = False
        tasks = [
            asyncio.create_task(work.keep_chatting(http, stream=bool(number % 2)))
            for number in range(CHATTERS)
        ]
        tasks.append(asyncio.create_task(work.keep_ingesting(http)))
        try:
            await asyncio.sleep(pause)
        finally:
            work.killed = True
            service.own.send_signal(signal.SIGKILL)
            states = await asyncio.to_thread(changer.kill)
        await asyncio.gather(*tasks)
    return states


async def check_keys(place: Place, states: dict[str, bool], tally: Tally) -> None:
    async with await Library.open(place.settings) as library:
        keys = Keys(library.engine)
        for text, is_revoked in states.items():
            tally.requests += 1
            tally.acknowledged += 1
            try:
                await keys.verify(text)
            except KeyRefused as refused:
                # The kill may have come between a revocation and its acknowledgement.
                known = refused.details.get("state") == "revoked"
                tally.lost += not known
            else:
                tally.wrong += is_revoked


async def check_index(place: Place, books: Path, fresh: Path) -> None:
    """The invariants, and the same content as an index made from nothing."""
    async with await Library.open(place.settings) as library:
        await check_invariants(library, BOOK)
        found = await content_of(library, BOOK)
    async with await Library.open(Settings(home=fresh)) as library:
        await library.ingest(books / BOOK, book_id=BOOK)
        expected = await content_of(library, BOOK)
    assert found == expected


@pytest.mark.slow
async def test_kills_while_everything_runs(
    place: Place, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    generator = random.Random(fault_seed)
    books = tmp_path / "books"
    for _ in range(4):
        write_lessons(books, generator)
    tally = Tally("kill -9 during chat, ingest, archive and key changes", place.name)
    work = Acknowledged(tally, books, generator)
    environment = {
        **place.environment,
        "BYTHEBOOK_BOOKS_FOLDER": str(books),
        # A conversation is put away after 0.3 s without a turn, and comes back when it goes on.
        "BYTHEBOOK_THREAD_IDLE_MINUTES": "0.005",
    }
    key = await place.new_key()
    for number in range(fault_rounds):
        async with service_process(place.home, environment, key=key) as (service, http):
            work.killed = False
            await work.recover(http)
            await work.check(http)
            # Half of the kills come early, when a process has much to set up.
            pause = generator.random() * (0.5 if number % 2 else 2.5)
            states = await work_until_killed(service, work, pause, place, key)
            tally.injected += 1
            assert await asyncio.to_thread(service.end) == -signal.SIGKILL
        await check_keys(place, states, tally)
        if tally.unrecovered or ((number + 1) % LOOK_INTO_INDEX and number + 1 < fault_rounds):
            continue
        async with service_process(place.home, environment, key=key) as (service, http):
            work.killed = False
            await work.recover(http)
            await work.check(http, jobs=1000, sessions=1000)
            assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
        await check_index(place, books, tmp_path / f"fresh-{number}")
    tally.check()
    assert "Traceback" not in service.log
