"""The clock is set while the service runs: forward, back, by a minute and by a year."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from bythebook.keys import Keys
from bythebook.library import Library
from faults.acknowledged import Acknowledged, write_lessons
from faults.conftest import MANY, Place
from faults.process import SERVE, service_process
from faults.tally import Tally

MINUTE, DAY, YEAR = 60.0, 86_400.0, 31_536_000.0
JUMPS = (DAY, -YEAR, MINUTE, -MINUTE, YEAR, -DAY)
LIMIT = 12
SCRIPT = str(Path(__file__).with_name("shifted_clock.py"))


def set_clock(clock: Path, shift: float) -> None:
    """In one step: the service may look at any moment."""
    new = clock.with_suffix(".new")
    new.write_text(str(shift))
    new.replace(clock)


def with_clock(clock: Path) -> tuple[str, ...]:
    set_clock(clock, 0.0)
    return (SCRIPT, str(clock), *SERVE[2:])


@pytest.mark.slow
async def test_work_goes_on_when_the_clock_is_set(
    place: Place, fault_rounds: int, fault_seed: int, tmp_path: Path
) -> None:
    generator = random.Random(fault_seed)
    tally = Tally("clock set forward and back", place.name)
    work = Acknowledged(tally, tmp_path / "books", generator)
    write_lessons(work.books, generator)
    clock = tmp_path / "clock"
    environment = {
        **place.environment,
        "BYTHEBOOK_BOOKS_FOLDER": str(work.books),
        "BYTHEBOOK_THREAD_IDLE_MINUTES": "0.5",
    }
    command = with_clock(clock)
    async with service_process(place.home, environment, command=command) as (service, http):
        await work.recover(http)
        for number in range(max(len(JUMPS), fault_rounds // 5) if fault_rounds >= MANY else 1):
            asking = asyncio.gather(*(work.chat(http, stream=bool(n % 2)) for n in range(3)))
            set_clock(clock, JUMPS[number % len(JUMPS)])
            tally.injected += 1
            await asking
            write_lessons(work.books, generator)
            await work.recover(http)
            await work.check(http)
    tally.check()
    assert "Traceback" not in service.log, service.log


@pytest.mark.slow
async def test_keys_and_limits_follow_the_clock(embedded: Place, tmp_path: Path) -> None:
    async with await Library.open(embedded.settings) as library:
        soon = datetime.now(UTC) + timedelta(hours=1)
        _, key = await Keys(library.engine).create("short", ["read"], expires_at=soon)
    clock = tmp_path / "clock"
    environment = {"BYTHEBOOK_RATE_LIMIT": str(LIMIT)}

    async def statuses(http: httpx.AsyncClient) -> list[int]:
        return [(await http.get("/info")).status_code for _ in range(LIMIT + 1)]

    command = with_clock(clock)
    async with service_process(embedded.home, environment, command=command, key=key) as (_, http):
        assert await statuses(http) == [200] * LIMIT + [429]
        set_clock(clock, 2 * MINUTE)
        assert await statuses(http) == [200] * LIMIT + [429]
        set_clock(clock, DAY)
        assert (await http.get("/info")).status_code == 401
        # Set right again, or wrong: nobody waits for the time until which he was counted before.
        set_clock(clock, -DAY)
        assert 200 in await statuses(http)
