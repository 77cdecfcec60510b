"""Every reader as an ingest uses it, in the sandbox: the samples of parsers.py once more."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bythebook.errors import InputError
from bythebook.ingestion.plan import make_plan
from bythebook.models.job import IngestionState
from bythebook.reading.layout import find_book
from bythebook.reading.sandbox import Sandbox
from bythebook.reading.sandbox_process import SandboxLimits
from reading.test_reading_fuzz import SUFFIXES

FORMATS = (".md", ".mdx", *SUFFIXES)
MB = 1_000_000
# A library that dies in the sandbox does what the sandbox is for; a slip of ours is a finding.
SLIP = re.compile(r"its reader failed \((?!SIG)(?P<what>.*?)\)")
GOOD = b"# Good\n\nA page that is read whatever its neighbour holds.\n"


@cache
def sandbox() -> Sandbox:
    """One for all of them; it ends with this process."""
    return Sandbox(SandboxLimits(1024, 10, 40 * MB))


def in_sandbox(suffix: str) -> Callable[[bytes], object]:
    """Reads a folder with this file and a good one, as an ingest does."""

    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / f"a{suffix}").write_bytes(data)
            (Path(folder) / "good.md").write_bytes(GOOD)
            book = find_book(Path(folder), "book")
            state = IngestionState(book_id="book", collection_name="none")
            plan = make_plan(book, state, "full", 5 * MB, sandbox())
            assert "good.md" in plan.process, plan.warnings
            slips = [found["what"] for text in plan.warnings if (found := SLIP.search(text))]
            assert not slips, slips
            for file in plan.process:
                try:
                    sandbox().read(book, file, plan.placements[file], 5 * MB)
                except InputError as problem:
                    assert not SLIP.search(problem.message), problem.message
                    assert file != "good.md", problem.message
                    raise
            if plan.failed:
                raise InputError(plan.warnings[-1])

    return run
