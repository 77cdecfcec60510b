"""What `doctor` has looked at so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bythebook.errors import BookError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. What works may still need doing something about: `action`."""

    name: str
    ok: bool
    message: str
    action: str = ""
    figures: dict[str, object] = field(default_factory=dict)


@dataclass
class Report:
    checks: list[Check] = field(default_factory=list)

    def add(self, check: Check) -> None:
        self.checks.append(check)

    async def check(self, name: str, look: Callable[[], Awaitable[str]]) -> bool:
        try:
            self.checks.append(Check(name, True, await look()))
        except BookError as problem:
            self.checks.append(Check(name, False, problem.message, problem.action))
        return self.checks[-1].ok
