"""While strangers hold, drip or flood connections, others are answered and the service can stop."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from bythebook.database.engine import open_database
from bythebook.keys import Keys
from bythebook.settings import Settings
from extent import FULL, PATIENCE
from faults.process import service_process
from security.attacks import ATTACKS, REQUESTS, Attack, under

# Short, so that the test is; what they are by default is in docs/reference/settings.md.
LIMITS = {
    "BYTHEBOOK_HEADER_SECONDS": "1",
    "BYTHEBOOK_BODY_SECONDS": "1",
    "BYTHEBOOK_UNREAD_SECONDS": "1",
    # Fewer slots than attackers.
    "BYTHEBOOK_MAX_CONCURRENT": "20",
    "BYTHEBOOK_SHUTDOWN_SECONDS": "1",
}
MOST_MORE_MB = 100
CUT_OFF = "timeout graceful shutdown exceeded"


async def key_of(home: Path) -> str:
    engine = await open_database(Settings(home=home).database)
    try:
        return (await Keys(engine).create("mine", ("read", "chat")))[1]
    finally:
        await engine.dispose()


def most_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) / 1024


async def check_others_are_answered(http: httpx.AsyncClient) -> None:
    assert (await http.get("/health")).status_code == 200
    assert (await http.get("/books")).status_code == 200
    # There is no book; that is what it says then, and not that it is full.
    found = await http.post("/search", json={"text": "tea"})
    assert found.status_code == 404 and found.json()["error"] == "E002"


# In `make test-full` a service has to stop during each of them, else during those that hold
# connections, after it has met others.
IN_TURN = [[one] for one in ATTACKS] if FULL else [ATTACKS[last::-5] for last in range(9, 14)]


@pytest.mark.parametrize("attacks", IN_TURN, ids=lambda attacks: attacks[-1].name)
async def test_an_attack_stops_nobody_else(home: Path, attacks: Sequence[Attack]) -> None:
    home.mkdir()
    key = await key_of(home)
    async with service_process(home, LIMITS, key=key) as (service, http):
        await check_others_are_answered(http)
        before = most_memory_mb(service.pid)
        for attack in attacks:
            async with under(attack, service.url) as attackers:
                await check_others_are_answered(http)
                async with asyncio.timeout(PATIENCE):
                    await attackers.all_cut.wait()
                await check_others_are_answered(http)
                more = most_memory_mb(service.pid) - before
                assert more < MOST_MORE_MB, attack
                if attack is attacks[-1]:
                    await http.aclose()
                    assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
    assert CUT_OFF not in service.log, service.log


@pytest.mark.parametrize("attack", REQUESTS, ids=lambda attack: attack.name)
async def test_requests_without_end_keep_no_service_from_stopping(
    home: Path, attack: Attack
) -> None:
    home.mkdir()
    key = await key_of(home) if attack.keyed else ""
    async with service_process(home, LIMITS, key=key) as (service, http):
        async with under(attack, service.url) as attackers:
            for _ in range(5):
                assert (await http.get("/health")).status_code == 200
            await http.aclose()
            assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
        assert attackers.sent > len(attack.again)
    assert CUT_OFF not in service.log, service.log
