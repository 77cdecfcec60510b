"""What a person at a terminal sees while something takes long: a bar, or a line."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from bythebook.cli.output import err


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _all: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as progress:
        tasks = {}

        def show(what: str, done: int, all: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=all)

        yield show


class Waiting(logging.Handler):
    """A line on a terminal that says what is being done, and for how many seconds; elsewhere
    nothing. It is gone when what was waited for is there, and makes room for warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._shown = ""
        self._counting: asyncio.Task[None] | None = None

    def say(self, what: str) -> None:
        self.end()
        if sys.stderr.isatty():
            self._counting = asyncio.create_task(self._count(what))

    def emit(self, record: logging.LogRecord) -> None:
        self.end()
        sys.stderr.write(f"{record.getMessage()}\n")

    def end(self) -> None:
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
            self._show("")

    async def _count(self, what: str) -> None:
        for seconds in count():
            self._show(f"{what} {seconds} s" if seconds else what)
            await asyncio.sleep(1)

    def _show(self, line: str) -> None:
        sys.stderr.write("\r" + " " * len(self._shown) + "\r" + line)
        sys.stderr.flush()
        self._shown = line
