"""How the threads of one Python take turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Python's own five milliseconds are longer than a search, and a tenth of what an embedding takes.
TURN_SECONDS = 0.0005

_lock = threading.Lock()
# What it was before each of those who are inside: the first is the one to go back to.
_before: list[float] = []


@contextmanager
def short_turns() -> Iterator[None]:
    """Until the last who wants them has left."""
    with _lock:
        _before.append(sys.getswitchinterval())
        sys.setswitchinterval(min(TURN_SECONDS, _before[0]))
    try:
        yield
    finally:
        with _lock:
            earlier = _before.pop()
            if not _before:
                sys.setswitchinterval(earlier)
