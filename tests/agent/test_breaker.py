"""A circuit breaker opens, waits, tries once and decides."""

from __future__ import annotations

from bythebook.agent.scheduling import Breaker


def test_it_opens_after_so_many_failures_in_a_row() -> None:
    breaker = Breaker(3, 60, clock=lambda: 0.0)
    breaker.failed()
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    breaker.failed()
    assert breaker.open_for == 0
    breaker.failed()
    assert breaker.open_for == 60


def test_it_lets_one_attempt_through_after_a_while() -> None:
    now = 0.0
    breaker = Breaker(2, 60, clock=lambda: now)
    breaker.failed()
    breaker.failed()
    now = 59.0
    assert breaker.open_for == 1
    now = 60.0
    assert breaker.open_for == 0
    breaker.failed()
    assert breaker.open_for == 60
    now = 120.0
    breaker.succeeded()
    breaker.failed()
    assert breaker.open_for == 0
