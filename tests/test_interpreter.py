"""Threads take short turns only while somebody needs them."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from bythebook.interpreter import TURN_SECONDS, short_turns
from bythebook.library import Library
from bythebook.models.job import IngestionJob
from bythebook.settings import Settings


def test_the_last_to_leave_restores_what_was() -> None:
    usual = sys.getswitchinterval()
    first, second = ExitStack(), ExitStack()
    first.enter_context(short_turns())
    second.enter_context(short_turns())
    first.close()
    assert abs(sys.getswitchinterval() - TURN_SECONDS) < 1e-6
    second.close()
    assert sys.getswitchinterval() == usual > TURN_SECONDS


async def test_an_ingest_has_short_turns(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "one.md").write_text("# One\n\nA page about turns.\n")
    seen: list[float] = []

    def note(_: IngestionJob) -> None:
        seen.append(sys.getswitchinterval())

    usual = sys.getswitchinterval()
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(book, on_progress=note)
    assert min(seen) < usual == sys.getswitchinterval()
