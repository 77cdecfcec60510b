"""How fast the machine is just now: on a shared one that changes from hour to hour."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

PULSE_SECONDS = 0.25
# Processor seconds for the same work, as a multiple of the median.
ORDINARY = 1.3


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
    return round(min(_add(1_000_000, time.perf_counter) for _ in range(5)) * 1000, 1)


def _add(count: int, clock: Callable[[], float]) -> float:
    started = clock()
    total = 0
    for number in range(count):
        total += number
    return clock() - started


class Speed:
    """Of all cores while something runs: the same little work over and over, in processor time.
    What else runs on the machine hardly counts for that, what its host's neighbours do does."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._is_ordinary: list[bool] = []

    def was_ordinary(self, start: float, end: float) -> bool:
        """From the look before it to the look after it, of the slower core."""
        first = max(bisect_right(self._times, start) - 1, 0)
        return all(self._is_ordinary[first : bisect_left(self._times, end) + 1])

    @contextmanager
    def watched(self) -> Iterator[None]:
        with tempfile.TemporaryFile("w+") as seen:
            watcher = subprocess.Popen([sys.executable, __file__], stdout=seen)
            try:
                yield
            finally:
                watcher.terminate()
                watcher.wait()
            seen.seek(0)
            rows = [tuple(map(float, line.split())) for line in seen if line.endswith("\n")]
        self._times = [at for at, _ in rows]
        median = np.median([taken for _, taken in rows])
        self._is_ordinary = [taken <= ORDINARY * median for _, taken in rows]


def _watch() -> None:
    cores = sorted(os.sched_getaffinity(0))
    while True:
        at = time.perf_counter()
        taken = []
        for core in cores:
            os.sched_setaffinity(0, {core})
            taken.append(min(_add(10_000, time.thread_time) for _ in range(3)))
        print(at, max(taken), flush=True)
        time.sleep(PULSE_SECONDS)


if __name__ == "__main__":
    _watch()
