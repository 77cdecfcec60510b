"""What the faults did, counted for docs/engineering/reliability.md."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

# Where each test adds its line; see scripts/make_reliability.py.
TALLY_FILE = "BYTHEBOOK_FAULT_TALLY"


@dataclass
class Tally:
    """Of one kind of fault. `wrong` are outcomes that are neither an answer nor a problem that we
    told, nor the end of the connection to a process that was killed."""

    fault: str
    where: str
    injected: int = 0
    requests: int = 0
    refused: int = 0
    cut: int = 0
    acknowledged: int = 0
    lost: int = 0
    wrong: int = 0
    unrecovered: int = 0
    # The first few, to say what they were.
    seen: list[str] = field(default_factory=list)

    def took(self, response: httpx.Response) -> bool:
        """Count a whole response; whether it was a good one."""
        self.requests += 1
        if response.is_success:
            return True
        try:
            told = response.json()
            clear = told["error"] and told["message"] and told["suggested_action"]
        except (ValueError, KeyError, TypeError):
            clear = False
        # E000 is for bugs: no fault from outside may end in one.
        if clear and told["error"] != "E000":
            self.refused += 1
        else:
            self.wrong += 1
            self.note(f"{response.request.url.path} {response.status_code}: {response.text[:300]}")
        return False

    def ended(self, path: str, problem: Exception, *, killed: bool) -> None:
        """Count a request whose connection ended."""
        self.requests += 1
        if killed:
            self.cut += 1
        else:
            self.wrong += 1
            self.note(f"{path}: {problem!r}")

    def note(self, what: str) -> None:
        if len(self.seen) < 5:
            self.seen.append(what)

    def check(self) -> None:
        """Keep the figures for the table, then raise unless all is well."""
        if file := os.environ.get(TALLY_FILE):
            with Path(file).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(self)) + "\n")
        assert (self.lost, self.wrong, self.unrecovered) == (0, 0, 0), self
        assert self.injected and self.requests, "nothing was tried"
