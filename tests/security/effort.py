"""What it costs to read something: time without waiting for a processor, and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from security import over_http, sandboxed_readers


@dataclass(frozen=True)
class Effort:
    """Of this process and those that read for it. `waited` is how long they stood in line for a
    processor, which says how busy the machine is and nothing about what is read."""

    clock: float
    processor: float
    waited: float

    @classmethod
    def now(cls) -> Effort:
        own = os.times()
        spent, waited = own.user + own.system + own.children_user + own.children_system, 0.0
        for pid in (os.getpid(), *others().values()):
            used, delayed = _scheduled(pid)
            spent += 0.0 if pid == os.getpid() else used
            waited += delayed
        return cls(time.perf_counter(), spent, waited)

    def since(self, before: Effort) -> float:
        """Seconds that this would have taken on an idle machine."""
        clock = self.clock - before.clock
        waited = max(0.0, self.waited - before.waited)
        return max(min(clock, self.processor - before.processor), clock - waited, 0.0)


def timed(work: Callable[[], bool]) -> tuple[bool, float]:
    before = Effort.now()
    taken = work()
    return taken, Effort.now().since(before)


def others() -> dict[str, int]:
    """The processes that were started to read for this one, by what they are."""
    found: dict[str, int] = {}
    if over_http.service.cache_info().currsize:
        found["service"] = over_http.service()[1]
    began = sandboxed_readers.sandbox.cache_info().currsize
    if began and (pid := sandboxed_readers.sandbox().pid) is not None:
        found["sandbox"] = pid
    return found


def _scheduled(pid: int) -> tuple[float, float]:
    """Seconds on a processor and in line for one, of all threads; 0 where Linux does not say."""
    lines = [text.split() for text in _texts(Path(f"/proc/{pid}/task"), "schedstat")]
    return tuple(sum(int(line[place]) for line in lines) / 1e9 for place in (0, 1))  # type: ignore[return-value]


def _texts(folder: Path, name: str) -> Iterator[str]:
    try:
        for thread in list(folder.iterdir()):
            yield (thread / name).read_text(encoding="utf-8")
    except OSError:  # it has ended
        return
