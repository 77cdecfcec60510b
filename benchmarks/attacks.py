"""How long /health takes while strangers attack a service, and whether SIGTERM ends it meanwhile.

    python benchmarks/attacks.py [--seconds 60] [--every 0.1] [ATTACK]

Each attack runs for so long against a service of its own with its default limits: those of
tests/security/attacks.py, and a folder of files that their parsers choke on, ingested over and
over. Prints a table. The status is 1 if an answer of /health took more than 100 ms, or the service
did not end by itself within its grace time. Attackers have a process of their own, and share the
machine.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults.process import QUICK, ServiceProcess, service_process
from security import hostile
from security.attacks import ATTACKS, REQUESTS, Attack, Attackers, under
from security.test_attacked_connections import key_of, most_memory_mb

IDLE = Attack("none", 0, b"")
FILES = Attack("hostile files", 1, b"")
ALL = {attack.name: attack for attack in (IDLE, *ATTACKS, *REQUESTS, FILES)}
BYTES_PER_SECOND = 20e6
# More than any run takes.
MOST_SENT = 10**11
MOST_MS = 100.0
GRACE = float(QUICK["BYTHEBOOK_SHUTDOWN_SECONDS"])
# For the process to go, after its grace time at most.
LEAVING = 1.0


@asynccontextmanager
async def ingesting(url: str) -> AsyncIterator[Attackers]:
    """A folder is ingested again as soon as it is done, which counts as `cut`."""
    seen = Attackers(1)

    async def again() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            while True:
                body = {"path": "book", "mode": "full"}
                job = (await http.post("/ingestion/trigger", json=body)).json()["job_id"]
                if not seen.began:
                    seen.has_begun()
                while (await http.get(f"/ingestion/status/{job}")).json()["status"] in (
                    "queued",
                    "running",
                ):
                    await asyncio.sleep(0.2)
                seen.was_cut()

    task = asyncio.create_task(again())
    try:
        await seen.all_began.wait()
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def attack_until_told(attack: Attack, url: str) -> None:
    """What the process of the attackers does: says when it has begun, and how many were cut."""
    attacking = (
        ingesting(url) if attack is FILES else under(attack, url, MOST_SENT, BYTES_PER_SECOND)
    )
    async with attacking as attackers:
        print("began", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(attackers.cut, flush=True)


def write_hostile_files(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "page.md").write_text("# Page\n\nA page that is read.\n", encoding="utf-8")
    (folder / "nested.pdf").write_bytes(hostile.nested_forms())
    (folder / "packed.pdf").write_bytes(hostile.triple_flate())
    (folder / "bomb.docx").write_bytes(hostile.deflated_docx())
    (folder / "bomb.epub").write_bytes(hostile.deflated_epub())


async def health_ms(http: httpx.AsyncClient, seconds: float, every: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        (await http.get("/health")).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(every)
    return times


async def measure(attack: Attack, seconds: float, every: float) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        home, shelf = Path(folder) / "home", Path(folder) / "shelf"
        home.mkdir()
        if attack is FILES:
            write_hostile_files(shelf / "book")
        key = await key_of(home) if attack.keyed else ""
        settings = {"BYTHEBOOK_BOOKS_FOLDER": str(shelf)}
        async with service_process(home, settings, key=key) as (service, http):
            return await _measured(attack, service, http, seconds, every)


async def _measured(
    attack: Attack, service: ServiceProcess, http: httpx.AsyncClient, seconds: float, every: float
) -> bool:
    await health_ms(http, 1, every)
    before = most_memory_mb(service.pid)
    attackers = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, attack.name, "--against", service.url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert attackers.stdin and attackers.stdout
    assert await attackers.stdout.readline() == b"began\n"
    times = await health_ms(http, seconds, every)
    more = most_memory_mb(service.pid) - before
    await http.aclose()
    began = time.perf_counter()
    status = await asyncio.to_thread(service.end, signal.SIGTERM)
    stopping = time.perf_counter() - began
    attackers.stdin.write(b"\n")
    cut = (await attackers.stdout.readline()).decode().strip()
    attackers.stdin.close()
    await attackers.wait()
    p50, p99, worst = np.percentile(times, [50, 99, 100])
    ended = status == 0 and stopping <= GRACE + LEAVING
    held = bool(worst <= MOST_MS) and ended
    row = (
        *(attack.name, attack.connections, cut, f"{p50:.0f} / {p99:.0f} / {worst:.0f}"),
        *(f"{more:.0f}", f"{stopping:.1f}", "yes" if held else "no"),
    )
    print(f"| {' | '.join(map(str, row))} |", flush=True)
    return held


async def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?", choices=ALL)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=0.1)
    parser.add_argument("--against", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.against:
        await attack_until_told(ALL[given.name], given.against)
        return 0
    print(
        "| attack | connections | cut | /health p50 / p99 / worst, ms | memory, MB | stop, s | ",
        end="",
    )
    print("held |\n|---|--:|--:|--:|--:|--:|---|", flush=True)
    chosen = [ALL[given.name]] if given.name else list(ALL.values())
    held = [await measure(attack, given.seconds, given.every) for attack in chosen]
    print(f"\n{sum(held)} of {len(held)} held: /health within {MOST_MS:.0f} ms, SIGTERM heard.")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
