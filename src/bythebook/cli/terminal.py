"""Output of the command line: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bythebook.errors import BookError, InputError
from bythebook.index.sparse import terms

if TYPE_CHECKING:
    from rich.console import Console


@cache
def out() -> Console:
    from rich.console import Console  # slow to import, and not needed for --json

    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """A line on stderr: stdout is for results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def print_error(problem: BookError, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "status": "error",
                "error": problem.code,
                "message": problem.message,
                "suggested_action": problem.action,
                "details": problem.details,
            }
        )
    else:
        sys.stderr.write(f"Error {problem.code}: {problem}\n")


def input_error(problem: ValidationError, names: dict[str, str], command: str) -> InputError:
    """A field that does not fit, under the name the caller gave it."""
    first = problem.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    name = names.get(field, field)
    message = first["msg"].removeprefix("Value error, ")
    for kind in ("String ", "Input ", "List "):
        message = message.removeprefix(kind)
    # A field's name at the beginning stays as it is written.
    if not name and "_" not in message.split(maxsplit=1)[0]:
        message = f"{message[:1].upper()}{message[1:]}"
    return InputError(
        f"{name} {message}.".lstrip(),
        action=f"See `bythebook {command} --help`.",
        details={"field": name} if name else {},
    )


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


class StatusLine(logging.Handler):
    """A line on a terminal that says what is being done, and for how many seconds; elsewhere
    nothing. It is removed at the end, and for warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._shown = ""
        self._counting: asyncio.Task[None] | None = None

    def show(self, what: str) -> None:
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


LINES = 4
WIDTH = 400
HEADING = re.compile(r"^#{1,6}\s")


def snippet(text: str, question: str, language: str) -> str:
    """A few lines around the best one; headings are already shown above it."""
    wanted = set(terms(question, language))
    lines = [line for line in text.splitlines() if line.strip() and not HEADING.match(line)]
    if not lines:
        return text
    hits = [len(wanted & set(terms(line, language))) for line in lines]
    scores = [sum(hits[i : i + LINES]) + hits[i] for i in range(len(lines))]
    start = scores.index(max(scores))
    shown = "\n".join(lines[start : start + LINES])
    if len(shown) <= WIDTH:
        return shown
    return shown[:WIDTH].rsplit(maxsplit=1)[0] + " …"
