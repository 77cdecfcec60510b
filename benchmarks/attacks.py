"""How long /health takes while strangers without a key attack the connections of a service.

    python benchmarks/attacks.py [--seconds 60] [--every 0.1] [ATTACK]

Each attack of tests/security/attacks.py runs for so long against a service of its own with its
default limits; prints a table. Attackers and service share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults.process import service_process
from security.attacks import ATTACKS, Attack, under

IDLE = Attack("none", 0, b"")


async def health_ms(http: httpx.AsyncClient, seconds: float, every: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        (await http.get("/health")).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(every)
    return times


def most_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) / 1024


async def measure(attack: Attack, seconds: float, every: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with service_process(Path(folder)) as (service, http):
            await health_ms(http, 1, every)
            before = most_memory_mb(service.pid)
            async with under(attack, service.url) as attackers:
                times = await health_ms(http, seconds, every)
                more = most_memory_mb(service.pid) - before
                await http.aclose()
                began = time.perf_counter()
                await asyncio.to_thread(service.end, signal.SIGTERM)
                stopping = time.perf_counter() - began
    p50, p99, worst = np.percentile(times, [50, 99, 100])
    print(
        f"| {attack.name} | {attack.connections} | {attackers.cut} | {p50:.0f} / {p99:.0f} / "
        f"{worst:.0f} | {more:.0f} | {stopping:.1f} |",
        flush=True,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=0.1)
    given = parser.parse_args()
    print("| attack | connections | cut | /health p50 / p99 / worst, ms | memory, MB | stop, s |")
    print("|---|--:|--:|--:|--:|--:|")
    for attack in (IDLE, *ATTACKS):
        if given.name in (None, attack.name):
            await measure(attack, given.seconds, given.every)


if __name__ == "__main__":
    asyncio.run(main())
