"""How fast the machine is just now: on a shared one that changes from hour to hour."""

from __future__ import annotations

import time


def additions_ms() -> float:
    """A million of them in Python."""

    def once() -> float:
        started = time.perf_counter()
        total = 0
        for number in range(1_000_000):
            total += number
        return time.perf_counter() - started

    return round(min(once() for _ in range(5)) * 1000, 1)
