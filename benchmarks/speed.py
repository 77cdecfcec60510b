"""How fast the machine is just now: on a shared one that changes from hour to hour."""

from __future__ import annotations

import time
from pathlib import Path


def ticks() -> tuple[int, int]:
    """Of all processors since the machine started: those that its host gave to others while they
    were wanted, and all."""
    counted = [int(one) for one in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return counted[7], sum(counted)


def stolen_percent(before: tuple[int, int]) -> float:
    """Since `before`."""
    stolen, every = (now - then for now, then in zip(ticks(), before, strict=True))
    return round(100 * stolen / every, 1) if every else 0.0


def additions_ms() -> float:
    """A million of them in Python."""

    def once() -> float:
        started = time.perf_counter()
        total = 0
        for number in range(1_000_000):
            total += number
        return time.perf_counter() - started

    return round(min(once() for _ in range(5)) * 1000, 1)
