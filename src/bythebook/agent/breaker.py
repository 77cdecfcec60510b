"""A circuit breaker: what keeps failing is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable


class Breaker:
    """Opens after `failures` in a row and closes after `seconds`: then one attempt is let through,
    and its outcome decides."""

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures = failures
        self.seconds = seconds
        self._clock = clock
        self._failed = 0
        self._opened_at: float | None = None

    @property
    def open_for(self) -> float:
        """Seconds until an attempt is let through again; 0 when it may go."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self.seconds - self._clock())

    def succeeded(self) -> None:
        self._failed = 0
        self._opened_at = None

    def failed(self) -> None:
        self._failed += 1
        if self._failed >= self.failures:
            self._opened_at = self._clock()
